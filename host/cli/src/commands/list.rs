//! `runner list`: the runs that are kept, newest first.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use runner_store::{Outcome, RunInfo, RunState};
use serde_json::{Value, json};

use super::Setting;
use crate::arguments::List;
use crate::exit::SUCCESS;
use crate::failure::Failure;
use crate::figures;
use crate::listing::{self, Side};
use crate::output::instant;
use crate::stdout;
use crate::visible;

/// Characters of a description.
const DESCRIPTION_CHARS: usize = 60;

/// Lists runs.
pub(super) fn run(arguments: &List, setting: &Setting) -> Result<u8, Failure> {
    let runs = match setting.existing_store()? {
        Some(store) => store.runs(arguments.limit).map_err(anyhow::Error::new)?,
        None => Vec::new(),
    };
    if arguments.json {
        stdout::json(&runs.iter().map(run_json).collect())?;
    } else if runs.is_empty() {
        setting
            .talk
            .line("no runs yet: make one with `runner eval`");
    } else {
        let width = setting.terminal.width;
        stdout::print(&table(&runs, &TimeZone::system(), width))?;
    }
    Ok(SUCCESS)
}

fn table(runs: &[RunInfo], zone: &TimeZone, width: u16) -> String {
    let headings = [
        ("run", Side::Left),
        ("when", Side::Left),
        ("cases", Side::Right),
        ("pass rate", Side::Right),
        ("status", Side::Left),
        ("description", Side::Left),
    ];
    let rows: Vec<Vec<String>> = runs.iter().map(|run| row(run, zone)).collect();
    listing::render(&headings, &rows, width)
}

fn row(run: &RunInfo, zone: &TimeZone) -> Vec<String> {
    let (done, total) = (ended(run), total(run));
    let cases = match total {
        total if total == done => figures::count(total),
        total => format!("{}/{}", figures::count(done), figures::count(total)),
    };
    let description = run.description.as_deref().unwrap_or_default();
    vec![
        visible::line(&run.id).into_owned(),
        when(run.created_at_ms, zone),
        cases,
        figures::percent(run.outcomes.of(Outcome::Passed), total),
        run.state.as_str().to_owned(),
        visible::line(&visible::cut(description, DESCRIPTION_CHARS)).into_owned(),
    ]
}

/// Local time to the minute.
pub(super) fn when(ms: i64, zone: &TimeZone) -> String {
    Timestamp::from_millisecond(ms).map_or_else(
        |_| "?".to_owned(),
        |at| {
            at.to_zoned(zone.clone())
                .strftime("%Y-%m-%d %H:%M")
                .to_string()
        },
    )
}

/// Cases of the plan, as far as the run told; else its rows.
fn total(run: &RunInfo) -> u64 {
    let left: Option<Value> = run
        .summary_json
        .as_deref()
        .and_then(|text| serde_json::from_str(text).ok());
    left.and_then(|summary| summary["total"].as_u64())
        .unwrap_or(0)
        .max(run.outcomes.total())
}

/// Cases that have ended: one that was stopped before it was graded has a row and has not.
fn ended(run: &RunInfo) -> u64 {
    run.outcomes.total() - run.outcomes.of(Outcome::Cancelled)
}

fn run_json(run: &RunInfo) -> Value {
    let total = total(run);
    let passed = run.outcomes.of(Outcome::Passed);
    let tags: Value = serde_json::from_str(&run.tags_json).unwrap_or(Value::Null);
    json!({
        "id": run.id,
        "description": run.description,
        "tags": tags,
        "createdAt": instant(run.created_at_ms),
        "endedAt": run.ended_at_ms.map(instant),
        "status": run.state.as_str(),
        "cases": total,
        "passed": passed,
        "failed": run.outcomes.of(Outcome::Failed),
        "errors": run.outcomes.of(Outcome::Error),
        "budgetExceeded": run.outcomes.of(Outcome::BudgetExceeded),
        "notRun": if run.state == RunState::Running { 0 } else { total - ended(run) },
        "passRate": if total == 0 { Value::Null } else { json!(passed as f64 / total as f64) },
    })
}

#[cfg(test)]
mod tests {
    use runner_eval::record::Outcome as Ended;

    use super::*;
    use crate::findings::tests::record;
    use crate::stored::tests::{Kept, keep};

    #[test]
    fn the_newest_run_stands_first() -> anyhow::Result<()> {
        let kept = keep(
            &[
                record(0, 0, Ended::Passed, "yes"),
                record(0, 1, Ended::Failed, "no"),
            ],
            2,
        )?;
        kept.add("run-2", &[record(0, 0, Ended::Passed, "yes")], 8)?;
        let runs = kept.store.runs(10)?;
        assert_eq!(
            table(&runs, &TimeZone::UTC, 100),
            "\
run    when              cases  pass rate  status       description
run-2  2023-11-14 22:13    1/8     12.5 %  interrupted  greetings
run-1  2023-11-14 22:13      2     50.0 %  finished     greetings
"
        );
        Ok(())
    }

    #[test]
    fn json_has_what_the_table_has() -> anyhow::Result<()> {
        let kept: Kept = keep(
            &[
                record(0, 0, Ended::Passed, "yes"),
                record(0, 1, Ended::Error, "no"),
            ],
            4,
        )?;
        let mut run = run_json(&kept.store.find_run("latest")?);
        assert_eq!(run["endedAt"].take(), "2023-11-14T22:13:22.500Z");
        assert_eq!(
            run,
            json!({
                "id": "run-1", "description": "greetings", "tags": { "team": "a" },
                "createdAt": "2023-11-14T22:13:20.000Z", "endedAt": null, "status": "interrupted",
                "cases": 4, "passed": 1, "failed": 0, "errors": 1, "budgetExceeded": 0, "notRun": 2, "passRate": 0.25,
            })
        );
        Ok(())
    }
}
