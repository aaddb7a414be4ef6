//! The figures of a run's cases, one after the other, without what was asked and answered.
//!
//! For whoever adds up: a million of them are read in half a second. In pages, for the reason that
//! rows have.

use std::path::PathBuf;

use rusqlite::Connection;

use crate::database::Purpose;
use crate::error::StoreError;
use crate::runs::{Outcome, Store};

/// Figures in one question.
const PAGE: usize = 4096;

const QUESTION: &str = "
SELECT test_idx, prompt_idx, outcome, score, latency_ms, cost_usd, input_tokens, output_tokens, cached
FROM rows WHERE run = ?1 AND (test_idx, prompt_idx) > (?2, ?3)
ORDER BY test_idx, prompt_idx LIMIT ?4";

/// The figures of one case; see [`Row`](crate::Row).
#[derive(Debug, Clone, Copy, PartialEq)]
#[expect(missing_docs, reason = "each is what it is in a row")]
pub struct Figure {
    pub test_idx: u32,
    pub prompt_idx: u32,
    pub outcome: Outcome,
    pub score: f64,
    pub latency_ms: Option<u64>,
    pub cost_usd: Option<f64>,
    pub input_tokens: Option<u64>,
    pub output_tokens: Option<u64>,
    pub cached: bool,
}

/// The figures of a run's cases in the order of (`test_idx`, `prompt_idx`). Ends after an error.
#[derive(Debug)]
pub struct Figures {
    connection: Connection,
    path: PathBuf,
    run: i64,
    last: (i64, i64),
    page: std::vec::IntoIter<Figure>,
    done: bool,
}

impl Store {
    /// The figures of the cases of the run with this id, in bounded memory.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`]; otherwise when the file can't be read.
    pub fn figures(&self, id: &str) -> Result<Figures, StoreError> {
        let connection = self.database().connect(Purpose::Read)?;
        let run = self.key(&connection, id)?;
        Ok(Figures {
            connection,
            path: self.path().to_owned(),
            run,
            last: (-1, -1),
            page: Vec::new().into_iter(),
            done: false,
        })
    }
}

impl Figures {
    fn next_page(&mut self) -> Result<(), StoreError> {
        let failed = |error| StoreError::sql("read figures", &self.path, error);
        let mut question = self.connection.prepare_cached(QUESTION).map_err(failed)?;
        let mut found = question
            .query((self.run, self.last.0, self.last.1, PAGE as i64))
            .map_err(failed)?;
        let mut page = Vec::with_capacity(PAGE);
        while let Some(row) = found.next().map_err(failed)? {
            page.push(figure(row).map_err(failed)?);
        }
        self.done = page.len() < PAGE;
        if let Some(figure) = page.last() {
            self.last = (figure.test_idx.into(), figure.prompt_idx.into());
        }
        self.page = page.into_iter();
        Ok(())
    }
}

impl Iterator for Figures {
    type Item = Result<Figure, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(figure) = self.page.next() {
                return Some(Ok(figure));
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

fn figure(row: &rusqlite::Row<'_>) -> rusqlite::Result<Figure> {
    let count = |at| {
        row.get::<_, Option<i64>>(at)
            .map(|it| it.map(i64::cast_unsigned))
    };
    let word = row.get_ref(2)?.as_str()?;
    Ok(Figure {
        test_idx: row.get(0)?,
        prompt_idx: row.get(1)?,
        // A word that is none of ours is an error that the rows report; here it is one case.
        outcome: Outcome::from_word(word).unwrap_or(Outcome::Error),
        score: row.get::<_, Option<f64>>(3)?.unwrap_or(f64::NAN),
        latency_ms: count(4)?,
        cost_usd: row.get(5)?,
        input_tokens: count(6)?,
        output_tokens: count(7)?,
        cached: row.get(8)?,
    })
}
