//! Everything that can go wrong with the store, as data.
//!
//! The variants are what a caller may want to tell apart: a file that is none of ours, a run
//! that isn't there, results that could not be kept. Everything else that SQLite can say is
//! [`StoreError::Sql`] with what was being done; its text is for reading, never for deciding.

use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What SQLite said. Opaque, so that no other crate has to know which binding is used.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct SqlError(rusqlite::Error);

impl SqlError {
    fn code(&self) -> Option<rusqlite::ErrorCode> {
        self.0.sqlite_error_code()
    }
}

/// A run among several that could be meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunRef {
    /// Its id.
    pub id: String,
    /// When it began: milliseconds since 1970-01-01T00:00:00Z.
    pub created_at_ms: i64,
    /// The description in the config.
    pub description: Option<String>,
}

/// Why the store could not do what it was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The folder or the file could not be made.
    #[error("cannot create {}", path.display())]
    Create {
        /// What was to be created.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file has other content than a SQLite database.
    #[error("{} is not a database", path.display())]
    NotADatabase {
        /// The file.
        path: PathBuf,
    },
    /// The file is a SQLite database, but another program's.
    #[error("{} is a database of another program", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// More was read from the file than it has room for: columns of it have long defaults, say, which take none.
    #[error("{} gives out more text than it has, which no file of promptfoo's does", path.display())]
    Swollen {
        /// The file.
        path: PathBuf,
    },
    /// The file was written by a newer `runner`. It was not touched.
    #[error("{} has format {found}, written by a newer runner; this one knows formats up to {known}", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// The file's format number.
        found: u32,
        /// The newest format number that this program knows.
        known: u32,
    },
    /// Another process held the file locked for longer than the store waits.
    #[error("{} is locked by another process", path.display())]
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// The file is ours, and what is in it makes no sense to SQLite.
    #[error("{} is damaged", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
    },
    /// So little of the disk would be free that no results are written.
    #[error(
        "the disk of {} has {} MiB free, and results leave {} MiB",
        path.display(), free >> 20, left_free.div_ceil(1 << 20)
    )]
    NoRoom {
        /// The file.
        path: PathBuf,
        /// Bytes that are free.
        free: u64,
        /// Bytes that are left free.
        left_free: u64,
    },
    /// SQLite failed in another way: disk full, no permission, …
    #[error("cannot {doing} in {}", path.display())]
    Sql {
        /// What was being done, to follow "cannot".
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// What SQLite said.
        source: SqlError,
    },
    /// A value in the file is none that this format can hold.
    #[error("{} holds an unknown {what} `{value}`", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Which value.
        what: &'static str,
        /// The value as found.
        value: String,
    },
    /// A run with this id exists already.
    #[error("a run with the id `{id}` exists already")]
    RunExists {
        /// The id.
        id: String,
    },
    /// The latest run was asked for and there is none at all.
    #[error("there are no runs yet")]
    NoRuns,
    /// No run's id is, or begins with, what was asked for.
    #[error("no run has an id that begins with `{wanted}`")]
    NoSuchRun {
        /// What was asked for.
        wanted: String,
    },
    /// Several runs' ids begin with what was asked for.
    #[error("{total} runs have an id that begins with `{wanted}`: {}", list(candidates, *total))]
    AmbiguousRun {
        /// What was asked for.
        wanted: String,
        /// The newest of the runs that match, newest first, at most ten.
        candidates: Vec<RunRef>,
        /// How many runs match.
        total: u64,
    },
    /// The run is being written by a process that lives.
    #[error("the run `{id}` is still being written")]
    RunIsLive {
        /// The id.
        id: String,
    },
    /// No cached response has a key that begins with what was asked for.
    #[error("no cached response has a key that begins with `{wanted}`")]
    NoSuchEntry {
        /// What was asked for.
        wanted: String,
    },
    /// Several cached responses have a key that begins with what was asked for.
    #[error("{total} cached responses have a key that begins with `{wanted}`")]
    AmbiguousEntry {
        /// What was asked for.
        wanted: String,
        /// How many match.
        total: u64,
    },
    /// The thread that writes could not be started.
    #[error("cannot start the thread that writes")]
    NoThread {
        /// What the system said.
        source: std::io::Error,
    },
    /// A run's results could not be written. What was committed before is kept.
    #[error(
        "the results of run `{id}` can no longer be written; {committed} of {pushed} rows are stored"
    )]
    Writing {
        /// The run's id.
        id: String,
        /// How many rows are safely stored.
        committed: u64,
        /// How many rows were handed over, or were about to be.
        pushed: u64,
        /// What stopped the writer.
        source: Arc<WriterFailure>,
    },
    /// A response could not be cached. Only its place in the cache is lost.
    #[error("a response could not be cached")]
    Caching {
        /// What went wrong.
        source: Arc<WriterFailure>,
    },
}

/// What stopped a writer's thread, or kept it from writing a group.
#[derive(Debug, thiserror::Error)]
pub enum WriterFailure {
    /// SQLite refused a group.
    #[error(transparent)]
    Store(StoreError),
    /// The thread panicked: a bug.
    #[error("the thread that writes has panicked")]
    Panicked,
}

impl StoreError {
    /// Whether the disk has no room for results, also where that stopped a writer.
    pub fn is_no_room(&self) -> bool {
        match self {
            Self::NoRoom { .. } => true,
            Self::Writing { source, .. } => {
                matches!(&**source, WriterFailure::Store(error) if error.is_no_room())
            }
            _ => false,
        }
    }

    /// Sorts what SQLite said into what a caller can tell apart.
    pub(crate) fn sql(doing: &'static str, path: &Path, error: rusqlite::Error) -> Self {
        let source = SqlError(error);
        let path = path.to_owned();
        match source.code() {
            Some(rusqlite::ErrorCode::NotADatabase) => Self::NotADatabase { path },
            Some(rusqlite::ErrorCode::DatabaseBusy) => Self::Busy { path },
            Some(rusqlite::ErrorCode::DatabaseCorrupt) => Self::Damaged { path },
            _ => Self::Sql {
                doing,
                path,
                source,
            },
        }
    }
}

fn list(candidates: &[RunRef], total: u64) -> String {
    let mut text = candidates
        .iter()
        .map(|run| run.id.as_str())
        .collect::<Vec<_>>()
        .join(", ");
    if candidates.len() as u64 != total {
        text.push_str(", …");
    }
    text
}
