//! promptfoo's database, read: the runs that were kept there, and their rows as they are written.
//!
//! The file may be anybody's. It is opened for reading only, and nothing is made beside it unless its own
//! log has to be read, too; its schema runs no code of its own, both tables have to be tables, and no value is
//! larger than a row of ours may be. What the texts mean is up to who asks.

use std::cell::Cell;
use std::collections::HashMap;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};

use crate::error::StoreError;

/// Bytes of one value, and of a statement: the most that a row of ours has.
const MAX_VALUE: i32 = 64 << 20;
/// How long a question waits while promptfoo writes.
const PATIENCE: Duration = Duration::from_secs(5);
/// Rows that are looked at for all runs together, where each run looks at all.
const MAX_LOOKED_AT: i64 = 10_000_000;
/// What stands in the place of a column that is not there.
const ABSENT: &str = "NULL";
/// Runs that are listed; more are not read.
const MAX_RUNS: i64 = 100_000;
/// How much text is read of a file, as a multiple of its size, and beside that. Each of its texts is read twice at
/// most; what stands in it once for many rows, as the default of a column, is short in promptfoo's.
const TIMES_ITS_SIZE: u64 = 4;
const BESIDE_ITS_SIZE: u64 = 64 << 20;

/// What a row counts for beside its text, in bytes: less than any of promptfoo's takes. Columns may be declared such
/// that the rows of one run are found for many.
const ROW: usize = 64;

/// A file that promptfoo wrote.
#[derive(Debug)]
pub struct PromptfooFile {
    connection: Connection,
    path: PathBuf,
    /// Bytes of text that may still be read.
    left: Cell<u64>,
}

/// A run in it.
#[derive(Debug, Clone, PartialEq)]
pub struct PromptfooRun {
    /// Its id.
    pub id: String,
    /// When it began: milliseconds since 1970-01-01T00:00:00Z, where that is written as a number.
    pub created_at_ms: Option<i64>,
    /// Rows of it. None: it has none, or is of a time when rows were kept in another way.
    pub rows: u64,
    /// Where it stands: what another program wrote has no index by the id.
    place: i64,
}

/// What describes a run, as JSON where it is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptfooHead {
    /// The config.
    pub config: Option<String>,
    /// The columns.
    pub prompts: Option<String>,
    /// How long it took, in a map with little else.
    pub stats: Option<String>,
}

/// A value of a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PromptfooValue<'a> {
    /// Nothing.
    Null,
    /// A whole number.
    Int(i64),
    /// A number.
    Real(f64),
    /// A text, most of them JSON.
    Text(&'a str),
}

/// The columns of a row, each with the name that promptfoo's exports have for it.
pub const PROMPTFOO_COLUMNS: [(&str, &str); 17] = [
    ("id", "id"),
    ("prompt_idx", "promptIdx"),
    ("test_idx", "testIdx"),
    ("test_case", "testCase"),
    ("prompt", "prompt"),
    ("prompt_id", "promptId"),
    ("provider", "provider"),
    ("latency_ms", "latencyMs"),
    ("cost", "cost"),
    ("response", "response"),
    ("error", "error"),
    ("failure_reason", "failureReason"),
    ("success", "success"),
    ("score", "score"),
    ("grading_result", "gradingResult"),
    ("named_scores", "namedScores"),
    ("metadata", "metadata"),
];

