//! Public functions and constants of a crate that no other crate uses.
//!
//! The compiler finds what nobody uses only where it knows everybody: `pub(crate)` at most. So what
//! is public without need can die without a word. Types are left out: one may be needed without
//! ever being named, as the result of a function.
//!
//! Code is read as words, not as syntax: another crate that has the word anywhere uses it.

use std::collections::{BTreeSet, HashMap};

use super::File;

/// Folders whose crates are ours alone. What is public in `plugin-sdk` is for authors of plugins.
const CRATES: [&str; 2] = ["host/", "template/"];

/// Every public function or constant that is used in its own crate at most, as one line each.
pub(super) fn broken(files: &[File]) -> Vec<String> {
    let mut users: HashMap<&str, BTreeSet<&str>> = HashMap::new();
    for file in files
        .iter()
        .filter(|file| !file.path.ends_with("Cargo.toml"))
    {
        for word in words(&file.text) {
            users.entry(word).or_default().insert(user(&file.path));
        }
    }
    let mut findings = Vec::new();
    for file in files {
        let own = user(&file.path);
        if !own.ends_with("/src") || !CRATES.iter().any(|folder| own.starts_with(folder)) {
            continue;
        }
        let is_used = |name: &str| users[name].iter().any(|user| *user != own);
        let unused = public(without_tests(file)).filter(|name| !is_used(name));
        findings.extend(unused.map(|name| {
            let help = "make it `pub(crate)`, or remove it";
            format!("{}: nobody outside uses `{name}`; {help}", file.path)
        }));
    }
    findings
}

/// The text of a file but for its tests, whose helpers are public among them.
fn without_tests(file: &File) -> &str {
    let is_of_tests = file.path.ends_with("/tests.rs") || file.path.contains("/tests/");
    let text = if is_of_tests { "" } else { &*file.text };
    text.split("#[cfg(test)]\nmod ").next().unwrap_or_default()
}

/// Who a file is: the library of a crate, or else the file itself, since its tests and examples are
/// crates of their own.
fn user(path: &str) -> &str {
    let end = path
        .find("/src/")
        .map_or(path.len(), |at| at + "/src".len());
    &path[..end]
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
    words.filter(|word| !word.is_empty())
}

/// The names of public functions and constants.
fn public(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| {
        let mut words = words(line.trim_start().strip_prefix("pub ")?);
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

    fn file(path: &str, text: &str) -> File {
        File {
            path: path.to_owned(),
            text: text.to_owned(),
        }
    }

    #[test]
    fn what_nobody_outside_uses_is_found() {
        let library = "pub const fn used() {}\n    pub async fn alone(self) {}\npub const LIMIT: u8 = 1;\n\
                       pub(crate) fn own() {}\npub struct Kind;\nfn other() { alone() }\n\
                       #[cfg(test)]\nmod tests {\n    pub fn made() {}\n}\n";
        let files = [
            file("host/store/src/lib.rs", library),
            file("host/store/tests/usage.rs", "// LIMIT\n"),
            file("host/cli/src/main.rs", "store::used()\n"),
        ];
        assert_eq!(
            broken(&files),
            [
                "host/store/src/lib.rs: nobody outside uses `alone`; make it `pub(crate)`, or remove it"
            ]
        );
    }

    #[test]
    fn a_program_has_no_public_items_that_count() {
        let files = [file("xtask/src/main.rs", "pub fn run() {}\n")];
        assert!(broken(&files).is_empty());
    }
}
