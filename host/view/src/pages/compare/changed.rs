//! What changed between two runs but for single cases, as `runner diff` says it.

use maud::{Markup, html};
use runner_store::{RunHead, StoreError};
use runner_telling::{figures, visible};
use serde_json::Value;

use super::super::line;
use super::sides::names;
use super::{Sides, words};
use crate::changes::{Change, Changes, ComparedColumn, ComparedRun};
use crate::comparing::Comparison;
use crate::edits;
use crate::pairing;
use crate::record::{Record, text_of};
use crate::site::{Column, Site};

/// Changes that are shown.
const MOST: usize = 50;
/// Characters of a name, and of a value that is no long text.
const NAME: usize = 120;
const VALUE: usize = 120;

/// The section; nothing where columns of one run are compared.
pub(super) fn section(
    site: &Site,
    sides: &Sides,
    comparison: &Comparison,
) -> Result<Markup, StoreError> {
    if sides.is_one_run() {
        return Ok(html! {});
    }
    let old = site.store.run_head(&sides.before.id)?;
    let new = site.store.run_head(&sides.after.id)?;
    let (was, is) = (read(&old.config_json), read(&new.config_json));
    let partners = pairing::columns(&names(&sides.old), &names(&sides.new));
    let (earlier, later) = (asked(&sides.old, &was, &old), asked(&sides.new, &is, &new));
    let changes = Changes::between(&earlier, &later, &partners);
    let more = changes.told.len().saturating_sub(MOST);
    let edits = edited(site, sides, comparison)?;
    Ok(html! {
        section.changed aria-label="What changed" {
            h2 { "What changed" }
            @for change in changes.told.iter().take(MOST) { (told(change)) }
            @if more > 0 || changes.are_more {
                p.hint { "And others: " code { "runner diff " (line(&sides.before.id)) " " (line(&sides.after.id)) } }
            }
            @for edit in &edits { (told(edit)) }
            @if comparison.tested > 0 { p { (figures::counted(comparison.tested, "case has", "cases have")) " other assertions or options." } }
            @if changes.told.is_empty() && comparison.tested == 0 {
                @let tests = if comparison.only_before + comparison.only_after > 0 { "the tests that are in both" } else { "tests" };
                p.hint { "Nothing: prompts, providers, plugins, judges and " (tests) " are the same." }
            }
        }
    })
}

/// What was edited in how cases are tested, each thing once.
fn edited(
    site: &Site,
    sides: &Sides,
    comparison: &Comparison,
) -> Result<Vec<Change<'static>>, StoreError> {
    let old = site.store.rows_by_key(&sides.before.id)?;
    let new = site.store.rows_by_key(&sides.after.id)?;
    let mut edits = Vec::new();
    for (pair, before, after) in &comparison.edited {
        let (left, right) = sides.columns[*pair];
        let (Some(was), Some(is)) = (old.row(*before, left)?, new.row(*after, right)?) else {
            continue;
        };
        let [was, is] = [was, is].map(|row| Record::read(&row.record_json).test_case);
        for edit in edits::of_test(&was, &is) {
            if !edits.contains(&edit) {
                edits.push(edit);
            }
        }
        if edits.len() >= MOST {
            break;
        }
    }
    Ok(edits)
}

fn read(json: &str) -> Value {
    serde_json::from_str(json).unwrap_or_default()
}

fn asked<'a>(columns: &'a [Column], config: &'a Value, head: &RunHead) -> ComparedRun<'a> {
    let columns = names(columns).into_iter().zip(columns);
    ComparedRun {
        columns: columns
            .map(|(names, it)| ComparedColumn {
                names,
                config: it.config.as_ref(),
            })
            .collect(),
        config,
        plugins: read(&head.plugins_json),
    }
}

/// A change: of texts the words, of all else both values.
fn told(change: &Change<'_>) -> Markup {
    // A grader's config is a judge's here, as on every page.
    let of = if change.of == "grader" {
        "judge"
    } else {
        change.of
    };
    // A prompt without a name is called by its text, which is below.
    let is_own = *change.after == *change.name;
    let head = html! { b { (of) } @if !is_own { " " (line(&visible::cut(&change.name, NAME))) } };
    let is_long = |was: &str, is: &str| {
        let either = |it: &str| it.chars().count() > VALUE;
        let words = |it: &str| it.contains(char::is_whitespace);
        either(was) || either(is) || (words(was) && words(is))
    };
    if let (Value::String(was), Value::String(is)) = (&*change.before, &*change.after)
        && is_long(was, is)
    {
        let texts = words::beside(was, is);
        return html! { details open { summary { (head) } div.beside { pre { (texts.0) } pre { (texts.1) } } } };
    }
    html! { p { (head) ": " del { (value(&change.before)) } " → " ins { (value(&change.after)) } } }
}

/// A short form; a plugin by its version and the beginning of its digest.
fn value(value: &Value) -> String {
    if value.is_null() {
        return "–".to_owned();
    }
    if let (Some(version), Some(sha256)) = (value["version"].as_str(), value["sha256"].as_str()) {
        return line(&format!("{version} (sha256 {})", visible::cut(sha256, 13)));
    }
    line(&visible::cut_middle(&text_of(value), VALUE))
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use serde_json::json;

    use super::*;

    #[test]
    fn a_change_shows_words_of_long_texts_and_both_values_of_all_else() {
        let change = |of, before: Value, after: Value| {
            told(&Change {
                of,
                name: "a<b".to_owned(),
                before: Cow::Owned(before),
                after: Cow::Owned(after),
            })
            .0
        };
        assert_eq!(
            change("grader", Value::Null, json!("judge-2")),
            "<p><b>judge</b> a&lt;b: <del>–</del> → <ins>judge-2</ins></p>"
        );
        let plugin = |version| json!({ "version": version, "sha256": "0123456789abcdef" });
        let told = change("plugin", plugin("1"), plugin("2"));
        assert!(told.contains("<del>1 (sha256 012345678"), "{told}");
        let long = |word: &str| json!(format!("{}{word}", "same words ".repeat(20)));
        let told = change("prompt", long("old<"), long("new"));
        assert!(told.contains("<del>old&lt;</del></pre>"), "{told}");
        assert!(told.contains("<ins>new</ins></pre>"), "{told}");
        let told = change("prompt", json!("Answer shortly."), json!("Answer kindly."));
        assert!(
            told.contains("<pre>Answer <del>shortly.</del></pre>"),
            "{told}"
        );
    }
}
