//! An answer that is streamed is the one that the API would have given whole.

use plugin_anthropic::Anthropic;
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
        .play(|| Anthropic::complete(&target, &Request::new("Hi"), &testing::context()));
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

const URL: &str = "https://api.anthropic.com/v1/messages";

#[test]
fn blocks_one_after_the_other() {
    let delta = |at: u32, delta: Value| json!({ "type": "content_block_delta", "index": at, "delta": delta });
    let begins = |at: u32, block: Value| json!({ "type": "content_block_start", "index": at, "content_block": block });
    let ends = |at: u32| json!({ "type": "content_block_stop", "index": at });
    let stream = events(&[
        json!({ "type": "message_start", "message": {
            "model": "claude-1", "content": [], "stop_reason": null, "usage": { "input_tokens": 3, "output_tokens": 1 },
        } }),
        begins(0, json!({ "type": "thinking", "thinking": "" })),
        delta(0, json!({ "type": "thinking_delta", "thinking": "Let me" })),
        delta(0, json!({ "type": "thinking_delta", "thinking": " see" })),
        delta(0, json!({ "type": "signature_delta", "signature": "s" })),
        ends(0),
        json!({ "type": "ping" }),
        begins(1, json!({ "type": "text", "text": "" })),
        delta(1, json!({ "type": "text_delta", "text": "Hel" })),
        delta(1, json!({ "type": "text_delta", "text": "lo" })),
        ends(1),
        begins(
            2,
            json!({ "type": "tool_use", "id": "t1", "name": "find", "input": {} }),
        ),
        delta(
            2,
            json!({ "type": "input_json_delta", "partial_json": "{\"q\":" }),
        ),
        delta(
            2,
            json!({ "type": "input_json_delta", "partial_json": "\"x\"}" }),
        ),
        ends(2),
        begins(
            3,
            json!({ "type": "tool_use", "id": "t2", "name": "go", "input": {} }),
        ),
        ends(3),
        json!({ "type": "message_delta", "delta": { "stop_reason": "tool_use" }, "usage": { "output_tokens": 9 } }),
        json!({ "type": "message_stop" }),
    ]);
    let whole = json!({
        "model": "claude-1", "stop_reason": "tool_use", "usage": { "input_tokens": 3, "output_tokens": 9 },
        "content": [
            { "type": "thinking", "thinking": "Let me see", "signature": "s" },
            { "type": "text", "text": "Hello" },
            { "type": "tool_use", "id": "t1", "name": "find", "input": { "q": "x" } },
            { "type": "tool_use", "id": "t2", "name": "go", "input": {} },
        ],
    });
    let [streamed, whole] = both("anthropic:claude-x", [URL, URL], &stream, &whole);
    assert_eq!(streamed, whole);
    let sent = asked(
        "anthropic:claude-x",
        URL,
        &json!({ "stream": true }),
        Reply::text(200, &stream),
    )
    .0;
    assert_eq!(sent.body_json().expect("JSON")["stream"], true);
}

#[test]
fn a_stream_that_fails_or_ends_early_is_an_error() {
    let refused = |stream: &str| {
        let reply = Reply::text(200, stream);
        asked("anthropic:claude-x", URL, &json!({ "stream": true }), reply)
            .1
            .expect_err("no answer")
            .code
    };
    let begun = events(&[
        json!({ "type": "message_start", "message": { "content": [], "stop_reason": null } }),
    ]);
    assert_eq!(refused(&begun), ErrorCode::Transient);
    let error =
        json!({ "type": "error", "error": { "type": "overloaded_error", "message": "busy" } });
    assert_eq!(refused(&(begun + &events(&[error]))), ErrorCode::Transient);
}
