//! What is sent for which config, request and messages.

use plugin_ollama::Ollama;
use runner_plugin::json::{Value, json};
use runner_plugin::testing::{self, Reply, Script};
use runner_plugin::{
    Error, ErrorCode, Media, Message, Part, Provider, Request, Role, ToolCall, ToolResult, http,
};

const CHAT: &str = "http://localhost:11434/api/chat";
const GENERATE: &str = "http://localhost:11434/api/generate";

fn sent(id: &str, config: &Value, request: &Request, url: &str) -> http::Request {
    let target = testing::target(id, config);
    let answer = json!({ "message": { "content": "ok" }, "response": "ok", "done": true });
    let played = Script::new()
        .exchange("POST", url, Reply::json(200, &answer))
        .play(|| Ollama::complete(&target, request, &testing::context()));
    played.result.expect("an answer");
    played.requests.into_iter().next().expect("one request")
}

fn chat(config: &Value, request: &Request) -> Value {
    sent("ollama:chat:m", config, request, CHAT)
        .body_json()
        .expect("a JSON body")
}

fn refused(id: &str, request: &Request) -> Error {
    let target = testing::target(id, &json!({}));
    Script::new()
        .play(|| Ollama::complete(&target, request, &testing::context()))
        .result
        .expect_err("no answer")
}

#[test]
fn the_smallest_requests() {
    let request = Request::new("Hi");
    let sent_chat = sent("ollama:chat:llama3:8b", &json!({}), &request, CHAT);
    assert_eq!(
        sent_chat.body_json(),
        Some(json!({
            "model": "llama3:8b",
            "messages": [{ "role": "user", "content": "Hi" }],
            "stream": false,
        }))
    );
    assert_eq!(
        (sent_chat.credential, sent_chat.bucket.as_deref()),
        (None, Some("llama3:8b"))
    );
    for id in [
        "ollama:llama3:8b",
        "ollama:completion:llama3:8b",
        "ollama:generate:llama3:8b",
    ] {
        let sent = sent(id, &json!({}), &request, GENERATE);
        assert_eq!(
            sent.body_json(),
            Some(json!({ "model": "llama3:8b", "prompt": "Hi", "stream": false })),
            "{id}"
        );
    }
}

#[test]
fn each_knob_goes_where_it_belongs() {
    let config = json!({
        "temperature": 0.5, "num_ctx": 8192, "max_tokens": 9, "stop": "END", "something_new": 1,
        "options": { "min_p": 0.1 }, "think": false, "keep_alive": "5m", "format": "json",
        "tools": [{ "type": "function" }], "stream": false,
        "passthrough": { "shift": true, "options": { "top_k": 2 } },
        "headers": { "X-Team": "blue" }, "maxRetries": 2, "showThinking": true,
        "apiBaseUrl": "http://gpu.test:9/o/",
    });
    let url = "http://gpu.test:9/o/api/chat";
    let sent = sent("ollama:chat:m", &config, &Request::new("Hi"), url);
    assert_eq!(sent.header_value("x-team"), Some("blue"));
    let body = sent.body_json().expect("a JSON body");
    // `passthrough.options` replaces `options` of the config, key by key of the top.
    assert_eq!(
        body,
        json!({
            "model": "m", "messages": [{ "role": "user", "content": "Hi" }], "stream": false,
            "options": {
                "temperature": 0.5, "num_ctx": 8192, "num_predict": 9, "stop": ["END"],
                "something_new": 1, "top_k": 2,
            },
            "think": false, "keep_alive": "5m", "format": "json",
            "tools": [{ "type": "function" }], "shift": true,
        })
    );
}

