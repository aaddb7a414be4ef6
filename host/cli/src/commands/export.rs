//! `runner export`: a kept run as files, in every format that `eval -o` has.
//!
//! It has the writers of `eval` write the rows as they are kept, so that a file exported later is the
//! file that the run would have written. promptfoo's `export eval ID` is understood, too.

use super::{Setting, diff, show};
use crate::arguments::Export;
use crate::exit::SUCCESS;
use crate::failure::Failure;
use crate::output::{Output, Run};
use crate::stored::{self, StoredRun};
use runner_config::Origin;
use runner_config::plan::OutputPath;
use runner_store::{RunState, StoreError};

/// Exports a run.
pub(super) fn run(arguments: &Export, setting: &Setting) -> Result<u8, Failure> {
    let wanted = arguments.run()?;
    let paths: Vec<_> = arguments
        .output
        .iter()
        .map(|path| OutputPath::new(setting.cwd.join(path), Origin::Person))
        .collect();
    // Before the database is looked at: a wrong name is wrong whatever is in there.
    let outputs = Output::prepare(&paths, arguments.csv_raw)?;
    let Some(store) = setting.existing_store()? else {
        return Err(stored::unfound(StoreError::NoRuns));
    };
    let run = StoredRun::find(store.clone(), wanted)?;
    let before = diff::baseline(&store, arguments.baseline.as_deref())?;
    if run.info.state == RunState::Running {
        let note = "this run is still going on; this is what it has so far";
        setting.talk.note(note);
    }
    if outputs.is_empty() {
        show::document(&run)?;
        return Ok(SUCCESS);
    }
    let summary = run.sum_up(|_| {})?;
    let against = before.map(|before| diff::against(&store, &before, &run));
    let against = against.transpose()?;
    let told = Run {
        against: against.as_ref(),
        ..run.run(&summary)
    };
    for output in &outputs {
        output.write(&told)?;
        setting.talk.written(output.path());
    }
    Ok(SUCCESS)
}
