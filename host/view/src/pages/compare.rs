//! Two runs beside each other, or two columns, models or prompts of one.

use std::sync::Arc;

use maud::{Markup, html};
use runner_store::{RunInfo, StoreError};
use runner_telling::{figures, visible};

use super::run::{MOST_CASES, later};
use super::{badge, layout, line, name, not_understood, score, when};
use crate::address::segment;
use crate::comparing::{self, Comparison, Difference, Kind};
use crate::record::{Record, text_of};
use crate::request::{Fields, Reply};
use crate::site::{LookedUp, Site};

mod changed;
mod choosing;
mod sides;
mod sums;
mod words;

use sides::Sides;

/// Cases on a page.
const CASES: usize = 20;
/// The page.
pub(super) fn page(site: &Arc<Site>, query: &Fields) -> Result<Reply, StoreError> {
    let sides = match Sides::of(site, query)? {
        Ok(sides) => sides,
        Err(ticked) => return choosing::page(site, &ticked),
    };
    let title = format!("{} and {}", name(&sides.before), name(&sides.after));
    let comparison = match comparison(site, &sides)? {
        Ok(comparison) => comparison,
        Err(Reply::Page(waiting)) => return Ok(Reply::Page(layout(&title, &waiting))),
        Err(other) => return Ok(other),
    };
    let known = |word: &str| Kind::ALL.iter().find(|it| it.1 == word);
    let kind = query.get("kind").and_then(known).map(|it| it.0);
    let page = query
        .get("page")
        .and_then(|text| text.parse::<usize>().ok())
        .unwrap_or_default();
    let mut unread = sides.unread.clone();
    if let (Some(word), None) = (query.get("kind"), kind) {
        unread.push(format!("kind={word}"));
    }
    let cases = cases(site, &sides, &comparison, kind, page)?;
    let changed = changed::section(site, &sides, &comparison)?;
    let measures = if site.planned(&sides.after.id)? > MOST_CASES {
        later(
            &sides.query.replacen("/compare", "/compare/measures", 1),
            "Adding up…",
        )
    } else {
        sums::measures(site, &sides, &comparison)?
    };
    Ok(Reply::Page(layout(
        &title,
        &html! {
            (head(&sides, &comparison))
            (not_understood(&unread))
            (changed)
            @if sides.is_one_run() { (sides.form()) }
            @if sides.columns.is_empty() { p.empty { @if sides.is_one_run() { "The two have nothing in common: choose two columns, two models or two prompts." } @else { "No column of one run has a partner in the other." } } }
            @else { (sums::pass_rates(&sides, &comparison)) (measures) }
            section #cases aria-label="Cases that came out differently" { (cases) }
        },
    )))
}

/// What is compared beside the pass rate, alone.
pub(super) fn measures(site: &Arc<Site>, query: &Fields) -> Result<Reply, StoreError> {
    let Ok(sides) = Sides::of(site, query)? else {
        return Ok(super::nothing());
    };
    Ok(match comparison(site, &sides)? {
        Ok(comparison) => Reply::Page(sums::measures(site, &sides, &comparison)?),
        Err(reply) => reply,
    })
}

/// The comparison; or what to say while a run is read for it, or why it can't be.
fn comparison(site: &Arc<Site>, sides: &Sides) -> Result<Result<Comparison, Reply>, StoreError> {
    for run in [&sides.before, &sides.after] {
        match site.look_up(run) {
            Ok(LookedUp::Ready) => {}
            Ok(LookedUp::Underway(done, all)) => {
                return Ok(Err(Reply::Page(html! {
                    h1 { "Comparing" }
                    div.waiting data-again="" { p { (name(run)) " is read: " (figures::count(done)) " of " (figures::count(all)) " cases." } progress max=(all.max(1)) value=(done) {} }
                })));
            }
            Err(why) => return Ok(Err(Reply::Refused(why))),
        }
    }
    let (before, after) = (&sides.before.id, &sides.after.id);
    comparing::compare(&site.store, before, after, &sides.columns).map(Ok)
}

fn head(sides: &Sides, comparison: &Comparison) -> Markup {
    let run = |run: &RunInfo, label: &str| {
        html! {
            p { b { (label) ": " } a href={ "/runs/" (segment(&run.id)) } { (name(run)) } " " (when(run.created_at_ms)) " " code { (line(&run.id)) } }
        }
    };
    html! {
        header.run {
            h1 { "Comparison" }
            @if sides.is_one_run() {
                (run(&sides.before, sides.by.title()))
                @for side in sides.told() { p { (side) } }
            } @else { (run(&sides.before, "Before")) (run(&sides.after, "After")) }
            @if comparison.only_before + comparison.only_after > 0 {
                @let [before, after] = sides.labels();
                p.hint { (figures::counted(comparison.only_before, "case is", "cases are")) " only in “" (before) "”, " (figures::counted(comparison.only_after, "case", "cases")) " only in “" (after) "”. A repeat is compared with the same repeat, so those that one run lacks are among them." }
            }
        }
    }
}

