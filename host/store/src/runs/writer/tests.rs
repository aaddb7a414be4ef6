//! What is read is what was pushed; nothing is lost in silence.
#![expect(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is wrong"
)]

use std::collections::BTreeMap;
use std::thread;

use proptest::prelude::*;

use super::*;
use crate::database::{OpenOptions, Purpose};
use crate::runs::samples::{Fresh, end, identity, new_run, row};
use crate::runs::{Outcome, RunState};

fn any_row() -> impl Strategy<Value = Row> {
    let amount = || prop::option::of(0..=i64::MAX as u64);
    let scalars = (
        prop::sample::select(&Outcome::ALL[..]),
        -1e9..1e9f64,
        prop::option::of(0.0..1e6f64),
        any::<bool>(),
    );
    // Few keys, so that many rows meet; some far away, so that order is by number and not by text.
    let key = (
        prop_oneof![0..12u32, Just(100), Just(u32::MAX)],
        prop_oneof![0..3u32, Just(u32::MAX)],
    );
    (
        key,
        ".{0,12}",
        scalars,
        (amount(), amount(), amount()),
        "\\PC{0,40}",
    )
        .prop_map(
            |(
                (test_idx, prompt_idx),
                row_id,
                (outcome, score, cost_usd, cached),
                tokens,
                record_json,
            )| Row {
                test_idx,
                prompt_idx,
                row_id,
                identity: cached.then_some(identity(test_idx % 7, 0)),
                outcome,
                score,
                latency_ms: tokens.0,
                cost_usd,
                grading_usd: cost_usd.filter(|_| cached),
                saved_usd: cost_usd.filter(|_| !cached),
                input_tokens: tokens.1,
                output_tokens: tokens.2,
                cached,
                record_json,
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn the_last_row_of_each_key_is_read_in_order(
        rows in prop::collection::vec((any_row(), prop::bool::weighted(0.05)), 0..150),
        wal in any::<bool>(),
    ) {
        let fresh = Fresh::with(OpenOptions { wal });
        fresh.finished("another", 1, [row(0, 0), row(5, 1)]);
        let writer = fresh.store.begin_run(new_run("run")).unwrap();
        let mut expected = BTreeMap::new();
        for (row, flush) in rows {
            expected.insert((row.test_idx, row.prompt_idx), row.clone());
            writer.push(row).unwrap();
            if flush {
                writer.flush().unwrap();
            }
        }
        writer.finish(end()).unwrap();
        let expected: Vec<_> = expected.into_values().collect();
        prop_assert_eq!(fresh.read("run"), expected.clone());
        prop_assert_eq!(fresh.read("another"), vec![row(0, 0), row(5, 1)]);
        let counts = fresh.store.find_run("run").unwrap().outcomes;
        for outcome in Outcome::ALL {
            let of = expected.iter().filter(|row| row.outcome == outcome).count() as u64;
            prop_assert_eq!(counts.of(outcome), of);
        }
        let records: i64 = fresh.raw().query_row("SELECT count(*) FROM records", [], |row| row.get(0)).unwrap();
        prop_assert_eq!(records, expected.len() as i64 + 2);
    }
}

#[test]
fn what_sql_has_no_word_for_survives_or_becomes_unknown() {
    let fresh = Fresh::new();
    let odd = Row {
        score: f64::NAN,
        cost_usd: Some(f64::NAN),
        latency_ms: Some(u64::MAX),
        record_json: "a\0b".to_owned(),
        ..row(0, 0)
    };
    fresh.finished(
        "run",
        1,
        [
            odd,
            Row {
                score: f64::INFINITY,
                ..row(1, 0)
            },
        ],
    );
    let rows = fresh.read("run");
    assert!(rows[0].score.is_nan());
    assert_eq!(
        (rows[0].cost_usd, rows[0].latency_ms),
        (None, Some(i64::MAX as u64))
    );
    assert_eq!(rows[0].record_json, "a\0b");
    assert!(rows[1].score.is_infinite());
}

#[test]
fn a_finished_run_has_its_end_and_leaves_no_journal() {
    let fresh = Fresh::new();
    let writer = fresh.store.begin_run(new_run("run")).unwrap();
    let reader = fresh.raw();
    reader
        .query_row("SELECT count(*) FROM rows", [], |row| row.get::<_, i64>(0))
        .unwrap();
    writer.push(row(0, 0)).unwrap();
    writer.flush().unwrap();
    assert_ne!(std::fs::metadata(fresh.journal()).unwrap().len(), 0);
    writer.finish(end()).unwrap();
    assert_eq!(std::fs::metadata(fresh.journal()).unwrap().len(), 0);
    let info = fresh.store.find_run("run").unwrap();
    assert_eq!(info.state, RunState::Finished);
    assert_eq!(info.ended_at_ms, Some(end().ended_at_ms));
    assert_eq!(info.summary_json, Some(end().summary_json));
}

#[test]
fn a_reader_in_the_way_delays_nothing_but_the_tidying() {
    let fresh = Fresh::new();
    let writer = fresh.store.begin_run(new_run("run")).unwrap();
    let mut reader = fresh.raw();
    let question = reader.transaction().unwrap();
    question
        .query_row("SELECT count(*) FROM rows", [], |row| row.get::<_, i64>(0))
        .unwrap();
    writer.push(row(0, 0)).unwrap();
    writer.finish(end()).unwrap();
    assert_eq!(
        fresh.store.find_run("run").unwrap().state,
        RunState::Finished
    );
    assert_eq!(fresh.read("run"), [row(0, 0)]);
}

#[test]
fn a_writer_that_is_dropped_keeps_its_rows_and_leaves_an_interrupted_run() {
    let fresh = Fresh::new();
    let writer = fresh.store.begin_run(new_run("run")).unwrap();
    for test_idx in 0..300 {
        writer.push(row(test_idx, 0)).unwrap();
    }
    assert_eq!(
        fresh.store.find_run("run").unwrap().state,
        RunState::Running
    );
    drop(writer);
    let info = fresh.store.find_run("run").unwrap();
    assert_eq!(
        (info.state, info.ended_at_ms, info.summary_json),
        (RunState::Interrupted, None, None)
    );
    assert_eq!(info.outcomes.total(), 300);
    assert_eq!(
        std::fs::read_dir(fresh.folder.path().join("runs.db.live"))
            .unwrap()
            .count(),
        0
    );
}

#[test]
fn committed_rows_are_read_while_the_run_is_written() {
    let fresh = Fresh::new();
    let writer = fresh.store.begin_run(new_run("run")).unwrap();
    for test_idx in 0..700 {
        writer.push(row(test_idx, 0)).unwrap();
        let committed = writer.committed();
        assert!(committed <= writer.pushed());
        if test_idx % 100 == 0 {
            assert!(fresh.read("run").len() as u64 >= committed);
        }
    }
    writer.flush().unwrap();
    assert_eq!((writer.committed(), writer.pushed()), (700, 700));
    assert_eq!(fresh.read("run").len(), 700);
}

#[test]
fn two_runs_are_written_at_once() {
    for wal in [true, false] {
        let fresh = Fresh::with(OpenOptions { wal });
        thread::scope(|scope| {
            for id in ["a", "b", "c"] {
                let store = &fresh.store;
                scope.spawn(move || {
                    let writer = store.begin_run(new_run(id)).unwrap();
                    for test_idx in 0..600 {
                        writer
                            .push(Row {
                                row_id: id.to_owned(),
                                ..row(test_idx, 0)
                            })
                            .unwrap();
                        if test_idx % 50 == 0 {
                            writer.flush().unwrap();
                        }
                    }
                    writer.finish(end()).unwrap();
                });
            }
        });
        for id in ["a", "b", "c"] {
            let rows = fresh.read(id);
            assert_eq!(rows.len(), 600);
            assert!(rows.iter().all(|row| row.row_id == id));
        }
    }
}

#[test]
fn a_failure_is_reported_by_everything_that_follows() {
    let fresh = Fresh::new();
    let writer = fresh.store.begin_run(new_run("run")).unwrap();
    writer.push(row(0, 0)).unwrap();
    writer.flush().unwrap();
    fresh
        .raw()
        .execute_batch("ALTER TABLE records RENAME TO elsewhere")
        .unwrap();
    writer.push(row(1, 0)).unwrap();
    let lost =
        |error| matches!(error, StoreError::Writing { committed: 1, pushed, .. } if pushed >= 2);
    assert!(lost(writer.flush().unwrap_err()));
    assert!(lost(writer.push(row(2, 0)).unwrap_err()));
    let error = writer.finish(end()).unwrap_err();
    let cause = std::error::Error::source(&error).unwrap();
    assert_eq!(
        cause.to_string(),
        format!("cannot write results in {}", fresh.store.path().display())
    );
    assert!(lost(error));
    fresh
        .raw()
        .execute_batch("ALTER TABLE elsewhere RENAME TO records")
        .unwrap();
    assert_eq!(fresh.read("run"), [row(0, 0)]);
    assert_eq!(
        fresh.store.find_run("run").unwrap().state,
        RunState::Interrupted
    );
}

#[test]
fn an_end_that_cannot_be_written_is_reported() {
    let fresh = Fresh::new();
    let writer = fresh.store.begin_run(new_run("run")).unwrap();
    writer.push(row(0, 0)).unwrap();
    fresh
        .raw()
        .execute_batch("ALTER TABLE runs RENAME COLUMN summary TO other")
        .unwrap();
    let error = writer.finish(end()).unwrap_err();
    assert!(
        matches!(
            error,
            StoreError::Writing {
                committed: 1,
                pushed: 1,
                ..
            }
        ),
        "{error:?}"
    );
}

#[test]
fn a_writer_that_panics_is_reported() {
    let queue = Arc::new(Queue::default());
    let theirs = Arc::clone(&queue);
    let panicked = thread::spawn(move || {
        let _watch = Watch(&theirs);
        panic!("on purpose");
    });
    panicked.join().unwrap_err();
    assert!(matches!(
        *queue.push(row(0, 0)).unwrap_err(),
        WriterFailure::Panicked
    ));
}

#[test]
fn a_group_that_would_leave_too_little_of_the_disk_is_not_written() {
    let fresh = Fresh::new();
    let queue = Queue::default();
    queue.push(row(0, 0)).unwrap();
    queue.close();
    let database = fresh.store.database().clone().with_left_free(u64::MAX);
    let mut connection = database.connect(Purpose::Write).unwrap();
    let error = write_groups(&queue, &database, &mut connection, 1).unwrap_err();
    assert!(error.is_no_room(), "{error}");
    assert_eq!(queue.counts().committed, 0);
    let stopped = StoreError::Writing {
        id: "a".to_owned(),
        committed: 0,
        pushed: 1,
        source: Arc::new(WriterFailure::Store(error)),
    };
    assert!(stopped.is_no_room());
}
