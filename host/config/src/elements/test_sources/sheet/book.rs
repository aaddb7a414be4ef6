//! A workbook: its sheets, and the cells of one of them.
//!
//! What is read of Office Open XML is what decides the text of a cell: the list of sheets, the
//! shared texts, which formats are dates, and the sheet.

use std::collections::HashSet;

use super::archive::Archive;
use super::xml::{Attributes, Token, walk};
use super::{Room, WAY_OUT};

/// A cell with something in it. `row` counts from 1, `column` from 0.
#[derive(Debug, PartialEq)]
pub(super) struct Cell {
    pub(super) row: u32,
    pub(super) column: usize,
    pub(super) text: String,
}

/// Columns that a sheet can have.
const MAX_COLUMN: usize = 16_384;

/// Numbers of formats that show a day, a time or both, by the standard.
const DATES: [std::ops::RangeInclusive<u32>; 2] = [14..=22, 45..=47];

/// Days from Excel's day 0 to 1970-01-01. Excel's day 60 is one that never was, so this holds for
/// the days after it: from 1900-03-01 on.
const EPOCH: i64 = 25_569;

/// Days from day 0 of a workbook that counts from 1904 to 1970-01-01.
const EPOCH_1904: i64 = 24_107;

/// Seconds of a day.
const DAY: f64 = 86_400.0;

/// What the cells of all sheets share.
struct Shared {
    texts: Vec<Box<str>>,
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
    let Book { sheets, is_1904 } = book(part, &text)?;
    let (name, id) = chosen(&sheets, sheet)?;
    let part = "xl/_rels/workbook.xml.rels";
    let text = archive.text(part)?.ok_or_else(|| missing(part))?;
    let target =
        target(part, &text, id)?.ok_or_else(|| format!("sheet '{name}' is not in the file"))?;
    let part = match target.strip_prefix('/') {
        Some(absolute) => absolute.to_owned(),
        None => format!("xl/{target}"),
    };
    let shared = Shared {
        texts: texts(archive)?,
        is_date: dates(archive)?,
        epoch: if is_1904 { EPOCH_1904 } else { EPOCH },
    };
    let text = archive.text(&part)?.ok_or_else(|| missing(&part))?;
    let mut sheet = Sheet {
        name,
        room: archive.room,
        shared: &shared,
        cells: Vec::new(),
        len: 0,
        row: 0,
        next: 0,
        open: None,
        words: Words::default(),
        is_value: false,
    };
    walk(&part, &text, |_, token| sheet.token(token))?;
    let mut cells = sheet.cells;
    cells.sort_by_key(|cell| (cell.row, cell.column));
    Ok((name.to_owned(), cells))
}

/// What is read of the workbook itself.
#[derive(Default)]
struct Book {
    /// Name and id of each sheet.
    sheets: Vec<(String, String)>,
    is_1904: bool,
}

fn book(part: &str, text: &str) -> Result<Book, String> {
    let mut book = Book::default();
    walk(part, text, |_, token| {
        match token {
            Token::Open("sheet", of) => {
                book.sheets.extend(of.get("name").zip(of.get("id")));
            }
            Token::Open("workbookPr", of) => {
                let set = of.get("date1904");
                book.is_1904 |= matches!(set.as_deref(), Some("1" | "true"));
            }
            _ => {}
        }
        Ok(())
    })?;
    Ok(book)
}

/// Name and id of the sheet that is meant.
fn chosen<'a>(
    sheets: &'a [(String, String)],
    wanted: Option<&str>,
) -> Result<(&'a str, &'a str), String> {
    let found = match wanted {
        None => Some(sheets.first().ok_or("has no sheets")?),
        Some(wanted) => {
            let by_name = sheets.iter().find(|(name, _)| *name == wanted);
            let number = || wanted.parse::<usize>().ok()?.checked_sub(1);
            by_name.or_else(|| sheets.get(number()?))
        }
    };
    found.map(|(name, id)| (&**name, &**id)).ok_or_else(|| {
        let names: Vec<&str> = sheets.iter().map(|(name, _)| &**name).collect();
        let wanted = wanted.unwrap_or_default();
        format!("has no sheet '{wanted}'; there are: {}", names.join(", "))
    })
}

/// Where the sheet of that id is.
fn target(part: &str, text: &str, id: &str) -> Result<Option<String>, String> {
    let mut target = None;
    walk(part, text, |_, token| {
        if let Token::Open("Relationship", of) = token
            && target.is_none()
            && of.get("Id").as_deref() == Some(id)
        {
            target = of.get("Target");
        }
        Ok(())
    })?;
    Ok(target)
}

/// The texts that cells refer to by number.
fn texts(archive: &mut Archive<'_>) -> Result<Vec<Box<str>>, String> {
    let part = "xl/sharedStrings.xml";
    let Some(text) = archive.text(part)? else {
        return Ok(Vec::new());
    };
    let most = archive.room.cells;
    let mut texts = Vec::new();
    let mut words = Words::default();
    walk(part, &text, |depth, token| {
        words.token(&token);
        match token {
            // The children of the list alone: what nests deeper would be counted again and again.
            Token::Open("si", _) if depth == 1 => words.text.clear(),
            Token::Close("si") if depth == 1 && texts.len() == most => {
                return Err(format!("has more than {most} shared texts{WAY_OUT}"));
            }
            Token::Close("si") if depth == 1 => {
                texts.push(std::mem::take(&mut words.text).trim().into());
            }
            _ => {}
        }
        Ok(())
    })?;
    Ok(texts)
}

/// Collects the text of an element, without hints on how to say it aloud.
#[derive(Default)]
struct Words {
    text: String,
    is_text: bool,
    /// How many hints there are around.
    hints: usize,
}

