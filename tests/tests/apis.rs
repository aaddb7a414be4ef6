//! Providers beside `openai`, each against a server that answers in its shape.

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
