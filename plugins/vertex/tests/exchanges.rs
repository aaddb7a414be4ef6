//! What is sent where, and what becomes of the response.

use plugin_vertex::Vertex;
use runner_plugin::json::{Value, json};
use runner_plugin::testing::{self, Reply, Script};
use runner_plugin::{Completion, ErrorCode, Provider, Request, http};
use runner_plugin_embed::ProviderEmbed;

fn played(id: &str, config: &Value, url: &str, answer: &Value) -> (Completion, http::Request) {
    let target = testing::target(id, config);
    let played = Script::new()
        .exchange("POST", url, Reply::json(200, answer))
        .play(|| Vertex::complete(&target, &Request::new("Hi"), &testing::context()));
    let request = played.requests.into_iter().next().expect("one request");
    (played.result.expect("an answer"), request)
}

fn gemini(text: &str) -> Value {
    json!({ "candidates": [{ "content": { "parts": [{ "text": text }] } }] })
}

#[test]
fn region_project_version_and_publisher_make_the_address() {
    let usual = "https://us-central1-aiplatform.googleapis.com";
    let models = "publishers/google/models";
    for (config, url) in [
        (
            json!({ "projectId": "p" }),
            format!(
                "{usual}/v1/projects/p/locations/us-central1/{models}/gemini-x:generateContent"
            ),
        ),
        (
            json!({ "projectId": "p", "region": "global" }),
            format!(
                "https://aiplatform.googleapis.com/v1/projects/p/locations/global/{models}/gemini-x:generateContent"
            ),
        ),
        (
            json!({ "projectId": "p", "apiVersion": "v1beta1", "publisher": "other" }),
            format!(
                "{usual}/v1beta1/projects/p/locations/us-central1/publishers/other/models/gemini-x:generateContent"
            ),
        ),
        (
            json!({ "projectId": "p", "apiBaseUrl": "https://proxy.test/" }),
            format!(
                "https://proxy.test/v1/projects/p/locations/us-central1/{models}/gemini-x:generateContent"
            ),
        ),
    ] {
        for id in ["vertex:gemini-x", "vertex:chat:gemini-x"] {
            let (answer, sent) = played(id, &config, &url, &gemini("ok"));
            assert_eq!(answer.message.text(), "ok");
            assert_eq!(sent.credential.as_deref(), Some("google-adc"));
            let body = json!({ "contents": [{ "role": "user", "parts": [{ "text": "Hi" }] }] });
            assert_eq!(sent.body_json(), Some(body), "{config}");
        }
    }
}

#[test]
fn claude_has_the_model_in_the_address_and_the_version_in_the_body() {
    let url = "https://us-east5-aiplatform.googleapis.com/v1/projects/p/locations/us-east5/publishers/anthropic/models/claude-x%401:rawPredict";
    let config = json!({
        "projectId": "p", "region": "us-east5", "maxOutputTokens": 9, "topK": 3,
        "stopSequences": ["x"],
    });
    let answer = json!({ "content": [{ "type": "text", "text": "ok" }] });
    let (answer, sent) = played("vertex:claude-x@1", &config, url, &answer);
    assert_eq!(answer.message.text(), "ok");
    let body = json!({
        "messages": [{ "role": "user", "content": "Hi" }], "max_tokens": 9, "top_k": 3,
        "stop_sequences": ["x"], "anthropic_version": "vertex-2023-10-16",
    });
    assert_eq!(sent.body_json(), Some(body));
}

#[test]
fn llama_is_asked_in_openais_shape() {
    let url = "https://us-central1-aiplatform.googleapis.com/v1/projects/p/locations/us-central1/endpoints/openapi/chat/completions";
    let answer = json!({ "choices": [{ "message": { "content": "ok" } }] });
    let config = json!({ "projectId": "p" });
    let (answer, sent) = played("vertex:llama-4-x", &config, url, &answer);
    assert_eq!(answer.message.text(), "ok");
    let body = sent.body_json().expect("JSON");
    assert_eq!(body["model"], "meta/llama-4-x");
}

#[test]
fn what_cannot_be_served_is_found_at_load() {
    for (id, config, code) in [
        ("vertex:gemini-x", json!({}), ErrorCode::InvalidRequest),
        (
            "vertex",
            json!({ "projectId": "p" }),
            ErrorCode::InvalidRequest,
        ),
        (
            "vertex:live:x",
            json!({ "projectId": "p" }),
            ErrorCode::Unsupported,
        ),
        (
            "vertex:gemini-x",
            json!({ "projectId": ".." }),
            ErrorCode::InvalidRequest,
        ),
    ] {
        let found = Vertex::check_target(&testing::target(id, &config));
        assert_eq!(found.expect_err("found").code, code, "{id} {config}");
    }
    let problems = Vertex::check_config(&json!({ "apiHost": "x", "keyFilename": "k" }));
    assert_eq!(problems.len(), 2);
}

#[test]
fn each_text_has_a_request_for_its_vector() {
    let url = "https://us-central1-aiplatform.googleapis.com/v1/projects/p/locations/us-central1/publishers/google/models/e:predict";
    let config = json!({ "projectId": "p", "taskType": "RETRIEVAL_QUERY", "autoTruncate": false });
    let target = testing::target("vertex:embedding:e", &config);
    let one = |x: f64| {
        let statistics = json!({ "token_count": 2.0 });
        json!({ "predictions": [{ "embeddings": { "values": [x], "statistics": statistics } }] })
    };
    let texts = ["a".to_owned(), "b".to_owned()];
    let played = Script::new()
        .exchange("POST", url, Reply::json(200, &one(0.5)))
        .exchange("POST", url, Reply::json(200, &one(0.25)))
        .play(|| Vertex::embed(&target, &texts, &testing::context()));
    let found = played.result.expect("vectors");
    assert_eq!(found.vectors, [[0.5], [0.25]]);
    assert_eq!(found.usage.input_tokens, Some(4));
    let body = json!({
        "instances": [{ "content": "b", "task_type": "RETRIEVAL_QUERY" }],
        "parameters": { "autoTruncate": false },
    });
    assert_eq!(played.requests[1].body_json(), Some(body));
}
