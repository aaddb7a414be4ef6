//! The summary below the table: sums per column and in all, why cases did not pass, and where
//! the results are.
//!
//! A figure that nobody reported (cost, tokens, throttling), or of nothing, takes no room. Rates are cut, not
//! rounded, so a summary never says 100 % of something that wasn't.

use std::fmt::Write as _;
use std::time::Duration;

use runner_config::plan::CaseId;
use runner_eval::repeats::{Repeats, TestRepeats};
use runner_eval::summary::{
    ColumnHead, End, FixedSum, MOST_METRIC_NAMES, MOST_METRICS, Summary, Tally,
};
use runner_gateway::Statement;

use crate::figures;
use crate::findings::{Cause, Causes, Findings};
use crate::listing::{self, Side};
use crate::thresholds::{self, ThresholdCheck};
use crate::verdict::Verdict;
use crate::visible;

mod lanes;
pub(crate) mod metrics;
mod tasks;

/// Causes of failure that are listed.
const TOP_FAILURES: usize = 3;
/// Error messages that are listed.
const TOP_ERRORS: usize = 5;
/// Flaky tests that are listed.
const TOP_FLAKY: usize = 5;
/// Budgets that are listed.
const TOP_BUDGETS: usize = 5;
/// Metrics that are listed.
const TOP_METRICS: usize = 20;
/// Characters of a prompt's label.
const LABEL_CHARS: usize = 60;

/// Renders a summary for a table of `width` columns. A run that has just ended has a verdict; one
/// that is looked at again has none.
pub(crate) fn render(
    summary: &Summary,
    findings: &Findings,
    verdict: Option<&Verdict>,
    width: u16,
) -> String {
    let mut text = columns(summary, width);
    tasks::add(&mut text, &summary.tasks, width);
    text.push('\n');
    text.push_str(&totals(summary));
    repeats(&mut text, &summary.repeats);
    named(&mut text, summary, width);
    held(&mut text, &thresholds::checks(summary));
    why(&mut text, findings);
    let endings = [ending(summary), out_of_budget(summary), for_people(summary)];
    for ending in endings.into_iter().flatten() {
        let _ = writeln!(text, "\n{ending}");
    }
    let Some(verdict) = verdict else { return text };
    // Writing to a string can't fail.
    let _ = writeln!(text, "\nResults: runner show {}", summary.run_id);
    if let Some(reason) = &verdict.reason {
        let _ = writeln!(text, "Exit code {}: {reason}", verdict.code);
    }
    text
}

/// What a summary says of one column: its sums, and why its cases, which alone are in the findings, did not pass.
pub(crate) fn of_column(summary: &Summary, findings: &Findings, column: u32, width: u16) -> String {
    let (headings, mut rows) = sums(summary);
    let row = rows.swap_remove(column as usize);
    let mut text = listing::render(&headings, &[row], width);
    why(&mut text, findings);
    text
}

/// Prints why cases did not pass.
fn why(text: &mut String, findings: &Findings) {
    causes(text, "Failed assertions", findings.failures(), TOP_FAILURES);
    causes(text, "Errors", findings.errors(), TOP_ERRORS);
}

/// A figure per column of the results.
struct Figure {
    heading: &'static str,
    of: fn(&Tally, u64) -> String,
    /// Whether it says anything in this run.
    shown: fn(&Tally) -> bool,
}

