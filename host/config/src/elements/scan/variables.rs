//! Which variables of the environment code reads, as far as its text tells.
//!
//! The environment has no say: a question that named only what is set would tell who wrote the code,
//! in the log of a pipeline, what is. So a name counts that code asks an environment for, or one that
//! looks like a variable in code that has to do with one; of a package that it imports all that begin
//! with its name, since a package reads its own without a word in the code. A constant that looks
//! like a variable costs a word in the question.

use std::collections::BTreeSet;

use super::{imports, python};
use crate::model::GIVEN_VARIABLES;
use crate::redacted::is_secret_variable;

/// Names that one program may have: those that are asked for come first, then keys. Nobody reads
/// more in a question; the others need `env`, or `inheritEnv`.
const MOST: usize = 100;

/// Longest name that counts, in bytes: what is longer is no variable of anybody's.
const LONGEST_NAME: usize = 128;

/// What an environment is called in the languages that programs are written in.
const ENVIRONMENTS: [&str; 4] = ["env", "environ", "getenv", "ENV"];

/// Modules that come with Python and Node.js and have no variables of their own.
const STANDARD: &str = "abc argparse array ast async_hooks asyncio base64 bisect buffer calendar \
    child_process cluster cmath codecs collections concurrent configparser console constants contextlib \
    contextvars copy crypto csv ctypes dataclasses datetime decimal dgram difflib dns email enum errno \
    events fnmatch fractions functools getpass glob graphlib gzip hashlib heapq hmac html http http2 \
    https importlib inspect io ipaddress itertools json logging lzma math mimetypes module multiprocessing \
    net numbers os operator path pathlib perf_hooks pickle platform pprint process punycode querystring queue \
    random readline repl secrets select selectors shelve shlex shutil signal socket sqlite3 ssl stat \
    statistics stream string string_decoder struct subprocess sys sysconfig tarfile tempfile textwrap \
    threading time timeit timers tls token tokenize tomllib traceback tty types typing unicodedata unittest \
    url urllib util uuid vm warnings weakref worker_threads xml zipfile zlib";

/// The names that sources read, of each of which a file may have a hundred thousand: the first are
/// kept.
#[derive(Debug, Default)]
pub(crate) struct Names {
    asked: BTreeSet<String>,
    keys: BTreeSet<String>,
    others: BTreeSet<String>,
}

impl Names {
    /// Those of one source; `OPENAI_*` for all that belong to a package.
    pub(crate) fn of(source: &str) -> Self {
        let mut names = Self::default();
        let has_environment = ENVIRONMENTS.iter().any(|name| source.contains(name));
        for (before, word) in words(source) {
            let is_loud = is_loud(word);
            let is_long = is_loud && word.contains('_');
            // `environ.get` is a method, and `env[name]` the code's own variable.
            let is_named = is_loud || before.ends_with(['"', '\'', '`']);
            let is_asked = is_named && is_asked(before);
            if is_asked || (is_loud && is_shell(before)) {
                keep(&mut names.asked, word.to_owned());
            } else if is_long && is_secret_variable(word) {
                keep(&mut names.keys, word.to_owned());
            } else if is_long && has_environment {
                keep(&mut names.others, word.to_owned());
            }
        }
        for family in families(source) {
            keep(&mut names.keys, family);
        }
        names
    }

    /// Those of several sources together.
    pub(crate) fn of_all(sources: &[&str]) -> Self {
        let mut all = Self::default();
        for source in sources {
            all.add(&Self::of(source));
        }
        all
    }

    /// Adds those of another source.
    pub(crate) fn add(&mut self, other: &Self) {
        for (own, more) in [
            (&mut self.asked, &other.asked),
            (&mut self.keys, &other.keys),
            (&mut self.others, &other.others),
        ] {
            for name in more {
                keep(own, name.clone());
            }
        }
    }

    /// What a program is given for them.
    pub(crate) fn given(&self) -> BTreeSet<String> {
        let all = self.asked.iter().chain(&self.keys).chain(&self.others);
        all.take(MOST).cloned().collect()
    }
}

/// Keeps a name, if it is among the first of its kind.
fn keep(names: &mut BTreeSet<String>, name: String) {
    let is_late = names.len() == MOST && names.last().is_some_and(|last| *last <= name);
    let is_name = name.len() <= LONGEST_NAME;
    if is_name && !is_late && !GIVEN_VARIABLES.contains(&name.as_str()) {
        names.insert(name);
        if names.len() > MOST {
            names.pop_last();
        }
    }
}

/// Each word with what stands before it.
fn words(source: &str) -> impl Iterator<Item = (&str, &str)> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let mut at = 0;
    source.split(move |c| !is_part(c)).filter_map(move |word| {
        let begins = at;
        let end = begins + word.len();
        at = end + source[end..].chars().next().map_or(0, char::len_utf8);
        let is_name = word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        is_name.then(|| (&source[..begins], word))
    })
}