impl PromptfooFile {
    /// Opens it.
    ///
    /// # Errors
    /// When it can't be read, is no database ([`StoreError::NotADatabase`]), or has no such tables
    /// ([`StoreError::Foreign`]).
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let failed = |error| StoreError::sql("open a database", path, error);
        let connection = connect(path).map_err(failed)?;
        let file = Self {
            connection,
            path: path.to_owned(),
            left: Cell::new(TIMES_ITS_SIZE * size(path) + BESIDE_ITS_SIZE),
        };
        file.guard().map_err(failed)?;
        // A view, or a table that code makes up, is no table.
        let tables: i64 = file
            .connection
            .query_row(
                "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name IN ('evals', 'eval_results')
                 AND sql NOT LIKE 'CREATE VIRTUAL%'",
                [],
                |row| row.get(0),
            )
            .map_err(failed)?;
        if tables == 2 && file.is_plain()? && file.is_written_out()? && file.finds_rows()? {
            Ok(file)
        } else {
            Err(StoreError::Foreign {
                path: path.to_owned(),
            })
        }
    }

    /// Looks at every page once. One that is named many times is many rows, or much text: a file of some KB could have
    /// so many that no question about them ever ends, or fills the disk.
    /// `false` where that would call for work that doesn't stand in the file: values that must be of a kind are worked
    /// out first, if they are worked out.
    fn is_plain(&self) -> Result<bool, StoreError> {
        let worked_out = "SELECT count(*) FROM pragma_table_list AS of, pragma_table_xinfo(of.name) AS of_column \
                          WHERE of.name IN ('evals', 'eval_results') AND hidden IN (2, 3) AND (strict OR \"notnull\")";
        let count = self.connection.query_row(worked_out, [], |row| row.get(0));
        let count: i64 = count.map_err(|error| self.failed(error))?;
        if count > 0 {
            return Ok(false);
        }
        // A row that is too large is one that can't be read, and the file is whole; here no value is read.
        let limit = |bytes| {
            let set = self.connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, bytes);
            set.map(drop).map_err(|error| self.failed(error))
        };
        limit(i32::MAX)?;
        for table in ["evals", "eval_results"] {
            let sql = format!("PRAGMA quick_check({table})");
            let found = self.connection.query_row(&sql, [], |row| row.get(0));
            let found: String = found.map_err(|error| self.failed(error))?;
            if found != "ok" {
                let path = self.path.clone();
                return Err(StoreError::Damaged { path });
            }
        }
        limit(MAX_VALUE)?;
        Ok(true)
    }

    /// Whether what tells runs apart stands in the file. What is worked out of other columns takes no room there, so
    /// a small file could have any amount of it.
    fn is_written_out(&self) -> Result<bool, StoreError> {
        for (table, name) in [
            ("evals", "id"),
            ("evals", "created_at"),
            ("eval_results", "eval_id"),
        ] {
            if self.column(table, name)? == ABSENT {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether the rows of a run can be found without looking at those of all runs, or those are few. promptfoo's
    /// have an index for that.
    fn finds_rows(&self) -> Result<bool, StoreError> {
        let plan = "EXPLAIN QUERY PLAN SELECT id FROM eval_results WHERE eval_id = ?1";
        let plan: rusqlite::Result<String> = self
            .connection
            .query_row(plan, [""], |row| row.get("detail"));
        if plan
            .map_err(|error| self.failed(error))?
            .starts_with("SEARCH")
        {
            return Ok(true);
        }
        let counts = "SELECT (SELECT count(*) FROM evals), (SELECT count(*) FROM eval_results)";
        let counts = self.connection.query_row(counts, [], |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?))
        });
        let (runs, rows) = counts.map_err(|error| self.failed(error))?;
        Ok(runs.saturating_mul(rows) <= MAX_LOOKED_AT)
    }

    /// Sets what a stranger's file may do: nothing.
    fn guard(&self) -> rusqlite::Result<()> {
        let connection = &self.connection;
        connection.busy_timeout(PATIENCE)?;
        connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, MAX_VALUE)?;
        connection.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
        connection.pragma_update(None, "ignore_check_constraints", true)?;
        connection.pragma_update(None, "query_only", true)?;
        connection.pragma_update(None, "cell_size_check", true)?;
        connection.pragma_update(None, "mmap_size", 0)
    }

    /// The runs, oldest first, each id once: a stranger's file may list one many times, and its rows would be read as often.
    ///
    /// # Errors
    /// When the file can't be read.
    pub fn runs(&self) -> Result<Vec<PromptfooRun>, StoreError> {
        let failed = |error| self.failed(error);
        let mut statement = self
            .connection
            .prepare("SELECT id, created_at, rowid FROM evals ORDER BY created_at, id LIMIT ?1")
            .map_err(failed)?;
        let run = |row: &rusqlite::Row<'_>| {
            Ok(PromptfooRun {
                id: text(row.get_ref(0)?).unwrap_or_default(),
                created_at_ms: row.get_ref(1)?.as_i64_or_null().ok().flatten(),
                rows: 0,
                place: row.get(2)?,
            })
        };
        let (mut runs, mut listed) = (Vec::new(), HashMap::new());
        for run in statement.query_map([MAX_RUNS], run).map_err(failed)? {
            let run = run.map_err(failed)?;
            self.count(run.id.len())?;
            if !listed.contains_key(&run.id) {
                listed.insert(run.id.clone(), runs.len());
                runs.push(run);
            }
        }
        // Counted here: joined there, columns of other types are compared each with each.
        let counts = "SELECT eval_id, count(*) FROM eval_results GROUP BY eval_id";
        let mut statement = self.connection.prepare(counts).map_err(failed)?;
        let mut counts = statement.query([]).map_err(failed)?;
        while let Some(row) = counts.next().map_err(failed)? {
            let id = row.get_ref(0).map_err(failed)?;
            if let Some(&run) = text(id).and_then(|id| listed.get(&id)) {
                runs[run].rows += row.get::<_, i64>(1).map_err(failed)?.unsigned_abs();
            }
        }
        Ok(runs)
    }

    /// What describes a run.
    ///
    /// # Errors
    /// When the file can't be read, or there is no such run.
    pub fn head(&self, run: &PromptfooRun) -> Result<PromptfooHead, StoreError> {
        let column = |name: &str| self.column("evals", name);
        // Runs of old versions have all their rows there.
        let sql = format!(
            "SELECT {}, {}, CASE WHEN length({results}) < 10000 THEN {results} END FROM evals WHERE rowid = ?1",
            column("config")?,
            column("prompts")?,
            results = column("results")?,
        );
        let head = self.connection.query_row(&sql, [run.place], |row| {
            Ok(PromptfooHead {
                config: text(row.get_ref(0)?),
                prompts: text(row.get_ref(1)?),
                stats: text(row.get_ref(2)?),
            })
        });
        let head = head.map_err(|error| self.failed(error))?;
        let PromptfooHead {
            config,
            prompts,
            stats,
        } = &head;
        let texts = [config, prompts, stats].into_iter().flatten();
        self.count(texts.map(String::len).sum())?;
        Ok(head)
    }

    /// Hands over each row of a run, its values in the order of [`PROMPTFOO_COLUMNS`], until `see` says stop.
    ///
    /// # Errors
    /// When the file can't be read.
    pub fn rows<E>(
        &self,
        id: &str,
        see: &mut dyn FnMut(&[PromptfooValue<'_>]) -> Result<(), E>,
    ) -> Result<Result<(), E>, StoreError> {
        let failed = |error| self.failed(error);
        let columns = PROMPTFOO_COLUMNS.iter();
        let columns: Result<Vec<String>, StoreError> = columns
            .map(|(name, _)| self.column("eval_results", name))
            .collect();
        let sql = format!(
            "SELECT {} FROM eval_results WHERE eval_id = ?1",
            columns?.join(", ")
        );
        let mut statement = self.connection.prepare(&sql).map_err(failed)?;
        let mut rows = statement.query([id]).map_err(failed)?;
        while let Some(row) = rows.next().map_err(failed)? {
            let mut values = [PromptfooValue::Null; PROMPTFOO_COLUMNS.len()];
            for (idx, value) in values.iter_mut().enumerate() {
                *value = match row.get_ref(idx).map_err(failed)? {
                    ValueRef::Null | ValueRef::Blob(_) => PromptfooValue::Null,
                    ValueRef::Integer(number) => PromptfooValue::Int(number),
                    ValueRef::Real(number) => PromptfooValue::Real(number),
                    // What is no UTF-8 is none of promptfoo's texts.
                    ValueRef::Text(bytes) => std::str::from_utf8(bytes)
                        .map_or(PromptfooValue::Null, PromptfooValue::Text),
                };
            }
            let text = |value: &PromptfooValue<'_>| match value {
                PromptfooValue::Text(text) => text.len(),
                _ => 0,
            };
            let read: usize = values.iter().map(text).sum();
            self.count(ROW + read)?;
            if let Err(refused) = see(&values) {
                return Ok(Err(refused));
            }
        }
        Ok(Ok(()))
    }

    /// A column, or NULL where this version of the file does not have it.
    fn column(&self, table: &str, name: &str) -> Result<String, StoreError> {
        let sql = "SELECT count(*) FROM pragma_table_info(?1) WHERE name = ?2";
        let found = self
            .connection
            .query_row(sql, [table, name], |row| row.get::<_, i64>(0));
        let found = found.map_err(|error| self.failed(error))?;
        Ok(if found == 0 {
            ABSENT.to_owned()
        } else {
            name.to_owned()
        })
    }

    /// Counts text that was read.
    fn count(&self, bytes: usize) -> Result<(), StoreError> {
        let left = self.left.get().checked_sub(bytes as u64);
        let path = || self.path.clone();
        self.left
            .set(left.ok_or_else(|| StoreError::Swollen { path: path() })?);
        Ok(())
    }

    fn failed(&self, error: rusqlite::Error) -> StoreError {
        StoreError::sql("read the runs", &self.path, error)
    }
}

