//! Which cases of a run have a row, without what is in it.
//!
//! A resume walks the plan and this side by side, both in the order of places, and holds neither:
//! a million cases are known to be done without being in memory. The pages are as in
//! [`Rows`](super::Rows), for the same reason; a page is longer, since a case takes a hundred
//! bytes.

use std::path::PathBuf;

use rusqlite::Connection;

use super::Outcome;
use super::rows::identity;
use crate::digest::Digest;
use crate::error::StoreError;

/// Cases in one question.
const PAGE: usize = 1024;

const QUESTION: &str = "
SELECT test_idx, prompt_idx, identity, outcome FROM rows
WHERE run = ?1 AND (test_idx, prompt_idx) > (?2, ?3)
ORDER BY test_idx, prompt_idx LIMIT ?4";

/// A case that has a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredCase {
    /// Which test, in the plan's order, from 0.
    pub test_idx: u32,
    /// Which column, in the plan's order, from 0.
    pub prompt_idx: u32,
    /// The case by its content, if that was said when it was stored.
    pub identity: Option<Digest>,
    /// How it ended.
    pub outcome: Outcome,
}

/// The cases of a run that have a row, in the order of (`test_idx`, `prompt_idx`), read as they
/// are asked for. Ends after an error.
#[derive(Debug)]
pub struct Cases {
    connection: Connection,
    path: PathBuf,
    run: i64,
    /// The place of the last case that was read; before the first, one that is less than any.
    last: (i64, i64),
    page: std::vec::IntoIter<StoredCase>,
    done: bool,
}

impl Cases {
    pub(super) fn new(connection: Connection, path: PathBuf, run: i64) -> Self {
        Self {
            connection,
            path,
            run,
            last: (-1, -1),
            page: Vec::new().into_iter(),
            done: false,
        }
    }

    fn next_page(&mut self) -> Result<(), StoreError> {
        let failed = |error| StoreError::sql("read results", &self.path, error);
        let mut question = self.connection.prepare_cached(QUESTION).map_err(failed)?;
        let mut found = question
            .query((self.run, self.last.0, self.last.1, PAGE as i64))
            .map_err(failed)?;
        let mut page = Vec::new();
        while let Some(row) = found.next().map_err(failed)? {
            let word = row.get_ref(3).map_err(failed)?;
            let word = word.as_str().map_err(|error| failed(error.into()))?;
            let Some(outcome) = Outcome::from_word(word) else {
                return Err(StoreError::Unreadable {
                    path: self.path.clone(),
                    what: "outcome",
                    value: word.to_owned(),
                });
            };
            let case = || {
                Ok(StoredCase {
                    test_idx: row.get(0)?,
                    prompt_idx: row.get(1)?,
                    identity: identity(row, 2)?,
                    outcome,
                })
            };
            page.push(case().map_err(failed)?);
        }
        self.done = page.len() < PAGE;
        if let Some(case) = page.last() {
            self.last = (case.test_idx.into(), case.prompt_idx.into());
        }
        self.page = page.into_iter();
        Ok(())
    }
}

impl Iterator for Cases {
    type Item = Result<StoredCase, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(case) = self.page.next() {
                return Some(Ok(case));
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
