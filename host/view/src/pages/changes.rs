//! What a person may change: the name and the note of a run, whether it is kept, and what is said of
//! a case. All of it comes as a form from a page of ours; the door has seen to that.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use runner_store::{Annotation, StoreError};

use super::nothing;
use crate::address::{Address, segment};
use crate::people;
use crate::request::{Fields, Reply, Request};
use crate::site::Site;

/// Characters of a text that is kept.
const MOST_CHARS: usize = 20_000;

/// Renames, notes or deletes a run.
pub(super) fn run(
    site: &Arc<Site>,
    id: &str,
    what: &str,
    form: &Fields,
) -> Result<Reply, StoreError> {
    match what {
        "rename" => site
            .store
            .rename_run(id, text(form, "description").as_deref())?,
        "note" => site.store.note_run(id, text(form, "note").as_deref())?,
        "delete" => {
            site.store.delete_run(id)?;
            return Ok(Reply::Redirect("/".to_owned()));
        }
        _ => return Ok(nothing()),
    }
    Ok(Reply::Redirect(match form.get("from") {
        Some("list") => "/".to_owned(),
        _ => format!("/runs/{}", segment(id)),
    }))
}

/// Keeps what is said of a case.
pub(super) fn annotate(
    site: &Arc<Site>,
    id: &str,
    (test, column): (u32, u32),
    request: &Request,
) -> Result<Reply, StoreError> {
    let form = &request.form;
    let Some(row) = site.store.rows_by_key(id)?.row(test, column)? else {
        return Ok(Reply::Missing(format!(
            "run {id} has no result of test {test} in column {column}"
        )));
    };
    if form.get("row") != Some(&row.row_id) {
        let why = "the case was run again while this page was open; nothing was kept. Open it anew to see its answer";
        return Ok(Reply::Refused(why.to_owned()));
    }
    let Ok(score) = score(form.get("score").unwrap_or_default()) else {
        let why = "a score is a number from 0 to 1; nothing was kept";
        return Ok(Reply::Refused(why.to_owned()));
    };
    let said = Annotation {
        thumb: match form.get("thumb") {
            Some("up") => Some(true),
            Some("down") => Some(false),
            _ => None,
        },
        score,
        label: text(form, "label"),
        comment: text(form, "comment"),
    };
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let said = [(&*row.row_id, &said)];
    people::annotate(&site.store, id, said, now.as_millis() as i64)?;
    site.forget(id);
    let query = Address::read(&request.query).query();
    Ok(Reply::Redirect(format!(
        "/runs/{}/cases/{test}/{column}{query}",
        segment(id)
    )))
}

/// A score as a person writes it, none where nothing is written.
fn score(text: &str) -> Result<Option<f64>, ()> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(None);
    }
    let score: f64 = text.parse().map_err(|_| ())?;
    (0.0..=1.0)
        .contains(&score)
        .then_some(Some(score))
        .ok_or(())
}

fn text(form: &Fields, name: &str) -> Option<String> {
    let text: String = form.get(name)?.trim().chars().take(MOST_CHARS).collect();
    (!text.is_empty()).then_some(text)
}