/// The cases that came out differently.
fn cases(
    site: &Site,
    sides: &Sides,
    comparison: &Comparison,
    kind: Option<Kind>,
    page: usize,
) -> Result<Markup, StoreError> {
    let wanted: Vec<&Difference> = comparison
        .differences
        .iter()
        .filter(|it| kind.is_none_or(|kind| it.kind == kind))
        .collect();
    let count = |kind: Kind| {
        comparison
            .columns
            .iter()
            .map(|it| it.kinds[kind as usize])
            .sum::<u64>()
    };
    let (old, new) = (
        site.store.rows_by_key(&sides.before.id)?,
        site.store.rows_by_key(&sides.after.id)?,
    );
    let mut shown = Vec::new();
    for difference in wanted.iter().skip(page * CASES).take(CASES) {
        let (left, right) = sides.columns[difference.pair];
        let rows = (
            old.row(difference.before, left)?,
            new.row(difference.after, right)?,
        );
        if let (Some(before), Some(after)) = rows {
            shown.push(case(sides, difference, &before, &after));
        }
    }
    let word = kind
        .and_then(|kind| Kind::ALL.iter().find(|it| it.0 == kind))
        .map(|it| it.1);
    let at = |word: Option<&str>, page: usize| {
        let kind = word.map(|word| format!("&kind={word}")).unwrap_or_default();
        let page = if page == 0 {
            String::new()
        } else {
            format!("&page={page}")
        };
        format!("{}{kind}{page}", sides.query)
    };
    Ok(html! {
        nav.tabs aria-label="Kinds of differences" {
            a href=(at(None, 0)) aria-current=[kind.is_none().then_some("page")] { "all " (figures::count(comparison.differences.len() as u64)) }
            @for (it, word, label) in Kind::ALL { a href=(at(Some(word), 0)) aria-current=[(kind == Some(it)).then_some("page")] { (label) " " (figures::count(count(it))) } }
        }
        @if count(Kind::Flaky) > 0 { p.hint { "Flaky: it came out differently, but so did its own repeats within one of the two runs, some of which passed and some of which did not. In the pass rate above its test counts with the share that passed." } }
        @if shown.is_empty() { p.empty { "No case matches." } }
        @for case in shown { (case) }
        nav.pages aria-label="Pages" {
            @if page > 0 { a rel="prev" href=(at(word, page - 1)) { "Previous" } }
            @if wanted.len() > (page + 1) * CASES { a rel="next" href=(at(word, page + 1)) { "Next" } }
        }
    })
}

fn case(
    sides: &Sides,
    difference: &Difference,
    before: &runner_store::Row,
    after: &runner_store::Row,
) -> Markup {
    let (old, new) = (
        Record::read(&before.record_json),
        Record::read(&after.record_json),
    );
    let label = Kind::ALL
        .iter()
        .find(|it| it.0 == difference.kind)
        .map_or("", |it| it.2);
    let link = |run: &RunInfo, row: &runner_store::Row, record: &Record| {
        html! {
            p { a href={ "/runs/" (segment(&run.id)) "/cases/" (row.test_idx) "/" (row.prompt_idx) } { (badge(row.outcome.word())) " test " (row.test_idx) ", column " (row.prompt_idx) } " " span.score { (score(Some(row.score))) } }
            @if row.outcome != runner_store::Outcome::Passed { p.why { (super::block(&visible::cut(record.error.as_deref().unwrap_or(record.reason()), 300))) } }
        }
    };
    let answers = words::beside(&told(&old), &told(&new));
    html! {
        article.difference.row {
            h2 {
                (label)
                @if let Some(description) = new.description() { ": " (line(&visible::cut(description, 200))) }
            }
            @if sides.columns.len() > 1 { p.hint { (sums::name(sides, sides.columns[difference.pair])) } }
            @if new.description().is_none() { p.hint { @for (name, value) in new.vars.iter().take(4) { (line(name)) " = " (line(&visible::cut(&text_of(value), 80))) " " } } }
            div.beside {
                div { (link(&sides.before, before, &old)) pre { (answers.0) } }
                div { (link(&sides.after, after, &new)) pre { (answers.1) } }
            }
            @if old.prompt.raw != new.prompt.raw {
                @let prompts = words::beside(&old.prompt.raw, &new.prompt.raw);
                details { summary { "The prompt changed" } div.beside { pre { (prompts.0) } pre { (prompts.1) } } }
            }
        }
    }
}

/// The answer, or why there is none.
fn told(record: &Record) -> String {
    match &record.response {
        Some(_) => record.answer(),
        None => record.error.clone().unwrap_or_default(),
    }
}
