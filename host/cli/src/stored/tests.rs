//! Runs that are kept in a real database, for these tests and those of the commands.

use runner_eval::record::Outcome;
use runner_store::{NewRun, OpenOptions, RunEnd, RunStatus};
use serde_json::json;

use super::*;
use crate::exit::USAGE;
use crate::findings::tests::record;
use crate::report::tests::lane;

/// A database that goes with its folder.
pub(crate) struct TempStore {
    pub(crate) store: Store,
    _folder: tempfile::TempDir,
}

const STARTED_AT_MS: i64 = 1_700_000_000_000;

impl TempStore {
    /// Adds a run of `total` cases of which `records` ended.
    pub(crate) fn add(&self, id: &str, records: &[CaseRecord], total: u64) -> anyhow::Result<()> {
        let column = |i| json!({ "id": "p", "raw": "Hello {{name}}", "label": "Hello", "provider": format!("model-{i}"), "config": null });
        let writer = self.store.begin_run(NewRun {
            id: id.to_owned(),
            created_at_ms: STARTED_AT_MS,
            description: Some("greetings".to_owned()),
            tags_json: json!({ "team": "a" }).to_string(),
            config_json: json!({ "prompts": ["Hello {{name}}"] }).to_string(),
            columns_json: json!([column(0), column(1)]).to_string(),
            plugins_json: "[]".to_owned(),
            options_json: json!({ "maxConcurrency": 3, "repeat": 1, "total": total }).to_string(),
            seed: 1,
        })?;
        for record in records {
            let json = serde_json::to_string(record)?;
            writer.push(record.to_row(None, json))?;
        }
        let all = records.len() as u64 == total;
        let end = if all { "finished" } else { "interrupted" };
        writer.finish(RunEnd {
            status: if all { RunStatus::Finished } else { RunStatus::Interrupted },
            ended_at_ms: STARTED_AT_MS + 2_500,
            summary_json: json!({ "end": end, "total": total, "durationMs": 2_430, "throttled": 5, "retries": 4 }).to_string(),
        })?;
        Ok(())
    }
}

/// A database with one run, `run-1`.
pub(crate) fn keep(records: &[CaseRecord], total: u64) -> anyhow::Result<TempStore> {
    let folder = tempfile::tempdir()?;
    let store = Store::open(&folder.path().join("runs.db"), OpenOptions::default())?;
    let kept = TempStore {
        store,
        _folder: folder,
    };
    kept.add("run-1", records, total)?;
    Ok(kept)
}

fn found(kept: &TempStore, wanted: &str) -> StoredRun {
    StoredRun::find(kept.store.clone(), wanted)
        .map_err(|failure| failure.render())
        .expect("it is kept")
}

#[test]
fn a_kept_run_sums_up_as_it_did() -> anyhow::Result<()> {
    // Stored in the order of finishing, read in the order of the plan.
    let records = [
        record(1, 0, Outcome::Failed, "no"),
        record(0, 1, Outcome::Error, "x"),
        record(0, 0, Outcome::Passed, "yes"),
    ];
    let kept = keep(&records, 8)?;
    let run = found(&kept, "run-");
    let mut seen = Vec::new();
    let summary = run.sum_up(|record| seen.push((record.test_idx, record.prompt_idx)))?;
    assert_eq!(seen, [(0, 0), (0, 1), (1, 0)]);
    assert_eq!(
        (summary.all.passed, summary.all.failed, summary.all.errors),
        (1, 1, 1)
    );
    assert_eq!(
        (summary.total, summary.not_run(), summary.end),
        (8, 5, End::Interrupted)
    );
    assert_eq!(
        (summary.throttled, summary.retries, summary.concurrency),
        (5, 4, 3)
    );
    assert_eq!(summary.duration, Duration::from_millis(2_430));
    let columns: Vec<(&str, u64)> = summary
        .columns
        .iter()
        .map(|(head, tally)| (head.provider.as_str(), tally.count()))
        .collect();
    assert_eq!(columns, [("model-0", 2), ("model-1", 1)]);
    Ok(())
}

