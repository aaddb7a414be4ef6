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

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};

use super::Reading;
use super::scan::{self, JAVASCRIPT, PYTHON};
use crate::environment;
use crate::fill::is_variable;
use crate::model::{
    ANY_VARIABLE, CodeFiles, Engine, Findings, Origin, Position, Process, TrustRequest,
    TrustSubject,
};
use crate::read::entry::Entry;
use crate::read::files::real;
use crate::redacted::is_secret_variable;

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

/// Most text of a command's file that is looked into, in bytes.
const MAX_TEXT: u64 = 4 << 20;

/// Most workers of one program: each is an interpreter of its own.
const MAX_WORKERS: u64 = 256;

/// Longest that a call may be allowed: a day, in milliseconds.
const MAX_TIMEOUT_MS: u64 = 86_400_000;

/// Digits of the digest that stands for a key: nobody finds another value that has the same ones.
const DIGITS: usize = 16;

/// Most memory that a program may be allowed, in MiB.
const MAX_MEMORY_MB: u64 = 1 << 20;

/// Where code is to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Runtime {
    Sandbox,
    Process,
}

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

/// A variable before a command. In quotes where it could be taken for more than one word.
fn word(name: &str, value: &str) -> String {
    let word = format!("{name}={value}");
    let parts = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '\\');
    if word.contains(parts) {
        return format!("{word:?}");
    }
    word
}

/// What is shown of a variable that a program is given: what is written, where that is no key. Of a
/// key a digest stands for it, since a program may take a file or a command from such a variable, too
/// (`GIT_ASKPASS`).
fn shown(name: &str, written: &str) -> String {
    if !is_secret_variable(name) || is_variable(written.trim()) {
        return written.to_owned();
    }
    let digest = digest(&["variable of a program", name, written]);
    format!("…{}", &digest[..DIGITS])
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

/// What the configs of a run start by each command.
#[derive(Debug, Default)]
pub(crate) struct ProcessBook {
    wanted: RefCell<HashMap<Command, Wanted>>,
    /// Each once: thousands of assertions may run by the same.
    all: RefCell<HashSet<Arc<Process>>>,
}

/// What is agreed to as one.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Command {
    engine: Engine,
    folder: PathBuf,
    origin: Origin,
    env: BTreeMap<String, String>,
}

impl Command {
    fn of(process: &Process) -> Self {
        Self {
            engine: process.engine.clone(),
            folder: process.folder.clone(),
            origin: process.origin.clone(),
            env: process.env.clone(),
        }
    }

    /// As a shell would have it, with its variables in front.
    fn subject(&self, mut variables: BTreeSet<String>) -> TrustSubject {
        if variables.contains(ANY_VARIABLE) {
            variables = BTreeSet::from([ANY_VARIABLE.to_owned()]);
        }
        let env = self.env.iter();
        let mut words: Vec<String> = env.map(|(name, value)| word(name, value)).collect();
        words.push(self.engine.command());
        TrustSubject::Program {
            command: words.join(" "),
            folder: self.folder.clone(),
            variables,
        }
    }
}

#[derive(Debug)]
struct Wanted {
    at: Position,
    variables: BTreeSet<String>,
}

impl ProcessBook {
    /// Notes a program. What it is given adds up.
    fn note(&self, process: Process, at: &Position) -> Arc<Process> {
        let mut all = self.all.borrow_mut();
        let process = all.get(&process).cloned().unwrap_or_else(|| {
            let process = Arc::new(process);
            all.insert(process.clone());
            process
        });
        let mut wanted = self.wanted.borrow_mut();
        let wanted = wanted
            .entry(Command::of(&process))
            .or_insert_with(|| Wanted {
                at: at.clone(),
                variables: BTreeSet::new(),
            });
        wanted.variables.extend(process.variables.iter().cloned());
        process
    }

