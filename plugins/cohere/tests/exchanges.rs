//! What is sent, and what a run sees of the answer.

use plugin_cohere::Cohere;
use runner_plugin::json::{Value, json};
use runner_plugin::testing::{self, Reply, Script};
use runner_plugin::{
    Completion, Error, ErrorCode, FinishReason, Message, Part, Provider, Request, Role, ToolCall,
    ToolResult, http,
};
use runner_plugin_embed::ProviderEmbed;

const URL: &str = "https://api.cohere.com/v2/chat";

fn answer() -> Value {
    json!({
        "id": "1", "finish_reason": "COMPLETE",
        "message": { "role": "assistant", "content": [{ "type": "text", "text": "ok" }] },
        "usage": {
            "billed_units": { "input_tokens": 5.0, "output_tokens": 2.0 },
            "tokens": { "input_tokens": 71.0, "output_tokens": 2.0 },
            "cached_tokens": 16,
        },
    })
}

fn sent(config: &Value, request: &Request, url: &str) -> http::Request {
    let target = testing::target("cohere:command-a-03-2025", config);
    let played = Script::new()
        .exchange("POST", url, Reply::json(200, &answer()))
        .play(|| Cohere::complete(&target, request, &testing::context()));
    played.result.expect("an answer");
    played.requests.into_iter().next().expect("one request")
}

fn ask(config: &Value, reply: Reply) -> Result<Completion, Error> {
    let target = testing::target("cohere:chat:m", config);
    Script::new()
        .exchange("POST", URL, reply)
        .play(|| Cohere::complete(&target, &Request::new("Hi"), &testing::context()))
        .result
}

#[test]
fn a_request_has_the_names_of_this_api() {
    let mut request = Request::new("Hi");
    request.top_p = Some(0.5);
    request.max_tokens = Some(9);
    request.seed = Some(7);
    request.stop = vec!["END".to_owned()];
    request.response_schema_json = Some(json!({ "type": "object" }).to_string());
    request.tools_json = Some(json!([{ "type": "function" }]).to_string());
    let config = json!({
        "temperature": 0.2, "top_k": 3, "preamble": "Be brief.", "clientName": "us",
        "chat_history": [
            { "role": "USER", "message": "a" },
            { "role": "CHATBOT", "message": "b" },
        ],
        "connectors": [], "prompt_truncation": "OFF", "search_queries_only": false,
    });
    let sent = sent(&config, &request, URL);
    assert_eq!(
        sent.body_json(),
        Some(json!({
            "model": "command-a-03-2025",
            "messages": [
                { "role": "system", "content": "Be brief." },
                { "role": "user", "content": "a" },
                { "role": "assistant", "content": "b" },
                { "role": "user", "content": "Hi" },
            ],
            "temperature": 0.2, "k": 3, "p": 0.5, "max_tokens": 9, "seed": 7,
            "stop_sequences": ["END"],
            "response_format": { "type": "json_object", "json_schema": { "type": "object" } },
            "tools": [{ "type": "function" }],
        }))
    );
    assert_eq!(sent.header_value("x-client-name"), Some("us"));
    assert_eq!(sent.credential.as_deref(), Some("cohere-key"));
    assert_eq!(sent.bucket.as_deref(), Some("command-a-03-2025"));
}

#[test]
fn nothing_is_sent_that_nobody_asked_for() {
    let sent = sent(&json!({}), &Request::new("Hi"), URL);
    assert_eq!(
        sent.body_json(),
        Some(json!({
            "model": "command-a-03-2025",
            "messages": [{ "role": "user", "content": "Hi" }],
        }))
    );
}

#[test]
fn an_address_of_any_version_is_asked_by_version_2() {
    for base in ["https://c.test/v1", "https://c.test/v2/", "https://c.test"] {
        let config = json!({ "apiBaseUrl": base });
        let sent = sent(&config, &Request::new("Hi"), "https://c.test/v2/chat");
        assert_eq!(sent.method, "POST");
    }
}

#[test]
fn documents_take_the_form_of_version_2() {
    let config = json!({ "documents": [
        "plain",
        { "id": "1", "title": "t", "snippet": "s", "citation_quality": "fast" },
        { "id": "2", "data": "text" },
        { "data": { "text": "d" } },
    ]});
    let body = sent(&config, &Request::new("Hi"), URL).body_json();
    let body = body.expect("a body");
    assert_eq!(
        body["documents"],
        json!([
            "plain",
            { "id": "1", "data": { "title": "t", "snippet": "s" } },
            { "id": "2", "data": { "text": "text" } },
            { "data": { "text": "d" } },
        ])
    );
    assert_eq!(body["citation_options"], json!({ "mode": "FAST" }));
}

