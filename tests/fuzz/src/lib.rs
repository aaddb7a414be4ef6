//! Inputs that nobody would write, against everything that reads what strangers wrote.
//!
//! A [`Target`] takes bytes and panics if a promise is broken. [`Fuzzing`] makes the bytes: it
//! changes inputs that are kept in `corpus/`, and keeps a change that led to something new, which
//! it knows by what the target says of it. What breaks is written to a file before it can break
//! the process.
//!
//! Why not cargo-fuzz or bolero stands in `README.md`. What stands here instead of them is a page,
//! and runs in the build that the tests use.

mod corpus;
mod fuzzing;
mod mutation;
mod targets;

pub use corpus::{folder, kept};
pub use fuzzing::{Found, Fuzzing};
pub use targets::{TARGETS, Target};

/// So that a target can promise a bound and hold it.
#[global_allocator]
static ALLOCATOR: runner_tests::Counting = runner_tests::Counting;
