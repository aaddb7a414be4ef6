//! Which cases of a run have a row, without what is in it.
//!
//! A resume walks the plan and this side by side, both in the order of places, and holds neither:
//! a million cases are known to be done without being in memory.

use std::path::Path;

use super::Outcome;
use super::rows::{identity, outcome};
use crate::digest::Digest;
use crate::error::StoreError;
use crate::paged::{OfCase, Paged};

pub(super) const QUESTION: &str =
    "SELECT test_idx, prompt_idx, identity, outcome FROM rows WHERE run = ?1";

/// A case that has a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredCase {
    /// Which test, in the plan's order, from 0.
    pub test_idx: u32,
    /// Which column, in the plan's order, from 0.
    pub prompt_idx: u32,
    /// The case by its content, if that was said when it was stored.
    pub identity: Option<Digest>,
    /// How it ended.
    pub outcome: Outcome,
}

/// The cases of a run that have a row, in the order of (`test_idx`, `prompt_idx`), read as they
/// are asked for. Ends after an error.
pub type Cases = Paged<StoredCase>;

impl OfCase for StoredCase {
    const DOING: &'static str = "read results";
    /// More than of rows: a case takes a hundred bytes.
    const PAGE: usize = 1024;

    fn read(row: &rusqlite::Row<'_>, path: &Path) -> Result<Self, StoreError> {
        let outcome = outcome(row, 3, path)?;
        let read = || {
            Ok(Self {
                test_idx: row.get(0)?,
                prompt_idx: row.get(1)?,
                identity: identity(row, 2)?,
                outcome,
            })
        };
        read().map_err(|error| StoreError::sql(Self::DOING, path, error))
    }

    fn place(&self) -> (u32, u32) {
        (self.test_idx, self.prompt_idx)
    }
}
