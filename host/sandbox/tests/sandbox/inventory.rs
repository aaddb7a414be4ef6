//! The list of misbehaviours is whole: each is listed with its test, and each test runs it.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::Value;

use crate::world::{hostile, sandbox};

const LIST: &str = include_str!("../../../../tests/guests/hostile/README.md");

/// The tests that the list names, by file.
const SOURCES: [(&str, &str); 4] = [
    ("hostile", include_str!("hostile.rs")),
    ("exhaustion", include_str!("exhaustion.rs")),
    ("descriptions", include_str!("descriptions.rs")),
    ("shapes", include_str!("shapes.rs")),
];

/// A line of the list's tables.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    test: &'static str,
    /// Most memory that the process may take for it.
    pub(crate) mebibytes: u64,
    /// Most CPU time, of all threads.
    pub(crate) time: Duration,
}

impl Row {
    fn of(line: &'static str) -> Self {
        let cells: Vec<&str> = line
            .split('|')
            .map(|cell| cell.trim().trim_matches('`'))
            .collect();
        let bounds = cells[5].strip_suffix(" s");
        let bounds = bounds.and_then(|bounds| bounds.split_once(" MiB, "));
        let (memory, time) = bounds.unwrap_or_else(|| panic!("no bounds: {line}"));
        Self {
            name: cells[1],
            test: cells[4],
            mebibytes: memory.parse().expect("a number of mebibytes"),
            time: Duration::from_secs(time.parse().expect("a number of seconds")),
        }
    }
}

pub(crate) fn listed() -> Vec<Row> {
    let rows = LIST.lines().filter(|line| line.starts_with("| `"));
    rows.map(Row::of).collect()
}

/// The body of a test.
fn body(test: &str) -> &'static str {
    let (file, function) = test.split_once("::").expect("file and function");
    let source = SOURCES.iter().find(|(name, _)| *name == file);
    let (_, source) = source.unwrap_or_else(|| panic!("there is no file {file}"));
    let begin = source.find(&format!("fn {function}()"));
    let begin = begin.unwrap_or_else(|| panic!("there is no test {test}"));
    let end = source[begin..].find("\n}\n").expect("it ends");
    &source[begin..begin + end]
}

#[test]
fn the_list_has_what_the_guest_has() {
    let plugin = hostile(&sandbox());
    let info = plugin.info();
    let types = info.assertion_types.iter().map(|one| one.name.clone());
    let metadata: Value =
        serde_json::from_str(info.metadata_json.as_deref().expect("metadata")).expect("JSON");
    let kinds = metadata["descriptions"].as_array().expect("kinds");
    let kinds = kinds.iter().filter_map(Value::as_str);
    let kinds = kinds.map(|kind| format!("describe:{kind}"));
    let has: BTreeSet<String> = types.chain(kinds).collect();
    let known = |name: &str| has.contains(name) || name.starts_with("describe:");
    let listed: BTreeSet<String> = listed()
        .into_iter()
        .filter(|row| {
            known(row.name) || !row.name.starts_with("check:") && !row.test.starts_with("shapes::")
        })
        .map(|row| row.name.to_owned())
        .collect();
    assert_eq!(listed, has);
    assert!(has.len() >= 60, "{}", has.len());
}

#[test]
fn each_is_run_and_measured_by_the_test_that_is_named() {
    for Row { name, test, .. } in listed() {
        let (_, word) = name.split_once(':').unwrap_or(("", name));
        let body = body(test);
        let runs =
            body.contains(&format!("\"{word}\"")) || body.contains(&format!("\\\"{word}\\\""));
        assert!(runs, "{test} does not run `{name}`");
        assert!(
            body.contains(".within_bounds_of("),
            "{test} does not measure `{name}`"
        );
    }
}
