//! Results files as exact text, and what happens when they can't be written.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use runner_config::plan::Thresholds;
use runner_eval::event::{Consumer, Event, RunHead};
use runner_eval::question::Tasks;
use runner_eval::record::{CaseRecord, Outcome};
use runner_eval::repeats::Repeats;
use runner_eval::summary::{ColumnHead, End, Metrics, Tally};
use runner_gateway::{Measure, Statement};
use serde_json::json;

use super::*;
use crate::exit::USAGE;
use crate::findings::tests::record;
use crate::report::tests::lane;
use crate::stored::tests::keep;
use crate::talk::Talk;
use places::put;

mod places;
mod read_by_people;

/// A path that a person named.
fn named(path: PathBuf) -> OutputPath {
    OutputPath::new(path, TextOrigin::Person)
}

struct TempStore(Vec<CaseRecord>);

impl Records for TempStore {
    fn open(&self) -> anyhow::Result<RecordTexts<'_>> {
        Ok(Box::new(
            self.0
                .iter()
                .map(|record| Ok(serde_json::to_string(record)?)),
        ))
    }

    fn places(&self) -> anyhow::Result<Places<'_>> {
        let mut places: Vec<CaseId> = self.0.iter().map(place).collect();
        places.sort();
        Ok(Box::new(places.into_iter().map(Ok)))
    }

    fn by_place(&self) -> anyhow::Result<TextByPlace<'_>> {
        Ok(Box::new(|wanted| {
            let found = self.0.iter().find(|record| place(record) == wanted);
            Ok(found.map(serde_json::to_string).transpose()?)
        }))
    }
}

fn place(record: &CaseRecord) -> CaseId {
    CaseId {
        test_idx: record.test_idx,
        prompt_idx: record.prompt_idx,
    }
}

/// Fails after the first record.
struct Broken(TempStore);

impl Records for Broken {
    fn open(&self) -> anyhow::Result<RecordTexts<'_>> {
        Ok(Box::new(
            self.0
                .open()?
                .take(1)
                .chain([Err(anyhow::anyhow!("the database is gone"))]),
        ))
    }

    fn places(&self) -> anyhow::Result<Places<'_>> {
        anyhow::bail!("the database is gone")
    }

    fn by_place(&self) -> anyhow::Result<TextByPlace<'_>> {
        anyhow::bail!("the database is gone")
    }
}

fn kept() -> TempStore {
    let mut first = record(0, 0, Outcome::Passed, "yes, \"indeed\"");
    first.test_case["description"] = json!("greets");
    first.named_scores.insert("tone".to_owned(), json!(0.5));
    let mut second = record(0, 1, Outcome::Failed, "no\nnever");
    second.test_case["description"] = json!("greets");
    TempStore(vec![first, second, record(1, 0, Outcome::Error, "refused")])
}

fn summary(records: &[CaseRecord]) -> Summary {
    let head = |i| ColumnHead {
        provider: format!("model-{i}"),
        prompt: "Hello".to_owned(),
    };
    let mut summary = Summary {
        run_id: "run-1".to_owned(),
        end: End::Interrupted,
        total: 4,
        duration: Duration::from_millis(2_430),
        concurrency: 4,
        all: Tally::default(),
        columns: (0..2).map(|i| (head(i), Tally::default())).collect(),
        throttled: 0,
        retries: 0,
        metrics: Metrics::default(),
        repeats: Repeats::default(),
        tasks: Tasks::default(),
        lanes: vec![lane("api.example.com/m", 3)],
        budgets: vec![Statement {
            owner: "the run".to_owned(),
            measure: Measure::Cost,
            limit: 2_000_000_000,
            spent: 1_500_000_000,
        }],
        thresholds: Thresholds::default(),
        shard: None,
    };
    for record in records {
        summary.all.add(record);
        summary.tasks.add(record);
        let column = &mut summary.columns[record.prompt_idx as usize].1;
        column.add(record);
        summary.metrics.add(column, record);
    }
    summary
}

fn columns() -> Vec<ColumnRecord> {
    let column = |i| ColumnRecord {
        id: "p".repeat(64),
        raw: "Hello {{name}}".to_owned(),
        label: "Hello".to_owned(),
        provider: format!("model-{i}"),
        variant: None,
        config: None,
    };
    (0..2).map(column).collect()
}

