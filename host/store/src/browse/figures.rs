//! The figures of a run's cases, one after the other, without what was asked and answered.
//!
//! For whoever adds up: a million of them are read in half a second. In pages, for the reason that
//! rows have.

use std::path::Path;

use crate::database::Purpose;
use crate::error::StoreError;
use crate::paged::{OfCase, Paged};
use crate::runs::{Outcome, Store};

const QUESTION: &str = "
SELECT test_idx, prompt_idx, outcome, score, latency_ms, cost_usd, input_tokens, output_tokens, cached,
       grading_usd, saved_usd
FROM rows WHERE run = ?1";

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
    pub grading_usd: Option<f64>,
    pub saved_usd: Option<f64>,
    pub input_tokens: Option<u64>,
    pub output_tokens: Option<u64>,
    pub cached: bool,
}

/// The figures of a run's cases in the order of (`test_idx`, `prompt_idx`). Ends after an error.
pub type Figures = Paged<Figure>;

impl Store {
    /// The figures of the cases of the run with this id, in bounded memory.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`]; otherwise when the file can't be read.
    pub fn figures(&self, id: &str) -> Result<Figures, StoreError> {
        let connection = self.database().connect(Purpose::Read)?;
        let run = self.key(&connection, id)?;
        Ok(Figures::new(connection, self.path(), run, QUESTION))
    }
}

impl OfCase for Figure {
    const DOING: &'static str = "read figures";
    const PAGE: usize = 4096;

    fn read(row: &rusqlite::Row<'_>, path: &Path) -> Result<Self, StoreError> {
        figure(row).map_err(|error| StoreError::sql(Self::DOING, path, error))
    }

    fn place(&self) -> (u32, u32) {
        (self.test_idx, self.prompt_idx)
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
        grading_usd: row.get(9)?,
        saved_usd: row.get(10)?,
        input_tokens: count(6)?,
        output_tokens: count(7)?,
        cached: row.get(8)?,
    })
}
