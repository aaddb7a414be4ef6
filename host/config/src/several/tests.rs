//! Several configs: what adds up, what the later one decides, where paths point.

use std::path::PathBuf;

use serde_json::json;

use super::*;
use crate::fixture::Folder;

/// `a.yaml` and `sub/b.yaml`, read in that order.
fn folder(a: &str, b: &str) -> Folder {
    let mut folder = Folder::new("").file("a.yaml", a).file("sub/b.yaml", b);
    folder.configs = vec![PathBuf::from("a.yaml"), PathBuf::from("sub/b.yaml")];
    folder
}

#[test]
fn prompts_providers_and_tests_add_up() {
    let folder = folder(
        "prompts: ['1 {{q}}']\nproviders: [echo]\ntests: [{ vars: { q: a } }]",
        "prompts: ['2 {{q}}']\nproviders: ['echo:x']\ntests: [{ vars: { q: b } }]",
    );
    let expected = ["1 a", "2 a", "1 a", "2 a", "1 b", "2 b", "1 b", "2 b"];
    assert_eq!(folder.texts(), expected);
    assert_eq!(folder.warnings(), Vec::<String>::new());
}

#[test]
fn parts_of_a_config_may_stand_in_different_files() {
    let folder = folder(
        "providers: [echo]",
        "prompts: ['{{q}}']\ntests: [{ vars: { q: b } }]",
    );
    assert_eq!(folder.texts(), ["b"]);
}

#[test]
fn a_variable_that_both_take_in_stands_for_the_variables_of_both() {
    let folder = folder(
        "env: { K: '{{ env.SET_KEY }}' }\nprompts: ['{{ env.K }}']\n\
         providers: [{ id: echo, config: { apiKey: '{{ env.K }}' } }]",
        "env: { K: '{{ env.UNSET_KEY }}' }",
    )
    .env("SET_KEY", "key-of-the-person");
    let plan = folder.plan();
    let reads = plan.columns[0].provider.env_reads.iter();
    let reads: Vec<&str> = reads.map(|read| &*read.name).collect();
    assert_eq!(reads, ["SET_KEY", "UNSET_KEY"]);
    let own = plan.env_reads.iter();
    let own: Vec<&str> = own.map(|read| &*read.name).collect();
    assert_eq!(own, ["SET_KEY", "UNSET_KEY"]);
    assert_eq!(folder.withheld().len(), 2, "{:?}", folder.withheld());
}

#[test]
fn what_stands_in_both_is_used_once_and_said() {
    let both = "prompts: ['{{q}}', same, same]\nproviders: [{ id: echo, config: { a: 1 } }]\n";
    let folder = folder(both, &format!("{both}tests: [{{ vars: {{ q: b }} }}]"));
    assert_eq!(folder.plan().columns.len(), 2);
    let warnings = folder.warnings();
    assert_eq!(
        [&warnings[0], &warnings[2]],
        [
            "a.yaml:1:26: prompts[2]: the same prompt stands above: it is used once",
            "sub/b.yaml:1:11: prompts[0]: the prompt '{{q}}' stands in a.yaml:1:11 already: it is used once"
        ]
    );
    assert_eq!(warnings.len(), 5);
}

#[test]
fn what_is_said_counts_and_not_the_order_of_keys() {
    let folder = Folder::new(
        "prompts: [p]\nproviders:\n- { id: echo, config: { a: 1, b: { c: 2, d: 3 } } }\n\
         - { config: { b: { d: 3, c: 2 }, a: 1 }, id: echo }\n- { id: echo, config: { a: 2 } }\n\
         - { id: echo, config: { a: 2 }, delay: 5 }\n- { id: echo, config: { a: 2 }, env: { A: b } }\n\
         - { id: echo, config: { a: 2 }, label: l }\n- { id: echo, config: { a: 2 }, maxRetries: 1 }",
    );
    assert_eq!(folder.plan().columns.len(), 6);
    let warnings = folder.warnings();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(
        warnings[0].contains("stands in promptfooconfig.yaml:3:"),
        "{warnings:?}"
    );
}

