//! CSV as rows of cells with the line each begins on.
//!
//! Lenient as promptfoo is in the end: quotes inside unquoted cells are text, rows may be short
//! or long, blank lines are nothing. Headers are trimmed, quoted cells are not; what counts of the
//! blanks around other cells is [`Blanks`].

use std::collections::BTreeMap;
use std::path::Path;

use crate::elements::Reading;
use crate::environment;
use crate::plan::Position;
use crate::problem::Findings;
use crate::template::MAX_RENDERED;

/// What becomes of blanks around unquoted cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Blanks {
    /// They belong to the cell.
    Kept,
    /// They don't.
    Trimmed,
}

/// A file's rows.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) headers: Vec<String>,
    pub(crate) rows: Vec<Row>,
}

/// A row that isn't blank.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) cells: Vec<String>,
    /// Line it begins on, from 1.
    pub(crate) line: u32,
}

/// `CSV_DELIMITER`, `,` by default.
pub(crate) fn delimiter(env: &BTreeMap<String, String>, findings: &Findings) -> u8 {
    // A tab is white space, so the trimmed value can't be used.
    let names = ["RUNNER_", "PROMPTFOO_"]
        .map(|prefix| format!("{prefix}{}", environment::CSV_DELIMITER.name));
    let set = names
        .iter()
        .find_map(|name| Some((name, env.get(name).filter(|value| !value.is_empty())?)));
    match set.map(|(name, text)| (name, text.as_bytes())) {
        None => b',',
        Some((_, b"\\t")) => b'\t',
        Some((_, [byte])) if byte.is_ascii() && !matches!(byte, b'"' | b'\n' | b'\r') => *byte,
        Some((name, _)) => {
            let message = format!(
                "environment variable {name} must be one ASCII character other than a quote"
            );
            findings.error(Position::default(), message);
            b','
        }
    }
}

/// Reads a file's text; what is wrong is reported.
pub(crate) fn read(path: &Path, text: &str, blanks: Blanks, reading: Reading<'_>) -> Option<Table> {
    let at = |line| Position {
        file: path.to_owned(),
        line,
        column: 1,
        key: String::new(),
    };
    let delimiter = char::from(delimiter(reading.process, reading.findings));
    let strict = environment::flag(reading.process, environment::CSV_STRICT, reading.findings);
    let mut rows = match rows(text, delimiter, strict, blanks) {
        Ok(rows) => rows,
        Err((line, fault)) => {
            let message = match fault {
                Fault::Open => "not valid CSV: the quote that opens here is never closed",
                Fault::Stray => "not valid CSV: a quote inside a cell, and CSV_STRICT is on",
            };
            reading.findings.error(at(line), message);
            return None;
        }
    };
    rows.retain(|row| row.cells.iter().any(|cell| !cell.trim().is_empty()));
    let is_too_long = |row: &&Row| row.cells.iter().any(|cell| cell.len() > MAX_RENDERED);
    if let Some(row) = rows.iter().find(is_too_long) {
        let message = format!("a cell of more than {} MiB", MAX_RENDERED >> 20);
        let help = "no prompt may be that long; name a file of the text, or cut it";
        reading.findings.error_help(at(row.line), message, help);
        return None;
    }
    if rows.is_empty() {
        reading.findings.error(at(0), "has no header line");
        return None;
    }
    let headers = rows
        .remove(0)
        .cells
        .iter()
        .map(|header| header.trim().to_owned())
        .collect();
    Some(Table { headers, rows })
}

/// The cells of a text that is one row, without empty ones.
pub(crate) fn split(text: &str, delimiter: char) -> Vec<String> {
    match rows(text, delimiter, false, Blanks::Trimmed) {
        Ok(rows) => rows
            .into_iter()
            .flat_map(|row| row.cells)
            .filter(|cell| !cell.is_empty())
            .collect(),
        Err(_) => text
            .split(delimiter)
            .map(|cell| cell.trim().to_owned())
            .filter(|cell| !cell.is_empty())
            .collect(),
    }
}

/// What is wrong with a quote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// It opens a cell that never ends.
    Open,
    /// It stands in a cell that doesn't begin with one, or before the end of one that does.
    Stray,
}

/// All rows, blank ones too; or what is wrong and on which line. Stray quotes are wrong only to
/// the `strict`.
fn rows(
    text: &str,
    delimiter: char,
    strict: bool,
    blanks: Blanks,
) -> Result<Vec<Row>, (u32, Fault)> {
    let mut rows = Vec::new();
    let mut row = Row {
        cells: Vec::new(),
        line: 1,
    };
    let (mut rest, mut line) = (text, 1);
    loop {
        let (cell, len) = cell(rest, delimiter, strict, blanks).map_err(|fault| (line, fault))?;
        line += rest[..len].matches('\n').count() as u32;
        row.cells.push(cell);
        rest = &rest[len..];
        if let Some(more) = rest.strip_prefix(delimiter) {
            rest = more;
            continue;
        }
        rows.push(std::mem::replace(
            &mut row,
            Row {
                cells: Vec::new(),
                line: line + 1,
            },
        ));
        let Some(more) = rest
            .strip_prefix("\r\n")
            .or_else(|| rest.strip_prefix(['\n', '\r']))
        else {
            return Ok(rows);
        };
        (rest, line) = (more, line + 1);
    }
}

