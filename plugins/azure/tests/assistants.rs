//! Assistants: what is sent, how the events of a run are read, and what comes of it.

use plugin_azure::Azure;
use runner_plugin::http::CacheMode;
use runner_plugin::json::{Value, json};
use runner_plugin::testing::{self, Played, Reply, Script};
use runner_plugin::{
    Completion, Error, ErrorCode, FinishReason, Message, Part, Provider, Request, Role,
};

const URL: &str = "https://r.openai.azure.com/openai/threads/runs?api-version=2024-05-01-preview";

fn config(more: &Value) -> Value {
    let mut config = json!({ "apiHost": "r.openai.azure.com" });
    if let (Value::Object(config), Value::Object(more)) = (&mut config, more) {
        config.extend(more.clone());
    }
    config
}

fn play(config: &Value, request: &Request, script: Script) -> Played<Result<Completion, Error>> {
    let target = testing::target("azure:assistant:asst_1", config);
    script.play(|| Azure::complete(&target, request, &testing::context()))
}

fn ask(reply: Reply) -> Result<Completion, Error> {
    let script = Script::new().exchange("POST", URL, reply);
    play(&config(&json!({})), &Request::new("Hi"), script).result
}

fn event(name: &str, data: &Value) -> String {
    format!("event: {name}\ndata: {data}\n\n")
}

