//! Which parts see which variables, and what shows of them.

use serde_json::json;

use crate::fixture::Folder;
use crate::plan::Plan;

fn secrets(plan: &Plan) -> Vec<&str> {
    plan.secrets().collect()
}

#[test]
fn a_provider_gets_variables_that_nothing_else_declares() {
    let folder = Folder::new(
        "prompts: [p]\n\
         targets:\n\
         - id: openai:chat:{{env.MODEL}}\n  \
           config: { apiKey: '{{env.T}}', url: '{{env.BASE}}/chat', headers: { X-Me: 'Bearer {{ env.WHO }}' }, body: { b: '{{prompt}} {{env.MODEL}}' } }\n\
         - file://more.yaml",
    )
    .file("more.yaml", "- { id: echo, label: '{{env.MODEL}}', config: { a: '{{ env.SOME_KEY }}' } }")
    .env("MODEL", "gpt-of-some-kind")
    .env("T", "t-123456")
    .env("BASE", "https://api.example.com")
    .env("WHO", "w-123456")
    .env("SOME_KEY", "k-123456");
    let plan = folder.plan();
    assert_eq!(plan.providers[0].id, "openai:chat:gpt-of-some-kind");
    assert_eq!(
        json!(plan.providers[0].config),
        json!({
            "apiKey": "t-123456", "url": "https://api.example.com/chat",
            "headers": { "X-Me": "Bearer w-123456" }, "body": { "b": "{{prompt}} gpt-of-some-kind" },
        })
    );
    assert_eq!(plan.providers[1].label.as_deref(), Some("gpt-of-some-kind"));
    assert_eq!(json!(plan.providers[1].config), json!({ "a": "k-123456" }));
    assert_eq!(secrets(&plan), ["k-123456", "t-123456", "w-123456"]);
    let shown = format!("{plan:?} {}", plan.config_json);
    for secret in secrets(&plan) {
        assert!(!shown.contains(secret), "{secret}: {shown}");
    }
    assert!(plan.env.is_empty());
}

#[test]
fn headers_named_like_credentials_hold_secrets_that_the_config_writes_itself() {
    let headers = "{ X-Key: 'Token lit-1', Cookie: 'a={{ env.WHO }}', Accept: text/plain, X-Token: '{{ word }}' }";
    let config = format!(
        "prompts: [p]\nproviders: [{{ id: echo, config: {{ headers: {headers} }} }}]\n\
         defaultTest: {{ options: {{ provider: {{ id: 'openai:m', config: {{ headers: {{ authorization: of-judge }} }} }} }} }}\n\
         tests: [{{ assert: [{{ type: llm-rubric, value: v }}] }}]"
    );
    let plan = Folder::new(&config).env("WHO", "w-123456").plan();
    let mut secrets = secrets(&plan);
    secrets.sort_unstable();
    assert_eq!(
        secrets,
        ["Token lit-1", "a=w-123456", "of-judge", "w-123456"]
    );
}

#[test]
fn graders_named_in_the_config_get_them_too() {
    let judge = "{ id: 'openai:m', config: { apiKey: '{{env.T}}' } }";
    let asks = "assert: [{ type: llm-rubric, value: v }]";
    let configs = [
        format!("defaultTest: {{ options: {{ provider: {judge} }}, {asks} }}"),
        format!("tests: [{{ options: {{ provider: {judge} }}, {asks} }}]"),
        format!("tests: [{{ assert: [{{ type: llm-rubric, value: v, provider: {judge} }}] }}]"),
        "defaultTest: file://d.yaml".to_owned(),
        "tests: file://d.yaml".to_owned(),
        "tests: [file://l.yaml]".to_owned(),
        "scenarios: [file://s.yaml]".to_owned(),
    ];
    for config in configs {
        let folder = Folder::new(&format!("prompts: [p]\nproviders: [echo]\n{config}"))
            .file(
                "d.yaml",
                format!("options: {{ provider: {judge} }}\n{asks}"),
            )
            .file(
                "l.yaml",
                format!("- options: {{ provider: {judge} }}\n  {asks}"),
            )
            .file(
                "s.yaml",
                format!("config: [{{}}]\ntests: [{{ options: {{ provider: {judge} }}, {asks} }}]"),
            )
            .env("T", "t-123456");
        let plan = folder.plan();
        assert_eq!(plan.judges[0].config["apiKey"], "t-123456", "{config}");
        assert_eq!(secrets(&plan), ["t-123456"], "{config}");
        let test = &plan.tests.get(0).expect("a test");
        let kept = format!("{:?} {}", test.options, test.json);
        assert!(!kept.contains("t-123456"), "{kept}");
    }
}

