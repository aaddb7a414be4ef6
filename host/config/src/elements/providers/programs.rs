//! Providers that are the config's own: files of code, and commands.

use serde_json::{Map, Value};

use super::super::code;
use super::super::process::{self, Settings};
use crate::elements::programs::program;
use crate::elements::reading::Reading;
use crate::model::Position;
use crate::plan::ProviderProgram;
use crate::read::entry::Entry;
use crate::read::files::has_extension;

/// Extensions of programs that have no interpreter here.
const OTHER: [&str; 5] = ["rb", "go", "sh", "pl", "php"];

/// Reports a program that is not run.
fn refused(id: &str, at: &Position, reading: Reading<'_>) -> bool {
    let prefix = ["ruby:", "golang:"].into_iter().find(|p| id.starts_with(p));
    let is_other = || program(id).is_some_and(|path| has_extension(path.as_ref(), &OTHER));
    if prefix.is_none() && !is_other() {
        return false;
    }
    let message = format!("'{id}': providers in this language are not run by themselves");
    let help = "start it by a command: `exec: ruby answer.rb` gets the prompt as its first \
                argument and prints the answer";
    reading.findings.error_help(at.clone(), message, help);
    true
}

/// Reads the program that the id of `entry` names, if it does; `Err` is reported.
pub(super) fn read(
    id: &str,
    entry: &Entry<'_>,
    at: &Position,
    reading: Reading<'_>,
) -> Result<Option<ProviderProgram>, ()> {
    let origin = entry.origin;
    let settings = || Settings::read(entry, reading);
    if let Some(line) = id.strip_prefix("exec:") {
        let command = process::command(line, &settings(), (origin, at), reading);
        return command
            .map(|it| Some(ProviderProgram::Command(it)))
            .ok_or(());
    }
    if refused(id, at, reading) {
        return Err(());
    }
    let file = id.strip_prefix("python:").unwrap_or(id);
    if program(file).is_none() && !code::is_package(file) {
        return Ok(None);
    }
    let script = code::file_with(file, at, origin, reading, &settings());
    let script = script.map(|script| code::meant(script, code::CodePurpose::Provider));
    script.map(|it| Some(ProviderProgram::Code(it))).ok_or(())
}

/// Prefix, rest and what answers of the id of a program. The keys of its `config` that are the host's
/// are taken out.
pub(super) fn named(
    id: &str,
    program: &ProviderProgram,
    config: &mut Map<String, Value>,
) -> (String, String, String) {
    config.retain(|key, _| !process::KEYS.contains(&key.as_str()));
    let (prefix, name) = id.split_once(':').unwrap_or((id, ""));
    let answers = match program {
        ProviderProgram::Code(script) => script.language.clone(),
        ProviderProgram::Command(_) => "exec".to_owned(),
    };
    (prefix.to_owned(), name.to_owned(), answers)
}
