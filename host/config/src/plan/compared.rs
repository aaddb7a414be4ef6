//! Assertions that choose among the answers of a test's columns: `select-best`, `max-score`.
//!
//! They say nothing of one answer alone, so they stand apart from the other assertions of a test:
//! those grade each case when it ends, these grade a row of the results when its last case has.

use std::collections::BTreeMap;

use super::{Assertion, Check, Plan, Test};

/// The type that the host serves itself: it compares grades, and nobody is asked.
pub const MAX_SCORE: &str = "max-score";

/// The type that a person serves, when the answers are there.
pub const HUMAN: &str = "human";

/// One assertion that chooses among answers.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// The assertion as written.
    pub assertion: Assertion,
    /// How the winner is found.
    pub winner: Winner,
}

/// How the winner is found.
#[derive(Debug, Clone, PartialEq)]
pub enum Winner {
    /// `select-best`: a model says which answer meets the criterion best.
    Judged,
    /// `max-score`: the answer whose other assertions gave the highest score.
    Highest(HighestScore),
}

/// The value of `max-score`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct HighestScore {
    /// How the scores of one answer become one.
    pub method: Method,
    /// Weights by assertion type, as written; 1 for those that are not named.
    pub weights: BTreeMap<String, f64>,
    /// Nobody wins below it.
    pub threshold: Option<f64>,
}

/// How the scores of one answer become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Method {
    /// The weighted mean.
    #[default]
    Average,
    /// The weighted sum.
    Sum,
}

impl Test {
    /// Every assertion, members of sets and comparisons included.
    pub fn assertions(&self) -> impl Iterator<Item = &Assertion> {
        let checks = self.assertions.iter().flat_map(Check::members);
        checks.chain(self.comparisons.iter().map(|it| &it.assertion))
    }
}

impl Plan {
    /// Whether any test compares the answers of its columns.
    pub fn compares(&self) -> bool {
        self.tests.models().any(|test| !test.comparisons.is_empty())
    }
}
