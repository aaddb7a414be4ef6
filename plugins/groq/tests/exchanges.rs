//! What is sent, and what a run sees of the answer. The shape itself is tested with `openai`.

use plugin_groq::Groq;
use runner_plugin::json::{Value, json};
use runner_plugin::testing::{self, Reply, Script};
use runner_plugin::{
    Completion, Error, ErrorCode, FinishReason, Message, Part, Provider, Request, Role, http,
};

const URL: &str = "https://api.groq.com/openai/v1/chat/completions";

fn sent(id: &str, config: &Value, request: &Request) -> http::Request {
    let target = testing::target(id, config);
    let answer = json!({ "choices": [{ "message": { "content": "ok" } }] });
    let played = Script::new()
        .exchange("POST", URL, Reply::json(200, &answer))
        .play(|| Groq::complete(&target, request, &testing::context()));
    played.result.expect("an answer");
    played.requests.into_iter().next().expect("one request")
}

fn ask(reply: Reply) -> Result<Completion, Error> {
    let target = testing::target("groq:m", &json!({}));
    Script::new()
        .exchange("POST", URL, reply)
        .play(|| Groq::complete(&target, &Request::new("Hi"), &testing::context()))
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
    let config = json!({ "reasoning_effort": "low", "headers": { "X-Title": "t" } });
    for id in ["groq:openai/m-1", "groq:chat:openai/m-1"] {
        let sent = sent(id, &config, &request);
        assert_eq!(
            sent.body_json(),
            Some(json!({
                "model": "openai/m-1",
                "messages": [
                    { "role": "system", "content": "Be brief." },
                    { "role": "user", "content": "Hi" },
                ],
                "reasoning_effort": "low", "seed": 7, "max_completion_tokens": 5,
            }))
        );
        assert_eq!(sent.header_value("x-title"), Some("t"));
        assert_eq!(sent.credential.as_deref(), Some("groq-key"));
        assert_eq!(sent.bucket.as_deref(), Some("openai/m-1"));
    }
}

#[test]
fn the_plugin_says_what_it_wants_and_what_it_refuses() {
    let info = Groq::describe();
    assert_eq!(info.provider_prefixes, ["groq"]);
    assert_eq!(info.wants.hosts, ["https://api.groq.com"]);
    assert_eq!(info.wants.credentials[0].env, "GROQ_API_KEY");
    assert_eq!(
        Groq::check_config(&json!({ "functionToolCallbacks": {} })).len(),
        1
    );
    for (id, code) in [
        ("groq", ErrorCode::InvalidRequest),
        ("groq:responses:m", ErrorCode::Unsupported),
    ] {
        let target = testing::target(id, &json!({}));
        let result = Groq::complete(&target, &Request::new("Hi"), &testing::context());
        let error = result.expect_err("no answer");
        assert_eq!(error.code, code, "{id}");
        assert_eq!(Groq::check_target(&target), Err(error));
    }
}

#[test]
fn reasoning_is_kept_apart_from_the_answer() {
    let body = json!({
        "choices": [{ "finish_reason": "length", "message": { "content": "4", "reasoning": "2+2" } }],
        "usage": { "queue_time": 0.1, "prompt_tokens": 3, "completion_tokens": 9, "total_tokens": 12,
                   "completion_tokens_details": { "reasoning_tokens": 7 } },
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
    assert_eq!(completion.usage.reasoning_tokens, Some(7));
    assert_eq!(completion.cost_usd, None);
}

#[test]
fn errors_are_told_apart() {
    let coded = |kind: &str, code: &str| json!({ "error": { "message": "No.", "type": kind, "code": code } });
    for (status, body, code) in [
        (
            400,
            coded("invalid_request_error", "tool_use_failed"),
            ErrorCode::InvalidRequest,
        ),
        (
            401,
            coded("invalid_request_error", "invalid_api_key"),
            ErrorCode::Auth,
        ),
        (
            404,
            coded("invalid_request_error", "model_not_found"),
            ErrorCode::NotFound,
        ),
        (
            413,
            coded("tokens", "rate_limit_exceeded"),
            ErrorCode::RateLimited,
        ),
        (
            429,
            coded("tokens", "rate_limit_exceeded"),
            ErrorCode::RateLimited,
        ),
        (
            498,
            json!({ "error": { "message": "No." } }),
            ErrorCode::Transient,
        ),
        (503, json!({}), ErrorCode::Transient),
    ] {
        let error = ask(Reply::json(status, &body)).expect_err("an error");
        assert_eq!((error.code, error.status), (code, Some(status)), "{body}");
    }
}
