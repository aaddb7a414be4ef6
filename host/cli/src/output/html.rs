//! The results as one page: what the viewer shows of a run, in one file that needs no server (`runner_view::report`).

use std::collections::BTreeSet;
use std::io::Write;

use runner_view::{MeanScore, ReportExtras, TextTable};

use super::Run;
use super::known::PAGE_MARK;
use crate::figures;

/// Writes the page.
///
/// # Errors
/// When records can't be read, or bytes can't be written.
pub(super) fn write(out: &mut dyn Write, run: &Run<'_>) -> anyhow::Result<()> {
    let extras = ReportExtras {
        mark: PAGE_MARK,
        metrics: metrics(run),
        tables: tasks(run).into_iter().collect(),
    };
    let id = &run.summary.run_id;
    Ok(runner_view::report(run.store.clone(), id, &extras, out)?)
}

/// The mean of each metric in each column.
fn metrics<'a>(run: &Run<'a>) -> Vec<(&'a str, Vec<MeanScore>)> {
    let columns = &run.summary.columns;
    let names = columns.iter().flat_map(|(_, tally)| tally.metrics());
    let names: BTreeSet<&str> = names.collect();
    let means = |name| {
        columns
            .iter()
            .map(|(_, tally)| MeanScore {
                mean: tally.metric(name),
                of: None,
                not_graded: tally.not_graded(name),
            })
            .collect()
    };
    names.into_iter().map(|name| (name, means(name))).collect()
}

/// How each task of questions stands, if there are any.
fn tasks(run: &Run<'_>) -> Option<TextTable> {
    let tasks = run.summary.tasks.in_order().iter().map(|task| {
        vec![
            task.task.to_string(),
            task.prompt_idx.to_string(),
            task.status().word().to_owned(),
            figures::percent(task.correct, task.questions),
            format!(
                "{} of {}",
                figures::count(task.correct),
                figures::count(task.questions)
            ),
            figures::count(task.parse_errors),
            figures::count(task.over_budget),
            figures::count(task.runtime_errors + task.unfinished()),
        ]
    });
    let rows: Vec<_> = tasks.collect();
    (!rows.is_empty()).then(|| TextTable {
        head: vec![
            "task",
            "column",
            "status",
            "accuracy",
            "correct",
            "unreadable",
            "over budget",
            "errors",
        ],
        rows,
    })
}