/// In the order shown. The second argument is the number of cases.
const FIGURES: &[Figure] = &[
    Figure {
        heading: "pass rate",
        of: |tally, cases| figures::percent(tally.passed, cases),
        shown: |_| true,
    },
    Figure {
        heading: "passed",
        of: |tally, _| figures::count(tally.passed),
        shown: |_| true,
    },
    Figure {
        heading: "failed",
        of: |tally, _| figures::count(tally.failed),
        shown: |_| true,
    },
    Figure {
        heading: "waiting",
        of: |tally, _| figures::count(tally.waiting),
        shown: |all| all.waiting > 0,
    },
    Figure {
        heading: "errors",
        of: |tally, _| figures::count(tally.errors),
        shown: |_| true,
    },
    Figure {
        heading: "over budget",
        of: |tally, _| figures::count(tally.budget_exceeded),
        shown: |all| all.budget_exceeded > 0,
    },
    Figure {
        heading: "latency p50",
        of: |tally, _| duration(tally.latency_ms(0.5)),
        shown: |all| all.latency_ms(0.5).is_some(),
    },
    Figure {
        heading: "p95",
        of: |tally, _| duration(tally.latency_ms(0.95)),
        shown: |all| all.latency_ms(0.95).is_some(),
    },
    Figure {
        heading: "first token p50",
        of: |tally, _| duration(tally.ttft_ms(0.5)),
        shown: |all| all.ttft_ms(0.5).is_some(),
    },
    Figure {
        heading: "tokens/s",
        of: |tally, _| {
            let rate = tally.tokens_per_second();
            rate.map_or_else(|| "–".to_owned(), |rate| format!("{rate:.0}"))
        },
        shown: |all| all.tokens_per_second().is_some(),
    },
    Figure {
        heading: "tokens",
        of: |tally, _| figures::count(tally.tokens.total),
        shown: |all| all.tokens.total > 0,
    },
    Figure {
        heading: "grading tokens",
        of: |tally, _| figures::count(tally.grading_tokens.total),
        shown: |all| all.grading_tokens.total > 0,
    },
    Figure {
        heading: "cost",
        of: |tally, _| {
            let cost = tally.cost.map(|cost| figures::dollars(cost.value()));
            cost.unwrap_or_else(|| "–".to_owned())
        },
        shown: |all| all.cost.is_some_and(|cost| cost.value() > 0.0) || all.saved.value() > 0.0,
    },
    Figure {
        heading: "cached",
        of: |tally, _| figures::count(tally.cached),
        shown: |all| all.cached > 0,
    },
];

fn duration(ms: Option<u64>) -> String {
    ms.map_or_else(
        || "–".to_owned(),
        |ms| figures::duration(Duration::from_millis(ms)),
    )
}

fn columns(summary: &Summary, width: u16) -> String {
    let (headings, rows) = sums(summary);
    listing::render(&headings, &rows, width)
}

