//! What is sent for which config, request and messages.

use plugin_google::Google;
use runner_plugin::json::{Value, json};
use runner_plugin::testing::{self, Reply, Script};
use runner_plugin::{
    ErrorCode, Media, Message, Part, Provider, Request, Role, ToolCall, ToolResult, http,
};

const URL: &str = "https://generativelanguage.googleapis.com/v1beta/models/m:generateContent";

fn sent(id: &str, config: &Value, request: &Request, url: &str) -> http::Request {
    let target = testing::target(id, config);
    let answer = json!({ "candidates": [{ "content": { "parts": [{ "text": "ok" }] } }] });
    let played = Script::new()
        .exchange("POST", url, Reply::json(200, &answer))
        .play(|| Google::complete(&target, request, &testing::context()));
    played.result.expect("an answer");
    played.requests.into_iter().next().expect("one request")
}

fn body(config: &Value, request: &Request) -> Value {
    sent("google:m", config, request, URL)
        .body_json()
        .expect("a JSON body")
}

#[test]
fn the_smallest_request() {
    let sent = sent("google:m", &json!({}), &Request::new("Hi"), URL);
    assert_eq!(
        sent.body_json(),
        Some(json!({ "contents": [{ "role": "user", "parts": [{ "text": "Hi" }] }] }))
    );
    assert_eq!(sent.credential.as_deref(), Some("google-key"));
    assert_eq!(sent.bucket.as_deref(), Some("m"));
}

#[test]
fn address_and_version_come_from_the_config() {
    let config = json!({
        "apiBaseUrl": "https://proxy.test/g/", "apiVersion": "v1", "headers": { "X-Team": "blue" },
        "apiKeyRequired": false, "model": "tunedModels/mine",
    });
    let url = "https://proxy.test/g/v1/tunedModels/mine:generateContent";
    let sent = sent("google", &config, &Request::new("Hi"), url);
    assert_eq!(sent.header_value("x-team"), Some("blue"));
    assert_eq!(sent.credential, None);
}

#[test]
fn names_stay_parts_of_the_path() {
    let asked = |options: Value| Request {
        options_json: Some(options.to_string()),
        ..Request::new("Hi")
    };
    let base = "https://generativelanguage.googleapis.com";
    for (options, path) in [
        (
            json!({ "model": "x:delete?alt=json#" }),
            "v1beta/models/x%3Adelete%3Falt%3Djson%23:generateContent",
        ),
        (
            json!({ "model": "models/%2e%2e" }),
            "v1beta/models/%252e%252e:generateContent",
        ),
        (
            json!({ "apiVersion": "../evil?k=1#" }),
            "..%2Fevil%3Fk%3D1%23/models/m:generateContent",
        ),
    ] {
        let request = asked(options);
        let _ = sent("google:m", &json!({}), &request, &format!("{base}/{path}"));
    }
    for options in [
        json!({ "model": "../../v1beta/files/abc:delete?alt=json#" }),
        json!({ "model": "tunedModels/." }),
        json!({ "model": "models//x" }),
        json!({ "apiVersion": ".." }),
    ] {
        let target = testing::target("google:m", &json!({}));
        let answer = Google::complete(&target, &asked(options), &testing::context());
        assert_eq!(
            answer.expect_err("no address").code,
            ErrorCode::InvalidRequest
        );
    }
    let target = testing::target("google:models/..", &json!({}));
    let error = Google::check_target(&target).expect_err("no model");
    assert_eq!(error.code, ErrorCode::InvalidRequest);
}

#[test]
fn what_shapes_the_answer_goes_into_its_own_object() {
    let config = json!({
        "temperature": 0.5, "maxOutputTokens": 9, "top_p": 0.9, "topK": 3, "stop": "END",
        "generationConfig": { "candidateCount": 1 }, "responseSchema": { "type": "OBJECT" },
        "safetySettings": [{ "category": "c", "threshold": "t" }], "something_new": 1,
        "systemInstruction": "Be brief.", "passthrough": { "cachedContent": "c/1" },
        "apiKeyEnvar": "GOOGLE_API_KEY", "maxRetries": 2,
        "tools": [
            { "googleSearch": {} },
            { "type": "function", "function": { "name": "f", "parameters": {} } },
            { "type": "function", "function": { "name": "g" } },
        ],
    });
    assert_eq!(
        body(&config, &Request::new("Hi")),
        json!({
            "contents": [{ "role": "user", "parts": [{ "text": "Hi" }] }],
            "generationConfig": {
                "temperature": 0.5, "maxOutputTokens": 9, "topP": 0.9, "topK": 3,
                "stopSequences": ["END"], "candidateCount": 1,
                "responseSchema": { "type": "OBJECT" }, "responseMimeType": "application/json",
            },
            "safetySettings": [{ "category": "c", "threshold": "t" }], "something_new": 1,
            "systemInstruction": { "parts": [{ "text": "Be brief." }] }, "cachedContent": "c/1",
            "tools": [
                { "googleSearch": {} },
                { "functionDeclarations": [{ "name": "f", "parameters": {} }, { "name": "g" }] },
            ],
        })
    );
}

