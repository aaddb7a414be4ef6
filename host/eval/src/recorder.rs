//! Hands finished cases to the store.
//!
//! The store has its own vocabulary; this is the translation. It is no `Consumer` like the
//! others, because its failure matters: a run whose results can't be kept must stop spending.
//! Until a row is on the disk its record is held here, too, so that it can be rescued.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use runner_store::{
    Digest, Outcome as StoredOutcome, Row, RunEnd, RunStatus, RunWriter, StoreError,
};

use crate::record::{CaseRecord, Outcome};
use crate::summary::{End, Summary};

/// Writes a run's rows.
#[derive(Debug)]
pub(crate) struct Recorder {
    writer: RunWriter,
    /// Records that are not on the disk yet, each with its number among those pushed. The
    /// store bounds how many there can be.
    unsaved: VecDeque<(u64, Arc<CaseRecord>)>,
    /// The first failure; later ones say the same.
    error: Option<StoreError>,
}

/// Results that could not be stored.
#[derive(Debug)]
pub(crate) struct Unsaved {
    /// What the store said first.
    pub(crate) error: Box<StoreError>,
    /// Every record of this session that is not in the database.
    pub(crate) records: Vec<Arc<CaseRecord>>,
}

impl Recorder {
    /// Records into a run that was begun.
    pub(crate) fn new(writer: RunWriter) -> Self {
        Self {
            writer,
            unsaved: VecDeque::new(),
            error: None,
        }
    }

    /// Hands a case to the writer's thread; `record_json` is the record as JSON. `false` when
    /// nothing can be stored any more; the record is kept for the rescue.
    pub(crate) fn record(
        &mut self,
        record: &Arc<CaseRecord>,
        identity: Digest,
        record_json: String,
    ) -> bool {
        if self.error.is_some() {
            self.unsaved.push_back((u64::MAX, record.clone()));
            return false;
        }
        let row = Row {
            test_idx: record.test_idx,
            prompt_idx: record.prompt_idx,
            row_id: record.id.clone(),
            identity: Some(identity),
            outcome: stored(record.outcome),
            score: record.score,
            latency_ms: record.response.as_ref().map(|_| record.latency_ms),
            cost_usd: record.cost,
            input_tokens: Some(record.token_usage.prompt),
            output_tokens: Some(record.token_usage.completion),
            cached: record
                .response
                .as_ref()
                .is_some_and(|response| response.cached),
            record_json,
        };
        self.push(row, record)
    }

    /// Hands over a row that is in the store already and that was changed.
    pub(crate) fn push(&mut self, row: Row, record: &Arc<CaseRecord>) -> bool {
        let number = self.writer.pushed() + 1;
        self.unsaved.push_back((number, record.clone()));
        match self.writer.push(row) {
            Ok(()) => {
                self.forget(self.writer.committed());
                true
            }
            Err(error) => {
                self.fail(error);
                false
            }
        }
    }

    /// Notes that the store failed, also where it was read.
    pub(crate) fn fail(&mut self, error: StoreError) {
        self.error.get_or_insert(error);
    }

    /// Waits until everything is on disk and marks the run's end.
    ///
    /// # Errors
    /// When rows could not be written, now or before.
    pub(crate) fn finish(mut self, summary: &Summary) -> Result<(), Unsaved> {
        let status = match summary.end {
            // After a retry of the errors alone, cases may still have no row.
            End::Finished if summary.not_run() == 0 => RunStatus::Finished,
            End::Finished | End::Interrupted | End::TimeLimit => RunStatus::Interrupted,
        };
        let ended_at_ms = jiff::Timestamp::now().as_millisecond();
        self.forget(self.writer.committed());
        let ended = self.writer.finish(RunEnd {
            status,
            ended_at_ms,
            summary_json: summary.to_json().to_string(),
        });
        let Some(error) = self.error.or(ended.err()) else {
            return Ok(());
        };
        // Of what was on its way, the first ones may have got through.
        let safe = match &error {
            StoreError::Writing { committed, .. } => *committed,
            _ => 0,
        };
        let lost = self
            .unsaved
            .into_iter()
            .filter(|(number, _)| *number > safe);
        Err(Unsaved {
            error: Box::new(error),
            records: last_of_each(lost.map(|(_, record)| record)),
        })
    }

    fn forget(&mut self, committed: u64) {
        while self
            .unsaved
            .front()
            .is_some_and(|(number, _)| *number <= committed)
        {
            self.unsaved.pop_front();
        }
    }
}

/// One record for each case: of an answer that waited and was compared, the later one.
fn last_of_each(records: impl DoubleEndedIterator<Item = Arc<CaseRecord>>) -> Vec<Arc<CaseRecord>> {
    let mut seen = HashSet::new();
    let mut last: Vec<_> = records
        .rev()
        .filter(|record| seen.insert((record.test_idx, record.prompt_idx)))
        .collect();
    last.reverse();
    last
}

fn stored(outcome: Outcome) -> StoredOutcome {
    match outcome {
        Outcome::Passed => StoredOutcome::Passed,
        Outcome::Failed => StoredOutcome::Failed,
        Outcome::Error => StoredOutcome::Error,
        Outcome::BudgetExceeded => StoredOutcome::BudgetExceeded,
        Outcome::Cancelled => StoredOutcome::Cancelled,
    }
}
