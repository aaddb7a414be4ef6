//! How the cases of a run ended and what they are by content, for a comparison of two runs.

use crate::database::Purpose;
use crate::error::StoreError;
use crate::runs::{Outcome, Store};

/// A case as far as it is compared with another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Content {
    /// Its test.
    pub test_idx: u32,
    /// Its column.
    pub prompt_idx: u32,
    /// How it ended.
    pub outcome: Outcome,
    /// Its score; NaN where it has none.
    pub score: f64,
    /// What it would have cost in US dollars without the cache; NaN where that is unknown.
    pub cost: f64,
    /// How long its answer took, in milliseconds; NaN where there is none, or the cache had it.
    pub latency_ms: f64,
    /// See [`Facts`](super::Facts).
    pub content: u64,
    /// See [`Facts`](super::Facts).
    pub file: u64,
    /// See [`Facts`](super::Facts).
    pub tested: u64,
    /// See [`Facts`](super::Facts).
    pub answer: u64,
    /// See [`Facts`](super::Facts).
    pub repeats: Option<u64>,
}

impl Store {
    /// Shows every case of the run with this id that the lookup knows, in the plan's order.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`]; otherwise when the file or the lookup can't be read.
    pub fn contents(&self, id: &str, mut see: impl FnMut(Content)) -> Result<(), StoreError> {
        let connection = self.database().connect(Purpose::Read)?;
        let run = self.key(&connection, id)?;
        self.attach_lookup(&connection, run)?;
        let mut read = || {
            let sql = "SELECT test_idx, prompt_idx, outcome, score, content, file, tested, answer, \
                       coalesce(cost_usd + coalesce(saved_usd, 0), saved_usd), iif(cached, NULL, latency_ms), repeats \
                       FROM rows JOIN lookup.facts USING (record) WHERE run = ?1 \
                       ORDER BY test_idx, prompt_idx";
            let mut found = connection.prepare(sql)?;
            let mut found = found.query([run])?;
            while let Some(row) = found.next()? {
                let number = |at| row.get::<_, i64>(at).map(i64::cast_unsigned);
                let figure = |at| {
                    row.get::<_, Option<f64>>(at)
                        .map(|it| it.unwrap_or(f64::NAN))
                };
                see(Content {
                    test_idx: row.get(0)?,
                    prompt_idx: row.get(1)?,
                    outcome: Outcome::from_word(row.get_ref(2)?.as_str()?)
                        .unwrap_or(Outcome::Error),
                    score: figure(3)?,
                    cost: figure(8)?,
                    latency_ms: figure(9)?,
                    content: number(4)?,
                    file: number(5)?,
                    tested: number(6)?,
                    answer: number(7)?,
                    repeats: row.get::<_, Option<i64>>(10)?.map(i64::cast_unsigned),
                });
            }
            Ok(())
        };
        read().map_err(|error| self.database().failed("compare", error))
    }

    /// Shows every score by metric of the run with this id that the lookup knows: name, test, column and score, in
    /// the plan's order. Where a judge failed to grade there is none.
    ///
    /// # Errors
    /// As [`Store::contents`].
    pub fn scores(
        &self,
        id: &str,
        mut see: impl FnMut(&str, u32, u32, Option<f64>),
    ) -> Result<(), StoreError> {
        let connection = self.database().connect(Purpose::Read)?;
        let run = self.key(&connection, id)?;
        self.attach_lookup(&connection, run)?;
        let mut read = || {
            let sql = "SELECT name, test_idx, prompt_idx, metrics.score \
                       FROM rows CROSS JOIN lookup.metrics USING (record) WHERE run = ?1 \
                       ORDER BY test_idx, prompt_idx";
            let mut found = connection.prepare(sql)?;
            let mut found = found.query([run])?;
            while let Some(row) = found.next()? {
                see(
                    row.get_ref(0)?.as_str()?,
                    row.get(1)?,
                    row.get(2)?,
                    row.get(3)?,
                );
            }
            Ok(())
        };
        read().map_err(|error| self.database().failed("compare", error))
    }
}
