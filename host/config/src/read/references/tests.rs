//! References followed, left alone, and refused.

#![expect(clippy::unwrap_used, reason = "tests")]

use crate::fixture::Folder;
use crate::plan::Check;

fn folder(rest: &str) -> Folder {
    Folder::new(&format!("prompts: [p]\nproviders: [echo]\n{rest}"))
}

fn values(folder: &Folder) -> Vec<String> {
    let plan = folder.plan();
    let tests: Vec<_> = plan.tests.iter().collect();
    let assertions = tests.iter().flat_map(|test| test.assertions.iter());
    assertions
        .flat_map(Check::members)
        .map(|assertion| format!("{} {}", assertion.kind, assertion.value.clone().unwrap()))
        .collect()
}

#[test]
fn a_reference_brings_what_stands_elsewhere_and_keys_beside_it_win() {
    let folder = folder(
        "assertionTemplates:\n  polite: { type: contains, value: please, weight: 2 }\n  again: { $ref: '#/assertionTemplates/polite', value: again }\n\
         tests:\n- assert: [{ $ref: '#/assertionTemplates/polite' }, { $ref: '#/assertionTemplates/polite', value: thanks }, { $ref: '#/assertionTemplates/again' }]\n- $ref: '#/tests/0'\n",
    );
    let once = [
        "contains \"please\"",
        "contains \"thanks\"",
        "contains \"again\"",
    ];
    assert_eq!(values(&folder), [once, once].concat());
}

#[test]
fn another_file_is_read_and_messages_name_the_line_of_the_reference() {
    let file = "a:\n- x\n- { assert: [{ type: contains, value: v }] }\nbad/key: { assert: [{ type: contians }] }\n";
    let folder = folder("tests: [{ $ref: 'more.yaml#/a/1' }]").file("more.yaml", file);
    assert_eq!(values(&folder), ["contains \"v\""]);
    let folder = self::folder("tests:\n- { $ref: 'more.yaml#/bad~1key' }").file("more.yaml", file);
    let problems = folder.problems();
    assert!(
        problems[0]
            .starts_with("promptfooconfig.yaml:4:11: tests[0].assert[0].type: no plugin serves"),
        "{problems:?}"
    );
}

/// Rows that a reference brings would have the config's rights.
#[test]
fn rows_of_a_json_file_are_brought_by_no_reference() {
    let rows =
        r#"{"rows": [{ "vars": { "a": 1 }, "assert": [{ "type": "contains", "value": "v" }] }]}"#;
    for named in [
        "tests: { $ref: 'rows.json#/rows' }",
        "tests: [{ $ref: 'rows.json#/rows/0' }]",
        "tests: [{ vars: { $ref: 'rows.json#/rows/0/vars' } }]",
        "tests: [{ vars: { a: { $ref: 'rows.json#/rows/0/vars/a' } } }]",
        "tests: [{ provider: { $ref: 'rows.json#/rows/0' } }]",
        "tests: [{ vars: { assert: { $ref: 'rows.json#/rows/0/vars/a' } } }]",
        "tests: file://tests.yaml",
        "tests: file://test.yaml",
        "a: { $ref: 'rows.json#/rows/0/vars' }\ntests: [{ vars: { $ref: '#/a' } }]",
        "defaultTest: { $ref: 'rows.json#/rows/0' }",
        "scenarios: [{ config: { $ref: 'rows.json#/rows' }, tests: [{ vars: {} }] }]",
        "tests: [{ $ref: 'rows.txt#/rows/0' }]",
        "$ref: 'rows.json'",
    ] {
        let folder = folder(named).file("rows.json", rows).file("rows.txt", rows);
        let folder = folder
            .file("tests.yaml", "- { $ref: 'rows.json#/rows/0' }")
            .file("test.yaml", "options: { $ref: 'rows.json#/rows/0' }");
        let problems = folder.problems().join("\n");
        assert!(
            problems.contains("out of a file that is no YAML"),
            "{named}: {problems}"
        );
    }
    for named in [
        "tests: [{ assert: [{ $ref: 'rows.json#/rows/0/assert/0' }] }]",
        "tests: file://test.yaml",
    ] {
        let folder = folder(named).file("rows.json", rows).file(
            "test.yaml",
            "assert: [{ $ref: 'rows.json#/rows/0/assert/0' }]",
        );
        assert_eq!(values(&folder), ["contains \"v\""]);
    }
}

#[test]
fn a_schema_keeps_its_own_references() {
    let folder = folder(
        "tests:\n- assert: [{ type: equals, value: { definitions: { a: { type: string } }, $ref: '#/definitions/a' } }]\n",
    );
    let expected = r##"equals {"definitions":{"a":{"type":"string"}},"$ref":"#/definitions/a"}"##;
    assert_eq!(values(&folder), [expected]);
}

#[test]
fn references_that_lead_nowhere_are_said() {
    let cases = [
        (
            "tests: [{ $ref: '#/nothing' }]",
            "$ref '#/nothing' leads nowhere: there is no 'nothing'",
        ),
        (
            "tests: [{ $ref: '#tests' }]",
            "$ref '#tests' is no JSON Pointer: it begins with '#/'",
        ),
        ("a: { $ref: '#/a' }", "$ref '#/a' leads back to itself"),
        (
            "a: { x: { $ref: '#/b' } }\nb: { $ref: '#/a' }",
            "$ref '#/b' leads back to itself",
        ),
        (
            "tests: [{ $ref: 'https://x.test/a.yaml' }]",
            "$ref 'https://x.test/a.yaml' is no file; nothing is fetched while a config is read",
        ),
        (
            "a: text\ntests: [{ $ref: '#/a', vars: { q: 1 } }]",
            "$ref '#/a' leads to something that is not a map, so 'vars' beside it has no meaning",
        ),
    ];
    for (yaml, expected) in cases {
        let problems = folder(yaml).problems();
        assert!(
            problems.iter().any(|problem| problem.contains(expected)),
            "{yaml}: {problems:?}"
        );
    }
}

#[test]
fn a_few_lines_cannot_ask_for_billions_of_values() {
    let lines: Vec<String> = (0..12)
        .map(|n| {
            let refs = vec![format!("{{ $ref: '#/x{}' }}", n + 1); 10].join(", ");
            format!("x{n}: [{refs}]\n")
        })
        .collect();
    let bomb = folder(&format!("{}x12: end\n", lines.concat()));
    let problems = bomb.problems();
    assert!(
        problems[0].contains("brings more than 64 MiB"),
        "{:?}",
        problems.first()
    );
}

/// Each of these went through a map once for each reference into it, or copied the whole file for
/// each that was refused.
#[test]
fn references_and_what_they_lead_to_may_both_be_many() {
    const MANY: usize = 150_000;
    let keys: Vec<String> = (0..MANY).map(|n| format!("k{n}: {n}")).collect();
    let keys = keys.join(", ");
    let last = format!("{{ $ref: '#/a/k{}' }}, ", MANY - 1).repeat(MANY);
    let each = folder(&format!("tags: {{ b: [{last}] }}\na: {{ {keys} }}"));
    assert_eq!(each.problems(), [""; 0]);
    let over = folder(&format!("b: {{ $ref: '#/a', {keys} }}\na: {{ {keys} }}"));
    assert_eq!(over.problems(), [""; 0]);
    let whole = "{ $ref: '#' }, ".repeat(MANY);
    let problems = folder(&format!("b: [{whole}]")).problems();
    assert!(
        problems[0].contains("brings more than 64 MiB"),
        "{}",
        problems[0]
    );
}
