//! What is sent where, and what a run sees of the answer. The shape itself is tested with
//! `openai`.

use plugin_azure::Azure;
use runner_plugin::json::{Value, json};
use runner_plugin::testing::{self, Reply, Script};
use runner_plugin::{Completion, Error, ErrorCode, Provider, Request, http};
use runner_plugin_embed::ProviderEmbed;

const URL: &str =
    "https://r.openai.azure.com/openai/deployments/d/chat/completions?api-version=2024-10-21";

fn config(more: &Value) -> Value {
    let mut config = json!({ "apiHost": "r.openai.azure.com" });
    if let (Value::Object(config), Value::Object(more)) = (&mut config, more) {
        config.extend(more.clone());
    }
    config
}

fn answer() -> Reply {
    Reply::json(
        200,
        &json!({ "choices": [{ "message": { "content": "ok" } }] }),
    )
}

fn sent(id: &str, config: &Value, request: &Request, url: &str) -> http::Request {
    let target = testing::target(id, config);
    let played = Script::new()
        .exchange("POST", url, answer())
        .play(|| Azure::complete(&target, request, &testing::context()));
    played.result.expect("an answer");
    played.requests.into_iter().next().expect("one request")
}

fn ask(reply: Reply) -> Result<Completion, Error> {
    let target = testing::target("azure:chat:d", &config(&json!({})));
    Script::new()
        .exchange("POST", URL, reply)
        .play(|| Azure::complete(&target, &Request::new("Hi"), &testing::context()))
        .result
}

#[test]
fn the_deployment_stands_in_the_address() {
    for id in ["azure:d", "azure:chat:d", "azureopenai:chat:d"] {
        let sent = sent(
            id,
            &config(&json!({ "temperature": 0 })),
            &Request::new("Hi"),
            URL,
        );
        assert_eq!(
            sent.body_json(),
            Some(json!({ "messages": [{ "role": "user", "content": "Hi" }], "temperature": 0 }))
        );
        assert_eq!(sent.credential.as_deref(), Some("azure-key"));
        assert_eq!(sent.bucket.as_deref(), Some("d"));
    }
}

#[test]
fn addresses_are_found_in_each_form() {
    let request = Request::new("Hi");
    for (config, url) in [
        (
            json!({ "apiHost": "https://r.openai.azure.com/", "apiVersion": "2025-01-01-preview" }),
            "https://r.openai.azure.com/openai/deployments/a%2Fb/chat/completions?api-version=2025-01-01-preview",
        ),
        (
            json!({ "apiBaseUrl": "https://gate.test/x/" }),
            "https://gate.test/x/openai/deployments/a%2Fb/chat/completions?api-version=2024-10-21",
        ),
        (
            json!({ "apiBaseUrl": "https://r.openai.azure.com/openai/v1" }),
            "https://r.openai.azure.com/openai/v1/chat/completions",
        ),
    ] {
        let body = sent("azure:chat:a/b", &config, &request, url).body_json();
        let model = body.expect("a JSON body").get("model").cloned();
        assert_eq!(model, url.contains("/v1/").then(|| json!("a/b")), "{url}");
    }
    let escape = config(&json!({ "apiVersion": "1&evil=1#" }));
    let url = URL.replace("2024-10-21", "1%26evil%3D1%23");
    let _ = sent("azure:chat:d", &escape, &request, &url);
    for deployment in [".", ".."] {
        let target = testing::target("azure:chat:d", &config(&json!({ "model": deployment })));
        let error = Azure::complete(&target, &request, &testing::context()).expect_err("a step");
        assert_eq!(error.code, ErrorCode::InvalidRequest, "{deployment}");
    }
    let target = testing::target("azure:chat:d", &json!({}));
    let error = Azure::complete(&target, &request, &testing::context()).expect_err("nowhere");
    assert_eq!(error.code, ErrorCode::InvalidRequest);
    assert!(error.message.contains("apiHost"), "{}", error.message);
}

#[test]
fn a_reasoning_deployment_has_another_token_limit() {
    let mut request = Request::new("Hi");
    request.max_tokens = Some(5);
    for (more, key) in [
        (json!({}), "max_tokens"),
        (json!({ "isReasoningModel": true }), "max_completion_tokens"),
        (json!({ "o1": true }), "max_completion_tokens"),
    ] {
        let body = sent("azure:d", &config(&more), &request, URL).body_json();
        assert_eq!(body.expect("a JSON body")[key], 5, "{more}");
    }
}

#[test]
fn errors_are_told_apart() {
    let coded = |code: &str| json!({ "error": { "code": code, "message": "No." } });
    for (status, body, code) in [
        (400, coded("content_filter"), ErrorCode::ContentFilter),
        (
            400,
            coded("context_length_exceeded"),
            ErrorCode::ContextLength,
        ),
        (401, coded("401"), ErrorCode::Auth),
        (404, coded("DeploymentNotFound"), ErrorCode::NotFound),
        (429, coded("429"), ErrorCode::RateLimited),
        (403, coded("insufficient_quota"), ErrorCode::QuotaExhausted),
        (500, coded("InternalServerError"), ErrorCode::Transient),
        (422, json!({}), ErrorCode::InvalidRequest),
    ] {
        let error = ask(Reply::json(status, &body)).expect_err("an error");
        assert_eq!((error.code, error.status), (code, Some(status)), "{body}");
    }
}

