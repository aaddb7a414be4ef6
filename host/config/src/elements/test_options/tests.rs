//! Which options of a row are asked for.

use serde_json::{Value, json};

use crate::fixture::Folder;

/// A config with the tests of a data file, which is `rows`.
fn data(rows: &str) -> Folder {
    Folder::new("prompts: ['{{q}}']\nproviders: [echo]\ntests: file://t.jsonl")
        .file("t.jsonl", rows)
}

#[test]
fn options_of_a_row_are_asked_for_where_they_steer_its_request() {
    let row = r#"{ "vars": { "q": "1" }, "options": { "url": "http://x", "temperature": 1, "basePath": "/b", "useHttps": false, "headers": { "a": "b" } } }"#;
    assert_eq!(
        data(row).requests(),
        [
            "t.jsonl:1:45: options.url: set `url` of its request to \"http://x\"",
            "t.jsonl:1:87: options.basePath: set `basePath` of its request to \"/b\"",
            "t.jsonl:1:105: options.useHttps: set `useHttps` of its request to false",
            "t.jsonl:1:123: options.headers: set `headers` of its request to {\"a\":\"b\"}",
        ]
    );
    let config = format!("prompts: [p]\nproviders: [echo]\ntests: [{row}]");
    assert_eq!(Folder::new(&config).requests(), [""; 0]);
}

#[test]
fn options_of_a_row_shape_the_answer_and_the_test_unasked() {
    let free = [
        ("temperature", json!(0)),
        ("topP", json!(1)),
        ("max_tokens", json!(9)),
        ("maxTokens", json!(9)),
        ("max_output_tokens", json!(9)),
        ("maxOutputTokens", json!(9)),
        ("stop", json!(["x"])),
        ("stopSequences", json!(["x"])),
        ("presence_penalty", json!(1)),
        (
            "response_format",
            json!({ "type": "json_object", "url": "x" }),
        ),
        ("reasoning", json!({ "effort": "low", "model": "x" })),
        ("prefix", json!("x")),
        ("storeOutputAs", json!("x")),
        ("timeoutMs", json!(5)),
        ("rawVars", json!(true)),
        ("disableDefaultAsserts", json!(true)),
    ];
    let asked = [
        ("tools", json!([{ "type": "mcp", "server_url": "x" }])),
        ("model", json!("../../v1beta/files/abc:delete?alt=json#")),
        ("Model", json!("gpt-9")),
        ("passthrough", json!({ "contents": null })),
        ("extra_body", json!({ "temperature": 1 })),
        ("apiVersion", json!("../../evil?k=1#")),
        ("organization", json!("org-x")),
        ("beta", json!(["x"])),
        ("apiKeyRequired", json!(false)),
        ("apiKey", json!("sk-x")),
        ("messages", json!([])),
        ("n", json!(100)),
        ("repeat", json!(100)),
        ("Repeat", json!(100)),
        ("$request", json!({})),
        ("what comes tomorrow", json!(1)),
    ];
    let requests = |key: &str, value: &Value| {
        let row = json!({ "vars": { "q": "1" }, "options": { key: value } });
        let of_config = format!("prompts: [p]\nproviders: [echo]\ntests: [{row}]");
        if key != "apiKey" {
            assert_eq!(Folder::new(&of_config).requests(), [""; 0], "{key}");
        }
        data(&row.to_string()).requests()
    };
    for (key, value) in free {
        assert_eq!(requests(key, &value), [""; 0], "{key}");
    }
    for (key, value) in asked {
        let quote = if key.contains(' ') { '\'' } else { '`' };
        let name = format!("{quote}{key}{quote}");
        let subject = format!("set {name} of its request to {value}");
        let requests = requests(key, &value);
        assert_eq!(requests.len(), 1, "{key}");
        assert!(requests[0].ends_with(&subject), "{requests:?}");
    }
}

#[test]
fn where_requests_go_and_with_which_key_is_the_provider_s_to_say() {
    for key in super::OF_THE_PROVIDER {
        let expected = format!(
            "'{key}' is one for all requests of a provider, and is not read here\n\
             help: write it into the provider's own entry: config: {{ {key}: … }}"
        );
        let of_prompt = format!(
            "prompts: [{{ raw: p, config: {{ {key}: x }} }}]\nproviders: [echo]\ntests: [{{}}]\n"
        );
        let of_test = format!(
            "prompts: [p]\nproviders: [echo]\ntests: [{{ vars: {{ a: 1 }}, options: {{ {key}: x }} }}]\n"
        );
        for config in [of_prompt, of_test] {
            let problems = Folder::new(&config).problems();
            assert!(
                problems.iter().any(|it| it.ends_with(&expected)),
                "{problems:?}"
            );
        }
    }
}
