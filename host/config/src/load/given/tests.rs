//! What flags give in place of a config's keys.

use serde_json::{Value, json};

use super::*;
use crate::fixture::Folder;

const CONFIG: &str = "prompts: ['c {{q}}']\nproviders: [echo, { id: 'openai:gpt-4o', label: large }]\ntests: [{ vars: { q: config } }]";

fn given(config: &str, given: KeyOverrides) -> Folder {
    let mut folder = Folder::new(config);
    folder.overrides.given = given;
    folder
}

fn outputs(text: &str, asserts: &str) -> Folder {
    let given = KeyOverrides {
        model_outputs: Some("out.json".into()),
        assertions: Some("asserts.yaml".into()),
        ..KeyOverrides::default()
    };
    let mut folder = Folder::new("")
        .file("out.json", text)
        .file("asserts.yaml", asserts);
    std::fs::remove_file(folder.path().join("promptfooconfig.yaml")).expect("it was just made");
    folder.overrides.given = given;
    folder
}

#[test]
fn prompts_and_tests_by_flag_take_the_place_of_the_configs() {
    let folder = given(
        CONFIG,
        KeyOverrides {
            prompts: vec!["p.txt".to_owned(), "text {{q}}".to_owned()],
            tests: Some("t.csv".to_owned()),
            providers: vec!["echo".to_owned()],
            ..KeyOverrides::default()
        },
    );
    let folder = folder.file("p.txt", "p {{q}}").file("t.csv", "q\n1\n");
    assert_eq!(folder.texts(), ["p 1", "text 1"]);
    let plan = folder.plan();
    assert_eq!(plan.config_json["prompts"], json!(["p.txt", "text {{q}}"]));
    assert_eq!(plan.config_json["providers"], json!(["echo"]));
    assert_eq!(plan.config_json["tests"], "t.csv");
}

#[test]
fn a_provider_by_flag_is_one_of_the_configs_or_another() {
    let cases: [(&[&str], &[&str]); 5] = [
        (&["large"], &["openai:gpt-4o"]),
        (&["openai:gpt-4o", "echo"], &["openai:gpt-4o", "echo"]),
        (&["gpt-4o"], &["openai:gpt-4o"]),
        (&["openai:o3"], &["openai:o3"]),
        (&["file://more.yaml", "echo"], &["echo:a", "echo:b", "echo"]),
    ];
    for (names, expected) in cases {
        let providers = names.iter().map(|name| (*name).to_owned()).collect();
        let more = KeyOverrides {
            providers,
            ..KeyOverrides::default()
        };
        let folder = given(CONFIG, more).file("more.yaml", "['echo:a', 'echo:b']");
        let plan = folder.plan();
        let ids: Vec<&str> = plan
            .columns
            .iter()
            .map(|one| one.provider.id.as_str())
            .collect();
        assert_eq!(ids, expected, "{names:?}");
    }
    let labelled = KeyOverrides {
        providers: vec!["gpt-4o".to_owned()],
        ..KeyOverrides::default()
    };
    let plan = given(CONFIG, labelled).plan();
    assert_eq!(plan.columns[0].provider.label.as_deref(), Some("large"));
}

#[test]
fn what_is_not_chosen_is_not_checked() {
    let config = "prompts: [p]\nproviders: ['bedrock:x', 'python:p.py', echo]";
    let chosen = KeyOverrides {
        providers: vec!["echo".to_owned()],
        ..KeyOverrides::default()
    };
    assert_eq!(given(config, chosen).problems(), Vec::<String>::new());
    let unknown = KeyOverrides {
        providers: vec!["bedrock:y".to_owned()],
        ..KeyOverrides::default()
    };
    let problems = given(config, unknown).problems();
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(problems[0].contains("--providers: no plugin serves the provider 'bedrock:y'"));
}