/// In capitals, as variables are by custom.
fn is_loud(word: &str) -> bool {
    let is_capital = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    word.chars().all(is_capital) && word.contains(|c: char| c.is_ascii_uppercase())
}

/// Whether a shell puts the value of what follows in its place.
fn is_shell(before: &str) -> bool {
    before.ends_with('$') || before.ends_with("${")
}

/// Whether an environment is asked for what follows: `env.`, `environ["`, `getenv('`, `env.get("`.
fn is_asked(before: &str) -> bool {
    /// Nothing that asks is longer.
    const LONGEST: usize = 40;
    let start = before.ceil_char_boundary(before.len().saturating_sub(LONGEST));
    let before = &before[start..];
    let signs = ['.', '?', '(', '[', '"', '\'', '`'];
    let asks = before.trim_end_matches(signs);
    let asks = [".get", ".fetch"]
        .iter()
        .find_map(|it| asks.strip_suffix(it))
        .unwrap_or(asks);
    asks.len() < before.len()
        && ENVIRONMENTS.iter().any(|name| {
            let owner = asks.strip_suffix(name);
            owner.is_some_and(|it| !it.ends_with(|c: char| c.is_alphanumeric() || c == '_'))
        })
}

/// What belongs to the packages that a source imports: `OPENAI_*` to `openai` and `langchain_openai`.
fn families(source: &str) -> BTreeSet<String> {
    let is_standard = |name: &str| STANDARD.split_whitespace().any(|it| it == name);
    let modules = python::imports(source).into_iter();
    let modules = modules.filter(|import| !import.is_relative());
    let modules = modules.map(|import| import.written());
    let packages = imports::packages(source, |_| false).into_iter();
    let packages = packages.filter(|name| !name.starts_with("node:"));
    let all = modules.chain(packages.map(str::to_owned));
    let mut families = BTreeSet::new();
    for package in all {
        let whole = package.split(['.', '/']).next().unwrap_or(&package);
        if is_standard(whole) {
            continue;
        }
        let parts = package.split(|c: char| !c.is_ascii_alphanumeric());
        for part in parts.map(str::to_ascii_uppercase) {
            // Amazon's package has not its name.
            let owner = if part.starts_with("BOTO") {
                "AWS".to_owned()
            } else {
                part
            };
            if owner.len() > 2 {
                families.insert(format!("{owner}_*"));
            }
        }
    }
    families
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(source: &str) -> String {
        let names = Names::of(source).given().into_iter();
        names.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn code_reads_what_it_asks_an_environment_for() {
        for (source, expected) in [
            (
                "import os; os.environ['MY_TOKEN']; os.environ['PATH']",
                "MY_TOKEN",
            ),
            ("os.environ.get(\"lower\") or os.getenv('X')", "X lower"),
            (
                "const a = process.env.A, b = process.env['B'] ?? env?.C",
                "A B C",
            ),
            ("const { BASE_URL, n } = process.env", "BASE_URL"),
            ("echo $A1B ${MY_TOKEN} $1 $x", "A1B MY_TOKEN"),
            ("ENV.fetch(\"HOME_PAGE\")", "HOME_PAGE"),
            ("`${name} ${LIMIT}`; process.env[name]", "LIMIT"),
            ("client(OPENAI_API_KEY)", "OPENAI_API_KEY"),
            // Whatever has to do with an environment may read it.
            ("MAX_TOKENS = 5; print(my_env.x)", "MAX_TOKENS"),
            ("MAX_TOKENS = 5; print('MY_TOKENS')", ""),
            ("", ""),
        ] {
            assert_eq!(read(source), expected, "{source}");
        }
    }

    #[test]
    fn packages_read_what_begins_with_their_names() {
        for (source, expected) in [
            ("from langchain_openai import X", "LANGCHAIN_* OPENAI_*"),
            ("import A from '@anthropic-ai/sdk'", "ANTHROPIC_* SDK_*"),
            ("import boto3, json, os.path\nfrom . import own", "AWS_*"),
            (
                "const fs = require('fs'); import 'node:net'; import './b.mjs'",
                "",
            ),
        ] {
            assert_eq!(read(source), expected, "{source}");
        }
    }

    #[test]
    fn of_many_names_those_that_are_asked_for_come_first() {
        let constants: Vec<String> = (0..500).map(|n| format!("A_{n}")).collect();
        let constants = constants.join(" ");
        let names = Names::of(&format!("{constants} process.env.Z; MY_KEY")).given();
        assert_eq!(names.len(), MOST);
        assert!(names.contains("Z") && names.contains("MY_KEY"));
    }
}
