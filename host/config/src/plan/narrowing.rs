//! What filters leave out of a plan, for who shows it.

use std::fmt;

/// What one filter did, for the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Narrowing {
    /// The filter as on the command line.
    pub filter: String,
    /// How many it left.
    pub kept: usize,
    /// How many there were.
    pub of: usize,
    /// What it chooses among: `tests`, `prompts`, `providers`.
    pub what: &'static str,
}

/// `--filter-first-n 2: 2 of 12 tests`
impl fmt::Display for Narrowing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            filter,
            kept,
            of,
            what,
        } = self;
        write!(f, "{filter}: {kept} of {of} {what}")
    }
}