/// A column's heading, and where its texts stand.
type Heading = (&'static str, Side);

/// The sums of each column, and of all of them where there are several: a name and figures.
pub(crate) fn sums(summary: &Summary) -> (Vec<Heading>, Vec<Vec<String>>) {
    let figures: Vec<&Figure> = FIGURES
        .iter()
        .filter(|figure| (figure.shown)(&summary.all))
        .collect();
    let row = |name: String, tally: &Tally, cases: u64| -> Vec<String> {
        std::iter::once(name)
            .chain(figures.iter().map(|figure| (figure.of)(tally, cases)))
            .collect()
    };
    // Cases that were not run are not known by column, so that its rate is not known either; the
    // line for all counts them.
    let whole = |tally: &Tally| match summary.not_run() {
        0 => tally.count(),
        _ => 0,
    };
    let mut rows: Vec<Vec<String>> = (0..)
        .zip(&summary.columns)
        .map(|(idx, (head, tally))| row(column_name(idx, head), tally, whole(tally)))
        .collect();
    if summary.columns.len() > 1 {
        rows.push(row("all".to_owned(), &summary.all, summary.total));
    }
    let headings = std::iter::once(("column", Side::Left))
        .chain(figures.iter().map(|figure| (figure.heading, Side::Right)))
        .collect();
    (headings, rows)
}

/// Number, provider and prompt on one line.
fn column_name(idx: usize, head: &ColumnHead) -> String {
    let prompt = visible::cut(&head.prompt, LABEL_CHARS);
    format!(
        "({idx}) {} · {}",
        visible::line(&head.provider),
        visible::line(&prompt)
    )
}

/// How the cases ended, in one sentence.
pub(crate) fn counts(summary: &Summary) -> String {
    let all = &summary.all;
    let mut parts = vec![format!(
        "{} of {} passed ({})",
        figures::count(all.passed),
        figures::counted(summary.total, "case", "cases"),
        figures::percent(all.passed, summary.total)
    )];
    let others = [
        (all.failed, "failed", "failed"),
        (all.waiting, "waits for a person", "wait for a person"),
        (all.errors, "error", "errors"),
        (all.budget_exceeded, "over budget", "over budget"),
        (summary.not_run(), "not run", "not run"),
    ];
    parts.extend(
        others
            .iter()
            .filter(|(n, ..)| *n > 0)
            .map(|(n, one, many)| figures::counted(*n, one, many)),
    );
    format!(
        "{}; {}, at most {} at once.",
        parts.join(", "),
        figures::duration(summary.duration),
        summary.concurrency
    )
}

/// What was paid, how much of it for grading, and what the cache saved: as far as there is something to say.
pub(crate) fn costs(all: &Tally) -> Vec<String> {
    let paid = all.cost.map(FixedSum::value).unwrap_or_default();
    let parts = [
        (paid, ""),
        (all.grading_cost.value(), " of it for grading"),
        (all.saved.value(), " saved by the cache"),
    ];
    let told = parts.iter().filter(|(usd, _)| *usd > 0.0);
    told.map(|(usd, what)| figures::dollars(*usd) + what)
        .collect()
}

/// That as a line, where there is more to say than the table does.
pub(crate) fn cost_line(all: &Tally) -> Option<String> {
    let has_parts = all.grading_cost.value() > 0.0 || all.saved.value() > 0.0;
    has_parts.then(|| format!("Cost: {}.", costs(all).join(", ")))
}

fn totals(summary: &Summary) -> String {
    let all = &summary.all;
    let mut text = counts(summary) + "\n";
    if all.ungraded > 0 {
        let cases = figures::counted(all.ungraded, "case has", "cases have");
        let _ = writeln!(text, "{cases} no assertion: any answer passes.");
    }
    if let Some(cost) = cost_line(all) {
        let _ = writeln!(text, "{cost}");
    }
    let throttled = figures::counted(summary.throttled, "request was", "requests were");
    let retries = figures::counted(summary.retries, "request was", "requests were");
    let _ = match (summary.throttled, summary.retries) {
        (0, 0) => Ok(()),
        (0, _) => writeln!(text, "{retries} sent again."),
        (_, 0) => writeln!(text, "{throttled} throttled (429)."),
        (_, again) => {
            let again = figures::count(again);
            writeln!(text, "{throttled} throttled (429), {again} sent again.")
        }
    };
    lanes::add(&mut text, &summary.lanes);
    budgets(&mut text, &summary.budgets);
    text
}

/// Prints what is spent of each limit, the ones that are spent first.
fn budgets(text: &mut String, budgets: &[Statement]) {
    let mut budgets: Vec<&Statement> = budgets.iter().collect();
    budgets.sort_by_key(|budget| !budget.is_spent());
    let (shown, more) = budgets.split_at(budgets.len().min(TOP_BUDGETS));
    for budget in shown {
        let line = budget.line();
        let line = visible::line(&line);
        let _ = writeln!(
            text,
            "Budget of {line}{}.",
            if budget.is_spent() { ", spent" } else { "" }
        );
    }
    if !more.is_empty() {
        let more = figures::counted(more.len() as u64, "more budget", "more budgets");
        let _ = writeln!(text, "  {more}");
    }
}

/// Prints what each column has of each metric.
fn named(text: &mut String, summary: &Summary, width: u16) {
    let columns: Vec<_> = summary.columns.iter().enumerate().collect();
    let (table, count) = metrics::table(&columns, TOP_METRICS, width.saturating_sub(2));
    if count > 0 {
        text.push_str("\nMetrics, the mean of each:\n");
        for line in table.lines() {
            let _ = writeln!(text, "  {line}");
        }
        if let more @ 1.. = count.saturating_sub(TOP_METRICS) {
            let more = figures::count(more as u64);
            let _ = writeln!(
                text,
                "  … {more} more: runner show --metrics {}",
                summary.run_id
            );
        }
    }
    let unsummed = summary.metrics.unsummed;
    if unsummed > 0 {
        let scores = figures::counted(unsummed, "named score is", "named scores are");
        let most = figures::count(MOST_METRICS as u64);
        let names = MOST_METRIC_NAMES >> 20;
        let _ = writeln!(
            text,
            "{scores} left out of the sums: a run sums at most {most} metrics of its columns, with {names} MiB of names. Each is in its row."
        );
    }
}

/// Prints whether tests do the same every time, and the ones that don't: the least certain first.
fn repeats(text: &mut String, repeats: &Repeats) {
    let Some((k, pass_hat)) = repeats.pass_hat() else {
        return;
    };
    let all = repeats.in_order();
    let mut flaky: Vec<&TestRepeats> = all.iter().copied().filter(|one| one.is_flaky()).collect();
    let _ = writeln!(
        text,
        "Repeats: {} of {} flaky; pass^{k} {}: the share that passes {k} times in a row.",
        figures::count(flaky.len() as u64),
        figures::counted(all.len() as u64, "test", "tests"),
        figures::share(pass_hat)
    );
    flaky.sort_by_key(|one| (one.ran.abs_diff(2 * one.passed), one.first));
    for one in flaky.iter().take(TOP_FLAKY) {
        let CaseId {
            test_idx,
            prompt_idx,
        } = one.first;
        let name = one.description.as_deref().map(visible::line);
        let name = name.map(|name| format!(" {}", visible::cut(&name, LABEL_CHARS)));
        let name = name.unwrap_or_default();
        let _ = writeln!(
            text,
            "  test {test_idx}, column {prompt_idx}{name}: {} of {} passed",
            one.passed, one.ran
        );
    }
    let more = flaky.len().saturating_sub(TOP_FLAKY);
    if more > 0 {
        let _ = writeln!(text, "  {} more", figures::count(more as u64));
    }
}

/// What was asked of the run, and whether it holds.
fn held(text: &mut String, checks: &[ThresholdCheck]) {
    if checks.is_empty() {
        return;
    }
    text.push_str("\nThresholds:\n");
    for ThresholdCheck {
        holds,
        wanted,
        found,
    } in checks
    {
        let holds = if *holds { "held    " } else { "not held" };
        let _ = writeln!(text, "  {holds}  {wanted}: {found}");
    }
}

fn causes(text: &mut String, title: &str, causes: &Causes, n: usize) {
    let (top, rest) = causes.top(n);
    if top.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n{title}:");
    for Cause {
        name,
        count,
        first,
        example,
    } in top
    {
        let _ = write!(text, "  {count}× {name}");
        if !example.is_empty() {
            let _ = write!(text, " – {example}");
        }
        let _ = writeln!(
            text,
            " (first: test {}, column {})",
            first.test_idx, first.prompt_idx
        );
    }
    if rest > 0 {
        let _ = writeln!(text, "  {}× something else", figures::count(rest));
    }
}

/// Why a run has fewer rows than cases.
fn ending(summary: &Summary) -> Option<String> {
    let not_run = figures::counted(summary.not_run(), "case was", "cases were");
    match (summary.end, summary.not_run()) {
        (_, 0) | (End::Finished, _) => None,
        (End::StoreFailed, _) => Some(format!(
            "Stopped because the database took no more results: {not_run} not run. To go on: runner eval --resume {}",
            summary.run_id
        )),
        (End::Interrupted, _) => Some(format!(
            "Interrupted: {not_run} not run. To go on: runner eval --resume {}",
            summary.run_id
        )),
        (End::TimeLimit, _) => Some(format!(
            "Stopped by the time limit of the run: {not_run} not run. To go on: runner eval --resume {0}, and to run again what was cut off: runner retry {0}",
            summary.run_id
        )),
    }
}

/// What to do about the cases that a budget kept from being run.
fn out_of_budget(summary: &Summary) -> Option<String> {
    let kept_back = summary.all.budget_exceeded;
    (kept_back > 0).then(|| {
        format!(
            "Out of budget: {} not run to the end. To run them with a new or larger one: runner eval --resume {}",
            figures::counted(kept_back, "case was", "cases were"),
            summary.run_id
        )
    })
}

/// What to do about the cases that a person has to look at.
fn for_people(summary: &Summary) -> Option<String> {
    let waiting = summary.all.waiting;
    (waiting > 0).then(|| {
        let cases = figures::counted(waiting, "case waits", "cases wait");
        format!("{cases} for a person's verdict, a thumb or a score: runner view")
    })
}

#[cfg(test)]
pub(crate) mod tests;
