//! A run: its figures, its filters, and its tests as a matrix.

use std::sync::Arc;

use maud::{Markup, html};
use runner_store::{Outcome, RunInfo, StoreError};
use runner_telling::{figures, visible};
use serde_json::Value;

use filters::Offered;

use super::{NAME_CHARS, block, is_running, layout, line, name, not_understood, state, tags, when};
use crate::address::{Address, segment};
use crate::left::StoredSummary;
use crate::request::{Fields, Reply};
use crate::site::{LookedUp, Site};
use crate::sums::Sums;

pub(super) mod columns;
mod filters;
pub(crate) mod lanes;
pub(super) mod matrix;

/// Cases of a run whose figures are made while its page waits: its first look-up then takes some tenths of a second.
pub(super) const MOST_CASES: u64 = 3_000;
/// Earlier runs among which one of its size is looked for.
const MOST_EARLIER: usize = 10;

/// The page.
pub(super) fn page(site: &Arc<Site>, id: &str, query: &Fields) -> Result<Reply, StoreError> {
    let run = site.store.run(id)?;
    let (columns, _) = site.head(id)?;
    let address = Address::read(query);
    let at = format!("/runs/{}", segment(id));
    let total = site.planned(id)?;
    let small = total <= MOST_CASES;
    let waiting = lookup_note(site, &run, &address);
    let sums = if small {
        Some(site.sums(&run)?)
    } else {
        site.known_sums(&run)
    };
    let figures = if small {
        columns::figures(site, &run, &columns)?
    } else {
        later(&format!("{at}/figures"), "Adding up…")
    };
    let offered = Offered::of(site, &run, small, &address);
    let matrix = match waiting {
        Some(note) => note,
        None => matrix::render(site, &run, &columns, &address, sums.as_deref())?,
    };
    Ok(Reply::Page(layout(
        &name(&run),
        &html! {
            (head(site, &run, columns.len(), sums.as_deref())?)
            @if is_running(&run) { (growing(&at)) }
            (over_time(site, &run)?)
            section aria-label="Figures" #figures { (figures) }
            (filters::form(&at, &address, &columns, &offered))
            section #cases aria-label="Cases" data-live=[is_running(&run).then_some("")] {
                (not_understood(&Address::unread(query)))
                p.count role="status" { (later(&format!("{at}/count{}", address.query()), "Counting…")) }
                (matrix)
            }
        },
    )))
}

/// Which run it is, and what can be done with it.
fn head(
    site: &Site,
    run: &RunInfo,
    columns: usize,
    sums: Option<&Sums>,
) -> Result<Markup, StoreError> {
    let at = format!("/runs/{}", segment(&run.id));
    let note = site.store.run_note(&run.id)?;
    let given = run.description.as_deref().unwrap_or_default();
    let given = visible::cut(given, NAME_CHARS);
    let before = before(site, run)?;
    Ok(html! {
        header.run {
            h1 { (name(run)) }
            (facts(&StoredSummary::of(site, run)?, run, site.planned(&run.id)?, sums))
            nav.actions aria-label="This run" {
                @if columns > 1 { a href={ "/compare?run=" (segment(&run.id)) } data-compare="" { "Compare columns" } }
                @if let Some(before) = &before { a href={ "/compare?run=" (segment(before)) "&run=" (segment(&run.id)) } data-compare=[(columns < 2).then_some("")] { "Compare with the run before" } }
                a href={ (at) "/trend" } { "Trend" }
                a href={ (at) "/agreement" } { "People and judges" }
                a href={ (at) "/config" } { "Config" }
                details.menu {
                    summary { "Edit or delete" }
                    form method="post" action={ (at) "/rename" } {
                        label { "Name " input name="description" value=(given); }
                        button { "Rename" }
                    }
                    form method="post" action={ (at) "/note" } {
                        label { "Note " textarea name="note" rows="3" { (note.as_deref().unwrap_or_default()) } }
                        button { "Keep the note" }
                    }
                    form method="post" action={ (at) "/delete" } data-ask="Delete this run and all of its results?" {
                        button.danger { "Delete the run" }
                    }
                }
            }
            @if let Some(note) = &note { p.note { (block(note)) } }
        }
    })
}

/// The run before it of the same config.
fn before(site: &Site, run: &RunInfo) -> Result<Option<String>, StoreError> {
    for earlier in site.store.runs_before(&run.id, MOST_EARLIER)? {
        if site.are_of_a_size(&run.id, &earlier.id)? {
            return Ok(Some(earlier.id));
        }
    }
    Ok(None)
}

