//! The rows of a run, in the order of the plan or by their keys.

use std::path::{Path, PathBuf};

use rusqlite::Connection;

use super::{Outcome, Row};
use crate::digest::Digest;
use crate::error::StoreError;
use crate::paged::{OfCase, Paged};

pub(super) const QUESTION: &str = "
SELECT test_idx, prompt_idx, row_id, outcome, score, latency_ms, cost_usd, input_tokens,
       output_tokens, cached, records.json, identity, grading_usd, saved_usd
FROM rows LEFT JOIN records ON records.key = rows.record
WHERE run = ?1";

/// The rows of a run in the order of (`test_idx`, `prompt_idx`), read as they are asked for. Ends
/// after an error.
pub type Rows = Paged<Row>;

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
        let question = format!("{QUESTION} AND test_idx = ?2 AND prompt_idx = ?3");
        let mut question = self.connection.prepare_cached(&question).map_err(failed)?;
        let mut found = question
            .query((self.run, test_idx, prompt_idx))
            .map_err(failed)?;
        match found.next().map_err(failed)? {
            Some(row) => Row::read(row, &self.path).map(Some),
            None => Ok(None),
        }
    }
}

/// An identity of another length is none: its case is run again.
pub(super) fn identity(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<Option<Digest>> {
    let bytes = row.get_ref(column)?.as_blob_or_null()?;
    Ok(bytes.and_then(Digest::from_column))
}

/// How a case ended; a word that is none of ours is an error.
pub(super) fn outcome(
    row: &rusqlite::Row<'_>,
    column: usize,
    path: &Path,
) -> Result<Outcome, StoreError> {
    let failed = |error| StoreError::sql("read a result", path, error);
    let word = row.get_ref(column).map_err(failed)?;
    let word = word.as_str().map_err(|error| failed(error.into()))?;
    Outcome::from_word(word).ok_or_else(|| StoreError::Unreadable {
        path: path.to_owned(),
        what: "outcome",
        value: word.to_owned(),
    })
}

impl OfCase for Row {
    const DOING: &'static str = "read results";
    const PAGE: usize = 64;

    fn read(row: &rusqlite::Row<'_>, path: &Path) -> Result<Self, StoreError> {
        let outcome = outcome(row, 3, path)?;
        let read = || {
            Ok(Self {
                test_idx: row.get(0)?,
                prompt_idx: row.get(1)?,
                row_id: row.get(2)?,
                outcome,
                score: row.get::<_, Option<f64>>(4)?.unwrap_or(f64::NAN),
                latency_ms: row.get::<_, Option<i64>>(5)?.map(i64::cast_unsigned),
                cost_usd: row.get(6)?,
                grading_usd: row.get(12)?,
                saved_usd: row.get(13)?,
                input_tokens: row.get::<_, Option<i64>>(7)?.map(i64::cast_unsigned),
                output_tokens: row.get::<_, Option<i64>>(8)?.map(i64::cast_unsigned),
                cached: row.get(9)?,
                record_json: row.get(10)?,
                identity: identity(row, 11)?,
            })
        };
        read().map_err(|error| StoreError::sql("read a result", path, error))
    }

    fn place(&self) -> (u32, u32) {
        (self.test_idx, self.prompt_idx)
    }

    fn bytes(&self) -> usize {
        self.record_json.len()
    }
}
