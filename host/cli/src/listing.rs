//! A table without lines: one line of text per row, for lists and sums.
//!
//! Figures keep their width and the first column, the name, gives way: a cut name can be
//! guessed, a cut figure is a wrong one.

use comfy_table::{Cell, CellAlignment, ContentArrangement, Row, Table};

use crate::apart;

/// Characters that a name needs to be recognised.
const MIN_NAME: usize = 12;
/// Spaces between two columns.
const GAP: usize = 2;

/// Where a column's texts stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// Words.
    Left,
    /// Figures.
    Right,
}

/// Renders `rows` below `headings` within `width`; every row has a text per heading, safe to
/// show. Where even a short name leaves no room for the others, each row becomes a paragraph.
pub(crate) fn render(headings: &[(&str, Side)], rows: &[Vec<String>], width: u16) -> String {
    let taken = width_of_others(headings, rows);
    match usize::from(width).checked_sub(taken + GAP) {
        Some(room) if room >= MIN_NAME => table(headings, rows, width, room),
        _ => rows.iter().map(|row| paragraph(headings, row)).collect(),
    }
}

fn table(headings: &[(&str, Side)], rows: &[Vec<String>], width: u16, room: usize) -> String {
    let mut table = Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    table.set_content_arrangement(ContentArrangement::Dynamic);
    table.set_width(width).force_no_tty();
    table.set_header(line(headings, headings.iter().map(|(heading, _)| *heading)));
    let names: Vec<&str> = rows
        .iter()
        .map(|row| row.first().map_or("", String::as_str))
        .collect();
    for (name, row) in apart::names(&names, room).iter().zip(rows) {
        let others = row.iter().skip(1).map(String::as_str);
        let mut row = Row::from(line(headings, std::iter::once(name.as_str()).chain(others)));
        // Where a name has wide letters, it is cut once more.
        row.max_height(1);
        table.add_row(row);
    }
    if let Some(first) = table.column_mut(0) {
        first.set_padding((0, 1));
    }
    let lines: Vec<String> = table
        .lines()
        .map(|line| line.trim_end().to_owned())
        .collect();
    lines.join("\n") + "\n"
}

/// The name on a line, the other texts with their headings on the next.
fn paragraph(headings: &[(&str, Side)], row: &[String]) -> String {
    let name = row.first().map(String::as_str).unwrap_or_default();
    let others = headings
        .iter()
        .zip(row)
        .skip(1)
        .filter(|(_, text)| !text.is_empty());
    let others: Vec<String> = others
        .map(|((heading, _), text)| format!("{heading} {text}"))
        .collect();
    format!("{name}\n  {}\n", others.join(", "))
}

fn line<'a>(headings: &[(&str, Side)], texts: impl Iterator<Item = &'a str>) -> Vec<Cell> {
    let aligned = |((_, side), text): (&(&str, Side), &str)| match side {
        Side::Left => Cell::new(text),
        Side::Right => Cell::new(text).set_alignment(CellAlignment::Right),
    };
    headings.iter().zip(texts).map(aligned).collect()
}

/// Columns of the terminal that all but the names take.
fn width_of_others(headings: &[(&str, Side)], rows: &[Vec<String>]) -> usize {
    let widest = |at: usize| {
        rows.iter()
            .filter_map(move |row| row.get(at))
            .map(|text| text.chars().count())
            .max()
    };
    let others = headings.iter().enumerate().skip(1);
    others
        .map(|(at, (heading, _))| widest(at).unwrap_or(0).max(heading.len()) + GAP)
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_gives_way_and_the_figures_stay() {
        let rows = [
            vec![
                "a name that is much too long".to_owned(),
                "1".to_owned(),
                "12,345".to_owned(),
            ],
            vec!["short".to_owned(), "10".to_owned(), "1".to_owned()],
        ];
        let headings = [
            ("name", Side::Left),
            ("n", Side::Right),
            ("sum", Side::Right),
        ];
        assert_eq!(
            render(&headings, &rows, 32),
            "\
name                 n     sum
a name that is mu…   1  12,345
short               10       1
"
        );
        assert_eq!(
            render(&headings, &rows[1..], 20),
            "\
short
  n 10, sum 1
"
        );
    }

    #[test]
    fn a_name_of_wide_letters_is_a_line_all_the_same() {
        let rows = [vec!["字".repeat(40), "1".to_owned()]];
        let headings = [("name", Side::Left), ("n", Side::Right)];
        let text = render(&headings, &rows, 40);
        assert_eq!(text.lines().count(), 2, "{text}");
        assert!(text.trim_end().ends_with('1'), "{text}");
    }
}
