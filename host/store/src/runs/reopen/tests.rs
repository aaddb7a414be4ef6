//! A run that goes on has exactly one row per case, and loses none that is still good.
#![expect(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is wrong"
)]

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;
use crate::database::{OpenOptions, Purpose};
use crate::digest::Digest;
use crate::runs::samples::{Fresh, end, identity, new_run, row};
use crate::runs::{Outcome, Row, RunEnd, RunStatus, StoredCase};

fn new_head() -> RunHead {
    RunHead {
        config_json: r#"{"prompts":["hi","ho"]}"#.to_owned(),
        columns_json: r#"["two"]"#.to_owned(),
        plugins_json: r#"["newer"]"#.to_owned(),
        options_json: r#"{"maxConcurrency":8}"#.to_owned(),
        seed: 3,
    }
}

fn planned(test_idx: u32, prompt_idx: u32, identity: Digest) -> PlannedCase {
    PlannedCase {
        test_idx,
        prompt_idx,
        identity,
    }
}

/// The plan under which these places have their first cases.
fn same(places: &[(u32, u32)]) -> Vec<PlannedCase> {
    let planned = |&(test_idx, prompt_idx): &(u32, u32)| {
        planned(test_idx, prompt_idx, identity(test_idx, prompt_idx))
    };
    places.iter().map(planned).collect()
}

fn cases(fresh: &Fresh, id: &str) -> Vec<StoredCase> {
    fresh
        .store
        .cases(id)
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap()
}

fn records(fresh: &Fresh) -> i64 {
    fresh
        .raw()
        .query_row("SELECT count(*) FROM records", [], |row| row.get(0))
        .unwrap()
}

fn failed(row: Row) -> Row {
    Row {
        outcome: Outcome::Error,
        ..row
    }
}

#[test]
fn an_interrupted_run_goes_on() {
    let fresh = Fresh::new();
    drop(fresh.store.begin_run(new_run("run")).unwrap());
    let reopened = fresh.store.reopen_run("run").unwrap();
    assert_eq!(*reopened.head(), fresh.store.run_head("run").unwrap());
    let writer = reopened.start(&new_head()).unwrap();
    assert_eq!(writer.id(), "run");
    writer.push(row(0, 0)).unwrap();
    writer.finish(end()).unwrap();
    assert_eq!(fresh.read("run"), [row(0, 0)]);
    assert_eq!(
        fresh.store.find_run("run").unwrap().state,
        RunState::Finished
    );
    assert_eq!(fresh.store.run_head("run").unwrap(), new_head());
}

#[test]
fn a_finished_run_is_running_again_once_it_is_started_and_not_before() {
    let fresh = Fresh::new();
    fresh.finished("run", 1, [row(0, 0)]);
    let before = fresh.store.find_run("run").unwrap();
    let mut reopened = fresh.store.reopen_run("run").unwrap();
    reopened.place(same(&[(5, 5)])).unwrap();
    assert_eq!(fresh.store.find_run("run").unwrap(), before);
    drop(reopened);
    assert_eq!(fresh.store.find_run("run").unwrap(), before);
    let writer = fresh
        .store
        .reopen_run("run")
        .unwrap()
        .start(&new_head())
        .unwrap();
    let info = fresh.store.find_run("run").unwrap();
    assert_eq!(info.state, RunState::Running);
    assert_eq!((info.ended_at_ms, info.summary_json), (None, None));
    drop(writer);
    assert_eq!(
        fresh.store.find_run("run").unwrap().state,
        RunState::Interrupted
    );
    assert_eq!(fresh.read("run"), [row(0, 0)]);
}

#[test]
fn a_run_is_in_one_hand_at_a_time() {
    let fresh = Fresh::new();
    let is_live = |error: &StoreError| matches!(error, StoreError::RunIsLive { id } if id == "run");
    let writer = fresh.store.begin_run(new_run("run")).unwrap();
    assert!(is_live(&fresh.store.reopen_run("run").unwrap_err()));
    drop(writer);
    let reopened = fresh.store.reopen_run("run").unwrap();
    assert!(is_live(&fresh.store.reopen_run("run").unwrap_err()));
    assert!(is_live(&fresh.store.delete_run("run").unwrap_err()));
    let writer = reopened.start(&new_head()).unwrap();
    assert!(is_live(&fresh.store.reopen_run("run").unwrap_err()));
    drop(writer);
    drop(fresh.store.reopen_run("run").unwrap());
}

