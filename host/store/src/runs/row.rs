//! One case of a run, as it is stored.

use super::Outcome;
use crate::digest::Digest;

/// One case. `(test_idx, prompt_idx)` is its place in the plan and its key within the run; a
/// second row with the same key takes the place of the first.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Which test, in the plan's order, from 0.
    pub test_idx: u32,
    /// Which column, in the plan's order, from 0.
    pub prompt_idx: u32,
    /// The case's own id, as the caller names it.
    pub row_id: String,
    /// The case by its content: what it is, wherever it stands. `None` in rows of format 1, and
    /// for cases that are always to be run again when the run is resumed.
    pub identity: Option<Digest>,
    /// How the case ended.
    pub outcome: Outcome,
    /// The case's score. The file has no NaN: it comes back as NaN from an empty column.
    pub score: f64,
    /// How long the provider took, in milliseconds. Above 2^63 - 1 it is stored as that.
    pub latency_ms: Option<u64>,
    /// What was paid for the case, in US dollars; a NaN is stored as unknown.
    pub cost_usd: Option<f64>,
    /// The part of it that grading took.
    pub grading_usd: Option<f64>,
    /// What it would have cost beyond that without a cache.
    pub saved_usd: Option<f64>,
    /// Tokens read by the model. Above 2^63 - 1 it is stored as that.
    pub input_tokens: Option<u64>,
    /// Tokens written by the model. Above 2^63 - 1 it is stored as that.
    pub output_tokens: Option<u64>,
    /// Whether the response came from a cache.
    pub cached: bool,
    /// The whole record. The store does not read it; a place that it states may be one from before
    /// the run was resumed with another plan.
    pub record_json: String,
}

impl Row {
    /// About how much memory the row holds, in bytes.
    pub(super) fn weight(&self) -> usize {
        size_of::<Self>() + self.row_id.len() + self.record_json.len()
    }
}
