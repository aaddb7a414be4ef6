//! One case in full: what was asked, what came back, how each assertion judged it, what produced it,
//! and what people say of it.

use std::sync::Arc;
use std::time::Duration;

use maud::{Markup, html};
use runner_store::{Annotation, Outcome, Row, RunHead, StoreError};
use runner_telling::{figures, visible};
use serde_json::{Map, Value};

use super::run::matrix::by_people;
use super::run_columns::title;
use super::{badge, block, layout, line, name, pills, score, when};
use crate::address::{Address, segment};
use crate::record::{Component, Record, Response, TOO_MUCH, shown, text_of};
use crate::request::{Fields, Reply};
use crate::site::{Column, Site};

mod command;
mod content;
mod neighbours;
mod timeline;
mod transcript;

use content::{json, rendered};

/// The page.
pub(super) fn page(
    site: &Arc<Site>,
    id: &str,
    (test, column): (u32, u32),
    query: &Fields,
) -> Result<Reply, StoreError> {
    let run = site.store.run(id)?;
    let (columns, head) = site.head(id)?;
    let Some(row) = site.store.rows_by_key(id)?.row(test, column)? else {
        return Ok(Reply::Missing(format!(
            "run {id} has no result of test {test} in column {column}"
        )));
    };
    let record = Record::read(&row.record_json);
    let said = site.store.annotation(id, &row.row_id)?;
    let address = Address::read(query);
    let at = format!("/runs/{}", segment(id));
    Ok(Reply::Page(layout(
        &format!("{} of {}", heading(&row), name(&run)),
        &html! {
            p.crumbs {
                a rel="up" href={ (at) (address.at(address.page_of(test)).query()) "#cases" } { (name(&run)) }
                " · " (when(run.created_at_ms)) " · " code { (line(id)) }
            }
            (content(&CaseParts {
                columns: &columns,
                row: &row,
                record: &record,
                ways: neighbours::ways(site, &address, &run, (test, column), columns.len() as u32)?,
                people: say(&at, &address, &row, &said),
                more: html! { (again(id, &head, &row, &record)) (raw(&row)) },
            }))
        },
    )))
}

/// A case, and what stands around it.
pub(super) struct CaseParts<'a> {
    pub(super) columns: &'a [Column],
    pub(super) row: &'a Row,
    pub(super) record: &'a Record,
    /// The way to other cases.
    pub(super) ways: Markup,
    /// What people say of it.
    pub(super) people: Markup,
    /// What comes last.
    pub(super) more: Markup,
}

fn heading(row: &Row) -> String {
    format!("Test {}, column {}", row.test_idx, row.prompt_idx)
}

/// What a page says of a case.
pub(super) fn content(parts: &CaseParts<'_>) -> Markup {
    let CaseParts { row, record, .. } = parts;
    let description = record.description().unwrap_or_default();
    html! {
        header.case {
            h1 title="Tests and columns are counted from 0." { (badge(row.outcome.word())) " " (heading(row)) }
            @if !description.is_empty() { p.description { (line(description)) } }
            p { (title(parts.columns, row.prompt_idx as usize)) }
            p.facts { (facts(row, record).join(" · ")) }
            (parts.ways)
        }
        div.case {
            div.story {
                (verdict(row, record))
                (asked(record))
                (answered(record))
                (assertions(record))
                (timeline::section(&record.attempts))
                (logged(record))
            }
            aside {
                (parts.people)
                (variables(record))
                (origin(record))
                (parts.more)
            }
        }
    }
}

/// Figures of the case.
fn facts(row: &Row, record: &Record) -> Vec<String> {
    let mut facts = vec![format!("score {}", score(Some(row.score)))];
    facts.extend(
        row.latency_ms
            .map(|ms| figures::duration(Duration::from_millis(ms))),
    );
    let (input, output) = (
        row.input_tokens.unwrap_or(0),
        row.output_tokens.unwrap_or(0),
    );
    if input > 0 || output > 0 {
        facts.push(format!(
            "{} tokens in, {} out",
            figures::count(input),
            figures::count(output)
        ));
    }
    facts.extend(row.cost_usd.map(figures::dollars));
    facts.extend(row.cached.then(|| "cached".to_owned()));
    if let Some(response) = &record.response {
        facts.extend(response.model.as_deref().map(line));
        facts.extend(
            response
                .finish_reason
                .as_ref()
                .map(|why| format!("ended by {}", line(why))),
        );
        facts.extend(response.ttft_ms.map(|ms| {
            let after = figures::duration(Duration::from_millis(ms));
            format!("first token after {after}")
        }));
        facts.extend(requests(response));
    }
    facts.extend(record.repeat());
    facts
}

