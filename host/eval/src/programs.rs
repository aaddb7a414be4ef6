//! The programs of a run: what each process of the plan is started as.
//!
//! A program is started when it is first called, and kept for the run. Which interpreter it is and
//! what its environment holds is decided here, once, from the plan and the person's environment.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use data_encoding::HEXLOWER;
use runner_config::plan::{
    CodeFiles, Engine, GIVEN_VARIABLES, Plan, Process, ServerLimits, is_given,
};
use runner_config::{TextOrigin, TrustSubject, is_secret_variable};
use runner_gateway::{CacheMode, LaneStrategy, Peer, Scheduling, Secret};
use runner_process::{NODE_DRIVER, PYTHON_DRIVER, Program, Service, Supervisor};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

mod typed;

pub(crate) use typed::Typed;

/// Longest part of a command in its name.
const SHOWN: usize = 60;

/// The programs of a run.
pub(crate) struct Programs {
    /// The person's environment.
    env: BTreeMap<String, String>,
    /// What the config's `env` says, over it.
    declared: BTreeMap<String, String>,
    /// The variables that were agreed to for each command, by all that the same hand brings.
    granted: HashMap<AgreedCommand, BTreeSet<String>>,
    /// The variables that the config's `env`, which programs are given, takes in.
    taken_in: BTreeSet<String>,
    /// The variables that were agreed to be shown.
    shown: BTreeSet<String>,
    /// JavaScript of the config's TypeScript.
    typed: Typed,
    server_limits: ServerLimits,
    supervisor: Supervisor,
    known: Mutex<CalledPrograms>,
    /// The environments of programs, each once.
    shared: Mutex<HashSet<Environment>>,
}

/// Names and values.
type Environment = Arc<[(OsString, OsString)]>;

/// A command in its folder, brought by one hand.
type Group = (Engine, PathBuf, TextOrigin);

fn group(process: &Process) -> Group {
    let Process {
        engine,
        folder,
        origin,
        ..
    } = process;
    (engine.clone(), folder.clone(), origin.clone())
}

/// What is agreed to as one: a command with what its provider's `env` says.
type AgreedCommand = (Group, BTreeMap<String, String>);

fn agreed(process: &Process) -> AgreedCommand {
    (group(process), process.env.clone())
}

/// What was called already.
#[derive(Default)]
struct CalledPrograms {
    callees: HashMap<Key, Arc<Callee>>,
    /// Each program once, by how many owners with whatever limits it is called; rows have none in
    /// common with the config, whose code answers for it.
    peers: HashMap<(TextOrigin, Service), Arc<Peer>>,
}

/// What makes two calls calls of one program.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    process: Arc<Process>,
    /// Python's modules have one name for the whole interpreter, so each file has its own.
    file: Option<PathBuf>,
    env: Vec<(String, String)>,
}

impl Key {
    fn new(process: &Arc<Process>, files: Option<&CodeFiles>, env: &Map<String, Value>) -> Self {
        let is_python = matches!(process.engine, Engine::Python { .. });
        Self {
            process: process.clone(),
            file: files.filter(|_| is_python).map(|files| files.path.clone()),
            env: texts(env).into_iter().collect(),
        }
    }
}

/// A program that can be called.
#[derive(Debug)]
pub(crate) struct Callee {
    pub(crate) peer: Arc<Peer>,
    pub(crate) scheduling: Arc<Scheduling>,
    pub(crate) timeout: Duration,
    pub(crate) cache: CacheMode,
    /// Where it runs.
    pub(crate) folder: PathBuf,
    /// What it is started by: a path, or a name that is looked up.
    pub(crate) executable: String,
    /// What else its answers hang on, for the cache.
    pub(crate) surroundings: String,
    /// Of a command, sha256 (hex) of what is known of it.
    pub(crate) digest: String,
    /// It is a command whose last word says that no options follow.
    pub(crate) ends_options: bool,
    /// How many of it may run; `None`: one, for calls side by side.
    workers: Option<u32>,
}

