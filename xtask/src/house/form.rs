//! Rules about the text of files: their size, their heads, their names, and that every
//! library has a reason.
//!
//! They read lines, not syntax: enough for code that `cargo fmt` has been over, and quick.

use super::File;
use super::who::EMPTY_WORDS;

/// The most lines a Rust file may have, tests in it included.
const MAX_LINES: usize = 500;

/// How no comment begins.
const BORROWED: &str = "The same";

/// Files that may be longer: path, most lines, reason.
const LONG_FILES: [(&str, usize, &str); 0] = [];

/// Every rule that this file breaks, as one line each.
pub(super) fn broken(file: &File) -> Vec<String> {
    let rules: &[fn(&File) -> Option<String>] = if file.path.ends_with("Cargo.toml") {
        &[outside_the_list]
    } else {
        &[
            too_long,
            without_head,
            empty_name,
            empty_module,
            borrowed_comment,
            crowded_lib,
        ]
    };
    rules.iter().filter_map(|rule| rule(file)).collect()
}

/// Longer than a reader can hold.
fn too_long(file: &File) -> Option<String> {
    let count = file.text.lines().count();
    let exception = LONG_FILES.iter().find(|(path, ..)| *path == file.path);
    let limit = exception.map_or(MAX_LINES, |(_, limit, _)| *limit);
    (count > limit).then(|| format!("{}: {count} lines, at most {limit}; split it", file.path))
}

/// Does not begin with what it is for.
fn without_head(file: &File) -> Option<String> {
    let first = file
        .text
        .lines()
        .find(|line| !line.trim().is_empty())
        .unwrap_or_default();
    let missing = !first.starts_with("//!");
    missing.then(|| {
        format!(
            "{}: begins without `//!`; say what the file is for",
            file.path
        )
    })
}

/// A file or folder whose name says nothing.
fn empty_name(file: &File) -> Option<String> {
    let path = file.path.strip_suffix(".rs").unwrap_or(&file.path);
    let word = path.split('/').find(|part| EMPTY_WORDS.contains(part))?;
    Some(format!(
        "{}: nothing is called {word:?} here; name what it is for",
        file.path
    ))
}

/// A module in a file whose name says nothing.
fn empty_module(file: &File) -> Option<String> {
    let declared = |line: &str| {
        let line = line.trim_start();
        let line = line
            .strip_prefix("pub(crate) ")
            .or(line.strip_prefix("pub "))
            .unwrap_or(line);
        let name = line.strip_prefix("mod ")?.trim_end_matches([' ', '{', ';']);
        EMPTY_WORDS.contains(&name).then(|| name.to_owned())
    };
    let (number, word) = file
        .text
        .lines()
        .enumerate()
        .find_map(|(n, line)| Some((n + 1, declared(line)?)))?;
    Some(format!(
        "{}:{number}: no module is called {word:?}; name what it is for",
        file.path
    ))
}

/// A comment that leans on the one above it: who comes to it from a list, or after something was put
/// between them, reads half a sentence.
fn borrowed_comment(file: &File) -> Option<String> {
    let is_borrowed = |line: &str| {
        let text = line.trim_start().strip_prefix("//");
        text.is_some_and(|text| {
            text.trim_start_matches(['/', '!', ' '])
                .starts_with(BORROWED)
        })
    };
    let number = file.text.lines().position(is_borrowed)? + 1;
    Some(format!(
        "{}:{number}: a comment begins {BORROWED:?}; say what it is",
        file.path
    ))
}

/// A `lib.rs` of the host with more than prose and declarations.
fn crowded_lib(file: &File) -> Option<String> {
    if !(file.path.starts_with("host/") && file.path.ends_with("/src/lib.rs")) {
        return None;
    }
    let code = [
        "fn ",
        "pub fn ",
        "async fn ",
        "pub async fn ",
        "impl ",
        "impl<",
        "pub(crate) fn ",
    ];
    let is_code = |line: &str| code.iter().any(|start| line.starts_with(start));
    let number = file.text.lines().position(is_code)? + 1;
    Some(format!(
        "{}:{number}: lib.rs is prose and declarations; move the code",
        file.path
    ))
}

