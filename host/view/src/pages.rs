//! The pages: which one an address means, and what all of them have around them.

use std::sync::Arc;

use maud::{DOCTYPE, Markup, html};
use runner_store::{RunInfo, RunState};
use runner_telling::visible;
use serde_json::Value;

use crate::address::segment;
use crate::assets;
use crate::record::Record;
use crate::request::{Reply, Request};
use crate::site::Site;

mod agreement;
mod case;
mod changes;
mod compare;
mod list;
mod report;
mod run;
mod trend;

pub use report::{ReportError, ReportExtras, TextTable, report};
use run::columns as run_columns;
pub use run::columns::MeanScore;
pub(crate) use run::lanes;

/// The answer to a request that was let in.
pub(crate) fn answer(site: &Arc<Site>, request: &Request) -> Reply {
    let path: Vec<&str> = request.path.iter().map(String::as_str).collect();
    let made = match (request.posts, path.as_slice()) {
        (false, []) => list::page(site, &request.query),
        (false, ["assets", name]) => Ok(match assets::find(name) {
            Some((kind, content)) => Reply::Asset(kind, content),
            None => nothing(),
        }),
        (false, ["compare"]) => compare::page(site, &request.query),
        (false, ["compare", "measures"]) => compare::measures(site, &request.query),
        (false, ["runs", id]) => run::page(site, id, &request.query),
        (false, ["runs", id, "figures"]) => run::figures(site, id),
        (false, ["runs", id, "count"]) => run::count(site, id, &request.query),
        (false, ["runs", id, "config"]) => run::config(site, id),
        (false, ["runs", id, "trend"]) => trend::page(site, id),
        (false, ["runs", id, "agreement"]) => agreement::page(site, id),
        (false, ["runs", id, "annotations.json"]) => agreement::file(site, id),
        (_, ["runs", id, "cases", test, column]) => match (test.parse(), column.parse()) {
            (Ok(test), Ok(column)) if request.posts => {
                changes::annotate(site, id, (test, column), request)
            }
            (Ok(test), Ok(column)) => case::page(site, id, (test, column), &request.query),
            _ => Ok(nothing()),
        },
        (true, ["runs", id, what]) => changes::run(site, id, what, &request.form),
        _ => Ok(nothing()),
    };
    made.unwrap_or_else(Reply::from)
}

fn nothing() -> Reply {
    Reply::Missing("there is no such page".to_owned())
}

/// A page that says why there is no other.
pub(crate) fn refusal(status: u16, why: &str) -> Markup {
    let title = match status {
        403 => "Not let in",
        404 => "Not found",
        _ => "That did not work",
    };
    layout(
        title,
        &html! {
            h1 { (title) }
            p { (visible::line(why)) "." }
            p { a href="/" { "All runs" } }
        },
    )
}

/// What stands around every page.
fn layout(title: &str, content: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (visible::line(title)) " · runner" }
                link rel="stylesheet" href=(assets::style());
                link rel="icon" href="data:,";
                script src=(assets::script()) defer {}
            }
            body {
                a.skip href="#main" { "To the content" }
                header.top {
                    a.brand href="/" { "runner" }
                    nav aria-label="Main" { a href="/" { "Runs" } }
                    span.keys { kbd { "?" } " keys" }
                }
                main #main { (content) }
                (keys(true))
            }
        }
    }
}

/// What the keys do; on some pages a case can be given a thumb.
fn keys(thumbs: bool) -> Markup {
    html! {
        dialog #keys aria-labelledby="keys-title" {
            h2 #keys-title { "Keys" }
            dl {
                dt { kbd { "/" } } dd { "search" }
                dt { kbd { "j" } " " kbd { "k" } } dd { "next, previous case or row" }
                dt { kbd { "n" } " " kbd { "p" } } dd { "next, previous page" }
                dt { kbd { "r" } } dd { "raw or rendered" }
                @if thumbs { dt { kbd { "x" } } dd { "tick the run, or take the tick away" } dt { kbd { "c" } } dd { "compare what is ticked, or the columns of the run" } }
                @if thumbs { dt { kbd { "<" } " " kbd { ">" } } dd { "make the column of the case narrower, wider" } }
                @if thumbs { dt { kbd { "+" } " " kbd { "-" } } dd { "thumb up, thumb down" } }
                dt { kbd { "u" } } dd { "up: from a case to its run" }
            }
            form method="dialog" { button { "Close" } }
        }
    }
}

