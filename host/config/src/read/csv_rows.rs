//! CSV as rows of cells with the line each begins on.
//!
//! Lenient as promptfoo is in the end: quotes inside unquoted cells are text, rows may be short
//! or long, blank lines are nothing. Headers are trimmed, quoted cells are not; what counts of the
//! blanks around other cells is [`Blanks`].
//!
//! Memory: the text, and one row beside it. The whole text is looked through first, so that what
//! is wrong on the last line is said before the first row is used; then rows are made one by one,
//! each without what lies far beyond the last header.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;

use runner_template::MAX_TEXT;

use crate::environment;
use crate::model::{Findings, Position};

/// What becomes of blanks around unquoted cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Blanks {
    /// They belong to the cell.
    Kept,
    /// They don't.
    Trimmed,
}

/// How many columns are read: what spreadsheets can have.
const MAX_COLUMNS: usize = 16_384;

/// Cells of a row that are there whatever the first row has: names of columns may stand below it by
/// mistake.
const NAMES: usize = 64;

/// A file's rows, the first of them apart.
pub(crate) struct Table<'a> {
    pub(crate) headers: Vec<String>,
    pub(crate) rows: Box<dyn Iterator<Item = Row> + 'a>,
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

/// Reads a file's text as the environment of the process says; what is wrong is reported.
pub(crate) fn read<'a>(
    path: &Path,
    text: &'a str,
    blanks: Blanks,
    (process, findings): (&BTreeMap<String, String>, &Findings),
) -> Option<Table<'a>> {
    let at = |line| Position::of_line(path, line);
    let (delimiter, text) = match stated(text) {
        Some(stated) => stated,
        None => (char::from(delimiter(process, findings)), text),
    };
    let strict = environment::flag(process, environment::CSV_STRICT, findings);
    let format = Format {
        delimiter,
        strict,
        blanks,
    };
    let header = match format.look_through(text) {
        Ok(header) => header,
        Err((line, fault)) => {
            let (message, help) = fault.said();
            findings.error_perhaps(at(line), message, help);
            return None;
        }
    };
    let Some(header) = header else {
        findings.error(at(0), "has no header line");
        return None;
    };
    let headers = header.cells.iter().map(|header| header.trim().to_owned());
    let headers: Vec<String> = headers.collect();
    let rows = format.rows(text, headers.len().max(NAMES)).skip(1);
    Some(Table {
        headers,
        rows: Box::new(rows),
    })
}

/// The separator that a first line states (`sep=;`, as Excel reads and some programs write it), and the
/// text after it.
fn stated(text: &str) -> Option<(char, &str)> {
    const WORD: usize = "sep=".len();
    let word = text.get(..WORD)?;
    let delimiter = char::from(*text.as_bytes().get(WORD)?);
    // The end of the line stays, so that the lines after it keep their numbers.
    let rest = text.get(WORD + 1..)?;
    let is_stated = word.eq_ignore_ascii_case("sep=")
        && rest.starts_with(['\r', '\n'])
        && delimiter.is_ascii()
        && !matches!(delimiter, '"' | '\r' | '\n');
    is_stated.then_some((delimiter, rest))
}

/// The cells of a text that is one row, without empty ones.
pub(crate) fn split(text: &str, delimiter: char) -> Vec<String> {
    let format = Format {
        delimiter,
        strict: false,
        blanks: Blanks::Trimmed,
    };
    let cells: Result<Vec<_>, _> = format.cells(text).collect();
    let kept = |cell: &str| Some(cell.to_owned()).filter(|cell| !cell.is_empty());
    match cells {
        Ok(cells) => cells.iter().filter_map(|cell| kept(&cell.text)).collect(),
        Err(_) => text
            .split(delimiter)
            .filter_map(|cell| kept(cell.trim()))
            .collect(),
    }
}

/// What is wrong with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// A quote opens a cell that never ends.
    Open,
    /// One stands in a cell that doesn't begin with one, or before the end of one that does.
    Stray,
    /// A cell that no prompt may hold.
    Long,
    /// A row of headers that no spreadsheet has.
    Wide,
}

