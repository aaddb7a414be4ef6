//! Code in a config: a text, or a file with everything that it imports.
//!
//! Files are read here, once each, so that what is missing is said before anything is spent and
//! the code itself never sees a disk. What a file imports is found by a scan
//! (see `scan`) and handed over with it; whatever else it asks for does not exist for it.
//! A script's files have names relative to the lowest folder that holds all of them: nothing
//! above what is needed shows in a message.
//!
//! Rows of data files may hold code, which is harmless where it runs; files of code that they name
//! need the person's agreement: somebody else's data would choose what is run and read.

use std::sync::Arc;

use super::books::{GRADED, Inline, form_of};
use super::process::{self, ProgramSource, Settings};
use super::programs::program;
use super::reading::{Reading, Runtime};
use super::scan::{self, JAVASCRIPT, VariableNames};
use crate::model::{
    Code, CodeNeeds, Position, Process, Script, TextOrigin, TrustRequest, TrustSubject,
};
use crate::read::entry::Entry;
use crate::read::files::{names_file, real};
use crate::template::is_plain;

mod convention;
mod gathering;
mod language;
mod package;

use gathering::Gathering;
use language::{languages, spoken};

pub(crate) use convention::{CodePurpose, meant};
pub(crate) use package::is_package;

/// Whether a text names a file that is a program of whatever language, or code in a package.
pub(crate) fn is_file(text: &str) -> bool {
    is_package(text) || names_file(text) && program(text).is_some()
}

/// Code under a key that takes nothing else: `transform`, `transformVars`, …
pub(crate) fn read(entry: &Entry<'_>, reading: Reading<'_>) -> Option<Arc<Script>> {
    let text = entry.want_text(reading.findings)?;
    if is_package(&text) || names_file(&text) {
        return file(&text, &entry.at(), entry.origin, reading);
    }
    if text.trim().is_empty() {
        reading.findings.error(entry.at(), "holds no code");
        return None;
    }
    if !reading.catalog.script_languages.contains_key(JAVASCRIPT) {
        let message = format!("no plugin runs {JAVASCRIPT}");
        reading
            .findings
            .error_help(entry.at(), message, languages(reading.catalog));
        return None;
    }
    let at = entry.at();
    let Runs { process, sends } = inline(JAVASCRIPT, &text, (entry.origin, &at), reading);
    let written = Inline {
        language: JAVASCRIPT.to_owned(),
        text: text.clone(),
        form: form_of(&at.key),
        is_outside: process.is_some(),
    };
    reading.code.syntax.text(written, &at);
    Some(Arc::new(Script {
        language: JAVASCRIPT.to_owned(),
        key: at.key,
        code: Code::Inline { text },
        process,
        sends,
    }))
}

/// Where code runs.
#[derive(Debug, Default)]
pub(crate) struct Runs {
    /// What runs it outside the sandbox, if the sandbox can't.
    pub(crate) process: Option<Arc<Process>>,
    /// Whether it may send requests from the sandbox.
    pub(crate) sends: bool,
}

/// Where an assertion's text of code runs.
pub(crate) fn graded(
    language: &str,
    text: &str,
    (origin, at): (&TextOrigin, &Position),
    reading: Reading<'_>,
) -> Runs {
    let runs = inline(language, text, (origin, at), reading);
    // Templates of it are filled in before it runs.
    if is_plain(text) {
        let text = Inline {
            language: language.to_owned(),
            text: text.to_owned(),
            form: GRADED,
            is_outside: runs.process.is_some(),
        };
        reading.code.syntax.text(text, at);
    }
    runs
}

/// Where a text of code runs. Rows of data bring none that leaves the sandbox or sends from it, whatever
/// vouches for them, and hooks make none. What templates of a text are filled with sends nothing, either.
fn inline(
    language: &str,
    text: &str,
    (origin, at): (&TextOrigin, &Position),
    reading: Reading<'_>,
) -> Runs {
    let settings = Settings::default();
    let granted = granted(language, origin, reading);
    let granted = if is_plain(text) { granted } else { &[] };
    let needs = || scan::of((language, false), text, &|_| false);
    let (reason, reaches) = outside(reading.runtime, (at, reading), needs, granted);
    let engine = process::engine(language, &settings, reading);
    let code = format!("inline {language}");
    let Some((engine, reason)) = engine.zip(reason).filter(|_| origin.may_bring_programs()) else {
        reading.code.note(language);
        reading.code.place(code, None, reaches);
        return Runs {
            process: None,
            sends: !reaches.is_empty(),
        };
    };
    let named = (origin, at);
    let variables = VariableNames::of(text);
    let brought = ProgramSource::code(engine, &variables);
    let process = process::program(brought, &settings, named, reading);
    reading.code.place(code, Some((&process, reason)), &[]);
    Runs {
        process: Some(process),
        sends: false,
    }
}