#[test]
fn options_of_the_request_win() {
    let mut request = Request::new("Hi");
    request.options_json = Some(json!({ "top_k": 1, "temperature": 0.7 }).to_string());
    request.temperature = Some(0.25);
    request.top_p = Some(0.5);
    request.max_tokens = Some(100);
    request.seed = Some(3);
    request.stop = vec!["END".to_owned()];
    request.response_schema_json = Some(r#"{"type":"object"}"#.to_owned());
    request.tools_json = Some(r#"[{"type":"function"}]"#.to_owned());
    let body = chat(
        &json!({ "temperature": 1, "num_predict": 9, "format": "json" }),
        &request,
    );
    assert_eq!(
        body["options"],
        json!({
            "temperature": 0.25, "num_predict": 100, "top_k": 1, "top_p": 0.5, "seed": 3,
            "stop": ["END"],
        })
    );
    assert_eq!(body["format"], json!({ "type": "object" }));
    assert_eq!(body["tools"], json!([{ "type": "function" }]));
}

#[test]
fn messages_carry_pictures_and_calls() {
    let message = |role, content| Message {
        role,
        name: None,
        content,
    };
    let mut request = Request::new("");
    request.messages = vec![
        Message::new(Role::Developer, "Be brief."),
        message(
            Role::User,
            vec![
                Part::Text("What?".to_owned()),
                Part::Url("data:image/gif;base64,AQID".to_owned()),
                Part::Media(Media {
                    mime_type: "image/png".to_owned(),
                    data: vec![1, 2, 3],
                }),
            ],
        ),
        message(
            Role::Assistant,
            vec![
                Part::Reasoning("hm".to_owned()),
                Part::ToolCall(ToolCall {
                    id: "c1".to_owned(),
                    name: "look".to_owned(),
                    arguments_json: r#"{"at":1}"#.to_owned(),
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
    ];
    assert_eq!(
        chat(&json!({}), &request)["messages"],
        json!([
            { "role": "system", "content": "Be brief." },
            { "role": "user", "content": "What?", "images": ["AQID", "AQID"] },
            { "role": "assistant", "content": "", "tool_calls": [
                { "function": { "name": "look", "arguments": { "at": 1 } } },
            ] },
            { "role": "tool", "content": "a cat" },
        ])
    );
    let body = sent("ollama:m", &json!({}), &request, GENERATE).body_json();
    assert_eq!(body.expect("a body")["images"], json!(["AQID", "AQID"]));
}

#[test]
fn what_cannot_be_sent_is_said() {
    for part in [
        Part::Url("https://x.test/cat.png".to_owned()),
        Part::Media(Media {
            mime_type: "audio/wav".to_owned(),
            data: Vec::new(),
        }),
        Part::Other("{}".to_owned()),
    ] {
        let mut request = Request::new("Hi");
        request.messages[0].content.push(part);
        assert_eq!(
            refused("ollama:chat:m", &request).code,
            ErrorCode::Unsupported
        );
        assert_eq!(refused("ollama:m", &request).code, ErrorCode::Unsupported);
    }
    assert_eq!(
        refused("ollama:chat", &Request::new("Hi")).code,
        ErrorCode::InvalidRequest
    );
    assert_eq!(
        refused("ollama:embeddings:e", &Request::new("Hi")).code,
        ErrorCode::Unsupported
    );
    assert_eq!(
        Ollama::check_config(&json!({ "functionToolCallbacks": {} })).len(),
        1
    );
    for (id, is_good) in [
        ("ollama:chat", false),
        ("ollama", false),
        ("ollama:m:7b", true),
    ] {
        let target = testing::target(id, &json!({}));
        assert_eq!(Ollama::check_target(&target).is_ok(), is_good, "{id}");
    }
}

#[test]
fn the_plugin_wants_no_key() {
    let info = Ollama::describe();
    assert_eq!(info.provider_prefixes, ["ollama"]);
    assert_eq!(info.wants.hosts, ["http://localhost:11434"]);
    assert_eq!(info.wants.credentials, []);
    assert_eq!(info.wants.settings[0].env, "OLLAMA_BASE_URL");
}