#[test]
fn the_later_config_decides_what_does_not_add_up() {
    let folder = folder(
        "description: a\ntags: { x: 1, y: 1 }\nprompts: ['{{q}}{{r}}']\nproviders: [echo]\noutputPath: o.json\n\
         evaluateOptions: { maxConcurrency: 1, repeat: 2 }\nbudget: { tokens: 1, requests: 1 }\n\
         defaultTest: { vars: { q: a, r: a }, assert: [{ type: equals, value: x }] }",
        "description: b\ntags: { y: 2 }\noutputPath: o.json\nevaluateOptions: { maxConcurrency: 5 }\nbudget: { tokens: 2 }\n\
         defaultTest: { vars: { r: b }, assert: [{ type: contains, value: y }] }",
    );
    let plan = folder.plan();
    assert_eq!(plan.description.as_deref(), Some("b"));
    assert_eq!(json!(plan.tags), json!({ "x": 1, "y": 2 }));
    assert_eq!(plan.output_paths[0].path, folder.path().join("sub/o.json"));
    assert_eq!(plan.output_paths.len(), 1);
    assert_eq!((plan.options.max_concurrency, plan.options.repeat), (5, 2));
    assert_eq!(
        (plan.options.budget.tokens, plan.options.budget.requests),
        (Some(2), Some(1))
    );
    assert_eq!(folder.texts(), ["ab", "ab"]);
    assert_eq!(plan.tests.get(0).expect("a test").assertions.len(), 2);
}

#[test]
fn each_path_is_relative_to_its_own_config() {
    let config = |name: &str| {
        format!(
            "prompts: [p.txt]\nproviders: [echo]\ntests: [{{ vars: {{ q: file://q.txt, l: 'file://l*.txt', n: {name} }} }}]"
        )
    };
    let folder = folder(&config("a"), &config("b"))
        .file("p.txt", "A {{q}} {{l}}")
        .file("q.txt", "qa")
        .file("l1.txt", "la")
        .file("sub/p.txt", "B {{q}} {{l}}")
        .file("sub/q.txt", "qb")
        .file("sub/l1.txt", "lb1")
        .file("sub/l2.txt", "lb2");
    let expected = [
        "A qa la", "B qa la", "A qb lb1", "B qb lb1", "A qb lb2", "B qb lb2",
    ];
    assert_eq!(folder.texts(), expected);
}

#[test]
fn env_and_limits_and_plugins_are_common() {
    let folder = folder(
        "env: { A: one, B: a }\nprompts: ['{{env.A}} {{env.B}}']\nproviders: [{ id: echo, limits: both }]\n\
         plugins: { p: { source: p.wasm } }",
        "env: { B: two }\nlimits: { both: { concurrency: 3 } }\nplugins: { p: { source: p.wasm }, q: { source: q.wasm } }",
    );
    assert_eq!(folder.texts(), ["one two"]);
    assert_eq!(folder.plan().columns[0].provider.limits[0].capacity, 3);
    let config = crate::load(&folder.request()).expect("a config").0;
    let sources: Vec<PathBuf> = config
        .plugins
        .into_iter()
        .map(|plugin| plugin.source)
        .collect();
    assert_eq!(
        sources,
        [
            folder.path().join("sub/p.wasm"),
            folder.path().join("sub/q.wasm")
        ]
    );
}

#[test]
fn a_problem_names_the_file_that_has_it() {
    let folder = folder(
        "prompts: [p]\nproviders: [nope]",
        "runtime: x\ntests: [{ assert: [{ type: x }] }]",
    );
    let problems = folder.problems();
    for (problem, beginning) in problems.iter().zip([
        "sub/b.yaml:1:10: runtime: ",
        "a.yaml:2:13: providers[0]: ",
        "sub/b.yaml:2:28: tests[0].assert[0].type: ",
    ]) {
        assert!(problem.starts_with(beginning), "{problem}");
    }
    assert_eq!(problems.len(), 3);
}

#[test]
fn the_results_have_the_configs_as_one() {
    let merged = merged_json([
        json!({ "prompts": "a", "providers": ["x"], "tags": { "a": 1, "b": 1 }, "description": "a",
            "defaultTest": { "assert": [1], "vars": { "v": 1 } } }),
        json!({ "prompts": ["a", "b"], "providers": ["y"], "tags": { "b": 2 }, "description": "b",
            "defaultTest": { "assert": [2], "vars": { "w": 1 } }, "tests": [3] }),
    ]);
    let expected = json!({
        "prompts": ["a", "b"], "providers": ["x", "y"], "tags": { "a": 1, "b": 2 }, "description": "b",
        "defaultTest": { "assert": [1, 2], "vars": { "v": 1, "w": 1 } }, "tests": [3],
    });
    assert_eq!(merged.to_string(), expected.to_string());
}
