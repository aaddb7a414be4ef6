//! What is sent for which config, request and messages.

use plugin_anthropic::Anthropic;
use runner_plugin::json::{Value, json};
use runner_plugin::testing::{self, Reply, Script};
use runner_plugin::{
    Error, ErrorCode, Media, Message, Part, Provider, Request, Role, ToolCall, ToolResult, http,
};

const URL: &str = "https://api.anthropic.com/v1/messages";

fn sent(id: &str, config: &Value, request: &Request, url: &str) -> http::Request {
    let target = testing::target(id, config);
    let answer = json!({ "content": [{ "type": "text", "text": "ok" }] });
    let played = Script::new()
        .exchange("POST", url, Reply::json(200, &answer))
        .play(|| Anthropic::complete(&target, request, &testing::context()));
    played.result.expect("an answer");
    played.requests.into_iter().next().expect("one request")
}

fn body(config: &Value, request: &Request) -> Value {
    sent("anthropic:m", config, request, URL)
        .body_json()
        .expect("a JSON body")
}

fn refused(id: &str, request: &Request) -> Error {
    let target = testing::target(id, &json!({}));
    Script::new()
        .play(|| Anthropic::complete(&target, request, &testing::context()))
        .result
        .expect_err("no answer")
}

#[test]
fn the_smallest_request() {
    let sent = sent("anthropic:claude-x", &json!({}), &Request::new("Hi"), URL);
    assert_eq!(
        sent.body_json(),
        Some(json!({
            "model": "claude-x",
            "messages": [{ "role": "user", "content": "Hi" }],
            "max_tokens": 1024,
        }))
    );
    assert_eq!(sent.header_value("anthropic-version"), Some("2023-06-01"));
    assert_eq!(sent.header_value("anthropic-beta"), None);
    assert_eq!(sent.credential.as_deref(), Some("anthropic-key"));
    assert_eq!(sent.bucket.as_deref(), Some("claude-x"));
}

#[test]
fn an_id_names_the_model() {
    for (id, config, model) in [
        ("anthropic:claude-x", json!({}), "claude-x"),
        ("anthropic:messages:claude-x", json!({}), "claude-x"),
        (
            "anthropic:messages",
            json!({ "model": "claude-y" }),
            "claude-y",
        ),
    ] {
        let sent = sent(id, &config, &Request::new("Hi"), URL);
        assert_eq!(sent.bucket.as_deref(), Some(model), "{id}");
    }
    for (id, code) in [
        ("anthropic", ErrorCode::InvalidRequest),
        ("anthropic:messages", ErrorCode::InvalidRequest),
        ("anthropic:completion:claude-2", ErrorCode::Unsupported),
        ("anthropic:claude-agent-sdk", ErrorCode::Unsupported),
        ("anthropic:chat:claude-2", ErrorCode::Unsupported),
    ] {
        assert_eq!(refused(id, &Request::new("Hi")).code, code, "{id}");
        let found = Anthropic::check_target(&testing::target(id, &json!({})));
        assert_eq!(found.expect_err("found at load").code, code, "{id}");
    }
    for id in ["anthropic:claude-x", "anthropic:messages:claude:0"] {
        let target = testing::target(id, &json!({}));
        assert_eq!(Anthropic::check_target(&target), Ok(()), "{id}");
    }
}

#[test]
fn config_goes_into_the_body_except_what_is_not_for_the_api() {
    let config = json!({
        "temperature": 0.5, "max_tokens": 9, "top_k": 3, "stop_sequences": ["\n"],
        "thinking": { "type": "enabled", "budget_tokens": 2000 }, "something_new": [1],
        "extra_body": { "service_tier": "auto" }, "passthrough": { "metadata": {} },
        "output_format": { "type": "json_schema", "schema": {} }, "effort": "low",
        "beta": ["a-1", "b-2"], "headers": { "X-Team": "blue" },
        "apiKeyEnvar": "OTHER", "maxRetries": 2, "showThinking": false, "cost": 1,
        "apiBaseUrl": "https://proxy.test/anthropic/",
    });
    let url = "https://proxy.test/anthropic/v1/messages";
    let sent = sent("anthropic:m", &config, &Request::new("Hi"), url);
    assert_eq!(sent.header_value("anthropic-beta"), Some("a-1,b-2"));
    assert_eq!(sent.header_value("x-team"), Some("blue"));
    assert_eq!(
        sent.body_json(),
        Some(json!({
            "model": "m", "messages": [{ "role": "user", "content": "Hi" }],
            "temperature": 0.5, "max_tokens": 9, "top_k": 3, "stop_sequences": ["\n"],
            "thinking": { "type": "enabled", "budget_tokens": 2000 }, "something_new": [1],
            "service_tier": "auto", "metadata": {},
            "output_config": {
                "effort": "low", "format": { "type": "json_schema", "schema": {} },
            },
        }))
    );
}

#[test]
fn thinking_has_room_beside_the_answer() {
    let config = json!({ "thinking": { "type": "enabled", "budget_tokens": 2000 } });
    assert_eq!(body(&config, &Request::new("Hi"))["max_tokens"], 3024);
}

