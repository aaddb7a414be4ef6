//! An answer that is streamed is the one that the API would have given whole.

use plugin_google::Google;
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
        .play(|| Google::complete(&target, &Request::new("Hi"), &testing::context()));
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

const STREAM: &str =
    "https://generativelanguage.googleapis.com/v1beta/models/m:streamGenerateContent?alt=sse";
const WHOLE: &str = "https://generativelanguage.googleapis.com/v1beta/models/m:generateContent";

#[test]
fn parts_one_after_the_other() {
    let parts = |parts: Value| json!({ "candidates": [{ "content": { "role": "model", "parts": parts } }] });
    let stream = events(&[
        parts(json!([{ "text": "Let me", "thought": true }])),
        parts(json!([{ "text": " see", "thought": true }])),
        parts(json!([{ "text": "Hel" }])),
        parts(
            json!([{ "text": "lo" }, { "functionCall": { "name": "find", "args": { "q": "x" } } }]),
        ),
        json!({
            "candidates": [{ "content": { "parts": [{ "text": "" }] }, "finishReason": "STOP" }],
            "usageMetadata": { "promptTokenCount": 3, "candidatesTokenCount": 4 }, "modelVersion": "m-1",
        }),
    ]);
    let whole = json!({
        "candidates": [{
            "content": { "parts": [
                { "text": "Let me see", "thought": true },
                { "text": "Hello" },
                { "functionCall": { "name": "find", "args": { "q": "x" } } },
                { "text": "" },
            ] },
            "finishReason": "STOP",
        }],
        "usageMetadata": { "promptTokenCount": 3, "candidatesTokenCount": 4 }, "modelVersion": "m-1",
    });
    let [streamed, whole] = both("google:m", [STREAM, WHOLE], &stream, &whole);
    assert_eq!(streamed, whole);
}

#[test]
fn a_blocked_prompt_and_an_early_end_are_errors() {
    let refused = |stream: &str| {
        let reply = Reply::text(200, stream);
        asked("google:m", STREAM, &json!({ "stream": true }), reply)
            .1
            .expect_err("no answer")
            .code
    };
    let blocked = json!({ "promptFeedback": { "blockReason": "SAFETY" } });
    assert_eq!(refused(&events(&[blocked])), ErrorCode::ContentFilter);
    let begun = json!({ "candidates": [{ "content": { "parts": [{ "text": "Hel" }] } }] });
    assert_eq!(refused(&events(&[begun])), ErrorCode::Transient);
}
