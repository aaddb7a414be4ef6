//! Finding, reading and deleting runs.
#![expect(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is wrong"
)]

use std::collections::HashSet;

use super::*;
use crate::runs::samples::{Fresh, end, new_run, row};
use crate::runs::{Outcome, Row, RunEnd, RunInfo, RunStatus};

fn ids(runs: &[RunInfo]) -> Vec<&str> {
    runs.iter().map(|run| run.id.as_str()).collect()
}

#[test]
fn a_new_file_has_no_runs() {
    let fresh = Fresh::new();
    assert_eq!(fresh.store.runs(10).unwrap(), []);
    assert!(matches!(
        fresh.store.find_run("latest").unwrap_err(),
        StoreError::NoRuns
    ));
    assert!(matches!(
        fresh.store.find_run("a").unwrap_err(),
        StoreError::NoSuchRun { .. }
    ));
}

#[test]
fn runs_come_newest_first_by_time_and_then_by_birth() {
    let fresh = Fresh::new();
    for (id, created_at_ms) in [("a", 30), ("b", 10), ("c", 30), ("d", 20)] {
        fresh.finished(id, created_at_ms, []);
    }
    assert_eq!(ids(&fresh.store.runs(10).unwrap()), ["c", "a", "d", "b"]);
    assert_eq!(ids(&fresh.store.runs(2).unwrap()), ["c", "a"]);
    assert_eq!(ids(&fresh.store.runs(usize::MAX).unwrap()).len(), 4);
    assert_eq!(fresh.store.find_run("latest").unwrap().id, "c");
}

#[test]
fn what_was_said_at_the_beginning_is_kept() {
    let fresh = Fresh::new();
    let said = new_run("run");
    fresh.finished("run", said.created_at_ms, [row(0, 0)]);
    let info = fresh.store.find_run("run").unwrap();
    assert_eq!((info.id, info.created_at_ms), (said.id, said.created_at_ms));
    assert_eq!(
        (info.description, info.tags_json),
        (said.description, said.tags_json)
    );
    let head = fresh.store.run_head("run").unwrap();
    assert_eq!(
        (head.config_json, head.columns_json),
        (said.config_json, said.columns_json)
    );
    assert_eq!(
        (head.plugins_json, head.options_json),
        (said.plugins_json, said.options_json)
    );
    assert_eq!(head.seed, said.seed);
}

#[test]
fn an_interruption_is_kept() {
    let fresh = Fresh::new();
    let writer = fresh
        .store
        .begin_run(NewRun {
            description: None,
            ..new_run("run")
        })
        .unwrap();
    writer
        .finish(RunEnd {
            status: RunStatus::Interrupted,
            ..end()
        })
        .unwrap();
    let info = fresh.store.find_run("run").unwrap();
    assert_eq!(
        (info.state, info.description),
        (RunState::Interrupted, None)
    );
    assert_eq!(info.ended_at_ms, Some(end().ended_at_ms));
}

#[test]
fn an_id_is_taken_once() {
    let fresh = Fresh::new();
    fresh.finished("run", 1, [row(0, 0)]);
    let error = fresh.store.begin_run(new_run("run")).unwrap_err();
    assert!(
        matches!(&error, StoreError::RunExists { id } if id == "run"),
        "{error:?}"
    );
    assert_eq!(fresh.read("run"), [row(0, 0)]);
}

#[test]
fn a_run_is_found_by_what_names_only_it() {
    let fresh = Fresh::new();
    for id in ["0190-aa", "0190-ab", "0190", "07%_*[", "É-1"] {
        fresh.finished(id, 1, []);
    }
    for (wanted, id) in [
        ("0190-aa", "0190-aa"),
        ("0190-ab", "0190-ab"),
        ("0190", "0190"),
        ("07", "07%_*["),
        ("É", "É-1"),
    ] {
        assert_eq!(fresh.store.find_run(wanted).unwrap().id, id, "{wanted}");
    }
    for wanted in ["", "%", "_", "*", "190", "0190-aaa", "LATEST"] {
        let error = fresh.store.find_run(wanted).unwrap_err();
        assert!(
            matches!(&error, StoreError::NoSuchRun { wanted: w } if w == wanted),
            "{wanted}: {error:?}"
        );
    }
}