fn written(name: &str, records: &dyn Records) -> anyhow::Result<String> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join(name);
    let config = json!({ "prompts": ["Hello {{name}}"] });
    let (summary, database) = (summary(&kept().0), keep(&[], 0)?);
    let run = Run {
        summary: &summary,
        columns: &columns(),
        started_at_ms: 1_700_000_000_000,
        config: &config,
        records,
        store: &database.store,
        against: None,
    };
    Output::at(named(path.clone()))
        .map_err(|failure| anyhow::anyhow!(failure.render()))?
        .write(&run)?;
    assert_eq!(
        fs::read_dir(folder.path())?.count(),
        1,
        "nothing is left beside the file"
    );
    Ok(fs::read_to_string(path)?)
}

#[test]
fn json_has_the_version_3_shape() -> anyhow::Result<()> {
    let mut document: Value = serde_json::from_str(&written("out.json", &kept())?)?;
    let results = document["results"]["results"].take();
    assert_eq!(results, json!(kept().0));
    assert_eq!(results[2]["errorCode"], "auth");
    assert!(
        document["metadata"]["exportedAt"]
            .as_str()
            .is_some_and(|at| at.ends_with('Z') && at.len() == 24)
    );
    document["metadata"]["exportedAt"].take();
    let metrics = document["results"]["prompts"][1]["metrics"].take();
    assert_eq!(
        (&metrics["testFailCount"], &metrics["assertFailCount"]),
        (&json!(1), &json!(1))
    );
    document["results"]["prompts"][0]["metrics"].take();
    let usage = |total: u64, prompt: u64, completion: u64, requests: u64| {
        json!({
            "total": total, "prompt": prompt, "completion": completion, "cached": 0, "numRequests": requests,
            "completionDetails": { "reasoning": 0, "acceptedPrediction": 0, "rejectedPrediction": 0 },
        })
    };
    let mut all = usage(30, 20, 10, 2);
    all["assertions"] = usage(0, 0, 0, 0);
    let prompt = |provider: &str| json!({ "id": "p".repeat(64), "raw": "Hello {{name}}", "label": "Hello", "provider": provider, "metrics": null });
    assert_eq!(
        document,
        json!({
            "evalId": "run-1",
            "results": {
                "version": 3,
                "timestamp": "2023-11-14T22:13:20.000Z",
                "prompts": [prompt("model-0"), prompt("model-1")],
                "results": null,
                "stats": {
                    "successes": 1, "failures": 1, "errors": 1, "notRun": 1, "tokenUsage": all,
                    "durationMs": 2430, "evaluationDurationMs": 2430, "maxConcurrency": 4,
                    "lanes": [{
                        "lane": "api.example.com/m", "totalRequests": 12, "completedRequests": 9, "failedRequests": 1,
                        "rateLimitHits": 3, "retriedRequests": 2,
                        "avgLatencyMs": 900, "p50LatencyMs": 812, "p99LatencyMs": 3100,
                    }],
                    "budgetExceeded": 0, "waiting": 0, "withoutAssertions": 0,
                    "budgets": [{ "of": "the run", "measure": "cost", "limit": 2.0, "spent": 1.5 }],
                    "cost": { "paid": 0.002, "grading": 0.0, "saved": 0.0 },
                },
            },
            "config": { "prompts": ["Hello {{name}}"] },
            "shareableUrl": null,
            "metadata": {
                "runnerVersion": env!("CARGO_PKG_VERSION"), "platform": std::env::consts::OS,
                "arch": std::env::consts::ARCH, "exportedAt": null, "evaluationCreatedAt": "2023-11-14T22:13:20.000Z",
            },
        })
    );
    Ok(())
}

#[test]
fn a_run_without_rows_is_still_a_document() -> anyhow::Result<()> {
    let document: Value = serde_json::from_str(&written("out.json", &TempStore(Vec::new()))?)?;
    assert_eq!(document["results"]["results"], json!([]));
    assert_eq!(written("out.jsonl", &TempStore(Vec::new()))?, "");
    Ok(())
}

#[test]
fn jsonl_has_a_record_per_line() -> anyhow::Result<()> {
    let text = written("out.jsonl", &kept())?;
    let records: Vec<CaseRecord> = text
        .lines()
        .map(serde_json::from_str)
        .collect::<Result<_, _>>()?;
    assert_eq!(records, kept().0);
    Ok(())
}

#[test]
fn csv_has_a_line_per_test() -> anyhow::Result<()> {
    let expected = "\
Description,name,[model-0] Hello,Status,Score,Named Scores,Metric: tone,Grader Reason,Comment,[model-1] Hello,Status,Score,Named Scores,Grader Reason,Comment
greets,user 0,\"yes, \"\"indeed\"\"\",PASS,1.00,\"{\"\"tone\"\":0.5}\",0.5,Assertion passed,,\"no
never\",FAIL,0.00,,\"Expected output to contain \"\"yes\"\", got no
never\",
,user 1,refused,ERROR,0.00,,,refused,,,,,,,
";
    assert_eq!(written("out.csv", &kept())?, expected);
    Ok(())
}