fn run(status: &str, more: &Value) -> Value {
    let mut run = json!({
        "id": "run_1", "status": status, "model": "gpt-4o",
        "usage": { "prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7 },
    });
    if let (Value::Object(run), Value::Object(more)) = (&mut run, more) {
        run.extend(more.clone());
    }
    run
}

/// The events of a run that says `texts` and ends with this status.
fn events(texts: &[&str], status: &str, more: &Value) -> Reply {
    let mut body = event("thread.created", &json!({ "id": "thread_1" }));
    body += &event("thread.run.created", &run("queued", &json!({})));
    body += &event("thread.run.in_progress", &run("in_progress", &json!({})));
    for text in texts {
        body += &event(
            "thread.message.delta",
            &json!({ "delta": { "content": [] } }),
        );
        let content = json!([{ "type": "text", "text": { "value": text, "annotations": [] } }]);
        let message = json!({ "role": "assistant", "content": content });
        body += &event("thread.message.completed", &message);
    }
    body += &event(&format!("thread.run.{status}"), &run(status, more));
    body += "event: done\ndata: [DONE]\n\n";
    Reply::text(200, &body).header("content-type", "text/event-stream")
}

#[test]
fn a_thread_is_made_and_run_by_one_request_whose_answer_ends_with_the_run() {
    let mut request = Request::new("Hi");
    request.messages.insert(0, Message::system("Be brief."));
    let mut look = Message::user("Look");
    look.content
        .push(Part::Url("https://a.test/p.png".to_owned()));
    request.messages.push(Message::assistant("Ho"));
    request.messages.push(look);
    request.max_tokens = Some(9);
    let config = config(&json!({
        "temperature": 0.5, "max_tokens": 3, "modelName": "gpt-4o", "debug": true,
        "maxPollTimeMs": 1, "retryOptions": {}, "instructions": "else", "tools": [{ "type": "file_search" }],
        "tool_resources": { "file_search": { "vector_store_ids": ["v"] } },
    }));
    let script = Script::new().exchange("POST", URL, events(&["Hello"], "completed", &json!({})));
    let played = play(&config, &request, script);
    let sent = &played.requests[0];
    assert_eq!(
        sent.body_json(),
        Some(json!({
            "assistant_id": "asst_1", "stream": true, "model": "gpt-4o", "temperature": 0.5,
            "max_completion_tokens": 9, "instructions": "Be brief.", "tools": [{ "type": "file_search" }],
            "tool_resources": { "file_search": { "vector_store_ids": ["v"] } },
            "thread": { "messages": [
                { "role": "user", "content": "Hi" },
                { "role": "assistant", "content": "Ho" },
                { "role": "user", "content": [
                    { "type": "text", "text": "Look" },
                    { "type": "image_url", "image_url": { "url": "https://a.test/p.png" } },
                ] },
            ] },
        }))
    );
    assert_eq!(sent.credential.as_deref(), Some("azure-key"));
    assert_eq!(sent.bucket.as_deref(), Some("asst_1"));
    assert_eq!(sent.cache, CacheMode::Auto);
    let completion = played.result.expect("an answer");
    assert_eq!(completion.message.text(), "Hello");
    assert_eq!(completion.finish_reason, Some(FinishReason::Stop));
    assert_eq!(completion.usage.input_tokens, Some(5));
    assert_eq!(completion.usage.total_tokens, Some(7));
    assert_eq!(completion.model.as_deref(), Some("gpt-4o"));
}

#[test]
fn an_assistant_is_found_at_each_kind_of_address() {
    for (config, url) in [
        (
            config(&json!({ "apiVersion": "2025-01-01-preview" })),
            URL.replace("2024-05-01", "2025-01-01"),
        ),
        (
            json!({ "apiBaseUrl": "https://r.openai.azure.com/openai/v1" }),
            "https://r.openai.azure.com/openai/v1/threads/runs".to_owned(),
        ),
    ] {
        let script = Script::new().exchange("POST", &url, events(&["ok"], "completed", &json!({})));
        let played = play(&config, &Request::new("Hi"), script);
        assert_eq!(played.result.expect("an answer").message.text(), "ok");
    }
}

#[test]
fn several_messages_are_one_text_and_steps_are_kept_beside_it() {
    let step = json!({ "step_details": { "tool_calls": [
        { "type": "code_interpreter", "code_interpreter": { "input": "1+1" } },
        { "type": "function", "function": { "name": "f" } },
    ] } });
    let picture = json!({ "role": "assistant", "content": [{ "type": "image_file" }] });
    let asked =
        json!({ "role": "user", "content": [{ "type": "text", "text": { "value": "Hi" } }] });
    let body = [
        event("thread.message.completed", &asked),
        event("thread.run.step.completed", &step),
        event("thread.message.completed", &picture),
    ];
    let rest = events(&["a", "b"], "completed", &json!({}));
    let script = Script::new().exchange("POST", URL, rest.clone());
    let rest = play(&config(&json!({})), &Request::new("Hi"), script);
    assert_eq!(rest.result.expect("an answer").message.text(), "a\n\nb");

    let end = event("thread.run.completed", &run("completed", &json!({})));
    // Lines may end as those of HTTP do.
    let text = (body.concat() + &end).replace('\n', "\r\n");
    let completion = ask(Reply::text(200, &text)).expect("an answer");
    let kinds = completion.message.content.iter().map(|part| match part {
        Part::Other(text) if text.contains("1+1") => "code",
        Part::Other(text) if text.contains("image_file") => "picture",
        Part::Text(text) if text.is_empty() => "no text",
        _ => "another",
    });
    assert_eq!(kinds.collect::<Vec<_>>(), ["code", "picture", "no text"]);
}

#[test]
fn calls_that_a_run_waits_for_are_the_answer() {
    let calls = json!([{
        "id": "call_1", "type": "function",
        "function": { "name": "get_weather", "arguments": "{\"city\":\"Bonn\"}" },
    }]);
    let more = json!({ "required_action": {
        "type": "submit_tool_outputs", "submit_tool_outputs": { "tool_calls": calls },
    } });
    let completion = ask(events(&[], "requires_action", &more)).expect("an answer");
    assert_eq!(completion.output_json, Some(calls.to_string()));
    assert_eq!(completion.finish_reason, Some(FinishReason::ToolCalls));
    let [Part::ToolCall(call)] = &completion.message.content[..] else {
        panic!("one call, not {:?}", completion.message.content);
    };
    assert_eq!(
        (
            call.id.as_str(),
            call.name.as_str(),
            call.arguments_json.as_str()
        ),
        ("call_1", "get_weather", "{\"city\":\"Bonn\"}")
    );
    let beside = ask(events(&["I look."], "requires_action", &more)).expect("an answer");
    assert_eq!(beside.output_json, None);
    assert_eq!(beside.message.text(), "I look.");
    assert_eq!(beside.message.content.len(), 2);
}

#[test]
fn a_run_that_did_not_end_well_is_an_error() {
    let error = |code: &str| json!({ "last_error": { "code": code, "message": "No." } });
    for (status, more, code, says) in [
        (
            "failed",
            error("rate_limit_exceeded"),
            ErrorCode::RateLimited,
            "the run failed: No.",
        ),
        ("failed", error("server_error"), ErrorCode::Transient, "No."),
        (
            "failed",
            error("content_filter"),
            ErrorCode::ContentFilter,
            "No.",
        ),
        ("expired", json!({}), ErrorCode::Timeout, "expired"),
        ("cancelled", json!({}), ErrorCode::Timeout, "cancelled"),
        (
            "in_progress",
            json!({}),
            ErrorCode::BadResponse,
            "before its end",
        ),
    ] {
        let error = ask(events(&["a"], status, &more)).expect_err("no answer");
        assert_eq!(error.code, code, "{status}");
        assert!(error.message.contains(says), "{}", error.message);
    }
    let said = json!({ "code": "rate_limit_exceeded", "message": "Slow." });
    for said in [said.clone(), json!({ "error": said })] {
        let error = ask(Reply::text(200, &event("error", &said))).expect_err("no answer");
        assert_eq!(error.code, ErrorCode::RateLimited);
    }
    let gone = json!({ "error": { "code": "invalid_request_error", "message": "No assistant" } });
    for (reply, code) in [
        (Reply::json(404, &gone), ErrorCode::NotFound),
        (Reply::json(401, &json!({})), ErrorCode::Auth),
        (Reply::text(503, "down"), ErrorCode::Transient),
        (
            Reply::json(200, &run("queued", &json!({}))),
            ErrorCode::BadResponse,
        ),
        (Reply::text(200, ""), ErrorCode::BadResponse),
    ] {
        assert_eq!(ask(reply).expect_err("no answer").code, code);
    }
}

#[test]
fn an_answer_that_was_cut_short_says_why() {
    for (reason, finish) in [
        ("max_completion_tokens", FinishReason::Length),
        ("content_filter", FinishReason::ContentFilter),
    ] {
        let more = json!({ "incomplete_details": { "reason": reason } });
        let completion = ask(events(&["a"], "incomplete", &more)).expect("an answer");
        assert_eq!(completion.finish_reason, Some(finish));
        assert_eq!(completion.message.text(), "a");
    }
}

#[test]
fn what_the_cache_has_counts_only_where_the_run_went_well() {
    let kept = events(&["kept"], "completed", &json!({})).cached();
    assert_eq!(ask(kept).expect("an answer").message.text(), "kept");
    let script = Script::new()
        .exchange("POST", URL, events(&[], "failed", &json!({})).cached())
        .exchange("POST", URL, events(&["new"], "completed", &json!({})));
    let played = play(&config(&json!({})), &Request::new("Hi"), script);
    assert_eq!(played.requests[1].cache, CacheMode::Bypass);
    assert_eq!(played.result.expect("an answer").message.text(), "new");
}

#[test]
fn an_answer_that_a_schema_binds_is_a_value() {
    let mut request = Request::new("Hi");
    request.response_schema_json = Some(json!({ "type": "object" }).to_string());
    let script =
        Script::new().exchange("POST", URL, events(&["{\"a\":1}"], "completed", &json!({})));
    let played = play(&config(&json!({})), &request, script);
    let body = played.requests[0].body_json().expect("a body");
    assert_eq!(body["response_format"]["type"], "json_schema");
    let completion = played.result.expect("an answer");
    assert_eq!(completion.output_json.as_deref(), Some("{\"a\":1}"));
}

#[test]
fn what_a_thread_cannot_hold_and_ids_that_name_nothing_are_said() {
    let mut tool = Request::new("Hi");
    tool.messages[0].role = Role::Tool;
    let played = play(&config(&json!({})), &tool, Script::new());
    let code = played.result.expect_err("no answer").code;
    assert_eq!(code, ErrorCode::Unsupported);
    for (id, config) in [
        ("azure:assistant", config(&json!({ "model": "m" }))),
        ("azure:assistant:a", json!({})),
    ] {
        let target = testing::target(id, &config);
        let error = Azure::check_target(&target).expect_err("refused");
        assert_eq!(error.code, ErrorCode::InvalidRequest, "{id}");
        let called = Azure::complete(&target, &Request::new("Hi"), &testing::context());
        assert_eq!(called.expect_err("no answer"), error);
    }
}
