//! Which files are opened, which are refused, and what is left of those.
#![expect(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is wrong"
)]

use std::collections::BTreeMap;

use tempfile::TempDir;

use super::*;

const ONE: Schema = Schema {
    application_id: 77,
    migrations: &["CREATE TABLE word (text TEXT);"],
};
const TWO: Schema = Schema {
    application_id: 77,
    migrations: &[
        "CREATE TABLE word (text TEXT);",
        "ALTER TABLE word ADD COLUMN length INTEGER DEFAULT 3;",
    ],
};
const BROKEN: Schema = Schema {
    application_id: 77,
    migrations: &[
        "CREATE TABLE word (text TEXT);",
        "CREATE TABLE other (a); INSERT INTO nowhere VALUES (1);",
    ],
};

const WAL: OpenOptions = OpenOptions { wal: true };
const ROLLBACK: OpenOptions = OpenOptions { wal: false };

fn folder() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("some.db");
    (folder, path)
}

fn mode_of(database: &Database) -> String {
    journal_mode(&database.connect(Purpose::Read).unwrap()).unwrap()
}

/// Every file in a folder with its bytes.
fn content(folder: &TempDir) -> BTreeMap<PathBuf, Vec<u8>> {
    let files = fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().path());
    files
        .map(|path| (path.clone(), fs::read(&path).unwrap()))
        .collect()
}

#[test]
fn folders_and_file_are_made() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a/b/some.db");
    Database::open(&path, WAL, &ONE).unwrap();
    assert!(path.is_file());
}

#[cfg(unix)]
#[test]
fn what_is_made_is_for_the_user_alone() {
    use std::os::unix::fs::PermissionsExt;
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a/b/some.db");
    let database = Database::open(&path, WAL, &ONE).unwrap();
    let _connection = database.connect(Purpose::Read).unwrap();
    assert_eq!(mode(&folder.path().join("a")), 0o700);
    assert_eq!(mode(&folder.path().join("a/b")), 0o700);
    assert_eq!(mode(&path), 0o600);
    assert_eq!(mode(&folder.path().join("a/b/some.db-wal")), 0o600);
}

#[test]
fn a_folder_that_cannot_be_made_is_named() {
    let (folder, _) = folder();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let error = Database::open(&file.join("some.db"), WAL, &ONE).unwrap_err();
    assert!(
        matches!(&error, StoreError::Create { path, .. } if *path == file),
        "{error:?}"
    );
}

#[test]
fn a_folder_in_the_place_of_the_file_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let error = Database::open(folder.path(), WAL, &ONE).unwrap_err();
    assert!(
        matches!(
            error,
            StoreError::Sql {
                doing: "open a connection",
                ..
            }
        ),
        "{error:?}"
    );
}

#[test]
fn an_older_file_is_migrated_and_keeps_its_content() {
    let (_folder, path) = folder();
    let old = Database::open(&path, WAL, &ONE).unwrap();
    old.connect(Purpose::Write)
        .unwrap()
        .execute("INSERT INTO word VALUES ('cat')", [])
        .unwrap();
    let new = Database::open(&path, WAL, &TWO).unwrap();
    let word =
        new.connect(Purpose::Read)
            .unwrap()
            .query_row("SELECT text, length FROM word", [], |row| {
                Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?))
            });
    assert_eq!(word.unwrap(), ("cat".to_owned(), 3));
}

#[test]
fn a_migration_that_fails_changes_nothing() {
    let (_folder, path) = folder();
    Database::open(&path, WAL, &ONE).unwrap();
    let error = Database::open(&path, WAL, &BROKEN).unwrap_err();
    assert!(
        matches!(
            error,
            StoreError::Sql {
                doing: "migrate the format",
                ..
            }
        ),
        "{error:?}"
    );
    let connection = Database::open(&path, WAL, &ONE)
        .unwrap()
        .connect(Purpose::Read)
        .unwrap();
    let identity = Identity::read(&connection).unwrap();
    assert_eq!((identity.version, identity.objects), (1, 1));
}

#[test]
fn a_newer_file_is_refused_untouched() {
    for options in [WAL, ROLLBACK] {
        let (folder, path) = folder();
        drop(Database::open(&path, options, &TWO).unwrap());
        let before = content(&folder);
        for other in [WAL, ROLLBACK] {
            let error = Database::open(&path, other, &ONE).unwrap_err();
            assert!(
                matches!(
                    error,
                    StoreError::Newer {
                        found: 2,
                        known: 1,
                        ..
                    }
                ),
                "{error:?}"
            );
        }
        assert!(content(&folder) == before, "bytes differ");
    }
}

#[test]
fn a_newer_file_keeps_the_journal_that_its_program_left() {
    let (folder, path) = folder();
    let new = Database::open(&path, WAL, &TWO).unwrap();
    let writer = new.connect(Purpose::Write).unwrap();
    writer
        .execute("INSERT INTO word (text) VALUES ('cat')", [])
        .unwrap();
    // As a program that was killed leaves it: the files as they are while it is at work.
    let left = tempfile::tempdir().unwrap();
    for suffix in ["", "-wal"] {
        let name = format!("some.db{suffix}");
        fs::copy(folder.path().join(&name), left.path().join(&name)).unwrap();
    }
    let wal = |folder: &TempDir| fs::read(folder.path().join("some.db-wal")).unwrap();
    let before = (fs::read(left.path().join("some.db")).unwrap(), wal(&left));
    assert!(!before.1.is_empty());
    let error = Database::open(&left.path().join("some.db"), WAL, &ONE).unwrap_err();
    assert!(matches!(error, StoreError::Newer { .. }), "{error:?}");
    assert!(
        (fs::read(left.path().join("some.db")).unwrap(), wal(&left)) == before,
        "bytes differ"
    );
}