#[test]
fn an_ambiguous_name_lists_the_newest_that_could_be_meant() {
    let fresh = Fresh::new();
    fresh.finished("other", 99, []);
    fresh.finished("a1", 1, []);
    fresh.finished("a2", 2, []);
    let error = fresh.store.find_run("a").unwrap_err();
    assert_eq!(
        error.to_string(),
        "2 runs have an id that begins with `a`: a2, a1"
    );
    for number in 10..22 {
        fresh.finished(&format!("a{number}"), number, []);
    }
    let error = fresh.store.find_run("a").unwrap_err();
    assert!(error.to_string().ends_with("a13, a12, …"), "{error}");
    let StoreError::AmbiguousRun {
        candidates, total, ..
    } = error
    else {
        panic!("{error:?}")
    };
    assert_eq!((candidates.len(), total), (10, 14));
    assert_eq!(candidates[0].id, "a21");
    assert_eq!(candidates[0].description.as_deref(), Some("the run a21"));
}

#[test]
fn rows_are_read_page_by_page_in_order() {
    let fresh = Fresh::new();
    let mut rows: Vec<_> = (0..200)
        .flat_map(|test_idx| [row(test_idx, 0), row(test_idx, 1)])
        .collect();
    fresh.finished("run", 1, rows.iter().rev().cloned());
    assert_eq!(fresh.read("run"), rows);
    rows.truncate(64);
    fresh.finished("a page", 1, rows.iter().rev().cloned());
    assert_eq!(fresh.read("a page"), rows);
}

#[test]
fn rows_are_counted_by_how_they_ended() {
    let fresh = Fresh::new();
    let outcome = |test_idx: u32| Outcome::ALL[test_idx as usize % Outcome::ALL.len()];
    let rows: Vec<_> = (0..600)
        .map(|test_idx| Row {
            outcome: outcome(test_idx),
            ..row(test_idx, 0)
        })
        .collect();
    fresh.finished("run", 1, rows.clone());
    assert_eq!(fresh.read("run"), rows);
    assert_eq!(
        fresh
            .store
            .find_run("run")
            .unwrap()
            .outcomes
            .of(Outcome::BudgetExceeded),
        100
    );
}

#[test]
fn one_row_is_read_by_its_key() {
    let fresh = Fresh::new();
    fresh.finished("run", 1, [row(3, 1), row(3, 2)]);
    let rows = fresh.store.rows_by_key("run").unwrap();
    assert_eq!(rows.row(3, 2).unwrap(), Some(row(3, 2)));
    assert_eq!(rows.row(2, 3).unwrap(), None);
    assert_eq!(rows.row(3, 1).unwrap(), Some(row(3, 1)));
}

#[test]
fn a_run_that_is_not_there_is_an_error_everywhere() {
    let fresh = Fresh::new();
    let store = &fresh.store;
    for error in [
        store.rows("x").unwrap_err(),
        store.rows_by_key("x").unwrap_err(),
        store.run_head("x").unwrap_err(),
        store.delete_run("x").unwrap_err(),
    ] {
        assert!(
            matches!(&error, StoreError::NoSuchRun { wanted } if wanted == "x"),
            "{error:?}"
        );
    }
}

