//! `runner init`: a small config that runs at once, offline, and shows what a config can say.
//!
//! No questions and no downloads: it works in a script, and a person edits a file faster than
//! they answer a dialog. It never writes over anything. The schema for editors is written beside it, since a
//! line that names a file that is not there would be an error in every editor.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

use anyhow::Context as _;
use serde_json::json;

use super::CommandContext;
use super::config::schema_text;
use crate::arguments::{Init, SCHEMA_NAME};
use crate::exit::SUCCESS;
use crate::failure::Failure;
use crate::stdout;
use crate::visible;

/// The config. Its first line makes editors complete keys, types and providers, by the schema beside it.
const CONFIG: &str = include_str!("init/promptfooconfig.yaml");
/// Its name.
const NAME: &str = "promptfooconfig.yaml";

/// Writes the config and says what to do next.
pub(super) fn run(arguments: &Init, setting: &CommandContext) -> Result<u8, Failure> {
    let folder = match &arguments.folder {
        Some(folder) => setting.cwd.join(folder),
        None => setting.cwd.clone(),
    };
    let shown = |name: &str| match &arguments.folder {
        Some(folder) => folder.join(name).display().to_string(),
        None => name.to_owned(),
    };
    fs::create_dir_all(&folder)
        .with_context(|| format!("can't make the folder {}", folder.display()))?;
    // A config under another of the names would be found instead of this one, or beside it.
    for name in runner_config::DEFAULT_NAMES {
        if folder.join(name).exists() {
            return Err(
                Failure::usage(format!("there is a {} already", shown(name)))
                    .help("run it with `runner eval`, or name another folder: runner init DIR"),
            );
        }
    }
    let path = folder.join(NAME);
    match write_new(&path, CONFIG) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            return Err(Failure::usage(format!(
                "there is a {} already",
                shown(NAME)
            )));
        }
        other => other.with_context(|| format!("can't write {}", path.display()))?,
    }
    // One that is there is a person's, or an older one that `config schema --write` replaces.
    let schema = folder.join(SCHEMA_NAME);
    let mut files = vec![shown(NAME)];
    match write_new(&schema, &schema_text()) {
        Ok(()) => files.push(shown(SCHEMA_NAME)),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        failed => failed.with_context(|| format!("can't write {}", schema.display()))?,
    }
    let next = match &arguments.folder {
        Some(_) => format!("runner eval -c {}", shown(NAME)),
        None => "runner eval".to_owned(),
    };
    if arguments.json {
        stdout::json(&json!({ "written": files, "next": next }))?;
        return Ok(SUCCESS);
    }
    let about = if files.len() > 1 {
        " (for editors)"
    } else {
        ""
    };
    let text = format!("written: {}{about}\nnext: {next}", files.join(", "));
    stdout::print(&format!("{}\n", visible::block(&text)))?;
    Ok(SUCCESS)
}

/// Writes a file that is not there yet. A link is, wherever it leads.
fn write_new(path: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(text.as_bytes())
}
