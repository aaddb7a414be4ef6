//! A run whose writer is killed, and one that is read while it is written.

use std::path::Path;

use runner_store::{
    NewRun, OpenOptions, Outcome, Row, RunEnd, RunState, RunStatus, Store, StoreError,
};

use crate::child::{Child, orders, say};

/// What a killed process may have pushed in vain: the group on its way to the disk, and the one
/// that was being collected.
const MAX_UNSAVED: u64 = 256;

fn row(number: u32) -> Row {
    Row {
        test_idx: number / 3,
        prompt_idx: number % 3,
        row_id: format!("case-{number}"),
        identity: None,
        outcome: Outcome::ALL[number as usize % Outcome::ALL.len()],
        score: f64::from(number) / 8.0,
        latency_ms: Some(number.into()),
        cost_usd: None,
        grading_usd: None,
        saved_usd: None,
        input_tokens: Some(1),
        output_tokens: Some(2),
        cached: number.is_multiple_of(2),
        // From a few bytes to several pages.
        record_json: format!("{number:08}").repeat(1 + (number as usize * 37) % 2000),
    }
}

pub(crate) fn new_run(id: &str) -> NewRun {
    NewRun {
        id: id.to_owned(),
        created_at_ms: 1,
        description: None,
        tags_json: "{}".to_owned(),
        config_json: "{}".to_owned(),
        columns_json: "[]".to_owned(),
        plugins_json: "[]".to_owned(),
        options_json: "{}".to_owned(),
        seed: 0,
    }
}

pub(crate) fn end() -> RunEnd {
    RunEnd {
        status: RunStatus::Finished,
        ended_at_ms: 2,
        summary_json: "{}".to_owned(),
    }
}

#[test]
#[ignore = "the other tests run this as their child"]
fn child() {
    let (path, wal) = orders();
    let store = Store::open(&path, OpenOptions { wal }).unwrap();
    let mut writer = Some(store.begin_run(new_run("child")).unwrap());
    let mut next = 0;
    say("ready");
    for command in std::io::stdin().lines() {
        match command.unwrap().as_str() {
            "flush" => writer.as_ref().unwrap().flush().unwrap(),
            "finish" => writer.take().unwrap().finish(end()).unwrap(),
            "storm" => loop {
                let writer = writer.as_ref().unwrap();
                // What is about to be pushed is said first: a row may be on disk before its line
                // would be.
                println!("at {} {}", next + 1, writer.committed());
                writer.push(row(next)).unwrap();
                next += 1;
            },
            number => {
                for _ in 0..number.parse::<u32>().unwrap() {
                    writer.as_ref().unwrap().push(row(next)).unwrap();
                    next += 1;
                }
            }
        }
        say("done");
    }
}

/// A child that writes.
struct Writer(Child);

impl Writer {
    fn start(path: &Path, wal: bool) -> Self {
        Self(Child::start("runs::child", path, wal))
    }

    /// Lets the child push as fast as it can, kills it once it has said that `enough` rows are on
    /// disk, and returns the last that it said: rows pushed (or about to be), rows on disk.
    fn kill_in_a_storm(mut self, enough: u64) -> (u64, u64) {
        self.0.tell("storm");
        let mut last = (0, 0);
        let mut killed = false;
        while let Some(line) = self.0.hear() {
            let Some((pushed, committed)) = line
                .strip_prefix("at ")
                .and_then(|rest| rest.split_once(' '))
            else {
                continue;
            };
            let (Ok(pushed), Ok(committed)) = (pushed.parse(), committed.parse()) else {
                continue;
            };
            if committed > pushed {
                continue;
            }
            last = (pushed, committed);
            if committed >= enough && !killed {
                self.0.kill();
                killed = true;
            }
        }
        assert!(killed, "the child ended by itself");
        last
    }
}

fn stored(store: &Store, id: &str) -> Vec<Row> {
    store.rows(id).unwrap().collect::<Result<_, _>>().unwrap()
}