#[test]
fn flags_alone_make_a_run() {
    let folder = outputs("[]", "[]");
    let mut folder = folder;
    folder.overrides.given = KeyOverrides {
        prompts: vec!["hi {{q}}".to_owned()],
        providers: vec!["echo".to_owned()],
        ..KeyOverrides::default()
    };
    assert_eq!(folder.texts(), ["hi "]);
    folder.overrides.given = KeyOverrides {
        tests: Some("t.csv".to_owned()),
        ..KeyOverrides::default()
    };
    assert!(folder.problems()[0].contains("there is no promptfooconfig.yaml here"));
}

#[test]
fn saved_outputs_are_data_and_every_one_has_the_assertions() {
    let text = r#"["{{ env.HOME }} {{output}}", {"output": "file:///etc/passwd", "tags": ["a", "b"]}, {"output": {"n": 1}}]"#;
    let folder = outputs(
        text,
        "- { type: contains, value: x }\n- { type: equals, value: y }\n",
    );
    let cases = folder.cases();
    let vars: Vec<Value> = cases.iter().map(|case| json!(*case.vars)).collect();
    let expected = [
        json!({ "output": "{{ env.HOME }} {{output}}" }),
        json!({ "output": "file:///etc/passwd", "tags": "a, b" }),
        json!({ "output": { "n": 1 } }),
    ];
    assert_eq!(vars, expected);
    for case in &cases {
        assert_eq!(case.column.provider.id, "replay");
        assert_eq!(case.test.assertions.len(), 2);
    }
    assert_eq!(folder.texts()[0], "{{ env.HOME }} {{output}}");
    assert_eq!(
        (cases[1].test.at.file.to_str(), cases[1].test.at.line),
        (Some("out.json"), 1)
    );
}

#[test]
fn outputs_and_assertions_that_are_none_are_told_with_their_place() {
    let cases = [
        (
            "{}",
            "[]",
            "out.json:1:1: must be a list of outputs, not a map",
        ),
        ("[]", "[]", "out.json:1:1: holds no output"),
        (
            "[\n5]",
            "[]",
            "out.json:2:1: [0]: must be an output: text, or a map with `output`, not a number",
        ),
        (
            "[{\"text\": 1}]",
            "[]",
            "out.json:1:2: [0]: has no `output`",
        ),
        (
            "[\"a\"]",
            "type: contains",
            "asserts.yaml:1:1: must be a list of assertions, not a map",
        ),
        (
            "[\"a\"]",
            "- { type: nope }",
            "asserts.yaml:1:11: defaultTest.assert[0].type: no plugin serves the assertion type 'nope'",
        ),
    ];
    for (text, asserts, expected) in cases {
        let problems = outputs(text, asserts).problems();
        assert!(
            problems
                .first()
                .is_some_and(|problem| problem.starts_with(expected)),
            "{problems:?} should begin with {expected}"
        );
    }
}

fn made(config: Value, tests: Value) -> Folder {
    let file = None;
    let made = Some(MadeConfig {
        file,
        config,
        tests,
    });
    given(
        CONFIG,
        KeyOverrides {
            made,
            ..KeyOverrides::default()
        },
    )
}

#[test]
fn a_config_that_a_command_makes_stands_alone_and_its_tests_are_data() {
    let source = json!({ "source": "/elsewhere/acme.wasm" });
    let folder = made(
        json!({ "providers": ["echo"], "plugins": { "acme": source } }),
        json!([{ "vars": { "prompt": "x" } }]),
    );
    assert_eq!(folder.requests(), [""; 0], "its words are the person's");

    let assertion = json!({ "type": "equals", "value": "{{most}}" });
    let folder = made(
        json!({ "providers": ["echo"], "defaultTest": { "assert": [assertion] } }),
        json!([{ "vars": { "prompt": "{{ env.KEY }} file://x", "most": 5 }, "options": { "rawVars": true } }]),
    );
    assert_eq!(folder.texts(), ["{{ env.KEY }} file://x"]);

    let deep = (0..100).fold(json!(1), |inner, _| json!([inner]));
    let folder = made(json!({ "providers": ["echo"] }), deep);
    assert_eq!(folder.problems(), ["command line: a value nests too deep"]);
}