/// The cell that `rest` begins with and its length.
fn cell(
    rest: &str,
    delimiter: char,
    strict: bool,
    blanks: Blanks,
) -> Result<(String, usize), Fault> {
    let ends = |c: char| c == delimiter || c == '\n' || c == '\r';
    let unquoted = rest.trim_start_matches(|c: char| c == ' ' && c != delimiter);
    let Some(mut inside) = unquoted.strip_prefix('"') else {
        let len = rest.find(ends).unwrap_or(rest.len());
        if strict && rest[..len].contains('"') {
            return Err(Fault::Stray);
        }
        let cell = match blanks {
            Blanks::Kept => &rest[..len],
            Blanks::Trimmed => rest[..len].trim(),
        };
        return Ok((cell.to_owned(), len));
    };
    let mut cell = String::new();
    loop {
        let quote = inside.find('"').ok_or(Fault::Open)?;
        cell.push_str(&inside[..quote]);
        inside = &inside[quote + 1..];
        if let Some(more) = inside.strip_prefix('"') {
            cell.push('"');
            inside = more;
            continue;
        }
        let after = inside.trim_start_matches(|c: char| c == ' ' && c != delimiter);
        if after.is_empty() || after.starts_with(ends) {
            return Ok((cell, rest.len() - after.len()));
        }
        if strict {
            return Err(Fault::Stray);
        }
        // A quote in the middle of a quoted cell: text.
        cell.push('"');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(text: &str) -> Vec<(u32, Vec<String>)> {
        rows(text, ',', false, Blanks::Trimmed)
            .expect("quotes close")
            .into_iter()
            .map(|row| (row.line, row.cells))
            .collect()
    }

    #[test]
    fn unquoted_cells_are_trimmed_and_quoted_ones_are_not() {
        let cases: [(&str, &[&str]); 8] = [
            ("a, b ,c", &["a", "b", "c"]),
            ("\" a \",b", &[" a ", "b"]),
            ("a, \"b\" ,c", &["a", "b", "c"]),
            ("\"say \"\"hi\"\"\",x", &["say \"hi\"", "x"]),
            ("say \"hi\",x", &["say \"hi\"", "x"]),
            ("\"a \"b\" c\",x", &["a \"b\" c", "x"]),
            (",,", &["", "", ""]),
            ("é,\"ü,ö\"", &["é", "ü,ö"]),
        ];
        for (text, expected) in cases {
            assert_eq!(cells(text)[0].1, expected, "{text}");
        }
    }

    #[test]
    fn blanks_around_unquoted_cells_may_count() {
        let rows = rows("a, b ,\" c \", \"d\" ", ',', false, Blanks::Kept).expect("quotes close");
        assert_eq!(rows[0].cells, ["a", " b ", " c ", "d"]);
    }

    #[test]
    fn rows_know_their_lines_also_after_cells_of_several_lines() {
        let rows = cells("h1,h2\r\n\"a\nb\",c\n\nlast,row");
        let lines: Vec<u32> = rows.iter().map(|(line, _)| *line).collect();
        assert_eq!(lines, [1, 2, 4, 5]);
        assert_eq!(rows[1].1, ["a\nb", "c"]);
    }

    #[test]
    fn a_quote_that_never_closes_is_known_by_its_line() {
        let text = "a,b\n\"c,d\ne,f";
        for strict in [false, true] {
            let rows = rows(text, ',', strict, Blanks::Kept);
            assert_eq!(rows.err(), Some((2, Fault::Open)));
        }
    }

    #[test]
    fn a_stray_quote_is_text_unless_it_has_to_be_right() {
        for text in ["a\nsay \"hi\"", "a\n\"say \"hi\" now\""] {
            assert!(rows(text, ',', false, Blanks::Kept).is_ok(), "{text}");
            assert_eq!(
                rows(text, ',', true, Blanks::Kept).err(),
                Some((2, Fault::Stray)),
                "{text}"
            );
        }
        assert!(rows("a\n\"say \"\"hi\"\"\"", ',', true, Blanks::Kept).is_ok());
    }

    #[test]
    fn the_delimiter_comes_from_the_environment() {
        let env = |name: &str, value: &str| BTreeMap::from([(name.to_owned(), value.to_owned())]);
        let cases = [
            (BTreeMap::new(), b',', true),
            (env("RUNNER_CSV_DELIMITER", ";"), b';', true),
            (env("PROMPTFOO_CSV_DELIMITER", "\t"), b'\t', true),
            (env("RUNNER_CSV_DELIMITER", "\\t"), b'\t', true),
            (env("RUNNER_CSV_DELIMITER", ""), b',', true),
            (env("RUNNER_CSV_DELIMITER", ";;"), b',', false),
            (env("RUNNER_CSV_DELIMITER", "\""), b',', false),
        ];
        for (env, expected, fine) in cases {
            let findings = Findings::default();
            assert_eq!(delimiter(&env, &findings), expected, "{env:?}");
            assert_eq!(findings.is_clean(), fine, "{env:?}");
        }
    }
}