#[test]
fn calls_of_tools_and_their_results_are_messages() {
    let mut request = Request::new("Hi");
    request.messages.push(Message {
        role: Role::Assistant,
        name: None,
        content: vec![Part::ToolCall(ToolCall {
            id: "c".to_owned(),
            name: "f".to_owned(),
            arguments_json: "{}".to_owned(),
        })],
    });
    request.messages.push(Message {
        role: Role::Tool,
        name: None,
        content: vec![Part::ToolResult(ToolResult {
            id: "c".to_owned(),
            content: "4".to_owned(),
            is_error: false,
        })],
    });
    let body = sent(&json!({}), &request, URL).body_json();
    let messages = body.expect("a body")["messages"].clone();
    assert_eq!(
        messages,
        json!([
            { "role": "user", "content": "Hi" },
            { "role": "assistant", "tool_calls": [
                { "id": "c", "type": "function", "function": { "name": "f", "arguments": "{}" } },
            ] },
            { "role": "tool", "tool_call_id": "c", "content": "4" },
        ])
    );
}

#[test]
fn an_answer_has_text_tokens_and_why_it_ended() {
    let completion = ask(&json!({}), Reply::json(200, &answer())).expect("an answer");
    assert_eq!(completion.message.text(), "ok");
    assert_eq!(completion.finish_reason, Some(FinishReason::Stop));
    assert_eq!(completion.usage.input_tokens, Some(71));
    assert_eq!(completion.usage.output_tokens, Some(2));
    assert_eq!(completion.usage.cache_read_tokens, Some(16));
    assert_eq!(completion.metadata_json, None);
    let mut billed = answer();
    billed["usage"]["tokens"] = Value::Null;
    billed["finish_reason"] = json!("MAX_TOKENS");
    let completion = ask(&json!({}), Reply::json(200, &billed)).expect("an answer");
    assert_eq!(completion.usage.input_tokens, Some(5));
    assert_eq!(completion.finish_reason, Some(FinishReason::Length));
}

#[test]
fn thoughts_are_kept_apart_and_calls_are_the_output_where_nothing_is_said() {
    let calls = json!([
        { "id": "c", "type": "function", "function": { "name": "f", "arguments": "{\"a\":1}" } },
    ]);
    let body = json!({
        "finish_reason": "TOOL_CALL",
        "message": { "role": "assistant", "tool_plan": "I look. ", "tool_calls": calls,
            "content": [{ "type": "thinking", "thinking": "Hm." }] },
    });
    let completion = ask(&json!({}), Reply::json(200, &body)).expect("an answer");
    assert_eq!(completion.finish_reason, Some(FinishReason::ToolCalls));
    assert_eq!(completion.output_json, Some(calls.to_string()));
    let parts = &completion.message.content;
    assert_eq!(parts[0], Part::Reasoning("I look. Hm.".to_owned()));
    assert!(matches!(&parts[1], Part::ToolCall(call) if call.name == "f"));
}

#[test]
fn citations_are_metadata_and_documents_are_shown_where_asked_for() {
    let mut body = answer();
    body["message"]["citations"] = json!([
        { "text": "ok", "sources": [
            { "type": "document", "id": "d1", "document": { "id": "d1", "title": "T" } },
            { "type": "document", "id": "d2", "document": { "url": "https://a.test" } },
        ] },
        { "text": "k", "sources": [
            { "type": "document", "id": "d1", "document": { "id": "d1", "title": "T" } },
        ] },
    ]);
    let completion = ask(&json!({}), Reply::json(200, &body)).expect("an answer");
    assert_eq!(completion.message.text(), "ok");
    let metadata: Value =
        serde_json::from_str(completion.metadata_json.as_deref().expect("some")).expect("JSON");
    assert_eq!(
        metadata["citations"],
        json!([
            { "source": "T", "content": "ok" },
            { "url": "https://a.test", "content": "ok" },
            { "source": "T", "content": "k" },
        ])
    );
    let config = json!({ "showDocuments": true });
    let completion = ask(&config, Reply::json(200, &body)).expect("an answer");
    assert_eq!(
        completion.message.text(),
        "ok\n\nDocuments:\n{\"id\":\"d1\",\"title\":\"T\"}\n{\"url\":\"https://a.test\"}"
    );
}

