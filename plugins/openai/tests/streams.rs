//! An answer that is streamed is the one that the API would have given whole.

use plugin_openai::OpenAi;
use runner_plugin::json::{Value, json};
use runner_plugin::testing::{self, Reply, Script};
use runner_plugin::{Completion, Error, ErrorCode, Provider, Request, http};

/// The request that was sent, and what came of it.
fn asked(
    id: &str,
    url: &str,
    config: &Value,
    reply: Reply,
) -> (http::Request, Result<Completion, Error>) {
    let target = testing::target(id, config);
    let played = Script::new()
        .exchange("POST", url, reply)
        .play(|| OpenAi::complete(&target, &Request::new("Hi"), &testing::context()));
    let sent = played.requests.into_iter().next().expect("one request");
    (sent, played.result)
}

/// What a streamed answer and a whole one come to, apart from the raw response.
fn both(id: &str, urls: [&str; 2], stream: &str, whole: &Value) -> [Completion; 2] {
    let streamed = asked(
        id,
        urls[0],
        &json!({ "stream": true }),
        Reply::text(200, stream),
    )
    .1;
    let whole = asked(id, urls[1], &json!({}), Reply::json(200, whole)).1;
    [streamed, whole].map(|completion| Completion {
        raw_json: None,
        ..completion.expect("an answer")
    })
}

fn events(events: &[Value]) -> String {
    let events = events.iter().map(|event| format!("data: {event}\n\n"));
    events.collect()
}

const CHAT: &str = "https://api.openai.com/v1/chat/completions";

fn chunk(choice: &Value) -> Value {
    json!({ "id": "c1", "object": "chat.completion.chunk", "model": "m-1", "choices": [choice] })
}

#[test]
fn a_chat_in_chunks() {
    let mut stream = events(&[
        chunk(
            &json!({ "index": 0, "delta": { "role": "assistant", "content": "" }, "finish_reason": null }),
        ),
        chunk(&json!({ "index": 0, "delta": { "reasoning_content": "Let me" } })),
        chunk(&json!({ "index": 0, "delta": { "reasoning_content": " see" } })),
        chunk(&json!({ "index": 0, "delta": { "content": "Hel" } })),
        chunk(&json!({ "index": 0, "delta": { "content": "lo" } })),
        chunk(&json!({ "index": 0, "delta": {}, "finish_reason": "stop" })),
        json!({ "choices": [], "usage": { "prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7 } }),
    ]);
    stream.push_str("data: [DONE]\n\n");
    let whole = json!({
        "model": "m-1",
        "choices": [{ "message": { "content": "Hello", "reasoning_content": "Let me see" }, "finish_reason": "stop" }],
        "usage": { "prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7 },
    });
    let [streamed, whole] = both("openai:gpt-4o", [CHAT, CHAT], &stream, &whole);
    assert_eq!(streamed, whole);
    let sent = asked(
        "openai:gpt-4o",
        CHAT,
        &json!({ "stream": true }),
        Reply::text(200, &stream),
    )
    .0;
    let body = sent.body_json().expect("JSON");
    assert_eq!(
        (&body["stream"], &body["stream_options"]),
        (&json!(true), &json!({ "include_usage": true }))
    );
}

#[test]
fn calls_of_tools_come_in_parts() {
    let call = |more: Value| chunk(&json!({ "index": 0, "delta": { "tool_calls": [more] } }));
    let stream = events(&[
        call(
            json!({ "index": 0, "id": "t1", "type": "function", "function": { "name": "find", "arguments": "" } }),
        ),
        call(json!({ "index": 0, "function": { "arguments": "{\"q\":" } })),
        call(
            json!({ "index": 1, "id": "t2", "type": "function", "function": { "name": "go", "arguments": "{}" } }),
        ),
        call(json!({ "index": 0, "function": { "arguments": "\"x\"}" } })),
        chunk(&json!({ "index": 0, "delta": {}, "finish_reason": "tool_calls" })),
    ]);
    let function = |at: u32, id: &str, name: &str, arguments: &str| json!({ "index": at, "id": id, "type": "function", "function": { "name": name, "arguments": arguments } });
    let calls = [
        function(0, "t1", "find", "{\"q\":\"x\"}"),
        function(1, "t2", "go", "{}"),
    ];
    let whole = json!({
        "model": "m-1",
        "choices": [{ "message": { "content": null, "tool_calls": calls }, "finish_reason": "tool_calls" }],
    });
    let [streamed, whole] = both("openai:gpt-4o", [CHAT, CHAT], &stream, &whole);
    assert_eq!(streamed, whole);
}

#[test]
fn responses_and_continuations_stream_too() {
    let url = "https://api.openai.com/v1/responses";
    let response = json!({
        "status": "completed", "model": "m-1",
        "output": [{ "type": "message", "content": [{ "type": "output_text", "text": "Hello" }] }],
        "usage": { "input_tokens": 3, "output_tokens": 4 },
    });
    let stream = events(&[
        json!({ "type": "response.created", "response": { "status": "in_progress" } }),
        json!({ "type": "response.output_text.delta", "delta": "Hello" }),
        json!({ "type": "response.completed", "response": response }),
    ]);
    let [streamed, whole] = both("openai:responses:m", [url, url], &stream, &response);
    assert_eq!(streamed, whole);

    let url = "https://api.openai.com/v1/completions";
    let stream = events(&[
        json!({ "choices": [{ "index": 0, "text": " a", "finish_reason": null }] }),
        json!({ "choices": [{ "index": 0, "text": " b", "finish_reason": "length" }] }),
    ]);
    let whole = json!({ "choices": [{ "text": " a b", "finish_reason": "length" }] });
    let [streamed, whole] = both("openai:completion:m", [url, url], &stream, &whole);
    assert_eq!(streamed, whole);
}

#[test]
fn a_stream_that_fails_or_ends_early_is_an_error() {
    let refused = |status, text: &str| {
        let reply = Reply::text(status, text);
        asked("openai:gpt-4o", CHAT, &json!({ "stream": true }), reply)
            .1
            .expect_err("no answer")
            .code
    };
    let begun = events(&[chunk(&json!({ "index": 0, "delta": { "content": "Hel" } }))]);
    assert_eq!(refused(200, &begun), ErrorCode::Transient);
    let failed = begun
        + &events(&[json!({ "error": { "code": "rate_limit_exceeded", "message": "slow" } })]);
    assert_eq!(refused(200, &failed), ErrorCode::RateLimited);
    assert_eq!(
        refused(401, "{\"error\":{\"code\":\"invalid_api_key\"}}"),
        ErrorCode::Auth
    );
    assert_eq!(refused(200, ""), ErrorCode::Transient);
}

#[test]
fn a_server_that_answers_whole_is_understood() {
    let whole =
        json!({ "choices": [{ "message": { "content": "Hello" }, "finish_reason": "stop" }] });
    let [streamed, whole] = both("openai:gpt-4o", [CHAT, CHAT], &whole.to_string(), &whole);
    assert_eq!(streamed, whole);
}
