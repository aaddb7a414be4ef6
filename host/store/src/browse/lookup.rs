//! What only the records of a run say, in a file of its own beside the database: words, kinds of
//! errors, metrics, metadata.
//!
//! It is made when it is first asked for, may be deleted at any time, and holds nothing that
//! the records don't. Entries are kept by record, with the id of the row that the record was of when
//! it was read: a row that moves keeps its entry, and the record of a row that was replaced, or is new,
//! is read when the lookup is brought up to date. What no row refers to any more stays and is never
//! found. The caller reads records; this crate doesn't.
//!
//! A file per run and no index in the database: whoever never searches pays nothing, and the
//! writer of a run is not slowed down. All of them take [`MOST_BYTES`] at most; the ones that were
//! not used for longest go first.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use runner_files::make_private;
use rusqlite::{Connection, OpenFlags, OptionalExtension};

use crate::database::{Purpose, private_file};
use crate::error::StoreError;
use crate::room::LeftFree;
use crate::runs::Store;

/// Format of the file; one of another format is made anew.
const FORMAT: u32 = 4;
/// Records in one transaction.
const GROUP: usize = 500;
/// Bytes of words, metrics and metadata that a lookup holds; what comes after is found by everything else.
const MOST_TEXT: i64 = 2 << 30;
/// Room on the disk that a group of records needs at most, about.
const ROOM_OF_GROUP: u64 = 256 << 20;
/// Bytes of all lookups together, before those of other runs go.
const MOST_BYTES: u64 = 4 << 30;

const TABLES: &str = "
CREATE TABLE size (text_bytes INTEGER NOT NULL) STRICT;
INSERT INTO size VALUES (0);
CREATE TABLE facts (record INTEGER PRIMARY KEY, row_id TEXT NOT NULL, error TEXT, content INTEGER, file INTEGER, tested INTEGER, answer INTEGER, repeats INTEGER) STRICT;
CREATE INDEX facts_by_error ON facts (error) WHERE error IS NOT NULL;
CREATE TABLE metrics (record INTEGER, name TEXT, score REAL, PRIMARY KEY (record, name)) STRICT, WITHOUT ROWID;
CREATE INDEX metrics_by_score ON metrics (name, score);
CREATE TABLE metadata (record INTEGER, name TEXT, value TEXT, PRIMARY KEY (record, name)) STRICT, WITHOUT ROWID;
CREATE INDEX metadata_by_value ON metadata (name, value);
CREATE VIRTUAL TABLE words USING fts5 (text, content = '', contentless_delete = 1, tokenize = 'unicode61 remove_diacritics 2');
";

/// Takes away what was known of a record.
const FORGET: [&str; 3] = [
    "DELETE FROM metrics WHERE record = ?1",
    "DELETE FROM metadata WHERE record = ?1",
    "DELETE FROM words WHERE rowid = ?1",
];

/// Rows whose record is not in it, or was another one's.
const MISSING: &str = "
SELECT record, rows.row_id, facts.record IS NOT NULL FROM rows LEFT JOIN lookup.facts USING (record)
WHERE run = ?1 AND facts.row_id IS NOT rows.row_id";

/// What a record says that its row doesn't.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Facts {
    /// What is searched.
    pub text: String,
    /// The kind of its error.
    pub error: Option<String>,
    /// A hash of what makes it the same case in another run or column.
    pub content: u64,
    /// A hash of the data file of which it is a row, or of none.
    pub file: u64,
    /// A hash of how it is tested.
    pub tested: u64,
    /// A hash of its answer.
    pub answer: u64,
    /// A hash of what all repeats of the same case in the same column have in common.
    pub repeats: Option<u64>,
    /// Its scores by metric; none of one that a judge failed to grade.
    pub metrics: Vec<(String, Option<f64>)>,
    /// Its metadata, as texts.
    pub metadata: Vec<(String, String)>,
}

impl Facts {
    /// What it takes of a lookup, but for what each record takes. Names and values stand in a table and its index.
    fn bytes(&self) -> usize {
        let metrics = self.metrics.iter().map(|(name, _)| name.len());
        let metadata = self
            .metadata
            .iter()
            .map(|(name, value)| name.len() + value.len());
        self.text.len() + 2 * metrics.chain(metadata).sum::<usize>()
    }