#[test]
fn options_of_the_request_win() {
    let mut request = Request::new("Hi");
    request.options_json = Some(json!({ "top_k": 1, "temperature": 0.7 }).to_string());
    request.temperature = Some(0.25);
    request.max_tokens = Some(100);
    request.seed = Some(3);
    request.stop = vec!["END".to_owned()];
    request.response_schema_json = Some(r#"{"type":"object"}"#.to_owned());
    request.tools_json = Some(
        json!([
            { "type": "function", "function": { "name": "f", "description": "d",
              "parameters": { "type": "object" } } },
            { "type": "function", "function": { "name": "g" } },
            { "name": "native", "input_schema": {} },
        ])
        .to_string(),
    );
    let config = json!({ "temperature": 1, "max_tokens": 9, "tool_choice": "required" });
    assert_eq!(
        body(&config, &request),
        json!({
            "model": "m", "messages": [{ "role": "user", "content": "Hi" }],
            "temperature": 0.25, "max_tokens": 100, "top_k": 1, "stop_sequences": ["END"],
            "output_config": { "format": { "type": "json_schema", "schema": { "type": "object" } } },
            "tools": [
                { "name": "f", "description": "d", "input_schema": { "type": "object" } },
                { "name": "g", "input_schema": { "type": "object", "properties": {} } },
                { "name": "native", "input_schema": {} },
            ],
            "tool_choice": { "type": "any" },
        })
    );
}

#[test]
fn a_choice_of_tools_is_sent_in_anthropics_form() {
    for (written, expected) in [
        (json!("auto"), json!({ "type": "auto" })),
        (
            json!({ "type": "function", "function": { "name": "f" } }),
            json!({ "type": "tool", "name": "f" }),
        ),
        (json!({ "type": "any" }), json!({ "type": "any" })),
    ] {
        let body = body(&json!({ "tool_choice": written }), &Request::new("Hi"));
        assert_eq!(body["tool_choice"], expected);
    }
}

/// A chat with everything in it.
fn chat() -> Vec<Message> {
    let message = |role, content| Message {
        role,
        name: None,
        content,
    };
    let native = r#"{"type":"text","text":"Cached.","cache_control":{"type":"ephemeral"}}"#;
    vec![
        Message::system("Be brief."),
        message(Role::System, vec![Part::Other(native.to_owned())]),
        message(
            Role::User,
            vec![
                Part::Text("What is this?".to_owned()),
                Part::Url("https://x.test/cat.png".to_owned()),
                Part::Url("data:image/gif;base64,AQID".to_owned()),
                Part::Media(Media {
                    mime_type: "application/pdf".to_owned(),
                    data: vec![1, 2, 3],
                }),
            ],
        ),
        message(
            Role::Assistant,
            vec![
                Part::Reasoning("hm".to_owned()),
                Part::ToolCall(ToolCall {
                    id: "t1".to_owned(),
                    name: "look".to_owned(),
                    arguments_json: r#"{"at":1}"#.to_owned(),
                }),
            ],
        ),
        message(
            Role::Tool,
            vec![Part::ToolResult(ToolResult {
                id: "t1".to_owned(),
                content: "a cat".to_owned(),
                is_error: true,
            })],
        ),
    ]
}

#[test]
fn messages_keep_their_order_and_the_system_stands_apart() {
    let mut request = Request::new("");
    request.messages = chat();
    let body = body(&json!({ "system": "Be long." }), &request);
    assert_eq!(
        body["system"],
        json!([
            { "type": "text", "text": "Be brief." },
            { "type": "text", "text": "Cached.", "cache_control": { "type": "ephemeral" } },
        ])
    );
    let base64 = |mime: &str| json!({ "type": "base64", "media_type": mime, "data": "AQID" });
    assert_eq!(
        body["messages"],
        json!([
            { "role": "user", "content": [
                { "type": "text", "text": "What is this?" },
                { "type": "image", "source": { "type": "url", "url": "https://x.test/cat.png" } },
                { "type": "image", "source": base64("image/gif") },
                { "type": "document", "source": base64("application/pdf") },
            ] },
            { "role": "assistant", "content": [
                { "type": "tool_use", "id": "t1", "name": "look", "input": { "at": 1 } },
            ] },
            { "role": "user", "content": [
                { "type": "tool_result", "tool_use_id": "t1", "content": "a cat", "is_error": true },
            ] },
        ])
    );
}

#[test]
fn what_cannot_be_sent_is_said() {
    let mut request = Request::new("Hi");
    request.messages[0].content.push(Part::Media(Media {
        mime_type: "audio/wav".to_owned(),
        data: Vec::new(),
    }));
    assert_eq!(
        refused("anthropic:m", &request).code,
        ErrorCode::Unsupported
    );
    let problems = Anthropic::check_config(&json!({ "functionToolCallbacks": {}, "apiHost": "x" }));
    assert_eq!(problems.len(), 2, "{problems:?}");
}

#[test]
fn the_plugin_says_what_it_wants() {
    let info = Anthropic::describe();
    assert_eq!(info.provider_prefixes, ["anthropic"]);
    assert_eq!(info.wants.hosts, ["https://api.anthropic.com"]);
    assert_eq!(info.wants.credentials[0].scheme, "header:x-api-key");
    assert_eq!(info.wants.credentials[0].env, "ANTHROPIC_API_KEY");
    assert_eq!(info.wants.settings[0].env, "ANTHROPIC_BASE_URL");
}
