//! promptfoo's database, read: the runs that were kept there, and their rows as they are written.
//!
//! The file may be anybody's. It is opened for reading only, and nothing is made beside it unless its own
//! log has to be read, too; its schema runs no code of its own, both tables have to be tables, and no value is
//! larger than a row of ours may be. What the texts mean is up to who asks.

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

/// A file that promptfoo wrote.
#[derive(Debug)]
pub struct PromptfooFile {
    connection: Connection,
    path: PathBuf,
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
        if tables == 2 && file.is_written_out()? && file.finds_rows()? {
            Ok(file)
        } else {
            Err(StoreError::Foreign {
                path: path.to_owned(),
            })
        }
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
        connection.pragma_update(None, "query_only", true)?;
        connection.pragma_update(None, "cell_size_check", true)?;
        connection.pragma_update(None, "mmap_size", 0)
    }

    /// The runs, oldest first.
    ///
    /// # Errors
    /// When the file can't be read.
    pub fn runs(&self) -> Result<Vec<PromptfooRun>, StoreError> {
        let failed = |error| self.failed(error);
        let mut statement = self
            .connection
            .prepare(
                "SELECT evals.id, created_at, coalesce(rows, 0) FROM evals
                 LEFT JOIN (SELECT eval_id, count(*) AS rows FROM eval_results GROUP BY eval_id) ON eval_id = evals.id
                 ORDER BY created_at, evals.id LIMIT ?1",
            )
            .map_err(failed)?;
        let runs = statement.query_map([MAX_RUNS], |row| {
            Ok(PromptfooRun {
                id: text(row.get_ref(0)?).unwrap_or_default(),
                created_at_ms: row.get_ref(1)?.as_i64_or_null().ok().flatten(),
                rows: row.get::<_, i64>(2)?.unsigned_abs(),
            })
        });
        let runs: rusqlite::Result<Vec<PromptfooRun>> = runs.map_err(failed)?.collect();
        runs.map_err(failed)
    }

    /// What describes a run.
    ///
    /// # Errors
    /// When the file can't be read, or there is no such run.
    pub fn head(&self, id: &str) -> Result<PromptfooHead, StoreError> {
        let column = |name: &str| self.column("evals", name);
        // Runs of old versions have all their rows there.
        let sql = format!(
            "SELECT {}, {}, CASE WHEN length({results}) < 10000 THEN {results} END FROM evals WHERE id = ?1",
            column("config")?,
            column("prompts")?,
            results = column("results")?,
        );
        let head = self.connection.query_row(&sql, [id], |row| {
            Ok(PromptfooHead {
                config: text(row.get_ref(0)?),
                prompts: text(row.get_ref(1)?),
                stats: text(row.get_ref(2)?),
            })
        });
        head.map_err(|error| self.failed(error))
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

    fn failed(&self, error: rusqlite::Error) -> StoreError {
        StoreError::sql("read the runs", &self.path, error)
    }
}

/// A connection that changes nothing. Without a log beside the file not even locks are taken, so that it may lie on
/// a disk that can't be written to.
fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut log = OsString::from(path);
    log.push("-wal");
    let has_log = fs::metadata(log).is_ok_and(|log| log.len() > 0);
    match path.to_str() {
        Some(name) if !has_log => {
            let uri = format!("file:{}?immutable=1", escaped(name));
            Connection::open_with_flags(uri, flags | OpenFlags::SQLITE_OPEN_URI)
        }
        _ => Connection::open_with_flags(path, flags),
    }
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
mod tests {
    use super::*;

