//! `runner show`: a kept run again, as a table, as a file, or one of its tests in full.

use std::collections::HashSet;

use jiff::tz::TimeZone;
use runner_eval::record::CaseRecord;
use runner_eval::summary::{ColumnHead, Tally};
use runner_store::RunState;
use serde_json::{Map, Value, json};

use super::CommandContext;
use super::list::when;
use crate::arguments::Show;
use crate::detail;
use crate::exit::SUCCESS;
use crate::failure::Failure;
use crate::figures;
use crate::findings::{Findings, Limits, text_of};
use crate::output;
use crate::report;
use crate::stdout;
use crate::stored::{self, StoredRun};
use crate::table::{self, TableView};
use crate::terminal::Terminal;
use crate::visible;

/// Characters of a column's name.
const NAME_CHARS: usize = 120;

/// Shows a run.
pub(super) fn run(arguments: &Show, setting: &CommandContext) -> Result<u8, Failure> {
    let Some(store) = setting.existing_store()? else {
        return Err(stored::unfound(runner_store::StoreError::NoRuns));
    };
    let run = StoredRun::find(store, &arguments.run)?;
    if let Some(column) = arguments.column
        && column as usize >= run.columns.len()
    {
        let columns = figures::counted(run.columns.len() as u64, "column", "columns");
        return Err(Failure::usage(format!(
            "there is no column {column}: run {} has {columns}, counted from 0",
            run.info.id
        )));
    }
    if run.info.state == RunState::Running {
        setting
            .talk
            .note("this run is still going on; this is what it has so far");
    }
    match arguments.test {
        Some(test_idx) => test(arguments, &run, test_idx)?,
        None if arguments.metrics => metrics(arguments, &run, setting.terminal)?,
        None if arguments.json => document(&run)?,
        None => {
            let text = overview(arguments, &run, setting.terminal, &TimeZone::system())?;
            stdout::print(&text)?;
        }
    }
    Ok(SUCCESS)
}

/// The table and the summary.
fn overview(
    arguments: &Show,
    run: &StoredRun,
    terminal: Terminal,
    zone: &TimeZone,
) -> anyhow::Result<String> {
    let mut findings = Findings::new(Limits {
        rows: arguments.rows,
        cell_chars: arguments.table_cell_max_length,
        failing_only: arguments.failed,
    });
    let found = arguments.grep.as_ref().map(|text| grep(run, text));
    let found = found.transpose()?;
    let is_shown = |record: &CaseRecord| {
        let is_found = |it: &HashSet<u32>| it.contains(&record.test_idx);
        found.as_ref().is_none_or(is_found)
            && arguments
                .column
                .is_none_or(|only| only == record.prompt_idx)
    };
    let summary = run.sum_up(|record| {
        if is_shown(record) {
            findings.add(record);
        }
    })?;
    let Terminal { width, color, .. } = terminal;
    let complete = summary.not_run() == 0;
    let view = TableView {
        width,
        color,
        run_id: run.info.id.clone(),
        complete,
        only_column: arguments.column,
    };
    let mut text = head(run, zone);
    text.push_str(&table::render(&findings, &run.heads(), &view));
    text.push('\n');
    match (&found, &arguments.grep, arguments.column) {
        // The sums are of all tests, and would not be of what is above them.
        (Some(found), Some(wanted), _) => {
            let tests = figures::counted(found.len() as u64, "test has", "tests have");
            let wanted = visible::cut(wanted, 60).into_owned();
            let wanted = visible::line(&wanted);
            text.extend([&*tests, " \"", &*wanted, "\" in it.\n"]);
        }
        (_, _, Some(column)) => {
            text.push_str(&report::of_column(&summary, &findings, column, width));
        }
        _ => text.push_str(&report::render(&summary, &findings, None, width)),
    }
    Ok(text)
}