/// A member that names a library's version itself, past the list with the reasons.
fn outside_the_list(file: &File) -> Option<String> {
    let apart = ["tests/outside/", "xtask/preinitialise/"];
    if apart.iter().any(|folder| file.path.starts_with(folder)) {
        return None; // a workspace of its own
    }
    let mut inside = false;
    for (index, line) in file.text.lines().enumerate() {
        let line = line.trim();
        if line.starts_with('[') {
            inside = line.trim_end_matches(']').ends_with("dependencies");
        } else if inside && is_entry(line) && !line.contains("workspace = true") {
            let place = format!("{}:{}", file.path, index + 1);
            return Some(format!(
                "{place}: write `.workspace = true`; the list is in the root"
            ));
        }
    }
    None
}

/// Is this line of a manifest more than a comment?
fn is_entry(line: &str) -> bool {
    !line.is_empty() && !line.starts_with('#')
}

/// Lines of `[workspace.dependencies]` in the root manifest that give no reason.
pub(super) fn reasons(root: &File) -> Vec<String> {
    let mut inside = false;
    let mut findings = Vec::new();
    for (index, line) in root.text.lines().enumerate() {
        let line = line.trim();
        if line.starts_with('[') {
            inside = line == "[workspace.dependencies]";
        } else if inside && is_entry(line) {
            let has_reason = line
                .rsplit_once("# ")
                .is_some_and(|(_, reason)| reason.len() > 5);
            if !has_reason && !line.contains("path = ") {
                let place = format!("{}:{}", root.path, index + 1);
                findings.push(format!("{place}: a library without its reason (`# why`)"));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<String> {
        broken(&File {
            path: path.to_owned(),
            text: text.to_owned(),
        })
    }

    #[test]
    fn a_tidy_file_breaks_no_rule() {
        let text = "//! What it is for.\n\npub mod grade;\nfn core_of_it() {}\n";
        assert_eq!(found("host/eval/src/case.rs", text), Vec::<String>::new());
        let lib = "//! Prose.\n\npub mod case;\npub use case::Case;\n";
        assert_eq!(found("host/eval/src/lib.rs", lib), Vec::<String>::new());
        let manifest = "[package]\nversion = \"1\"\n[dependencies]\nserde.workspace = true\n\
                        tokio = { workspace = true, features = [\"fs\"] }\n";
        assert_eq!(
            found("host/eval/Cargo.toml", manifest),
            Vec::<String>::new()
        );
    }

    #[test]
    fn each_untidiness_is_found() {
        let long = format!("//! Long.\n{}", "\n".repeat(500));
        let cases = [
            (
                "host/eval/src/case.rs",
                long.as_str(),
                "501 lines, at most 500",
            ),
            ("host/eval/src/case.rs", "use std::fs;\n", "begins without"),
            (
                "host/eval/src/utils.rs",
                "//! x\n",
                "nothing is called \"utils\"",
            ),
            (
                "host/eval/src/common/case.rs",
                "//! x\n",
                "nothing is called \"common\"",
            ),
            (
                "host/eval/src/case.rs",
                "//! x\npub mod types;\n",
                ":2: no module is called",
            ),
            (
                "host/eval/src/case.rs",
                "//! x\nmod helpers {\n}\n",
                ":2: no module is called",
            ),
            (
                "host/eval/src/case.rs",
                "//! x\n    /// The same for a row.\n",
                ":2: a comment begins",
            ),
            (
                "host/eval/src/lib.rs",
                "//! x\n\npub fn run() {}\n",
                ":3: lib.rs is prose",
            ),
            (
                "host/eval/Cargo.toml",
                "[dev-dependencies]\nwat = \"1\"\n",
                ":2: write",
            ),
        ];
        for (path, text, part) in cases {
            let findings = found(path, text);
            assert!(
                findings.len() == 1 && findings[0].contains(part),
                "{path}: {findings:?}"
            );
        }
    }

    #[test]
    fn every_library_needs_a_reason() {
        let text = "[workspace.dependencies]\na = { path = \"a\" }\n# --- group\n\
                    b = \"1\" # reads b files\nc = \"1\"\nd = \"1\" # x\n[profile.release]\ne = 1\n";
        let root = File {
            path: "Cargo.toml".to_owned(),
            text: text.to_owned(),
        };
        let lines: Vec<String> = reasons(&root);
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(lines[0].starts_with("Cargo.toml:5:") && lines[1].starts_with("Cargo.toml:6:"));
    }
}
