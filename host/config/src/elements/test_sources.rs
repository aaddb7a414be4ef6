//! `tests`: where tests come from. Inline, CSV, XLSX, JSON, JSONL, YAML, code; one or a list of these.
//!
//! Every source becomes the same tree of one test, so that a key means the same wherever it
//! stands. Trees of rows live only until their test is made.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;

use super::test_case::{Draft, TestReader};
use super::vars::Origin;
use super::{Reading, program, questions};
use crate::entry::Entry;
use crate::files::{has_extension, malformed_at, without_scheme};
use crate::json;
use crate::node::{Kind, Mark, Node};
use crate::plan::{Position, Test};
use crate::references;

mod csv;
mod generated;
mod sheet;

/// Beginnings of sources that aren't files here.
const REMOTE: [&str; 5] = ["huggingface://", "https://", "http://", "az://", "s3://"];

/// How many files of tests may name each other.
const MAX_NESTING: usize = 8;

/// Finds the trees of tests, wherever they stand.
pub(crate) struct Sources<'a, 'r> {
    reading: Reading<'r>,
    /// Takes each thing that is found.
    each: &'a mut dyn FnMut(Found<'_>),
    /// How many files deep.
    depth: usize,
}

/// What stands under `tests`.
pub(crate) enum Found<'a> {
    /// The tree of a test.
    Test(&'a Entry<'a>, Origin),
    /// A set of questions: its file, and where it is named.
    Questions(&'a str, &'a Position),
}

/// The tree of one test, wherever it came from.
pub(crate) struct Tree {
    pub(crate) node: Node,
    /// The file that it stands in.
    pub(crate) file: PathBuf,
    /// Its place there.
    pub(crate) key: String,
    pub(crate) origin: Origin,
    /// The config that names it, by its number.
    pub(crate) config: usize,
}

impl Tree {
    pub(crate) fn of(entry: &Entry<'_>, origin: Origin, config: usize) -> Self {
        Self {
            node: entry.node.clone(),
            file: entry.file.to_owned(),
            key: entry.key.clone(),
            origin,
            config,
        }
    }
}