impl Callee {
    /// As wide as there are workers; what failed is not asked again unless the config says so.
    pub(crate) fn bound(&self, mut scheduling: Scheduling) -> Scheduling {
        scheduling.max_retries = scheduling.max_retries.or(Some(0));
        if let Some(workers) = self.workers {
            let policy = &mut scheduling.policy;
            policy.max_window = policy.max_window.min(workers);
            policy.start_window = policy.max_window;
            policy.min_window = policy.min_window.min(policy.max_window);
        }
        scheduling
    }
}

impl Programs {
    /// Those of a plan; none is started.
    pub(crate) fn new(plan: &Plan, env: &BTreeMap<String, String>, typed: Typed) -> Self {
        let mut processes = plan.processes.iter();
        let is_for_programs = processes.any(|process| !process.origin.is_data());
        let taken_in = plan.env_sources.values().flatten();
        let taken_in = taken_in.filter(|_| is_for_programs).cloned();
        let requests = plan.trust_requests.iter();
        let shown = requests.filter_map(|request| match &request.subject {
            TrustSubject::Keep { name } => Some(name.clone()),
            _ => None,
        });
        Self {
            declared: texts(&plan.env),
            taken_in: taken_in.collect(),
            shown: shown.collect(),
            server_limits: plan.options.server_limits,
            ..Self::of(&plan.processes, env, typed)
        }
    }

    /// These, before there is a plan.
    pub(crate) fn of(
        processes: &[Arc<Process>],
        env: &BTreeMap<String, String>,
        typed: Typed,
    ) -> Self {
        let mut granted: HashMap<_, BTreeSet<String>> = HashMap::new();
        for process in processes {
            let names = process.variables.iter().cloned();
            granted.entry(agreed(process)).or_default().extend(names);
        }
        Self {
            env: env.clone(),
            declared: BTreeMap::new(),
            granted,
            taken_in: BTreeSet::new(),
            shown: BTreeSet::new(),
            typed,
            server_limits: ServerLimits::Learnt,
            // Without one nothing is started, and each call says so.
            supervisor: Supervisor::this().unwrap_or_else(|_| Supervisor {
                executable: PathBuf::new(),
            }),
            known: Mutex::default(),
            shared: Mutex::default(),
        }
    }

    /// The values of the person's environment that programs are given, none of which may show in
    /// results: all that they were given by name, but for those that were agreed to be shown; where
    /// they are given everything, what looks like a key.
    pub(crate) fn secrets(&self) -> impl Iterator<Item = Secret> {
        let is_secret = |name: &str| {
            let mut granted = self.granted.values().chain([&self.taken_in]);
            if is_secret_variable(name) {
                return granted.any(|names| is_given(names, name));
            }
            let is_shown = GIVEN_VARIABLES.contains(&name) || is_given(&self.shown, name);
            !is_shown && granted.any(|names| is_named(names, name))
        };
        let secret = self.env.iter();
        let secret = secret.filter(move |(name, _)| is_secret(name));
        secret.map(|(_, value)| Secret::new(value))
    }

    /// What runs `process`: code in `files`, with a provider's own `env`.
    pub(crate) fn callee(
        &self,
        process: &Arc<Process>,
        files: Option<&CodeFiles>,
        env: &Map<String, Value>,
    ) -> Arc<Callee> {
        let key = Key::new(process, files, env);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(callee) = known.callees.get(&key) {
            return callee.clone();
        }
        let callee = Arc::new(self.make(&key, &mut known.peers));
        known.callees.insert(key, callee.clone());
        callee
    }

    /// The interpreter that runs `process`: code in `files`.
    pub(crate) fn service(&self, process: &Arc<Process>, files: Option<&CodeFiles>) -> Service {
        self.started_by(&Key::new(process, files, &Map::new()))
    }