impl Words {
    fn token(&mut self, token: &Token<'_>) {
        match token {
            Token::Open("rPh", _) => self.hints += 1,
            Token::Close("rPh") => self.hints -= 1,
            Token::Open(name, _) => self.is_text = *name == "t" && self.hints == 0,
            Token::Close(_) => self.is_text = false,
            Token::Text(text) if self.is_text => self.text.push_str(text),
            Token::Text(_) => {}
        }
    }
}

/// Checks whether the formats of cells are those of dates.
fn dates(archive: &mut Archive<'_>) -> Result<Vec<bool>, String> {
    let part = "xl/styles.xml";
    let Some(text) = archive.text(part)? else {
        return Ok(Vec::new());
    };
    let number = |of: &Attributes<'_>| of.get("numFmtId")?.parse::<u32>().ok();
    let mut own = HashSet::new();
    let mut formats = Vec::new();
    // How deep the list of formats is.
    let mut list = None;
    walk(part, &text, |depth, token| {
        match token {
            Token::Open("numFmt", of) if of.get("formatCode").is_some_and(|it| shows_date(&it)) => {
                own.extend(number(of));
            }
            Token::Open("cellXfs", _) => list = Some(depth),
            Token::Close("cellXfs") => list = None,
            Token::Open("xf", of) if list.is_some_and(|list| list + 1 == depth) => {
                formats.push(number(of));
            }
            _ => {}
        }
        Ok(())
    })?;
    let is_date = |id: u32| own.contains(&id) || DATES.iter().any(|dates| dates.contains(&id));
    let formats = formats.into_iter();
    Ok(formats.map(|format| format.is_some_and(is_date)).collect())
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

/// A sheet while it is read.
struct Sheet<'a> {
    name: &'a str,
    room: Room,
    shared: &'a Shared,
    cells: Vec<Cell>,
    /// Bytes of all texts.
    len: usize,
    row: u32,
    /// Where a cell stands that doesn't say it.
    next: usize,
    open: Option<OpenCell>,
    words: Words,
    /// Whether the value of the open cell is being read.
    is_value: bool,
}

/// A cell whose end has not come yet.
struct OpenCell {
    column: usize,
    kind: Option<String>,
    format: Option<usize>,
    value: String,
    is_calculated: bool,
    has_value: bool,
}

impl Sheet<'_> {
    fn token(&mut self, token: Token<'_>) -> Result<(), String> {
        self.words.token(&token);
        match token {
            Token::Open("row", of) => {
                let number = of.get("r").and_then(|text| text.parse().ok());
                self.row = number.unwrap_or(self.row.saturating_add(1));
                self.next = 0;
            }
            Token::Open("c", of) if self.open.is_none() => {
                let column = of.get("r").and_then(|name| column(&name));
                let column = column.unwrap_or(self.next);
                self.next = column + 1;
                self.words.text.clear();
                self.open = Some(OpenCell {
                    column,
                    kind: of.get("t"),
                    format: of.get("s").and_then(|text| text.parse().ok()),
                    value: String::new(),
                    is_calculated: false,
                    has_value: false,
                });
            }
            Token::Close("c") => {
                if let Some(cell) = self.open.take() {
                    return self.cell(&cell);
                }
            }
            Token::Open(name, _) => {
                self.is_value = name == "v";
                if let Some(cell) = &mut self.open {
                    cell.is_calculated |= name == "f";
                    cell.has_value |= self.is_value;
                }
            }
            Token::Close(_) => self.is_value = false,
            Token::Text(text) => {
                if let Some(cell) = self.open.as_mut().filter(|_| self.is_value) {
                    cell.value.push_str(text);
                }
            }
        }
        Ok(())
    }

    /// Keeps a cell that says something. One whose text is not in the file is not empty: it may be
    /// an assertion.
    fn cell(&mut self, cell: &OpenCell) -> Result<(), String> {
        let place = || format!("line {}, column {}", self.row, cell.column + 1);
        if cell.is_calculated && !cell.has_value {
            return Err(format!(
                "sheet '{}', {}: a formula whose value is not in the file; open it in a spreadsheet program and save it there",
                self.name,
                place()
            ));
        }
        let Some(text) = self.shared.text(cell, self.words.text.trim()) else {
            return Err(format!(
                "sheet '{}', {}: its text is missing; the file is damaged",
                self.name,
                place()
            ));
        };
        if text.is_empty() || cell.column >= MAX_COLUMN {
            return Ok(());
        }
        let (name, column, row) = (self.name, cell.column, self.row);
        self.len += text.len();
        self.cells.push(Cell { row, column, text });
        if self.cells.len() > self.room.cells {
            return Err(self.room.refuses_cells(name));
        }
        if self.len > self.room.bytes {
            let mib = self.room.bytes >> 20;
            return Err(format!(
                "sheet '{name}' has more than {mib} MiB of text{WAY_OUT}"
            ));
        }
        Ok(())
    }
}

impl Shared {
    /// What a cell says; `words` is the text that it holds itself. `None`: it refers to a text that
    /// is not there.
    fn text(&self, cell: &OpenCell, words: &str) -> Option<String> {
        let value = cell.value.trim();
        Some(match cell.kind.as_deref().unwrap_or("n") {
            "s" if !cell.has_value => String::new(),
            "s" => {
                let index = value.parse::<usize>().ok();
                index.and_then(|index| self.texts.get(index))?.to_string()
            }
            "inlineStr" => words.to_owned(),
            "b" => if value == "1" { "true" } else { "false" }.to_owned(),
            "n" => {
                let is_date = cell.format.and_then(|format| self.is_date.get(format));
                self.number(value, is_date == Some(&true))
            }
            _ => value.to_owned(),
        })
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
