//! The forms of providers, and which columns they make.

use std::time::Duration;

use serde_json::json;

use crate::fixture::Folder;

fn columns(yaml: &str) -> Vec<(String, String)> {
    let plan = Folder::new(yaml)
        .file("one.yaml", "id: echo\nlabel: from file\n")
        .file("many.yaml", "- echo\n- id: openai:gpt\n- file://one.yaml\n")
        .file("prompts.yaml", "providers:\n  - echo:x\n")
        .plan();
    let name = |column: &crate::plan::Column| {
        let provider = &column.provider;
        (
            provider
                .label
                .clone()
                .unwrap_or_else(|| provider.id.clone()),
            column.prompt.label.clone(),
        )
    };
    let columns = &plan.columns;
    assert!(
        columns
            .iter()
            .enumerate()
            .all(|(index, column)| column.prompt_idx as usize == index)
    );
    columns.iter().map(|column| name(column)).collect()
}

fn ids(providers: &str) -> Vec<String> {
    columns(&format!("prompts: [p]\n{providers}"))
        .into_iter()
        .map(|(provider, _)| provider)
        .collect()
}

#[test]
fn every_form_is_read() {
    let cases: [(&str, &[&str]); 10] = [
        ("providers: echo", &["echo"]),
        ("targets: [echo]", &["echo"]),
        (
            "providers: [echo, 'openai:chat:gpt']",
            &["echo", "openai:chat:gpt"],
        ),
        ("providers: [{ id: echo, label: mine }]", &["mine"]),
        (
            "providers: [{ 'openai:gpt': { config: { a: 1 } } }]",
            &["openai:gpt"],
        ),
        ("providers: [{ 'openai:gpt': { label: l } }]", &["l"]),
        (
            "providers: [{ echo: { id: my-own-name } }]",
            &["my-own-name"],
        ),
        ("providers: file://one.yaml", &["from file"]),
        (
            "providers: [file://many.yaml]",
            &["echo", "openai:gpt", "from file"],
        ),
        ("providers: [file://prompts.yaml]", &["echo:x"]),
    ];
    for (yaml, expected) in cases {
        assert_eq!(ids(yaml), expected, "{yaml}");
    }
}

#[test]
fn an_object_is_read_whole() {
    let plan = Folder::new(
        "prompts: [p]\nproviders:\n  - id: openai:chat:gpt\n    label: l\n    delay: 250\n    env: { A: b }\n    config: { temperature: 0.5 }",
    )
    .plan();
    let provider = &plan.columns[0].provider;
    assert_eq!(
        (
            provider.prefix.as_str(),
            provider.name.as_str(),
            provider.plugin.as_str()
        ),
        ("openai", "chat:gpt", "openai")
    );
    assert_eq!(provider.delay, Some(Duration::from_millis(250)));
    assert_eq!(
        (json!(provider.config), json!(provider.env)),
        (json!({"temperature": 0.5}), json!({"A": "b"}))
    );
    assert_eq!(
        (
            provider.at.line,
            provider.at.column,
            provider.at.key.as_str()
        ),
        (3, 9, "providers[0].id")
    );
}

#[test]
fn files_in_a_config_are_their_content() {
    let plan = Folder::new(
        "prompts: [p]\nproviders: [{ id: echo, config: { tools: file://t/tools.yaml, format: { schema: file://s.json }, system: [file://s.txt], body: file://b.js } }]",
    )
    .file("t/tools.yaml", "- name: a\n")
    .file("s.json", "{ \"type\": \"object\" }")
    .file("s.txt", "Be brief.\n")
    .plan();
    assert_eq!(
        json!(plan.columns[0].provider.config),
        json!({
            "tools": [{ "name": "a" }],
            "format": { "schema": { "type": "object" } },
            "system": ["Be brief.\n"],
            "body": "file://b.js",
        })
    );
    let missing =
        Folder::new("prompts: [p]\nproviders: [{ id: echo, config: { tools: file://no.json } }]");
    assert_eq!(missing.problems().len(), 1);
}

#[test]
fn columns_are_providers_by_prompts_and_what_stands_twice_is_one() {
    let expected = [("echo", "a"), ("echo", "b"), ("m", "a"), ("m", "b")];
    let expected = expected.map(|(provider, prompt)| (provider.to_owned(), prompt.to_owned()));
    assert_eq!(
        columns("prompts: [a, b]\nproviders: [echo, { id: echo, label: m }, echo]"),
        expected
    );
}

#[test]
fn a_provider_may_choose_its_prompts_and_that_says_nothing_of_others() {
    let yaml = "prompts: [{ raw: x, label: 'g:1' }, { raw: y, label: 'g:2' }, { raw: z, label: o }]\n\
                providers: [{ id: echo, label: l, prompts: [g] }, { id: echo, prompts: ['g:2', o] }, echo]";
    let expected = [
        ("l", "g:1"),
        ("l", "g:2"),
        ("echo", "g:2"),
        ("echo", "o"),
        ("echo", "g:1"),
        ("echo", "g:2"),
        ("echo", "o"),
    ];
    assert_eq!(
        columns(yaml),
        expected.map(|(provider, prompt)| (provider.to_owned(), prompt.to_owned()))
    );
}

#[test]
fn what_is_wrong_is_said() {
    let at = "promptfooconfig.yaml:2:";
    let cases = [
        ("", "promptfooconfig.yaml:1:1: providers: there are no providers\nhelp: write at least one, for example: providers: [echo]".to_owned()),
        ("providers: []", format!("{at}12: providers: there are no providers\nhelp: write at least one, for example: providers: [echo]")),
        (
            "providers: ['opanai:gpt']",
            format!("{at}13: providers[0]: no plugin serves the provider 'opanai:gpt'\nhelp: did you mean 'openai'?"),
        ),
        (
            "providers: [{ id: 'watsonx:x' }]",
            format!("{at}19: providers[0].id: no plugin serves the provider 'watsonx:x'\nhelp: not supported yet: where the API is like OpenAI's, `openai:MODEL` with `config: {{ apiBaseUrl: … }}`; any other over HTTP, `id: https://…`; many models, `openrouter:…`"),
        ),
        (
            "providers: [file://p.rb]",
            format!("{at}13: providers[0]: 'file://p.rb': providers in this language are not run by themselves\nhelp: start it by a command: `exec: ruby answer.rb` gets the prompt as its first argument and prints the answer"),
        ),
        (
            "providers: ['exec: ']",
            format!("{at}13: providers[0]: names no command\nhelp: for example: exec: python3 answer.py --short"),
        ),
        ("providers: [{ label: x }]", format!("{at}13: providers[0]: has no `id`\nhelp: for example: id: openai:gpt-4o")),
        ("providers: [5]", format!("{at}13: providers[0]: must be an id or a map with `id`, not a number")),
        ("providers: [{ id: echo, prompts: [q] }]", format!("{at}35: providers[0].prompts[0]: there is no prompt 'q'")),
        ("providers: [{ id: echo, delay: -1 }]", format!("{at}32: providers[0].delay: must be a whole number from 0 to 86400000, not -1")),
    ];
    for (yaml, expected) in cases {
        assert_eq!(
            Folder::new(&format!("prompts: [p]\n{yaml}")).problems(),
            [expected],
            "{yaml}"
        );
    }
}

#[test]
fn files_that_name_each_other_end() {
    let folder =
        Folder::new("prompts: [p]\nproviders: [file://a.yaml]").file("a.yaml", "- file://a.yaml\n");
    assert_eq!(
        folder.problems(),
        ["a.yaml:1:3: [0]: files of providers name each other more than 8 deep"]
    );
}