#[test]
fn errors_are_told_apart_by_status_and_by_how_an_answer_ended() {
    let said = json!({ "message": "no" });
    let ended = |reason: &str| json!({ "finish_reason": reason, "message": { "content": [] } });
    for (status, body, code) in [
        (400, said.clone(), ErrorCode::InvalidRequest),
        (401, said.clone(), ErrorCode::Auth),
        (402, said.clone(), ErrorCode::QuotaExhausted),
        (404, said.clone(), ErrorCode::NotFound),
        (429, said.clone(), ErrorCode::RateLimited),
        (498, said.clone(), ErrorCode::ContentFilter),
        (503, said, ErrorCode::Transient),
        (200, ended("ERROR"), ErrorCode::Transient),
        (200, ended("TIMEOUT"), ErrorCode::Timeout),
        (200, json!({ "id": "1" }), ErrorCode::BadResponse),
    ] {
        let error = ask(&json!({}), Reply::json(status, &body)).expect_err("no answer");
        assert_eq!(error.code, code, "{status} {body}");
    }
}

#[test]
fn vectors_come_in_the_order_of_the_texts() {
    let url = "https://api.cohere.com/v2/embed";
    let embed = |config: &Value, body: &Value| {
        let target = testing::target("cohere:embedding:embed-v4.0", config);
        let texts = ["a".to_owned(), "b".to_owned()];
        Script::new()
            .exchange("POST", url, Reply::json(200, body))
            .play(|| Cohere::embed(&target, &texts, &testing::context()))
    };
    let body = json!({
        "embeddings": { "float": [[1.0, 0.0], [0.0, 1.0]] },
        "meta": { "billed_units": { "input_tokens": 4 } },
    });
    let played = embed(&json!({ "output_dimension": 2 }), &body);
    let embeddings = played.result.expect("vectors");
    assert_eq!(embeddings.vectors, [[1.0, 0.0], [0.0, 1.0]]);
    assert_eq!(embeddings.usage.input_tokens, Some(4));
    assert_eq!(
        played.requests[0].body_json(),
        Some(json!({
            "model": "embed-v4.0", "texts": ["a", "b"], "input_type": "classification",
            "truncate": "NONE", "output_dimension": 2, "embedding_types": ["float"],
        }))
    );
    let short = json!({ "embeddings": { "float": [[1.0]] } });
    let error = embed(&json!({}), &short).result.expect_err("too few");
    assert_eq!(error.code, ErrorCode::BadResponse);
}

#[test]
fn the_plugin_says_what_it_wants_and_what_it_refuses() {
    let info = Cohere::describe();
    assert_eq!(info.provider_prefixes, ["cohere"]);
    assert_eq!(info.wants.hosts, ["https://api.cohere.com"]);
    assert_eq!(info.wants.credentials[0].env, "COHERE_API_KEY");
    for refused in [
        json!({ "connectors": [{ "id": "web-search" }] }),
        json!({ "search_queries_only": true }),
        json!({ "showSearchQueries": true }),
    ] {
        assert_eq!(Cohere::check_config(&refused).len(), 1, "{refused}");
    }
    let target = testing::target("cohere", &json!({}));
    assert!(Cohere::check_target(&target).is_err());
    let target = testing::target("cohere:embedding:m", &json!({}));
    let error = Cohere::complete(&target, &Request::new("Hi"), &testing::context());
    assert_eq!(
        error.map_err(|error| error.code),
        Err(ErrorCode::Unsupported)
    );
    let target = testing::target("cohere:m", &json!({}));
    let error = Cohere::embed(&target, &[], &testing::context());
    assert_eq!(
        error.map_err(|error| error.code),
        Err(ErrorCode::Unsupported)
    );
}

#[test]
fn a_prompt_that_was_to_be_shortened_is_sent_whole_with_a_warning() {
    for (config, warnings) in [
        (json!({ "prompt_truncation": "AUTO" }), 1),
        (json!({ "prompt_truncation": "AUTO_PRESERVE_ORDER" }), 1),
        (json!({ "prompt_truncation": "OFF" }), 0),
        (json!({ "prompt_truncation": null }), 0),
        (json!({}), 0),
    ] {
        assert_eq!(Cohere::check_config(&config), [], "{config}");
        let target = testing::target("cohere:m", &config);
        let request = Request::new("Hi");
        let played = Script::new()
            .exchange("POST", URL, Reply::json(200, &answer()))
            .play(|| Cohere::complete(&target, &request, &testing::context()));
        assert_eq!(
            played.requests[0].body_json(),
            Some(json!({ "model": "m", "messages": [{ "role": "user", "content": "Hi" }] }))
        );
        assert_eq!(played.log.len(), warnings, "{config}");
        let said = played.log.iter().map(|line| &line.message);
        assert!(
            said.clone().all(|it| it.contains("prompt_truncation")),
            "{said:?}"
        );
    }
}