#[test]
fn records_can_be_read_as_often_as_a_file_needs() -> anyhow::Result<()> {
    let records = [
        record(0, 0, Outcome::Passed, "yes"),
        record(1, 0, Outcome::Passed, "yes"),
    ];
    let kept = keep(&records, 2)?;
    let run = found(&kept, "latest");
    for _ in 0..2 {
        let texts: Vec<String> = run.open()?.collect::<Result<_, _>>()?;
        let read: Vec<CaseRecord> = texts
            .iter()
            .map(|text| serde_json::from_str(text))
            .collect::<Result<_, _>>()?;
        assert_eq!(read, records);
    }
    Ok(())
}

#[test]
fn the_cases_of_a_test() -> anyhow::Result<()> {
    let records = [
        record(0, 0, Outcome::Passed, "yes"),
        record(0, 1, Outcome::Failed, "no"),
        record(1, 0, Outcome::Passed, "yes"),
    ];
    let kept = keep(&records, 4)?;
    let run = found(&kept, "latest");
    let cases = |test_idx, column| -> anyhow::Result<Vec<CaseRecord>> {
        run.cases(test_idx, column)?.collect()
    };
    assert_eq!(cases(0, None)?, records[..2]);
    assert_eq!(cases(0, Some(1))?, records[1..2]);
    assert_eq!(cases(1, Some(1))?, []);
    Ok(())
}

#[test]
fn lanes_are_read_as_a_summary_wrote_them() -> anyhow::Result<()> {
    let kept = keep(&[], 1)?;
    let mut summary = found(&kept, "latest").sum_up(|_| {})?;
    assert!(summary.lanes.is_empty(), "this run left none");
    summary.lanes = vec![lane("api.example.com/m", 3), lane("api.other.com", 0)];
    let left = summary.to_json();
    summary.lanes = lanes(&left["lanes"]);
    assert_eq!(summary.to_json(), left);
    assert_eq!(&*summary.lanes[0].lane, "api.example.com/m");
    assert_eq!(summary.lanes[0].metrics, lane("", 3).metrics);
    Ok(())
}

#[test]
fn the_reason_for_an_early_end_is_remembered() {
    assert_eq!(
        end(RunState::Interrupted, Some("time-limit")),
        End::TimeLimit
    );
    assert_eq!(
        end(RunState::Interrupted, Some("store-failed")),
        End::StoreFailed
    );
    assert_eq!(
        end(RunState::Interrupted, Some("interrupted")),
        End::Interrupted
    );
    assert_eq!(end(RunState::Interrupted, None), End::Interrupted);
    assert_eq!(end(RunState::Running, None), End::Finished);
}

#[test]
fn a_run_that_is_not_there_is_a_usage_error() {
    let failure = unfound(StoreError::NoSuchRun {
        wanted: "x".to_owned(),
    });
    assert_eq!(
        failure.render(),
        "error: no run has an id that begins with `x`\nhelp: `runner list` shows the runs that are kept"
    );
    assert_eq!(failure.code(), USAGE);
}

#[test]
fn what_a_person_said_goes_out_with_its_record() -> anyhow::Result<()> {
    let records = [
        record(0, 0, Outcome::Passed, "yes"),
        record(0, 1, Outcome::Failed, "no"),
    ];
    let kept = keep(&records, 2)?;
    let said = Annotation {
        thumb: Some(false),
        comment: Some("too short".to_owned()),
        ..Annotation::default()
    };
    kept.store
        .annotate("run-1", [(&*records[1].id, &said)], 1)?;
    let run = found(&kept, "run-1");
    let texts = run.open()?.collect::<anyhow::Result<Vec<_>>>()?;
    assert!(!texts[0].contains("annotation"), "{}", texts[0]);
    let read: CaseRecord = serde_json::from_str(&texts[1])?;
    assert_eq!(read.annotation, Some(said));
    let written: Value = serde_json::from_str(&texts[1])?;
    let expected = json!({ "thumb": "down", "comment": "too short" });
    assert_eq!(written["annotation"], expected);
    Ok(())
}