    fn started_by(&self, key: &Key) -> Service {
        let process = &key.process;
        let memory = process.memory_mb.unwrap_or(Process::DEFAULT_MEMORY_MB) << 20;
        let (words, workers) = self.started(key);
        let mut words = words.into_iter().map(OsString::from);
        let program = Program {
            shown: shown(key),
            executable: words.next().unwrap_or_default(),
            arguments: words.collect(),
            folder: process.folder.clone(),
            env: self.environment(key),
            memory,
        };
        Service {
            program,
            supervisor: self.supervisor.clone(),
            workers,
            setup: self.typed.setup(&group(process)),
        }
    }

    fn make(&self, key: &Key, peers: &mut HashMap<(TextOrigin, Service), Arc<Peer>>) -> Callee {
        let process = &key.process;
        let service = self.started_by(key);
        let workers = service.workers;
        let executable = service.program.executable.to_string_lossy().into_owned();
        let by = (process.origin.clone(), service);
        let peer = peers.entry(by).or_insert_with_key(|(_, service)| {
            let service = service.clone();
            Arc::new(if matches!(process.engine, Engine::Command { .. }) {
                Peer::command(service.program, service.supervisor)
            } else {
                Peer::kept(service)
            })
        });
        let mut callee = Callee {
            peer: peer.clone(),
            scheduling: Arc::default(),
            timeout: process.timeout.unwrap_or(Process::DEFAULT_TIMEOUT),
            cache: if process.is_cached {
                CacheMode::Auto
            } else {
                CacheMode::Bypass
            },
            folder: process.folder.clone(),
            executable,
            surroundings: self.surroundings(key),
            digest: process.digest.clone(),
            ends_options: process
                .engine
                .words()
                .last()
                .is_some_and(|word| word == "--"),
            workers: workers.map(|workers| workers as u32),
        };
        let mut usual = Scheduling::default();
        if self.server_limits == ServerLimits::Ignored {
            usual.policy.strategy = LaneStrategy::Fixed;
        }
        callee.scheduling = Arc::new(callee.bound(usual));
        callee
    }

    /// The words that start it, and how many of it may run; `None`: one, for calls side by side.
    fn started(&self, key: &Key) -> (Vec<String>, Option<usize>) {
        let process = &key.process;
        match &process.engine {
            Engine::Python { executable } => {
                let mut words = match executable {
                    Some(executable) => vec![executable.clone()],
                    None => self.python(&process.folder),
                };
                words.extend(["-c".to_owned(), PYTHON_DRIVER.to_owned()]);
                (words, Some(process.workers.unwrap_or(1) as usize))
            }
            Engine::Node => {
                let words = ["node", "--input-type=module", "-e", NODE_DRIVER];
                let words = words.map(str::to_owned).to_vec();
                (words, process.workers.map(|workers| workers as usize))
            }
            Engine::Command { .. } => (process.engine.words(), None),
        }
    }

    /// The interpreter of a folder: the active virtual environment's, that of `uv`'s project, the
    /// folder's own, the system's.
    fn python(&self, folder: &Path) -> Vec<String> {
        let active = self
            .env
            .get("VIRTUAL_ENV")
            .filter(|active| !active.is_empty());
        let of = |environment: &Path| {
            let python = environment.join("bin/python");
            let python = python.is_file().then_some(python)?;
            python.to_str().map(str::to_owned)
        };
        if let Some(python) = active.and_then(|active| of(Path::new(active))) {
            return vec![python];
        }
        let is_project = folder.join("uv.lock").is_file();
        if is_project && self.has("uv") {
            return ["uv", "run", "--quiet", "python"]
                .map(str::to_owned)
                .to_vec();
        }
        let own = of(&folder.join(".venv"));
        vec![own.unwrap_or_else(|| "python3".to_owned())]
    }

    /// Whether the person's path has a program.
    fn has(&self, name: &str) -> bool {
        let path = self.env.get("PATH").map(String::as_str).unwrap_or_default();
        runner_process::find(name.as_ref(), path.as_ref()).is_some()
    }

