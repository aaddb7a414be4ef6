//! What becomes of which response.

use plugin_bedrock::Bedrock;
use runner_plugin::json::{Value, json};
use runner_plugin::testing::{self, Reply, Script};
use runner_plugin::{Completion, Error, ErrorCode, FinishReason, Part, Provider, Request};

const URL: &str = "https://bedrock-runtime.us-east-1.amazonaws.com/model/m/converse";

fn answered(reply: Reply, request: &Request) -> Result<Completion, Error> {
    let target = testing::target("bedrock:m", &json!({}));
    Script::new()
        .exchange("POST", URL, reply)
        .play(|| Bedrock::complete(&target, request, &testing::context()))
        .result
}

fn of(content: &Value, reason: &str) -> Completion {
    let response = json!({
        "output": { "message": { "role": "assistant", "content": content } },
        "stopReason": reason,
        "usage": {
            "inputTokens": 10, "outputTokens": 4, "totalTokens": 21,
            "cacheReadInputTokens": 5, "cacheWriteInputTokens": 2,
        },
    });
    let answer = answered(Reply::json(200, &response), &Request::new("Hi"));
    answer.expect("an answer")
}

#[test]
fn text_is_the_output_and_what_was_cached_counts_as_input() {
    let thought =
        json!({ "reasoningContent": { "reasoningText": { "text": "hm", "signature": "s" } } });
    let answer = of(&json!([thought, { "text": "hello" }]), "end_turn");
    let expected = [
        Part::Reasoning("hm".to_owned()),
        Part::Text("hello".to_owned()),
    ];
    assert_eq!(answer.message.content, expected);
    assert_eq!(answer.output_json, None);
    assert_eq!(answer.finish_reason, Some(FinishReason::Stop));
    assert_eq!(answer.usage.input_tokens, Some(17));
    assert_eq!(answer.usage.total_tokens, Some(21));
    assert_eq!(answer.usage.cache_read_tokens, Some(5));
}

#[test]
fn calls_of_tools_are_part_of_the_output() {
    let call =
        json!({ "toolUse": { "toolUseId": "c1", "name": "weather", "input": { "city": "Oslo" } } });
    let answer = of(&json!([{ "text": "I look." }, call]), "tool_use");
    let output: Value = serde_json::from_str(&answer.output_json.expect("one")).expect("JSON");
    let (text, call) = output
        .as_str()
        .and_then(|it| it.split_once("\n\n"))
        .expect("both");
    assert_eq!(text, "I look.");
    let expected = json!({
        "type": "tool_use", "id": "c1", "name": "weather", "input": { "city": "Oslo" },
    });
    assert_eq!(serde_json::from_str::<Value>(call).expect("JSON"), expected);
    assert_eq!(answer.finish_reason, Some(FinishReason::ToolCalls));
}

#[test]
fn an_answer_to_a_schema_is_json() {
    let mut request = Request::new("Hi");
    request.response_schema_json = Some(json!({ "type": "object" }).to_string());
    let response = json!({ "output": { "message": { "content": [{ "text": "{\"a\":1}" }] } } });
    let answer = answered(Reply::json(200, &response), &request).expect("an answer");
    assert_eq!(answer.output_json.as_deref(), Some("{\"a\":1}"));
}

#[test]
fn a_guardrail_that_steps_in_is_told() {
    let answer = of(&json!([{ "text": "no" }]), "guardrail_intervened");
    assert_eq!(answer.finish_reason, Some(FinishReason::ContentFilter));
    let metadata = answer.metadata_json.as_deref();
    assert_eq!(metadata, Some(r#"{"guardrails":{"flagged":true}}"#));
}

#[test]
fn errors_have_the_code_of_their_name() {
    for (status, name, code) in [
        (400, "ValidationException", ErrorCode::InvalidRequest),
        (400, "ThrottlingException", ErrorCode::RateLimited),
        (
            400,
            "ServiceQuotaExceededException:x",
            ErrorCode::QuotaExhausted,
        ),
        (403, "ExpiredTokenException", ErrorCode::Auth),
        (404, "ResourceNotFoundException", ErrorCode::NotFound),
        (429, "ModelNotReadyException", ErrorCode::Transient),
        (408, "ModelTimeoutException", ErrorCode::Timeout),
        (403, "", ErrorCode::Auth),
        (500, "", ErrorCode::Transient),
    ] {
        let body = json!({ "message": "the reason" });
        let reply = Reply::json(status, &body).header("x-amzn-errortype", name);
        let error = answered(reply, &Request::new("Hi")).expect_err("an error");
        assert_eq!(error.code, code, "{status} {name}");
        assert!(error.message.contains("the reason"), "{}", error.message);
    }
    let nothing = Reply::json(200, &json!({ "output": {} }));
    let error = answered(nothing, &Request::new("Hi")).expect_err("an error");
    assert_eq!(error.code, ErrorCode::BadResponse);
}