    fn made(sql: &str) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("odd name #1?.db");
        let connection = Connection::open(&path).expect("a database");
        connection.execute_batch(sql).expect("it is made");
        (folder, path)
    }

    const TABLES: &str = "
        CREATE TABLE evals (id TEXT PRIMARY KEY, created_at INTEGER, results TEXT, config TEXT, prompts TEXT);
        CREATE TABLE eval_results (id TEXT, eval_id TEXT, prompt_idx INTEGER, test_idx INTEGER, success INTEGER, score REAL, response TEXT);
        INSERT INTO evals VALUES ('b', 2000, '{}', '{\"description\":\"d\"}', '[]'), ('a', '2024-01-01 00:00:00', '{}', '{}', NULL);
        INSERT INTO eval_results VALUES ('r1', 'b', 0, 3, 1, 0.5, '{\"output\":\"x\"}'), ('r2', 'b', 1, 3, 0, 0, NULL);";

    #[test]
    fn runs_and_rows_are_read_whatever_columns_a_version_has() {
        let (folder, path) = made(TABLES);
        let file = PromptfooFile::open(&path).expect("it is one");
        let runs = file.runs().expect("read");
        let told = runs
            .iter()
            .map(|run| (&*run.id, run.created_at_ms, run.rows));
        let expected = [("b", Some(2000), 2), ("a", None, 0)];
        assert_eq!(told.collect::<Vec<_>>(), expected);
        let head = file.head("b").expect("read");
        assert_eq!(head.config.as_deref(), Some("{\"description\":\"d\"}"));
        let mut seen = Vec::new();
        let read = file.rows("b", &mut |values| -> Result<(), ()> {
            let PromptfooValue::Text(id) = values[0] else {
                return Err(());
            };
            seen.push((
                id.to_owned(),
                values[2] == PromptfooValue::Int(3),
                values[8] == PromptfooValue::Null,
            ));
            Ok(())
        });
        assert_eq!(read.expect("read"), Ok(()));
        assert_eq!(
            seen,
            [("r1".to_owned(), true, true), ("r2".to_owned(), true, true)]
        );
        let beside = fs::read_dir(folder.path()).expect("read").count();
        assert_eq!(beside, 1, "nothing is made beside it");
    }

    #[test]
    fn what_is_none_of_promptfoos_is_refused() {
        let (_keep, path) =
            made("CREATE TABLE evals (id); CREATE VIEW eval_results AS SELECT 1 AS id;");
        let refused = PromptfooFile::open(&path);
        assert!(matches!(refused, Err(StoreError::Foreign { .. })));
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("promptfoo.db");
        fs::write(
            &path,
            "no database, but text of some length that SQLite looks at".repeat(30),
        )
        .expect("written");
        let refused = PromptfooFile::open(&path);
        assert!(matches!(refused, Err(StoreError::NotADatabase { .. })));
        assert!(PromptfooFile::open(&folder.path().join("none")).is_err());
    }

    /// From a file of some kilobytes: memory, room on the disk and hours of work without end.
    #[test]
    fn what_tells_runs_apart_is_written_out() {
        let large = "hex(zeroblob(30000000))";
        for (id, created_at, eval_id) in [
            (
                format!("id TEXT AS (created_at || {large})"),
                "created_at INTEGER".to_owned(),
                "eval_id TEXT".to_owned(),
            ),
            (
                "id TEXT".to_owned(),
                format!("created_at TEXT AS (id || {large})"),
                "eval_id TEXT".to_owned(),
            ),
            (
                "id TEXT".to_owned(),
                "created_at INTEGER".to_owned(),
                format!("eval_id TEXT AS ({large})"),
            ),
        ] {
            let tables = format!(
                "CREATE TABLE evals ({id}, {created_at}, c); CREATE TABLE eval_results (id TEXT, {eval_id});"
            );
            let (_keep, path) = made(&tables);
            let refused = PromptfooFile::open(&path);
            assert!(
                matches!(refused, Err(StoreError::Foreign { .. })),
                "{tables}"
            );
        }
    }

    #[test]
    fn rows_that_each_run_looks_for_among_all_are_few() {
        let many = "CREATE TABLE evals (id TEXT, created_at INTEGER); CREATE TABLE eval_results (id TEXT, eval_id TEXT);
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4000) INSERT INTO evals SELECT i, i FROM n;
            INSERT INTO eval_results SELECT id, id FROM evals;";
        let (_keep, path) = made(many);
        let refused = PromptfooFile::open(&path);
        assert!(matches!(refused, Err(StoreError::Foreign { .. })));
        let (_keep, path) = made(&format!(
            "{many} CREATE INDEX of_run ON eval_results (eval_id);"
        ));
        let file = PromptfooFile::open(&path).expect("it has an index");
        assert!(file.runs().expect("read").iter().all(|run| run.rows == 1));
    }

    #[test]
    fn a_value_that_is_too_large_is_an_error_and_takes_no_memory() {
        let large = format!(
            "{TABLES} INSERT INTO eval_results VALUES ('r3', 'a', 0, 0, 1, 1, CAST(zeroblob({}) AS TEXT));",
            (MAX_VALUE as usize) + 1
        );
        let (_keep, path) = made(&large);
        let file = PromptfooFile::open(&path).expect("it is one");
        let read = file.rows("a", &mut |_| -> Result<(), ()> { Ok(()) });
        assert!(read.is_err());
        // A column that is worked out is none.
        let made_up = "CREATE TABLE evals (id, created_at); CREATE TABLE eval_results (eval_id TEXT, id TEXT AS (hex(zeroblob(100000000))));
            INSERT INTO evals VALUES ('a', 1); INSERT INTO eval_results VALUES ('a');";
        let (_keep, path) = made(made_up);
        let file = PromptfooFile::open(&path).expect("it is one");
        let mut ids = Vec::new();
        let read = file.rows("a", &mut |values| -> Result<(), ()> {
            ids.push(values[0] == PromptfooValue::Null);
            Ok(())
        });
        assert!(read.is_ok());
        assert_eq!(ids, [true]);
    }

    #[test]
    fn what_promptfoo_has_in_its_log_is_read() {
        let (_keep, path) = made("PRAGMA journal_mode = wal;");
        let writer = Connection::open(&path).expect("a database");
        writer.execute_batch(TABLES).expect("it is written");
        let file = PromptfooFile::open(&path).expect("it is one");
        assert_eq!(file.runs().expect("read").len(), 2);
    }
}
