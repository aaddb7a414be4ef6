//! `quotas.db`: what programs on this machine write down together of the quotas that they use.
//!
//! A map from a key to a state, which changes by compare-and-swap: who read a state may replace that one,
//! and no newer one. What a state means is known to whoever has it. Nothing here is worth keeping: a file
//! that is lost costs some refusals. So writers wait for each other for a moment only, and whoever
//! comes clears away what nobody has touched for a day.
//!
//! Keys are digests over the file's own salt, which was drawn when it was made: the file doesn't tell whose
//! quota it is, not even to who guesses.

use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};

use rusqlite::{Connection, OptionalExtension as _, params};

use crate::database::{Database, OpenOptions, Purpose, Schema};
use crate::digest::Digest;
use crate::error::StoreError;

/// How long a change waits for another program's. Each takes a fraction of a millisecond.
const PATIENCE: Duration = Duration::from_millis(100);

/// A state that nobody has changed for so long is nobody's.
const FORGOTTEN: Duration = Duration::from_hours(24);

/// The formats of `quotas.db`; the id is "RUNQ" as a big-endian integer.
const QUOTAS: Schema = Schema {
    application_id: 0x5255_4E51,
    migrations: &[FORMAT_1],
};

const FORMAT_1: &str = "
CREATE TABLE salt (salt BLOB NOT NULL) STRICT;
INSERT INTO salt VALUES (randomblob(32));
CREATE TABLE quotas (
    key        BLOB    PRIMARY KEY,
    version    INTEGER NOT NULL,
    changed_at INTEGER NOT NULL,
    state      BLOB    NOT NULL
) STRICT, WITHOUT ROWID;
";

/// The file, for one thread.
#[derive(Debug)]
pub struct QuotaFile {
    database: Database,
    connection: Connection,
    salt: Vec<u8>,
}

/// A state as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuotaState {
    version: i64,
    /// What was written last; `None`: nothing yet.
    pub bytes: Option<Vec<u8>>,
}

impl QuotaFile {
    /// Opens the file, for the user alone, or makes it.
    ///
    /// # Errors
    /// When it is a link, none of ours, or can't be opened.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        // What a link leads to is not looked at.
        if std::fs::symlink_metadata(path).is_ok_and(|file| !file.is_file()) {
            return Err(StoreError::Create {
                path: path.to_owned(),
                source: io::Error::other("something else than a file is in its place"),
            });
        }
        let database = Database::open(path, OpenOptions::default(), &QUOTAS)?;
        let database = database.with_patience(PATIENCE);
        let connection = database.connect(Purpose::Write)?;
        let failed = |error| database.failed("open the quotas", error);
        // What a crash of the machine takes is worth nothing.
        let settled = connection.pragma_update(None, "synchronous", "OFF");
        settled.map_err(failed)?;
        let old = seconds().saturating_sub(FORGOTTEN.as_secs() as i64);
        connection
            .execute("DELETE FROM quotas WHERE changed_at < ?1", [old])
            .map_err(failed)?;
        let salt = connection.query_row("SELECT salt FROM salt", [], |row| row.get(0));
        let salt = salt.map_err(failed)?;
        Ok(Self {
            database,
            connection,
            salt,
        })
    }

    /// What keys are made of, besides.
    pub fn salt(&self) -> &[u8] {
        &self.salt
    }

    /// Reads a state.
    ///
    /// # Errors
    /// When the file can't be read.
    pub fn get(&self, key: &Digest) -> Result<QuotaState, StoreError> {
        let sql = "SELECT version, state FROM quotas WHERE key = ?1";
        let state = self.connection.prepare_cached(sql).and_then(|mut found| {
            let state = found.query_row([key.as_bytes()], |row| {
                Ok(QuotaState {
                    version: row.get(0)?,
                    bytes: Some(row.get(1)?),
                })
            });
            state.optional()
        });
        let state = state.map_err(|error| self.database.failed("read a quota", error))?;
        Ok(state.unwrap_or(QuotaState {
            version: 0,
            bytes: None,
        }))
    }

    /// Replaces a state that is still as it was read; `None` removes it. Says whether it was.
    ///
    /// # Errors
    /// When another program writes for too long, or the file can't be written.
    pub fn swap(
        &self,
        key: &Digest,
        before: &QuotaState,
        state: Option<&[u8]>,
    ) -> Result<bool, StoreError> {
        let (key, version) = (key.as_bytes(), before.version);
        let changed = match (state, &before.bytes) {
            (Some(state), None) => self.change(
                "INSERT INTO quotas VALUES (?1, ?2 + 1, ?3, ?4) ON CONFLICT DO NOTHING",
                params![key, version, seconds(), state],
            ),
            (Some(state), Some(_)) => self.change(
                "UPDATE quotas SET version = ?2 + 1, changed_at = ?3, state = ?4
                 WHERE key = ?1 AND version = ?2",
                params![key, version, seconds(), state],
            ),
            (None, Some(_)) => self.change(
                "DELETE FROM quotas WHERE key = ?1 AND version = ?2",
                params![key, version],
            ),
            (None, None) => Ok(1),
        };
        changed.map(|changed| changed == 1)
    }

    fn change(&self, sql: &str, values: &[&dyn rusqlite::ToSql]) -> Result<usize, StoreError> {
        let statement = self.connection.prepare_cached(sql);
        let changed = statement.and_then(|mut statement| statement.execute(values));
        changed.map_err(|error| self.database.failed("change a quota", error))
    }
}

