//! What is read of promptfoo's files, and of what only looks like one.

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
    let head = file.head(&runs[0]).expect("read");
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

/// A default stands in the file once, and is a value of every row.
#[test]
fn a_file_gives_out_no_more_than_it_may_have() {
    let row = |n| format!("('r{n}', 'a', 0, {n}, 1, 1)");
    let rows: Vec<String> = (10..40).map(row).collect();
    let large = "x".repeat(4 << 20);
    let refused = |sql: &str, read: &dyn Fn(&PromptfooFile) -> Result<(), StoreError>| {
        let (_keep, path) = made(&format!(
            "{TABLES} INSERT INTO eval_results (id, eval_id, prompt_idx, test_idx, success, score) VALUES {}; {sql}",
            rows.join(", ")
        ));
        let file = PromptfooFile::open(&path).expect("it is one");
        matches!(read(&file), Err(StoreError::Swollen { .. }))
    };
    let all = |file: &PromptfooFile| {
        let read = file.rows("a", &mut |_| -> Result<(), ()> { Ok(()) });
        read.map(|_| ())
    };
    let defaults =
        |text: &str| format!("ALTER TABLE eval_results ADD COLUMN error TEXT DEFAULT '{text}';");
    assert!(refused(&defaults(&large), &all));
    assert!(!refused(&defaults("{}"), &all));
    let ids = format!(
        "CREATE TABLE old AS SELECT created_at FROM evals; INSERT INTO old VALUES {}; DROP TABLE evals;
         ALTER TABLE old ADD COLUMN id TEXT DEFAULT '{large}'; ALTER TABLE old RENAME TO evals;",
        ["(1)"; 30].join(", ")
    );
    assert!(refused(&ids, &|file| file.runs().map(drop)));
}

#[test]
fn what_promptfoo_has_in_its_log_is_read() {
    let (_keep, path) = made("PRAGMA journal_mode = wal;");
    let writer = Connection::open(&path).expect("a database");
    writer.execute_batch(TABLES).expect("it is written");
    let file = PromptfooFile::open(&path).expect("it is one");
    assert_eq!(file.runs().expect("read").len(), 2);
}

/// Runs times rows: hours of work of a file of some kilobytes.
#[test]
fn rows_that_belong_to_many_runs_are_read_once_or_refused() {
    let numbers = "WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 200)";
    let (_keep, path) = made(&format!(
        "CREATE TABLE evals (id TEXT, created_at INTEGER);
         CREATE TABLE eval_results (id TEXT, eval_id TEXT, test_idx INTEGER);
         {numbers} INSERT INTO evals SELECT 'c', n FROM n;
         {numbers} INSERT INTO eval_results SELECT 'r', 'c', n FROM n;"
    ));
    let runs = PromptfooFile::open(&path)
        .expect("it is one")
        .runs()
        .expect("read");
    let told = runs
        .iter()
        .map(|run| (&*run.id, run.created_at_ms, run.rows));
    assert_eq!(told.collect::<Vec<_>>(), [("c", Some(1), 200)]);
    // Whatever the case of the run's name, these are its rows.
    let numbers = "WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 2000)";
    let (_keep, path) = made(&format!(
        "CREATE TABLE evals (id TEXT, created_at INTEGER);
         CREATE TABLE eval_results (id TEXT, eval_id TEXT COLLATE NOCASE, test_idx INTEGER);
         CREATE INDEX i ON eval_results (eval_id);
         {numbers} INSERT INTO eval_results SELECT 'r', 'C', n FROM n;"
    ));
    let file = PromptfooFile::open(&path).expect("it is one");
    let read = |_| file.rows("c", &mut |_| Ok::<(), ()>(()));
    let refused = (0..2000).map(read).find_map(Result::err);
    assert!(matches!(refused, Some(StoreError::Swollen { .. })));
}

/// SQLite follows what a page names, as often as it is named: a file of 5 KB had 7 * 10^14 rows.
#[test]
fn a_page_that_is_named_twice_is_read_by_nobody() {
    const PAGE: usize = 512;
    let tables = "PRAGMA page_size = 512; CREATE TABLE evals (id TEXT, created_at INTEGER); \
                  CREATE TABLE eval_results (id TEXT, eval_id TEXT); INSERT INTO eval_results VALUES ('r', 'e');";
    let (_keep, path) = made(tables);
    assert!(PromptfooFile::open(&path).is_ok());
    let root: u32 = Connection::open(&path)
        .and_then(|file| {
            let sql = "SELECT rootpage FROM sqlite_schema WHERE name = 'eval_results'";
            file.query_row(sql, [], |row| row.get(0))
        })
        .expect("a table");
    let mut file = fs::read(&path).expect("read");
    let at = (root as usize - 1) * PAGE;
    let leaf = file[at..at + PAGE].to_vec();
    file.extend(leaf);
    let pages = (file.len() / PAGE) as u32;
    file[28..32].copy_from_slice(&pages.to_be_bytes());
    // An interior page with one cell: the page to its left, and to its right, is the leaf.
    let mut interior = [0; PAGE];
    interior[0] = 5;
    interior[3..5].copy_from_slice(&1_u16.to_be_bytes());
    interior[5..7].copy_from_slice(&(PAGE as u16 - 5).to_be_bytes());
    interior[8..12].copy_from_slice(&pages.to_be_bytes());
    interior[12..14].copy_from_slice(&(PAGE as u16 - 5).to_be_bytes());
    interior[PAGE - 5..PAGE - 1].copy_from_slice(&pages.to_be_bytes());
    interior[PAGE - 1] = 1;
    file[at..at + PAGE].copy_from_slice(&interior);
    fs::write(&path, &file).expect("written");
    let refused = PromptfooFile::open(&path);
    assert!(
        matches!(refused, Err(StoreError::Damaged { .. })),
        "{refused:?}"
    );
}

#[test]
fn a_column_that_is_worked_out_and_must_be_something_is_refused() {
    let large = "hex(zeroblob(30000000))";
    for more in [
        format!(", c TEXT NOT NULL AS ({large}))"),
        format!(", c TEXT AS ({large})) STRICT"),
    ] {
        let tables = format!(
            "CREATE TABLE evals (id TEXT, created_at INTEGER{more}; CREATE TABLE eval_results (id TEXT, eval_id TEXT);"
        );
        let (_keep, path) = made(&tables);
        let refused = PromptfooFile::open(&path);
        assert!(matches!(refused, Err(StoreError::Foreign { .. })), "{more}");
    }
}

/// Columns of other types are equal in more ways than texts are, and each pair of them was compared.
#[test]
fn rows_are_counted_by_the_text_of_their_run() {
    let (_keep, path) = made(&TABLES.replace("evals (id TEXT PRIMARY KEY", "evals (id INTEGER PRIMARY KEY").replace(
        "INSERT INTO evals VALUES ('b', 2000, '{}', '{\"description\":\"d\"}', '[]'), ('a', '2024-01-01 00:00:00', '{}', '{}', NULL);",
        "INSERT INTO evals VALUES (1, 2000, '{}', '{}', '[]');",
    ).replace("'b', 0", "'1', 0").replace("'b', 1", "'01', 1"));
    let runs = PromptfooFile::open(&path)
        .and_then(|file| file.runs())
        .expect("read");
    let told = runs.iter().map(|run| (&*run.id, run.rows));
    // An id that is no text is none of its own.
    assert_eq!(told.collect::<Vec<_>>(), [("", 0)]);
}
