//! What `runner` remembers: the only SQL and the only on-disk formats of the house.
//!
//! `runs.db` holds every run and its rows. One file serves all runs of a user, because a list of
//! runs, a comparison of two, and a resume by prefix are then plain queries; a folder of files
//! per run would need its own locking, its own index and its own crash rule. `cache.db` holds
//! responses that need not be paid for again; deleting it loses no result. `quotas.db` holds what programs
//! use of the same quotas.
//!
//! The crate knows neither configs nor evaluations. A run is an id and some JSON texts that it
//! keeps and hands back unread; a row is a key, a few scalars that queries need, and the record
//! as the caller wrote it. `eval` translates.
//!
//! - [`Store`] opens the file (migrations, refusal of newer and foreign files) and answers
//!   questions: [`Store::runs`], [`Store::find_run`], [`Store::rows`], …
//! - [`RunWriter`] takes the rows of one run and commits them in groups on its own thread.
//! - [`LaneLog`] takes how the lanes of the run stand meanwhile.
//! - [`CaseFilter`] and what goes with it is what a viewer asks: pages of tests, figures, words.
//! - [`ReopenedRun`] is a run that gets more rows: its rows take the places that a new plan gives
//!   to their cases, and a [`RunWriter`] goes on.
//! - [`QuotaFile`] keeps states that several programs change.
//! - [`Cache`] gives and takes responses by the digest of their request.
//! - [`StoreError`] is everything that can go wrong.
//!
//! Nothing here knows a runtime: SQLite blocks, and pretending otherwise only hides where. What
//! can be awaited are a [`Commit`] and the room of a [`RunWriter`]: the threads that write wake any
//! runtime. Schema,
//! crash rule, figures and the road not taken are in `README.md`.

mod browse;
mod cache;
mod database;
mod digest;
mod error;
mod hold;
mod paged;
mod problems;
mod promptfoo;
mod quotas;
mod room;
mod runs;

pub use browse::{
    CaseFilter, Content, Facts, Figure, FigureRange, Figures, Lookup, MetricSum, Metrics, Order,
    PageStart, Ranked, TestPage,
};
pub use cache::{
    Cache, CacheCounts, CacheItem, CacheLabels, CacheOptions, CacheStats, CachedResponse, Cleared,
    Commit, CommitOutcome,
};
pub use database::OpenOptions;
pub use digest::Digest;
pub use error::{RunRef, SqlError, StoreError, WriterFailure};
pub use hold::WriteHold;
pub use paged::Paged;
pub use promptfoo::{
    PROMPTFOO_COLUMNS, PromptfooFile, PromptfooHead, PromptfooRun, PromptfooValue,
};
pub use quotas::{QuotaFile, QuotaState};
pub use runs::{
    AnnotatedCase, Annotation, Cases, LaneLog, LaneMoment, LaneSample, NewRun, Outcome,
    OutcomeCounts, Placement, PlannedCase, PushError, ReopenedRun, Row, Rows, RowsByKey, RunEnd,
    RunHead, RunInfo, RunState, RunStatus, RunWriter, Store, StoredCase,
};
