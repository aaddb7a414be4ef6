//! The way to `runs.db`: begins runs, finds them, hands out their rows, deletes them.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, TransactionBehavior};

use super::cases::{self, Cases};
use super::lanes::{self, LaneMoment};
use super::liveness::{self, Claim};
use super::reopen::ReopenedRun;
use super::rows::{self, Rows, RowsByKey};
use super::schema::RUNS;
use super::writer::{Run, RunWriter};
use super::{NewRun, RunHead, RunState};
use crate::database::{Database, OpenOptions, Purpose};
use crate::error::StoreError;

const INSERT_RUN: &str = "
INSERT INTO runs (id, created_at_ms, state, description, seed, tags, columns, plugins, options,
                  config)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";

/// The file with every run. Cheap to clone; holds no connection.
#[derive(Debug, Clone)]
pub struct Store {
    database: Database,
}

impl Store {
    /// Opens the file, creating it and its folders (for the user alone) if need be, and brings it
    /// to the current format.
    ///
    /// # Errors
    /// When the file can't be made, is none of ours ([`StoreError::NotADatabase`],
    /// [`StoreError::Foreign`]), is newer than this program ([`StoreError::Newer`], untouched),
    /// or is held locked ([`StoreError::Busy`]).
    pub fn open(path: &Path, options: OpenOptions) -> Result<Self, StoreError> {
        Ok(Self {
            database: Database::open(path, options, &RUNS)?,
        })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        self.database.path()
    }

    /// Lets writers wait so long for another process's transaction; a minute otherwise. [`StoreError::Busy`] comes after it.
    #[must_use]
    pub fn with_patience(self, patience: Duration) -> Self {
        let database = self.database.with_patience(patience);
        Self { database }
    }

    /// Lets runs leave so many bytes of the disk free; otherwise 256 MiB, or a twentieth of a small
    /// disk. [`StoreError::NoRoom`] says that there is less.
    #[must_use]
    pub fn with_left_free(self, bytes: u64) -> Self {
        let database = self.database.with_left_free(bytes);
        Self { database }
    }

    /// Checks whether the disk of `file` has room for so many bytes of results, as the database's has to.
    ///
    /// # Errors
    /// [`StoreError::NoRoom`].
    pub fn check_room(&self, file: &Path, bytes: u64) -> Result<(), StoreError> {
        self.database.check_room_of(file, bytes)
    }

    /// Checks whether the disk of `file` has room for so many bytes of results that the database did not
    /// take: half of what its runs leave free is there for them.
    ///
    /// # Errors
    /// [`StoreError::NoRoom`].
    pub fn check_rescue(&self, file: &Path, bytes: u64) -> Result<(), StoreError> {
        self.database.check_rescue(file, bytes)
    }

    pub(crate) fn database(&self) -> &Database {
        &self.database
    }

    /// Begins a run: it is in the file when this returns, and is called running until its writer
    /// is finished or dropped.
    ///
    /// # Errors
    /// [`StoreError::RunExists`] when the id is taken; [`StoreError::NoRoom`]; otherwise when the
    /// file can't be written.
    pub fn begin_run(&self, run: NewRun) -> Result<RunWriter, StoreError> {
        self.database.check_room(0)?;
        let mut connection = self.database.connect(Purpose::Write)?;
        let failed = |error: rusqlite::Error| match error.sqlite_extended_error_code() {
            Some(rusqlite::ffi::SQLITE_CONSTRAINT_UNIQUE) => {
                StoreError::RunExists { id: run.id.clone() }
            }
            _ => self.database.failed("begin the run", error),
        };
        let change = connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(failed)?;
        insert(&change, &run).map_err(failed)?;
        let key = change.last_insert_rowid();
        // Before others can see the run, so that nobody takes it for one whose process died.
        let claim = Claim::take(self.path(), key)?;
        let claim = claim.ok_or_else(|| StoreError::RunIsLive { id: run.id.clone() })?;
        change.commit().map_err(failed)?;
        RunWriter::start(
            self.database.clone(),
            connection,
            Run {
                id: run.id,
                key,
                claim,
            },
        )
    }

    /// Takes hold of the run with this id, to write more rows. Nothing is changed before
    /// [`ReopenedRun::start`]; until then, too, nobody else can reopen or delete it.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`]; [`StoreError::RunIsLive`] while another process, or another
    /// writer in this one, has hold of it; [`StoreError::NoRoom`]; otherwise when the file can't
    /// be read.
    pub fn reopen_run(&self, id: &str) -> Result<ReopenedRun, StoreError> {
        self.database.check_room(0)?;
        let connection = self.database.connect(Purpose::Write)?;
        let key = self.key(&connection, id)?;
        let claim = Claim::take(self.path(), key)?;
        let claim = claim.ok_or_else(|| StoreError::RunIsLive { id: id.to_owned() })?;
        // Only now: whoever had hold of it may have changed it.
        let head = self.head(&connection, id)?;
        let run = Run {
            id: id.to_owned(),
            key,
            claim,
        };
        Ok(ReopenedRun::new(
            self.database.clone(),
            connection,
            run,
            head,
        ))
    }

    /// Reads what was said when the run with this id began.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`]; otherwise when the file can't be read.
    pub fn run_head(&self, id: &str) -> Result<RunHead, StoreError> {
        let connection = self.database.connect(Purpose::Read)?;
        self.head(&connection, id)
    }

