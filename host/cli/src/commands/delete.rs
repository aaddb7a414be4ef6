//! `runner delete`: kept runs, with their results, for good.
//!
//! All of them are found before any is deleted, so that a slip in the last name costs nothing. It asks
//! where somebody can be asked, and wants `--yes` where not.

use std::collections::HashSet;

use jiff::tz::TimeZone;
use runner_store::{RunInfo, RunState, StoreError};
use serde_json::json;

use super::CommandContext;
use super::list::table;
use crate::arguments::Delete;
use crate::consent::{Answer, ask};
use crate::exit::SUCCESS;
use crate::failure::Failure;
use crate::figures;
use crate::stdout;
use crate::stored::unfound;
use crate::visible;

/// Deletes runs.
pub(super) fn run(arguments: &Delete, setting: &CommandContext) -> Result<u8, Failure> {
    let Some(store) = setting.existing_store()? else {
        return Err(unfound(StoreError::NoRuns));
    };
    let mut runs: Vec<RunInfo> = Vec::new();
    let mut named = HashSet::new();
    for wanted in &arguments.runs {
        let run = store.find_run(wanted).map_err(unfound)?;
        if run.state == RunState::Running {
            return Err(is_live(&run.id));
        }
        if named.insert(run.id.clone()) {
            runs.push(run);
        }
    }
    if !arguments.yes && !agreed(&runs, setting)? {
        return Err(Failure::usage("nothing was deleted"));
    }
    for run in &runs {
        match store.delete_run(&run.id) {
            Err(StoreError::RunIsLive { id }) => return Err(is_live(&id)),
            done => done.map_err(anyhow::Error::new)?,
        }
        if !arguments.json {
            stdout::print(&format!("deleted: {}\n", visible::line(&run.id)))?;
        }
    }
    if arguments.json {
        let ids: Vec<&str> = runs.iter().map(|run| &*run.id).collect();
        stdout::json(&json!({ "deleted": ids }))?;
    }
    Ok(SUCCESS)
}

fn is_live(id: &str) -> Failure {
    Failure::usage(format!("run {id} is going on")).help("wait until it has ended, or end it")
}

/// Asks.
fn agreed(runs: &[RunInfo], setting: &CommandContext) -> Result<bool, Failure> {
    let count = figures::counted(runs.len() as u64, "run", "runs");
    if !setting.terminal.can_ask {
        let message = format!("{count} would be deleted, and nobody can be asked");
        return Err(Failure::usage(message).help("give --yes to delete without being asked"));
    }
    let listed = table(runs, &TimeZone::system(), setting.terminal.width);
    let question = format!("{listed}Delete {count} and all results? [y/N] ");
    match ask(&question)? {
        Answer::Yes => Ok(true),
        Answer::No => Ok(false),
        Answer::Interrupted => Err(Failure::interrupted("nothing was deleted")),
    }
}