#[test]
fn a_write_that_fails_leaves_the_old_file() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("out.json");
    fs::write(&path, "old")?;
    let (summary, database) = (summary(&[]), keep(&[], 0)?);
    let run = Run {
        summary: &summary,
        columns: &columns(),
        started_at_ms: 0,
        config: &Value::Null,
        records: &Broken(kept()),
        store: &database.store,
        against: None,
    };
    let output =
        Output::at(named(path.clone())).map_err(|failure| anyhow::anyhow!(failure.render()))?;
    let error = output.write(&run).expect_err("the records can't be read");
    assert_eq!(
        format!("{error:#}"),
        format!("can't write {}: the database is gone", path.display())
    );
    assert_eq!(fs::read_to_string(&path)?, "old");
    assert_eq!(fs::read_dir(folder.path())?.count(), 1);
    Ok(())
}

#[test]
fn a_folder_that_is_not_there_is_made_when_the_file_is_written() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let path = named(folder.path().join("new/er/out.csv"));
    let outputs = Output::prepare(std::slice::from_ref(&path), false);
    let outputs = outputs.map_err(|failure| anyhow::anyhow!(failure.render()))?;
    assert_eq!(fs::read_dir(folder.path())?.count(), 0);
    put(&outputs[0])?;
    assert_eq!(fs::read_dir(folder.path().join("new/er"))?.count(), 1);
    Ok(())
}

#[test]
fn a_path_that_cannot_work_is_refused_before_the_run() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let base = folder.path();
    fs::create_dir(base.join("folder.json"))?;
    fs::write(base.join("file"), "")?;
    let here = base.display();
    let table = [
        (
            "folder.json",
            format!("error: can't write {here}/folder.json: it is a folder"),
        ),
        (
            "file/no/out.csv",
            format!(
                "error: can't write {here}/file/no/out.csv: the folder {here}/file/no can't be made: Not a directory (os error 20)"
            ),
        ),
        (
            "out",
            format!(
                "error: can't write {here}/out: its extension names no results format\nhelp: use .json, .jsonl, .csv, .yaml, .txt, .html, .md or .junit.xml"
            ),
        ),
    ];
    for (name, message) in table {
        let failure = Output::prepare(&[named(base.join(name))], false).expect_err(name);
        assert_eq!((failure.render(), failure.code()), (message, USAGE));
    }
    let twice = [named(base.join("a.json")), named(base.join("a.json"))];
    assert!(Output::prepare(&twice, false).is_err());
    assert_eq!(
        fs::read_dir(base)?.count(),
        2,
        "trying leaves nothing behind"
    );
    Ok(())
}

#[test]
fn the_extension_says_the_format() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let base = folder.path();
    let names = [
        "a.JSON",
        "a.jsonl",
        "a.csv",
        "a.yml",
        "a.txt",
        "a.html",
        "a.md",
        "a.junit.xml",
        "b.xml",
    ];
    let outputs = Output::prepare(&names.map(|name| named(base.join(name))), false)
        .expect("all can be written");
    assert_eq!(
        outputs.iter().map(Output::format).collect::<Vec<_>>(),
        [
            Format::Json,
            Format::Jsonl,
            Format::Csv,
            Format::Yaml,
            Format::Txt,
            Format::Html,
            Format::Markdown,
            Format::Junit,
            Format::Junit
        ]
    );
    Ok(())
}

#[test]
fn the_stream_has_whole_lines_as_cases_end() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("out.jsonl");
    fs::write(&path, "of an earlier run")?;
    let output =
        Output::at(named(path.clone())).map_err(|failure| anyhow::anyhow!(failure.render()))?;
    let database = keep(&[], 0)?;
    let mut stream = Stream::new(output, database.store.clone(), Talk::new(false));
    assert_eq!(fs::read_to_string(&path)?, "of an earlier run");
    stream.on_event(&Event::RunStarted(Arc::new(RunHead {
        run_id: "run-1".to_owned(),
        description: None,
        total: 3,
        columns: Vec::new(),
        concurrency: 1,
        started_at_ms: 0,
    })));
    for (n, record) in kept().0.into_iter().enumerate() {
        stream.on_event(&Event::CaseFinished(Arc::new(record)));
        let text = fs::read_to_string(&path)?;
        assert!(text.ends_with('\n'));
        assert_eq!(text.lines().count(), n + 1);
    }
    Ok(())
}
