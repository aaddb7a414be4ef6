//! Opens a database file: is it ours, is its format known, and how is it journalled.
//!
//! Not about runs: a [`Schema`] says which file format is meant, so that a second kind of file
//! can be opened by the same rules. Nothing is written before the file is known to be ours and
//! not newer than this program: the first connection even refrains from tidying up the journal
//! that a newer program may have left.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use runner_files::make_private;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};

use crate::error::StoreError;
use crate::room::LeftFree;

/// How long a question waits for another process's lock. Readers wait for a write only while
/// the file changes its journal or is being migrated: that takes milliseconds.
const READER_PATIENCE: Duration = Duration::from_secs(5);

/// How long a writer waits for another process's transaction. Longer than a reader, since giving
/// up costs results that were paid for: the deletion of a run with millions of rows (measured:
/// 10 s per million) must fit in.
const WRITER_PATIENCE: Duration = Duration::from_mins(1);

/// How long a change of the journal's kind waits for others to leave the file. Short, since it
/// can be made up for.
const JOURNAL_PATIENCE: Duration = Duration::from_millis(500);

/// How long emptying the journal waits for readers before it is left to the next one who closes
/// the file. It is tidiness, not safety.
const TIDY_PATIENCE: Duration = Duration::from_millis(250);

/// Bytes in a page of a new file. SQLite's own default, 4096, takes one record of 2 KB and wastes
/// the rest: measured, 8192 needs a third less space and half the CPU time for such rows, and
/// 16384 is no better for them and worse for large ones.
pub(crate) const PAGE_BYTES: u32 = 8192;

/// Pages in the journal after which SQLite copies them into the file by itself: its own default,
/// stated because the size of the journal (8 MB) and the pause it causes depend on it.
const AUTOCHECKPOINT_PAGES: u32 = 1000;

/// How a file is to be opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenOptions {
    /// Whether to keep a write-ahead log, so that readers never wait for a writer. `false` falls
    /// back to a rollback journal, for file systems without shared memory (network mounts).
    pub wal: bool,
}

impl Default for OpenOptions {
    /// With a write-ahead log.
    fn default() -> Self {
        Self { wal: true }
    }
}

/// A file format: who it belongs to and how it came to be.
#[derive(Debug)]
pub(crate) struct Schema {
    /// SQLite's `application_id`: tells our file from any other database.
    pub(crate) application_id: i32,
    /// The n-th entry (from 0) brings a file of format n to format n + 1. Only ever appended to.
    pub(crate) migrations: &'static [&'static str],
}

/// What a connection is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Questions only: SQLite refuses everything else.
    Read,
    /// Changes.
    Write,
}

/// A file that was checked and brought to the current format.
#[derive(Debug, Clone)]
pub(crate) struct Database {
    path: PathBuf,
    /// How long a writer waits for another process's transaction.
    patience: Duration,
    left_free: LeftFree,
}

impl Database {
    /// Creates or opens the file, checks that it is ours, and migrates it.
    ///
    /// # Errors
    /// When the file can't be created, is none of ours, is newer, or stays locked.
    pub(crate) fn open(
        path: &Path,
        options: OpenOptions,
        schema: &Schema,
    ) -> Result<Self, StoreError> {
        create(path)?;
        let database = Self {
            path: path.to_owned(),
            patience: WRITER_PATIENCE,
            left_free: LeftFree::default(),
        };
        let mut connection = database.connection()?;
        database.check(&connection, schema)?;
        database.migrate(&mut connection, schema)?;
        database.set_journal(&connection, options)?;
        Ok(database)
    }

    /// The file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Lets writers wait so long for another process's transaction.
    pub(crate) fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Lets runs leave so many bytes of the disk free.
    pub(crate) fn with_left_free(mut self, bytes: u64) -> Self {
        self.left_free = LeftFree::Bytes(bytes);
        self
    }

    /// Checks whether the disk has room for so many bytes of results.
    ///
    /// # Errors
    /// [`StoreError::NoRoom`].
    pub(crate) fn check_room(&self, bytes: u64) -> Result<(), StoreError> {
        self.check_room_of(&self.path, bytes)
    }

    /// How much it leaves free.
    pub(crate) fn left_free(&self) -> LeftFree {
        self.left_free
    }

