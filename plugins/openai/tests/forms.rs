//! The other forms of asking: responses, completions, embeddings, moderation.

use plugin_openai::OpenAi;
use runner_plugin::json::{Value, json};
use runner_plugin::testing::{self, Played, Reply, Script};
use runner_plugin::{
    Completion, Error, ErrorCode, FinishReason, Media, Message, Part, Provider, Request, Role,
    ToolCall, ToolResult, Usage,
};
use runner_plugin_embed::ProviderEmbed;

const BASE: &str = "https://api.openai.com/v1";

fn play(
    id: &str,
    config: &Value,
    request: &Request,
    reply: Reply,
) -> Played<Result<Completion, Error>> {
    let path = match id.split(':').nth(1) {
        Some("responses") => "responses",
        Some("completion" | "gpt-3.5-turbo-instruct" | "davinci-002") => "completions",
        _ => "moderations",
    };
    let target = testing::target(id, config);
    Script::new()
        .exchange("POST", &format!("{BASE}/{path}"), reply)
        .play(|| OpenAi::complete(&target, request, &testing::context()))
}

fn body(id: &str, config: &Value, request: &Request) -> Value {
    let reply =
        json!({ "output": [], "choices": [{ "text": "" }], "results": [{ "flagged": false }] });
    let played = play(id, config, request, Reply::json(200, &reply));
    played.result.expect("an answer");
    assert_eq!(played.requests[0].credential.as_deref(), Some("openai-key"));
    played.requests[0].body_json().expect("a JSON body")
}

fn respond(reply: &Value) -> Result<Completion, Error> {
    let request = Request::new("Hi");
    play(
        "openai:responses:m",
        &json!({}),
        &request,
        Reply::json(200, reply),
    )
    .result
}

fn output(completion: &Completion) -> Option<Value> {
    let text = completion.output_json.as_deref()?;
    Some(serde_json::from_str(text).expect("JSON"))
}