/// How often the API was asked, where it was more than once.
fn requests(response: &Response) -> Option<String> {
    let requests = response.token_usage.get("numRequests")?.as_u64()?;
    (requests > 1).then(|| figures::counted(requests, "request", "requests"))
}

/// Why it ended as it did.
fn verdict(row: &Row, record: &Record) -> Markup {
    let (components, reason) = (record.components(), record.reason());
    html! {
        section aria-label="Verdict" {
            h2 { "Verdict" }
            @if let Some(error) = &record.error && (components.is_empty() || row.outcome == Outcome::Error) {
                p.reason { @if let Some(code) = &record.error_code { code { (line(code)) } " " } (block(error)) }
            } @else if !reason.is_empty() { p.reason { (block(reason)) } }
            (pills(record, 40))
            @if components.is_empty() && record.error.is_none() { p.hint { "No assertion was made." } }
        }
    }
}

/// What each assertion said, those that did not pass first and open.
fn assertions(record: &Record) -> Markup {
    let mut components: Vec<&Component> = record.components().iter().collect();
    components.sort_by_key(|it| !it.is_bad());
    html! {
        @if !components.is_empty() {
            section aria-label="Assertions" { h2 { "Assertions" } @for component in components { (assertion(component)) } }
        }
    }
}

/// What one assertion said; with the judge's prompt and answer, if a model judged.
fn assertion(component: &Component) -> Markup {
    let text = |name: &str| component.assertion.get(name).and_then(Value::as_str);
    let value = component
        .metadata
        .get("renderedAssertionValue")
        .or_else(|| component.assertion.get("value"));
    let prompt = component.metadata.get("renderedGradingPrompt");
    let mut more: Map<String, Value> = component.metadata.clone();
    more.remove("renderedAssertionValue");
    more.remove("renderedGradingPrompt");
    let replies = more.remove("judgeReplies");
    html! {
        details class={ "assertion " (component.word()) } open[component.is_bad()] {
            summary {
                (badge(component.word())) " " b { (line(text("type").unwrap_or("assertion"))) }
                @if let Some(metric) = text("metric") { " " span.pill { (line(metric)) } }
                " " span.score { (score(component.score)) }
                @if let Some(code) = &component.error_code { " " code { (line(code)) } }
            }
            @if !component.reason.is_empty() { p.reason { (block(&component.reason)) } }
            @for part in &component.parts {
                p.part { (badge(if part.pass { "PASS" } else { "FAIL" })) " " b { (line(&part.name)) } " " (score(part.score)) " " (block(&part.reason)) }
            }
            @if let Some(value) = value.filter(|it| !it.is_null()) { p.hint { "Expected" } pre { (block(&text_of(value))) } }
            @if let Some(prompt) = prompt { details { summary { "What the judge was asked" } (transcript::prompt(&text_of(prompt))) } }
            @for reply in replies.iter().filter_map(Value::as_array).flatten() {
                details {
                    summary { "What the judge answered" @if let Some(model) = reply["model"].as_str() { " (" (line(model)) ")" } }
                    pre { (block(reply["text"].as_str().unwrap_or_default())) }
                }
            }
            @if !more.is_empty() { details { summary { "What else the judge reported" } (json(&Value::Object(more))) } }
        }
    }
}

fn asked(record: &Record) -> Markup {
    html! {
        section aria-label="Prompt" { h2 { "Prompt" } (transcript::prompt(&record.prompt.raw)) }
    }
}

fn answered(record: &Record) -> Markup {
    let Some(response) = &record.response else {
        return html! { section aria-label="Answer" { h2 { "Answer" } p.hint { "There is none." } } };
    };
    html! {
        section aria-label="Answer" {
            h2 { "Answer" }
            @if let Some(reasoning) = &response.reasoning { details open { summary { "Reasoning" } (rendered(reasoning)) } }
            (transcript::answer(&response.output, response.raw.as_ref()))
            @if !response.metadata.is_empty() { details { summary { "What else the provider reported" } (json(&Value::Object(response.metadata.clone()))) } }
            @if let Some(raw) = &response.raw { details { summary { "Raw response" } (json(raw)) } }
        }
    }
}