    /// Takes away all of that.
    fn forget_words(&mut self) {
        self.text.clear();
        self.metrics.clear();
        self.metadata.clear();
    }
}

/// A record, the id of its row, and whether it was known as another row's.
type Missing = (i64, String, bool);

/// The scores of a metric in a column.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MetricSum {
    /// How many there are.
    pub scores: u64,
    /// Their sum.
    pub sum: f64,
    /// Cases of which it was not graded, since a judge failed.
    pub not_graded: u64,
}

impl MetricSum {
    /// The mean of the scores, if there are any.
    pub fn mean(&self) -> Option<f64> {
        (self.scores > 0).then(|| self.sum / self.scores as f64)
    }
}

/// Metrics of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Metrics {
    /// How many there are by name.
    pub all: u64,
    /// Of those that were asked for, by name and column.
    pub sums: BTreeMap<String, BTreeMap<u32, MetricSum>>,
}

/// The lookup of one run, held open to bring it up to date.
#[derive(Debug)]
pub struct Lookup {
    connection: Connection,
    path: PathBuf,
    database: Connection,
    run: i64,
    left_free: LeftFree,
}

impl Store {
    /// The lookup of the run with this id; an empty one is made if there is none.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`]; otherwise when a file can't be made or read.
    pub fn lookup(&self, id: &str) -> Result<Lookup, StoreError> {
        let database = self.database().connect(Purpose::Read)?;
        let run = self.key(&database, id)?;
        let path = place(self.path(), run);
        let folder = path.parent().expect("a lookup lies in a folder");
        make_private(folder).map_err(|source| StoreError::Create {
            path: folder.to_owned(),
            source,
        })?;
        let connection = if let Ok(connection) = open(&path) {
            connection
        } else {
            // Whatever is wrong with it, it can be made again.
            remove(&path);
            open(&path).map_err(|error| StoreError::sql("open a lookup", &path, error))?
        };
        make_room(folder, &path);
        self.attach_lookup(&database, run)?;
        Ok(Lookup {
            connection,
            path,
            database,
            run,
            left_free: self.database().left_free(),
        })
    }

    /// Puts the run's lookup beside the tables of a connection.
    pub(super) fn attach_lookup(
        &self,
        connection: &Connection,
        run: i64,
    ) -> Result<(), StoreError> {
        let path = place(self.path(), run);
        let text = path.to_string_lossy();
        connection
            .execute("ATTACH ?1 AS lookup", [&text])
            .map(drop)
            .map_err(|error| StoreError::sql("open a lookup", &path, error))
    }

    /// For the first metrics of the run with this id, by their names, and its first columns: how many scores there
    /// are and their sum; as far as the lookup goes. A run may have as many metrics as it has cases, and more.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`]; otherwise when the lookup can't be read.
    pub fn metrics(&self, id: &str, names: u32, columns: u32) -> Result<Metrics, StoreError> {
        let connection = self.database().connect(Purpose::Read)?;
        let run = self.key(&connection, id)?;
        self.attach_lookup(&connection, run)?;
        let read = || {
            let count = "SELECT count(DISTINCT name) FROM lookup.metrics";
            let all = connection.query_row(count, [], |row| row.get::<_, i64>(0))?;
            let sql = "SELECT name, prompt_idx, count(metrics.score), total(metrics.score), count(*) \
                       FROM rows CROSS JOIN lookup.metrics USING (record) \
                       WHERE run = ?1 AND prompt_idx < ?3 AND name IN \
                       (SELECT DISTINCT name FROM lookup.metrics ORDER BY name LIMIT ?2) \
                       GROUP BY name, prompt_idx";
            let mut sums: BTreeMap<String, BTreeMap<u32, MetricSum>> = BTreeMap::new();
            let mut found = connection.prepare(sql)?;
            let mut found = found.query((run, names, columns))?;
            while let Some(row) = found.next()? {
                let [scores, all] = [row.get::<_, i64>(2)?, row.get(4)?].map(i64::unsigned_abs);
                let of_column = MetricSum {
                    scores,
                    sum: row.get(3)?,
                    not_graded: all - scores,
                };
                sums.entry(row.get(0)?)
                    .or_default()
                    .insert(row.get(1)?, of_column);
            }
            Ok(Metrics {
                all: all.unsigned_abs(),
                sums,
            })
        };
        read().map_err(|error| self.database().failed("read metrics", error))
    }