/// The tests that have a text somewhere, whether in capitals or not.
fn grep(run: &StoredRun, text: &str) -> anyhow::Result<HashSet<u32>> {
    let wanted = text.to_lowercase();
    let has = |text: &str| text.to_lowercase().contains(&wanted);
    let has_value = |value: &Value| has(&text_of(value));
    let mut found = HashSet::new();
    run.sum_up(|record| {
        let description = record.description();
        let answer = record.response.as_ref().map(|it| text_of(&it.output));
        let response = record.response.as_ref();
        let reasoning = response.and_then(|it| it.reasoning.as_deref());
        let grading = record.grading_result.iter();
        let mut components = grading.flat_map(|grading| &grading.component_results);
        if description.is_some_and(has)
            || answer.as_deref().is_some_and(has)
            || record
                .vars
                .iter()
                .any(|(name, value)| has(name) || has_value(value))
            || record.conclusion.error().is_some_and(has)
            || components.any(|component| {
                has(&component.reason) || component.assertion.get("metric").is_some_and(has_value)
            })
            || has(&record.prompt.raw)
            || reasoning.is_some_and(has)
            || record.metadata.values().any(has_value)
        {
            found.insert(record.test_idx);
        }
    })?;
    Ok(found)
}

/// What each column has of each metric.
fn metrics(arguments: &Show, run: &StoredRun, terminal: Terminal) -> Result<(), Failure> {
    let summary = run.sum_up(|_| {})?;
    let wanted = |idx: usize| arguments.column.is_none_or(|only| only as usize == idx);
    let columns = summary.columns.iter().enumerate();
    let columns: Vec<(usize, &(ColumnHead, Tally))> =
        columns.filter(|(idx, _)| wanted(*idx)).collect();
    if arguments.json {
        let column = |(idx, (head, tally)): &(usize, &(ColumnHead, Tally))| {
            let of = |told: &dyn Fn(&str) -> Value| -> Map<String, Value> {
                let names = tally.metrics();
                names.map(|name| (name.to_owned(), told(name))).collect()
            };
            let metrics = of(&|name| json!(tally.metric(name)));
            let not_graded = of(&|name| json!(tally.not_graded(name)));
            json!({ "column": idx, "provider": head.provider, "prompt": head.prompt, "metrics": metrics, "notGraded": not_graded })
        };
        return Ok(stdout::json(&columns.iter().map(column).collect())?);
    }
    let (table, count) = report::metrics::table(&columns, usize::MAX, terminal.width);
    if count == 0 {
        let id = &run.info.id;
        return Ok(stdout::print(&format!("run {id} has no metrics\n"))?);
    }
    let mut text = head(run, &TimeZone::system());
    for (idx, (head, _)) in &columns {
        let name = format!("({idx}) {} · {}", head.provider, head.prompt);
        text.push_str(&visible::line(&visible::cut(&name, NAME_CHARS)));
        text.push('\n');
    }
    text.push('\n');
    text.push_str(&table);
    Ok(stdout::print(&text)?)
}

/// One line that says which run this is.
fn head(run: &StoredRun, zone: &TimeZone) -> String {
    let info = &run.info;
    let mut parts = vec![
        info.id.clone(),
        when(info.created_at_ms, zone),
        info.state.as_str().to_owned(),
    ];
    parts.extend(info.description.clone());
    visible::line(&parts.join(" · ")).into_owned() + "\n"
}

/// The run as a results file in JSON.
pub(super) fn document(run: &StoredRun) -> anyhow::Result<()> {
    let summary = run.sum_up(|_| {})?;
    stdout::stream_json(|out| output::write_json(out, &run.run(&summary)))
}

fn test(arguments: &Show, run: &StoredRun, test_idx: u32) -> Result<(), Failure> {
    let mut cases = run.cases(test_idx, arguments.column)?.peekable();
    if cases.peek().is_none() {
        let column = arguments
            .column
            .map(|column| format!(" in column {column}"))
            .unwrap_or_default();
        return Err(Failure::usage(format!(
            "run {} has no result of test {test_idx}{column}",
            run.info.id
        ))
        .help("tests are counted from 0, as in the first column of the table"));
    }
    if arguments.json {
        let cases = cases.collect::<anyhow::Result<Vec<CaseRecord>>>()?;
        return Ok(stdout::json(&json!(cases))?);
    }
    Ok(stdout::stream(|out| {
        let mut separator = "";
        for case in cases {
            let text = detail::render(&case?);
            write!(out, "{separator}{}", stdout::harmless(&text))?;
            separator = "\n";
        }
        Ok(())
    })?)
}

