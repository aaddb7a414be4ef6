//! What of a config runs on the person's machine, outside the sandbox, and what it is given.
//!
//! Code runs there when the sandbox has not what it wants (`code::needs`), or `runtime` says so; a
//! provider `exec:` always does. Each needs the person's agreement, which is for a command in a
//! folder, not for the files there: code may import what no scan sees. All that one config runs by
//! one command is one request.
//!
//! What the config's `env` and a provider's say is part of the command. Any variable may decide what
//! a command does (`LD_PRELOAD`, `BASH_FUNC_ls%%`) or where a key goes (`HTTPS_PROXY`,
//! `OPENAI_BASE_URL`), and each language and library has its own, so there is no list of harmless
//! ones.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use super::books::shown;
use super::reading::{Reading, Runtime};
use super::scan::{JAVASCRIPT, PYTHON, VariableNames};
use crate::environment;
use crate::model::{ANY_VARIABLE, CodeFiles, Engine, Findings, Position, Process, TextOrigin};
use crate::read::entry::Entry;
use crate::read::files::real;

mod command;

pub(crate) use command::command;

/// Keys of a provider's `config` that are the host's.
pub(crate) const KEYS: [&str; 7] = [
    "runtime",
    "pythonExecutable",
    "workers",
    "timeout",
    "inheritEnv",
    "memoryMb",
    "cache",
];

/// Most workers of one program: each is an interpreter of its own.
const MAX_WORKERS: u64 = 256;

/// Longest that a call may be allowed: a day, in milliseconds.
const MAX_TIMEOUT_MS: u64 = 86_400_000;

/// Most memory that a program may be allowed, in MiB.
const MAX_MEMORY_MB: u64 = 1 << 20;

/// What a config says about where its code runs, and how.
#[derive(Debug, Clone, Default)]
pub(crate) struct Settings {
    pub(crate) runtime: Option<Runtime>,
    executable: Option<String>,
    workers: Option<u32>,
    timeout: Option<Duration>,
    inherits_env: bool,
    memory_mb: Option<u64>,
    is_cached: bool,
    /// Variables of the environment that the provider takes in.
    filled_in: Vec<String>,
    /// What its `env` says, as it is shown.
    env: BTreeMap<String, String>,
}

impl Settings {
    /// Of a provider, by its `config`.
    pub(crate) fn read(provider: &Entry<'_>, reading: Reading<'_>) -> Self {
        let reads = reading.declared.reads_of(provider).into_iter();
        let mut filled_in: Vec<String> = reads.map(|read| read.name).collect();
        let mut env = BTreeMap::new();
        if let Some(own) = provider.get("env") {
            for (name, value) in own.fields() {
                environment::check_name(name, value.at(), reading.findings);
                match value.value_as_written() {
                    Some(written) => drop(env.insert(name.to_owned(), shown(name, &written))),
                    // Without a value it is the environment's.
                    None => filled_in.push(name.to_owned()),
                }
            }
        }
        let Some(config) = provider.get("config") else {
            return Self {
                filled_in,
                env,
                ..Self::default()
            };
        };
        let findings = reading.findings;
        let flag = |key: &str| config.get(key).and_then(|entry| entry.want_bool(findings));
        let count = |key: &str, max: u64| config.get(key)?.want_count(findings, 1, max);
        let executable = config.get("pythonExecutable");
        Self {
            runtime: config.get("runtime").and_then(|it| runtime(&it, findings)),
            executable: executable.and_then(|entry| entry.want_text(findings)),
            workers: count("workers", MAX_WORKERS).map(|count| count as u32),
            timeout: count("timeout", MAX_TIMEOUT_MS).map(Duration::from_millis),
            inherits_env: flag("inheritEnv").unwrap_or_default(),
            memory_mb: count("memoryMb", MAX_MEMORY_MB),
            is_cached: flag("cache").unwrap_or_default(),
            filled_in,
            env,
        }
    }
}

/// The value of a key `runtime`; anything else is reported.
pub(crate) fn runtime(entry: &Entry<'_>, findings: &Findings) -> Option<Runtime> {
    let known = entry.text().and_then(known);
    if known.is_none() {
        let help = "runtime: sandbox, or runtime: process";
        findings.error_help(entry.at(), "must be `sandbox` or `process`", help);
    }
    known
}

/// Where code runs, by its word.
pub(crate) fn known(word: &str) -> Option<Runtime> {
    match word {
        "sandbox" => Some(Runtime::Sandbox),
        "process" => Some(Runtime::Process),
        _ => None,
    }
}

/// The interpreter of a language, if there is one for it.
pub(crate) fn engine(language: &str, settings: &Settings, reading: Reading<'_>) -> Option<Engine> {
    match language {
        PYTHON => {
            let persons = environment::value(reading.process, environment::PYTHON);
            let persons = persons.map(|(_, value)| value.to_owned());
            Some(Engine::Python {
                executable: settings.executable.clone().or(persons),
            })
        }
        JAVASCRIPT => Some(Engine::Node),
        _ => None,
    }
}

/// A program as its code, or its command line, brings it.
pub(crate) struct ProgramSource<'a> {
    pub(crate) engine: Engine,
    /// sha256 (hex) of a command and its files; empty for an interpreter.
    pub(crate) digest: String,
    /// The variables that its own texts read.
    pub(crate) names: &'a VariableNames,
    /// Files of which some are TypeScript.
    pub(crate) typed: Option<Arc<CodeFiles>>,
}

impl<'a> ProgramSource<'a> {
    /// By code for an interpreter.
    pub(crate) fn code(engine: Engine, names: &'a VariableNames) -> Self {
        Self {
            engine,
            digest: String::new(),
            names,
            typed: None,
        }
    }
}

/// A program, which is noted.
pub(crate) fn program(
    brought: ProgramSource<'_>,
    settings: &Settings,
    (origin, at): (&TextOrigin, &Position),
    reading: Reading<'_>,
) -> Arc<Process> {
    let ProgramSource {
        engine,
        digest,
        names,
        typed,
    } = brought;
    let mut variables = if settings.inherits_env {
        BTreeSet::from([ANY_VARIABLE.to_owned()])
    } else {
        names.given()
    };
    // Those that its config takes in are handed to it, too.
    variables.extend(settings.filled_in.iter().cloned());
    let workers = settings.workers.or_else(|| {
        let is_python = matches!(engine, Engine::Python { .. });
        is_python.then(|| python_workers(reading)).flatten()
    });
    let folder = real(&reading.files.cwd.join(&reading.files.root));
    let process = Process {
        engine,
        digest,
        folder,
        origin: origin.by_name().clone(),
        env: settings.env.clone(),
        variables,
        workers,
        timeout: settings.timeout,
        memory_mb: settings.memory_mb,
        is_cached: settings.is_cached,
        typed,
    };
    reading.code.processes.note(process, at)
}

/// What the person's environment says of Python.
fn python_workers(reading: Reading<'_>) -> Option<u32> {
    let bounds = (1, MAX_WORKERS);
    let name = environment::PYTHON_WORKERS;
    let count = environment::count(reading.process, name, bounds, reading.findings);
    count.map(|count| count as u32)
}

#[cfg(test)]
mod tests;
