//! What people said of a run, and how far its judges agree with them.

use std::sync::Arc;

use maud::html;
use runner_store::StoreError;
use runner_telling::figures;
use serde_json::{Value, json};

use super::{layout, line, name};
use crate::address::segment;
use crate::agreement::{self, Agreed};
use crate::request::Reply;
use crate::significance::kappa;
use crate::site::Site;

/// The page.
pub(super) fn page(site: &Arc<Site>, id: &str) -> Result<Reply, StoreError> {
    let run = site.store.run(id)?;
    let agreement = agreement::of(&site.store, id)?;
    let said = site.store.annotations(id)?;
    let at = format!("/runs/{}", segment(id));
    Ok(Reply::Page(layout(
        &format!("People and judges of {}", name(&run)),
        &html! {
            p.crumbs { a rel="up" href=(at) { (name(&run)) } }
            h1 { "People and judges" }
            p {
                (figures::counted(said.len() as u64, "case was", "cases were")) " graded by people. "
                @if !said.is_empty() { a href={ (at) "?only=rated" } { "Show them" } " · " a href={ (at) "/annotations.json" } { "Save as JSON" } }
            }
            @if agreement.is_empty() {
                p.empty { "Give cases a thumb up or down, or a score, on their pages (keys + and -); this page then shows how far each metric agrees." }
            } @else {
                div.scroll tabindex="0" role="region" aria-label="Agreement" { table {
                    thead { tr {
                        th scope="col" { "Metric" } th.n scope="col" { "Cases" } th.n scope="col" { "Accuracy" } th.n scope="col" { "Cohen's kappa" }
                        th.n scope="col" { "Both yes" } th.n scope="col" { "Only the judge" } th.n scope="col" { "Only people" } th.n scope="col" { "Both no" }
                    } }
                    tbody { @for (metric, Agreed { pairs, not_graded }) in &agreement { tr {
                        th scope="row" { (line(metric)) }
                        td.n { (figures::count(pairs.total())) @if *not_graded > 0 { " " small { (figures::count(*not_graded)) " not graded" } } }
                        td.n { (figures::percent(pairs.both + pairs.neither, pairs.total())) }
                        td.n { (kappa(pairs).map_or("–".to_owned(), |it| format!("{it:.2}"))) }
                        td.n { (figures::count(pairs.both)) } td.n { (figures::count(pairs.worse)) }
                        td.n { (figures::count(pairs.better)) } td.n { (figures::count(pairs.neither)) }
                    } } }
                } }
                p.hint { "A thumb up counts as yes, and without a thumb a score of 0.5 or more. What a judge failed to grade is counted apart. What a human assertion asked people is left out, of the verdict, too. Kappa is the agreement beyond chance: 1 is full agreement, 0 none; – means that one side always gives the same verdict." }
            }
        },
    )))
}

/// What was said, as a file.
pub(super) fn file(site: &Arc<Site>, id: &str) -> Result<Reply, StoreError> {
    let said = site.store.annotations(id)?;
    let said = said.iter().map(|it| {
        let said = &it.annotation;
        json!({
            "testIdx": it.test_idx, "promptIdx": it.prompt_idx, "id": it.row_id,
            "thumb": said.thumb.map(|up| if up { "up" } else { "down" }),
            "score": said.score, "label": said.label, "comment": said.comment,
        })
    });
    let all = json!({ "evalId": id, "annotations": said.collect::<Value>() });
    let content = serde_json::to_vec_pretty(&all).unwrap_or_default();
    Ok(Reply::File(
        "annotations.json".to_owned(),
        "application/json",
        content,
    ))
}
