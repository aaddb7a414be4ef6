//! What a run sees of which response: completions, vectors and errors.

use plugin_google::Google;
use runner_plugin::json::{Value, json};
use runner_plugin::testing::{self, Reply, Script};
use runner_plugin::{Completion, Error, ErrorCode, FinishReason, Part, Provider, Request, Usage};
use runner_plugin_embed::ProviderEmbed;

const URL: &str = "https://generativelanguage.googleapis.com/v1beta/models/m:generateContent";

fn ask(request: &Request, reply: Reply) -> Result<Completion, Error> {
    let target = testing::target("google:m", &json!({}));
    Script::new()
        .exchange("POST", URL, reply)
        .play(|| Google::complete(&target, request, &testing::context()))
        .result
}

fn answered(parts: &Value, finish: &str) -> Completion {
    let body = json!({ "candidates": [{ "content": { "parts": parts }, "finishReason": finish }] });
    ask(&Request::new("Hi"), Reply::json(200, &body)).expect("an answer")
}

fn output(completion: &Completion) -> Option<Value> {
    let text = completion.output_json.as_deref()?;
    Some(serde_json::from_str(text).expect("JSON"))
}

#[test]
fn a_whole_answer() {
    let body = json!({
        "candidates": [{
            "content": { "role": "model", "parts": [
                { "text": "2+2", "thought": true }, { "text": "It is " }, { "text": "4." },
            ] },
            "finishReason": "STOP", "index": 0,
        }],
        "usageMetadata": {
            "promptTokenCount": 10, "candidatesTokenCount": 4, "totalTokenCount": 21,
            "thoughtsTokenCount": 5, "cachedContentTokenCount": 3, "toolUsePromptTokenCount": 2,
        },
        "modelVersion": "gemini-x-001",
    });
    let completion = ask(&Request::new("Hi"), Reply::json(200, &body)).expect("an answer");
    assert_eq!(completion.message.text(), "It is 4.");
    assert_eq!(
        completion.message.content[0],
        Part::Reasoning("2+2".to_owned())
    );
    assert_eq!(completion.output_json, None);
    assert_eq!(completion.finish_reason, Some(FinishReason::Stop));
    assert_eq!(completion.model.as_deref(), Some("gemini-x-001"));
    assert_eq!(
        completion.usage,
        Usage {
            input_tokens: Some(12),
            output_tokens: Some(9),
            total_tokens: Some(21),
            cache_read_tokens: Some(3),
            reasoning_tokens: Some(5),
            ..Usage::default()
        }
    );
}

