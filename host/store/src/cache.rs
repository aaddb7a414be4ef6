//! `cache.db`: responses that were paid for once and need not be paid for again.
//!
//! A file of its own beside `runs.db`, so that deleting it loses no result. It is a map from the
//! digest of a request to a response, with an age after which an answer is no longer given and
//! a size above which the answers that were used longest ago go first.
//!
//! What is not here: which responses are worth keeping, what belongs to a request's digest, and
//! that equal requests at once become one. The gateway knows those.
//!
//! - [`Cache::get`] reads: a miss is a miss for whatever reason, never an error.
//! - [`Cache::put`] hands over to the one thread that writes, and returns a [`Commit`] that can
//!   be awaited or waited for. What it has confirmed survives `kill -9`.
//! - [`Cache::stats`], [`Cache::list`], [`Cache::show`], [`Cache::clear`] are for people.

mod admin;
mod commit;
mod entry;
mod handle;
mod payload;
mod queue;
mod reader;
#[cfg(test)]
mod samples;
mod schema;
mod writer;

pub use admin::{CacheItem, CacheStats, Cleared};
pub use commit::{Commit, CommitOutcome};
pub use entry::{CacheLabels, CacheOptions, CachedResponse};
pub use handle::{Cache, CacheCounts};