#[test]
fn a_request_for_a_response() {
    let mut request = Request::new("Hi");
    let smallest = body("openai:responses:m", &json!({}), &request);
    assert_eq!(
        smallest,
        json!({ "model": "m", "input": [{ "role": "user", "content": "Hi" }] })
    );
    let config = json!({
        "max_tokens": 9, "reasoning_effort": "low", "instructions": "Be brief.",
        "response_format": { "type": "json_schema", "json_schema": { "name": "n", "schema": {} } },
        "text": { "verbosity": "low" }, "store": false,
        "tools": [
            { "type": "function", "function": { "name": "f", "parameters": {} } },
            { "type": "web_search" },
        ],
    });
    assert_eq!(
        body("openai:responses:m", &config, &request),
        json!({
            "model": "m", "input": [{ "role": "user", "content": "Hi" }],
            "max_output_tokens": 9, "reasoning": { "effort": "low" }, "instructions": "Be brief.",
            "text": { "verbosity": "low", "format": { "type": "json_schema", "name": "n", "schema": {} } },
            "store": false,
            "tools": [
                { "type": "function", "name": "f", "parameters": {} },
                { "type": "web_search" },
            ],
        })
    );
    request.max_tokens = Some(5);
    request.temperature = Some(0.5);
    request.response_schema_json = Some(r#"{"type":"object"}"#.to_owned());
    let sent = body(
        "openai:responses:m",
        &json!({ "max_output_tokens": 9 }),
        &request,
    );
    assert_eq!(sent["max_output_tokens"], 5);
    assert_eq!(sent["temperature"], 0.5);
    assert_eq!(
        sent["text"]["format"],
        json!({ "type": "json_schema", "name": "answer", "schema": { "type": "object" } })
    );
}

/// A chat with everything in it.
fn chat() -> Vec<Message> {
    let message = |role, content| Message {
        role,
        name: None,
        content,
    };
    let media = |kind: &str| {
        Part::Media(Media {
            mime_type: kind.to_owned(),
            data: vec![1, 2, 3],
        })
    };
    vec![
        Message::system("Be brief."),
        message(
            Role::User,
            vec![
                Part::Text("What?".to_owned()),
                Part::Url("https://x.test/a.png".to_owned()),
                media("image/png"),
                media("application/pdf"),
            ],
        ),
        message(
            Role::Assistant,
            vec![
                Part::Reasoning("hm".to_owned()),
                Part::ToolCall(ToolCall {
                    id: "c1".to_owned(),
                    name: "look".to_owned(),
                    arguments_json: "{}".to_owned(),
                }),
            ],
        ),
        message(
            Role::Tool,
            vec![Part::ToolResult(ToolResult {
                id: "c1".to_owned(),
                content: "a cat".to_owned(),
                is_error: false,
            })],
        ),
        Message::assistant("A cat."),
    ]
}

#[test]
fn messages_become_items() {
    let mut request = Request::new("");
    request.messages = chat();
    assert_eq!(
        body("openai:responses:m", &json!({}), &request)["input"],
        json!([
            { "role": "system", "content": "Be brief." },
            { "role": "user", "content": [
                { "type": "input_text", "text": "What?" },
                { "type": "input_image", "image_url": "https://x.test/a.png" },
                { "type": "input_image", "image_url": "data:image/png;base64,AQID" },
                { "type": "input_file", "filename": "document.pdf", "file_data": "data:application/pdf;base64,AQID" },
            ] },
            { "type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}" },
            { "type": "function_call_output", "call_id": "c1", "output": "a cat" },
            { "role": "assistant", "content": "A cat." },
        ])
    );
    let media = vec![Part::Media(Media {
        mime_type: "audio/wav".to_owned(),
        data: Vec::new(),
    })];
    request.messages = vec![Message {
        content: media,
        ..Message::user("")
    }];
    let target = testing::target("openai:responses:m", &json!({}));
    let error = OpenAi::complete(&target, &request, &testing::context()).expect_err("no sound");
    assert_eq!(error.code, ErrorCode::Unsupported);
}

#[test]
fn a_whole_response() {
    let reply = json!({
        "id": "resp_1", "status": "completed", "model": "m-1", "error": null, "incomplete_details": null,
        "output": [
            { "type": "reasoning", "summary": [{ "type": "summary_text", "text": "2+2" }] },
            { "type": "web_search_call", "status": "completed" },
            { "type": "message", "role": "assistant", "content": [
                { "type": "output_text", "text": "It is " }, { "type": "output_text", "text": "4." },
            ] },
        ],
        "usage": { "input_tokens": 30, "output_tokens": 9, "total_tokens": 39,
                   "input_tokens_details": { "cached_tokens": 10 },
                   "output_tokens_details": { "reasoning_tokens": 5 } },
    });
    let completion = respond(&reply).expect("an answer");
    assert_eq!(completion.message.text(), "It is 4.");
    assert_eq!(
        completion.message.content[0],
        Part::Reasoning("2+2".to_owned())
    );
    assert!(matches!(completion.message.content[1], Part::Other(_)));
    assert_eq!(completion.finish_reason, Some(FinishReason::Stop));
    assert_eq!(completion.model.as_deref(), Some("m-1"));
    assert_eq!(completion.output_json, None);
    assert_eq!(
        completion.usage,
        Usage {
            input_tokens: Some(30),
            output_tokens: Some(9),
            total_tokens: Some(39),
            cache_read_tokens: Some(10),
            reasoning_tokens: Some(5),
            ..Usage::default()
        }
    );
}

#[test]
fn calls_refusals_and_cut_answers_are_told_apart() {
    let call =
        json!({ "type": "function_call", "call_id": "c1", "name": "f", "arguments": "{\"a\":1}" });
    let called = respond(&json!({ "status": "completed", "output": [call] })).expect("an answer");
    assert_eq!(output(&called), Some(json!([call])));
    assert_eq!(called.finish_reason, Some(FinishReason::ToolCalls));
    let refusal =
        json!({ "type": "message", "content": [{ "type": "refusal", "refusal": "No." }] });
    let refused =
        respond(&json!({ "status": "completed", "output": [refusal] })).expect("an answer");
    assert_eq!(
        (refused.message.text().as_str(), refused.finish_reason),
        ("No.", Some(FinishReason::Refusal))
    );
    for (reason, expected) in [
        ("max_output_tokens", FinishReason::Length),
        ("content_filter", FinishReason::ContentFilter),
        ("else", FinishReason::Other("else".to_owned())),
    ] {
        let reply = json!({ "status": "incomplete", "incomplete_details": { "reason": reason }, "output": [] });
        assert_eq!(
            respond(&reply).expect("an answer").finish_reason,
            Some(expected)
        );
    }
}

#[test]
fn a_response_bound_to_a_schema_is_a_value() {
    let config =
        json!({ "text": { "format": { "type": "json_schema", "name": "n", "schema": {} } } });
    let message =
        json!({ "type": "message", "content": [{ "type": "output_text", "text": "{\"a\": 1}" }] });
    let reply = Reply::json(200, &json!({ "output": [message] }));
    let played = play("openai:responses:m", &config, &Request::new("Hi"), reply);
    assert_eq!(
        output(&played.result.expect("an answer")),
        Some(json!({ "a": 1 }))
    );
}

#[test]
fn a_response_that_failed_is_an_error() {
    for (reply, code) in [
        (
            json!({ "status": "failed", "error": { "code": "rate_limit_exceeded", "message": "No." }, "output": [] }),
            ErrorCode::RateLimited,
        ),
        (
            json!({ "status": "failed", "error": { "code": "server_error", "message": "No." }, "output": [] }),
            ErrorCode::Transient,
        ),
        (json!({ "status": "completed" }), ErrorCode::BadResponse),
        (
            json!({ "output": [{ "type": "function_call" }] }),
            ErrorCode::BadResponse,
        ),
    ] {
        assert_eq!(respond(&reply).expect_err("an error").code, code, "{reply}");
    }
}

#[test]
fn a_completion_continues_the_prompt() {
    let mut request = Request::new("Once");
    request.max_tokens = Some(5);
    request.stop = vec!["END".to_owned()];
    assert_eq!(
        body(
            "openai:completion:m",
            &json!({ "temperature": 0, "max_tokens": 9 }),
            &request
        ),
        json!({ "model": "m", "prompt": "Once", "temperature": 0, "max_tokens": 5, "stop": ["END"] })
    );
    for model in ["gpt-3.5-turbo-instruct", "davinci-002"] {
        let body = body(
            &format!("openai:{model}"),
            &json!({}),
            &Request::new("Once"),
        );
        assert_eq!(body, json!({ "model": model, "prompt": "Once" }));
    }
    let reply = json!({
        "model": "m-1", "choices": [{ "text": " upon", "finish_reason": "length" }],
        "usage": { "prompt_tokens": 1, "completion_tokens": 5, "total_tokens": 6 },
    });
    let played = play(
        "openai:completion:m",
        &json!({}),
        &request,
        Reply::json(200, &reply),
    );
    let completion = played.result.expect("an answer");
    assert_eq!(completion.message.text(), " upon");
    assert_eq!(completion.finish_reason, Some(FinishReason::Length));
    assert_eq!(completion.usage.total_tokens, Some(6));
    let played = play(
        "openai:completion:m",
        &json!({}),
        &request,
        Reply::json(200, &json!({})),
    );
    assert_eq!(
        played.result.expect_err("no text").code,
        ErrorCode::BadResponse
    );
}

#[test]
fn a_moderation_is_a_value() {
    let id = "openai:moderation:omni-moderation-latest";
    let request = Request::new("Hi");
    assert_eq!(
        body(id, &json!({}), &request),
        json!({ "model": "omni-moderation-latest", "input": "Hi" })
    );
    let mut graded = request.clone();
    graded.messages.push(Message::assistant("Ho"));
    assert_eq!(body(id, &json!({}), &graded)["input"], "Ho");
    let mut verdict = json!({ "flagged": true, "categories": { "violence": true, "hate": false }, "category_scores": { "violence": 0.9, "hate": 0.1 } });
    let reply = json!({ "model": "omni-1", "results": [verdict.clone()] });
    let completion = play(id, &json!({}), &request, Reply::json(200, &reply))
        .result
        .expect("a verdict");
    verdict["flags"] =
        json!([{ "code": "violence", "description": "violence", "confidence": 0.9 }]);
    assert_eq!(
        (completion.message.text().as_str(), output(&completion)),
        ("flagged", Some(verdict))
    );
    let error = play(
        id,
        &json!({}),
        &request,
        Reply::json(200, &json!({ "results": [] })),
    )
    .result;
    assert_eq!(error.expect_err("none").code, ErrorCode::BadResponse);
}

/// Nothing that says that it is flagged passes.
#[test]
fn a_moderation_without_a_clear_category_is_flagged_or_unreadable() {
    let id = "openai:moderation:m";
    let judged = |verdict: &Value| {
        let reply = Reply::json(200, &json!({ "results": [verdict] }));
        play(id, &json!({}), &Request::new("Hi"), reply).result
    };
    for nothing in [json!({}), json!(null), json!({ "hate": false })] {
        let verdict = json!({ "flagged": true, "categories": nothing });
        let flags = output(&judged(&verdict).expect("a verdict")).expect("JSON")["flags"].clone();
        assert_eq!(flags[0]["code"], "flagged", "{verdict}");
    }
    for odd in [json!(1), json!("true")] {
        let verdict = json!({ "flagged": true, "categories": { "hate": odd } });
        assert_eq!(
            judged(&verdict).expect_err("unclear").code,
            ErrorCode::BadResponse
        );
    }
}

#[test]
fn vectors_come_in_order() {
    let inputs = ["a".to_owned(), "b".to_owned()];
    let target = testing::target(
        "openai:embedding:e",
        &json!({ "dimensions": 2, "organization": "org-1" }),
    );
    let embed = |reply: Reply| {
        Script::new()
            .exchange("POST", &format!("{BASE}/embeddings"), reply)
            .play(|| OpenAi::embed(&target, &inputs, &testing::context()))
    };
    let reply = json!({
        "data": [{ "index": 1, "embedding": [0, 1] }, { "index": 0, "embedding": [1, 0.5] }],
        "usage": { "prompt_tokens": 4, "total_tokens": 4 },
    });
    let played = embed(Reply::json(200, &reply));
    let answer = played.result.expect("vectors");
    assert_eq!(answer.vectors, [[1.0, 0.5], [0.0, 1.0]]);
    assert_eq!(
        (answer.usage.input_tokens, answer.usage.total_tokens),
        (Some(4), Some(4))
    );
    let sent = &played.requests[0];
    assert_eq!(
        sent.body_json(),
        Some(json!({ "model": "e", "input": ["a", "b"], "dimensions": 2 }))
    );
    assert_eq!(sent.header_value("openai-organization"), Some("org-1"));
    let error = json!({ "error": { "code": "rate_limit_exceeded", "message": "No." } });
    let refused = embed(Reply::json(429, &error))
        .result
        .expect_err("an error");
    assert_eq!(refused.code, ErrorCode::RateLimited);
    let none = OpenAi::embed(
        &testing::target("openai:m", &json!({})),
        &inputs,
        &testing::context(),
    );
    assert_eq!(none.expect_err("none").code, ErrorCode::Unsupported);
}
