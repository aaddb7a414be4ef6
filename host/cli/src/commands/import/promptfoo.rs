//! `runner import --from-promptfoo`: the runs of promptfoo's database, each like a results file.
//!
//! The database is only read. A run that can't be understood is told and left out, and the others are kept; one
//! that was imported before is passed over, so that the command can be given again.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use runner_store::{PromptfooFile, PromptfooRun, StoreError};
use serde_json::{Value, json};

use super::{ResultsFile, Survey, imported, is_id, keep_as, new_id, said_twice, survey};
use crate::arguments::Import;
use crate::commands::CommandContext;
use crate::exit::{SUCCESS, USAGE};
use crate::failure::Failure;
use crate::figures;
use crate::results_file::Unreadable;
use crate::stdout;
use crate::visible;

/// What the file is called.
const NAME: &str = "promptfoo.db";

/// What has become of the runs.
#[derive(Debug, Default)]
struct ImportedRuns {
    imported: u64,
    results: u64,
    /// Imported before.
    kept: u64,
    /// Without rows: nothing was run, or rows were kept in another way then.
    empty: u64,
    unreadable: u64,
}

/// Imports them; gives the exit code.
pub(super) fn run(arguments: &Import, setting: &CommandContext) -> Result<u8, Failure> {
    let path = place(arguments, setting)?;
    let shown = visible::line(&path.display().to_string()).into_owned();
    let failed = |error: StoreError| {
        let why = match error {
            StoreError::Foreign { .. } => format!("{shown} is no database of promptfoo's"),
            other => format!("can't import {shown}: {:#}", anyhow::Error::new(other)),
        };
        Failure::usage(why)
    };
    let file = Rc::new(PromptfooFile::open(&path).map_err(failed)?);
    let mut counts = ImportedRuns::default();
    for run in file.runs().map_err(failed)? {
        one(&run, &file, &path, arguments, setting, &mut counts)?;
    }
    if arguments.json {
        stdout::json(&as_json(&counts))?;
    } else {
        stdout::print(&told(&counts))?;
    }
    Ok(if counts.unreadable > 0 {
        USAGE
    } else {
        SUCCESS
    })
}

/// Where the database is.
fn place(arguments: &Import, setting: &CommandContext) -> Result<PathBuf, Failure> {
    let environment = &setting.environment;
    let home = || {
        environment
            .get("HOME")
            .or_else(|| environment.get("USERPROFILE"))
    };
    let of_home = || Some(Path::new(home()?).join(".promptfoo"));
    let named = arguments.from_promptfoo.iter().flatten().next();
    let of_variable = || environment.get("PROMPTFOO_CONFIG_DIR").map(PathBuf::from);
    let folder = named.map(|named| setting.cwd.join(named));
    let folder = folder.or_else(of_variable).or_else(of_home);
    let help = "name the folder that has promptfoo.db: runner import --from-promptfoo DIR";
    let unknown =
        || Failure::usage("there is no home folder that could have .promptfoo").help(help);
    let folder = folder.ok_or_else(unknown)?;
    let path = if folder.is_dir() {
        folder.join(NAME)
    } else {
        folder
    };
    // A pipe or a device is no database, and reading one may never end.
    if path.is_file() {
        return Ok(path);
    }
    let shown = path.display().to_string();
    Err(Failure::usage(format!("there is no {}", visible::line(&shown))).help(help))
}

/// Imports a run.
fn one(
    run: &PromptfooRun,
    file: &Rc<PromptfooFile>,
    path: &Path,
    arguments: &Import,
    setting: &CommandContext,
    counts: &mut ImportedRuns,
) -> Result<(), Failure> {
    if run.rows == 0 {
        counts.empty += 1;
        return Ok(());
    }
    let name = visible::line(&visible::cut(&run.id, 100)).into_owned();
    let read = || -> Result<(ResultsFile, Survey), Unreadable> {
        let file = ResultsFile::of_promptfoo(file, run)?;
        let survey = survey(&file)?;
        Ok((file, survey))
    };
    let (file, survey) = match read() {
        Ok(read) => read,
        Err(error) => {
            counts.unreadable += 1;
            let warning = format!("{name} is left out: {}", visible::line(&error.0));
            setting.talk.warning(&warning);
            return Ok(());
        }
    };
    if survey.twice > 0 {
        setting.talk.warning(&said_twice(&name, &survey));
    }
    let id = if is_id(&run.id) {
        imported(&run.id)
    } else {
        new_id(path)
    };
    let store = setting.store()?;
    if keep_as(&id, &file, &survey, path, arguments.force, &store)?.is_ok() {
        counts.imported += 1;
        counts.results += survey.rows - survey.twice;
    } else {
        counts.kept += 1;
    }
    Ok(())
}

fn as_json(counts: &ImportedRuns) -> Value {
    json!({
        "imported": counts.imported, "results": counts.results, "importedBefore": counts.kept,
        "withoutResults": counts.empty, "unreadable": counts.unreadable,
    })
}

fn told(counts: &ImportedRuns) -> String {
    let runs = figures::counted(counts.imported, "run", "runs");
    let results = figures::counted(counts.results, "result", "results");
    let mut text = format!("imported: {runs}, {results}\n");
    let mut also = |count: u64, one: &str, many: &str| {
        if count > 0 {
            text += &figures::counted(count, one, many);
            text.push('\n');
        }
    };
    also(
        counts.kept,
        "run was imported before",
        "runs were imported before",
    );
    also(
        counts.empty,
        "run has no results, or has them in the form of an old version",
        "runs have no results, or have them in the form of an old version",
    );
    also(
        counts.unreadable,
        "run could not be read",
        "runs could not be read",
    );
    if counts.imported > 0 {
        text.push_str("next: runner list\n");
    }
    text
}
