//! Tests in spreadsheets (`.xlsx`, perhaps `#sheet`): a table like that of a CSV file.
//!
//! A cell is the text that it shows without its format: numbers as JavaScript writes them, dates
//! as ISO 8601, text without blank space around it. The sheet is the first one, the one of that
//! name, or with `#2` the second. What is calculated counts as it was when the file was saved.
//!
//! The file is anybody's, and so it is read by little code of our own, every step of it bounded:
//! `archive` unpacks no more than fits, `xml` makes no tree, `book` keeps cells one by one and
//! never a rectangle, which two cells can make a billion large. Of the formats before 2007
//! (`.xls`) and of others nothing is read; promptfoo doesn't either.
//!
//! Memory: at most four times what is unpacked and a hundred bytes for each cell. Both grow with the
//! file's size ([`Room`]).

use std::path::{Path, PathBuf};

use crate::bounds;
use crate::elements::reading::Reading;
use crate::model::{Position, TextOrigin};
use crate::read::csv_rows::{Row, Table};
use crate::read::files::{MAX_TREE_FILE, has_extension};

mod archive;
mod book;
mod xml;

use archive::Archive;
use book::Cell;

/// What a file may bring: little that is packed well becomes much.
#[derive(Debug, Clone, Copy)]
struct Room {
    /// Bytes of the parts that are unpacked, all together, and of the texts of a sheet's cells, which may share
    /// one and have a copy each.
    bytes: usize,
    /// Cells of a sheet, those left of a cell included: they take room. Texts that cells share, too.
    cells: usize,
}

impl Room {
    /// That of a file of so many bytes.
    fn of(size: usize) -> Self {
        Self {
            bytes: bounds::UNPACKED.of(size).min(bounds::MAX_UNPACKED),
            cells: bounds::CELLS.of(size).min(bounds::MAX_CELLS),
        }
    }

    /// Why there are not so many cells.
    fn refuses_cells(self, sheet: &str) -> String {
        let cells = self.cells;
        format!("sheet '{sheet}' has more than {cells} cells{WAY_OUT}")
    }
}

/// What helps where a file unpacks to more than its size allows.
const WAY_OUT: &str = ", which is more than a file of this size may hold; save it as CSV";

/// The file of a spreadsheet, if the name is that of one; `#sheet` may follow it. Sheets have any names.
pub(super) fn spreadsheet(path: &Path) -> Option<PathBuf> {
    let file = PathBuf::from(split(path).0);
    has_extension(&file, &["xlsx", "xls", "xlsm", "ods"]).then_some(file)
}

/// File and sheet.
fn split(path: &Path) -> (String, Option<String>) {
    let text = path.display().to_string();
    match text.rsplit_once('#') {
        Some((file, sheet)) => (file.to_owned(), Some(sheet.to_owned())),
        None => (text, None),
    }
}

/// Reads the table of a sheet; what is wrong is reported at `at`.
pub(super) fn read(
    path: &Path,
    at: &Position,
    origin: &TextOrigin,
    reading: Reading<'_>,
) -> Option<Table<'static>> {
    let (file, sheet) = split(path);
    let refuse = |why: &str| {
        let message = format!("'{}': {why}", path.display());
        reading.findings.error(at.clone(), message);
    };
    if !has_extension(file.as_ref(), &["xlsx", "xlsm"]) {
        refuse("of spreadsheets only .xlsx is read; save it as that, or as CSV");
        return None;
    }
    let files = reading.files;
    let file = files.permit(file.as_ref(), at, origin, reading.findings)?;
    let bytes = files.read_bytes(&file, MAX_TREE_FILE);
    let table = bytes.and_then(|bytes| {
        let (table, unpacked) = table(&bytes, sheet.as_deref())?;
        // A small file may unpack to a large one, each time that it is named.
        files.take(unpacked)?;
        Ok(table)
    });
    table.map_err(|why| refuse(&why)).ok()
}

/// The table of a sheet of a file with these bytes, and the bytes that were unpacked for it.
fn table(bytes: &[u8], sheet: Option<&str>) -> Result<(Table<'static>, usize), String> {
    let room = Room::of(bytes.len());
    let mut archive = Archive::new(bytes, room)?;
    let (name, cells) = book::cells(&mut archive, sheet)?;
    let mut rows: Vec<Row> = Vec::new();
    let mut count = 0;
    for Cell { row, column, text } in cells {
        if rows.last().is_none_or(|last| last.line != row) {
            rows.push(Row {
                cells: Vec::new(),
                line: row,
            });
        }
        let last = rows.last_mut().expect("one was just pushed");
        count += (column + 1).saturating_sub(last.cells.len());
        if count > room.cells {
            return Err(room.refuses_cells(&name));
        }
        if last.cells.len() <= column {
            last.cells.resize(column + 1, String::new());
        }
        last.cells[column] = text;
    }
    if rows.is_empty() {
        return Err(format!("sheet '{name}' is empty"));
    }
    let headers = rows.remove(0).cells;
    let width = headers.len();
    // A sheet has all its cells: what is empty is an empty text, made row by row.
    let rows = rows.into_iter().map(move |mut row| {
        let width = width.max(row.cells.len());
        row.cells.resize(width, String::new());
        row
    });
    let table = Table {
        headers,
        rows: Box::new(rows),
    };
    Ok((table, archive.unpacked()))
}

#[cfg(test)]
mod tests;
