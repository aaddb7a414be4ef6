//! `runs.db`: every run and its rows.
//!
//! [`Store`] is the way to it. It holds no connection: each question opens its own, which costs
//! a third of a millisecond and leaves nothing to share between threads, and each run that
//! is written has one writer thread with one connection. A pool would save time that nobody
//! waits for.

mod annotations;
mod cases;
mod info;
mod lanes;
mod listing;
mod liveness;
mod outcome;
mod placing;
mod queue;
mod reopen;
mod row;
mod rows;
#[cfg(test)]
pub(crate) mod samples;
mod schema;
mod store;
mod writer;

pub use annotations::{AnnotatedCase, Annotation};
pub use cases::{Cases, StoredCase};
pub use info::{NewRun, RunEnd, RunHead, RunInfo, RunState, RunStatus};
pub use lanes::{LaneMoment, LaneSample};
pub use outcome::{Outcome, OutcomeCounts};
pub use placing::{Placement, PlannedCase};
pub use reopen::ReopenedRun;
pub use row::Row;
pub use rows::{Rows, RowsByKey};
pub use store::Store;
pub use writer::{LaneLog, PushError, RunWriter};

/// A count as SQLite holds it, which has no larger one than this.
fn saturating(count: impl TryInto<i64>) -> i64 {
    count.try_into().unwrap_or(i64::MAX)
}
