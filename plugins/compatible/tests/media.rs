//! Pictures and sound: what is sent, and what a run sees of the answer.

use plugin_compatible::Compatible;
use runner_plugin::json::{Value, json};
use runner_plugin::testing::{self, Played, Reply, Script};
use runner_plugin::{Completion, Error, ErrorCode, Provider, Request};
use runner_plugin_embed::ProviderEmbed;

const JPEG: &str = "/9j/4AAQ";

fn ask(id: &str, config: &Value, url: &str, answer: &Value) -> Played<Result<Completion, Error>> {
    let target = testing::target(id, config);
    assert_eq!(Compatible::check_target(&target), Ok(()), "{id}");
    Script::new()
        .exchange("POST", url, Reply::json(200, answer))
        .play(|| Compatible::complete(&target, &Request::new("a [cat]"), &testing::context()))
}

#[test]
fn a_picture_of_xai_is_as_openais() {
    let url = "https://api.x.ai/v1/images/generations";
    let config = json!({ "n": 1, "aspect_ratio": "4:3" });
    let answer = json!({ "data": [{ "url": "https://a.test/1.jpg" }] });
    let played = ask("xai:image:grok-2-image", &config, url, &answer);
    let sent = &played.requests[0];
    assert_eq!(
        sent.body_json(),
        Some(json!({
            "model": "grok-2-image", "prompt": "a [cat]", "n": 1, "aspect_ratio": "4:3",
        }))
    );
    assert_eq!(sent.credential.as_deref(), Some("xai-key"));
    assert_eq!(sent.bucket.as_deref(), Some("grok-2-image"));
    let completion = played.result.expect("a picture");
    assert_eq!(
        completion.message.text(),
        "![a (cat)](https://a.test/1.jpg)"
    );

    let config = json!({ "response_format": "b64_json", "image": { "url": "https://a.test/0" } });
    let answer = json!({ "data": [{ "b64_json": JPEG }] });
    let url = "https://api.x.ai/v1/images/edits";
    let played = ask("xai:image:grok-2-image", &config, url, &answer);
    let body = played.requests[0].body_json().expect("a body");
    assert_eq!(body["response_format"], "b64_json");
    let completion = played.result.expect("a picture");
    assert_eq!(
        completion.message.text(),
        format!("data:image/jpeg;base64,{JPEG}")
    );
    assert!(!completion.raw_json.expect("a response").contains(JPEG));
}

#[test]
fn a_picture_of_hyperbolic_is_bytes() {
    let url = "https://api.hyperbolic.xyz/v1/image/generation";
    let id = "hyperbolic:image:SDXL1.0-base";
    let answer = json!({ "images": [{ "image": JPEG, "index": 0 }], "inference_time": 2.5 });
    let config = json!({ "width": 512, "steps": 30, "response_format": "url" });
    let played = ask(id, &config, url, &answer);
    let sent = &played.requests[0];
    assert_eq!(
        sent.body_json(),
        Some(json!({
            "model_name": "SDXL1.0-base", "prompt": "a [cat]", "height": 1024, "width": 512,
            "steps": 30,
        }))
    );
    assert_eq!(sent.credential.as_deref(), Some("hyperbolic-key"));
    let completion = played.result.expect("a picture");
    assert_eq!(
        completion.message.text(),
        format!("data:image/jpeg;base64,{JPEG}")
    );
    let raw = completion.raw_json.expect("a response");
    assert!(
        raw.contains("inference_time") && !raw.contains(JPEG),
        "{raw}"
    );

    for (answer, code) in [
        (json!({ "images": [] }), ErrorCode::BadResponse),
        (
            json!({ "images": [{ "image": 1 }] }),
            ErrorCode::BadResponse,
        ),
        (
            json!({ "error": { "code": "rate_limit_exceeded" } }),
            ErrorCode::RateLimited,
        ),
    ] {
        let error = ask(id, &json!({}), url, &answer).result.expect_err("none");
        assert_eq!(error.code, code, "{answer}");
    }
}

#[test]
fn speech_of_hyperbolic_is_bytes_of_the_kind_that_they_begin_with() {
    let url = "https://api.hyperbolic.xyz/v1/audio/generation";
    let config = json!({ "voice": "alloy", "speed": 1.0 });
    for (base64, kind) in [
        ("SUQzBAAA", "audio/mpeg"),
        ("//uQxAAA", "audio/mpeg"),
        ("UklGRiQA", "audio/wav"),
        ("AAAA", "audio/wav"),
    ] {
        let answer = json!({ "audio": base64, "duration": 2 });
        let played = ask("hyperbolic:audio:Melo-TTS", &config, url, &answer);
        assert_eq!(
            played.requests[0].body_json(),
            Some(json!({ "text": "a [cat]", "voice": "alloy", "speed": 1.0 }))
        );
        let completion = played.result.expect("sound");
        let address = format!("data:{kind};base64,{base64}");
        assert_eq!(completion.message.text(), address);
        assert!(!completion.raw_json.expect("a response").contains(base64));
    }
    let silent = ask("hyperbolic:audio:Melo-TTS", &config, url, &json!({}));
    let error = silent.result.expect_err("no sound");
    assert_eq!(error.code, ErrorCode::BadResponse);
}

#[test]
fn what_makes_pictures_makes_no_vectors() {
    let target = testing::target("xai:image:m", &json!({}));
    let error = Compatible::embed(&target, &["a".to_owned()], &testing::context());
    assert_eq!(error.expect_err("none").code, ErrorCode::Unsupported);
}
