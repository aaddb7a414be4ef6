//! What stops a run, as opposed to what is said of one of its cases.

use std::path::PathBuf;

use crate::beginning::Resumption;

/// Why a run ended without a result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The database can't be read or written; nothing was spent.
    #[error("the run can't be kept")]
    Store(#[from] runner_store::StoreError),
    /// Results of before this session can't be read. What it answered is in the database.
    #[error("earlier results of the run can't be read; what was answered since is stored")]
    Unread(#[source] Box<RunError>),
    /// Results could not be stored. Rows committed before are in the database.
    #[error("the results could not be stored")]
    Unsaved {
        /// How many results are not in the database.
        rows: usize,
        /// The file that has them, one record per line; or why there is none.
        place: std::io::Result<PathBuf>,
        /// What the store said first.
        source: Box<runner_store::StoreError>,
    },
    /// Most rows of the run that was to go on have no case in the plan. Nothing was changed.
    #[error("results of {} that have no case in this config any more would be deleted: {} of {}", .0.run_id, .0.dropped, .0.dropped + .0.kept + .0.moved)]
    WouldDrop(Box<Resumption>),
    /// The run was stopped before it began; nothing was spent.
    #[error("stopped before the run began: nothing was sent")]
    Stopped,
    /// A stored record is none.
    #[error("a stored record is damaged")]
    Damaged(#[from] serde_json::Error),
}
