//! Who is asked, and what is said where nobody is.

use crate::fixture::Folder;
use crate::plan::{Check, JudgeId, Plan};

fn folder(rest: &str) -> Folder {
    Folder::new(&format!(
        "prompts: [p]\nproviders: [echo, {{ id: 'openai:m', label: careful, config: {{ temperature: 0 }} }}]\n{rest}"
    ))
}

/// Type, and the ids of the judges for text and for vectors, of every assertion.
fn asked(plan: &Plan) -> Vec<String> {
    let id = |judge: Option<JudgeId>| {
        judge.map_or("-", |judge| plan.judges[judge.0 as usize].id.as_str())
    };
    let tests: Vec<_> = plan.tests.iter().collect();
    let assertions = tests.iter().flat_map(|test| test.assertions.iter());
    assertions
        .flat_map(Check::members)
        .map(|one| {
            format!(
                "{} {} {}",
                one.kind,
                id(one.judges.text),
                id(one.judges.embedding)
            )
        })
        .collect()
}

#[test]
fn the_nearest_provider_wins() {
    let folder = folder(
        "defaultTest: { options: { provider: 'openai:default' } }\ntests:\n\
         - assert: [{ type: llm-rubric, value: v }, { type: llm-rubric, value: v, provider: 'openai:own' }]\n\
         - { options: { provider: { id: 'openai:tests', config: { temperature: 1 } } }, assert: [{ type: llm-rubric, value: v }] }\n\
         - assert: [{ type: assert-set, assert: [{ type: llm-rubric, value: v }] }, { type: equals, value: v }]\n",
    );
    assert_eq!(
        asked(&folder.plan()),
        [
            "llm-rubric openai:default -",
            "llm-rubric openai:own -",
            "llm-rubric openai:tests -",
            "llm-rubric openai:default -",
            "equals - -",
        ]
    );
}

#[test]
fn a_map_names_one_for_each_kind_and_the_environment_fills_what_is_missing() {
    let tests = "tests:\n- { options: { provider: { text: 'openai:t', embedding: 'openai:embedding:e' } }, assert: [{ type: answer-relevance }] }\n\
                 - { options: { provider: 'openai:chat' }, assert: [{ type: answer-relevance }] }\n\
                 - assert: [{ type: similar, value: v }]\n";
    let folder = folder(tests).env("OPENAI_API_KEY", "k");
    assert_eq!(
        asked(&folder.plan()),
        [
            "answer-relevance openai:t openai:embedding:e",
            "answer-relevance openai:chat openai:embedding:text-embedding-3-large",
            "similar - openai:embedding:text-embedding-3-large",
        ]
    );
}

#[test]
fn kinds_beside_an_id_win_over_it() {
    let folder = folder(
        "defaultTest: { options: { provider: { id: 'openai:t', config: { temperature: 1 }, embedding: 'openai:embedding:e' } } }\ntests:\n\
         - assert: [{ type: answer-relevance }, { type: similar, value: v }, { type: llm-rubric, value: v }]\n\
         - assert: [{ type: answer-relevance, provider: { embedding: { id: 'openai:x' }, id: 'openai:y', text: careful } }]\n",
    )
    .env("OPENAI_API_KEY", "k");
    let plan = folder.plan();
    assert_eq!(
        asked(&plan),
        [
            "answer-relevance openai:t openai:embedding:e",
            "similar openai:t openai:embedding:e",
            "llm-rubric openai:t openai:embedding:e",
            "answer-relevance openai:m openai:x",
        ]
    );
    assert_eq!(folder.warnings(), Vec::<String>::new());
    let text = plan.judges.iter().find(|judge| judge.id == "openai:t");
    assert_eq!(text.expect("a judge for texts").config["temperature"], 1);
}

#[test]
fn a_label_means_the_provider_of_the_run_with_its_config() {
    let folder = folder(
        "tests: [{ assert: [{ type: llm-rubric, value: v, provider: careful }, { type: llm-rubric, value: w, provider: careful }] }]",
    );
    let plan = folder.plan();
    assert_eq!(asked(&plan), ["llm-rubric openai:m -"; 2]);
    assert_eq!(plan.judges.len(), 1);
    assert_eq!(plan.judges[0].config["temperature"], 0);
}

#[test]
fn nobody_to_ask_is_said_with_what_to_do() {
    let problems = folder("tests: [{ assert: [{ type: llm-rubric, value: v }] }]").problems();
    assert_eq!(problems.len(), 1);
    assert!(
        problems[0].starts_with("promptfooconfig.yaml:3:20: tests[0].assert[0]: 'llm-rubric' asks a model, and there is none to ask\nhelp: name one, for example `defaultTest"),
        "{problems:?}"
    );
    let wrong =
        folder("tests: [{ assert: [{ type: llm-rubric, value: v, provider: 'x:y' }] }]").problems();
    assert!(
        wrong[0].contains("no plugin serves the provider 'x:y'"),
        "{wrong:?}"
    );
    assert_eq!(wrong.len(), 1);
}

#[test]
fn knobs_beside_the_type_are_the_graders_and_files_are_read() {
    let folder = folder(
        "tests: [{ options: { rubricPrompt: 'file://r.json' }, assert: [{ type: llm-rubric, value: v, votes: 3, rubricPrompt: 'file://r.txt', provider: echo }] }]",
    )
    .file("r.txt", "judge {{output}}\n")
    .file("r.json", "[{\"role\": \"user\"}]");
    let plan = folder.plan();
    let test = &plan.tests.get(0).expect("a test");
    let knobs = &test.assertions[0].members()[0].knobs;
    assert_eq!(knobs["votes"], 3);
    assert_eq!(knobs["rubricPrompt"], "judge {{output}}");
    assert_eq!(test.options["rubricPrompt"][0]["role"], "user");
}

#[test]
fn options_for_nobody_are_a_warning_unless_somebody_is_asked() {
    let config = |judge: &str, kind: &str| {
        Folder::new(&format!(
            "prompts: [p]\nproviders: [echo]\n\
             defaultTest: {{ options: {{ provider: {judge} }} }}\n\
             tests: [{{ assert: [{{ type: {kind}, value: v }}] }}, {{ assert: [{{ type: {kind}, value: w }}] }}]"
        ))
    };
    for judge in [
        "{ config: { temperature: 0 } }",
        "{ text: { temperature: 0 } }",
    ] {
        let warnings = config(judge, "equals").warnings();
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert!(warnings[0].contains("names no provider"), "{warnings:?}");
        let problems = config(judge, "llm-rubric").problems();
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(
            problems[0].contains("has no `id`, and 'llm-rubric' asks it"),
            "{problems:?}"
        );
    }
}