impl Fault {
    /// What is said about it, and what to do.
    fn said(self) -> (String, Option<String>) {
        let long = "no prompt may be that long; name a file of the text, or cut it";
        let (message, help) = match self {
            Self::Open => (
                "not valid CSV: the quote that opens here is never closed",
                None,
            ),
            Self::Stray => (
                "not valid CSV: a quote inside a cell, and CSV_STRICT is on",
                None,
            ),
            Self::Long => ("a cell of more than 16 MiB", Some(long.to_owned())),
            Self::Wide => ("more than 16384 columns", None),
        };
        (message.to_owned(), help)
    }
}

/// How cells are told apart.
#[derive(Debug, Clone, Copy)]
struct Format {
    delimiter: char,
    /// Whether stray quotes are wrong.
    strict: bool,
    blanks: Blanks,
}

/// A cell on its way into a row.
#[derive(Debug)]
struct UnfinishedCell<'a> {
    text: Cow<'a, str>,
    /// Line it begins on, from 1.
    line: u32,
    /// Whether it is the last of its row.
    is_last: bool,
}

/// The cells of a text, in order; ends at the first fault.
struct Cells<'a> {
    format: Format,
    rest: Option<&'a str>,
    line: u32,
}

impl<'a> Iterator for Cells<'a> {
    type Item = Result<UnfinishedCell<'a>, (u32, Fault)>;

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.rest.take()?;
        let line = self.line;
        let (text, len) = match self.format.cell(rest) {
            Ok(cell) => cell,
            Err(fault) => return Some(Err((line, fault))),
        };
        self.line += rest[..len].matches('\n').count() as u32;
        let rest = &rest[len..];
        let next = rest.strip_prefix(self.format.delimiter);
        let is_last = next.is_none();
        self.rest = next.or_else(|| {
            self.line += 1;
            let more = rest.strip_prefix("\r\n");
            more.or_else(|| rest.strip_prefix(['\n', '\r']))
        });
        Some(Ok(UnfinishedCell {
            text,
            line,
            is_last,
        }))
    }
}

