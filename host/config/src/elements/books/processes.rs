//! What the configs of a run start, by each command, and what is asked for it.
//!
//! The config's `env` is given to each command, and stands before each in the question: a few hundred
//! kilobytes of commands and variables would be gigabytes of questions. So an environment takes no more
//! than a system gives a program, and all questions together no more than anybody looks through.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};

use crate::elements::scan::VariableNames;
use crate::fill::is_variable;
use crate::model::{
    ANY_VARIABLE, Engine, Findings, Position, Process, TextOrigin, TrustRequest, TrustSubject,
};
use crate::redacted::is_secret_variable;

/// Most that the variables which a config gives a program may take, in bytes: a system takes little
/// more for all of a program's.
const MAX_ENV: usize = 256 << 10;

/// Most that all commands with their variables may take in what is asked for, in bytes.
const MAX_ASKED: usize = 4 << 20;

/// Digits of the digest that stands for a key: nobody finds another value that has the same ones.
const DIGITS: usize = 16;

/// A variable before a command. In quotes where it could be taken for more than one word.
fn word(name: &str, value: &str) -> String {
    let word = format!("{name}={value}");
    let parts = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '\\');
    if word.contains(parts) {
        return format!("{word:?}");
    }
    word
}

/// What the configs of a run start by each command.
#[derive(Debug, Default)]
pub(crate) struct ProcessBook {
    wanted: RefCell<HashMap<Command, Wanted>>,
    /// Each once: thousands of assertions may run by the same.
    all: RefCell<HashSet<Arc<Process>>>,
    /// Files that commands name, each read once.
    files: RefCell<HashMap<PathBuf, Option<Rc<CommandFile>>>>,
}

/// A file that commands name.
#[derive(Debug)]
pub(crate) struct CommandFile {
    /// sha256 (hex) of its text.
    pub(crate) digest: String,
    /// The variables that it reads.
    pub(crate) names: VariableNames,
}

/// What is agreed to as one.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Command {
    engine: Engine,
    folder: PathBuf,
    origin: TextOrigin,
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

    /// Bytes that the question takes for it, about.
    fn size(&self, variables: &BTreeSet<String>) -> usize {
        let names = variables.iter().map(|name| name.len() + 2).sum::<usize>();
        self.engine.command().len() + env_size(&self.env) + names
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
    pub(crate) fn note(&self, process: Process, at: &Position) -> Arc<Process> {
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

    /// What is known of a file that a command names; `None`: it can't be read.
    pub(crate) fn command_file(
        &self,
        path: &Path,
        read: impl FnOnce() -> Option<String>,
    ) -> Option<Rc<CommandFile>> {
        let mut files = self.files.borrow_mut();
        if let Some(known) = files.get(path) {
            return known.clone();
        }
        let file = read().map(|text| {
            Rc::new(CommandFile {
                digest: digest(&[&text]),
                names: VariableNames::of(&text),
            })
        });
        files.insert(path.to_owned(), file.clone());
        file
    }

    /// Asks for all of them, and gives each once. Each gets the config's `env`, as it is `written`,
    /// with the variables of the environment that it takes in (`sources`); but for those of rows.
    pub(crate) fn ask(
        &self,
        written: &BTreeMap<String, String>,
        sources: &BTreeMap<String, BTreeSet<String>>,
        findings: &Findings,
    ) -> Vec<Arc<Process>> {
        let all = written.iter();
        let all = all.map(|(name, written)| (name.clone(), shown(name, written)));
        let all: BTreeMap<String, String> = all.collect();
        let sources: BTreeSet<&String> = sources.values().flatten().collect();
        let mut wanted: Vec<_> = self.wanted.borrow_mut().drain().collect();
        wanted.sort_by(|(_, one), (_, other)| one.at.cmp(&other.at));
        let mut asked = 0;
        for (mut command, Wanted { at, mut variables }) in wanted {
            let own = command.size(&variables);
            let (mut size, mut env) = (own, env_size(&command.env));
            if !command.origin.is_data() {
                let more = env_size(&all);
                env += more;
                size += more + sources.iter().map(|name| name.len() + 2).sum::<usize>();
            }
            asked += size;
            if let Some((message, help)) = too_much(env, asked) {
                findings.stop(at, message, help);
                break;
            }
            if !command.origin.is_data() {
                variables.extend(sources.iter().map(|name| (*name).clone()));
                let env = all.clone().into_iter().chain(command.env);
                command.env = env.collect();
            }
            findings.trust_request(TrustRequest {
                subject: command.subject(variables),
                origin: command.origin,
                at,
            });
        }
        let mut all: Vec<_> = self.all.borrow().iter().cloned().collect();
        all.sort_by(|one, other| one.engine.cmp(&other.engine));
        all
    }
}

/// Bytes that variables take where a program is started, as the system counts them.
fn env_size(env: &BTreeMap<String, String>) -> usize {
    env.iter()
        .map(|(name, value)| name.len() + value.len() + 2)
        .sum()
}

/// What is wrong with a program whose variables take `env` bytes, and with which what is asked for
/// takes `asked`.
fn too_much(env: usize, asked: usize) -> Option<(String, &'static str)> {
    if env > MAX_ENV {
        let kib = MAX_ENV >> 10;
        let message =
            format!("`env` gives a program {env} bytes of variables: more than {kib} KiB");
        return Some((message, "give it what is long in a file"));
    }
    (asked > MAX_ASKED).then(|| {
        let mib = MAX_ASKED >> 20;
        let message = format!(
            "the commands of the config with the variables of its `env`, which each of them is given, take more than {mib} MiB"
        );
        (message, "give fewer variables, or run the commands in parts")
    })
}

/// What has to be agreed to before one program runs.
pub(crate) fn request(process: &Process, at: &Position) -> TrustRequest {
    TrustRequest {
        subject: Command::of(process).subject(process.variables.clone()),
        origin: process.origin.clone(),
        at: at.clone(),
    }
}

/// What is shown of a variable that a program is given: what is written, where that is no key. Of a
/// key a digest stands for it, since a program may take a file or a command from such a variable, too
/// (`GIT_ASKPASS`).
pub(crate) fn shown(name: &str, written: &str) -> String {
    if !is_secret_variable(name) || is_variable(written.trim()) {
        return written.to_owned();
    }
    let digest = digest(&["variable of a program", name, written]);
    format!("…{}", &digest[..DIGITS])
}

/// sha256 (hex) of some texts.
pub(crate) fn digest(texts: &[&str]) -> String {
    let mut digest = Sha256::new();
    for text in texts {
        digest.update((text.len() as u64).to_be_bytes());
        digest.update(text);
    }
    HEXLOWER.encode(&digest.finalize())
}
