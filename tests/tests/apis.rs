//! Providers beside `openai`, each against a server that answers in its shape.

use insta::assert_snapshot;
use runner_tests::{Answer, Finished, ModelApi, Run};
use serde_json::{Value, json};

fn run(provider: &Value) -> Run {
    let config = json!({
        "prompts": ["Say {{word}}"],
        "providers": [provider],
        "tests": [{ "vars": { "word": "a \"hi\"" } }],
    });
    Run::new()
        .config(&config.to_string())
        .args(["eval", "--no-table", "-o", "out.json"])
}

fn response(finished: &Finished) -> Value {
    finished.expect_code(0);
    finished.json("out.json")["results"]["results"][0]["response"].clone()
}

#[test]
fn http_asks_any_api_with_templates_and_a_path_to_the_answer() {
    let api = ModelApi::start();
    api.always(Answer::json(&json!({ "data": { "text": "fine" } })));
    let provider = json!({ "id": "http", "config": {
        "url": format!("{}/ask/{{{{word}}}}", api.url()),
        "method": "POST",
        "headers": { "content-type": "application/json", "authorization": "Bearer secret-of-a-test" },
        "body": { "question": "{{prompt}}", "word": "{{word}}" },
        "transformResponse": "json.data.text",
    }});
    let finished = run(&provider).finish();
    assert_eq!(response(&finished)["output"], "fine");
    let seen = api.requests().remove(0);
    assert_eq!(
        seen.json,
        json!({ "question": "Say a \"hi\"", "word": "a \"hi\"" })
    );
    assert_eq!(
        seen.header("authorization"),
        Some("Bearer secret-of-a-test")
    );
    let text = finished.read("out.json") + &finished.stdout + &finished.stderr;
    assert!(!text.contains("secret-of-a-test"), "a key is never shown");
}

#[test]
fn anthropic_speaks_messages() {
    let api = ModelApi::start();
    api.always(Answer::json(&json!({
        "model": "claude-x", "role": "assistant", "type": "message", "stop_reason": "end_turn",
        "content": [{ "type": "text", "text": "hello" }],
        "usage": { "input_tokens": 3, "output_tokens": 2 },
    })));
    let provider =
        json!({ "id": "anthropic:messages:claude-x", "config": { "apiBaseUrl": api.url() } });
    let finished = run(&provider)
        .env("ANTHROPIC_API_KEY", "sk-ant-of-a-test")
        .finish();
    let response = response(&finished);
    assert_eq!(response["output"], "hello");
    assert_eq!(response["tokenUsage"]["total"], 5);
    let seen = api.requests().remove(0);
    assert_eq!(seen.header("x-api-key"), Some("sk-ant-of-a-test"));
    assert!(seen.header("anthropic-version").is_some());
    assert_eq!(seen.json["messages"][0]["role"], "user");
}

#[test]
fn google_speaks_generate_content() {
    let api = ModelApi::start();
    api.always(Answer::json(&json!({
        "candidates": [{ "content": { "role": "model", "parts": [{ "text": "hello" }] }, "finishReason": "STOP" }],
        "usageMetadata": { "promptTokenCount": 3, "candidatesTokenCount": 2, "totalTokenCount": 5 },
    })));
    let provider = json!({ "id": "google:gemini-x", "config": { "apiBaseUrl": api.url() } });
    let finished = run(&provider)
        .env("GEMINI_API_KEY", "key-of-a-google-test")
        .finish();
    assert_eq!(response(&finished)["output"], "hello");
    assert!(api.requests()[0].path.contains("gemini-x:generateContent"));
}

#[test]
fn ollama_needs_no_key() {
    let api = ModelApi::start();
    api.always(Answer::json(&json!({
        "model": "tiny", "message": { "role": "assistant", "content": "hello" }, "done": true,
        "done_reason": "stop", "prompt_eval_count": 3, "eval_count": 2,
    })));
    let provider = json!({ "id": "ollama:chat:tiny", "config": { "apiBaseUrl": api.url() } });
    let finished = run(&provider).finish();
    assert_eq!(response(&finished)["output"], "hello");
}

#[test]
fn a_server_of_ones_own_in_openais_shape_needs_no_key() {
    let api = ModelApi::start();
    let config = json!({ "apiBaseUrl": format!("{}/v1", api.url()), "apiKeyRequired": false });
    let provider = json!({ "id": "openai:chat:local", "config": config });
    let finished = run(&provider).finish();
    assert_eq!(response(&finished)["output"], "Say a \"hi\"");
    assert_eq!(api.requests()[0].header("authorization"), None);
}

