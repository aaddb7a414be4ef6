//! What a grade will be when a person has said something.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The grades from which a person's verdict chooses.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ByPeople {
    /// Places of the assertions that wait, among the components.
    pub assertions: Vec<usize>,
    /// While nothing is said.
    pub open: PersonGrade,
    /// With a thumb up.
    pub up: PersonGrade,
    /// With a thumb down.
    pub down: PersonGrade,
}

impl ByPeople {
    /// Why there is no verdict.
    pub(crate) const WAITS: &'static str = "waits for a person's verdict";

    /// Whether the case waits: what a person says decides it.
    pub(crate) fn decides(&self) -> bool {
        self.up.pass != self.down.pass
    }
}

/// One of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PersonGrade {
    /// Whether the case is good enough.
    pub pass: bool,
    /// Weighted mean of the components.
    pub score: f64,
    /// One line.
    pub reason: String,
    /// Weighted means by metric.
    pub named_scores: Map<String, Value>,
    /// Sums of the weights behind them.
    pub named_score_weights: Map<String, Value>,
}
