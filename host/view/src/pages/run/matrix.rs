//! A page of tests: a row each, a cell for each column that is shown.
//!
//! Records are read one after the other, and of each only what a cell shows is kept.

use std::collections::HashMap;

use maud::{Markup, html};
use runner_store::{Annotation, Outcome, PageStart, Row, RunInfo, StoreError, TestPage};
use runner_telling::{figures, visible};

use super::super::{badge, block, line, pills};
use super::columns::{short_names, title};
use crate::address::{Address, segment};
use crate::record::{Record, text_of};
use crate::site::{Column, Site};
use crate::sums::Sums;

/// Tests on a page.
const TESTS: usize = 25;
/// Columns on a page: an imported run may have as many as it has rows.
const COLUMNS: usize = 100;
/// Characters of an answer, a reason and a variable in the table.
const ANSWER: usize = 600;
const REASON: usize = 240;
const VARIABLE: usize = 160;
/// Variables and metrics of a case in the table.
const MOST: usize = 8;

/// Renders the matrix and the way to the pages beside it.
pub(super) fn render(
    site: &Site,
    run: &RunInfo,
    columns: &[Column],
    address: &Address,
    sums: Option<&Sums>,
) -> Result<Markup, StoreError> {
    let page =
        site.store
            .test_page(&run.id, &address.wanted, address.order, address.from, TESTS)?;
    let at = format!("/runs/{}", segment(&run.id));
    let mut shown: Vec<u32> = (0..columns.len() as u32)
        .filter(|it| !address.hidden.contains(it))
        .collect();
    let of = shown.len();
    shown.truncate(COLUMNS);
    let names = short_names(columns);
    let said = site.store.annotations(&run.id)?.into_iter();
    let said: HashMap<String, Annotation> = said.map(|it| (it.row_id, it.annotation)).collect();
    let rows = site.store.rows_by_key(&run.id)?;
    let mut body = Vec::new();
    let mut has_repeats = false;
    for (figure, test) in &page.tests {
        let here = address.at(PageStart::After(*figure, *test)).query();
        let mut about = html! {};
        let mut cells = Vec::new();
        for column in &shown {
            let Some(row) = rows.row(*test, *column)? else {
                cells.push(html! { td.cell.none { "not run" } });
                continue;
            };
            let record = Record::read(&row.record_json);
            has_repeats |= record.repeat().is_some();
            if about.0.is_empty() {
                about = test_head(&record);
            }
            let link = format!("{at}/cases/{test}/{column}{here}");
            cells.push(cell(
                &link,
                &row,
                &record,
                names.get(*column as usize),
                said.get(&row.row_id),
                address,
            ));
        }
        body.push(html! { tr.row { th.number scope="row" { (test) } td.about { (about) } @for cell in cells { (cell) } } });
    }
    Ok(html! {
        @if body.is_empty() { p.empty { "No test matches." } } @else {
            div.scroll.tall tabindex="0" role="region" aria-label="Tests and answers" {
                table.matrix.many[shown.len() > 3] {
                    thead { (head(columns, &shown, sums, &address.widths)) }
                    tbody { @for row in body { (row) } }
                }
            }
        }
        p.hint { "Tests and columns are counted from 0" @if has_repeats { ", each repeat of a test for itself" } "." }
        @if of > COLUMNS { p.hint { "The first " (COLUMNS) " of " (of) " columns; hide some to see others." } }
        @if page.earlier || page.later { p.hint.printed { (figures::counted(page.tests.len() as u64, "test is", "tests are")) " printed, which are those of this page; other pages have the others." } }
        (ways(&page, &at, address))
    })
}

/// The row of the columns' names.
pub(in crate::pages) fn head(
    columns: &[Column],
    shown: &[u32],
    sums: Option<&Sums>,
    widths: &[(u32, u16)],
) -> Markup {
    let width = |column: u32| widths.iter().find(|it| it.0 == column).map(|it| it.1);
    html! {
        tr {
            th.number scope="col" title="counted from 0" { "#" } th scope="col" { "Test" }
            @for column in shown { th scope="col" { div.size data-size=(column) data-width=[width(*column)] { (title(columns, *column as usize)) (rate(sums, *column)) } } }
        }
    }
}