#[test]
fn a_compatible_server_gets_its_own_key_and_asks_for_no_other() {
    let api = ModelApi::start();
    let base = format!("{}/v1", api.url());
    let provider = json!({ "id": "deepseek:m", "config": { "apiBaseUrl": base } });
    let finished = run(&provider)
        .env("DEEPSEEK_API_KEY", "sk-of-deepseek-in-a-test")
        .env("XAI_API_KEY", "sk-of-another-in-a-test")
        .finish();
    assert_eq!(response(&finished)["output"], "Say a \"hi\"");
    let authorization = api.requests()[0].header("authorization").map(str::to_owned);
    assert_eq!(
        authorization.as_deref(),
        Some("Bearer sk-of-deepseek-in-a-test")
    );

    let finished = run(&provider).finish();
    assert_snapshot!(finished.told());
    assert!(
        !finished.stderr.contains("XAI_API_KEY"),
        "{}",
        finished.stderr
    );
}

#[test]
fn a_key_that_may_be_missing_is_sent_where_it_is_set() {
    for key in [None, Some("sk-of-litellm-in-a-test")] {
        let api = ModelApi::start();
        let mut run = run(&json!({ "id": "litellm:m" })).env("LITELLM_API_BASE", api.url());
        if let Some(key) = key {
            run = run.env("LITELLM_API_KEY", key);
        }
        assert_eq!(response(&run.finish())["output"], "Say a \"hi\"");
        let seen = api.requests().remove(0);
        let expected = key.map(|key| format!("Bearer {key}"));
        assert_eq!(seen.header("authorization"), expected.as_deref());
        assert!(seen.json.get("$without").is_none());
    }
}

#[test]
fn a_key_is_found_in_another_variable_where_the_first_is_not_set() {
    let api = ModelApi::start();
    api.always(Answer::json(&json!({
        "candidates": [{ "content": { "role": "model", "parts": [{ "text": "hello" }] }, "finishReason": "STOP" }],
    })));
    let provider = json!({ "id": "google:gemini-x", "config": { "apiBaseUrl": api.url() } });
    let finished = run(&provider)
        .env("GOOGLE_API_KEY", "key-of-a-google-test")
        .finish();
    assert_eq!(response(&finished)["output"], "hello");
    let seen = api.requests().remove(0);
    assert_eq!(seen.header("x-goog-api-key"), Some("key-of-a-google-test"));
}

#[test]
fn an_id_that_cannot_be_served_is_found_before_anything_is_sent() {
    let mut told = String::new();
    for id in ["openai:video:sora-2", "openai:realtime:m", "openai:chat"] {
        let api = ModelApi::start();
        let finished = run(&json!(id))
            .env("OPENAI_API_KEY", "sk-of-a-test")
            .env("OPENAI_BASE_URL", api.url())
            .finish();
        told += &finished.told_as(id);
        assert!(api.requests().is_empty());
    }
    assert_snapshot!(told);
}

#[test]
fn an_assertion_without_its_value_says_what_it_takes() {
    let config = json!({
        "prompts": ["hi"], "providers": ["echo"],
        "tests": [{ "assert": [{ "type": "contains" }] }],
    });
    let finished = Run::new()
        .config(&config.to_string())
        .args(["eval"])
        .finish();
    assert_snapshot!(finished.told());
}

/// A provider `http` with this much of a config over the usual.
fn over_http(api: &ModelApi, more: &Value) -> Value {
    let mut config = json!({
        "url": api.url(), "method": "POST", "body": { "question": "{{prompt}}" },
    });
    let (Value::Object(config), Value::Object(more)) = (&mut config, more.clone()) else {
        panic!("both are objects")
    };
    config.extend(more);
    json!({ "id": "http", "config": config })
}

fn answering() -> ModelApi {
    let api = ModelApi::start();
    let list = json!([{ "text": "fine" }, { "text": "day" }]);
    api.always(Answer::json(&json!({ "list": list, "used": 7 })));
    api
}

#[test]
fn http_reads_the_answer_by_code_in_every_form() {
    let cases = [
        ("json.list[0].text.toUpperCase()", json!("FINE")),
        ("json.list.length", json!(2)),
        (
            "`${json.list[1].text} ${context.response.status}`",
            json!("day 200"),
        ),
        (
            "context.response.headers['content-type'].split(';')[0]",
            json!("application/json"),
        ),
        ("({ text: text.length > 10 })", json!({ "text": true })),
        (
            "{\n  output: json.list[0].text,\n  cost: 1,\n}",
            json!("fine"),
        ),
        (
            "(data, raw) => data.list.map(it => it.text).join('+')",
            json!("fine+day"),
        ),
        (
            "async function (json) {\n  return { output: json.used }\n};",
            json!(7),
        ),
        (
            "const first = json.list[0]\nreturn first.text",
            json!("fine"),
        ),
        ("file://parse.js", json!("fine, by default")),
        ("file://parse.js:last", json!("day")),
    ];
    for (code, output) in cases {
        let api = answering();
        let finished = run(&over_http(&api, &json!({ "transformResponse": code })))
            .file(
                "parse.js",
                "const by = require('./by.js')\nmodule.exports = json => json.list[0].text + by\n\
                 module.exports.last = (json, text) => JSON.parse(text).list.pop().text\n",
            )
            .file("by.js", "module.exports = ', by default'\n")
            .finish();
        assert_eq!(response(&finished)["output"], output, "{code}");
    }
}