/// Seconds since 1970.
fn seconds() -> i64 {
    let since = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

    use super::*;

    const KEY: Digest = Digest::new([7; 32]);

    fn folder() -> tempfile::TempDir {
        tempfile::tempdir().unwrap()
    }

    #[test]
    fn who_read_an_older_state_replaces_none() {
        let folder = folder();
        let path = folder.path().join("quotas.db");
        let (one, other) = (
            QuotaFile::open(&path).unwrap(),
            QuotaFile::open(&path).unwrap(),
        );
        assert_eq!(one.salt(), other.salt());
        let (first, second) = (one.get(&KEY).unwrap(), other.get(&KEY).unwrap());
        assert!(one.swap(&KEY, &first, Some(b"a")).unwrap());
        assert!(!other.swap(&KEY, &second, Some(b"b")).unwrap());
        let second = other.get(&KEY).unwrap();
        assert_eq!(second.bytes.as_deref(), Some(&b"a"[..]));
        let stale = one.get(&KEY).unwrap();
        assert!(other.swap(&KEY, &second, Some(b"b")).unwrap());
        assert!(!one.swap(&KEY, &stale, Some(b"c")).unwrap());
        assert!(!one.swap(&KEY, &stale, None).unwrap());
        let last = one.get(&KEY).unwrap();
        assert!(one.swap(&KEY, &last, None).unwrap());
        assert_eq!(other.get(&KEY).unwrap().bytes, None);
    }

    #[test]
    fn another_file_has_another_salt() {
        let (one, other) = (folder(), folder());
        let open = |folder: &tempfile::TempDir| {
            let path = folder.path().join("quotas.db");
            QuotaFile::open(&path).unwrap().salt().to_owned()
        };
        assert_ne!(open(&one), open(&other));
    }

    #[test]
    fn what_nobody_has_touched_for_a_day_is_gone() {
        let folder = folder();
        let path = folder.path().join("quotas.db");
        let file = QuotaFile::open(&path).unwrap();
        let nothing = file.get(&KEY).unwrap();
        assert!(file.swap(&KEY, &nothing, Some(b"a")).unwrap());
        let age = |by: i64| {
            let sql = "UPDATE quotas SET changed_at = changed_at - ?1";
            file.connection.execute(sql, [by]).unwrap();
            let again = QuotaFile::open(&path).unwrap();
            again.get(&KEY).unwrap().bytes.is_some()
        };
        assert!(age(86_000));
        assert!(!age(1000));
    }

    #[cfg(unix)]
    #[test]
    fn it_is_the_users_alone_and_no_link() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};

        let folder = folder();
        let path = folder.path().join("quotas.db");
        drop(QuotaFile::open(&path).unwrap());
        let rights = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(rights & 0o777, 0o600);
        let link = folder.path().join("link.db");
        symlink(&path, &link).unwrap();
        let refused = QuotaFile::open(&link).unwrap_err();
        assert!(matches!(refused, StoreError::Create { .. }), "{refused}");
    }
}
