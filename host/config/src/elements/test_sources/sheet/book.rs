//! A workbook: its sheets, and the cells of one of them.
//!
//! What is read of Office Open XML is what decides the text of a cell: the list of sheets, the
//! shared texts, which formats are dates, and the sheet. XML with a document type is refused, so
//! nothing in it can grow.

use roxmltree::{Document, Node, ParsingOptions};

use super::archive::Archive;

/// A cell with something in it. `row` counts from 1, `column` from 0.
#[derive(Debug, PartialEq)]
pub(super) struct Cell {
    pub(super) row: u32,
    pub(super) column: usize,
    pub(super) text: String,
}

/// Columns that a sheet can have.
const MAX_COLUMN: usize = 16_384;

/// Elements and texts of one part.
const MAX_NODES: u32 = 8_000_000;

/// Numbers of formats that show a day, a time or both, by the standard.
const DATES: [std::ops::RangeInclusive<u32>; 2] = [14..=22, 45..=47];

/// Days from Excel's day 0 to 1970-01-01. Excel's day 60 is one that never was, so this holds for
/// the days after it: from 1900-03-01 on.
const EPOCH: i64 = 25_569;

/// The same where the workbook counts from 1904.
const EPOCH_1904: i64 = 24_107;

/// Seconds of a day.
const DAY: f64 = 86_400.0;

/// What the cells of all sheets share.
struct Shared {
    texts: Vec<String>,
    /// Whether the n-th format of cells is one of dates.
    is_date: Vec<bool>,
    epoch: i64,
}

/// The name of the sheet that is meant, and its cells in the order of rows.
pub(super) fn cells(
    archive: &mut Archive<'_>,
    sheet: Option<&str>,
) -> Result<(String, Vec<Cell>), String> {
    let missing = |part: &str| format!("is no spreadsheet: it has no '{part}'");
    let part = "xl/workbook.xml";
    let text = archive.text(part)?.ok_or_else(|| missing(part))?;
    let book = parse(part, &text)?;
    let sheets: Vec<(&str, &str)> = named(book.root(), "sheet")
        .filter_map(|sheet| {
            let mut ids = sheet.attributes().filter(|one| one.name() == "id");
            Some((sheet.attribute("name")?, ids.next()?.value()))
        })
        .collect();
    let (name, id) = chosen(&sheets, sheet)?;
    let part = "xl/_rels/workbook.xml.rels";
    let text = archive.text(part)?.ok_or_else(|| missing(part))?;
    let relations = parse(part, &text)?;
    let target = named(relations.root(), "Relationship")
        .find(|one| one.attribute("Id") == Some(id))
        .and_then(|one| one.attribute("Target"))
        .ok_or_else(|| format!("sheet '{name}' is not in the file"))?;
    let part = match target.strip_prefix('/') {
        Some(absolute) => absolute.to_owned(),
        None => format!("xl/{target}"),
    };
    let is_1904 = named(book.root(), "workbookPr")
        .any(|one| matches!(one.attribute("date1904"), Some("1" | "true")));
    let shared = Shared {
        texts: texts(archive)?,
        is_date: dates(archive)?,
        epoch: if is_1904 { EPOCH_1904 } else { EPOCH },
    };
    let text = archive.text(&part)?.ok_or_else(|| missing(&part))?;
    let cells = shared.cells(&parse(&part, &text)?);
    Ok((name.to_owned(), cells))
}

/// Name and id of the sheet that is meant.
fn chosen<'a>(
    sheets: &[(&'a str, &'a str)],
    wanted: Option<&str>,
) -> Result<(&'a str, &'a str), String> {
    let Some(wanted) = wanted else {
        return sheets.first().copied().ok_or("has no sheets".to_owned());
    };
    let by_name = sheets.iter().find(|(name, _)| *name == wanted);
    let number = || wanted.parse::<usize>().ok()?.checked_sub(1);
    let found = by_name.or_else(|| sheets.get(number()?));
    found.copied().ok_or_else(|| {
        let names: Vec<&str> = sheets.iter().map(|(name, _)| *name).collect();
        format!("has no sheet '{wanted}'; there are: {}", names.join(", "))
    })
}

fn parse<'a>(part: &str, text: &'a str) -> Result<Document<'a>, String> {
    let options = ParsingOptions {
        nodes_limit: MAX_NODES,
        ..ParsingOptions::default()
    };
    Document::parse_with_options(text, options)
        .map_err(|error| format!("'{part}' is damaged: {error}"))
}

/// Every element of this name, whatever its namespace: Excel has two sets of them.
fn named<'a, 'i>(root: Node<'a, 'i>, name: &'static str) -> impl Iterator<Item = Node<'a, 'i>> {
    root.descendants()
        .filter(move |node| node.tag_name().name() == name)
}

/// The texts that cells refer to by number.
fn texts(archive: &mut Archive<'_>) -> Result<Vec<String>, String> {
    let part = "xl/sharedStrings.xml";
    let Some(text) = archive.text(part)? else {
        return Ok(Vec::new());
    };
    let document = parse(part, &text)?;
    Ok(named(document.root(), "si").map(words).collect())
}

/// The text of an element, without hints on how to say it aloud.
fn words(of: Node<'_, '_>) -> String {
    let is_hint = |node: &Node<'_, '_>| node.ancestors().any(|one| one.tag_name().name() == "rPh");
    let words = named(of, "t").filter(|node| !is_hint(node));
    words.filter_map(|node| node.text()).collect()
}

