//! The list of misbehaviours is whole: each is listed with its test, and each test runs it.

use std::collections::BTreeSet;

use runner_tests::Misbehaviour;
use serde_json::Value;

use crate::world::{hostile, sandbox};

/// The tests that the list names, by file.
const SOURCES: [(&str, &str); 6] = [
    ("hostile", include_str!("hostile.rs")),
    ("exhaustion", include_str!("exhaustion.rs")),
    ("descriptions", include_str!("descriptions.rs")),
    ("shapes", include_str!("shapes.rs")),
    (
        "gateway",
        include_str!("../../../../tests/tests/hostile_runs/gateway.rs"),
    ),
    (
        "results",
        include_str!("../../../../tests/tests/hostile_runs/results.rs"),
    ),
];

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
    // It does what the run tells it, which may be any of the others.
    let types = types.filter(|name| name != "as-told");
    let metadata: Value =
        serde_json::from_str(info.metadata_json.as_deref().expect("metadata")).expect("JSON");
    let kinds = metadata["descriptions"].as_array().expect("kinds");
    let kinds = kinds.iter().filter_map(Value::as_str);
    let kinds = kinds.map(|kind| format!("describe:{kind}"));
    let has: BTreeSet<String> = types.chain(kinds).collect();
    let known = |name: &str| has.contains(name) || name.starts_with("describe:");
    let listed: BTreeSet<String> = Misbehaviour::listed()
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
    for Misbehaviour { name, test, .. } in Misbehaviour::listed() {
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