#[test]
fn code_says_more_than_the_output_and_a_transform_comes_after_it() {
    let api = answering();
    let code = "({ output: json.list, tokenUsage: { total: json.used, prompt: 3, completion: 4 }, \
                cost: 0.5, metadata: { first: json.list[0].text } })";
    let mut provider = over_http(&api, &json!({ "transformResponse": code }));
    provider["transform"] = json!("output.length + context.metadata.first");
    let finished = run(&provider).finish();
    let response = response(&finished);
    assert_eq!(response["output"], "2fine");
    assert_eq!(response["tokenUsage"]["total"], 7);
    assert_eq!(response["tokenUsage"]["completion"], 4);
    assert_eq!(response["cost"], 0.5);
    assert_eq!(response["raw"]["used"], 7);
    assert!(
        !finished.read("out.json").contains("$response"),
        "headers are for code alone"
    );
}

#[test]
fn code_that_fails_is_an_error_that_keeps_the_response() {
    for (code, says) in [
        (
            "json.nothing.here()",
            "providers[0].config.transformResponse: TypeError",
        ),
        ("({ error: 'sold out' })", "the code says: sold out"),
        ("undefined", "the code gave no value"),
    ] {
        let api = answering();
        let finished = run(&over_http(&api, &json!({ "transformResponse": code }))).finish();
        finished.expect_code(100);
        let row = finished.json("out.json")["results"]["results"][0].clone();
        let error = row["error"].as_str().unwrap_or_default();
        assert!(error.contains(says), "{code}: {error}");
        assert_eq!(row["errorCode"], "script", "{code}");
        assert_eq!(row["response"]["raw"]["used"], 7, "{code}");
    }
}

#[test]
fn http_sends_what_code_makes_of_the_prompt() {
    for (code, sent) in [
        (
            "({ question: prompt.toUpperCase(), word: vars.word })",
            json!({ "question": "SAY A \"HI\"", "word": "a \"hi\"" }),
        ),
        (
            "(prompt, vars, context) => prompt + context.vars.word.length",
            json!({ "question": "Say a \"hi\"6" }),
        ),
        (
            "return { more: [prompt.length] }",
            json!({ "question": "Say a \"hi\"", "more": [10] }),
        ),
    ] {
        let api = answering();
        let config = json!({ "transformRequest": code, "transformResponse": "json.used" });
        let finished = run(&over_http(&api, &config)).finish();
        assert_eq!(response(&finished)["output"], 7, "{code}");
        assert_eq!(api.requests().remove(0).json, sent, "{code}");
    }
    let api = answering();
    let config = json!({ "transformRequest": "prompt.nothing.here" });
    let finished = run(&over_http(&api, &config)).finish();
    finished.expect_code(100);
    assert!(api.requests().is_empty(), "nothing is sent");
}

#[test]
fn other_code_makes_another_case() {
    let api = answering();
    let config = |code: &str| {
        let provider = over_http(&api, &json!({ "transformResponse": code }));
        json!({ "prompts": ["hi"], "providers": [provider] }).to_string()
    };
    let first = Run::new()
        .config(&config("json.list.length"))
        .args(["eval"]);
    let first = first.finish();
    first.expect_code(0);
    let mut told = String::new();
    for code in ["json.list.length", "json.list.length + 1"] {
        let retried = first.again().config(&config(code)).args(["retry"]).finish();
        told += &retried.told_as(code);
    }
    assert_snapshot!(told);
}

#[test]
fn a_fault_of_a_config_begins_with_its_place() {
    let config = "prompts: [hi]\nproviders:\n  - id: http\n    config:\n      url: https://a.test\n      method: [GET]\n      multipart: { parts: [] }\n";
    let finished = Run::new().config(config).args(["eval"]).finish();
    assert_snapshot!("found_by_the_host", finished.told());
    for hidden in [".wasm", "sha256"] {
        assert!(!finished.stderr.contains(hidden), "{}", finished.stderr);
    }
    let finished = Run::new()
        .config(&config.replace("[GET]", "GET"))
        .args(["eval"])
        .finish();
    assert_snapshot!("found_by_the_plugin", finished.told());
}
