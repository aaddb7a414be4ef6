//! Which two runs are to be compared, where those that were ticked are not two.

use maud::html;
use runner_store::{RunInfo, StoreError};
use runner_telling::figures;

use super::super::{layout, list, name};
use crate::request::Reply;
use crate::site::Site;

/// Runs that are offered beside the one that was ticked.
const OFFERED: usize = 20;

/// The page: those that were ticked; beside one with a single column, runs that are like it, or else the newest.
pub(super) fn page(site: &Site, ticked: &[RunInfo]) -> Result<Reply, StoreError> {
    let mut runs = ticked.to_vec();
    if let [run] = ticked {
        runs = site.store.runs_like(&run.id, OFFERED)?;
    }
    if runs.len() < 2 {
        runs = site.store.search_runs("", 0, OFFERED)?;
    }
    if let [run] = ticked
        && !runs.iter().any(|it| it.id == run.id)
    {
        runs.push(run.clone());
    }
    let known: Vec<&str> = ticked.iter().map(|it| &*it.id).collect();
    let ticks = if ticked.len() == 1 { &known[..] } else { &[] };
    let table = list::table(site, runs, ticks)?;
    Ok(Reply::Page(layout(
        "Choose two runs",
        &html! {
            p.crumbs { a rel="up" href="/" { "Runs" } }
            h1 { "Choose two runs" }
            p {
                @match ticked {
                    [] => "No run was ticked. ",
                    [run] => { "“" (name(run)) "” has one column and can only be compared with another run. " },
                    _ => { (figures::count(ticked.len() as u64)) " runs were ticked, those below. " },
                }
                "A comparison is of two: tick them."
            }
            (table)
        },
    )))
}