#[cfg(test)]
mod tests {
    use runner_eval::record::Outcome;

    use super::*;
    use crate::findings::tests::record;
    use crate::stored::tests::keep;

    const TERMINAL: Terminal = Terminal {
        width: 100,
        color: false,
        color_talk: false,
        bar: false,
        can_ask: false,
        ci: false,
        github: false,
        job: false,
    };

    fn arguments() -> Show {
        Show {
            run: "latest".to_owned(),
            json: false,
            failed: false,
            rows: 25,
            test: None,
            column: None,
            grep: None,
            metrics: false,
            table_cell_max_length: 250,
        }
    }

    #[test]
    fn an_interrupted_run_in_full() -> anyhow::Result<()> {
        let records = [
            record(0, 0, Outcome::Passed, "yes"),
            record(0, 1, Outcome::Failed, "no"),
            record(1, 0, Outcome::Passed, "yes"),
        ];
        let kept = keep(&records, 4)?;
        let run = StoredRun::find(kept.store.clone(), "latest")
            .map_err(|failure| anyhow::anyhow!(failure.render()))?;
        let failed = Show {
            failed: true,
            ..arguments()
        };
        let text = overview(&failed, &run, TERMINAL, &TimeZone::UTC)?;
        assert_eq!(
            text,
            "\
run-1 · 2023-11-14 22:13 · interrupted · greetings
┌───┬────────┬─────────────┬────────────────────────────────────────────┐
│ # ┆ name   ┆ (0) model-0 ┆ (1) model-1                                │
│   ┆        ┆ Hello       ┆ Hello                                      │
╞═══╪════════╪═════════════╪════════════════════════════════════════════╡
│ 0 ┆ user 0 ┆ [PASS] yes  ┆ [FAIL] no                                  │
│   ┆        ┆             ┆ ✗ Expected output to contain \"yes\", got no │
└───┴────────┴─────────────┴────────────────────────────────────────────┘

column               pass rate  passed  failed  errors  latency p50     p95  tokens       cost
(0) model-0 · Hello          –       2       0       0       100 ms  101 ms      30  $0.002000
(1) model-1 · Hello          –       0       1       0       100 ms  100 ms      15  $0.001000
all                     50.0 %       2       1       0       100 ms  101 ms      45  $0.003000

2 of 4 cases passed (50.0 %), 1 failed, 1 not run; 2.4 s, at most 3 at once.
5 requests were throttled (429), 4 sent again.

Failed assertions:
  1× contains \"yes\" – Expected output to contain \"yes\", got no (first: test 0, column 1)

Interrupted: 1 case was not run. To go on: runner eval --resume run-1
",
            "\n{text}"
        );
        let text = overview(&arguments(), &run, TERMINAL, &TimeZone::UTC)?;
        assert!(text.contains("│ 1 ┆ user 1 ┆"), "{text}");
        let column = Show {
            column: Some(0),
            ..arguments()
        };
        let text = overview(&column, &run, TERMINAL, &TimeZone::UTC)?;
        let last = "\n\ncolumn               pass rate  passed  failed  errors  latency p50     p95  tokens       cost\n\
                    (0) model-0 · Hello          –       2       0       0       100 ms  101 ms      30  $0.002000\n";
        assert!(text.ends_with(last) && !text.contains("model-1"), "{text}");
        let found = Show {
            grep: Some("GOT NO".to_owned()),
            ..arguments()
        };
        let text = overview(&found, &run, TERMINAL, &TimeZone::UTC)?;
        assert!(
            text.contains("│ 0 ┆ user 0 ┆") && !text.contains("user 1"),
            "{text}"
        );
        assert!(text.ends_with("\n1 test has \"GOT NO\" in it.\n"), "{text}");
        Ok(())
    }
}