    /// What is wrong with a process before it is started: that there is no such program. Where names
    /// are looked up by other rules than Unix's, nothing is said.
    pub(crate) fn fault(&self, process: &Arc<Process>) -> Option<String> {
        let key = Key::new(process, None, &Map::new());
        let (words, _) = self.started(&key);
        let name = words.first()?;
        let env = self.environment(&key);
        let is_there = if name.contains('/') {
            process.folder.join(name).is_file()
        } else {
            let path = env.iter().find(|(name, _)| name == "PATH");
            // It is started in the config's folder, where a part of the path may be.
            path.is_none_or(|(_, path)| {
                std::env::split_paths(path)
                    .any(|part| process.folder.join(part).join(name).is_file())
            })
        };
        if is_there || !cfg!(unix) {
            return None;
        }
        let help = match &process.engine {
            Engine::Python { .. } => {
                "install Python, or name it: pythonExecutable in the provider's config, RUNNER_PYTHON"
            }
            Engine::Node => "install Node.js 20.6 or later",
            Engine::Command { .. } => {
                "install it, or name it by its path, from the config's folder"
            }
        };
        Some(format!("there is no program `{name}`\nhelp: {help}"))
    }

    /// The whole environment of a program.
    fn environment(&self, key: &Key) -> Environment {
        let process = &key.process;
        let granted = self.granted.get(&agreed(process));
        let is_granted = |name: &str| {
            GIVEN_VARIABLES.contains(&name) || granted.is_some_and(|names| is_given(names, name))
        };
        let persons = self.env.iter().filter(|(name, _)| is_granted(name));
        let own = key.env.iter().map(|(name, value)| (name, value));
        let declared = self.declared(process);
        // The later wins.
        let all: BTreeMap<&String, &String> = persons.chain(declared).chain(own).collect();
        let all = all.into_iter();
        let all = all.map(|(name, value)| (name.into(), value.into()));
        let all: Environment = all.collect();
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = shared.get(&all) {
            return known.clone();
        }
        shared.insert(all.clone());
        all
    }

    /// What the config's `env` gives a program: nothing to one that a row brings.
    fn declared(&self, process: &Process) -> impl Iterator<Item = (&String, &String)> {
        let is_config = !process.origin.is_data();
        self.declared.iter().filter(move |_| is_config)
    }

    /// sha256 (hex) of folder and what the config says of the environment, but for secrets: a key that was
    /// exchanged changes no answer.
    fn surroundings(&self, key: &Key) -> String {
        let own = key.env.iter().map(|(name, value)| (name, value));
        let declared = self.declared(&key.process);
        let said: BTreeMap<&String, &String> = declared.chain(own).collect();
        let said = said
            .into_iter()
            .filter(|(name, _)| !is_secret_variable(name));
        let said: Vec<(&String, &String)> = said.collect();
        let said = crate::request::json(&(&key.process.folder, said));
        HEXLOWER.encode(&Sha256::digest(said))
    }

    /// Lets every program end by itself, a moment long.
    pub(crate) async fn close(&self) {
        let known = std::mem::take(&mut *self.known.lock().unwrap_or_else(PoisonError::into_inner));
        let all = known.peers.values().map(|peer| peer.close());
        futures_util::future::join_all(all).await;
    }
}

/// Whether a program is given a variable by its name, or the beginning of it.
fn is_named(variables: &BTreeSet<String>, name: &str) -> bool {
    let mut variables = variables.iter().filter(|it| *it != "*");
    variables.any(|it| match it.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => it == name,
    })
}

/// What messages call a program.
fn shown(key: &Key) -> String {
    // Equal on every machine: recordings are known by it.
    let command: String = match &key.process.engine {
        Engine::Python { .. } => "python".to_owned(),
        other => other.command().chars().take(SHOWN).collect(),
    };
    match key.file.as_ref().and_then(|file| file.file_name()) {
        Some(file) => format!("{command} {}", file.to_string_lossy()),
        None => command,
    }
}

/// The values of an `env` as texts.
fn texts(env: &Map<String, Value>) -> BTreeMap<String, String> {
    let text = |value: &Value| match value {
        // Without a value it is the environment's.
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    };
    let texts = env.iter();
    let texts = texts.filter_map(|(name, value)| Some((name.clone(), text(value)?)));
    texts.collect()
}

#[cfg(test)]
mod tests;
