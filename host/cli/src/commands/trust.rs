//! `runner trust`: what a config asks for beyond its rights, and what was agreed to.
//!
//! It finds what `eval` with the same flags would ask, by the same code.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use runner_eval::trust::Author;
use serde_json::{Value, json};

use super::{CommandContext, eval};
use crate::arguments::Trust;
use crate::consent::{Entry, Folders, canonical, of_folder};
use crate::exit::SUCCESS;
use crate::failure::Failure;
use crate::figures;
use crate::stdout;
use crate::visible;

/// Asks, shows, lists or forgets.
pub(super) fn run(arguments: Trust, setting: &CommandContext) -> Result<u8, Failure> {
    let mut inputs = arguments.inputs;
    inputs.config.splice(0..0, arguments.paths);
    if arguments.list {
        let all = setting.remembered.all()?;
        if arguments.json {
            stdout::json(&as_json(&all))?;
        } else {
            stdout::print(&listed(&all))?;
        }
        Ok(SUCCESS)
    } else if arguments.revoke {
        revoke(&inputs.config, setting)
    } else if arguments.show {
        eval::show(&inputs, setting)
    } else {
        eval::agree(&inputs, arguments.yes, setting)
    }
}

/// Forgets what was agreed to for the folders of these paths, or for this folder; nothing if one
/// of them means none.
fn revoke(paths: &[PathBuf], setting: &CommandContext) -> Result<u8, Failure> {
    let all = setting.remembered.all()?;
    let folders = if paths.is_empty() {
        BTreeSet::from([canonical(&setting.cwd)])
    } else {
        let meant = paths.iter().map(|path| meant(path, &setting.cwd, &all));
        meant.collect::<Result<_, _>>()?
    };
    let forgotten = setting.remembered.forget(folders)?;
    let lines = forgotten.into_iter().map(|(folder, count)| {
        let counted = figures::counted(count, "agreement", "agreements");
        let text = format!("forgotten: {counted} for configs in {}", folder.display());
        visible::line(&text).into_owned() + "\n"
    });
    stdout::print(&lines.collect::<String>())?;
    Ok(SUCCESS)
}

/// The folder that a path means: itself, or that of a file. One that is gone may still have
/// agreements.
fn meant(path: &Path, cwd: &Path, all: &Folders) -> Result<PathBuf, Failure> {
    let full = cwd.join(path);
    let folder = if full.is_dir() || !full.exists() {
        &full
    } else {
        full.parent().unwrap_or(&full)
    };
    let folder = canonical(folder);
    if full.exists() || of_folder(all, &folder).next().is_some() {
        return Ok(folder);
    }
    let message = format!(
        "{} does not exist, and nothing was agreed to for a folder of that name",
        path.display()
    );
    Err(Failure::usage(message).help("`runner trust --list` names the folders"))
}

/// Everything, by folders.
fn listed(folders: &Folders) -> String {
    let mut lines = Vec::new();
    for (first, entries) in folders {
        let scopes: BTreeSet<&BTreeSet<PathBuf>> = entries.iter().map(|it| &it.with).collect();
        for with in scopes {
            let names = std::iter::once(first).chain(with);
            let names: Vec<String> = names.map(|it| it.display().to_string()).collect();
            let together = if with.is_empty() { "" } else { " together" };
            lines.push(format!("{}{together}:", names.join(" and ")));
            let entries = entries.iter().filter(|entry| entry.with == *with);
            lines.extend(entries.map(line));
        }
    }
    if lines.is_empty() {
        lines.push("nothing was agreed to".to_owned());
    }
    let safe = lines
        .iter()
        .map(|line| visible::line(line).into_owned() + "\n");
    safe.collect()
}

/// Everything, for programs: an agreement each, with the folders that it holds for together.
fn as_json(folders: &Folders) -> Value {
    let entries = folders.iter().flat_map(|(first, entries)| {
        entries.iter().map(move |entry| {
            let with: BTreeSet<&PathBuf> = std::iter::once(first).chain(&entry.with).collect();
            let (by, file) = match &entry.agreed.author {
                Author::Config => ("config", None),
                Author::Data(file) => ("data", Some(file)),
            };
            json!({
                "folders": with, "on": entry.on, "askedBy": by, "file": file,
                "may": entry.agreed.subject.to_string(),
            })
        })
    });
    entries.collect()
}

fn line(entry: &Entry) -> String {
    let author = match &entry.agreed.author {
        Author::Config => "its config".to_owned(),
        Author::Data(file) => format!("rows of {}", file.display()),
    };
    format!("  {} {author} may {}", entry.on, entry.agreed.subject)
}
