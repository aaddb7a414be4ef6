//! What `acme` sends and answers, without wasm and without a network.

use acme::Acme;
use runner_plugin::json::json;
use runner_plugin::testing::{self, Reply, Script};
use runner_plugin::{ErrorCode, Provider, Request};

#[test]
fn it_asks_and_answers() {
    let target = testing::target("acme:m1", &json!({ "url": "https://acme.test/ask" }));
    let played = Script::new()
        .exchange(
            "POST",
            "https://acme.test/ask",
            Reply::json(200, &json!({ "answer": "4" })),
        )
        .play(|| Acme::complete(&target, &Request::new("2+2?"), &testing::context()));
    assert_eq!(played.result.expect("an answer").message.text(), "4");
    let sent = &played.requests[0];
    assert_eq!(
        sent.body_json(),
        Some(json!({ "model": "m1", "prompt": "2+2?" }))
    );
    assert_eq!(sent.credential.as_deref(), Some("acme-key"));
}

#[test]
fn a_refused_key_is_an_auth_error() {
    let target = testing::target("acme:m1", &json!({}));
    let played = Script::new()
        .exchange("POST", "https://api.acme.com/ask", Reply::text(401, "no"))
        .play(|| Acme::complete(&target, &Request::new("2+2?"), &testing::context()));
    assert_eq!(played.result.expect_err("an error").code, ErrorCode::Auth);
}