/// The hosts to which code that somebody wrote may send requests from the sandbox.
fn granted<'a>(language: &str, origin: &TextOrigin, reading: Reading<'a>) -> &'a [String] {
    if origin.may_bring_programs() {
        reading.reaches(language)
    } else {
        &[]
    }
}

/// Why code runs outside the sandbox: because its owner says so, or by what it needs beyond the hosts that
/// it is `granted`. Where the owner keeps it inside, what it will lack there is told. The second part is the
/// hosts that it reaches from inside.
fn outside<'a>(
    runtime: Option<Runtime>,
    (at, reading): (&Position, Reading<'_>),
    needs: impl FnOnce() -> CodeNeeds,
    granted: &'a [String],
) -> (Option<String>, &'a [String]) {
    if runtime == Some(Runtime::Process) {
        return (Some("runtime: process".to_owned()), &[]);
    }
    let needs = needs();
    let reaches = if needs.sends { granted } else { &[] };
    let lacks = match granted {
        [] => needs.first,
        _ => needs.beyond_requests,
    };
    match (runtime, lacks) {
        (_, None) => (None, reaches),
        (None, lacks) => (lacks, &[]),
        (Some(_), Some(need)) => {
            let message = format!("the code {need}, which the sandbox doesn't have");
            let help = "without `runtime: sandbox` it runs on your machine, once you agree";
            reading
                .findings
                .warn(at.clone(), message, Some(help.to_owned()));
            (None, reaches)
        }
    }
}

/// The script that `file://path[:function]` names, or a bare path, or `package:name:export`.
pub(crate) fn file(
    text: &str,
    at: &Position,
    origin: &TextOrigin,
    reading: Reading<'_>,
) -> Option<Arc<Script>> {
    file_with(text, at, origin, reading, &Settings::default())
}

/// The script that such a text names, where its owner says how it runs.
pub(crate) fn file_with(
    text: &str,
    at: &Position,
    origin: &TextOrigin,
    reading: Reading<'_>,
    settings: &Settings,
) -> Option<Arc<Script>> {
    if is_package(text) {
        return package::package(text, at, origin, reading, settings);
    }
    let findings = reading.findings;
    let rest = crate::read::files::without_scheme(text);
    let path = program(text).unwrap_or(rest);
    let entry = rest[path.len()..].strip_prefix(':').map(str::to_owned);
    let (language, extensions, runs) = spoken(path, at, reading, settings)?;
    let shown = reading.files.shown(path);
    let absolute = reading.files.absolute(path);
    let may_run = !origin.is_data()
        || findings.may_read(TrustRequest {
            subject: TrustSubject::Code {
                path: real(&absolute),
            },
            origin: origin.clone(),
            at: at.clone(),
        });
    let may_read = reading.files.permit(&shown, at, origin, findings).is_some();
    if !(may_read && may_run) {
        return None;
    }
    let is_outside = runs == Some(Runtime::Process);
    let found = reading.code.found(absolute, || {
        Gathering::new(reading, language, &extensions, origin, is_outside).all(&shown, at)
    })?;
    let files = &found.files;
    let granted = granted(language, origin, reading);
    let (reason, reaches) = outside(runs, (at, reading), || files.needs.clone(), granted);
    let engine = process::engine(language, settings, reading);
    let process = engine.zip(reason).map(|(engine, reason)| {
        let brought = ProgramSource {
            typed: found.is_typed().then(|| files.clone()),
            ..ProgramSource::code(engine, found.names())
        };
        let process = process::program(brought, settings, (origin, at), reading);
        (process, reason)
    });
    let syntax = &reading.code.syntax;
    syntax.files(language, files, process.is_some(), (&*shown, at));
    let runs = process.as_ref();
    let runs = runs.map(|(process, reason)| (&**process, reason.clone()));
    // Who runs it in the sandbox also makes JavaScript of its TypeScript.
    if process
        .as_ref()
        .is_none_or(|(process, _)| process.typed.is_some())
    {
        reading.code.note(language);
    }
    let code = shown.display().to_string();
    reading.code.place(code, runs, reaches);
    Some(Arc::new(Script {
        language: language.to_owned(),
        key: at.key.clone(),
        code: Code::File {
            files: files.clone(),
            entry,
        },
        process: process.map(|(process, _)| process),
        sends: !reaches.is_empty(),
    }))
}

#[cfg(test)]
mod tests;
