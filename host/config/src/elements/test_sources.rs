//! `tests`: where tests come from. Inline, CSV, XLSX, JSON, JSONL, YAML, code, data sets; one or a list of these.
//!
//! Every source becomes the same tree of one test, so that a key means the same wherever it
//! stands. Trees of rows live only until their test is made.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::programs::program;
use super::questions;
use super::reading::Reading;
use super::test_case::{Draft, Form, TestReader};
use crate::datasets;
use crate::model::{Position, TextOrigin};
use crate::plan::{Test, Tests};
use crate::read::entry::Entry;
use crate::read::files::{FileContents, has_extension, malformed_at, without_scheme};
use crate::read::node::{Kind, Mark, Node};
use crate::read::{json, references};

mod csv;
mod generated;
mod remote;
mod sheet;

/// Beginnings of sources that aren't files here.
const REMOTE: [&str; 4] = ["https://", "http://", "az://", "s3://"];

/// How many files of tests may name each other.
const MAX_NESTING: usize = 8;

/// How often files of tests may be named: a few that name each other many times are read as often
/// as the product of all.
const MAX_NAMED: usize = 100_000;

/// Finds the trees of tests, wherever they stand.
pub(crate) struct Sources<'a, 'r> {
    reading: Reading<'r>,
    /// Takes each thing that is found.
    each: &'a mut dyn FnMut(TestEntry<'_>),
    /// How many files deep.
    depth: usize,
    /// How many things `each` took so far.
    handed: usize,
}

/// What `{ path, … }` says beside the path.
#[derive(Default)]
struct Extra {
    /// What a generator is called with.
    config: Option<Value>,
    /// `trust: config`: the config vouches for what the source gives.
    trusts: bool,
}

impl Extra {
    /// The origin of a source that is named with this.
    fn vouched(&self, origin: TextOrigin) -> TextOrigin {
        match origin {
            TextOrigin::Config if self.trusts => TextOrigin::Vouched,
            origin => origin,
        }
    }
}

/// What stands under `tests`.
pub(crate) enum TestEntry<'a> {
    /// The tree of a test.
    Test(&'a Entry<'a>, Form),
    /// A set of questions: its file, where it is named, and by whom.
    Questions(&'a str, &'a Position, &'a TextOrigin),
}

/// The tree of one test, wherever it came from.
pub(crate) struct Tree {
    pub(crate) node: Node,
    /// The file that it stands in.
    pub(crate) file: PathBuf,
    /// Its place there.
    pub(crate) key: String,
    pub(crate) origin: TextOrigin,
    pub(crate) form: Form,
    /// The config that names it, by its number.
    pub(crate) config: usize,
}

impl Tree {
    pub(crate) fn of(entry: &Entry<'_>, form: Form, config: usize) -> Self {
        Self {
            node: entry.node.clone(),
            file: entry.file.to_owned(),
            key: entry.key.clone(),
            origin: entry.origin.clone(),
            form,
            config,
        }
    }
}

