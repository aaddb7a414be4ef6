//! What is sent, and what a run sees of the answer. The shape itself is tested with `openai`.

use plugin_openrouter::OpenRouter;
use runner_plugin::json::{Value, json};
use runner_plugin::testing::{self, Reply, Script};
use runner_plugin::{
    Completion, Error, ErrorCode, FinishReason, Message, Part, Provider, Request, Role, http,
};

const URL: &str = "https://openrouter.ai/api/v1/chat/completions";

fn sent(id: &str, config: &Value, request: &Request) -> http::Request {
    let target = testing::target(id, config);
    let answer = json!({ "choices": [{ "message": { "content": "ok" } }] });
    let played = Script::new()
        .exchange("POST", URL, Reply::json(200, &answer))
        .play(|| OpenRouter::complete(&target, request, &testing::context()));
    played.result.expect("an answer");
    played.requests.into_iter().next().expect("one request")
}

fn ask(reply: Reply) -> Result<Completion, Error> {
    let target = testing::target("openrouter:m", &json!({}));
    Script::new()
        .exchange("POST", URL, reply)
        .play(|| OpenRouter::complete(&target, &Request::new("Hi"), &testing::context()))
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
    let config = json!({ "provider": { "order": ["azure"] }, "headers": { "X-Title": "t" } });
    for id in ["openrouter:meta/m-1:free", "openrouter:chat:meta/m-1:free"] {
        let sent = sent(id, &config, &request);
        assert_eq!(
            sent.body_json(),
            Some(json!({
                "model": "meta/m-1:free",
                "messages": [
                    { "role": "system", "content": "Be brief." },
                    { "role": "user", "content": "Hi" },
                ],
                "provider": { "order": ["azure"] }, "seed": 7, "max_tokens": 5,
            }))
        );
        assert_eq!(sent.header_value("x-title"), Some("t"));
        assert_eq!(sent.credential.as_deref(), Some("openrouter-key"));
        assert_eq!(sent.bucket.as_deref(), Some("meta/m-1:free"));
    }
}

#[test]
fn the_plugin_says_what_it_wants_and_what_it_refuses() {
    let info = OpenRouter::describe();
    assert_eq!(info.provider_prefixes, ["openrouter"]);
    assert_eq!(info.wants.hosts, ["https://openrouter.ai"]);
    assert_eq!(info.wants.credentials[0].env, "OPENROUTER_API_KEY");
    assert_eq!(
        OpenRouter::check_config(&json!({ "functionToolCallbacks": {} })).len(),
        1
    );
    for (id, code) in [
        ("openrouter", ErrorCode::InvalidRequest),
        ("openrouter:embedding:e", ErrorCode::Unsupported),
    ] {
        let target = testing::target(id, &json!({}));
        let result = OpenRouter::complete(&target, &Request::new("Hi"), &testing::context());
        assert_eq!(result.expect_err("no answer").code, code, "{id}");
    }
}

#[test]
fn the_price_is_the_one_that_the_api_states() {
    let body = json!({
        "model": "meta/m-1", "provider": "Azure",
        "choices": [{ "finish_reason": "stop", "native_finish_reason": "completed",
                      "message": { "content": "4", "reasoning": "2+2", "refusal": null } }],
        "usage": { "prompt_tokens": 30, "completion_tokens": 9, "total_tokens": 39, "cost": 0.00125,
                   "prompt_tokens_details": { "cached_tokens": 10, "cache_write_tokens": 5 } },
    });
    let completion = ask(Reply::json(200, &body)).expect("an answer");
    assert_eq!(completion.cost_usd, Some(0.00125));
    assert_eq!(completion.usage.cache_read_tokens, Some(10));
    assert_eq!(completion.usage.cache_write_tokens, Some(5));
    assert_eq!(completion.finish_reason, Some(FinishReason::Stop));
    assert_eq!(
        completion.message.content[0],
        Part::Reasoning("2+2".to_owned())
    );
    let free = json!({ "choices": [{ "message": { "content": "x" } }] });
    assert_eq!(
        ask(Reply::json(200, &free)).expect("an answer").cost_usd,
        None
    );
}

#[test]
fn what_failed_behind_the_gateway_is_an_error_whatever_the_status() {
    for (stated, code) in [
        (400, ErrorCode::InvalidRequest),
        (401, ErrorCode::Auth),
        (402, ErrorCode::QuotaExhausted),
        (403, ErrorCode::Auth),
        (408, ErrorCode::Timeout),
        (429, ErrorCode::RateLimited),
        (502, ErrorCode::Transient),
    ] {
        let error =
            json!({ "code": stated, "message": "No.", "metadata": { "provider_name": "x" } });
        for (status, body) in [
            (200, json!({ "error": error })),
            (stated, json!({ "error": error })),
            (
                200,
                json!({ "choices": [{ "error": error, "message": { "content": "" } }] }),
            ),
        ] {
            let failure = ask(Reply::json(status, &body)).expect_err("an error");
            assert_eq!(failure.code, code, "{status} {body}");
            assert_eq!(failure.detail.as_ref(), Some(&error));
        }
    }
}
