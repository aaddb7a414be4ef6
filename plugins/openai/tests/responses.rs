//! What a run sees of which response: completions and errors.

use plugin_openai::OpenAi;
use runner_plugin::json::{Value, json};
use runner_plugin::testing::{self, Reply, Script};
use runner_plugin::{Completion, Error, ErrorCode, FinishReason, Part, Provider, Request, Usage};

fn ask(config: &Value, reply: Reply) -> Result<Completion, Error> {
    let target = testing::target("openai:gpt-4o", config);
    Script::new()
        .exchange("POST", "https://api.openai.com/v1/chat/completions", reply)
        .play(|| OpenAi::complete(&target, &Request::new("Hi"), &testing::context()))
        .result
}

/// An answer of one choice.
fn chosen(message: &Value, finish: &str) -> Completion {
    let body = json!({ "choices": [{ "message": message, "finish_reason": finish }] });
    ask(&json!({}), Reply::json(200, &body)).expect("an answer")
}

#[test]
fn a_whole_answer() {
    let body = json!({
        "id": "chatcmpl-1", "model": "gpt-4o-2024-08-06",
        "choices": [{
            "index": 0, "finish_reason": "stop",
            "message": { "role": "assistant", "content": "Hello!", "refusal": null },
        }],
        "usage": {
            "prompt_tokens": 19, "completion_tokens": 10, "total_tokens": 29,
            "prompt_tokens_details": { "cached_tokens": 5 },
            "completion_tokens_details": { "reasoning_tokens": 3 },
        },
    });
    let completion = ask(&json!({}), Reply::json(200, &body)).expect("an answer");
    assert_eq!(completion.message.text(), "Hello!");
    assert_eq!(completion.output_json, None);
    assert_eq!(completion.finish_reason, Some(FinishReason::Stop));
    assert_eq!(completion.model.as_deref(), Some("gpt-4o-2024-08-06"));
    assert_eq!(completion.cost_usd, None);
    assert_eq!(
        completion.usage,
        Usage {
            input_tokens: Some(19),
            output_tokens: Some(10),
            total_tokens: Some(29),
            cache_read_tokens: Some(5),
            reasoning_tokens: Some(3),
            ..Usage::default()
        }
    );
    let raw: Value = serde_json::from_str(&completion.raw_json.expect("raw")).expect("JSON");
    assert_eq!(raw, body);
}

#[test]
fn what_is_not_reported_stays_open() {
    let body = json!({ "choices": [{ "message": { "content": "x" } }] });
    let completion = ask(&json!({}), Reply::json(200, &body)).expect("an answer");
    assert_eq!(completion.usage, Usage::default());
    assert_eq!((completion.finish_reason, completion.model), (None, None));
}

