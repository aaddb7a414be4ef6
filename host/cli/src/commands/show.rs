//! `runner show`: a kept run again, as a table, as a file, or one of its tests in full.

use jiff::tz::TimeZone;
use runner_store::RunState;
use serde_json::Value;

use super::Setting;
use super::list::when;
use crate::arguments::Show;
use crate::detail;
use crate::exit::SUCCESS;
use crate::failure::Failure;
use crate::figures;
use crate::findings::{Findings, Limits};
use crate::output;
use crate::report;
use crate::stdout;
use crate::stored::{self, StoredRun};
use crate::table::{self, TableView};
use crate::terminal::Terminal;
use crate::visible;

/// Shows a run.
pub(super) fn run(arguments: &Show, setting: &Setting) -> Result<u8, Failure> {
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
        Some(test_idx) => test(arguments, &run, test_idx, setting.terminal)?,
        None if arguments.json => json(&run)?,
        None => {
            let text = overview(arguments, &run, setting.terminal, &TimeZone::system())?;
            stdout::print(&setting.terminal.harmless(&text))?;
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
    let summary = run.sum_up(|record| findings.add(record))?;
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
    text.push_str(&report::render(&summary, &findings, None, width));
    Ok(text)
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
pub(super) fn json(run: &StoredRun) -> anyhow::Result<()> {
    let summary = run.sum_up(|_| {})?;
    stdout::stream_json(|out| output::write_json(out, &run.run(&summary)))
}

fn test(
    arguments: &Show,
    run: &StoredRun,
    test_idx: u32,
    terminal: Terminal,
) -> Result<(), Failure> {
    let cases = run.cases(test_idx, arguments.column)?;
    if cases.is_empty() {
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
        let cases: Value = cases.iter().map(|case| serde_json::json!(case)).collect();
        return Ok(stdout::json(&cases)?);
    }
    let texts: Vec<String> = cases.iter().map(detail::render).collect();
    Ok(stdout::print(&terminal.harmless(&texts.join("\n")))?)
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
    };

    fn arguments() -> Show {
        Show {
            run: "latest".to_owned(),
            json: false,
            failed: false,
            rows: 25,
            test: None,
            column: None,
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
        Ok(())
    }
}
