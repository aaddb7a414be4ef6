//! A run that is killed again and again, and goes on each time, until it is whole.
//!
//! The child is what an evaluation is to the store: it walks a plan, skips what has a good row,
//! and pushes the rest; some cases end as errors and are tried again in the next session. The
//! plan may be another one in each session, so that rows have to move.

use std::collections::BTreeMap;
use std::path::Path;

use runner_store::{
    Digest, OpenOptions, Outcome, PlannedCase, Row, RunState, Store, StoreError, StoredCase,
};

use crate::child::{Child, orders, say};
use crate::runs::{end, new_run};

/// More than the kills below leave room for to be written.
const CASES: u32 = 6000;

const COLUMNS: u32 = 3;

fn identity(content: u32) -> Digest {
    let mut bytes = [5; Digest::BYTES];
    bytes[..4].copy_from_slice(&content.to_le_bytes());
    Digest::new(bytes)
}

/// Equal cases in every session, from another one on.
fn plan(shift: u32) -> impl Iterator<Item = (PlannedCase, u32)> {
    (0..CASES).map(move |place| {
        let content = (place + shift) % CASES;
        let case = PlannedCase {
            test_idx: place / COLUMNS,
            prompt_idx: place % COLUMNS,
            identity: identity(content),
        };
        (case, content)
    })
}

/// How a case ends, as it is told in its row: every seventh one breaks when it is first tried.
fn row(case: PlannedCase, content: u32, tried: bool) -> Row {
    let broken = content.is_multiple_of(7) && !tried;
    Row {
        test_idx: case.test_idx,
        prompt_idx: case.prompt_idx,
        row_id: content.to_string(),
        identity: Some(case.identity),
        outcome: if broken {
            Outcome::Error
        } else {
            Outcome::Passed
        },
        score: f64::from(content),
        latency_ms: None,
        cost_usd: None,
        grading_usd: None,
        saved_usd: None,
        input_tokens: None,
        output_tokens: None,
        cached: false,
        record_json: format!("{content:08}").repeat(1 + content as usize % 300),
    }
}

fn cases(store: &Store) -> BTreeMap<(u32, u32), StoredCase> {
    let cases = store.cases("run").unwrap().map(Result::unwrap);
    cases
        .map(|case| ((case.test_idx, case.prompt_idx), case))
        .collect()
}

#[test]
#[ignore = "the other tests run this as their child"]
fn child() {
    let (path, wal) = orders();
    let store = Store::open(&path, OpenOptions { wal }).unwrap();
    say("ready");
    let shift: u32 = std::io::stdin()
        .lines()
        .next()
        .unwrap()
        .unwrap()
        .parse()
        .unwrap();
    let writer = match store.reopen_run("run") {
        Ok(mut run) => {
            let placement = run.place(plan(shift).map(|(case, _)| case)).unwrap();
            assert_eq!(placement.dropped, 0);
            say("starting");
            let head = run.head().clone();
            run.start(&head).unwrap()
        }
        Err(StoreError::NoSuchRun { .. }) => store.begin_run(new_run("run")).unwrap(),
        Err(error) => panic!("{error:?}"),
    };
    let there = cases(&store);
    for (case, content) in plan(shift) {
        let before = there.get(&(case.test_idx, case.prompt_idx));
        let done = before.is_some_and(|before| before.outcome == Outcome::Passed);
        if !done {
            writer.push(row(case, content, before.is_some())).unwrap();
            println!("at {}", writer.committed());
        }
    }
    writer.finish(end()).unwrap();
    say("done");
}

/// One session, killed once so many rows are on disk, or, without a number, as soon as it begins
/// to put rows into their places. Returns how many rows it had said to be on disk, and whether it
/// came to its end.
fn session(path: &Path, wal: bool, shift: u32, kill_at: Option<u64>) -> (u64, bool) {
    let mut child = Child::start("resume::child", path, wal);
    child.tell(&shift.to_string());
    let (mut committed, mut killed, mut done) = (0, false, false);
    while let Some(line) = child.hear() {
        done |= line == "done";
        // A line that was cut off says less than it was to say.
        if let Some(number) = line.strip_prefix("at ") {
            committed = number.parse().unwrap_or(0).max(committed);
        }
        let now = match kill_at {
            Some(enough) => line.starts_with("at ") && committed >= enough,
            None => line == "starting",
        };
        if now && !killed {
            child.kill();
            killed = true;
        }
    }
    (committed, done)
}