#[test]
fn a_run_that_is_not_there_is_not_reopened() {
    let fresh = Fresh::new();
    let error = fresh.store.reopen_run("x").unwrap_err();
    assert!(matches!(error, StoreError::NoSuchRun { .. }), "{error:?}");
    let error = fresh.store.cases("x").unwrap_err();
    assert!(matches!(error, StoreError::NoSuchRun { .. }), "{error:?}");
}

#[test]
fn a_row_that_is_tried_again_stays_until_the_new_one_is_there() {
    let fresh = Fresh::new();
    fresh.finished("run", 1, [failed(row(0, 0)), row(1, 0)]);
    let mut reopened = fresh.store.reopen_run("run").unwrap();
    let placement = reopened.place(same(&[(0, 0), (1, 0)])).unwrap();
    assert_eq!(
        placement,
        Placement {
            kept: 2,
            ..Placement::default()
        }
    );
    let writer = reopened.start(&new_head()).unwrap();
    assert_eq!(fresh.read("run"), [failed(row(0, 0)), row(1, 0)]);
    writer.push(row(0, 0)).unwrap();
    writer.finish(end()).unwrap();
    assert_eq!(fresh.read("run"), [row(0, 0), row(1, 0)]);
    assert_eq!(records(&fresh), 2);
}

#[test]
fn rows_follow_their_cases() {
    let fresh = Fresh::new();
    let rows = [row(0, 0), row(0, 1), row(1, 0), row(1, 1)];
    fresh.finished("another", 1, rows.clone());
    fresh.finished("run", 1, rows);
    // A new test in front, the second column gone, the third test new.
    let plan = [
        planned(0, 0, identity(9, 0)),
        planned(1, 0, identity(0, 0)),
        planned(2, 0, identity(1, 0)),
        planned(3, 0, identity(3, 0)),
    ];
    let mut reopened = fresh.store.reopen_run("run").unwrap();
    let placement = reopened.place(plan).unwrap();
    assert_eq!(
        placement,
        Placement {
            kept: 0,
            moved: 2,
            dropped: 2,
            missing: 2,
        }
    );
    assert_eq!(fresh.read("run"), fresh.read("another"));
    let writer = reopened.start(&new_head()).unwrap();
    let at = |row: Row, test_idx| Row { test_idx, ..row };
    assert_eq!(fresh.read("run"), [at(row(0, 0), 1), at(row(1, 0), 2)]);
    assert_eq!((fresh.read("another").len(), records(&fresh)), (4, 6));
    writer.finish(end()).unwrap();
}

#[test]
fn rows_change_places() {
    let fresh = Fresh::new();
    fresh.finished("run", 1, (0..3).map(|test_idx| row(test_idx, 0)));
    let plan =
        [(0, 1), (1, 2), (2, 0)].map(|(test_idx, was)| planned(test_idx, 0, identity(was, 0)));
    let mut reopened = fresh.store.reopen_run("run").unwrap();
    assert_eq!(reopened.place(plan).unwrap().moved, 3);
    drop(reopened.start(&new_head()).unwrap());
    let ids: Vec<_> = fresh
        .read("run")
        .into_iter()
        .map(|row| row.row_id)
        .collect();
    assert_eq!(ids, ["case-1-0", "case-2-0", "case-0-0"]);
}

#[test]
fn of_equal_cases_the_good_rows_are_kept() {
    let fresh = Fresh::new();
    let twin = |row: Row| Row {
        identity: Some(identity(7, 7)),
        ..row
    };
    let rows = [twin(failed(row(0, 0))), twin(row(1, 0)), twin(row(2, 0))];
    fresh.finished("run", 1, rows);
    let plan = [5, 6].map(|test_idx| planned(test_idx, 0, identity(7, 7)));
    let mut reopened = fresh.store.reopen_run("run").unwrap();
    let placement = reopened.place(plan).unwrap();
    assert_eq!((placement.moved, placement.dropped), (2, 1));
    drop(reopened.start(&new_head()).unwrap());
    let found = fresh.read("run");
    assert_eq!(
        found.iter().map(|row| &*row.row_id).collect::<Vec<_>>(),
        ["case-1-0", "case-2-0"]
    );
}

