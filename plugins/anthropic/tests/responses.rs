//! What a run sees of which response: completions and errors.

use plugin_anthropic::Anthropic;
use runner_plugin::json::{Value, json};
use runner_plugin::testing::{self, Reply, Script};
use runner_plugin::{Completion, Error, ErrorCode, FinishReason, Part, Provider, Request, Usage};

fn ask(config: &Value, reply: Reply) -> Result<Completion, Error> {
    let target = testing::target("anthropic:claude-x", config);
    Script::new()
        .exchange("POST", "https://api.anthropic.com/v1/messages", reply)
        .play(|| Anthropic::complete(&target, &Request::new("Hi"), &testing::context()))
        .result
}

fn answered(content: &Value, stop: &str) -> Completion {
    let body = json!({ "type": "message", "content": content, "stop_reason": stop });
    ask(&json!({}), Reply::json(200, &body)).expect("an answer")
}

/// The output of the run as a JSON value.
fn output(completion: &Completion) -> Option<Value> {
    let text = completion.output_json.as_deref()?;
    Some(serde_json::from_str(text).expect("JSON"))
}

#[test]
fn a_whole_answer() {
    let body = json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-x-20250929",
        "content": [{ "type": "text", "text": "Hello!" }],
        "stop_reason": "end_turn", "stop_sequence": null,
        "usage": {
            "input_tokens": 12, "output_tokens": 6,
            "cache_read_input_tokens": 100, "cache_creation_input_tokens": 20,
            "server_tool_use": { "web_search_requests": 2, "web_fetch_requests": 0 },
        },
    });
    let completion = ask(&json!({}), Reply::json(200, &body)).expect("an answer");
    assert_eq!(completion.message.text(), "Hello!");
    assert_eq!(completion.output_json, None);
    assert_eq!(completion.finish_reason, Some(FinishReason::Stop));
    assert_eq!(completion.model.as_deref(), Some("claude-x-20250929"));
    assert_eq!(
        completion.usage,
        Usage {
            input_tokens: Some(132),
            output_tokens: Some(6),
            cache_read_tokens: Some(100),
            cache_write_tokens: Some(20),
            other: vec![("web_search_requests".to_owned(), 2)],
            ..Usage::default()
        }
    );
    let raw: Value = serde_json::from_str(&completion.raw_json.expect("raw")).expect("JSON");
    assert_eq!(raw, body);
}

#[test]
fn what_is_not_reported_stays_open() {
    let body = json!({ "content": [{ "type": "text", "text": "x" }] });
    let completion = ask(&json!({}), Reply::json(200, &body)).expect("an answer");
    assert_eq!(completion.usage, Usage::default());
    assert_eq!((completion.finish_reason, completion.model), (None, None));
}

#[test]
fn calls_of_tools_stand_in_the_message_and_as_text_in_the_output() {
    let call =
        json!({ "type": "tool_use", "id": "t1", "name": "weather", "input": { "city": "Bern" } });
    let alone = answered(&json!([call]), "tool_use");
    assert_eq!(output(&alone), Some(json!(call.to_string())));
    assert_eq!(alone.finish_reason, Some(FinishReason::ToolCalls));
    let [Part::ToolCall(read)] = &alone.message.content[..] else {
        panic!("one call: {:?}", alone.message.content)
    };
    assert_eq!(
        (
            read.id.as_str(),
            read.name.as_str(),
            read.arguments_json.as_str()
        ),
        ("t1", "weather", r#"{"city":"Bern"}"#)
    );
    let both = answered(
        &json!([{ "type": "text", "text": "Let me see." }, call]),
        "tool_use",
    );
    assert_eq!(output(&both), Some(json!(format!("Let me see.\n\n{call}"))));
}

#[test]
fn several_texts_are_joined_and_thinking_is_kept_apart() {
    let completion = answered(
        &json!([
            { "type": "thinking", "thinking": "2+2", "signature": "s" },
            { "type": "redacted_thinking", "data": "x" },
            { "type": "text", "text": "It is" },
            { "type": "text", "text": "4." },
        ]),
        "end_turn",
    );
    assert_eq!(output(&completion), Some(json!("It is\n\n4.")));
    assert_eq!(
        completion.message.content[0],
        Part::Reasoning("2+2".to_owned())
    );
    assert!(matches!(completion.message.content[1], Part::Other(_)));
}

#[test]
fn stop_reasons_are_mapped() {
    for (reason, expected) in [
        ("end_turn", FinishReason::Stop),
        ("stop_sequence", FinishReason::Stop),
        ("max_tokens", FinishReason::Length),
        ("tool_use", FinishReason::ToolCalls),
        ("refusal", FinishReason::Refusal),
        ("pause_turn", FinishReason::Other("pause_turn".to_owned())),
    ] {
        let completion = answered(&json!([{ "type": "text", "text": "x" }]), reason);
        assert_eq!(completion.finish_reason, Some(expected));
    }
}

#[test]
fn a_refusal_without_words_is_an_empty_answer() {
    let completion = answered(&json!([]), "refusal");
    assert_eq!(completion.message.content, [Part::Text(String::new())]);
    assert_eq!(completion.finish_reason, Some(FinishReason::Refusal));
}

#[test]
fn an_answer_bound_to_a_schema_is_a_value() {
    let config = json!({ "output_format": { "type": "json_schema", "schema": {} } });
    for (text, expected) in [
        (r#"{ "a": 1 }"#, Some(json!({ "a": 1 }))),
        ("not json", None),
    ] {
        let body = json!({ "content": [{ "type": "text", "text": text }] });
        let completion = ask(&config, Reply::json(200, &body)).expect("an answer");
        assert_eq!(output(&completion), expected);
    }
}

#[test]
fn errors_are_told_apart_by_type_and_status() {
    for (status, kind, code) in [
        (400, "invalid_request_error", ErrorCode::InvalidRequest),
        (401, "authentication_error", ErrorCode::Auth),
        (402, "billing_error", ErrorCode::QuotaExhausted),
        (403, "permission_error", ErrorCode::Auth),
        (404, "not_found_error", ErrorCode::NotFound),
        (413, "request_too_large", ErrorCode::ContextLength),
        (429, "rate_limit_error", ErrorCode::RateLimited),
        (500, "api_error", ErrorCode::Transient),
        (504, "timeout_error", ErrorCode::Timeout),
        (529, "overloaded_error", ErrorCode::Transient),
        (529, "something_new", ErrorCode::Transient),
    ] {
        let error = json!({ "type": kind, "message": "No." });
        let body = json!({ "type": "error", "error": error, "request_id": "req_1" });
        let failure = ask(&json!({}), Reply::json(status, &body)).expect_err("an error");
        assert_eq!(failure.code, code, "{status} {kind}");
        assert_eq!(failure.status, Some(status));
        assert_eq!(failure.detail, Some(error));
        assert_eq!(
            failure.message,
            format!("the API answered HTTP {status}: No.")
        );
    }
}

#[test]
fn what_cannot_be_read_is_a_bad_response() {
    for body in ["<html>", "", "{}", r#"{"content":[{"type":"tool_use"}]}"#] {
        let error = ask(&json!({}), Reply::text(200, body)).expect_err("an error");
        assert_eq!(error.code, ErrorCode::BadResponse, "{body}");
    }
    let error = ask(&json!({}), Reply::text(502, "<html>")).expect_err("an error");
    assert_eq!(error.code, ErrorCode::Transient);
}