#[test]
fn a_damaged_row_is_an_error_and_ends_the_reading() {
    let fresh = Fresh::new();
    fresh.finished("run", 1, (0..10).map(|test_idx| row(test_idx, 0)));
    fresh
        .raw()
        .execute(
            "DELETE FROM records WHERE json = ?1",
            [row(4, 0).record_json],
        )
        .unwrap();
    let read: Vec<_> = fresh.store.rows("run").unwrap().collect();
    assert_eq!(read.len(), 1);
    assert!(
        matches!(
            read[0],
            Err(StoreError::Sql {
                doing: "read a result",
                ..
            })
        ),
        "{read:?}"
    );
    fresh
        .raw()
        .execute(
            "UPDATE rows SET outcome = 'glorious' WHERE test_idx = 2",
            [],
        )
        .unwrap();
    let error = fresh.store.find_run("run").unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with("holds an unknown outcome `glorious`"),
        "{error}"
    );
    let error = fresh
        .store
        .rows_by_key("run")
        .unwrap()
        .row(2, 0)
        .unwrap_err();
    assert!(
        matches!(
            error,
            StoreError::Unreadable {
                what: "outcome",
                ..
            }
        ),
        "{error:?}"
    );
}

#[test]
fn a_deleted_run_takes_its_rows_and_only_them() {
    let fresh = Fresh::new();
    for id in ["a", "b"] {
        fresh.finished(id, 1, (0..100).map(|test_idx| row(test_idx, 0)));
    }
    fresh.store.delete_run("a").unwrap();
    assert_eq!(ids(&fresh.store.runs(10).unwrap()), ["b"]);
    assert_eq!(fresh.read("b").len(), 100);
    let left = |table| {
        let question = format!("SELECT count(*) FROM {table}");
        fresh
            .raw()
            .query_row(&question, [], |row| row.get::<_, i64>(0))
            .unwrap()
    };
    assert_eq!((left("rows"), left("records")), (100, 100));
}

#[test]
fn a_run_that_is_being_written_is_not_deleted() {
    let fresh = Fresh::new();
    let writer = fresh.store.begin_run(new_run("run")).unwrap();
    let error = fresh.store.delete_run("run").unwrap_err();
    assert!(
        matches!(&error, StoreError::RunIsLive { id } if id == "run"),
        "{error:?}"
    );
    drop(writer);
    fresh.store.delete_run("run").unwrap();
    assert_eq!(fresh.store.runs(1).unwrap(), []);
}

#[test]
fn the_key_of_a_deleted_run_is_not_given_again() {
    let fresh = Fresh::new();
    let key = || {
        fresh
            .raw()
            .query_row("SELECT max(key) FROM runs", [], |row| row.get::<_, i64>(0))
            .unwrap()
    };
    fresh.finished("a", 1, []);
    let first = key();
    fresh.store.delete_run("a").unwrap();
    fresh.finished("b", 1, []);
    assert!(key() > first);
}