#[test]
fn vectors_come_in_order() {
    let url = "https://r.openai.azure.com/openai/deployments/e/embeddings?api-version=2024-10-21";
    let body = json!({
        "data": [{ "index": 1, "embedding": [0] }, { "index": 0, "embedding": [1, 0.5] }],
        "usage": { "prompt_tokens": 4, "total_tokens": 4 },
    });
    let target = testing::target("azure:embedding:e", &config(&json!({})));
    let inputs = ["a".to_owned(), "b".to_owned()];
    let played = Script::new()
        .exchange("POST", url, Reply::json(200, &body))
        .play(|| Azure::embed(&target, &inputs, &testing::context()));
    assert_eq!(
        played.requests[0].body_json(),
        Some(json!({ "input": ["a", "b"] }))
    );
    let answer = played.result.expect("vectors");
    assert_eq!(answer.vectors, [vec![1.0, 0.5], vec![0.0]]);
    assert_eq!(answer.usage.input_tokens, Some(4));
}

#[test]
fn what_cannot_be_done_is_said() {
    let early = json!({ "apiHost": "r.openai.azure.com/openai/files?x=" });
    assert_eq!(Azure::check_config(&early)[0].0, "/apiHost");
    let both = json!({ "apiHost": "a.openai.azure.com", "apiBaseUrl": "https://b.test/v1" });
    assert_eq!(Azure::check_config(&both)[0].0, "/apiHost");
    let project = json!({ "projectUrl": "p.services.ai.azure.com/api/projects/p?x=" });
    assert_eq!(Azure::check_config(&project)[0].0, "/projectUrl");
    let same = json!({ "apiHost": "b.test", "apiBaseUrl": "https://b.test/v1" });
    assert_eq!(Azure::check_config(&same), []);
    assert_eq!(
        Azure::check_config(&json!({ "azureTenantId": "t" }))[0].0,
        "/azureTenantId"
    );
    for id in [
        "azure:video:a",
        "azure:responses:d",
        "azure:realtim:d",
        "azure:embedding:e",
    ] {
        let target = testing::target(id, &config(&json!({})));
        let found = Azure::check_target(&target).is_err();
        assert_eq!(found, id != "azure:embedding:e", "{id}");
        let error = Azure::complete(&target, &Request::new("Hi"), &testing::context());
        assert_eq!(
            error.expect_err("no answer").code,
            ErrorCode::Unsupported,
            "{id}"
        );
    }
    for (id, config) in [("azure:chat", config(&json!({}))), ("azure:d", json!({}))] {
        let found = Azure::check_target(&testing::target(id, &config));
        let code = found.expect_err("no deployment or no address").code;
        assert_eq!(code, ErrorCode::InvalidRequest, "{id}");
    }
    let target = testing::target("azure:d", &config(&json!({})));
    let error = Azure::embed(&target, &[], &testing::context()).expect_err("none");
    assert_eq!(error.code, ErrorCode::Unsupported);
}

#[test]
fn the_plugin_says_what_it_wants() {
    let info = Azure::describe();
    assert_eq!(info.provider_prefixes, ["azure", "azureopenai"]);
    assert_eq!(info.wants.hosts[0], "https://*.openai.azure.com");
    let schemes = info
        .wants
        .credentials
        .iter()
        .map(|want| (&*want.name, &*want.scheme));
    assert_eq!(
        schemes.collect::<Vec<_>>(),
        [("azure-token", "bearer"), ("azure-key", "header:api-key")]
    );
    let extras = info.metadata_json.expect("some");
    let extras: Value = serde_json::from_str(&extras).expect("JSON");
    for prefix in ["azure", "azureopenai"] {
        let own = &extras["wantsOf"][prefix];
        assert_eq!(own["credentials"], json!(["azure-key"]));
        assert!(!own["settings"].to_string().contains("PROJECT"), "{own}");
        let agents = &extras["wantsOf"][format!("{prefix}:foundry-agent")];
        assert_eq!(
            *agents,
            json!({
                "hosts": ["https://*.services.ai.azure.com"],
                "credentials": ["azure-token", "azure-key"],
                "settings": ["AZURE_AI_PROJECT_URL"],
            })
        );
    }
    assert_eq!(extras["credentialsIfSet"], json!(["azure-token"]));
    assert_eq!(
        extras["credentialsUnless"],
        json!({ "azure-key": "azure-token" })
    );
}

#[test]
fn what_the_filters_found_is_told_to_guardrails() {
    let found = |prompt: bool, output: bool, finish: &str| {
        let results = |filtered: bool| json!({ "hate": { "filtered": filtered, "severity": "high" }, "sexual": { "filtered": false } });
        let completion = ask(Reply::json(
            200,
            &json!({
                "choices": [{ "message": { "content": "ok" }, "finish_reason": finish, "content_filter_results": results(output) }],
                "prompt_filter_results": [{ "prompt_index": 0, "content_filter_results": results(prompt) }],
            }),
        ));
        let metadata = completion
            .expect("an answer")
            .metadata_json
            .expect("metadata");
        let metadata: Value = serde_json::from_str(&metadata).expect("JSON");
        metadata["guardrails"].clone()
    };
    let flags =
        |found: Value| ["flagged", "flaggedInput", "flaggedOutput"].map(|key| found[key] == true);
    assert_eq!(flags(found(false, false, "stop")), [false, false, false]);
    assert_eq!(flags(found(true, false, "stop")), [true, true, false]);
    assert_eq!(flags(found(false, true, "stop")), [true, false, true]);
    assert_eq!(
        flags(found(false, false, "content_filter")),
        [true, false, true]
    );
    let reason = found(true, false, "stop")["reason"].to_string();
    assert!(reason.contains("hate"), "{reason}");
    let plain = ask(answer()).expect("an answer");
    assert_eq!(plain.metadata_json, None, "other APIs say nothing");
}
