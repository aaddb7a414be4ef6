//! The store between processes: one that is killed, one that goes on with what another one left,
//! and several at once.
//!
//! A child is this same program, told by its environment which file to open; what it does is
//! commanded line by line through its standard input, and it answers line by line. So no test
//! waits for a time, only for a line.
#![expect(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is wrong"
)]

mod cache;
mod child;
mod resume;
mod runs;
