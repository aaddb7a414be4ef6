//! Pictures: what is sent, and what a run sees of the answer.

use plugin_openai::OpenAi;
use runner_plugin::json::{Value, json};
use runner_plugin::testing::{self, Played, Reply, Script};
use runner_plugin::{Completion, Error, ErrorCode, Provider, Request};

fn ask(config: &Value, status: u16, body: &Value) -> Played<Result<Completion, Error>> {
    let target = testing::target("openai:image:gpt-image-1", config);
    let url = "https://api.openai.com/v1/images/generations";
    Script::new()
        .exchange("POST", url, Reply::json(status, body))
        .play(|| OpenAi::complete(&target, &Request::new("a [cat]"), &testing::context()))
}

#[test]
fn an_address_becomes_markdown() {
    let body =
        json!({ "data": [{ "url": "https://a.test/1.png" }, { "url": "https://a.test/2" }] });
    let played = ask(&json!({ "size": "1024x1024", "n": 2 }), 200, &body);
    assert_eq!(
        played.requests[0].body_json(),
        Some(json!({ "model": "gpt-image-1", "prompt": "a [cat]", "size": "1024x1024", "n": 2 }))
    );
    assert_eq!(played.requests[0].credential.as_deref(), Some("openai-key"));
    let completion = played.result.expect("a picture");
    assert_eq!(
        completion.message.text(),
        "![a (cat)](https://a.test/1.png)"
    );
    assert_eq!(completion.raw_json, Some(body.to_string()));
}

#[test]
fn bytes_become_an_address_of_their_own_and_are_not_kept_twice() {
    let body = json!({
        "data": [{ "b64_json": "AQID", "revised_prompt": "r" }],
        "usage": { "input_tokens": 5, "output_tokens": 7, "total_tokens": 12 },
    });
    for (config, kind) in [
        (json!({}), "image/png"),
        (json!({ "output_format": "webp" }), "image/webp"),
        (json!({ "response_format": "b64_json" }), "image/png"),
    ] {
        let completion = ask(&config, 200, &body).result.expect("a picture");
        let text = completion.message.text();
        assert_eq!(text, format!("data:{kind};base64,AQID"));
        assert_eq!(completion.usage.total_tokens, Some(12));
        let raw = completion.raw_json.expect("a response");
        assert!(
            raw.contains("revised_prompt") && !raw.contains("AQID"),
            "{raw}"
        );
    }
}

#[test]
fn what_is_no_picture_is_an_error() {
    let blocked = json!({ "error": { "code": "moderation_blocked", "message": "no" } });
    for (status, body, code) in [
        (400, blocked, ErrorCode::ContentFilter),
        (200, json!({ "data": [] }), ErrorCode::BadResponse),
    ] {
        let error = ask(&json!({}), status, &body).result.expect_err("none");
        assert_eq!(error.code, code);
    }
}

#[test]
fn the_kind_of_bytes_is_the_one_that_they_begin_with() {
    for (bytes, kind) in [
        ("/9j/4AAQ", "image/jpeg"),
        ("iVBORw0KGgoAAA", "image/png"),
        ("UklGRiQA", "image/webp"),
    ] {
        let body = json!({ "data": [{ "b64_json": bytes }] });
        let config = json!({ "output_format": "webp" });
        let completion = ask(&config, 200, &body).result.expect("a picture");
        let text = completion.message.text();
        assert_eq!(text, format!("data:{kind};base64,{bytes}"));
    }
}

#[test]
fn the_way_in_which_a_picture_comes_is_no_form_of_an_answer() {
    let schema = OpenAi::describe().config_schema_json.expect("a schema");
    let schema: Value = serde_json::from_str(&schema).expect("JSON");
    let format = &schema["properties"]["response_format"];
    assert_eq!(format["type"], json!(["object", "string"]));
}