/// Whether the formats of cells are those of dates.
fn dates(archive: &mut Archive<'_>) -> Result<Vec<bool>, String> {
    let part = "xl/styles.xml";
    let Some(text) = archive.text(part)? else {
        return Ok(Vec::new());
    };
    let document = parse(part, &text)?;
    let number = |node: &Node<'_, '_>| node.attribute("numFmtId")?.parse::<u32>().ok();
    let own: Vec<u32> = named(document.root(), "numFmt")
        .filter(|node| node.attribute("formatCode").is_some_and(shows_date))
        .filter_map(|node| number(&node))
        .collect();
    let is_date = |id: u32| own.contains(&id) || DATES.iter().any(|dates| dates.contains(&id));
    let Some(formats) = named(document.root(), "cellXfs").next() else {
        return Ok(Vec::new());
    };
    let formats = formats
        .children()
        .filter(|node| node.tag_name().name() == "xf");
    Ok(formats
        .map(|node| number(&node).is_some_and(is_date))
        .collect())
}

/// Whether a format code shows days or times: it has one of their letters outside of quotes,
/// brackets and escapes.
fn shows_date(code: &str) -> bool {
    let (mut quoted, mut bracketed) = (false, false);
    let mut chars = code.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => quoted = !quoted,
            _ if quoted => {}
            '\\' | '_' | '*' => drop(chars.next()),
            '[' => bracketed = true,
            ']' => bracketed = false,
            'd' | 'm' | 'y' | 'h' | 's' | 'D' | 'M' | 'Y' | 'H' | 'S' if !bracketed => return true,
            _ => {}
        }
    }
    false
}

impl Shared {
    fn cells(&self, sheet: &Document<'_>) -> Vec<Cell> {
        let mut cells = Vec::new();
        let mut last_row = 0;
        for row in named(sheet.root(), "row") {
            let number = row.attribute("r").and_then(|text| text.parse().ok());
            last_row = number.unwrap_or(last_row + 1);
            let mut next = 0;
            for cell in row.children().filter(|node| node.tag_name().name() == "c") {
                let column = cell.attribute("r").and_then(column).unwrap_or(next);
                next = column + 1;
                let text = self.text(cell);
                if !text.is_empty() && column < MAX_COLUMN {
                    cells.push(Cell {
                        row: last_row,
                        column,
                        text,
                    });
                }
            }
        }
        cells.sort_by_key(|cell| (cell.row, cell.column));
        cells
    }

    /// What a cell says.
    fn text(&self, cell: Node<'_, '_>) -> String {
        let value = named(cell, "v").next().and_then(|node| node.text());
        let value = value.unwrap_or_default().trim();
        match cell.attribute("t").unwrap_or("n") {
            "s" => {
                let text = value
                    .parse()
                    .ok()
                    .and_then(|index: usize| self.texts.get(index));
                text.map(|text| text.trim().to_owned()).unwrap_or_default()
            }
            "inlineStr" => words(cell).trim().to_owned(),
            "b" => if value == "1" { "true" } else { "false" }.to_owned(),
            "n" => {
                let format = cell.attribute("s").and_then(|text| text.parse().ok());
                let is_date = format.and_then(|format: usize| self.is_date.get(format));
                self.number(value, is_date == Some(&true))
            }
            _ => value.to_owned(),
        }
    }

    fn number(&self, value: &str, is_date: bool) -> String {
        let Ok(number) = value.parse::<f64>() else {
            return value.to_owned();
        };
        let days = number.floor();
        if is_date && days == 0.0 && number > 0.0 {
            return clock_text((number * DAY).round() as i64);
        }
        if is_date && (1.0..3_000_000.0).contains(&days) {
            return date_text(days as i64 - self.epoch, number - days);
        }
        match serde_json::Number::from_f64(number) {
            Some(number) => crate::template::text_of(&serde_json::Value::Number(number)),
            None => value.to_owned(),
        }
    }
}

/// The column of a reference such as `BC12`, from 0.
fn column(reference: &str) -> Option<usize> {
    let letters = reference.bytes().take_while(u8::is_ascii_alphabetic);
    let number = letters.take(4).fold(0, |sum, letter| {
        sum * 26 + usize::from(letter.to_ascii_uppercase() - b'A') + 1
    });
    number.checked_sub(1)
}

/// A day counted from 1970-01-01, with the time if it has one, to the second.
fn date_text(days: i64, part_of_day: f64) -> String {
    let seconds = (part_of_day * DAY).round() as i64;
    let (days, seconds) = (days + seconds / 86_400, seconds % 86_400);
    let (year, month, day) = civil(days);
    let date = format!("{year:04}-{month:02}-{day:02}");
    if seconds == 0 {
        return date;
    }
    format!("{date}T{}", clock_text(seconds))
}

/// A time of day, from its seconds.
fn clock_text(seconds: i64) -> String {
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{hour:02}:{minute:02}:{second:02}")
}

/// Year, month and day of a day counted from 1970-01-01, in the calendar of today: years begin
/// in March, so that the day that comes every four years is the last.
fn civil(days: i64) -> (i64, i64, i64) {
    // Counted from 0000-03-01, in eras of 400 years.
    let days = days + 719_468;
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, next_year) = if month < 10 {
        (month + 3, 0)
    } else {
        (month - 9, 1)
    };
    (era * 400 + year + next_year, month, day)
}