    /// Reads how the run with this id was to be run: of [`Store::run_head`] the options alone, since its
    /// config may be large.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`]; otherwise when the file can't be read.
    pub fn run_options(&self, id: &str) -> Result<String, StoreError> {
        let connection = self.database.connect(Purpose::Read)?;
        let question = "SELECT options FROM runs WHERE id = ?1";
        let found = connection.query_row(question, [id], |row| row.get(0));
        let found = found.optional().map_err(|error| self.reading(error))?;
        found.ok_or_else(|| no_such_run(id))
    }

    /// The cases of the run with this id that have a row, without their records, in the order of
    /// (`test_idx`, `prompt_idx`), in bounded memory.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`]; otherwise when the file can't be read.
    pub fn cases(&self, id: &str) -> Result<Cases, StoreError> {
        let connection = self.database.connect(Purpose::Read)?;
        let key = self.key(&connection, id)?;
        Ok(Cases::new(connection, self.path(), key, cases::QUESTION))
    }

    /// The rows of the run with this id in the order of (`test_idx`, `prompt_idx`), in bounded
    /// memory. Rows that are committed meanwhile are met if their key is still ahead.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`]; otherwise when the file can't be read.
    pub fn rows(&self, id: &str) -> Result<Rows, StoreError> {
        let connection = self.database.connect(Purpose::Read)?;
        let key = self.key(&connection, id)?;
        Ok(Rows::new(connection, self.path(), key, rows::QUESTION))
    }

    /// The rows of the run with this id by their keys.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`]; otherwise when the file can't be read.
    pub fn rows_by_key(&self, id: &str) -> Result<RowsByKey, StoreError> {
        let connection = self.database.connect(Purpose::Read)?;
        let key = self.key(&connection, id)?;
        Ok(RowsByKey::new(connection, self.path().to_owned(), key))
    }

    /// How the lanes of the run with this id stood, in the order of time; a few hundred moments at most.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`]; otherwise when the file can't be read.
    pub fn lane_moments(&self, id: &str) -> Result<Vec<LaneMoment>, StoreError> {
        let connection = self.database.connect(Purpose::Read)?;
        let key = self.key(&connection, id)?;
        lanes::read(&connection, key).map_err(|error| self.reading(error))
    }

    /// Deletes the run with this id and its rows. The file keeps its size and uses the space
    /// again.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`]; [`StoreError::RunIsLive`] while it is being written; otherwise
    /// when the file can't be written.
    pub fn delete_run(&self, id: &str) -> Result<(), StoreError> {
        let mut connection = self.database.connect(Purpose::Write)?;
        let failed = |error| self.database.failed("delete the run", error);
        let change = connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(failed)?;
        let key = self.key(&change, id)?;
        if liveness::is_live(self.path(), key) {
            return Err(StoreError::RunIsLive { id: id.to_owned() });
        }
        let delete = || {
            change.execute(
                "DELETE FROM records WHERE key IN (SELECT record FROM rows WHERE run = ?1)",
                [key],
            )?;
            change.execute("DELETE FROM rows WHERE run = ?1", [key])?;
            change.execute("DELETE FROM annotations WHERE run = ?1", [key])?;
            change.execute("DELETE FROM lane_samples WHERE run = ?1", [key])?;
            change.execute("DELETE FROM runs WHERE key = ?1", [key])
        };
        delete().map_err(failed)?;
        change.commit().map_err(failed)?;
        self.forget_lookup(key);
        Ok(())
    }

    fn head(&self, connection: &Connection, id: &str) -> Result<RunHead, StoreError> {
        let question = "SELECT config, columns, plugins, options, seed FROM runs WHERE id = ?1";
        let read = |row: &rusqlite::Row<'_>| {
            Ok(RunHead {
                config_json: row.get(0)?,
                columns_json: row.get(1)?,
                plugins_json: row.get(2)?,
                options_json: row.get(3)?,
                seed: row.get::<_, i64>(4)?.cast_unsigned(),
            })
        };
        let found = connection.query_row(question, [id], read).optional();
        found
            .map_err(|error| self.reading(error))?
            .ok_or_else(|| no_such_run(id))
    }

    pub(crate) fn key(&self, connection: &Connection, id: &str) -> Result<i64, StoreError> {
        let key = connection
            .query_row("SELECT key FROM runs WHERE id = ?1", [id], |row| row.get(0))
            .optional();
        key.map_err(|error| self.reading(error))?
            .ok_or_else(|| no_such_run(id))
    }

    pub(super) fn reading(&self, error: rusqlite::Error) -> StoreError {
        self.database.failed("read runs", error)
    }

    pub(super) fn unreadable(&self, what: &'static str, value: &str) -> StoreError {
        StoreError::Unreadable {
            path: self.path().to_owned(),
            what,
            value: value.to_owned(),
        }
    }
}

pub(super) fn no_such_run(wanted: &str) -> StoreError {
    StoreError::NoSuchRun {
        wanted: wanted.to_owned(),
    }
}

fn insert(change: &Connection, run: &NewRun) -> rusqlite::Result<()> {
    let state = RunState::Running.as_str();
    let seed = run.seed.cast_signed();
    let texts = (
        &run.tags_json,
        &run.columns_json,
        &run.plugins_json,
        &run.options_json,
        &run.config_json,
    );
    let (tags, columns, plugins, options, config) = texts;
    let row = (
        &run.id,
        run.created_at_ms,
        state,
        &run.description,
        seed,
        tags,
        columns,
        plugins,
        options,
        config,
    );
    change.execute(INSERT_RUN, row).map(drop)
}

#[cfg(test)]
mod tests;