    /// Checks whether the disk of another file has room for so many bytes of results.
    ///
    /// # Errors
    /// [`StoreError::NoRoom`].
    pub(crate) fn check_room_of(&self, file: &Path, bytes: u64) -> Result<(), StoreError> {
        self.left_free.check(file, bytes)
    }

    /// Checks whether the disk of `file` has room for so many bytes of results that this one did not take.
    ///
    /// # Errors
    /// [`StoreError::NoRoom`].
    pub(crate) fn check_rescue(&self, file: &Path, bytes: u64) -> Result<(), StoreError> {
        self.left_free.check_rescue(file, bytes)
    }

    /// Opens a new connection with its settings.
    ///
    /// # Errors
    /// When the file is gone or can't be read.
    pub(crate) fn connect(&self, purpose: Purpose) -> Result<Connection, StoreError> {
        let connection = self.connection()?;
        settle(&connection, purpose, self.patience)
            .map_err(|error| self.failed("prepare a connection", error))?;
        Ok(connection)
    }

    /// Bytes of the file and its log.
    pub(crate) fn file_bytes(&self) -> u64 {
        let bytes = |path: &Path| fs::metadata(path).map_or(0, |file| file.len());
        bytes(&self.path) + bytes(&self.log())
    }

    /// Names the file in what SQLite said.
    pub(crate) fn failed(&self, doing: &'static str, error: rusqlite::Error) -> StoreError {
        StoreError::sql(doing, &self.path, error)
    }

    /// Without `CREATE`: a file that vanished is an error, not a fresh start.
    fn connection(&self) -> Result<Connection, StoreError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connect = || {
            let connection = Connection::open_with_flags(&self.path, flags)?;
            connection.busy_timeout(READER_PATIENCE)?;
            Ok(connection)
        };
        connect().map_err(|error| self.failed("open a connection", error))
    }

    /// Reads who the file belongs to; on refusal leaves every byte as it is.
    fn check(&self, connection: &Connection, schema: &Schema) -> Result<(), StoreError> {
        let failed = |error| self.failed("read the format", error);
        // The last one to close a file moves what is in the log into it, unless told not to.
        let keep = DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE;
        connection
            .set_db_config(keep, self.has_log())
            .map_err(failed)?;
        let identity = Identity::read(connection).map_err(failed)?;
        self.admit(identity, schema)?;
        connection.set_db_config(keep, false).map_err(failed)?;
        Ok(())
    }

    /// Whether a write-ahead log with content lies beside the file: somebody is at work, or died.
    fn has_log(&self) -> bool {
        fs::metadata(self.log()).is_ok_and(|log| log.len() > 0)
    }

    /// Where the write-ahead log lies.
    fn log(&self) -> PathBuf {
        let mut log = self.path.clone().into_os_string();
        log.push("-wal");
        PathBuf::from(log)
    }

    fn admit(&self, identity: Identity, schema: &Schema) -> Result<(), StoreError> {
        let known = schema.migrations.len() as u32;
        let path = || self.path.clone();
        if identity.is_blank() {
            Ok(())
        } else if identity.application_id != schema.application_id {
            Err(StoreError::Foreign { path: path() })
        } else if identity.version > known {
            Err(StoreError::Newer {
                path: path(),
                found: identity.version,
                known,
            })
        } else {
            Ok(())
        }
    }

    /// Applies what is missing, all or nothing. Two processes may try at once: the second one
    /// waits for the first and then finds nothing to do.
    fn migrate(&self, connection: &mut Connection, schema: &Schema) -> Result<(), StoreError> {
        let failed = |error| self.failed("migrate the format", error);
        // Without effect on a file that has content.
        connection
            .pragma_update(None, "page_size", PAGE_BYTES)
            .map_err(failed)?;
        if Identity::read(connection).map_err(failed)?.version == schema.migrations.len() as u32 {
            return Ok(());
        }
        let change = connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(failed)?;
        let identity = Identity::read(&change).map_err(failed)?;
        self.admit(identity, schema)?;
        for migration in &schema.migrations[identity.version as usize..] {
            change.execute_batch(migration).map_err(failed)?;
        }
        change
            .pragma_update(None, "application_id", schema.application_id)
            .map_err(failed)?;
        change
            .pragma_update(None, "user_version", schema.migrations.len() as u32)
            .map_err(failed)?;
        change.commit().map_err(failed)
    }

    /// Sets the journal's kind, which is a property of the file. Changing it needs the file for
    /// oneself: who wants the log and can't have it now works without and leaves the change to the
    /// next one; who can't use the log has to be told.
    fn set_journal(&self, connection: &Connection, options: OpenOptions) -> Result<(), StoreError> {
        let failed = |error| self.failed("set the journal", error);
        let wanted = if options.wal { "wal" } else { "delete" };
        if journal_mode(connection).map_err(failed)? == wanted {
            return Ok(());
        }
        connection.busy_timeout(JOURNAL_PATIENCE).map_err(failed)?;
        let changed = connection
            .pragma_update_and_check(None, "journal_mode", wanted, |row| row.get::<_, String>(0));
        match changed {
            Err(error)
                if options.wal && error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) =>
            {
                Ok(())
            }
            other => other.map(drop).map_err(failed),
        }
    }
}

