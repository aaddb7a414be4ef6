//! What is known about a run: what the caller says at its beginning and end, and what a reader
//! gets.

use super::OutcomeCounts;

/// A run that begins. The JSON texts are kept as they are and not read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewRun {
    /// The run's id: unique in the file, not empty. Users name a run by the first few letters.
    pub id: String,
    /// When it began: milliseconds since 1970-01-01T00:00:00Z.
    pub created_at_ms: i64,
    /// The description in the config.
    pub description: Option<String>,
    /// The tags in the config.
    pub tags_json: String,
    /// The config as it was resolved, without secrets.
    pub config_json: String,
    /// The columns: prompt × provider, in order.
    pub columns_json: String,
    /// What produced the rows: each plugin's name, version, sha256 and digest of grants.
    pub plugins_json: String,
    /// How it was run: concurrency, repeat, delay, …
    pub options_json: String,
    /// The seed of everything random.
    pub seed: u64,
}

/// How a run ended, when its writer could say so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunStatus {
    /// Every case has a row.
    Finished,
    /// It was stopped before every case had a row.
    Interrupted,
}

impl RunStatus {
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::Interrupted => "interrupted",
        }
    }
}

/// A run that ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunEnd {
    /// How it ended.
    pub status: RunStatus,
    /// When: milliseconds since 1970-01-01T00:00:00Z.
    pub ended_at_ms: i64,
    /// The summary of the run. The store does not read it.
    pub summary_json: String,
}

/// What has become of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunState {
    /// A process that lives is writing it.
    Running,
    /// Every case has a row.
    Finished,
    /// It was stopped, or its process died.
    Interrupted,
}

impl RunState {
    /// The word to show.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Finished => "finished",
            Self::Interrupted => "interrupted",
        }
    }

    pub(super) fn from_word(word: &str) -> Option<Self> {
        [Self::Running, Self::Finished, Self::Interrupted]
            .into_iter()
            .find(|state| state.as_str() == word)
    }
}

/// A run in a list.
#[derive(Debug, Clone, PartialEq)]
pub struct RunInfo {
    /// Its id.
    pub id: String,
    /// When it began: milliseconds since 1970-01-01T00:00:00Z.
    pub created_at_ms: i64,
    /// When it ended; `None` while it runs, and when its process died.
    pub ended_at_ms: Option<i64>,
    /// What has become of it.
    pub state: RunState,
    /// The description in the config.
    pub description: Option<String>,
    /// The tags in the config.
    pub tags_json: String,
    /// The summary that its writer left; `None` when it never came to its end.
    pub summary_json: Option<String>,
    /// How its rows ended: counted, not remembered, so true for a run that died as well.
    pub outcomes: OutcomeCounts,
    /// What its rows cost in US dollars, where any says; read with them.
    pub cost_usd: Option<f64>,
}

/// What was said when a run began, apart from what [`RunInfo`] has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunHead {
    /// The config as it was resolved.
    pub config_json: String,
    /// The columns: prompt × provider, in order.
    pub columns_json: String,
    /// What produced the rows.
    pub plugins_json: String,
    /// How it was run.
    pub options_json: String,
    /// The seed of everything random.
    pub seed: u64,
}
