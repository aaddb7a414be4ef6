//! Keeps everybody else from writing for a while: for a copy of the file as it is at one moment,
//! and to see what a program does that has to wait.
//!
//! It is SQLite's own lock of a writer, held by a transaction that changes nothing. A lock of our
//! own would stop only those who know of it.

use rusqlite::Connection;

use crate::database::Purpose;
use crate::error::StoreError;
use crate::runs::Store;

/// As long as it lives, nobody else can write the file; readers go on where there is a log.
/// Nothing is changed by it.
#[derive(Debug)]
pub struct WriteHold {
    /// Closing it ends its transaction.
    _connection: Connection,
}

impl Store {
    /// Waits for who is writing just now, and then keeps every writer out.
    ///
    /// # Errors
    /// [`StoreError::Busy`] when another one writes for longer than the store waits; otherwise
    /// when the file can't be read.
    pub fn hold_writers(&self) -> Result<WriteHold, StoreError> {
        let connection = self.database().connect(Purpose::Write)?;
        connection
            .execute_batch("BEGIN IMMEDIATE")
            .map_err(|error| self.database().failed("hold the file", error))?;
        Ok(WriteHold {
            _connection: connection,
        })
    }
}

#[cfg(test)]
mod tests {
    #![expect(
        clippy::unwrap_used,
        reason = "a test stops at the first thing that is wrong"
    )]

    use std::time::Duration;

    use super::*;
    use crate::OpenOptions;
    use crate::runs::samples::{new_run, row};

    #[test]
    fn who_is_kept_out_for_too_long_says_so_and_can_write_again_afterwards() {
        for wal in [true, false] {
            let folder = tempfile::tempdir().unwrap();
            let store = Store::open(&folder.path().join("runs.db"), OpenOptions { wal }).unwrap();
            let store = store.with_patience(Duration::from_millis(50));
            let hold = store.hold_writers().unwrap();
            assert!(matches!(
                store.begin_run(new_run("r")).unwrap_err(),
                StoreError::Busy { .. }
            ));
            assert!(matches!(
                store.hold_writers().unwrap_err(),
                StoreError::Busy { .. }
            ));
            drop(hold);
            let writer = store.begin_run(new_run("r")).unwrap();
            writer.push(row(0, 0)).unwrap();
            writer.flush().unwrap();
        }
    }
}
