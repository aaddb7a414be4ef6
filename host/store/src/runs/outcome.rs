//! How a row ended, and how many rows ended how.

use serde::{Deserialize, Serialize};

/// How a case ended, in the words that the database and files hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Every assertion passed, or the score reached the threshold.
    Passed,
    /// Graded, and not good enough.
    Failed,
    /// Graded as far as it can be; the rest is a person's to say.
    Waiting,
    /// Not graded: the provider or a grader failed, or a limit was hit.
    Error,
    /// Not carried out because a budget was spent.
    BudgetExceeded,
    /// Answered, but not graded: the run was stopped. The row keeps the answer, which may be
    /// paid for; the case counts as not run, and a resumed run runs it again.
    Cancelled,
}

impl Outcome {
    /// Every outcome there is.
    pub const ALL: [Self; 6] = [
        Self::Passed,
        Self::Failed,
        Self::Waiting,
        Self::Error,
        Self::BudgetExceeded,
        Self::Cancelled,
    ];

    /// The word in the database.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Waiting => "waiting",
            Self::Error => "error",
            Self::BudgetExceeded => "budget-exceeded",
            Self::Cancelled => "cancelled",
        }
    }

    /// Whether something was judged: neither waits it for a person nor was it not carried out.
    pub fn has_verdict(self) -> bool {
        match self {
            Self::Passed | Self::Failed | Self::Error => true,
            Self::Waiting | Self::BudgetExceeded | Self::Cancelled => false,
        }
    }

    /// What promptfoo calls `failureReason`: 0 none, 1 an assertion, 2 an error.
    pub fn failure_reason(self) -> u8 {
        match self {
            Self::Passed => 0,
            Self::Failed | Self::Waiting => 1,
            Self::Error | Self::BudgetExceeded | Self::Cancelled => 2,
        }
    }

    /// The word that tables and logs show.
    pub fn word(self) -> &'static str {
        match self {
            Self::Passed => "PASS",
            Self::Failed => "FAIL",
            Self::Waiting => "WAITS",
            Self::Error => "ERROR",
            Self::BudgetExceeded => "BUDGET",
            Self::Cancelled => "STOPPED",
        }
    }

    pub(crate) fn from_word(word: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|outcome| outcome.as_str() == word)
    }
}

/// How many rows of a run ended how.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OutcomeCounts {
    counts: [u64; Outcome::ALL.len()],
}

impl OutcomeCounts {
    /// The number of rows with this outcome.
    pub fn of(&self, outcome: Outcome) -> u64 {
        self.counts[outcome as usize]
    }

    /// The number of rows.
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    pub(crate) fn add(&mut self, outcome: Outcome) {
        self.counts[outcome as usize] += 1;
    }
}
