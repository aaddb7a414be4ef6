//! Pictures: what is sent, and what a run sees of the answer.

use plugin_google::Google;
use runner_plugin::json::{Value, json};
use runner_plugin::testing::{self, Played, Reply, Script};
use runner_plugin::{Completion, Error, ErrorCode, Provider, Request};

fn ask(id: &str, config: &Value, body: &Value) -> Played<Result<Completion, Error>> {
    let target = testing::target(id, config);
    let url = "https://generativelanguage.googleapis.com/v1beta/models/imagen-4:predict";
    Script::new()
        .exchange("POST", url, Reply::json(200, body))
        .play(|| Google::complete(&target, &Request::new("a cat"), &testing::context()))
}

#[test]
fn pictures_are_markdown_one_below_the_other() {
    let body = json!({ "predictions": [
        { "bytesBase64Encoded": "AQ==", "mimeType": "image/jpeg" },
        { "image": { "bytesBase64Encoded": "Ag==" } },
    ] });
    let config = json!({ "n": 2, "aspectRatio": "1:1" });
    for id in ["google:image:imagen-4", "google:image:4"] {
        let played = ask(id, &config, &body);
        assert_eq!(
            played.requests[0].body_json(),
            Some(json!({
                "instances": [{ "prompt": "a cat" }],
                "parameters": { "sampleCount": 2, "aspectRatio": "1:1" },
            }))
        );
        assert_eq!(
            played.result.expect("pictures").message.text(),
            "![Generated Image](data:image/jpeg;base64,AQ==)\n\n![Generated Image](data:image/png;base64,Ag==)"
        );
    }
}

#[test]
fn a_blocked_picture_is_told_from_none() {
    let id = "google:image:imagen-4";
    for (body, code) in [
        (
            json!({ "predictions": [{ "raiFilteredReason": "unsafe" }] }),
            ErrorCode::ContentFilter,
        ),
        (json!({}), ErrorCode::BadResponse),
    ] {
        let error = ask(id, &json!({}), &body).result.expect_err("no picture");
        assert_eq!(error.code, code);
    }
    let target = testing::target("google:image", &json!({}));
    assert!(Google::check_target(&target).is_err());
}
