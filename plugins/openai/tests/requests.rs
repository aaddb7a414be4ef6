//! What is sent for which config, request and messages.

use plugin_openai::OpenAi;
use runner_plugin::json::{Value, json};
use runner_plugin::testing::{self, Reply, Script};
use runner_plugin::{
    Error, ErrorCode, Media, Message, Part, Provider, Request, Role, ToolCall, ToolResult, http,
};
use std::time::Duration;

const URL: &str = "https://api.openai.com/v1/chat/completions";

fn answer() -> Reply {
    Reply::json(
        200,
        &json!({ "choices": [{ "message": { "content": "ok" } }] }),
    )
}

/// The one exchange that a request becomes.
fn sent(id: &str, config: &Value, request: &Request, url: &str) -> http::Request {
    let target = testing::target(id, config);
    let played = Script::new()
        .exchange("POST", url, answer())
        .play(|| OpenAi::complete(&target, request, &testing::context()));
    played.result.expect("an answer");
    played.requests.into_iter().next().expect("one request")
}

fn body(id: &str, config: &Value, request: &Request) -> Value {
    sent(id, config, request, URL)
        .body_json()
        .expect("a JSON body")
}

fn refused(id: &str, config: &Value, request: &Request) -> Error {
    let target = testing::target(id, config);
    Script::new()
        .play(|| OpenAi::complete(&target, request, &testing::context()))
        .result
        .expect_err("no answer")
}

#[test]
fn the_smallest_request() {
    let sent = sent("openai:gpt-4o", &json!({}), &Request::new("Hi"), URL);
    assert_eq!(
        sent.body_json(),
        Some(json!({ "model": "gpt-4o", "messages": [{ "role": "user", "content": "Hi" }] }))
    );
    assert_eq!(
        sent.headers,
        [("content-type".to_owned(), "application/json".to_owned())]
    );
    assert_eq!(sent.credential.as_deref(), Some("openai-key"));
    assert_eq!(sent.bucket.as_deref(), Some("gpt-4o"));
    assert_eq!(sent.timeout, None);
    assert_eq!(sent.cache, http::CacheMode::Auto);
}

#[test]
fn an_id_names_the_model() {
    for (id, config, model) in [
        ("openai:gpt-4o", json!({}), "gpt-4o"),
        ("openai:chat:gpt-4o", json!({}), "gpt-4o"),
        ("openai:chat:ft:gpt-4o:acme", json!({}), "ft:gpt-4o:acme"),
        ("openai:chat", json!({ "model": "local" }), "local"),
        ("openai", json!({ "model": "local" }), "local"),
        (
            "openai:gpt-4o",
            json!({ "passthrough": { "model": "routed" } }),
            "routed",
        ),
        ("openai:completions-9", json!({}), "completions-9"),
    ] {
        let sent = sent(id, &config, &Request::new("Hi"), URL);
        assert_eq!(
            sent.body_json().expect("a JSON body")["model"],
            model,
            "{id}"
        );
        assert_eq!(sent.bucket.as_deref(), Some(model));
    }
    for (id, code) in [
        ("openai", ErrorCode::InvalidRequest),
        ("openai:chat", ErrorCode::InvalidRequest),
        ("openai:chat:", ErrorCode::InvalidRequest),
        (
            "openai:embedding:text-embedding-3-small",
            ErrorCode::Unsupported,
        ),
        ("openai:realtime:gpt-4o", ErrorCode::Unsupported),
        ("openai:video:sora-2", ErrorCode::Unsupported),
        ("openai:codex-app-server", ErrorCode::Unsupported),
    ] {
        let found = OpenAi::check_target(&testing::target(id, &json!({})));
        assert_eq!(found.is_err(), !id.contains(":embedding:"), "{id}");
        assert_eq!(
            refused(id, &json!({}), &Request::new("Hi")).code,
            code,
            "{id}"
        );
    }
}

#[test]
fn config_goes_into_the_body_except_what_is_not_for_the_api() {
    let config = json!({
        "temperature": 0.5, "max_tokens": 9, "top_p": 0.9, "stop": ["\n"], "seed": 7,
        "response_format": { "type": "json_object" }, "tools": [{ "type": "function" }],
        "tool_choice": "auto", "logit_bias": { "1": -100 }, "something_new": [1],
        "passthrough": { "user": "me" },
        "apiKeyEnvar": "OTHER", "maxRetries": 2, "cost": 1, "organization": "org-1",
    });
    let body = body("openai:m", &config, &Request::new("Hi"));
    assert_eq!(
        body,
        json!({
            "model": "m", "messages": [{ "role": "user", "content": "Hi" }],
            "temperature": 0.5, "max_tokens": 9, "top_p": 0.9, "stop": ["\n"], "seed": 7,
            "response_format": { "type": "json_object" }, "tools": [{ "type": "function" }],
            "tool_choice": "auto", "logit_bias": { "1": -100 }, "something_new": [1],
            "user": "me",
        })
    );
}