/// What the header of a file says about it.
#[derive(Debug, Clone, Copy)]
struct Identity {
    application_id: i32,
    version: u32,
    objects: u64,
}

impl Identity {
    /// Reads all three from one moment: another process may be making the file right now, and half
    /// of it looks like somebody else's.
    fn read(connection: &Connection) -> rusqlite::Result<Self> {
        let moment = connection
            .is_autocommit()
            .then(|| connection.unchecked_transaction())
            .transpose()?;
        let identity = Self::read_now(connection)?;
        drop(moment);
        Ok(identity)
    }

    fn read_now(connection: &Connection) -> rusqlite::Result<Self> {
        Ok(Self {
            application_id: connection
                .pragma_query_value(None, "application_id", |row| row.get(0))?,
            version: connection.pragma_query_value(None, "user_version", |row| row.get(0))?,
            objects: connection
                .query_row("SELECT count(*) FROM sqlite_schema", [], |row| {
                    row.get::<_, i64>(0)
                })?
                .unsigned_abs(),
        })
    }

    /// A file in which nobody has stored anything, such as the one that was just created.
    fn is_blank(self) -> bool {
        self.application_id == 0 && self.version == 0 && self.objects == 0
    }
}

/// The settings of a connection.
fn settle(connection: &Connection, purpose: Purpose, patience: Duration) -> rusqlite::Result<()> {
    let writes = purpose == Purpose::Write;
    if writes {
        connection.busy_timeout(patience)?;
    }
    // With a log, a crash of the process loses nothing that was committed, and a crash of the
    // machine at most the last commits; the file is whole either way. A rollback journal
    // needs FULL for that.
    let synchronous = if journal_mode(connection)? == "wal" {
        "NORMAL"
    } else {
        "FULL"
    };
    connection.pragma_update(None, "synchronous", synchronous)?;
    connection.pragma_update(None, "wal_autocheckpoint", AUTOCHECKPOINT_PAGES)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "query_only", !writes)
}

/// Copies the log into the file and empties it, for a writer that is done. What was committed is
/// safe before; a reader who is in the way, or a file system that can't, only leaves a log behind.
pub(crate) fn tidy_journal(connection: &Connection) {
    drop(connection.busy_timeout(TIDY_PATIENCE));
    drop(connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())));
}

fn journal_mode(connection: &Connection) -> rusqlite::Result<String> {
    connection.pragma_query_value(None, "journal_mode", |row| row.get(0))
}

/// Makes the folder and an empty file that only the user can read: prompts and outputs are
/// nobody else's business. SQLite gives its journals the rights of the file.
fn create(path: &Path) -> Result<(), StoreError> {
    if let Some(folder) = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
    {
        make_private(folder).map_err(|source| StoreError::Create {
            path: folder.to_owned(),
            source,
        })?;
    }
    match private_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
            Err(StoreError::Create {
                path: path.to_owned(),
                source: error,
            })
        }
        _ => Ok(()),
    }
}

/// Creates a file that must not exist yet, for the user alone where the system can do so.
pub(crate) fn private_file(path: &Path) -> std::io::Result<fs::File> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

#[cfg(test)]
mod tests;
