//! Reads the rows of a run in the order of the plan, whatever their number.
//!
//! Rows come in pages by key, each page its own short question. One long question would keep a
//! snapshot open, and as long as it is open the journal can't be emptied, so a slow reader would
//! make a running evaluation's journal grow without bound.

use std::path::{Path, PathBuf};

use rusqlite::Connection;

use super::{Outcome, Row};
use crate::digest::Digest;
use crate::error::StoreError;

/// Rows in one question: enough that its cost is spread.
const PAGE: usize = 64;

/// Bytes of records after which a question ends: a record may have 64 MiB.
const PAGE_BYTES: usize = 4 << 20;

const COLUMNS: &str = "
SELECT test_idx, prompt_idx, row_id, outcome, score, latency_ms, cost_usd, input_tokens,
       output_tokens, cached, records.json, identity
FROM rows LEFT JOIN records ON records.key = rows.record
WHERE run = ?1";

/// The rows of a run in the order of (`test_idx`, `prompt_idx`), read as they are asked for. Ends
/// after an error.
#[derive(Debug)]
pub struct Rows {
    connection: Connection,
    path: PathBuf,
    run: i64,
    question: String,
    /// The key of the last row that was read; before the first, one that is less than any.
    last: (i64, i64),
    page: std::vec::IntoIter<Row>,
    done: bool,
}

impl Rows {
    /// Rows of one run, only those with one of `outcomes` if there are any.
    pub(super) fn new(
        connection: Connection,
        path: PathBuf,
        run: i64,
        outcomes: &[Outcome],
    ) -> Self {
        let question = format!(
            "{COLUMNS} AND (test_idx, prompt_idx) > (?2, ?3) {} ORDER BY test_idx, prompt_idx LIMIT {PAGE}",
            filter(outcomes)
        );
        Self {
            connection,
            path,
            run,
            question,
            last: (-1, -1),
            page: Vec::new().into_iter(),
            done: false,
        }
    }

    fn next_page(&mut self) -> Result<(), StoreError> {
        let failed = |error| StoreError::sql("read results", &self.path, error);
        let mut question = self
            .connection
            .prepare_cached(&self.question)
            .map_err(failed)?;
        let mut found = question
            .query((self.run, self.last.0, self.last.1))
            .map_err(failed)?;
        let mut page = Vec::with_capacity(PAGE);
        let mut bytes = 0;
        while bytes < PAGE_BYTES {
            let Some(row) = found.next().map_err(failed)? else {
                self.done = page.len() < PAGE;
                break;
            };
            let row = read(row, &self.path)?;
            bytes += row.record_json.len();
            page.push(row);
        }
        if let Some(row) = page.last() {
            self.last = (row.test_idx.into(), row.prompt_idx.into());
        }
        self.page = page.into_iter();
        Ok(())
    }
}

impl Iterator for Rows {
    type Item = Result<Row, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(row) = self.page.next() {
                return Some(Ok(row));
            }
            if self.done {
                return None;
            }
            if let Err(error) = self.next_page() {
                self.done = true;
                return Some(Err(error));
            }
        }
    }
}

/// Rows of a run by their keys, in any order, each its own short question.
#[derive(Debug)]
pub struct RowsByKey {
    connection: Connection,
    path: PathBuf,
    run: i64,
}

impl RowsByKey {
    pub(super) fn new(connection: Connection, path: PathBuf, run: i64) -> Self {
        Self {
            connection,
            path,
            run,
        }
    }

    /// The file that they are in.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The one row with this key, if there is one.
    ///
    /// # Errors
    /// When the file can't be read.
    pub fn row(&self, test_idx: u32, prompt_idx: u32) -> Result<Option<Row>, StoreError> {
        let failed = |error| StoreError::sql("read a result", &self.path, error);
        let question = format!("{COLUMNS} AND test_idx = ?2 AND prompt_idx = ?3");
        let mut question = self.connection.prepare_cached(&question).map_err(failed)?;
        let mut found = question
            .query((self.run, test_idx, prompt_idx))
            .map_err(failed)?;
        match found.next().map_err(failed)? {
            Some(row) => read(row, &self.path).map(Some),
            None => Ok(None),
        }
    }
}

/// The words are this crate's own, so they may stand in the question.
fn filter(outcomes: &[Outcome]) -> String {
    if outcomes.is_empty() {
        return String::new();
    }
    let words = outcomes
        .iter()
        .map(|outcome| format!("'{}'", outcome.as_str()))
        .collect::<Vec<_>>();
    format!("AND outcome IN ({})", words.join(", "))
}

/// An identity of another length is none: its case is run again.
pub(super) fn identity(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<Option<Digest>> {
    let bytes = row.get_ref(column)?.as_blob_or_null()?;
    Ok(bytes.and_then(Digest::from_column))
}

fn read(row: &rusqlite::Row<'_>, path: &Path) -> Result<Row, StoreError> {
    let word: String = row
        .get(3)
        .map_err(|error| StoreError::sql("read a result", path, error))?;
    let Some(outcome) = Outcome::from_word(&word) else {
        return Err(StoreError::Unreadable {
            path: path.to_owned(),
            what: "outcome",
            value: word,
        });
    };
    let read = || {
        Ok(Row {
            test_idx: row.get(0)?,
            prompt_idx: row.get(1)?,
            row_id: row.get(2)?,
            outcome,
            score: row.get::<_, Option<f64>>(4)?.unwrap_or(f64::NAN),
            latency_ms: row.get::<_, Option<i64>>(5)?.map(i64::cast_unsigned),
            cost_usd: row.get(6)?,
            input_tokens: row.get::<_, Option<i64>>(7)?.map(i64::cast_unsigned),
            output_tokens: row.get::<_, Option<i64>>(8)?.map(i64::cast_unsigned),
            cached: row.get(9)?,
            record_json: row.get(10)?,
            identity: identity(row, 11)?,
        })
    };
    read().map_err(|error| StoreError::sql("read a result", path, error))
}