/// A connection that changes nothing. Without a log beside the file not even locks are taken, so that it may lie on
/// a disk that can't be written to.
fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let has_log = fs::metadata(log_of(path)).is_ok_and(|log| log.len() > 0);
    match path.to_str() {
        Some(name) if !has_log => {
            let uri = format!("file:{}?immutable=1", escaped(name));
            Connection::open_with_flags(uri, flags | OpenFlags::SQLITE_OPEN_URI)
        }
        _ => Connection::open_with_flags(path, flags),
    }
}

/// The log beside a file.
fn log_of(path: &Path) -> OsString {
    let mut log = OsString::from(path);
    log.push("-wal");
    log
}

/// Bytes of a file and its log.
fn size(path: &Path) -> u64 {
    let files = [path.as_os_str().to_owned(), log_of(path)];
    let sizes = files.map(|file| fs::metadata(file).map_or(0, |file| file.len()));
    sizes.iter().sum()
}

/// A path as part of an address.
fn escaped(path: &str) -> String {
    let mut escaped = String::new();
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'_' | b'-' | b'~' => {
                escaped.push(char::from(byte));
            }
            // Windows' own, which an address has with slashes.
            b'\\' if cfg!(windows) => escaped.push('/'),
            b':' if cfg!(windows) => escaped.push(':'),
            other => {
                // Writing to a string can't fail.
                let _ = write!(escaped, "%{other:02X}");
            }
        }
    }
    escaped
}

fn text(value: ValueRef<'_>) -> Option<String> {
    value.as_str_or_null().ok().flatten().map(str::to_owned)
}

#[cfg(test)]
mod tests;