#[test]
fn calls_of_functions_are_the_output_with_the_texts_around_them() {
    let parts = json!([
        { "text": "Let me see." },
        { "functionCall": { "name": "weather", "args": { "city": "Bern" } } },
        { "functionCall": { "id": "f2", "name": "now" } },
    ]);
    let completion = answered(&parts, "STOP");
    assert_eq!(output(&completion), Some(parts));
    assert_eq!(completion.finish_reason, Some(FinishReason::ToolCalls));
    let [Part::Text(_), Part::ToolCall(one), Part::ToolCall(two)] = &completion.message.content[..]
    else {
        panic!("a text and two calls: {:?}", completion.message.content)
    };
    assert_eq!(
        (one.id.as_str(), one.arguments_json.as_str()),
        ("call-1", r#"{"city":"Bern"}"#)
    );
    assert_eq!((two.id.as_str(), two.arguments_json.as_str()), ("f2", "{}"));
}

#[test]
fn finish_reasons_are_mapped() {
    for (reason, expected) in [
        ("STOP", FinishReason::Stop),
        ("MAX_TOKENS", FinishReason::Length),
        ("SAFETY", FinishReason::ContentFilter),
        ("RECITATION", FinishReason::ContentFilter),
        ("PROHIBITED_CONTENT", FinishReason::ContentFilter),
        (
            "MALFORMED_FUNCTION_CALL",
            FinishReason::Other("malformed_function_call".to_owned()),
        ),
    ] {
        let completion = answered(&json!([{ "text": "x" }]), reason);
        assert_eq!(completion.finish_reason, Some(expected));
    }
    let body = json!({ "candidates": [{ "finishReason": "SAFETY" }] });
    let cut = ask(&Request::new("Hi"), Reply::json(200, &body)).expect("an answer");
    assert_eq!(cut.message.content, [Part::Text(String::new())]);
    assert_eq!(cut.finish_reason, Some(FinishReason::ContentFilter));
}

#[test]
fn a_blocked_prompt_is_an_error() {
    let body = json!({ "promptFeedback": { "blockReason": "SAFETY" } });
    let error = ask(&Request::new("Hi"), Reply::json(200, &body)).expect_err("an error");
    assert_eq!(error.code, ErrorCode::ContentFilter);
    assert_eq!(error.message, "the API blocked the prompt: SAFETY");
}

#[test]
fn an_answer_bound_to_a_schema_is_a_value() {
    let mut request = Request::new("Hi");
    request.response_schema_json = Some("{}".to_owned());
    let body = json!({ "candidates": [{ "content": { "parts": [{ "text": "{\"a\": 1}" }] } }] });
    let completion = ask(&request, Reply::json(200, &body)).expect("an answer");
    assert_eq!(output(&completion), Some(json!({ "a": 1 })));
}

#[test]
fn errors_are_told_apart_by_status_and_reason() {
    let plain = json!([]);
    let reason = json!([{ "@type": "x/ErrorInfo", "reason": "API_KEY_INVALID" }]);
    let quota =
        |id: &str| json!([{ "@type": "x/QuotaFailure", "violations": [{ "quotaId": id }] }]);
    for (status, name, details, code) in [
        (400, "INVALID_ARGUMENT", &plain, ErrorCode::InvalidRequest),
        (400, "INVALID_ARGUMENT", &reason, ErrorCode::Auth),
        (
            400,
            "FAILED_PRECONDITION",
            &plain,
            ErrorCode::InvalidRequest,
        ),
        (403, "PERMISSION_DENIED", &plain, ErrorCode::Auth),
        (404, "NOT_FOUND", &plain, ErrorCode::NotFound),
        (
            429,
            "RESOURCE_EXHAUSTED",
            &quota("RequestsPerMinute"),
            ErrorCode::RateLimited,
        ),
        (
            429,
            "RESOURCE_EXHAUSTED",
            &quota("RequestsPerDay-Free"),
            ErrorCode::QuotaExhausted,
        ),
        (500, "INTERNAL", &plain, ErrorCode::Transient),
        (503, "UNAVAILABLE", &plain, ErrorCode::Transient),
        (504, "DEADLINE_EXCEEDED", &plain, ErrorCode::Timeout),
    ] {
        let error = json!({ "code": status, "message": "No.", "status": name, "details": details });
        let body = json!({ "error": error });
        let failure = ask(&Request::new("Hi"), Reply::json(status, &body)).expect_err("an error");
        assert_eq!(failure.code, code, "{status} {name} {details}");
        assert_eq!(failure.status, Some(status));
    }
    for body in [
        "{}",
        "<html>",
        r#"{"candidates":[{"content":{"parts":[{"functionCall":{}}]}}]}"#,
    ] {
        let failure = ask(&Request::new("Hi"), Reply::text(200, body)).expect_err("an error");
        assert_eq!(failure.code, ErrorCode::BadResponse, "{body}");
    }
}

#[test]
fn vectors_come_in_order() {
    let url = "https://generativelanguage.googleapis.com/v1beta/models/e:batchEmbedContents";
    let target = testing::target(
        "google:embedding:e",
        &json!({ "taskType": "SEMANTIC_SIMILARITY" }),
    );
    let inputs = ["a".to_owned(), "b".to_owned()];
    let embed = |body: &Value| {
        Script::new()
            .exchange("POST", url, Reply::json(200, body))
            .play(|| Google::embed(&target, &inputs, &testing::context()))
    };
    let played = embed(&json!({ "embeddings": [{ "values": [1, 0.5] }, { "values": [0] }] }));
    assert_eq!(
        played.result.expect("vectors").vectors,
        [vec![1.0, 0.5], vec![0.0]]
    );
    let entry = |text: &str| {
        json!({
            "model": "models/e", "content": { "parts": [{ "text": text }] },
            "taskType": "SEMANTIC_SIMILARITY",
        })
    };
    assert_eq!(
        played.requests[0].body_json(),
        Some(json!({ "requests": [entry("a"), entry("b")] }))
    );
    let error = embed(&json!({ "embeddings": [{ "values": [1] }] }))
        .result
        .expect_err("one of two");
    assert_eq!(error.code, ErrorCode::BadResponse);
    let error = Google::embed(
        &testing::target("google:m", &json!({})),
        &inputs,
        &testing::context(),
    )
    .expect_err("none");
    assert_eq!(error.code, ErrorCode::Unsupported);
}
