//! What a run sees of which response: completions, vectors and errors.

use plugin_ollama::Ollama;
use runner_plugin::json::{Value, json};
use runner_plugin::testing::{self, Reply, Script};
use runner_plugin::{Completion, Error, ErrorCode, FinishReason, Part, Provider, Request, Usage};
use runner_plugin_embed::ProviderEmbed;

fn ask(id: &str, config: &Value, reply: Reply) -> Result<Completion, Error> {
    let path = if id.contains(":chat") {
        "chat"
    } else {
        "generate"
    };
    let target = testing::target(id, config);
    Script::new()
        .exchange("POST", &format!("http://localhost:11434/api/{path}"), reply)
        .play(|| Ollama::complete(&target, &Request::new("Hi"), &testing::context()))
        .result
}

fn chatted(body: &Value) -> Completion {
    ask("ollama:chat:m", &json!({}), Reply::json(200, body)).expect("an answer")
}

fn output(completion: &Completion) -> Option<Value> {
    let text = completion.output_json.as_deref()?;
    Some(serde_json::from_str(text).expect("JSON"))
}

#[test]
fn a_whole_chat() {
    let completion = chatted(&json!({
        "model": "m", "created_at": "2025-01-01T00:00:00Z",
        "message": { "role": "assistant", "content": "4", "thinking": "2+2" },
        "done": true, "done_reason": "stop", "total_duration": 5, "eval_duration": 3,
        "prompt_eval_count": 26, "prompt_eval_cached_count": 20, "eval_count": 9,
    }));
    assert_eq!(
        completion.message.content,
        [
            Part::Reasoning("2+2".to_owned()),
            Part::Text("4".to_owned())
        ]
    );
    assert_eq!(completion.finish_reason, Some(FinishReason::Stop));
    assert_eq!(completion.model.as_deref(), Some("m"));
    assert_eq!(
        completion.usage,
        Usage {
            input_tokens: Some(26),
            output_tokens: Some(9),
            cache_read_tokens: Some(20),
            ..Usage::default()
        }
    );
}

#[test]
fn a_whole_completion() {
    let body = json!({
        "model": "m", "response": "Hello", "done": true, "done_reason": "length", "eval_count": 3,
    });
    let completion = ask("ollama:m", &json!({}), Reply::json(200, &body)).expect("an answer");
    assert_eq!(completion.message.text(), "Hello");
    assert_eq!(completion.finish_reason, Some(FinishReason::Length));
    assert_eq!(completion.usage.output_tokens, Some(3));
}

#[test]
fn calls_of_tools_are_the_output_where_there_is_no_text() {
    let call = json!({ "function": { "name": "weather", "arguments": { "city": "Bern" } } });
    let alone = chatted(
        &json!({ "message": { "content": "", "tool_calls": [call] }, "done_reason": "stop" }),
    );
    assert_eq!(
        output(&alone),
        Some(json!([{ "function": { "name": "weather", "arguments": "{\"city\":\"Bern\"}" } }]))
    );
    assert_eq!(alone.finish_reason, Some(FinishReason::ToolCalls));
    let [Part::ToolCall(read)] = &alone.message.content[..] else {
        panic!("one call: {:?}", alone.message.content)
    };
    assert_eq!(
        (read.id.as_str(), read.arguments_json.as_str()),
        ("call-0", r#"{"city":"Bern"}"#)
    );
    let both = chatted(&json!({ "message": { "content": "Let me see.", "tool_calls": [call] } }));
    assert_eq!((output(&both), both.message.content.len()), (None, 2));
}

#[test]
fn an_answer_bound_to_a_schema_is_a_value() {
    let body = json!({ "message": { "content": "{\"a\": 1}" } });
    for (format, expected) in [
        (json!({ "type": "object" }), Some(json!({ "a": 1 }))),
        (json!("json"), None),
    ] {
        let config = json!({ "format": format });
        let completion = ask("ollama:chat:m", &config, Reply::json(200, &body)).expect("an answer");
        assert_eq!(output(&completion), expected);
    }
}

#[test]
fn errors_are_told_apart_by_status() {
    for (status, code) in [
        (400, ErrorCode::InvalidRequest),
        (401, ErrorCode::Auth),
        (404, ErrorCode::NotFound),
        (408, ErrorCode::Timeout),
        (429, ErrorCode::RateLimited),
        (500, ErrorCode::Transient),
        (503, ErrorCode::Transient),
        (200, ErrorCode::Transient),
    ] {
        for id in ["ollama:chat:m", "ollama:m"] {
            let body = json!({ "error": "model 'm' not found" });
            let error = ask(id, &json!({}), Reply::json(status, &body)).expect_err("an error");
            assert_eq!((error.code, error.status), (code, Some(status)));
            assert_eq!(
                error.message,
                format!("the API answered HTTP {status}: model 'm' not found")
            );
        }
    }
    for body in ["", "{}", "<html>", r#"{"message":{"tool_calls":[{}]}}"#] {
        for id in ["ollama:chat:m", "ollama:m"] {
            let error = ask(id, &json!({}), Reply::text(200, body)).expect_err("an error");
            assert_eq!(error.code, ErrorCode::BadResponse, "{body}");
        }
    }
}

#[test]
fn vectors_come_in_order() {
    let target = testing::target(
        "ollama:embeddings:e",
        &json!({ "truncate": false, "num_ctx": 9 }),
    );
    let inputs = ["a".to_owned(), "b".to_owned()];
    let embed = |body: &Value| {
        Script::new()
            .exchange(
                "POST",
                "http://localhost:11434/api/embed",
                Reply::json(200, body),
            )
            .play(|| Ollama::embed(&target, &inputs, &testing::context()))
    };
    let played = embed(&json!({ "embeddings": [[1, 0.5], [0]], "prompt_eval_count": 7 }));
    let answer = played.result.expect("vectors");
    assert_eq!(answer.vectors, [vec![1.0, 0.5], vec![0.0]]);
    assert_eq!(answer.usage.input_tokens, Some(7));
    assert_eq!(
        played.requests[0].body_json(),
        Some(json!({
            "model": "e", "input": ["a", "b"], "truncate": false, "options": { "num_ctx": 9 },
        }))
    );
    let error = embed(&json!({ "embeddings": [[1]] }))
        .result
        .expect_err("one of two");
    assert_eq!(error.code, ErrorCode::BadResponse);
}