#[test]
fn rows_of_the_first_format_are_run_again() {
    let fresh = Fresh::new();
    let old = Row {
        identity: None,
        ..row(0, 0)
    };
    fresh.finished("run", 1, [old.clone()]);
    assert_eq!(cases(&fresh, "run")[0].identity, None);
    let mut reopened = fresh.store.reopen_run("run").unwrap();
    let placement = reopened.place(same(&[(0, 0)])).unwrap();
    assert_eq!((placement.dropped, placement.missing), (1, 1));
    drop(reopened);
    assert_eq!(fresh.read("run"), [old]);
}

#[test]
fn the_last_plan_holds_and_a_broken_one_does_not() {
    let fresh = Fresh::new();
    fresh.finished("run", 1, [row(0, 0)]);
    let mut reopened = fresh.store.reopen_run("run").unwrap();
    assert_eq!(reopened.place([]).unwrap().dropped, 1);
    assert_eq!(reopened.place(same(&[(0, 0)])).unwrap().kept, 1);
    let twice = same(&[(1, 0), (1, 0)]);
    let error = reopened.place(twice).unwrap_err();
    assert!(
        matches!(
            error,
            StoreError::Sql {
                doing: "match results with the plan",
                ..
            }
        ),
        "{error:?}"
    );
    drop(reopened.start(&new_head()).unwrap());
    assert_eq!(fresh.read("run"), [row(0, 0)]);
}

#[test]
fn others_write_while_a_plan_is_read() {
    let fresh = Fresh::with(OpenOptions { wal: false });
    fresh.finished("run", 1, [row(0, 0)]);
    let mut reopened = fresh.store.reopen_run("run").unwrap();
    let plan = same(&[(0, 0)]).into_iter().inspect(|_| {
        fresh.finished("another", 2, [row(0, 0)]);
    });
    assert_eq!(reopened.place(plan).unwrap().kept, 1);
}

#[test]
fn cases_are_read_page_by_page_in_order() {
    let fresh = Fresh::new();
    let outcome = |test_idx: u32| Outcome::ALL[test_idx as usize % Outcome::ALL.len()];
    let rows = (0..2100).rev().map(|test_idx| Row {
        outcome: outcome(test_idx),
        ..row(test_idx, 1)
    });
    fresh.finished("run", 1, rows);
    let expected: Vec<_> = (0..2100)
        .map(|test_idx| StoredCase {
            test_idx,
            prompt_idx: 1,
            identity: Some(identity(test_idx, 1)),
            outcome: outcome(test_idx),
        })
        .collect();
    assert_eq!(cases(&fresh, "run"), expected);
}

#[test]
fn a_file_of_the_first_format_keeps_its_rows() {
    let fresh = Fresh::new();
    fresh.finished("run", 1, [row(0, 0), row(1, 0)]);
    fresh
        .raw()
        .execute_batch(
            "ALTER TABLE rows DROP COLUMN identity; ALTER TABLE runs DROP COLUMN note; \
             DROP TABLE annotations; DROP TABLE lane_samples; ALTER TABLE rows DROP COLUMN grading_usd; \
             ALTER TABLE rows DROP COLUMN saved_usd; PRAGMA user_version = 1",
        )
        .unwrap();
    let store = crate::runs::Store::open(fresh.store.path(), OpenOptions::default()).unwrap();
    let found: Vec<_> = store.rows("run").unwrap().map(Result::unwrap).collect();
    let old = |row: Row| Row {
        identity: None,
        grading_usd: None,
        saved_usd: None,
        ..row
    };
    assert_eq!(found, [old(row(0, 0)), old(row(1, 0))]);
}