#[test]
fn one_tool_alone_needs_no_list() {
    let tool = json!({ "function_declarations": [{ "name": "f" }] });
    let body = body(&json!({ "tools": tool }), &Request::new("Hi"));
    assert_eq!(body["tools"], json!([tool]));
}

#[test]
fn options_of_the_request_win() {
    let mut request = Request::new("Hi");
    request.options_json = Some(json!({ "topK": 1, "temperature": 0.7 }).to_string());
    request.temperature = Some(0.25);
    request.top_p = Some(0.5);
    request.max_tokens = Some(100);
    request.seed = Some(3);
    request.stop = vec!["END".to_owned()];
    request.response_schema_json = Some(r#"{"type":"object"}"#.to_owned());
    let config = json!({
        "generationConfig": { "temperature": 1, "maxOutputTokens": 9, "responseSchema": {} },
    });
    assert_eq!(
        body(&config, &request)["generationConfig"],
        json!({
            "temperature": 0.25, "maxOutputTokens": 100, "topK": 1, "topP": 0.5, "seed": 3,
            "stopSequences": ["END"], "responseMimeType": "application/json",
            "responseJsonSchema": { "type": "object" },
        })
    );
}

/// A chat with everything in it.
fn chat() -> Vec<Message> {
    let message = |role, content| Message {
        role,
        name: None,
        content,
    };
    let result = |content: &str, is_error| {
        Part::ToolResult(ToolResult {
            id: "c1".to_owned(),
            content: content.to_owned(),
            is_error,
        })
    };
    vec![
        Message::system("Be brief."),
        Message::new(Role::Developer, "Be kind."),
        message(
            Role::User,
            vec![
                Part::Text("What?".to_owned()),
                Part::Url("gs://b/cat.png".to_owned()),
                Part::Url("data:image/gif;base64,AQID".to_owned()),
                Part::Media(Media {
                    mime_type: "audio/wav".to_owned(),
                    data: vec![1, 2, 3],
                }),
                Part::Other(r#"{"text":"native"}"#.to_owned()),
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
            vec![
                result("a cat", false),
                result(r#"{"cat":1}"#, false),
                result("no", true),
            ],
        ),
        message(Role::User, vec![]),
    ]
}

#[test]
fn messages_keep_their_order_and_the_system_stands_apart() {
    let mut request = Request::new("");
    request.messages = chat();
    let body = body(&json!({ "systemInstruction": "Be long." }), &request);
    assert_eq!(
        body["systemInstruction"],
        json!({ "parts": [{ "text": "Be brief." }, { "text": "Be kind." }] })
    );
    let answered =
        |response: Value| json!({ "functionResponse": { "name": "look", "response": response } });
    assert_eq!(
        body["contents"],
        json!([
            { "role": "user", "parts": [
                { "text": "What?" },
                { "fileData": { "fileUri": "gs://b/cat.png" } },
                { "inlineData": { "mimeType": "image/gif", "data": "AQID" } },
                { "inlineData": { "mimeType": "audio/wav", "data": "AQID" } },
                { "text": "native" },
            ] },
            { "role": "model", "parts": [
                { "functionCall": { "name": "look", "args": { "at": 1 } } },
            ] },
            { "role": "user", "parts": [
                answered(json!({ "result": "a cat" })),
                answered(json!({ "cat": 1 })),
                answered(json!({ "error": "no" })),
            ] },
            { "role": "user", "parts": [{ "text": "" }] },
        ])
    );
}

#[test]
fn what_is_not_served_is_said() {
    for (id, code) in [
        ("google", ErrorCode::InvalidRequest),
        ("google:live:gemini", ErrorCode::Unsupported),
        ("google:embedding:e", ErrorCode::Unsupported),
    ] {
        let target = testing::target(id, &json!({}));
        let played = Script::new()
            .play(|| Google::complete(&target, &Request::new("Hi"), &testing::context()));
        assert_eq!(played.result.expect_err("no answer").code, code, "{id}");
    }
    assert_eq!(
        Google::check_config(&json!({ "functionToolCallbacks": {} })).len(),
        1
    );
    for (id, is_good) in [
        ("google", false),
        ("google:live:gemini", false),
        ("google:embedding:e", true),
        ("google:gemini", true),
    ] {
        let target = testing::target(id, &json!({}));
        assert_eq!(Google::check_target(&target).is_ok(), is_good, "{id}");
    }
}

#[test]
fn the_plugin_says_what_it_wants() {
    let info = Google::describe();
    assert_eq!(info.provider_prefixes, ["google"]);
    assert_eq!(info.wants.credentials[0].scheme, "header:x-goog-api-key");
    assert_eq!(info.wants.credentials[0].env, "GEMINI_API_KEY");
    let extras: Value = serde_json::from_str(&info.metadata_json.expect("some")).expect("JSON");
    assert_eq!(
        extras["credentialEnvs"],
        json!({ "google-key": ["GOOGLE_API_KEY"] })
    );
}