impl Format {
    fn cells(self, text: &str) -> Cells<'_> {
        Cells {
            format: self,
            rest: Some(text),
            line: 1,
        }
    }

    /// Looks for the row of headers, if there is one; or what is wrong anywhere and on which line.
    fn look_through(self, text: &str) -> Result<Option<Row>, (u32, Fault)> {
        for cell in self.cells(text) {
            let cell = cell?;
            if cell.text.len() > MAX_TEXT {
                return Err((cell.line, Fault::Long));
            }
        }
        let header = self.rows(text, MAX_COLUMNS + 1).next();
        match header {
            Some(row) if row.cells.len() > MAX_COLUMNS => Err((row.line, Fault::Wide)),
            header => Ok(header),
        }
    }

    /// The rows that aren't blank, each without what lies beyond `width`; up to the first fault.
    fn rows(self, text: &str, width: usize) -> impl Iterator<Item = Row> {
        let mut cells = self.cells(text).map_while(Result::ok);
        let rows = std::iter::from_fn(move || {
            let mut row: Option<Row> = None;
            let mut is_blank = true;
            for cell in cells.by_ref() {
                is_blank &= cell.text.trim().is_empty();
                let (cells, line) = (Vec::new(), cell.line);
                let row = row.get_or_insert(Row { cells, line });
                if row.cells.len() < width {
                    row.cells.push(cell.text.into_owned());
                }
                if cell.is_last {
                    break;
                }
            }
            Some((row?, is_blank))
        });
        let filled = |(row, is_blank): (Row, bool)| Some(row).filter(|_| !is_blank);
        rows.filter_map(filled)
    }

    /// The cell that `rest` begins with and its length.
    fn cell(self, rest: &str) -> Result<(Cow<'_, str>, usize), Fault> {
        let delimiter = self.delimiter;
        let ends = |c: char| c == delimiter || c == '\n' || c == '\r';
        let unquoted = rest.trim_start_matches(|c: char| c == ' ' && c != delimiter);
        let Some(mut inside) = unquoted.strip_prefix('"') else {
            let len = rest.find(ends).unwrap_or(rest.len());
            if self.strict && rest[..len].contains('"') {
                return Err(Fault::Stray);
            }
            let cell = match self.blanks {
                Blanks::Kept => &rest[..len],
                Blanks::Trimmed => rest[..len].trim(),
            };
            return Ok((Cow::Borrowed(cell), len));
        };
        let mut cell = Cow::Borrowed("");
        loop {
            let quote = inside.find('"').ok_or(Fault::Open)?;
            cell += &inside[..quote];
            inside = &inside[quote + 1..];
            if let Some(more) = inside.strip_prefix('"') {
                cell.to_mut().push('"');
                inside = more;
                continue;
            }
            let after = inside.trim_start_matches(|c: char| c == ' ' && c != delimiter);
            if after.is_empty() || after.starts_with(ends) {
                return Ok((cell, rest.len() - after.len()));
            }
            if self.strict {
                return Err(Fault::Stray);
            }
            // A quote in the middle of a quoted cell: text.
            cell.to_mut().push('"');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRIMMED: Format = Format {
        delimiter: ',',
        strict: false,
        blanks: Blanks::Trimmed,
    };

    fn cells(text: &str) -> Vec<(u32, Vec<String>)> {
        TRIMMED.look_through(text).expect("quotes close");
        let rows = TRIMMED.rows(text, MAX_COLUMNS);
        rows.map(|row| (row.line, row.cells)).collect()
    }

    fn fault(text: &str, strict: bool) -> Option<(u32, Fault)> {
        Format { strict, ..TRIMMED }.look_through(text).err()
    }

    #[test]
    fn a_first_line_may_state_the_separator() {
        assert_eq!(stated("sep=;\na;b\n"), Some((';', "\na;b\n")));
        assert_eq!(stated("SEP=\t\r\na\n"), Some(('\t', "\r\na\n")));
        for none in [
            "",
            "sep",
            "sep=",
            "sep=;",
            "sep=,x\n",
            "sep=\"\n",
            "a,sep=;\n",
            "s\u{e9}p=,\n",
        ] {
            assert_eq!(stated(none), None, "{none}");
        }
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
            (",,x", &["", "", "x"]),
            ("é,\"ü,ö\"", &["é", "ü,ö"]),
        ];
        for (text, expected) in cases {
            assert_eq!(cells(text)[0].1, expected, "{text}");
        }
    }

    #[test]
    fn blanks_around_unquoted_cells_may_count() {
        let blanks = Blanks::Kept;
        let format = Format { blanks, ..TRIMMED };
        let mut rows = format.rows("a, b ,\" c \", \"d\" ", 9);
        let row = rows.next().expect("a row");
        assert_eq!(row.cells, ["a", " b ", " c ", "d"]);
    }

    #[test]
    fn rows_know_their_lines_also_after_cells_of_several_lines() {
        let rows = cells("h1,h2\r\n\"a\nb\",c\n\nlast,row");
        let lines: Vec<u32> = rows.iter().map(|(line, _)| *line).collect();
        assert_eq!(lines, [1, 2, 5]);
        assert_eq!(rows[1].1, ["a\nb", "c"]);
    }

    #[test]
    fn a_quote_that_never_closes_is_known_by_its_line() {
        let text = "a,b\n\"c,d\ne,f";
        for strict in [false, true] {
            assert_eq!(fault(text, strict), Some((2, Fault::Open)));
        }
    }

    #[test]
    fn a_stray_quote_is_text_unless_it_has_to_be_right() {
        for text in ["a\nsay \"hi\"", "a\n\"say \"hi\" now\""] {
            assert_eq!(fault(text, false), None, "{text}");
            assert_eq!(fault(text, true), Some((2, Fault::Stray)), "{text}");
        }
        assert_eq!(fault("a\n\"say \"\"hi\"\"\"", true), None);
    }

    #[test]
    fn what_is_too_long_or_wide_is_refused() {
        let long = format!("a\nb\n{}", "x".repeat(MAX_TEXT + 1));
        assert_eq!(fault(&long, false), Some((3, Fault::Long)));
        let wide = |columns: usize| format!("a{}\n{}", ",".repeat(columns - 1), ",".repeat(99_999));
        assert_eq!(fault(&wide(MAX_COLUMNS), false), None);
        assert_eq!(fault(&wide(MAX_COLUMNS + 1), false), Some((1, Fault::Wide)));
    }

    #[test]
    fn cells_beyond_the_last_header_only_make_a_row_one() {
        let rows: Vec<Row> = TRIMMED.rows("a,b\n,,\n,,c\n\"\n\"\nd,e,f", 2).collect();
        let rows: Vec<(u32, usize)> = rows.iter().map(|row| (row.line, row.cells.len())).collect();
        assert_eq!(rows, [(1, 2), (3, 2), (6, 2)]);
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