fn check_after_kill(path: &Path, wal: bool, (pushed, committed): (u64, u64)) {
    let store = Store::open(path, OpenOptions { wal }).unwrap();
    let rows = stored(&store, "child");
    let there = rows.len() as u64;
    assert!(
        committed <= there,
        "{committed} rows were reported, {there} are there"
    );
    assert!(
        there <= pushed,
        "{there} rows are there, {pushed} were pushed"
    );
    assert!(
        pushed - there <= MAX_UNSAVED + 1,
        "{pushed} rows were pushed, {there} are there"
    );
    // Whole, and no hole: they are the first that were pushed.
    for (number, found) in rows.iter().enumerate() {
        assert!(*found == row(number as u32), "row {number} is another one");
    }
    let info = store.find_run("child").unwrap();
    assert_eq!(
        (info.state, info.outcomes.total()),
        (RunState::Interrupted, there)
    );
    let raw = rusqlite::Connection::open(path).unwrap();
    let sound: String = raw
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .unwrap();
    assert_eq!(sound, "ok");
    // Life goes on.
    let writer = store.begin_run(new_run("next")).unwrap();
    writer.push(row(0)).unwrap();
    writer.finish(end()).unwrap();
    assert_eq!(stored(&store, "next"), [row(0)]);
    store.delete_run("child").unwrap();
    assert_eq!(store.runs(10).unwrap().len(), 1);
}

#[test]
fn a_killed_process_loses_nothing_that_was_reported() {
    // The last one is past the point where the journal is copied into the file (1000 pages).
    for enough in [0, 1, 100, 257, 700, 1500, 4000] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs.db");
        let last = Writer::start(&path, true).kill_in_a_storm(enough);
        check_after_kill(&path, true, last);
    }
}

#[test]
fn a_killed_process_loses_nothing_that_was_reported_without_a_log() {
    for enough in [0, 300, 900] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs.db");
        let last = Writer::start(&path, false).kill_in_a_storm(enough);
        check_after_kill(&path, false, last);
    }
}

#[test]
fn one_process_reads_what_another_one_writes() {
    for wal in [true, false] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs.db");
        let mut writer = Writer::start(&path, wal);
        let store = Store::open(&path, OpenOptions { wal }).unwrap();
        let seen = || {
            let info = store.find_run("latest").unwrap();
            (info.state, info.outcomes.total())
        };
        assert_eq!(seen(), (RunState::Running, 0));
        writer.0.command("100");
        writer.0.command("flush");
        assert_eq!(seen(), (RunState::Running, 100));
        let mut rows = store.rows("child").unwrap();
        assert_eq!(rows.next().unwrap().unwrap(), row(0));
        assert!(matches!(
            store.delete_run("child").unwrap_err(),
            StoreError::RunIsLive { .. }
        ));
        writer.0.command("50");
        writer.0.command("flush");
        // A reading that was begun before goes on to what was committed since.
        assert_eq!(rows.count(), 149);
        writer.0.command("finish");
        assert_eq!(seen(), (RunState::Finished, 150));
    }
}

#[test]
fn a_process_that_dies_idle_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.db");
    let mut writer = Writer::start(&path, true);
    writer.0.command("10");
    writer.0.command("flush");
    let store = Store::open(&path, OpenOptions::default()).unwrap();
    assert_eq!(store.find_run("child").unwrap().state, RunState::Running);
    writer.0.kill();
    let info = store.find_run("child").unwrap();
    assert_eq!(
        (info.state, info.outcomes.total()),
        (RunState::Interrupted, 10)
    );
}

#[test]
fn two_processes_write_one_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.db");
    let mut child = Writer::start(&path, true);
    let store = Store::open(&path, OpenOptions::default()).unwrap();
    let ours = store.begin_run(new_run("ours")).unwrap();
    for round in 0..20 {
        child.0.tell("100");
        for number in 0..100 {
            ours.push(row(round * 100 + number)).unwrap();
        }
        child.0.wait_for("done");
    }
    ours.finish(end()).unwrap();
    child.0.command("finish");
    for id in ["ours", "child"] {
        assert!(
            stored(&store, id) == (0..2000).map(row).collect::<Vec<_>>(),
            "{id}"
        );
    }
}
