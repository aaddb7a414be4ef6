//! Reads something of each case of a run in the order of the plan, whatever their number.
//!
//! It comes in pages by key, each page its own short question. One long question would keep a
//! snapshot open, and as long as it is open the journal can't be emptied, so a slow reader would
//! make a running evaluation's journal grow without bound.

use std::path::{Path, PathBuf};

use rusqlite::Connection;

use crate::error::StoreError;

/// Bytes of records after which a question ends: a record may have 64 MiB.
const PAGE_BYTES: usize = 4 << 20;

/// Something that a run has of each of its cases.
pub(crate) trait OfCase: Sized {
    /// What an error says of reading it.
    const DOING: &'static str;

    /// How many there are in one question: enough that its cost is spread.
    const PAGE: usize;

    /// Understands what the file at `path` answered.
    fn read(row: &rusqlite::Row<'_>, path: &Path) -> Result<Self, StoreError>;

    /// The case's test and its column.
    fn place(&self) -> (u32, u32);

    /// Bytes that it has beside itself.
    fn bytes(&self) -> usize {
        0
    }
}

/// What a run has of each of its cases in the order of (`test_idx`, `prompt_idx`), read as it is
/// asked for. Ends after an error.
#[derive(Debug)]
pub struct Paged<T> {
    connection: Connection,
    path: PathBuf,
    run: i64,
    question: String,
    /// The place of the last case that was read; before the first, one that is less than any.
    last: (i64, i64),
    page: std::vec::IntoIter<T>,
    done: bool,
}

impl<T> Paged<T> {
    /// What `question` asks of the `run` that is its `?1`; it ends in its conditions.
    pub(crate) fn new(connection: Connection, path: &Path, run: i64, question: &str) -> Self
    where
        T: OfCase,
    {
        let question = format!(
            "{question} AND (test_idx, prompt_idx) > (?2, ?3) ORDER BY test_idx, prompt_idx LIMIT {}",
            T::PAGE
        );
        Self {
            connection,
            path: path.to_owned(),
            run,
            question,
            last: (-1, -1),
            page: Vec::new().into_iter(),
            done: false,
        }
    }

    fn next_page(&mut self) -> Result<(), StoreError>
    where
        T: OfCase,
    {
        let failed = |error| StoreError::sql(T::DOING, &self.path, error);
        let question = self.connection.prepare_cached(&self.question);
        let mut question = question.map_err(failed)?;
        let asked = question.query((self.run, self.last.0, self.last.1));
        let mut found = asked.map_err(failed)?;
        let mut page = Vec::with_capacity(T::PAGE);
        let mut bytes = 0;
        while bytes < PAGE_BYTES {
            let Some(row) = found.next().map_err(failed)? else {
                self.done = page.len() < T::PAGE;
                break;
            };
            let one = T::read(row, &self.path)?;
            bytes += one.bytes();
            page.push(one);
        }
        if let Some((test, column)) = page.last().map(T::place) {
            self.last = (test.into(), column.into());
        }
        self.page = page.into_iter();
        Ok(())
    }
}

impl<T: OfCase> Iterator for Paged<T> {
    type Item = Result<T, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(one) = self.page.next() {
                return Some(Ok(one));
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
