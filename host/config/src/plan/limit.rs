//! Limits that the user declares: quotas of servers, and the time of a test.
//!
//! How they are kept is the scheduler's and the run's business; here they are only data.

use std::time::Duration;

/// A quota that the user knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeclaredLimit {
    /// What messages call it: the group or provider, and what is counted (`account requests`).
    /// Different limits have different names.
    pub name: String,
    /// What it counts.
    pub counts: LimitCounts,
    /// How much of it; ≥ 1.
    pub capacity: u64,
}

/// What a [`DeclaredLimit`] counts. Windows are longer than nothing and at most 31 days.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitCounts {
    /// Requests in any span of this length.
    Requests {
        /// The span.
        window: Duration,
    },
    /// Tokens, in and out together, in any span of this length.
    Tokens {
        /// The span.
        window: Duration,
    },
    /// Requests in flight.
    Concurrency,
}

/// How long the cases of a test may work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TestTimeout {
    /// As long as the run says.
    #[default]
    OfRun,
    /// As long as they like.
    Unlimited,
    /// This long.
    Limited(Duration),
    /// This long, if the run does not say less: a row of data is held to what the person says.
    AtMost(Duration),
}

impl TestTimeout {
    /// What `over` says, or this where it says nothing. Data makes it shorter.
    pub(crate) fn under(self, over: Self) -> Self {
        match (self, over) {
            (own, Self::OfRun) => own,
            (Self::Limited(most), Self::AtMost(time)) => Self::Limited(most.min(time)),
            (Self::AtMost(most), Self::AtMost(time)) => Self::AtMost(most.min(time)),
            (Self::Unlimited, Self::AtMost(time)) => Self::Limited(time),
            (_, over) => over,
        }
    }

    /// The limit that holds where the run's is `of_run`; `None`: there is none.
    pub fn or(self, of_run: Option<Duration>) -> Option<Duration> {
        match self {
            Self::OfRun => of_run,
            Self::Unlimited => None,
            Self::Limited(limit) => Some(limit),
            Self::AtMost(limit) => Some(of_run.map_or(limit, |of_run| of_run.min(limit))),
        }
    }
}