/// What must be true at every moment; returns which contents have a row, and whether a good one.
fn check(path: &Path, wal: bool, shift: u32) -> BTreeMap<u32, bool> {
    let store = Store::open(path, OpenOptions { wal }).unwrap();
    let raw = rusqlite::Connection::open(path).unwrap();
    let sound: String = raw
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .unwrap();
    assert_eq!(sound, "ok");
    let expected: BTreeMap<_, _> = plan(shift)
        .map(|(case, content)| ((case.test_idx, case.prompt_idx), (case, content)))
        .collect();
    let mut contents = BTreeMap::new();
    for found in store.rows("run").unwrap() {
        let found = found.unwrap();
        let (case, content) = expected[&(found.test_idx, found.prompt_idx)];
        let good = found.outcome == Outcome::Passed;
        assert!(found == row(case, content, good), "row of {content}");
        let another = contents.insert(content, good);
        assert_eq!(another, None, "two rows of {content}");
    }
    let records: i64 = raw
        .query_row("SELECT count(*) FROM records", [], |row| row.get(0))
        .unwrap();
    assert_eq!(records, contents.len() as i64, "a record has no row");
    contents
}

/// Sessions that are killed, each checked, and at last one or two that are not.
fn cycles(wal: bool, kills: &[Option<u64>]) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.db");
    // So that the first session resumes as well and says when it starts.
    let store = Store::open(&path, OpenOptions { wal }).unwrap();
    drop(store.begin_run(new_run("run")).unwrap());
    let mut before = BTreeMap::new();
    let mut shift = 0;
    for (number, &kill_at) in kills.iter().enumerate() {
        // Every other time the plan is as it was, as after a crash.
        let next = (number / 2) as u32 * 5;
        let (committed, done) = session(&path, wal, next, kill_at);
        // Killed while it put the rows into their places, it did so for all of them or for none.
        let one = store.cases("run").unwrap().next().map(Result::unwrap);
        let moved = |case: StoredCase| {
            plan(next).any(|(planned, _)| {
                (planned.test_idx, planned.prompt_idx) == (case.test_idx, case.prompt_idx)
                    && Some(planned.identity) == case.identity
            })
        };
        if one.is_none_or(moved) {
            shift = next;
        }
        let now = check(&path, wal, shift);
        for (content, was_good) in &before {
            assert!(now[content] >= *was_good, "the row of {content} was lost");
        }
        // Everything that was said to be on disk is a case that has got on by one step.
        let steps = now
            .iter()
            .filter(|(content, good)| before.get(content) != Some(good));
        let steps = steps.count() as u64;
        assert!(steps >= committed, "{steps} of {committed}");
        match store.find_run("run").unwrap().state {
            RunState::Finished => assert_eq!(now.len(), CASES as usize),
            state => assert_eq!((state, done), (RunState::Interrupted, false)),
        }
        before = now;
    }
    // The first one brings a row for every case, the second one makes the rest of them good.
    for _ in 0..2 {
        let (_, done) = session(&path, wal, 1, Some(u64::MAX));
        assert!(done);
        assert_eq!(check(&path, wal, 1).len(), CASES as usize);
    }
    let info = store.find_run("run").unwrap();
    assert_eq!(info.state, RunState::Finished);
    assert_eq!(info.outcomes.of(Outcome::Passed), u64::from(CASES));
    assert_eq!(info.outcomes.total(), u64::from(CASES));
}

#[test]
fn a_run_that_is_killed_and_resumed_ends_with_one_row_per_case() {
    let kills = [0, 1, 300, 1, 700, 256, 2, 513, 90];
    // Each of them followed by one that is killed as it begins.
    let kills: Vec<_> = kills.into_iter().flat_map(|at| [Some(at), None]).collect();
    cycles(true, &kills);
}

#[test]
fn a_run_that_is_killed_and_resumed_ends_with_one_row_per_case_without_a_log() {
    cycles(false, &[Some(300), None, Some(1), Some(513), None]);
}

#[test]
fn what_another_process_writes_is_not_resumed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.db");
    let mut writer = Child::start("runs::child", &path, true);
    let store = Store::open(&path, OpenOptions::default()).unwrap();
    let error = store.reopen_run("child").unwrap_err();
    assert!(matches!(error, StoreError::RunIsLive { .. }), "{error:?}");
    writer.kill();
    drop(store.reopen_run("child").unwrap());
}
