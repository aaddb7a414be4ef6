//! Public functions and constants of a crate that no other crate uses, or that only tests use.
//!
//! The compiler finds what nobody uses only where it knows everybody: `pub(crate)` at most. So what
//! is public without need can die without a word. Types are left out: one may be needed without
//! ever being named, as the result of a function.
//!
//! Code is read as words, not as syntax: another crate uses what it calls by this name (`.name(`),
//! names in a path (`::name`) or brings in by `use`. A test counts as somebody outside, but what
//! nobody needs beside tests is dead all the same.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::File;
use super::words::{code, is_of_name};

/// Folders whose crates are ours alone. What is public in `plugin-sdk` is for authors of plugins.
const CRATES: [&str; 2] = ["host/", "template/"];

/// What only tests use, or what somebody takes out of its crate's public part already: path, name,
/// why it stays.
const STANDS: [(&str, &str, &str); 5] = [
    (
        "host/config/src/bounds.rs",
        "TREE",
        "the bounds of files, for who makes files up to them",
    ),
    (
        "host/config/src/bounds.rs",
        "TEMPLATE",
        "the bounds of files, for who makes files up to them",
    ),
    (
        "host/scheduler/src/limits.rs",
        "debt",
        "what the model of the limits is held against",
    ),
    (
        "host/scheduler/src/policy.rs",
        "tighter",
        "the settings of a lane are read by whoever explains it",
    ),
    (
        "host/store/src/hold.rs",
        "hold_writers",
        "how a test keeps a database locked",
    ),
];

/// Every public function or constant that is used in its own crate at most, or by tests alone, as one
/// line each.
pub(super) fn broken(files: &[File]) -> Vec<String> {
    let files = || {
        let is_rust = |file: &&File| !file.path.ends_with("Cargo.toml");
        files.iter().filter(is_rust)
    };
    let mut users: HashMap<String, BTreeSet<&str>> = HashMap::new();
    let mut needed = HashSet::new();
    for file in files() {
        for name in used(&code(&file.text)) {
            users.entry(name).or_default().insert(user(&file.path));
        }
        needed.extend(mentioned(&code(without_tests(file))));
    }
    let mut findings = Vec::new();
    for file in files() {
        let own = user(&file.path);
        if !own.ends_with("/src") || !CRATES.iter().any(|folder| own.starts_with(folder)) {
            continue;
        }
        for name in public(without_tests(file)) {
            let is_outside = |user: &&str| **user != *own;
            let why = match users.get(name).is_some_and(|it| it.iter().any(is_outside)) {
                false => "nobody outside uses",
                true if !needed.contains(name) => "only tests use",
                true => continue,
            };
            if !STANDS
                .iter()
                .any(|(path, item, _)| (*path, *item) == (&*file.path, name))
            {
                let help = "make it `pub(crate)`, or remove it";
                findings.push(format!("{}: {why} `{name}`; {help}", file.path));
            }
        }
    }
    findings
}

/// The text of a file but for its tests, whose helpers are public among them.
pub(super) fn without_tests(file: &File) -> &str {
    let path = &file.path;
    let is_of_tests = path.ends_with("/tests.rs") || path.contains("/tests/");
    let is_of_tests = is_of_tests || path.starts_with("tests/") || path.contains("/examples/");
    let text = if is_of_tests { "" } else { &*file.text };
    let begins_tests = |at: &usize| {
        let line = text[*at..].lines().nth(1).unwrap_or_default();
        line.ends_with('{') // else it names a file of tests, and what follows is no test
    };
    let mut starts = text.match_indices("#[cfg(test)]\nmod ").map(|(at, _)| at);
    starts.find(begins_tests).map_or(text, |end| &text[..end])
}

/// Who a file is: the library of a crate, or else the file itself, since its tests and examples are
/// crates of their own.
pub(super) fn user(path: &str) -> &str {
    let end = path
        .find("/src/")
        .map_or(path.len(), |at| at + "/src".len());
    &path[..end]
}

/// The words of code, each with what stands before and behind it.
fn words(code: &str) -> impl Iterator<Item = (&str, &str, &str)> {
    let mut end = 0;
    std::iter::from_fn(move || {
        let start = end + code[end..].find(is_of_name)?;
        let length = code[start..].find(|c| !is_of_name(c));
        end = length.map_or(code.len(), |length| start + length);
        Some((
            code[..start].trim_end(),
            &code[start..end],
            code[end..].trim_start(),
        ))
    })
}

/// What code calls, names in a path or brings in.
fn used(code: &str) -> Vec<String> {
    let mut is_brought = false;
    let mut used = Vec::new();
    for (before, word, after) in words(code) {
        is_brought = (is_brought && !before.ends_with(';')) || word == "use";
        let is_called =
            before.ends_with('.') && (after.starts_with('(') || after.starts_with("::"));
        if is_brought || is_called || before.ends_with("::") {
            used.push(word.to_owned());
        }
    }
    used
}

/// The words of code but for the names of what it defines.
fn mentioned(code: &str) -> Vec<String> {
    let mut mentioned = Vec::new();
    let mut former = "";
    for (_, word, _) in words(code) {
        if !["fn", "const"].contains(&former) {
            mentioned.push(word.to_owned());
        }
        former = word;
    }
    mentioned
}

/// The names of public functions and constants.
fn public(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| {
        let line = line.trim_start().strip_prefix("pub ")?;
        let mut words = words(line).map(|(_, word, _)| word);
        let kind = words.find(|word| !["async", "unsafe", "extern"].contains(word))?;
        let name = words.next()?;
        match (kind, name) {
            ("const", "fn" | "unsafe") => words.find(|word| *word != "fn"),
            ("const" | "fn", name) => Some(name),
            _ => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_outside_uses_is_found_and_what_only_tests_use() {
        let library = "pub const fn used() {}\n    pub async fn alone(self) {}\npub const LIMIT: u8 = 1;\n\
                       pub(crate) fn own() {}\npub struct Kind;\nfn other() { alone(); tested() }\n\
                       pub fn tested() {}\npub fn by_tests(&self) {}\npub fn spoken() {}\n\
                       #[cfg(test)]\nmod tests {\n    pub fn made() {}\n}\n";
        let usage = "use store::{Kind, LIMIT};\nit.by_tests();\nstore::tested();\n";
        let files = [
            File::of("host/store/src/lib.rs", library),
            File::of("host/store/tests/usage.rs", usage),
            File::of(
                "host/cli/src/main.rs",
                "store::used(LIMIT) // store::alone(), a text: spoken\n",
            ),
        ];
        let help = "make it `pub(crate)`, or remove it";
        assert_eq!(
            broken(&files),
            [
                format!("host/store/src/lib.rs: nobody outside uses `alone`; {help}"),
                format!("host/store/src/lib.rs: only tests use `by_tests`; {help}"),
                format!("host/store/src/lib.rs: nobody outside uses `spoken`; {help}"),
            ]
        );
    }

    #[test]
    fn what_follows_the_name_of_a_file_of_tests_is_no_test() {
        let text = "#[cfg(test)]\nmod tests;\n\npub fn alone() {}\n#[cfg(test)]\nmod more {\n}\n";
        let file = File::of("host/store/src/a.rs", text);
        assert!(without_tests(&file).ends_with("pub fn alone() {}\n"));
        assert_eq!(broken(&[file]).len(), 1);
    }

    #[test]
    fn a_program_has_no_public_items_that_count() {
        let files = [File::of("xtask/src/main.rs", "pub fn run() {}\n")];
        assert!(broken(&files).is_empty());
    }
}