#[test]
fn tool_calls_are_the_output_where_there_is_no_text() {
    let calls = json!([{
        "id": "c1", "type": "function",
        "function": { "name": "weather", "arguments": "{\"city\":\"Bern\"}" },
    }]);
    for content in [Value::Null, json!("")] {
        let message = json!({ "content": content, "tool_calls": calls });
        let completion = chosen(&message, "tool_calls");
        let output: Value =
            serde_json::from_str(&completion.output_json.expect("output")).expect("JSON");
        assert_eq!(output, calls);
        assert_eq!(completion.finish_reason, Some(FinishReason::ToolCalls));
        let [Part::ToolCall(call)] = &completion.message.content[..] else {
            panic!("one call: {:?}", completion.message.content)
        };
        assert_eq!((call.id.as_str(), call.name.as_str()), ("c1", "weather"));
        assert_eq!(call.arguments_json, r#"{"city":"Bern"}"#);
    }
    let both = chosen(
        &json!({ "content": "Let me see.", "tool_calls": calls }),
        "tool_calls",
    );
    assert_eq!((both.output_json, both.message.content.len()), (None, 2));
    let none = chosen(&json!({ "content": "", "tool_calls": [] }), "stop");
    assert_eq!((none.output_json, none.message.content.len()), (None, 1));
}

#[test]
fn the_one_function_call_of_older_models_counts() {
    let call = json!({ "name": "f", "arguments": "not json" });
    let completion = chosen(
        &json!({ "content": null, "function_call": call }),
        "function_call",
    );
    assert_eq!(completion.output_json, Some(call.to_string()));
    let [Part::ToolCall(read)] = &completion.message.content[..] else {
        panic!("one call")
    };
    assert_eq!(read.arguments_json, r#""not json""#);
}

#[test]
fn a_refusal_is_an_answer() {
    let completion = chosen(&json!({ "content": null, "refusal": "I can't." }), "stop");
    assert_eq!(completion.finish_reason, Some(FinishReason::Refusal));
    assert_eq!(completion.message.text(), "I can't.");
}

#[test]
fn reasoning_is_kept_apart_from_the_answer() {
    let completion = chosen(
        &json!({ "content": "4", "reasoning_content": "2+2" }),
        "stop",
    );
    assert_eq!(
        completion.message.content,
        [
            Part::Reasoning("2+2".to_owned()),
            Part::Text("4".to_owned())
        ]
    );
    assert_eq!(completion.message.text(), "4");
}

#[test]
fn finish_reasons_are_mapped() {
    for (reason, expected) in [
        ("stop", FinishReason::Stop),
        ("length", FinishReason::Length),
        ("tool_calls", FinishReason::ToolCalls),
        ("content_filter", FinishReason::ContentFilter),
        ("eos", FinishReason::Other("eos".to_owned())),
    ] {
        let completion = chosen(&json!({ "content": "x" }), reason);
        assert_eq!(completion.finish_reason, Some(expected));
    }
}

#[test]
fn an_answer_bound_to_a_schema_is_a_value() {
    let config = json!({ "response_format": { "type": "json_schema", "json_schema": {} } });
    for (content, output) in [(r#"{ "a": 1 }"#, Some(r#"{"a":1}"#)), ("not json", None)] {
        let body = json!({ "choices": [{ "message": { "content": content } }] });
        let completion = ask(&config, Reply::json(200, &body)).expect("an answer");
        assert_eq!(completion.output_json.as_deref(), output);
        assert_eq!(completion.message.text(), content);
    }
    let free = chosen(&json!({ "content": r#"{"a":1}"# }), "stop");
    assert_eq!(free.output_json, None);
}

#[test]
fn errors_are_told_apart_by_code_and_status() {
    let error = |code: &str| json!({ "error": { "message": "No.", "code": code } });
    let typed = |kind: &str| json!({ "error": { "message": "No.", "type": kind, "code": null } });
    for (status, body, code) in [
        (
            400,
            error("context_length_exceeded"),
            ErrorCode::ContextLength,
        ),
        (400, error("content_filter"), ErrorCode::ContentFilter),
        (
            400,
            error("content_policy_violation"),
            ErrorCode::ContentFilter,
        ),
        (400, error("unknown_parameter"), ErrorCode::InvalidRequest),
        (401, error("invalid_api_key"), ErrorCode::Auth),
        (403, json!({}), ErrorCode::Auth),
        (404, error("model_not_found"), ErrorCode::NotFound),
        (404, json!("nothing here"), ErrorCode::NotFound),
        (408, json!({}), ErrorCode::Timeout),
        (429, error("rate_limit_exceeded"), ErrorCode::RateLimited),
        (429, typed("requests"), ErrorCode::RateLimited),
        (429, error("insufficient_quota"), ErrorCode::QuotaExhausted),
        (429, typed("insufficient_quota"), ErrorCode::QuotaExhausted),
        (500, error("server_error"), ErrorCode::Transient),
        (503, json!({ "error": "overloaded" }), ErrorCode::Transient),
        (200, error("rate_limit_exceeded"), ErrorCode::RateLimited),
        (
            200,
            json!({ "error": { "message": "No." } }),
            ErrorCode::BadResponse,
        ),
        (302, json!({}), ErrorCode::BadResponse),
    ] {
        let error = ask(&json!({}), Reply::json(status, &body)).expect_err("an error");
        assert_eq!(error.code, code, "{status} {body}");
        assert_eq!(error.status, Some(status));
        assert_eq!(error.retry_after, None, "left to the host");
        assert_eq!(error.detail.as_ref(), body.get("error"));
    }
}

#[test]
fn what_the_api_says_is_repeated_on_one_line() {
    let body = json!({ "error": { "message": format!("Too\nlong: {}", "x".repeat(999)) } });
    let error = ask(&json!({}), Reply::json(400, &body)).expect_err("an error");
    assert!(
        error
            .message
            .starts_with("the API answered HTTP 400: Too long: xxx")
    );
    assert_eq!(
        error.message.chars().count(),
        "the API answered HTTP 400: ".len() + 300
    );
}

#[test]
fn what_cannot_be_read_is_a_bad_response() {
    for body in [
        "<html>",
        "",
        "{}",
        r#"{"choices":[]}"#,
        r#"{"choices":[{"message":"x"}]}"#,
    ] {
        let error = ask(&json!({}), Reply::text(200, body)).expect_err("an error");
        assert_eq!(error.code, ErrorCode::BadResponse, "{body}");
    }
    let error = ask(&json!({}), Reply::text(502, "<html>")).expect_err("an error");
    assert_eq!(error.code, ErrorCode::Transient);
}

#[test]
fn what_the_host_says_is_passed_on() {
    let denied = Error::new(ErrorCode::Denied, "not granted");
    let error = ask(&json!({}), Reply::refused(denied.clone())).expect_err("an error");
    assert_eq!(error, denied);
}
