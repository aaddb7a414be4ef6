//! The provider `exec:`, a command line of the person's machine.
//!
//! Its words may be files of the config, which say what variables it reads. Each is read once for all
//! commands, and how many are looked for has a limit.

use std::collections::HashSet;
use std::sync::Arc;

use super::{ProgramSource, Settings, program};
use crate::elements::books::digest;
use crate::elements::reading::Reading;
use crate::elements::scan::VariableNames;
use crate::model::{Engine, Position, Process, TextOrigin};

/// Most text of a command's file that is looked into, in bytes.
const MAX_TEXT: u64 = 4 << 20;

/// Longest command line, in bytes: what Linux takes as one argument.
const MAX_LINE: usize = 128 << 10;

/// The provider `exec:`, a command line.
pub(crate) fn command(
    line: &str,
    settings: &Settings,
    (origin, at): (&TextOrigin, &Position),
    reading: Reading<'_>,
) -> Option<Arc<Process>> {
    let engine = Engine::Command {
        line: line.trim().to_owned(),
    };
    let words = engine.words();
    if words.is_empty() {
        let help = "for example: exec: python3 answer.py --short";
        let message = "names no command";
        reading.findings.error_help(at.clone(), message, help);
        return None;
    }
    if line.len() > MAX_LINE {
        let message = format!("a command line has at most {} KiB", MAX_LINE >> 10);
        let help = "give it what is long in a file";
        reading.findings.error_help(at.clone(), message, help);
        return None;
    }
    // What its own files name of the environment; what is elsewhere is not looked into.
    let files = reading.files;
    let looked = reading.code.looked.piece();
    let mut names = VariableNames::of(line);
    let mut digests = Vec::new();
    let mut known = HashSet::new();
    for word in words.iter().filter(|word| known.insert(*word)) {
        let shown = files.shown(word);
        if looked.is_beyond(&shown, files, origin) {
            continue;
        }
        let read = || {
            let file = files.permit_own(&shown, origin)?;
            files.read(&file, MAX_TEXT).ok()
        };
        let file = reading.code.processes.command_file(&shown, read);
        if let Some(file) = file {
            names.add(&file.names);
            digests.push(file.digest.clone());
        }
    }
    if let Some(too_many) = looked.too_many() {
        let message = format!("a command that {too_many}");
        reading.findings.error(at.clone(), message);
        return None;
    }
    let mut texts: Vec<&str> = digests.iter().map(String::as_str).collect();
    texts.push(line);
    let brought = ProgramSource {
        digest: digest(&texts),
        ..ProgramSource::code(engine, &names)
    };
    Some(program(brought, settings, (origin, at), reading))
}
