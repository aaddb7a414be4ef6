//! A run that gets more rows: after an interruption, after a crash, or since some of its cases
//! are to be tried again.
//!
//! Two steps, so that whoever resumes can look before anything is changed. [`Store::reopen_run`]
//! takes hold of the run; [`ReopenedRun::place`] says how its rows go together with the plan that
//! shall be run now; [`ReopenedRun::start`] stores the new head and puts the rows into their
//! places, both or neither. From then on the rows' places are the plan's, and
//! [`Store::cases`](super::Store::cases) says which of them need not be run.
//!
//! A row that is to be replaced stays until the new one is there: pushing a row of the same place
//! takes the old one away in the same transaction. So there is exactly one row per case at every
//! moment, and an error that was to be tried again is still an error, and not a hole, if the
//! second try is killed.
//!
//! [`Store::reopen_run`]: super::Store::reopen_run

use rusqlite::{Connection, TransactionBehavior};

use super::placing::{self, Placement, PlannedCase};
use super::writer::{Run, RunWriter};
use super::{RunHead, RunState};
use crate::database::Database;
use crate::error::StoreError;

const RESTART: &str = "
UPDATE runs SET state = ?2, ended_at_ms = NULL, summary = NULL, config = ?3, columns = ?4,
                plugins = ?5, options = ?6, seed = ?7
WHERE key = ?1";

/// A run that nobody else can write or delete. Dropped, it leaves the run as it was.
#[derive(Debug)]
pub struct ReopenedRun {
    database: Database,
    connection: Connection,
    run: Run,
    head: RunHead,
    placed: bool,
}

impl ReopenedRun {
    pub(super) fn new(database: Database, connection: Connection, run: Run, head: RunHead) -> Self {
        Self {
            database,
            connection,
            run,
            head,
            placed: false,
        }
    }

    /// What was said when the run began, or was last started.
    pub fn head(&self) -> &RunHead {
        &self.head
    }

    /// Finds the places of the run's rows in a plan, each of whose places must come once. Only
    /// [`ReopenedRun::start`] acts on it; a second call takes the place of the first. Without any,
    /// the rows stay where they are.
    ///
    /// # Errors
    /// When the file can't be read, or there is no room for temporary tables.
    pub fn place(
        &mut self,
        plan: impl IntoIterator<Item = PlannedCase>,
    ) -> Result<Placement, StoreError> {
        self.placed = false;
        let placement = placing::find(&mut self.connection, self.run.key, plan)
            .map_err(|error| self.database.failed("match results with the plan", error))?;
        self.placed = true;
        Ok(placement)
    }

    /// Goes on with the run: stores what holds from now on, puts rows into their places, deletes
    /// those that have none, and calls the run running until the writer is finished or dropped.
    ///
    /// # Errors
    /// When the file can't be written; the run is as it was then.
    pub fn start(mut self, head: &RunHead) -> Result<RunWriter, StoreError> {
        restart(&mut self.connection, self.run.key, head, self.placed)
            .map_err(|error| self.database.failed("reopen the run", error))?;
        RunWriter::start(self.database, self.connection, self.run)
    }
}

fn restart(
    connection: &mut Connection,
    run: i64,
    head: &RunHead,
    placed: bool,
) -> rusqlite::Result<()> {
    let change = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let row = (
        run,
        RunState::Running.as_str(),
        &head.config_json,
        &head.columns_json,
        &head.plugins_json,
        &head.options_json,
        head.seed.cast_signed(),
    );
    change.execute(RESTART, row)?;
    if placed {
        placing::apply(&change, run)?;
    }
    change.commit()
}

#[cfg(test)]
mod tests;