/// Says what of an address was not understood, if anything.
fn not_understood(fields: &[String]) -> Markup {
    let told = |field: &String| line(&visible::cut(field, 100));
    html! {
        @if !fields.is_empty() {
            p.note role="alert" {
                "Not understood, and left out: "
                @for (at, field) in fields.iter().take(10).enumerate() { @if at > 0 { ", " } code { (told(field)) } }
            }
        }
    }
}

/// A text of the user's or a model's on one line.
fn line(text: &str) -> String {
    visible::line(text).into_owned()
}

/// A text that is made visible, with its line breaks.
fn block(text: &str) -> String {
    visible::cell(text).into_owned()
}

/// Characters of a run's name.
const NAME_CHARS: usize = 2_000;

/// What a run is called.
fn name(run: &RunInfo) -> String {
    line(&visible::cut(
        run.description
            .as_deref()
            .filter(|text| !text.trim().is_empty())
            .unwrap_or(&run.id),
        NAME_CHARS,
    ))
}

/// When, in local time, to the minute.
fn when(ms: i64) -> Markup {
    let Ok(at) = jiff::Timestamp::from_millisecond(ms) else {
        return html! { "–" };
    };
    let local = at.to_zoned(jiff::tz::TimeZone::system());
    html! { time datetime=(at.to_string()) { span { (local.strftime("%Y-%m-%d").to_string()) } " " span { (local.strftime("%H:%M").to_string()) } } }
}

/// A verdict as a badge.
fn badge(word: &str) -> Markup {
    html! { span class={ "badge " (word) } { (word) } }
}

fn state(run: &RunInfo) -> Markup {
    html! { span class={ "state " (run.state.as_str()) } { (run.state.as_str()) } }
}

/// The named scores of a case, each in the colour of what its assertions said.
fn pills(record: &Record, most: usize) -> Markup {
    let shade = |name: &str, score: Option<f64>| {
        let of_name = record
            .components()
            .iter()
            .filter(|it| !it.skipped && it.name() == name);
        let (all, passed) = of_name.fold((0, 0), |(all, passed), it| {
            (all + 1, passed + usize::from(it.pass))
        });
        match (all, score) {
            (1.., _) if passed == all => "good",
            (1.., _) if passed == 0 => "bad",
            (1.., _) => "half",
            (_, Some(score)) if score >= 0.999 => "good",
            (_, Some(score)) if score <= 0.001 => "bad",
            (_, Some(_)) => "half",
            (_, None) => "none",
        }
    };
    html! {
        p.pills { @for (name, value) in record.metrics().take(most) {
            @if value.is_some() { span class={ "pill " (shade(name, value)) } { (line(&visible::cut(name, 40))) " " (score(value)) } }
            @else { span.pill.none { (line(&visible::cut(name, 40))) " not graded" } }
        } }
    }
}

/// Its tags, each a search for the runs that have it.
fn tags(run: &RunInfo) -> Markup {
    let tags: Value = serde_json::from_str(&run.tags_json).unwrap_or_default();
    html! {
        @for (name, value) in tags.as_object().into_iter().flatten() {
            @let value = value.as_str().unwrap_or_default();
            a.tag href={ "/?q=" (segment(&format!("{name}={value}"))) } { (line(name)) "=" (line(value)) }
        }
    }
}

fn is_running(run: &RunInfo) -> bool {
    run.state == RunState::Running
}

/// A bar of parts, each a share of the whole and a class.
fn bar(name: &str, parts: &[(f64, &str)]) -> Markup {
    let mut at = 0.0;
    let placed: Vec<_> = parts
        .iter()
        .map(|(share, class)| {
            let from = at;
            at += share * 100.0;
            (from, share * 100.0, *class)
        })
        .collect();
    html! {
        svg.bar viewBox="0 0 100 10" preserveAspectRatio="none" role="img" aria-label=(name) {
            rect.ground width="100" height="10" {}
            @for (from, width, class) in placed {
                rect class=(class) x=(format!("{from:.3}")) width=(format!("{width:.3}")) height="10" {}
            }
        }
    }
}

fn score(score: Option<f64>) -> String {
    score
        .filter(|it| !it.is_nan())
        .map_or_else(|| "–".to_owned(), |it| format!("{it:.2}"))
}
