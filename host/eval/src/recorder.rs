//! Hands finished cases to the store.
//!
//! The store has its own vocabulary; this is the translation. It is no `Consumer` like the
//! others, because its failure matters: a run whose results can't be kept must stop spending.

use runner_store::{Outcome as StoredOutcome, Row, RunEnd, RunStatus, RunWriter, StoreError};

use crate::record::{CaseRecord, Outcome};
use crate::summary::{End, Summary};

/// Writes a run's rows.
#[derive(Debug)]
pub(crate) struct Recorder {
    writer: RunWriter,
}

impl Recorder {
    /// Records into a run that was begun.
    pub(crate) fn new(writer: RunWriter) -> Self {
        Self { writer }
    }

    /// Hands a case to the writer's thread; `record_json` is the record as JSON.
    ///
    /// # Errors
    /// When the writer can no longer write; the row is lost then, the rows before it that
    /// were committed are not.
    pub(crate) fn record(
        &mut self,
        record: &CaseRecord,
        record_json: String,
    ) -> Result<(), StoreError> {
        self.writer.push(Row {
            test_idx: record.test_idx,
            prompt_idx: record.prompt_idx,
            row_id: record.id.clone(),
            identity: None,
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
        })
    }

    /// Waits until everything is on disk and marks the run's end.
    ///
    /// # Errors
    /// When rows could not be written.
    pub(crate) fn finish(self, summary: &Summary) -> Result<(), StoreError> {
        let status = match summary.end {
            End::Finished => RunStatus::Finished,
            End::Interrupted | End::TimeLimit => RunStatus::Interrupted,
        };
        let ended_at_ms = jiff::Timestamp::now().as_millisecond();
        self.writer.finish(RunEnd {
            status,
            ended_at_ms,
            summary_json: summary.to_json().to_string(),
        })
    }
}

fn stored(outcome: Outcome) -> StoredOutcome {
    match outcome {
        Outcome::Passed => StoredOutcome::Passed,
        Outcome::Failed => StoredOutcome::Failed,
        Outcome::Error => StoredOutcome::Error,
        Outcome::BudgetExceeded => StoredOutcome::BudgetExceeded,
    }
}