/// The tests that trees make, each with the reader of its config.
pub(crate) fn of_trees(
    trees: &[Tree],
    readers: &[TestReader<'_>],
    default: &Draft,
) -> Vec<Arc<Test>> {
    let test = |tree: &Tree| {
        let tests = readers.get(tree.config)?;
        let entry = Entry {
            node: &tree.node,
            file: &tree.file,
            key: tree.key.clone(),
        };
        let draft = tests.read(&entry, tree.origin, false)?;
        Some(Arc::new(tests.finish(default, draft)))
    };
    trees.iter().filter_map(test).collect()
}

/// Reads the key of every config, with the reader that belongs to it. Where none has it, nor
/// scenarios, there is one test that says nothing.
pub(crate) fn read(
    roots: &[Entry<'_>],
    readers: &[TestReader<'_>],
    default: &Draft,
) -> Vec<Arc<Test>> {
    let mut found = Vec::new();
    let mut written = roots.iter().zip(readers);
    if written.all(|(root, _)| root.get("tests").or(root.get("scenarios")).is_none()) {
        if let (Some(root), Some(tests)) = (roots.first(), readers.first()) {
            let empty = tests.finish(default, Draft::default());
            let at = Position {
                key: "tests".to_owned(),
                ..root.at()
            };
            found.push(Arc::new(Test { at, ..empty }));
        }
        return found;
    }
    for (root, tests) in roots.iter().zip(readers) {
        if let Some(entry) = root.get("tests") {
            found.extend(of_config(&entry, tests, default));
        }
    }
    found
}

/// One `tests` key: a list, or a single source.
pub(crate) fn of_config(
    entry: &Entry<'_>,
    tests: &TestReader<'_>,
    default: &Draft,
) -> Vec<Arc<Test>> {
    let mut found = Vec::new();
    let findings = tests.reading.findings;
    walk(entry, tests.reading, &mut |one| match one {
        _ if findings.has_stopped() => {}
        Found::Test(entry, origin) => {
            if let Some(draft) = tests.read(entry, origin, false) {
                found.push(Arc::new(tests.finish(default, draft)));
            }
        }
        Found::Questions(path, at) => {
            let questions = questions::tests(path, at, tests, default);
            found.extend(questions.into_iter().map(Arc::new));
        }
    });
    if entry.is_list() && found.is_empty() && tests.reading.findings.is_clean() {
        let findings = tests.reading.findings;
        findings.error(entry.at(), "there are no tests in the list");
    }
    found
}

/// Hands everything under one `tests` key to `each`.
pub(crate) fn walk(entry: &Entry<'_>, reading: Reading<'_>, each: &mut dyn FnMut(Found<'_>)) {
    let mut sources = Sources {
        reading,
        each,
        depth: 0,
    };
    if entry.is_list() {
        entry.items().for_each(|item| sources.one(&item));
    } else {
        sources.one(entry);
    }
}

impl Sources<'_, '_> {
    /// An item of the list: a test, or the name of a file.
    fn one(&mut self, entry: &Entry<'_>) {
        if self.reading.findings.has_stopped() {
            return;
        }
        match entry.text() {
            Some(text) => self.named(text, &entry.at(), None),
            None if entry.get("path").is_some() && entry.get("vars").is_none() => {
                self.configured(entry);
            }
            None if self.depth > 0 => self.test(entry, Origin::TestFile),
            None => self.test(entry, Origin::Config),
        }
    }

    fn test(&mut self, entry: &Entry<'_>, origin: Origin) {
        (self.each)(Found::Test(entry, origin));
    }

    fn named(&mut self, text: &str, at: &Position, config: Option<Value>) {
        let reading = self.reading;
        if let Some(path) = questions::file_named(text) {
            return (self.each)(Found::Questions(path, at));
        }
        if let Some(scheme) = REMOTE.iter().find(|scheme| text.starts_with(**scheme)) {
            let message = format!("tests from '{scheme}' are not supported yet");
            return reading.findings.error_help(
                at.clone(),
                message,
                "save them as CSV, JSONL or YAML",
            );
        }
        if program(text).is_some() {
            return self.generated(text, at, config);
        }
        match reading.files.expand(without_scheme(text)) {
            Err(reason) => reading
                .findings
                .error(at.clone(), format!("'{text}' {reason}")),
            Ok(_) if self.depth >= MAX_NESTING => {
                let message =
                    format!("files of tests name each other more than {MAX_NESTING} deep");
                reading.findings.error(at.clone(), message);
            }
            Ok(paths) => {
                self.depth += 1;
                for path in &paths {
                    self.file(path, at);
                }
                self.depth -= 1;
            }
        }
    }

    fn file(&mut self, path: &Path, at: &Position) {
        let reading = self.reading;
        if sheet::is_spreadsheet(path) {
            if let Some(table) = sheet::read(path, at, reading) {
                csv::tests(path, table, reading, &mut |test| {
                    self.test(&Entry::root(&test, path), Origin::Data);
                });
            }
        } else if has_extension(path, &["csv"]) {
            let Some(text) = reading.files.read_named(path, at, reading.findings) else {
                return;
            };
            csv::read(path, &text, reading, |test| {
                self.test(&Entry::root(&test, path), Origin::Data);
            });
        } else if has_extension(path, &["jsonl", "ndjson"]) {
            if let Some(text) = reading.files.read_named(path, at, reading.findings) {
                self.lines(path, &text);
            }
        } else if has_extension(path, &["yaml", "yml", "json"]) {
            let Some(mut node) = reading.files.tree(path, at, reading.findings) else {
                return;
            };
            references::resolve(&mut node, path, reading.files, reading.findings);
            reading.declared.fill(&mut node, path, reading.findings);
            let file = Entry::root(&node, path);
            match &node.kind {
                Kind::List(_) => file.items().for_each(|item| self.one(&item)),
                Kind::Map(_) => self.test(&file, Origin::TestFile),
                _ => file.mismatch(reading.findings, "a list of tests"),
            }
        } else {
            let message = format!(
                "'{}': tests come from CSV, XLSX, JSON, JSONL and YAML files",
                path.display()
            );
            reading.findings.error(at.clone(), message);
        }
    }

    /// JSONL: a test a line.
    fn lines(&mut self, path: &Path, text: &str) {
        for (number, line) in (1..).zip(text.lines()) {
            if line.trim().is_empty() {
                continue;
            }
            if self.reading.findings.has_stopped() {
                return;
            }
            match json::parse(line, number) {
                Ok(node) => self.test(&Entry::root(&node, path), Origin::Data),
                Err(malformed) => self.reading.findings.problem(malformed_at(path, malformed)),
            }
        }
    }
}

/// A key of a tree that is made, not read.
fn key(name: &str, mark: Mark, node: Node) -> (crate::node::Key, Node) {
    (
        crate::node::Key {
            name: name.to_owned(),
            mark,
        },
        node,
    )
}

#[cfg(test)]
mod tests;
