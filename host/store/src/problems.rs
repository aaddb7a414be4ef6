//! Is a file whole? Asked by tests that kill programs, and by whoever mistrusts a disk.
//!
//! SQLite's own check knows pages, trees and constraints. What it can't know is added here: that
//! two tables which belong together say the same. Reading every page takes as long as the file is
//! large, so nobody asks on the way to something else.

use rusqlite::Connection;

use crate::cache::Cache;
use crate::database::{Database, Purpose};
use crate::error::StoreError;
use crate::runs::Store;

/// Both halves of a row are there, or neither.
const OF_RUNS: [(&str, &str); 2] = [
    (
        "rows without their record",
        "SELECT count(*) FROM rows WHERE record NOT IN (SELECT key FROM records)",
    ),
    (
        "records without their row",
        "SELECT count(*) FROM records WHERE key NOT IN (SELECT record FROM rows)",
    ),
];

/// What is counted along is what there is.
const OF_CACHE: [(&str, &str); 1] = [(
    "totals that are not the sums of the entries",
    "SELECT count(*) FROM totals WHERE (entries, bytes) <>
        (SELECT count(*), coalesce(sum(bytes), 0) FROM entries)",
)];

impl Store {
    /// What is wrong with the file, a line for each problem; nothing when it is whole.
    ///
    /// # Errors
    /// When it can't be read at all.
    pub fn problems(&self) -> Result<Vec<String>, StoreError> {
        problems(self.database(), &OF_RUNS)
    }
}

impl Cache {
    /// What is wrong with the file, a line for each problem; nothing when it is whole.
    ///
    /// # Errors
    /// When it can't be read at all.
    pub fn problems(&self) -> Result<Vec<String>, StoreError> {
        problems(self.database(), &OF_CACHE)
    }
}

fn problems(database: &Database, own: &[(&str, &str)]) -> Result<Vec<String>, StoreError> {
    let connection = database.connect(Purpose::Read)?;
    ask(&connection, own).map_err(|error| database.failed("check what is", error))
}

fn ask(connection: &Connection, own: &[(&str, &str)]) -> rusqlite::Result<Vec<String>> {
    let mut problems = Vec::new();
    connection.pragma_query(None, "integrity_check", |line| {
        let line: String = line.get(0)?;
        // The word that SQLite's manual promises for a file without problems.
        if line != "ok" {
            problems.push(line);
        }
        Ok(())
    })?;
    connection.pragma_query(None, "foreign_key_check", |line| {
        let table: String = line.get(0)?;
        problems.push(format!("a row of {table} refers to one that is not there"));
        Ok(())
    })?;
    for (what, question) in own {
        let count: i64 = connection.query_row(question, [], |row| row.get(0))?;
        if count > 0 {
            problems.push(format!("{what}: {count}"));
        }
    }
    Ok(problems)
}

#[cfg(test)]
mod tests {
    #![expect(
        clippy::unwrap_used,
        reason = "a test stops at the first thing that is wrong"
    )]

    use super::*;
    use crate::runs::samples::{end, new_run, row};
    use crate::{CacheOptions, OpenOptions};

    #[test]
    fn halves_that_lack_their_other_half_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs.db");
        let store = Store::open(&path, OpenOptions::default()).unwrap();
        let writer = store.begin_run(new_run("r")).unwrap();
        (0..3).for_each(|test_idx| writer.push(row(test_idx, 0)).unwrap());
        writer.finish(end()).unwrap();
        assert_eq!(store.problems().unwrap(), [""; 0]);

        let raw = Connection::open(&path).unwrap();
        raw.execute_batch("UPDATE records SET key = 99 WHERE key = 1")
            .unwrap();
        assert_eq!(
            store.problems().unwrap(),
            [
                "rows without their record: 1",
                "records without their row: 1"
            ]
        );
        raw.execute_batch("UPDATE rows SET run = 7 WHERE test_idx = 2")
            .unwrap_err();
        raw.execute_batch("PRAGMA foreign_keys = off; UPDATE rows SET run = 7 WHERE test_idx = 2")
            .unwrap();
        let found = store.problems().unwrap();
        assert_eq!(found[0], "a row of rows refers to one that is not there");
    }

    #[test]
    fn a_cache_whose_totals_are_wrong_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cache.db");
        let cache = Cache::open(&path, CacheOptions::default()).unwrap();
        assert_eq!(cache.problems().unwrap(), [""; 0]);
        let raw = Connection::open(&path).unwrap();
        raw.execute_batch("UPDATE totals SET bytes = 5").unwrap();
        assert_eq!(
            cache.problems().unwrap(),
            ["totals that are not the sums of the entries: 1"]
        );
    }
}