/// The way to the pages beside this one.
fn ways(page: &TestPage, at: &str, address: &Address) -> Markup {
    let neighbour = |from: Option<PageStart>| {
        from.map(|from| format!("{at}{}#cases", address.at(from).query()))
    };
    let first = page.tests.first().filter(|_| page.earlier);
    let before = first.map(|it| PageStart::Before(it.0, it.1));
    let last = page.tests.last().filter(|_| page.later);
    let after = last.map(|it| PageStart::After(it.0, it.1));
    html! {
        nav.pages aria-label="Pages" {
            @if page.earlier { a href={ (at) (address.at(PageStart::Start).query()) "#cases" } { "First" } }
            @if let Some(address) = neighbour(before) { a rel="prev" href=(address) { "Previous" } }
            @if let Some(address) = neighbour(after) { a rel="next" href=(address) { "Next" } }
        }
    }
}

fn rate(sums: Option<&Sums>, column: u32) -> Markup {
    let tally = sums.and_then(|sums| sums.columns.get(column as usize));
    html! { @if let Some(tally) = tally { span.rate { (figures::percent(tally.of_outcome(Outcome::Passed), tally.total())) } } }
}

pub(in crate::pages) fn test_head(record: &Record) -> Markup {
    let rest = record.vars.len().saturating_sub(MOST);
    html! {
        @if let Some(repeat) = record.repeat() { p.hint { (repeat) } }
        @if let Some(description) = record.description() { p.description { (line(&visible::cut(description, 300))) } }
        dl.vars { @for (name, value) in record.vars.iter().take(MOST) {
            dt { (line(name)) } dd { (line(&visible::cut(&text_of(value), VARIABLE))) }
        } }
        @if rest > 0 { p.hint { "and " (rest) " more" } }
    }
}

pub(in crate::pages) fn cell(
    link: &str,
    row: &Row,
    record: &Record,
    name: Option<&String>,
    said: Option<&Annotation>,
    address: &Address,
) -> Markup {
    let word = row.outcome.word();
    let answer = record.answer();
    let error = record.error.as_deref().unwrap_or_default();
    let reason = record.reason();
    let failed = record
        .components()
        .iter()
        .filter(|it| !it.skipped && !it.pass);
    let more = failed.count().saturating_sub(1);
    let mut facts = Vec::new();
    facts.extend(
        row.latency_ms
            .map(|ms| figures::duration(std::time::Duration::from_millis(ms))),
    );
    let tokens = row
        .input_tokens
        .unwrap_or(0)
        .saturating_add(row.output_tokens.unwrap_or(0));
    facts.extend((tokens > 0).then(|| format!("{} tokens", figures::count(tokens))));
    facts.extend(row.cost_usd.map(figures::dollars));
    facts.extend(row.cached.then(|| "cached".to_owned()));
    html! {
        td.cell.other[!address.wants(row)] data-column=[name] {
            a.case href=(link) {
                (badge(word)) " " span.score { (super::super::score(Some(row.score))) }
                @if !answer.is_empty() { span.answer { (block(&visible::cut(&answer, ANSWER))) } }
                @if row.outcome == Outcome::Error { span.why { (block(&visible::cut(error, REASON))) } }
                @else if row.outcome == Outcome::Failed { span.why { (block(&visible::cut(reason, REASON))) } @if more > 0 { small { "and " (more) " more" } } }
            }
            (pills(record, MOST))
            @if let Some(said) = said { (by_people(said)) }
            p.facts { (facts.join(" · ")) }
        }
    }
}

/// What a person said of a case.
pub(in crate::pages) fn by_people(said: &Annotation) -> Markup {
    let thumb = said.thumb.map(|up| {
        if up {
            ("good", "+ good")
        } else {
            ("bad", "− bad")
        }
    });
    let cut = |text: &str| line(&visible::cut(text, 80));
    html! {
        p.pills title=[said.comment.as_deref().map(|it| line(&visible::cut(it, 300)))] {
            small { "people: " }
            @if let Some((class, word)) = thumb { span class={ "pill " (class) } { (word) } }
            @if said.score.is_some() { span.pill { "score " (super::super::score(said.score)) } }
            @if let Some(label) = &said.label { span.pill { (cut(label)) } }
            @if let Some(comment) = &said.comment { small { (cut(comment)) } }
        }
    }
}