/// How it stands, what it took, and whether it came to what was asked of it.
pub(super) fn facts(
    left: &StoredSummary,
    run: &RunInfo,
    planned: u64,
    sums: Option<&Sums>,
) -> Markup {
    let took = left.duration().map(figures::duration);
    // While it goes on, what it costs grows beside its progress.
    let paid = sums.filter(|_| !is_running(run)).and_then(|it| it.all.cost);
    let cost = paid.map(figures::dollars);
    let asked = sums.map(|sums| {
        let total = planned.max(sums.all.total());
        left.asked(sums.all.of_outcome(Outcome::Passed), total)
    });
    let counted = sums.map(|sums| sums.all.of_outcome(Outcome::Waiting));
    let waiting = counted.or_else(|| left.summary["waiting"].as_u64());
    let ended = sums.filter(|_| !is_running(run));
    let not_run = ended.map(|it| planned.saturating_sub(it.all.total()) + it.all.not_run());
    html! {
        p.facts {
            (state(run)) " " (when(run.created_at_ms))
            @if let Some(took) = took { " · took " (took) }
            @if let Some(cost) = cost { " · cost " (cost) }
            " · " code { (line(&run.id)) }
        }
        @if let Some(not_run @ 1..) = not_run {
            p.hint { (figures::counted(not_run, "case was", "cases were")) " not run. To go on: " code { "runner eval --resume " (line(&run.id)) } }
        }
        @if waiting.is_some_and(|it| it > 0) {
            p.hint { a href={ "/runs/" (segment(&run.id)) "?verdict=waiting#cases" } { "Cases that wait for a person's verdict" } }
        }
        p.pills {
            @for asked in asked.iter().flatten() { span class={ "pill " (if asked.holds { "good" } else { "bad" }) } { (asked.told) } }
            (tags(run))
        }
    }
}

/// What the script fills in while the run goes on.
fn growing(at: &str) -> Markup {
    let figure =
        |name: &str, label: &str| html! { span { b data-figure=(name) { "–" } " " (label) } };
    html! {
        section.growing aria-label="Progress" data-events={ (at) "/live" } {
            progress max="1" value="0" aria-label="Cases that have ended" {}
            p role="status" {
                span { b data-figure="done" { "–" } " of " (figure("total", "cases")) }
                (figure("passed", "passed")) (figure("failed", "failed")) (figure("errors", "errors"))
                (figure("cost", "spent")) (figure("left", "left"))
            }
        }
    }
}

/// How the lanes stand, where the script changes them while the run goes on; or how they stood.
pub(super) fn over_time(site: &Site, run: &RunInfo) -> Result<Markup, StoreError> {
    let moments = site.store.lane_moments(&run.id)?;
    let charts = lanes::charts(&moments, &StoredSummary::of(site, run)?, is_running(run));
    Ok(html! {
        @if is_running(run) { section.over-time aria-label="Lanes over time" { h2 { "Lanes over time" } div #lanes { (charts) } } }
        @else if !moments.is_empty() {
            section aria-label="Lanes over time" { details { summary { "Lanes over time" } (charts) } }
        }
    })
}

/// What is asked for when the page is there.
pub(super) fn later(address: &str, meanwhile: &str) -> Markup {
    html! {
        span.later data-load=(address) { (meanwhile) noscript { a href=(address) { "Show" } } }
    }
}

/// What to say while the lookup that the conditions need is made.
fn lookup_note(site: &Arc<Site>, run: &RunInfo, address: &Address) -> Option<Markup> {
    if !address.wanted.needs_lookup() {
        return None;
    }
    match site.look_up(run) {
        Ok(LookedUp::Ready) => None,
        Ok(LookedUp::Underway(done, all)) => Some(html! {
            div.waiting data-again="" {
                p { "The first search of a run reads all of it: " (figures::count(done)) " of " (figures::count(all)) " cases so far." }
                progress max=(all.max(1)) value=(done) {}
            }
        }),
        Err(why) => Some(html! { p.waiting { "The run can't be searched: " (line(&why)) "." } }),
    }
}

/// The figures alone.
pub(super) fn figures(site: &Arc<Site>, id: &str) -> Result<Reply, StoreError> {
    let run = site.store.run(id)?;
    let (columns, _) = site.head(id)?;
    Ok(Reply::Page(columns::figures(site, &run, &columns)?))
}

/// How much there is that is wanted.
pub(super) fn count(site: &Arc<Site>, id: &str, query: &Fields) -> Result<Reply, StoreError> {
    let run = site.store.run(id)?;
    let address = Address::read(query);
    if lookup_note(site, &run, &address).is_some() {
        return Ok(Reply::Page(
            html! { "The run has not been read completely yet." },
        ));
    }
    let (tests, cases) = site.store.count_tests(id, &address.wanted)?;
    // Each of its repeats is a row of its own.
    let repeats = site.known_repeats(&run).is_some_and(|it| it.0.tests > 0);
    let tests = if repeats {
        figures::counted(tests, "test or repeat", "tests and repeats")
    } else {
        figures::counted(tests, "test", "tests")
    };
    let cases = figures::counted(cases, "case", "cases");
    Ok(Reply::Page(html! {
        span {
            @if address.is_filtered() { (tests) " with " (cases) " that match" } @else { (tests) ", " (cases) }
        }
    }))
}

/// The config and the rest of what the run was begun with.
pub(super) fn config(site: &Arc<Site>, id: &str) -> Result<Reply, StoreError> {
    let run = site.store.run(id)?;
    let head = site.store.run_head(id)?;
    let pretty = |json: &str| {
        let value: Value = serde_json::from_str(json).unwrap_or_default();
        serde_json::to_string_pretty(&value).unwrap_or_default()
    };
    let parts = [
        ("Config", pretty(&head.config_json)),
        ("Plugins", pretty(&head.plugins_json)),
        ("Options", pretty(&head.options_json)),
        (
            "Summary",
            pretty(run.summary_json.as_deref().unwrap_or("null")),
        ),
    ];
    Ok(Reply::Page(layout(
        &format!("Config of {}", name(&run)),
        &html! {
            p.crumbs { a rel="up" href={ "/runs/" (segment(id)) } { (name(&run)) } }
            h1 { "Config" }
            @for (title, text) in parts { h2 { (title) } pre { (block(&text)) } }
        },
    )))
}
