//! What `runner` remembers: the only SQL and the only on-disk formats of the house.
//!
//! `runs.db` holds every run and its rows. One file serves all runs of a user, because a list of
//! runs, a comparison of two, and a resume by prefix are then plain queries; a folder of files
//! per run would need its own locking, its own index and its own crash rule.
//!
//! The crate knows neither configs nor evaluations. A run is an id and some JSON texts that it
//! keeps and hands back unread; a row is a key, a few scalars that queries need, and the record
//! as the caller wrote it. `eval` translates.
//!
//! - [`Store`] opens the file (migrations, refusal of newer and foreign files) and answers
//!   questions: [`Store::runs`], [`Store::find_run`], [`Store::rows`], …
//! - [`RunWriter`] takes the rows of one run and commits them in groups on its own thread.
//! - [`StoreError`] is everything that can go wrong.
//!
//! Nothing here is async: SQLite blocks, and pretending otherwise only hides where. Schema,
//! crash rule, figures and the road not taken are in `README.md`.

mod database;
mod error;
mod runs;

pub use database::OpenOptions;
pub use error::{SqlError, StoreError, WriterFailure};
pub use runs::{
    NewRun, Outcome, OutcomeCounts, Row, Rows, RunEnd, RunHead, RunInfo, RunRef, RunState,
    RunStatus, RunWriter, Store,
};
