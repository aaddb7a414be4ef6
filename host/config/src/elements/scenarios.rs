//! `scenarios`: every part of `config` with every one of `tests`.
//!
//! A part is a test that lacks something: it lies under the scenario's tests as `defaultTest`
//! lies under it. Tests of a scenario are a conversation of their own, unless they say another.

use std::rc::Rc;

use serde_json::Value;

use super::programs::program;
use super::test_case::{Draft, Form, TestReader};
use super::test_sources::of_config;
use crate::plan::Tests;
use crate::read::entry::Entry;
use crate::read::files::{FileContents, without_scheme};
use crate::read::node::Kind;
use crate::read::references;

pub(crate) const KNOWN: [&str; 3] = ["description", "config", "tests"];

/// Reads the key of every config, with the reader that belongs to it.
pub(crate) fn read(
    roots: &[Entry<'_>],
    readers: &[TestReader<'_>],
    default: &Draft,
    found: &mut Tests,
) {
    let mut number = 0;
    for (root, tests) in roots.iter().zip(readers) {
        let Some(scenarios) = root.get("scenarios") else {
            continue;
        };
        for entry in scenarios.want_items(tests.reading.findings, "a list of scenarios") {
            one(&entry, &mut number, tests, default, found);
        }
    }
}

/// Reads a scenario, or a file that is one or several.
fn one(
    entry: &Entry<'_>,
    number: &mut usize,
    tests: &TestReader<'_>,
    default: &Draft,
    found: &mut Tests,
) {
    let reading = tests.reading;
    let Some(text) = entry.text() else {
        return scenario(entry, number, tests, default, found);
    };
    if let Some(path) = program(text) {
        let message = format!("'{path}': code can't make scenarios");
        let help = "make their tests with it, tests: file://x.js";
        return reading.findings.error_help(entry.at(), message, help);
    }
    let shown = reading.files.shown(without_scheme(text));
    let tree = reading
        .files
        .tree(&shown, &entry.at(), entry.origin, reading.findings);
    let Some(mut node) = tree else {
        return;
    };
    let findings = reading.findings;
    let origin = reading
        .files
        .origin_of(&shown, FileContents::Tests, entry.origin);
    references::resolve(
        &mut node,
        (FileContents::Tests, &shown),
        &origin,
        reading.files,
        findings,
    );
    if !origin.is_data() && !reading.declared.fill_scenarios(&mut node, &shown, findings) {
        return;
    }
    let file = Entry::root(&node, &shown, &origin);
    if matches!(node.kind, Kind::List(_)) {
        for item in file.items() {
            scenario(&item, number, tests, default, found);
        }
    } else {
        scenario(&file, number, tests, default, found);
    }
}

fn scenario(
    entry: &Entry<'_>,
    number: &mut usize,
    tests: &TestReader<'_>,
    default: &Draft,
    found: &mut Tests,
) {
    let findings = tests.reading.findings;
    if !entry.is_map() {
        return entry.mismatch(findings, "a map with `config` and `tests`");
    }
    entry.report_unknown(findings, &KNOWN);
    let parts: Vec<Option<Entry<'_>>> = match entry.get("config") {
        Some(parts) if parts.is_list() => parts.items().map(Some).collect(),
        Some(parts) => return parts.mismatch(findings, "a list of parts of tests"),
        None => vec![None],
    };
    if parts.is_empty() {
        let message = "`config` has no parts, so the scenario has no tests";
        let help = "leave `config` out to run its tests once";
        findings.warn(entry.at(), message, Some(help.to_owned()));
    }
    let Some(written) = entry.get("tests") else {
        let help = "for example: tests: [{ description: 'says it politely' }]";
        return findings.error_help(entry.at(), "a scenario needs `tests`", help);
    };
    let made = Rc::default();
    // Each is read when it is its turn: all of them together could take any amount of memory.
    for part in parts {
        if findings.has_stopped() {
            return;
        }
        let part = match part {
            Some(part) => tests.read(&part, Form::Part),
            None => Some(Draft::default()),
        };
        let Some(mut part) = part else { continue };
        if entry.origin.is_data() {
            part.in_scenario(&made);
        }
        // As in promptfoo, every part is a conversation of its own.
        let id = format!("__scenario_{number}__");
        *number += 1;
        let conversation = default.metadata.get("conversationId").cloned();
        part.metadata
            .entry("conversationId")
            .or_insert_with(|| conversation.unwrap_or(Value::from(id)));
        of_config(&written, tests, &default.under(part), found);
    }
}

#[cfg(test)]
mod tests {
    use crate::fixture::Folder;
    use crate::plan::Check;

    fn folder(scenarios: &str) -> Folder {
        Folder::new(&format!(
            "prompts: ['{{{{a}}}} {{{{b}}}}']\nproviders: [echo]\n\
             defaultTest: {{ vars: {{ b: d }}, assert: [{{ type: contains, value: default }}] }}\nscenarios: {scenarios}"
        ))
    }

    fn shown(folder: &Folder) -> Vec<String> {
        let value = |check: &Check| check.members()[0].value.clone().unwrap_or_default();
        let plan = folder.plan();
        plan.cases()
            .map(|case| {
                let values = case.test.assertions.iter().map(value);
                let values: Vec<_> = values.map(|value| value.to_string()).collect();
                let id = &case.test.metadata["conversationId"];
                format!(
                    "{} {} {id}",
                    case.render().expect("text").text,
                    values.join(",")
                )
            })
            .collect()
    }

    #[test]
    fn every_part_meets_every_test_and_the_test_wins() {
        let folder = folder(
            "\n- config:\n  - { vars: { a: 1 }, assert: [{ type: contains, value: part }] }\n  - { vars: { a: 2, b: x } }\n  \
             tests:\n  - { assert: [{ type: contains, value: test }] }\n  - { vars: { a: 3 }, metadata: { conversationId: own } }\n",
        );
        assert_eq!(
            shown(&folder),
            [
                r#"1 d "default","part","test" "__scenario_0__""#,
                r#"3 d "default","part" "own""#,
                r#"2 x "default","test" "__scenario_1__""#,
                r#"3 x "default" "own""#,
            ]
        );
    }

    #[test]
    fn scenarios_come_after_tests_and_may_stand_in_files() {
        let one = "config: [{ vars: { a: f } }]\ntests: [{ vars: { b: g } }]";
        let folder = folder("[file://s.yaml, { config: [{ vars: { a: h } }], tests: file://t.csv }]\ntests: [{ vars: { a: t }, metadata: { conversationId: x } }]")
            .file("s.yaml", one)
            .file("t.csv", "b\ni\nj\n");
        let texts: Vec<String> = shown(&folder);
        let begins: Vec<&str> = texts.iter().map(|text| &text[..3]).collect();
        assert_eq!(begins, ["t d", "f g", "h i", "h j"]);
        assert!(texts[3].ends_with("__scenario_1__\""), "{texts:?}");
    }

    #[test]
    fn scenarios_of_a_json_file_are_data() {
        let row = r#"{"vars": {"b": "1"}, "provider": {"id": "openai:x", "config": {"apiBaseUrl": "https://in.example"}}}"#;
        let one = format!(r#"{{"config": [{{"vars": {{"a": "f"}}}}], "tests": [{row}]}}"#);
        let named = |name: &str| folder(&format!("[file://{name}]")).file(name, &one);
        let asked = |name: &str| named(name).requests().join("\n");
        let of_data = "ask the provider 'openai:x' (apiBaseUrl: https://in.example;";
        for name in ["s.json", "s.jsonl", "s.txt"] {
            let asked = asked(name);
            assert!(asked.contains(of_data), "{name}: {asked}");
        }
        assert_eq!(asked("s.yaml"), "");
    }

    #[test]
    fn a_scenario_of_data_makes_as_many_rows_as_a_row_may() {
        let list = |name: &str, count: usize| {
            let part = format!(
                r#"{{"vars": {{"{name}": ["1", "2", "3", "4", "5", "6", "7", "8", "9", "10"]}}}}"#
            );
            vec![part; count].join(", ")
        };
        let all = |tests| {
            format!(
                r#"{{"config": [{}], "tests": [{}]}}"#,
                list("a", 10),
                list("b", tests)
            )
        };
        let named = |name: &str, tests| folder(&format!("[file://{name}]")).file(name, all(tests));
        assert_eq!(named("s.json", 10).cases().len(), 10_000);
        assert_eq!(named("s.yaml", 11).cases().len(), 11_000);
        let problems = named("s.json", 11).problems();
        let said =
            "make more than 10000 rows of the results, the most that a scenario of a data file";
        assert!(problems[0].contains(said), "{problems:?}");
        // So do those that stand in a file, each time that it is named.
        for (parts, named, rows) in [(10, 1, 11), (1, 11, 100)] {
            let files = vec![r#""file://t.jsonl""#; named].join(", ");
            let scenario = format!(
                r#"{{"config": [{}], "tests": [{files}]}}"#,
                list("a", parts)
            );
            let rows = format!("{}\n", list("b", 1)).repeat(rows);
            let folder = folder("[file://s.json]")
                .file("s.json", &scenario)
                .file("t.jsonl", &rows);
            let problems = folder.problems();
            assert_eq!(problems.len(), 1, "{problems:?}");
            assert!(problems[0].contains(said), "{problems:?}");
        }
    }

    #[test]
    fn a_scenario_without_parts_is_said() {
        let folder =
            folder("[{ config: [], tests: [{ vars: { a: 1 } }] }]\ntests: [{ vars: { a: t } }]");
        assert_eq!(
            folder.warnings(),
            [
                "promptfooconfig.yaml:4:13: scenarios[0]: `config` has no parts, so the scenario has no tests\n\
                 help: leave `config` out to run its tests once"
            ]
        );
        assert_eq!(folder.cases().len(), 1);
    }

    #[test]
    fn wrong_shapes_are_said() {
        let cases = [
            ("{}", "a list of scenarios"),
            ("[1]", "a map with `config` and `tests`"),
            ("[{ config: [] }]", "a scenario needs `tests`"),
            (
                "[{ config: {}, tests: [{ vars: { a: 1 } }] }]",
                "a list of parts of tests",
            ),
            ("[file://x.js]", "'x.js': code can't make scenarios"),
        ];
        for (yaml, expected) in cases {
            let problems = folder(yaml).problems();
            assert!(problems[0].contains(expected), "{yaml}: {problems:?}");
        }
    }
}