/// The form of what a person says.
fn say(at: &str, address: &Address, row: &Row, said: &Annotation) -> Markup {
    let action = format!(
        "{at}/cases/{}/{}{}",
        row.test_idx,
        row.prompt_idx,
        address.query()
    );
    let thumb = |value: &str, wanted: Option<bool>, label: &str| {
        html! {
            label class={ "thumb " (value) } { input type="radio" name="thumb" value=(value) checked[said.thumb == wanted]; " " (label) }
        }
    };
    html! {
        section aria-label="What people say" {
            h2 { "What people say" }
            @if *said != Annotation::default() { div.printed { (by_people(said)) } }
            @if row.outcome == Outcome::Waiting { p.note { "This case waits for your verdict: a thumb, or a score from 0 to 1." } }
            form.say method="post" action=(action) {
                input type="hidden" name="row" value=(row.row_id);
                fieldset { legend.sr { "Thumb" } (thumb("up", Some(true), "+ good")) (thumb("down", Some(false), "− bad")) (thumb("none", None, "no thumb")) }
                label { span { "Score" } input type="number" min="0" max="1" step="any" name="score" value=(said.score.map(|it| it.to_string()).unwrap_or_default()); }
                label { span { "Label" } input name="label" value=(said.label.as_deref().unwrap_or_default()); }
                label { span { "Comment" } textarea name="comment" rows="3" { (said.comment.as_deref().unwrap_or_default()) } }
                button.main { "Keep" }
            }
        }
    }
}

fn variables(record: &Record) -> Markup {
    html! {
        @if !record.vars.is_empty() {
            section aria-label="Variables" {
                h2 { "Variables" }
                dl.vars { @for (name, value) in &record.vars { dt { (line(name)) } dd { (content::value(value)) } } }
            }
        }
        @if !record.metadata.is_empty() {
            section aria-label="Metadata" {
                h2 { "Metadata" }
                dl.vars { @for (name, value) in &record.metadata { dt { (line(name)) } dd { (block(&visible::cut(&text_of(value), 2000))) } } }
            }
        }
        @if let Some(question) = &record.question { section aria-label="Question" { h2 { "Question" } (json(question)) } }
    }
}

/// What produced it.
fn origin(record: &Record) -> Markup {
    let Some(by) = &record.provenance else {
        return html! {};
    };
    html! {
        section aria-label="Produced by" {
            h2 { "Produced by" }
            (used_by(by))
            @for grader in by["graders"].as_array().into_iter().flatten() { (used_by(grader)) }
        }
    }
}

/// A plugin, and what it used.
fn used_by(plugin: &Value) -> Markup {
    let text = |name: &str| plugin[name].as_str().map(line).unwrap_or_default();
    let number = |name: &str| plugin[name].as_u64().unwrap_or_default();
    html! {
        dl.vars {
            dt { "plugin" } dd { (text("plugin")) " " (text("version")) }
            dt { "sha256" } dd { code { (text("sha256")) } }
            @if plugin["grantsDigest"].is_string() { dt { "grants" } dd { code { (text("grantsDigest")) } } }
            dt { "guest CPU" } dd { (figures::count(number("guestCpuUs"))) " µs" }
            dt { "instructions" } dd { (figures::count(number("fuel"))) }
            dt { "peak memory" } dd { (figures::count(number("peakMemory") / 1024)) " KiB" }
        }
    }
}

/// What plugins and code logged.
fn logged(record: &Record) -> Markup {
    html! {
        @if !record.log.is_empty() {
            section aria-label="Log" {
                h2 { "Log" }
                ul.log { @for it in &record.log { li { b { (line(&it.level)) " " (line(&it.plugin)) } " " (block(&it.message)) } } }
            }
        }
    }
}

/// Commands to copy.
fn again(id: &str, head: &RunHead, row: &Row, record: &Record) -> Markup {
    html! {
        section aria-label="Commands" {
            h2 { "In a terminal" }
            @for (label, command) in command::all(id, head, row, record) {
                div.command { span { (label) } pre { (block(&command)) } button type="button" data-copy=(command) { "Copy" } }
            }
        }
    }
}

fn raw(row: &Row) -> Markup {
    html! {
        section aria-label="Record" {
            details { summary { "The record as it is stored" }
                @match shown(&row.record_json) {
                    Some(record) => (json(&record)),
                    None => p.hint { "It can't be read, or " (TOO_MUCH) "." },
                }
            }
        }
    }
}