    /// The names and values of metadata in the run with this id, the most frequent first, at most `limit`.
    ///
    /// # Errors
    /// As [`Store::metrics`].
    pub fn metadata(&self, id: &str, limit: u32) -> Result<Vec<(String, String)>, StoreError> {
        let connection = self.database().connect(Purpose::Read)?;
        let run = self.key(&connection, id)?;
        self.attach_lookup(&connection, run)?;
        let read = || {
            let sql = "SELECT name, value FROM rows JOIN lookup.metadata USING (record) WHERE run = ?1 \
                       GROUP BY name, value ORDER BY count(*) DESC, name, value LIMIT ?2";
            let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
            let mut found = connection.prepare(sql)?;
            found
                .query_map((run, limit), row)?
                .collect::<Result<_, _>>()
        };
        read().map_err(|error| self.database().failed("read metadata", error))
    }

    /// The kinds of errors of the run with this id, the most frequent first, at most `limit`.
    ///
    /// # Errors
    /// As [`Store::metrics`].
    pub fn errors(&self, id: &str, limit: u32) -> Result<Vec<(String, u64)>, StoreError> {
        let connection = self.database().connect(Purpose::Read)?;
        let run = self.key(&connection, id)?;
        self.attach_lookup(&connection, run)?;
        let read = || {
            let sql = "SELECT error, count(*) FROM rows JOIN lookup.facts USING (record) \
                       WHERE run = ?1 AND outcome NOT IN ('passed', 'failed', 'waiting') AND error IS NOT NULL \
                       GROUP BY error ORDER BY 2 DESC, 1 LIMIT ?2";
            let row =
                |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get::<_, i64>(1)?.unsigned_abs()));
            connection
                .prepare(sql)?
                .query_map((run, limit), row)?
                .collect::<Result<_, _>>()
        };
        read().map_err(|error| self.database().failed("read errors", error))
    }

    /// Has a record that was changed read anew when the lookup, if there is one, is brought up to date.
    pub(crate) fn read_anew(&self, run: i64, records: &[i64]) -> Result<(), StoreError> {
        let path = place(self.path(), run);
        if records.is_empty() || !path.exists() {
            return Ok(());
        }
        let forget = || {
            let mut lookup = open(&path)?;
            let change = lookup.transaction()?;
            for record in records {
                let sql = "UPDATE facts SET row_id = '' WHERE record = ?1";
                change.prepare_cached(sql)?.execute([record])?;
            }
            change.commit()
        };
        forget().map_err(|error| StoreError::sql("write a lookup", &path, error))
    }

    /// Deletes the lookup of a run that is deleted.
    pub(crate) fn forget_lookup(&self, run: i64) {
        remove(&place(self.path(), run));
    }
}

impl Lookup {
    /// Adds every record that is not in it yet, as `facts` reads it. After each group `go_on` is
    /// told how many are done and how many there were to do; when it says no, the rest is left.
    ///
    /// # Errors
    /// When a file can't be read or written.
    pub fn catch_up(
        &mut self,
        mut facts: impl FnMut(&str) -> Facts,
        mut go_on: impl FnMut(u64, u64) -> bool,
    ) -> Result<(), StoreError> {
        let path = self.path.clone();
        let failed = |error| StoreError::sql("write a lookup", &path, error);
        let missing = self.missing().map_err(failed)?;
        let all = missing.len() as u64;
        let mut done = 0;
        for group in missing.chunks(GROUP) {
            if !go_on(done, all) {
                return Ok(());
            }
            self.left_free.check(&path, ROOM_OF_GROUP)?;
            self.add(group, &mut facts).map_err(failed)?;
            done += group.len() as u64;
        }
        Ok(())
    }