#[test]
fn a_list_has_the_beginnings_of_texts_and_one_run_is_told_whole() {
    let fresh = Fresh::new();
    let (description, tag) = ("é".repeat(3_000), "t".repeat(9_000));
    let summary_json = format!(r#"{{"total":3,"passed":1,"more":"{tag}"}}"#);
    let written = NewRun {
        description: Some(description.clone()),
        tags_json: format!(r#"{{"short":"a","long":"{tag}"}}"#),
        ..new_run("long")
    };
    let writer = fresh.store.begin_run(written.clone()).unwrap();
    writer
        .finish(RunEnd {
            summary_json: summary_json.clone(),
            ..end()
        })
        .unwrap();
    // Of one that died, too, which is asked for twice.
    let died = NewRun {
        id: "died".to_owned(),
        ..written.clone()
    };
    drop(fresh.store.begin_run(died).unwrap());
    let listed = [
        fresh.store.runs(9).unwrap(),
        fresh.store.search_runs("", 0, 9).unwrap(),
        fresh.store.runs_like("long", 9).unwrap(),
    ];
    for runs in listed {
        assert_eq!(ids(&runs), ["died", "long"]);
        for run in &runs {
            let (short, cut) = ("é".repeat(1_999) + "…", "t".repeat(199) + "…");
            assert_eq!(run.description.as_deref(), Some(&*short));
            assert_eq!(run.tags_json, format!(r#"{{"short":"a","long":"{cut}"}}"#));
        }
        assert_eq!(
            runs[1].summary_json.as_deref(),
            Some(
                r#"{"total":3,"passed":1,"failed":null,"waiting":null,"errors":null,"cost":null}"#
            )
        );
    }
    for run in [
        fresh.store.find_run("long").unwrap(),
        fresh.store.run("long").unwrap(),
    ] {
        assert_eq!(run.description.as_ref(), Some(&description));
        assert_eq!(run.tags_json, written.tags_json);
        assert_eq!(run.summary_json.as_ref(), Some(&summary_json));
    }
    assert_eq!(
        fresh.store.run_options("long").unwrap(),
        written.options_json
    );
    let huge = NewRun {
        tags_json: format!(r#"{{"a":"{}"}}"#, "t".repeat(1 << 20)),
        ..new_run("huge")
    };
    drop(fresh.store.begin_run(huge).unwrap());
    let newest = fresh.store.runs(1).unwrap().pop().unwrap();
    assert_eq!(newest.tags_json, r#"{"…":"…"}"#);
    // What is cut off is found, too.
    let end_of_it = &description[description.len() - 4_100..];
    assert_eq!(fresh.store.search_runs(end_of_it, 0, 9).unwrap().len(), 2);
}

#[test]
fn what_came_out_of_the_cache_before_it_was_told_apart_cost_its_run_nothing() {
    let fresh = Fresh::new();
    let rows = [
        (0, Some(0.5), false),
        (1, Some(0.25), true),
        (2, None, true),
    ];
    fresh.finished(
        "run",
        1,
        rows.map(|(test_idx, cost_usd, cached)| Row {
            cost_usd,
            grading_usd: None,
            saved_usd: None,
            cached,
            ..row(test_idx, 0)
        }),
    );
    // As a file of the format before.
    let back = "ALTER TABLE rows DROP COLUMN grading_usd; ALTER TABLE rows DROP COLUMN saved_usd; \
                PRAGMA user_version = 4;";
    fresh.raw().execute_batch(back).unwrap();
    let store = Store::open(fresh.store.path(), OpenOptions::default()).unwrap();
    let costs = |row: Row| (row.cost_usd, row.grading_usd, row.saved_usd);
    let read: Vec<_> = store
        .rows("run")
        .unwrap()
        .map(|row| costs(row.unwrap()))
        .collect();
    assert_eq!(
        read,
        [
            (Some(0.5), None, None),
            (Some(0.0), None, Some(0.25)),
            (None, None, None)
        ]
    );
    let sums: f64 = store
        .figures("run")
        .unwrap()
        .filter_map(|it| it.unwrap().saved_usd)
        .sum();
    assert_eq!(sums.to_bits(), 0.25_f64.to_bits());
}

#[test]
fn cases_are_settled_together_and_no_others() {
    let fresh = Fresh::new();
    fresh.finished("run", 1, [0, 1, 2].map(|test_idx| row(test_idx, 0)));
    let rows = || fresh.store.rows("run").unwrap().map(Result::unwrap);
    let ids: Vec<String> = rows().map(|row| row.row_id).collect();
    let before: Vec<_> = rows().map(|row| (row.score, row.record_json)).collect();
    let wanted = HashSet::from([&*ids[0], &*ids[1], "of nobody"]);
    let settle = |row_id: &str, json: &str| {
        assert_eq!(json, before[usize::from(row_id == ids[1])].1);
        let waits = row_id == ids[0];
        waits.then(|| (Outcome::Failed, 0.25, "{\"settled\":true}".to_owned()))
    };
    fresh.store.settle("run", &wanted, settle).unwrap();
    let after: Vec<_> = rows().map(|row| (row.score, row.record_json)).collect();
    assert_eq!(after[0], (0.25, "{\"settled\":true}".to_owned()));
    assert_eq!(after[1..], before[1..]);
    assert_eq!(rows().next().unwrap().outcome, Outcome::Failed);
}
