//! `runner export`: a kept run as files, in every format that `eval -o` has, or as a folder of pages.
//!
//! It has the writers of `eval` write the rows as they are kept, so that a file exported later is the
//! file that the run would have written. promptfoo's `export eval ID` is understood, too.

use std::path::Path;
use std::{fs, io};

use super::{CommandContext, diff, show};
use crate::arguments::Export;
use crate::exit::SUCCESS;
use crate::failure::Failure;
use crate::figures;
use crate::output::{Output, Run};
use crate::stdout;
use crate::stored::{self, StoredRun};
use runner_config::TextOrigin;
use runner_config::plan::OutputPath;
use runner_store::{RunState, Store, StoreError};
use serde_json::json;

/// Exports a run.
pub(super) fn run(arguments: &Export, setting: &CommandContext) -> Result<u8, Failure> {
    let wanted = arguments.run()?;
    let paths: Vec<_> = arguments
        .output
        .iter()
        .map(|path| OutputPath::new(setting.cwd.join(path), TextOrigin::Person))
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
    let mut written: Vec<String> = Vec::new();
    if let Some(folder) = &arguments.folder {
        let path = setting.cwd.join(folder);
        pages(&path, store.clone(), &run.info.id, setting)?;
        written.push(folder.display().to_string());
    } else if outputs.is_empty() {
        show::document(&run)?;
        return Ok(SUCCESS);
    }
    if !outputs.is_empty() {
        write(&run, before, &outputs, &store, setting)?;
        let paths = outputs.iter().map(|it| it.path().display().to_string());
        written.extend(paths);
    }
    if arguments.json {
        stdout::json(&json!({ "run": run.info.id, "written": written }))?;
    }
    Ok(SUCCESS)
}

/// Writes its results files.
fn write(
    run: &StoredRun,
    before: Option<StoredRun>,
    outputs: &[Output],
    store: &Store,
    setting: &CommandContext,
) -> Result<(), Failure> {
    let summary = run.sum_up(|_| {})?;
    let against = before.map(|before| diff::against(store, &before, run));
    let against = against.transpose()?;
    let told = Run {
        against: against.as_ref(),
        ..run.run(&summary)
    };
    for output in outputs {
        output.write(&told)?;
        setting.talk.written(output.path());
    }
    Ok(())
}

/// Writes a run as a folder of pages. One that has something in it is left alone: whose that is nobody knows.
fn pages(folder: &Path, store: Store, id: &str, setting: &CommandContext) -> Result<(), Failure> {
    let shown = folder.display();
    let failed = |what: &str, error: &io::Error| {
        Failure::usage(format!("can't {what} the folder {shown}: {error}"))
    };
    let is_full = fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some());
    if is_full {
        let message = format!("there is something in {shown} already");
        return Err(Failure::usage(message).help("name a new folder, or empty that one"));
    }
    fs::create_dir_all(folder.join("cases")).map_err(|error| failed("make", &error))?;
    fs::create_dir_all(folder.join("assets")).map_err(|error| failed("make", &error))?;
    let count = runner_view::folder(store, id, &mut |name, content| {
        fs::write(folder.join(name), content)
    });
    let count = count.map_err(|error| Failure::from(anyhow::Error::new(error)))?;
    let files = figures::counted(count, "file", "files");
    setting.talk.line(&format!("written: {files} in {shown}"));
    Ok(())
}