    /// The records that are not in it, in the order in which they came, the ids of their rows, and
    /// whether it has what they were before.
    fn missing(&self) -> rusqlite::Result<Vec<Missing>> {
        let mut found = self
            .database
            .prepare_cached(MISSING)?
            .query_map([self.run], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?))
            })?
            .collect::<rusqlite::Result<Vec<Missing>>>()?;
        found.sort_unstable();
        Ok(found)
    }

    fn add(
        &mut self,
        group: &[Missing],
        facts: &mut impl FnMut(&str) -> Facts,
    ) -> rusqlite::Result<()> {
        let change = self.connection.transaction()?;
        let size = "SELECT text_bytes FROM size";
        let mut text_bytes = change.query_row(size, [], |row| row.get::<_, i64>(0))?;
        for (record, row_id, is_known) in group {
            let json = "SELECT json FROM records WHERE key = ?1";
            let mut json = self.database.prepare_cached(json)?;
            let json: Option<String> = json.query_row([record], |row| row.get(0)).optional()?;
            // Its row was deleted meanwhile.
            let Some(json) = json else { continue };
            let mut facts = facts(&json);
            if text_bytes >= MOST_TEXT {
                facts.forget_words();
            }
            text_bytes += facts.bytes() as i64;
            for sql in FORGET.iter().filter(|_| *is_known) {
                change.prepare_cached(sql)?.execute([record])?;
            }
            insert(&change, *record, row_id, &facts)?;
        }
        change.execute("UPDATE size SET text_bytes = ?1", [text_bytes])?;
        change.commit()
    }
}

fn insert(change: &Connection, record: i64, row_id: &str, facts: &Facts) -> rusqlite::Result<()> {
    let Facts {
        text,
        error,
        content,
        file,
        tested,
        answer,
        repeats,
        metrics,
        metadata,
    } = facts;
    let row = (
        record,
        row_id,
        error,
        content.cast_signed(),
        file.cast_signed(),
        tested.cast_signed(),
        answer.cast_signed(),
        repeats.map(u64::cast_signed),
    );
    change
        .prepare_cached("INSERT OR REPLACE INTO facts VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")?
        .execute(row)?;
    for (name, score) in metrics {
        change
            .prepare_cached("INSERT OR REPLACE INTO metrics VALUES (?1, ?2, ?3)")?
            .execute((record, name, score))?;
    }
    for (name, value) in metadata {
        change
            .prepare_cached("INSERT OR REPLACE INTO metadata VALUES (?1, ?2, ?3)")?
            .execute((record, name, value))?;
    }
    if !text.is_empty() {
        change
            .prepare_cached("INSERT INTO words (rowid, text) VALUES (?1, ?2)")?
            .execute((record, text))?;
    }
    Ok(())
}

/// Opens or makes the file. Losing it in a crash of the machine costs time and nothing else.
fn open(path: &Path) -> rusqlite::Result<Connection> {
    // Made by us, for the user alone; that it is there already is as well.
    drop(private_file(path));
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(std::time::Duration::from_secs(5))?;
    connection.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(()))?;
    connection.pragma_update(None, "synchronous", "off")?;
    let format: u32 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    if format == 0 {
        let all = format!("BEGIN IMMEDIATE; {TABLES} PRAGMA user_version = {FORMAT}; COMMIT;");
        connection.execute_batch(&all)?;
    } else if format != FORMAT {
        return Err(rusqlite::Error::InvalidQuery);
    }
    connection.query_row("SELECT text_bytes FROM size", [], |_| Ok(()))?;
    Ok(connection)
}

fn place(database: &Path, run: i64) -> PathBuf {
    let mut folder = database.as_os_str().to_owned();
    folder.push(".lookup");
    PathBuf::from(folder).join(format!("{run}.db"))
}

fn remove(path: &Path) {
    for end in ["", "-wal", "-shm"] {
        let mut name = path.as_os_str().to_owned();
        name.push(end);
        drop(fs::remove_file(PathBuf::from(name)));
    }
}

/// Deletes the lookups that were written longest ago until the others fit, `kept` in any case.
fn make_room(folder: &Path, kept: &Path) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    let mut files: Vec<_> = entries
        .flatten()
        .filter_map(|entry| {
            let about = entry.metadata().ok()?;
            Some((about.modified().ok()?, about.len(), entry.path()))
        })
        .collect();
    files.sort();
    let mut bytes: u64 = files.iter().map(|(_, bytes, _)| bytes).sum();
    for (_, len, path) in files {
        if bytes > MOST_BYTES && path != kept && path.extension().is_some_and(|it| it == "db") {
            remove(&path);
            bytes -= len;
        }
    }
}
