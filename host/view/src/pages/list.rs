//! The runs that are kept, newest first.

use std::sync::Arc;

use maud::{Markup, html};
use runner_store::{Outcome, RunInfo, StoreError};
use runner_telling::{figures, visible};

use super::{NAME_CHARS, bar, is_running, layout, line, name, state, tags, when};
use crate::address::segment;
use crate::left::{StoredSummary, ThresholdVerdict};
use crate::request::{Fields, Reply};
use crate::site::Site;

/// Runs on a page.
const RUNS: usize = 50;
/// Cases of a run whose sums are made for a list.
const MOST_CASES: u64 = 20_000;

/// A run, and how its cases ended as far as that is known at once.
struct Listed {
    run: RunInfo,
    total: u64,
    passed: u64,
    failed: u64,
    waiting: u64,
    errors: u64,
    cost: Option<f64>,
    /// What was asked of it.
    asked: Vec<ThresholdVerdict>,
}

/// The list.
pub(super) fn page(site: &Arc<Site>, query: &Fields) -> Result<Reply, StoreError> {
    let text = query.get("q").unwrap_or_default();
    let skip = query
        .get("skip")
        .and_then(|text| text.parse::<usize>().ok())
        .unwrap_or_default();
    let mut runs = site.store.search_runs(text, skip, RUNS + 1)?;
    let more = runs.len() > RUNS;
    runs.truncate(RUNS);
    let page = |skip: usize| {
        let text = if text.is_empty() {
            String::new()
        } else {
            format!("q={}&", segment(text))
        };
        format!("/?{text}skip={skip}")
    };
    Ok(Reply::Page(layout(
        "Runs",
        &html! {
            h1 { "Runs" }
            form.search role="search" {
                label { "Search " input #search type="search" name="q" value=(text) placeholder="name, id, tag"; }
                button { "Search" }
            }
            @if runs.is_empty() {
                p.empty {
                    @if text.is_empty() { "There is no run yet. Make one with " code { "runner eval" } "." }
                    @else { "No run has “" (line(text)) "” in its name, id or tags." }
                }
            } @else {
                (table(site, runs, &[])?)
            }
            nav.pages aria-label="Pages" {
                @if skip > 0 { a rel="prev" href=(page(skip.saturating_sub(RUNS))) { "Newer" } }
                @if more { a rel="next" href=(page(skip + RUNS)) { "Older" } }
            }
        },
    )))
}

/// Runs to be ticked, two of which are compared.
pub(super) fn table(
    site: &Site,
    runs: Vec<RunInfo>,
    ticked: &[&str],
) -> Result<Markup, StoreError> {
    let runs = runs.into_iter().map(|run| listed(site, run));
    let runs = runs.collect::<Result<Vec<_>, _>>()?;
    Ok(html! {
        form.actions #compare action="/compare" { button { "Compare what is ticked" } span.hint { "two runs, or one for its columns" } }
        div.scroll tabindex="0" role="region" aria-label="Runs" {
            table.runs {
                thead { tr {
                    th scope="col" { span.sr { "Compare" } }
                    th scope="col" { "Run" }
                    th scope="col" { "Pass rate" }
                    th.n scope="col" { "Cases" }
                    th.n scope="col" { "Failed" }
                    th.n scope="col" { "Errors" }
                    th.n scope="col" { "Cost" }
                    th scope="col" { "When" }
                    th scope="col" { "State" }
                } }
                tbody { @for run in &runs { (row(run, ticked.contains(&&*run.run.id))) } }
            }
        }
    })
}

fn row(listed: &Listed, is_ticked: bool) -> Markup {
    let Listed {
        run,
        total,
        passed,
        failed,
        waiting,
        errors,
        cost,
        asked,
    } = listed;
    let share = |part: u64| part as f64 / (*total).max(1) as f64;
    let rate = figures::percent(*passed, *total);
    let not_held = asked.iter().filter(|it| !it.holds);
    let told: Vec<&str> = not_held.map(|it| &*it.told).collect();
    let shares = [
        (share(*passed), "pass"),
        (share(*failed), "fail"),
        (share(*errors), "error"),
    ];
    let address = format!("/runs/{}", segment(&run.id));
    html! {
        tr.row {
            td { input type="checkbox" name="run" value=(run.id) form="compare" checked[is_ticked] aria-label={ "Compare " (name(run)) }; }
            td.name {
                a href=(address) { (name(run)) }
                small { (line(&run.id)) }
                (tags(run))
            }
            td.rate { (bar(&format!("{rate} passed"), &shares)) span { (rate) } }
            td.n data-name="cases" { (figures::count(*total)) }
            td.n data-name="failed" { (figures::count(*failed)) @if *waiting > 0 { small { (figures::count(*waiting)) " waiting" } } }
            td.n { (figures::count(*errors)) }
            td.n data-name="cost" { (cost.map_or("–".to_owned(), figures::dollars)) }
            td { (when(run.created_at_ms)) }
            td {
                (state(run))
                @if !told.is_empty() { " " span.pill.bad title=(told.join("\n")) { (figures::counted(told.len() as u64, "threshold", "thresholds")) " not held" } }
                (menu(run, &address))
            }
        }
    }
}

/// What can be done with a run where it is listed.
fn menu(run: &RunInfo, address: &str) -> Markup {
    let given = visible::cut(run.description.as_deref().unwrap_or_default(), NAME_CHARS);
    html! {
        details.menu {
            summary aria-label={ "More of " (name(run)) } { "More" }
            p { a href={ (address) "/trend" } { "Trend" } }
            form method="post" action={ (address) "/rename" } {
                input type="hidden" name="from" value="list";
                input name="description" value=(given) aria-label="Name";
                button { "Rename" }
            }
            form method="post" action={ (address) "/delete" } data-ask={ "Delete " (name(run)) " and all of its results?" } {
                button.danger { "Delete" }
            }
        }
    }
}

/// A large run that ended is told by what it left.
fn listed(site: &Site, run: RunInfo) -> Result<Listed, StoreError> {
    let left = StoredSummary::of(site, &run)?;
    let number = |name: &str| left.summary[name].as_u64();
    let planned = site.planned(&run.id)?;
    if planned > MOST_CASES
        && !is_running(&run)
        && site.known_sums(&run).is_none()
        && let (Some(passed), Some(failed), Some(errors)) =
            (number("passed"), number("failed"), number("errors"))
    {
        return Ok(Listed {
            total: planned,
            passed,
            failed,
            waiting: number("waiting").unwrap_or_default(),
            errors,
            cost: left.summary["cost"].as_f64(),
            asked: left.asked(passed, planned),
            run,
        });
    }
    let all = &site.sums(&run)?.all;
    // Of a run that goes on only what has ended is known to have passed or not.
    let total = if is_running(&run) {
        all.total()
    } else {
        planned.max(all.total())
    };
    let passed = all.of_outcome(Outcome::Passed);
    Ok(Listed {
        total,
        passed,
        asked: left.asked(passed, total),
        failed: all.of_outcome(Outcome::Failed),
        waiting: all.of_outcome(Outcome::Waiting),
        errors: all.of_outcome(Outcome::Error),
        cost: all.cost,
        run,
    })
}
