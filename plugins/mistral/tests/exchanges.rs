//! What is sent, and what a run sees of the answer. The shape itself is tested with `openai`.

use plugin_mistral::Mistral;
use runner_plugin::json::{Value, json};
use runner_plugin::testing::{self, Reply, Script};
use runner_plugin::{
    Completion, Error, ErrorCode, FinishReason, Message, Part, Provider, Request, Role, http,
};
use runner_plugin_embed::ProviderEmbed;

const URL: &str = "https://api.mistral.ai/v1/chat/completions";

fn sent(id: &str, config: &Value, request: &Request) -> http::Request {
    let target = testing::target(id, config);
    let answer = json!({ "choices": [{ "message": { "content": "ok" } }] });
    let played = Script::new()
        .exchange("POST", URL, Reply::json(200, &answer))
        .play(|| Mistral::complete(&target, request, &testing::context()));
    played.result.expect("an answer");
    played.requests.into_iter().next().expect("one request")
}

fn ask(reply: Reply) -> Result<Completion, Error> {
    let target = testing::target("mistral:m", &json!({}));
    Script::new()
        .exchange("POST", URL, reply)
        .play(|| Mistral::complete(&target, &Request::new("Hi"), &testing::context()))
        .result
}

#[test]
fn the_request_is_openais_with_the_names_of_this_api() {
    let mut request = Request::new("Hi");
    request
        .messages
        .insert(0, Message::new(Role::Developer, "Be brief."));
    request.seed = Some(7);
    request.max_tokens = Some(5);
    let config = json!({ "safe_prompt": true, "random_seed": 1, "headers": { "X-Title": "t" } });
    for id in ["mistral:m-1", "mistral:chat:m-1"] {
        let sent = sent(id, &config, &request);
        assert_eq!(
            sent.body_json(),
            Some(json!({
                "model": "m-1",
                "messages": [
                    { "role": "system", "content": "Be brief." },
                    { "role": "user", "content": "Hi" },
                ],
                "safe_prompt": true, "random_seed": 7, "max_tokens": 5,
            }))
        );
        assert_eq!(sent.header_value("x-title"), Some("t"));
        assert_eq!(sent.credential.as_deref(), Some("mistral-key"));
        assert_eq!(sent.bucket.as_deref(), Some("m-1"));
    }
}

#[test]
fn the_plugin_says_what_it_wants_and_what_it_refuses() {
    let info = Mistral::describe();
    assert_eq!(info.provider_prefixes, ["mistral"]);
    assert_eq!(info.wants.hosts, ["https://api.mistral.ai"]);
    assert_eq!(info.wants.credentials[0].env, "MISTRAL_API_KEY");
    assert_eq!(
        Mistral::check_config(&json!({ "functionToolCallbacks": {} })).len(),
        1
    );
    for (id, code) in [
        ("mistral", ErrorCode::InvalidRequest),
        ("mistral:agent:a", ErrorCode::Unsupported),
    ] {
        let target = testing::target(id, &json!({}));
        let result = Mistral::complete(&target, &Request::new("Hi"), &testing::context());
        let error = result.expect_err("no answer");
        assert_eq!(error.code, code, "{id}");
        assert_eq!(Mistral::check_target(&target), Err(error));
    }
}

#[test]
fn thinking_is_kept_apart_from_the_answer() {
    let body = json!({
        "model": "m-1", "choices": [{ "finish_reason": "model_length", "message": { "content": [
            { "type": "thinking", "thinking": [{ "type": "text", "text": "2+2" }] },
            { "type": "text", "text": "4" },
        ] } }],
        "usage": { "prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5 },
    });
    let completion = ask(Reply::json(200, &body)).expect("an answer");
    assert_eq!(
        completion.message.content,
        [
            Part::Reasoning("2+2".to_owned()),
            Part::Text("4".to_owned())
        ]
    );
    assert_eq!(completion.finish_reason, Some(FinishReason::Length));
    assert_eq!(completion.usage.total_tokens, Some(5));
}

#[test]
fn errors_are_read_from_the_top_of_the_body() {
    let coded =
        |kind: &str| json!({ "object": "error", "message": "No.", "type": kind, "code": "1300" });
    for (status, body, code) in [
        (
            400,
            coded("invalid_request_error"),
            ErrorCode::InvalidRequest,
        ),
        (401, json!({ "message": "No." }), ErrorCode::Auth),
        (404, json!({ "detail": "No." }), ErrorCode::NotFound),
        (
            422,
            json!({ "detail": [{ "loc": ["body"] }] }),
            ErrorCode::InvalidRequest,
        ),
        (429, coded("rate_limited"), ErrorCode::RateLimited),
        (
            429,
            coded("service_tier_capacity_exceeded"),
            ErrorCode::Transient,
        ),
        (503, json!({ "message": "No." }), ErrorCode::Transient),
    ] {
        let error = ask(Reply::json(status, &body)).expect_err("an error");
        assert_eq!((error.code, error.status), (code, Some(status)), "{body}");
        let said = error.message.ends_with(": No.");
        assert_eq!(said, status != 422, "{}", error.message);
        assert_eq!(error.detail, Some(body));
    }
}

#[test]
fn vectors_come_in_order() {
    let inputs = ["a".to_owned(), "b".to_owned()];
    let target = testing::target("mistral:embedding:e", &json!({}));
    let embed = |body: &Value| {
        Script::new()
            .exchange(
                "POST",
                "https://api.mistral.ai/v1/embeddings",
                Reply::json(200, body),
            )
            .play(|| Mistral::embed(&target, &inputs, &testing::context()))
    };
    let played = embed(&json!({ "data": [{ "embedding": [1] }, { "embedding": [2] }] }));
    assert_eq!(
        played.requests[0].body_json(),
        Some(json!({ "model": "e", "input": ["a", "b"] }))
    );
    assert_eq!(played.result.expect("vectors").vectors, [[1.0], [2.0]]);
    for body in [
        json!({}),
        json!({ "data": [{ "embedding": [1] }] }),
        json!({ "data": [{ "index": 9, "embedding": [1] }, { "embedding": [2] }] }),
        json!({ "data": [{ "embedding": ["x"] }, { "embedding": [2] }] }),
    ] {
        let error = embed(&body).result.expect_err("no vectors");
        assert_eq!(error.code, ErrorCode::BadResponse, "{body}");
    }
    let error = Mistral::embed(
        &testing::target("mistral:m", &json!({})),
        &inputs,
        &testing::context(),
    );
    assert_eq!(error.expect_err("none").code, ErrorCode::Unsupported);
}
