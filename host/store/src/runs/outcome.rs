//! How a row ended, and how many rows ended how.

/// How a case ended, in the words that the database holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Outcome {
    /// The case was graded and passed.
    Passed,
    /// The case was graded and failed.
    Failed,
    /// There was nothing to grade, or the grading broke.
    Error,
    /// The case was not run since the money or the tokens were spent.
    BudgetExceeded,
    /// The case was started and stopped before it had ended.
    Cancelled,
}

impl Outcome {
    /// Every outcome there is.
    pub const ALL: [Self; 5] = [
        Self::Passed,
        Self::Failed,
        Self::Error,
        Self::BudgetExceeded,
        Self::Cancelled,
    ];

    /// The word in the database.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Error => "error",
            Self::BudgetExceeded => "budget-exceeded",
            Self::Cancelled => "cancelled",
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