/// A few identities, so that many cases are equal.
fn any_plan() -> impl Strategy<Value = Vec<PlannedCase>> {
    prop::collection::btree_map((0..5u32, 0..3u32), 0..6u32, 0..15).prop_map(|plan| {
        let case =
            |((test_idx, prompt_idx), content)| planned(test_idx, prompt_idx, identity(content, 0));
        plan.into_iter().map(case).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_row_is_kept_for_every_case_that_had_one(
        before in any_plan(),
        outcomes in prop::collection::vec(prop::sample::select(&Outcome::ALL[..]), 15),
        after in any_plan(),
    ) {
        let fresh = Fresh::new();
        let rows: Vec<_> = before.iter().zip(outcomes).map(|(case, outcome)| Row {
            identity: Some(case.identity),
            outcome,
            ..row(case.test_idx, case.prompt_idx)
        }).collect();
        fresh.finished("another", 1, rows.clone());
        fresh.finished("run", 1, rows.clone());
        let mut reopened = fresh.store.reopen_run("run").unwrap();
        let placement = reopened.place(after.clone()).unwrap();
        let writer = reopened.start(&new_head()).unwrap();
        let found = fresh.read("run");

        // Each row stands where its own case stands, with its own record, and only once.
        let plan: BTreeMap<_, _> = after.iter().map(|case| ((case.test_idx, case.prompt_idx), case.identity)).collect();
        for row in &found {
            prop_assert_eq!(row.identity, plan.get(&(row.test_idx, row.prompt_idx)).copied());
            let was = rows.iter().find(|was| was.row_id == row.row_id).unwrap();
            prop_assert_eq!((&row.record_json, row.outcome, row.identity), (&was.record_json, was.outcome, was.identity));
        }
        let distinct: BTreeSet<_> = found.iter().map(|row| &row.row_id).collect();
        prop_assert_eq!(distinct.len(), found.len());
        // As many of each identity as both sides have.
        let count = |cases: &[PlannedCase], wanted| cases.iter().filter(|case| case.identity == wanted).count();
        for content in 0..6 {
            let wanted = identity(content, 0);
            let there = found.iter().filter(|row| row.identity == Some(wanted)).count();
            prop_assert_eq!(there, count(&before, wanted).min(count(&after, wanted)));
        }
        // What was said before is what happened.
        let kept = found.iter().filter(|row| rows.iter().any(|was| was == *row)).count() as u64;
        prop_assert_eq!(placement.kept, kept);
        prop_assert_eq!(placement.kept + placement.moved, found.len() as u64);
        prop_assert_eq!(placement.dropped, (rows.len() - found.len()) as u64);
        prop_assert_eq!(placement.missing, (after.len() - found.len()) as u64);
        prop_assert_eq!(records(&fresh), (rows.len() + found.len()) as i64);
        prop_assert_eq!(fresh.read("another"), rows);

        // And the rest of the plan makes it whole.
        let there: BTreeSet<_> = cases(&fresh, "run").iter().map(|case| (case.test_idx, case.prompt_idx)).collect();
        for case in after.iter().filter(|case| !there.contains(&(case.test_idx, case.prompt_idx))) {
            writer.push(Row { identity: Some(case.identity), ..row(case.test_idx, case.prompt_idx) }).unwrap();
        }
        writer.finish(RunEnd { status: RunStatus::Finished, ..end() }).unwrap();
        let identities: Vec<_> = cases(&fresh, "run").iter().map(|case| case.identity.unwrap()).collect();
        prop_assert_eq!(identities, after.iter().map(|case| case.identity).collect::<Vec<_>>());
    }
}

#[test]
fn temporary_tables_are_gone_once_the_run_is_started() {
    let fresh = Fresh::new();
    fresh.finished("run", 1, [row(0, 0)]);
    let mut connection = fresh.store.database().connect(Purpose::Write).unwrap();
    placing::find(&mut connection, 1, same(&[(0, 0)])).unwrap();
    restart(&mut connection, 1, &new_head(), true).unwrap();
    let left: i64 = connection
        .query_row("SELECT count(*) FROM sqlite_temp_schema", [], |row| {
            row.get(0)
        })
        .unwrap();
    assert_eq!(left, 0);
}