#[test]
fn address_headers_and_key_come_from_the_config() {
    let config = json!({
        "apiBaseUrl": "http://127.0.0.1:8080/v1/", "organization": "org-1",
        "headers": { "X-Team": "blue" }, "apiKeyRequired": false,
    });
    let url = "http://127.0.0.1:8080/v1/chat/completions";
    let sent = sent("openai:m", &config, &Request::new("Hi"), url);
    assert_eq!(sent.header_value("openai-organization"), Some("org-1"));
    assert_eq!(sent.header_value("x-team"), Some("blue"));
    assert_eq!(sent.credential, None);
    let body = sent.body_json().expect("a JSON body");
    assert_eq!(
        body.as_object().map(serde_json::Map::len),
        Some(2),
        "{body}"
    );
}

#[test]
fn options_of_the_request_win() {
    let config = json!({ "temperature": 1, "max_tokens": 9, "seed": 1, "stop": "x", "user": "me" });
    let mut request = Request::new("Hi");
    request.options_json =
        Some(json!({ "user": "you", "temperature": 0.7, "top_k": 3 }).to_string());
    request.temperature = Some(0.25);
    request.top_p = Some(0.5);
    request.max_tokens = Some(100);
    request.seed = Some(-3);
    request.stop = vec!["END".to_owned()];
    request.response_schema_json = Some(r#"{"type":"object"}"#.to_owned());
    request.tools_json = Some(r#"[{"type":"function","function":{"name":"f"}}]"#.to_owned());
    request.timeout_ms = Some(1_500);
    let sent = sent("openai:m", &config, &request, URL);
    assert_eq!(sent.timeout, Some(Duration::from_millis(1_500)));
    assert_eq!(
        sent.body_json(),
        Some(json!({
            "model": "m", "messages": [{ "role": "user", "content": "Hi" }],
            "temperature": 0.25, "top_p": 0.5, "max_tokens": 100, "seed": -3, "stop": ["END"],
            "user": "you", "top_k": 3,
            "response_format": {
                "type": "json_schema",
                "json_schema": { "name": "answer", "schema": { "type": "object" } },
            },
            "tools": [{ "type": "function", "function": { "name": "f" } }],
        }))
    );
}

#[test]
fn reasoning_models_have_another_token_limit() {
    let mut request = Request::new("Hi");
    request.max_tokens = Some(5);
    for (id, config, key, other) in [
        (
            "openai:gpt-4o",
            json!({}),
            "max_tokens",
            "max_completion_tokens",
        ),
        (
            "openai:omni",
            json!({}),
            "max_tokens",
            "max_completion_tokens",
        ),
        (
            "openai:o3-mini",
            json!({ "max_tokens": 9 }),
            "max_completion_tokens",
            "max_tokens",
        ),
        (
            "openai:gpt-5-nano",
            json!({}),
            "max_completion_tokens",
            "max_tokens",
        ),
        (
            "openai:m",
            json!({ "max_completion_tokens": 9 }),
            "max_completion_tokens",
            "max_tokens",
        ),
    ] {
        let body = body(id, &config, &request);
        assert_eq!(body[key], 5, "{id}");
        assert_eq!(body.get(other), None, "{id}");
    }
}

/// The messages as they are sent.
fn messages(messages: Vec<Message>) -> Value {
    let mut request = Request::new("");
    request.messages = messages;
    body("openai:m", &json!({}), &request)["messages"].take()
}

fn message(role: Role, content: Vec<Part>) -> Message {
    Message {
        role,
        name: None,
        content,
    }
}

#[test]
fn messages_keep_their_roles_and_names() {
    let named = Message {
        name: Some("ann".to_owned()),
        ..Message::user("Look:")
    };
    let sent = messages(vec![
        Message::system("Be brief."),
        Message::new(Role::Developer, "Be kind."),
        named,
        Message::assistant("Yes?"),
        message(Role::User, vec![]),
    ]);
    assert_eq!(
        sent,
        json!([
            { "role": "system", "content": "Be brief." },
            { "role": "developer", "content": "Be kind." },
            { "role": "user", "content": "Look:", "name": "ann" },
            { "role": "assistant", "content": "Yes?" },
            { "role": "user", "content": "" },
        ])
    );
}

#[test]
fn parts_that_are_not_text_keep_their_form() {
    let media = |mime_type: &str, data| {
        Part::Media(Media {
            mime_type: mime_type.to_owned(),
            data,
        })
    };
    let url = || Part::Url("https://x.test/cat.png".to_owned());
    let sent = messages(vec![
        message(
            Role::User,
            vec![
                Part::Text("What is this?".to_owned()),
                url(),
                media("image/png", vec![1, 2, 3]),
                media("audio/wav", vec![0]),
                Part::Other(r#"{"type":"file","file":{"file_id":"f1"}}"#.to_owned()),
            ],
        ),
        message(Role::User, vec![url()]),
    ]);
    let image = |url: &str| json!({ "type": "image_url", "image_url": { "url": url } });
    assert_eq!(
        sent,
        json!([
            { "role": "user", "content": [
                { "type": "text", "text": "What is this?" },
                image("https://x.test/cat.png"),
                image("data:image/png;base64,AQID"),
                { "type": "input_audio", "input_audio": { "data": "AA==", "format": "wav" } },
                { "type": "file", "file": { "file_id": "f1" } },
            ] },
            { "role": "user", "content": [image("https://x.test/cat.png")] },
        ])
    );
}

#[test]
fn calls_of_tools_and_their_results_are_sent_back() {
    let call = Part::ToolCall(ToolCall {
        id: "c1".to_owned(),
        name: "look".to_owned(),
        arguments_json: r#"{"at":1}"#.to_owned(),
    });
    let result = |content: &str| {
        Part::ToolResult(ToolResult {
            id: "c1".to_owned(),
            content: content.to_owned(),
            is_error: false,
        })
    };
    let sent = messages(vec![
        message(
            Role::Assistant,
            vec![Part::Reasoning("hm".to_owned()), call],
        ),
        message(Role::Tool, vec![result("a cat")]),
        message(
            Role::User,
            vec![result("a dog"), Part::Text("And?".to_owned())],
        ),
    ]);
    assert_eq!(
        sent,
        json!([
            { "role": "assistant", "content": null, "tool_calls": [
                { "id": "c1", "type": "function",
                  "function": { "name": "look", "arguments": "{\"at\":1}" } },
            ] },
            { "role": "tool", "tool_call_id": "c1", "content": "a cat" },
            { "role": "tool", "tool_call_id": "c1", "content": "a dog" },
            { "role": "user", "content": "And?" },
        ])
    );
}

#[test]
fn what_cannot_be_sent_is_said() {
    let mut request = Request::new("Hi");
    request.messages[0].content.push(Part::Media(Media {
        mime_type: "video/mp4".to_owned(),
        data: Vec::new(),
    }));
    assert_eq!(
        refused("openai:m", &json!({}), &request).code,
        ErrorCode::Unsupported
    );
    let config = json!({ "headers": { "X-Retries": 3 } });
    assert_eq!(
        refused("openai:m", &config, &Request::new("Hi")).code,
        ErrorCode::InvalidRequest
    );
}

#[test]
fn an_answer_in_pieces_is_asked_for_by_true_alone() {
    for stream in [json!(false), json!("true"), json!(1)] {
        let body = body(
            "openai:m",
            &json!({ "stream": stream }),
            &Request::new("Hi"),
        );
        assert_eq!(body.get("stream"), None, "{stream}");
    }
}

#[test]
fn a_config_is_checked_beyond_its_schema() {
    assert_eq!(
        OpenAi::check_config(&json!({ "temperature": 0, "stream": true })),
        []
    );
    let problems = OpenAi::check_config(&json!({ "functionToolCallbacks": {}, "apiHost": "x" }));
    let pointers: Vec<&str> = problems
        .iter()
        .map(|(pointer, _)| pointer.as_str())
        .collect();
    assert_eq!(pointers, ["/apiHost", "/functionToolCallbacks"]);
}

#[test]
fn the_plugin_says_what_it_wants() {
    let info = OpenAi::describe();
    assert_eq!(info.provider_prefixes, ["openai"]);
    assert_eq!(info.wants.hosts, ["https://api.openai.com"]);
    assert_eq!(info.wants.host_config_key.as_deref(), Some("apiBaseUrl"));
    let [key] = &info.wants.credentials[..] else {
        panic!("one credential")
    };
    assert_eq!(
        (key.env.as_str(), key.scheme.as_str()),
        ("OPENAI_API_KEY", "bearer")
    );
    assert_eq!(key.env_config_key.as_deref(), Some("apiKeyEnvar"));
    assert_eq!(key.value_config_key.as_deref(), Some("apiKey"));
    assert_eq!(info.wants.settings[0].env, "OPENAI_BASE_URL");
}