#[test]
fn everything_else_stays_strict() {
    let configs = [
        "prompts: ['{{ env.T }}']",
        "prompts: [p]\ntests: [{ vars: { providers: '{{ env.T }}' } }]",
        "prompts: [p]\ntests: [{ vars: { options: { provider: { id: '{{ env.T }}' } } } }]",
        "prompts: [p]\ntests: [{ assert: [{ type: equals, value: '{{ env.T }}' }] }]",
        "prompts: [p]\ntests: [{ vars: v.yaml }]",
        "prompts: [p]\ntests: t.yaml",
    ];
    for config in configs {
        let folder = Folder::new(&format!("{config}\nproviders: ['echo:{{{{ env.T }}}}']"))
            .file("v.yaml", "providers: '{{ env.T }}'")
            .file(
                "t.yaml",
                "- metadata: { provider: { id: echo, config: { a: '{{ env.T }}' } } }",
            )
            .env("T", "t-123456");
        let problems = folder.problems();
        assert_eq!(problems.len(), 1, "{config}: {problems:?}");
        assert!(
            problems[0].contains("env.T is not declared"),
            "{config}: {problems:?}"
        );
    }
}

#[test]
fn one_that_is_not_set_is_an_error_unless_it_has_a_default() {
    let folder = Folder::new(
        "prompts: [p]\nproviders: [{ id: echo, config: { a: '{{ env.NONE }}', b: \"{{ env.NONE | default('x') }}\" } }]",
    );
    assert_eq!(
        folder.problems(),
        ["promptfooconfig.yaml:2:38: env.NONE is not set\nhelp: export NONE=…"]
    );
    let folder = Folder::new(
        "prompts: [p]\nproviders: [{ id: echo, config: { b: \"{{ env.NONE | default('x') }}\" } }]",
    );
    assert_eq!(folder.plan().providers[0].config["b"], "x");
}

#[test]
fn a_tag_sees_no_variable_but_those_it_names() {
    let folder = Folder::new(
        "prompts: [p]\nproviders: [{ id: echo, config: { a: '{{ env.A }} {{ env | dump }}' } }]",
    )
    .env("A", "one")
    .env("B", "other-value");
    let plan = folder.plan();
    assert_eq!(plan.providers[0].config["a"], "one {}");
}

#[test]
fn what_is_declared_wins_over_what_is_set() {
    let folder = Folder::new(
        "env: { A: mine }\nprompts: [p]\nproviders: [{ id: echo, config: { a: '{{ env.A }}' } }]",
    )
    .env("A", "outside");
    assert_eq!(folder.plan().providers[0].config["a"], "mine");
}

#[test]
fn problems_and_warnings_don_t_show_secrets() {
    let folder = Folder::new("prompts: [p]\nproviders: ['opanai:{{ env.A_TOKEN }}']")
        .env("A_TOKEN", "t-123456");
    let problems = folder.problems();
    assert!(problems[0].contains("'opanai:[hidden]'"), "{problems:?}");
    let folder = Folder::new(
        "prompts: [p]\nproviders: ['echo:{{ env.A_TOKEN }}', 'echo:{{ env.A_TOKEN }}']",
    )
    .env("A_TOKEN", "t-123456");
    let warnings = folder.warnings();
    assert!(warnings[0].contains("'echo:[hidden]'"), "{warnings:?}");
}