#[test]
fn a_text_is_refused_untouched() {
    let (folder, path) = folder();
    fs::write(
        &path,
        "prompts:\n  - 'Write a tweet about {{topic}}, and let it be a long one.'\n".repeat(40),
    )
    .unwrap();
    let before = content(&folder);
    let error = Database::open(&path, WAL, &ONE).unwrap_err();
    assert!(
        matches!(error, StoreError::NotADatabase { .. }),
        "{error:?}"
    );
    assert_eq!(
        error.to_string(),
        format!("{} is not a database", path.display())
    );
    assert!(content(&folder) == before, "bytes differ");
}

#[test]
fn another_programs_database_is_refused_untouched() {
    for change in [
        "CREATE TABLE evals (id TEXT)",
        "PRAGMA application_id = 5",
        "PRAGMA user_version = 1",
    ] {
        let (folder, path) = folder();
        let other = Connection::open(&path).unwrap();
        other.execute_batch(change).unwrap();
        drop(other);
        let before = content(&folder);
        let error = Database::open(&path, WAL, &ONE).unwrap_err();
        assert!(
            matches!(error, StoreError::Foreign { .. }),
            "{change}: {error:?}"
        );
        assert!(content(&folder) == before, "bytes differ");
    }
}

#[test]
fn an_empty_file_is_filled() {
    let (_folder, path) = folder();
    fs::write(&path, "").unwrap();
    let database = Database::open(&path, WAL, &ONE).unwrap();
    assert_eq!(
        Identity::read(&database.connect(Purpose::Read).unwrap())
            .unwrap()
            .version,
        1
    );
}

#[test]
fn a_new_file_has_large_pages() {
    let (_folder, path) = folder();
    let database = Database::open(&path, WAL, &ONE).unwrap();
    let connection = database.connect(Purpose::Read).unwrap();
    let bytes: u32 = connection
        .pragma_query_value(None, "page_size", |row| row.get(0))
        .unwrap();
    assert_eq!(bytes, PAGE_BYTES);
}

#[test]
fn a_file_that_vanished_is_not_made_again() {
    let (_folder, path) = folder();
    let database = Database::open(&path, ROLLBACK, &ONE).unwrap();
    fs::remove_file(&path).unwrap();
    database.connect(Purpose::Read).unwrap_err();
    assert!(!path.exists());
}

#[test]
fn the_journal_is_what_was_asked_for() {
    let (_folder, path) = folder();
    for (options, mode) in [
        (WAL, "wal"),
        (ROLLBACK, "delete"),
        (ROLLBACK, "delete"),
        (WAL, "wal"),
        (WAL, "wal"),
    ] {
        let database = Database::open(&path, options, &ONE).unwrap();
        assert_eq!(mode_of(&database), mode);
    }
}

#[test]
fn commits_reach_the_disk_as_the_journal_needs_it() {
    for (options, expected) in [(WAL, 1), (ROLLBACK, 2)] {
        let (_folder, path) = folder();
        let connection = Database::open(&path, options, &ONE)
            .unwrap()
            .connect(Purpose::Write)
            .unwrap();
        let level: i64 = connection
            .pragma_query_value(None, "synchronous", |row| row.get(0))
            .unwrap();
        assert_eq!(level, expected, "{options:?}");
    }
}

#[test]
fn who_wants_the_log_while_another_is_at_work_goes_on_without() {
    let (_folder, path) = folder();
    let database = Database::open(&path, ROLLBACK, &ONE).unwrap();
    let mut reader = database.connect(Purpose::Read).unwrap();
    let question = reader.transaction().unwrap();
    question
        .query_row("SELECT count(*) FROM word", [], |row| row.get::<_, i64>(0))
        .unwrap();
    assert_eq!(
        mode_of(&Database::open(&path, WAL, &ONE).unwrap()),
        "delete"
    );
}

#[test]
fn who_cannot_use_the_log_is_told_while_another_uses_it() {
    let (_folder, path) = folder();
    let database = Database::open(&path, WAL, &ONE).unwrap();
    let reader = database.connect(Purpose::Read).unwrap();
    reader
        .query_row("SELECT count(*) FROM word", [], |row| row.get::<_, i64>(0))
        .unwrap();
    let error = Database::open(&path, ROLLBACK, &ONE).unwrap_err();
    assert!(matches!(error, StoreError::Busy { .. }), "{error:?}");
}

#[test]
fn who_reads_cannot_write() {
    let (_folder, path) = folder();
    let database = Database::open(&path, WAL, &ONE).unwrap();
    let insert = "INSERT INTO word VALUES ('cat')";
    let error = database
        .connect(Purpose::Read)
        .unwrap()
        .execute(insert, [])
        .unwrap_err();
    assert_eq!(error.sqlite_error_code(), Some(ErrorCode::ReadOnly));
    database
        .connect(Purpose::Write)
        .unwrap()
        .execute(insert, [])
        .unwrap();
}

#[test]
fn many_may_open_a_new_file_at_once() {
    let (_folder, path) = folder();
    std::thread::scope(|scope| {
        let openers: Vec<_> = (0..8)
            .map(|_| scope.spawn(|| Database::open(&path, WAL, &TWO)))
            .collect();
        for opener in openers {
            opener.join().unwrap().unwrap();
        }
    });
    let connection = Database::open(&path, WAL, &TWO)
        .unwrap()
        .connect(Purpose::Read)
        .unwrap();
    assert_eq!(Identity::read(&connection).unwrap().version, 2);
}