    /// Asks for all of them, and gives each once. Each gets the config's `env`, as it is `written`,
    /// with the variables of the environment that it takes in (`sources`).
    pub(crate) fn ask(
        &self,
        written: &BTreeMap<String, String>,
        sources: &BTreeMap<String, BTreeSet<String>>,
        findings: &Findings,
    ) -> Vec<Arc<Process>> {
        let all = written.iter();
        let all = all.map(|(name, written)| (name.clone(), shown(name, written)));
        let all: BTreeMap<String, String> = all.collect();
        let mut requests: Vec<TrustRequest> = Vec::new();
        for (command, Wanted { at, variables }) in self.wanted.borrow_mut().drain() {
            let mut variables = variables;
            variables.extend(sources.values().flatten().cloned());
            let env = all.clone().into_iter().chain(command.env).collect();
            let command = Command { env, ..command };
            requests.push(TrustRequest {
                subject: command.subject(variables),
                origin: command.origin,
                at,
            });
        }
        requests.sort_by(|one, other| one.at.cmp(&other.at));
        for request in requests {
            findings.trust_request(request);
        }
        let mut all: Vec<_> = self.all.borrow().iter().cloned().collect();
        all.sort_by(|one, other| one.engine.cmp(&other.engine));
        all
    }
}

/// What has to be agreed to before one program runs.
pub(crate) fn request(process: &Process, at: &Position) -> TrustRequest {
    TrustRequest {
        subject: Command::of(process).subject(process.variables.clone()),
        origin: process.origin.clone(),
        at: at.clone(),
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

/// A program whose own texts are `sources`, of which those of `typed` are TypeScript; it is noted.
pub(crate) fn program(
    engine: Engine,
    sources: &[&str],
    typed: Option<Arc<CodeFiles>>,
    settings: &Settings,
    (origin, at): (&Origin, &Position),
    reading: Reading<'_>,
) -> Arc<Process> {
    let mut variables = if settings.inherits_env {
        BTreeSet::from([ANY_VARIABLE.to_owned()])
    } else {
        scan::variables(sources)
    };
    // Those that its config takes in are handed to it, too.
    variables.extend(settings.filled_in.iter().cloned());
    let workers = settings.workers.or_else(|| {
        let is_python = matches!(engine, Engine::Python { .. });
        is_python.then(|| python_workers(reading)).flatten()
    });
    let folder = real(&reading.files.cwd.join(&reading.files.root));
    let digest = match &engine {
        Engine::Command { .. } => digest(sources),
        Engine::Python { .. } | Engine::Node => String::new(),
    };
    let process = Process {
        engine,
        digest,
        folder,
        origin: origin.clone(),
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

/// sha256 (hex) of some texts.
fn digest(texts: &[&str]) -> String {
    let mut digest = Sha256::new();
    for text in texts {
        digest.update((text.len() as u64).to_be_bytes());
        digest.update(text);
    }
    HEXLOWER.encode(&digest.finalize())
}

/// What the person's environment says of Python.
fn python_workers(reading: Reading<'_>) -> Option<u32> {
    let bounds = (1, MAX_WORKERS);
    let name = environment::PYTHON_WORKERS;
    let count = environment::count(reading.process, name, bounds, reading.findings);
    count.map(|count| count as u32)
}

/// The provider `exec:`, a command line.
pub(crate) fn command(
    line: &str,
    settings: &Settings,
    (origin, at): (&Origin, &Position),
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
    let files = reading.files;
    // What its own files name of the environment; what is elsewhere is not looked into.
    let texts: Vec<String> = words
        .iter()
        .map(|word| files.shown(word))
        .filter_map(|shown| files.permit_own(&shown, origin))
        .filter_map(|file| files.read(&file, MAX_TEXT).ok())
        .collect();
    let mut sources: Vec<&str> = texts.iter().map(String::as_str).collect();
    sources.push(line);
    Some(program(
        engine,
        &sources,
        None,
        settings,
        (origin, at),
        reading,
    ))
}

#[cfg(test)]
mod tests;
