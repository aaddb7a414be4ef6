//! An answer that is streamed is the one that the API would have given whole.

use plugin_ollama::Ollama;
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
        .play(|| Ollama::complete(&target, &Request::new("Hi"), &testing::context()));
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

fn lines(objects: &[Value]) -> String {
    let lines = objects.iter().map(|object| format!("{object}\n"));
    lines.collect()
}

const CHAT: &str = "http://localhost:11434/api/chat";
const GENERATE: &str = "http://localhost:11434/api/generate";

#[test]
fn lines_one_after_the_other() {
    let stream = lines(&[
        json!({ "model": "m", "message": { "role": "assistant", "content": "", "thinking": "Let me" }, "done": false }),
        json!({ "model": "m", "message": { "role": "assistant", "content": "", "thinking": " see" }, "done": false }),
        json!({ "model": "m", "message": { "role": "assistant", "content": "Hel" }, "done": false }),
        json!({ "model": "m", "message": { "role": "assistant", "content": "lo" }, "done": false }),
        json!({ "model": "m", "message": { "content": "" }, "done": true, "done_reason": "stop", "prompt_eval_count": 3, "eval_count": 4 }),
    ]);
    let whole = json!({
        "model": "m", "message": { "content": "Hello", "thinking": "Let me see" }, "done": true, "done_reason": "stop",
        "prompt_eval_count": 3, "eval_count": 4,
    });
    let [streamed, whole] = both("ollama:chat:m", [CHAT, CHAT], &stream, &whole);
    assert_eq!(streamed, whole);
    let sent = asked(
        "ollama:chat:m",
        CHAT,
        &json!({ "stream": true }),
        Reply::text(200, &stream),
    )
    .0;
    assert_eq!(sent.body_json().expect("JSON")["stream"], true);

    let stream = lines(&[
        json!({ "response": "a", "done": false }),
        json!({ "response": " b", "done": true, "done_reason": "length" }),
    ]);
    let whole = json!({ "response": "a b", "done": true, "done_reason": "length" });
    let [streamed, whole] = both("ollama:m", [GENERATE, GENERATE], &stream, &whole);
    assert_eq!(streamed, whole);
}

#[test]
fn a_stream_that_fails_or_ends_early_is_an_error() {
    let refused = |stream: &str| {
        let reply = Reply::text(200, stream);
        asked("ollama:m", GENERATE, &json!({ "stream": true }), reply)
            .1
            .expect_err("no answer")
            .code
    };
    let begun = lines(&[
        json!({ "response": "a", "done": false }),
        json!({ "response": "b", "done": false }),
    ]);
    assert_eq!(refused(&begun), ErrorCode::Transient);
    assert_eq!(
        refused(&(begun + "{\"error\":\"gone\"}\n")),
        ErrorCode::Transient
    );
}