/// Adds the tests that trees make, each with the reader of its config.
pub(crate) fn of_trees(
    trees: &[Tree],
    readers: &[TestReader<'_>],
    default: &Draft,
    found: &mut Tests,
) {
    for tree in trees {
        let Some(tests) = readers.get(tree.config) else {
            continue;
        };
        let entry = Entry {
            node: &tree.node,
            file: &tree.file,
            key: tree.key.clone(),
            origin: &tree.origin,
        };
        if let Some(draft) = tests.read(&entry, tree.form) {
            tests.keep(tests.finish(default, draft), found);
        }
    }
}

/// Reads the key of every config, with the reader that belongs to it. Where none has it, nor
/// scenarios, there is one test that says nothing.
pub(crate) fn read(
    roots: &[Entry<'_>],
    readers: &[TestReader<'_>],
    default: &Draft,
    found: &mut Tests,
) {
    let mut written = roots.iter().zip(readers);
    if written.all(|(root, _)| root.get("tests").or(root.get("scenarios")).is_none()) {
        if let (Some(root), Some(tests)) = (roots.first(), readers.first()) {
            let empty = tests.finish(default, Draft::default());
            let at = Position {
                key: "tests".to_owned(),
                ..root.at()
            };
            tests.keep(Test { at, ..empty }, found);
        }
        return;
    }
    for (root, tests) in roots.iter().zip(readers) {
        if let Some(entry) = root.get("tests") {
            of_config(&entry, tests, default, found);
        }
    }
}

/// Reads one `tests` key: a list, or a single source.
pub(crate) fn of_config(
    entry: &Entry<'_>,
    tests: &TestReader<'_>,
    default: &Draft,
    found: &mut Tests,
) {
    let before = found.len();
    let findings = tests.reading.findings;
    walk(entry, tests.reading, &mut |one| match one {
        _ if findings.has_stopped() => {}
        TestEntry::Test(entry, form) => {
            if let Some(draft) = tests.read(entry, form) {
                tests.keep(tests.finish(default, draft), found);
            }
        }
        TestEntry::Questions(path, at, origin) => {
            questions::tests(path, (at, origin), tests, default, |test| {
                tests.keep(test, found);
            });
        }
    });
    if entry.is_list() && found.len() == before && tests.reading.findings.is_clean() {
        let findings = tests.reading.findings;
        findings.error(entry.at(), "there are no tests in the list");
    }
}

/// Hands everything under one `tests` key to `each`.
pub(crate) fn walk(entry: &Entry<'_>, reading: Reading<'_>, each: &mut dyn FnMut(TestEntry<'_>)) {
    let mut sources = Sources {
        reading,
        each,
        depth: 0,
        handed: 0,
    };
    if entry.is_list() {
        entry.items().for_each(|item| sources.one(&item));
    } else {
        sources.one(entry);
    }
}

impl Sources<'_, '_> {
    /// Reads an item of the list: a test, or the name of a file.
    fn one(&mut self, entry: &Entry<'_>) {
        if self.reading.findings.has_stopped() {
            return;
        }
        match entry.text() {
            Some(text) => self.named(text, entry, &Extra::default()),
            None if entry.get("path").is_some() && entry.get("vars").is_none() => {
                self.configured(entry);
            }
            None if self.depth > 0 && !entry.origin.is_data() => self.test(entry, Form::InTestFile),
            None => self.test(entry, Form::Test),
        }
    }

    /// Counts a file of tests; whether it may still be read.
    fn may_read(&self, at: &Position) -> bool {
        let Reading {
            files, findings, ..
        } = self.reading;
        if files.read.count_source() > MAX_NAMED {
            let message = format!("files of tests are named more than {MAX_NAMED} times");
            let help = "what names other files counts them each time that it is named";
            findings.stop(at.clone(), message, help);
        }
        !findings.has_stopped()
    }

    fn test(&mut self, entry: &Entry<'_>, form: Form) {
        self.handed += 1;
        (self.each)(TestEntry::Test(entry, form));
    }

    /// Reads the tests that `entry` names by `text`.
    fn named(&mut self, text: &str, entry: &Entry<'_>, extra: &Extra) {
        let (reading, at) = (self.reading, &entry.at());
        if !self.may_read(at) {
            return;
        }
        if let Some(path) = questions::file_named(text) {
            self.handed += 1;
            return (self.each)(TestEntry::Questions(path, at, entry.origin));
        }
        if text.starts_with(datasets::SCHEME) {
            return self.dataset(text, entry, extra);
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
            return self.generated(text, entry, extra);
        }
        match reading
            .files
            .expand(without_scheme(text), (at, entry.origin, reading.findings))
        {
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
                for (place, path) in paths.iter().enumerate() {
                    // The first is counted.
                    if place == 0 || self.may_read(at) {
                        self.file_with_tests(path, entry, extra);
                    }
                }
                self.depth -= 1;
            }
        }
    }

    /// Reads a file, and says so if it is there and gives nothing: beside other tests nobody would
    /// miss those that a lost or cut file should have given.
    fn file_with_tests(&mut self, path: &Path, named: &Entry<'_>, extra: &Extra) {
        let before = self.handed;
        self.file(path, named, extra);
        let findings = self.reading.findings;
        if self.handed == before && findings.is_clean() {
            let message = format!("'{}' has no tests", path.display());
            findings.warn(named.at(), message, None);
        }
    }

    fn file(&mut self, path: &Path, named: &Entry<'_>, extra: &Extra) {
        let reading = self.reading;
        let (at, files, findings) = (&named.at(), reading.files, reading.findings);
        let spreadsheet = sheet::spreadsheet(path);
        let is_tree = has_extension(path, &["yaml", "yml", "json"]);
        let holds = if extra.trusts {
            FileContents::Vouched
        } else {
            FileContents::Tests
        };
        let origin = &extra.vouched(files.origin_of(
            spreadsheet.as_deref().unwrap_or(path),
            holds,
            named.origin,
        ));
        if spreadsheet.is_some() {
            if let Some(table) = sheet::read(path, at, named.origin, reading) {
                csv::tests((path, ""), table, reading, &mut |test| {
                    self.test(&Entry::root(&test, path, origin), Form::Test);
                });
            }
        } else if has_extension(path, &["csv"]) {
            let Some(text) = files.read_named(path, at, named.origin, findings) else {
                return;
            };
            csv::read(path, &text, reading, |test| {
                self.test(&Entry::root(&test, path, origin), Form::Test);
            });
        } else if has_extension(path, &["jsonl", "ndjson"]) {
            if let Some(text) = files.read_named(path, at, named.origin, findings) {
                self.lines(path, &text, origin);
            }
        } else if is_tree {
            let Some(mut node) = files.tree(path, at, named.origin, findings) else {
                return;
            };
            references::resolve(
                &mut node,
                (FileContents::Tests, path),
                origin,
                files,
                findings,
            );
            if !origin.is_data() && !reading.declared.fill_tests(&mut node, path, findings) {
                return;
            }
            let file = Entry::root(&node, path, origin);
            match &node.kind {
                Kind::List(_) => file.items().for_each(|item| self.one(&item)),
                Kind::Map(_) => self.one(&file),
                _ => file.mismatch(findings, "a list of tests"),
            }
        } else {
            let message = format!(
                "'{}': tests come from CSV, XLSX, JSON, JSONL and YAML files",
                path.display()
            );
            findings.error(at.clone(), message);
        }
    }

    /// Reads JSONL: a test a line.
    fn lines(&mut self, path: &Path, text: &str, origin: &TextOrigin) {
        for (number, line) in (1..).zip(text.lines()) {
            if line.trim().is_empty() {
                continue;
            }
            if self.reading.findings.has_stopped() {
                return;
            }
            match json::parse(line, number) {
                Ok(node) => self.test(&Entry::root(&node, path, origin), Form::Test),
                Err(malformed) => self.reading.findings.problem(malformed_at(path, malformed)),
            }
        }
    }
}

/// A key of a tree that is made, not read.
fn key(name: &str, mark: Mark, node: Node) -> (crate::read::node::Key, Node) {
    (
        crate::read::node::Key {
            name: name.into(),
            mark,
        },
        node,
    )
}

#[cfg(test)]
mod tests;
