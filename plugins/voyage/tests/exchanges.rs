//! What is sent, and what a grader gets of it.

use plugin_voyage::Voyage;
use runner_plugin::json::{Value, json};
use runner_plugin::testing::{self, Played, Reply, Script};
use runner_plugin::{Error, ErrorCode, Provider, Request};
use runner_plugin_embed::{Embeddings, ProviderEmbed};

const URL: &str = "https://api.voyageai.com/v1/embeddings";

fn embed(id: &str, config: &Value, status: u16, body: &Value) -> Played<Result<Embeddings, Error>> {
    let target = testing::target(id, config);
    let texts = ["a".to_owned(), "b".to_owned()];
    Script::new()
        .exchange("POST", URL, Reply::json(status, body))
        .play(|| Voyage::embed(&target, &texts, &testing::context()))
}

#[test]
fn vectors_are_asked_for_by_the_model_alone() {
    let body = json!({
        "data": [
            { "index": 1, "embedding": [0.0, 1.0] },
            { "index": 0, "embedding": [1.0, 0.0] },
        ],
        "usage": { "total_tokens": 6 },
    });
    let config = json!({ "input_type": "document", "headers": { "x-a": "b" } });
    for id in ["voyage:voyage-3.5", "voyage:embedding:voyage-3.5"] {
        let played = embed(id, &config, 200, &body);
        let sent = &played.requests[0];
        assert_eq!(
            sent.body_json(),
            Some(json!({
                "model": "voyage-3.5", "input": ["a", "b"], "input_type": "document",
            }))
        );
        assert_eq!(sent.header_value("x-a"), Some("b"));
        assert_eq!(sent.credential.as_deref(), Some("voyage-key"));
        assert_eq!(sent.bucket.as_deref(), Some("voyage-3.5"));
        let made = played.result.expect("vectors");
        assert_eq!(made.vectors, [[1.0, 0.0], [0.0, 1.0]]);
        assert_eq!(made.usage.input_tokens, Some(6));
        assert_eq!(made.usage.total_tokens, Some(6));
    }
}

#[test]
fn errors_are_told_apart_by_status() {
    for (status, body, code) in [
        (
            400,
            json!({ "detail": "Model x is not supported" }),
            ErrorCode::InvalidRequest,
        ),
        (
            401,
            json!({ "detail": "Provided API key is invalid." }),
            ErrorCode::Auth,
        ),
        (429, json!({ "detail": "slow" }), ErrorCode::RateLimited),
        (500, json!({}), ErrorCode::Transient),
        (200, json!({ "data": [] }), ErrorCode::BadResponse),
    ] {
        let error = embed("voyage:m", &json!({}), status, &body).result;
        let error = error.expect_err("no vectors");
        assert_eq!(error.code, code, "{body}");
        let said = body["detail"].as_str().unwrap_or_default();
        assert!(error.message.contains(said), "{}", error.message);
    }
}

#[test]
fn the_plugin_says_what_it_wants_and_answers_no_prompt() {
    let info = Voyage::describe();
    assert_eq!(info.provider_prefixes, ["voyage"]);
    assert_eq!(info.wants.hosts, ["https://api.voyageai.com"]);
    assert_eq!(info.wants.credentials[0].env, "VOYAGE_API_KEY");
    assert_eq!(info.wants.settings[0].env, "VOYAGE_API_BASE_URL");
    assert!(Voyage::check_config(&json!({ "stream": true })).is_empty());
    let nameless = testing::target("voyage", &json!({}));
    assert!(Voyage::check_target(&nameless).is_err());
    let target = testing::target("voyage:m", &json!({}));
    let result = Voyage::complete(&target, &Request::new("Hi"), &testing::context());
    assert_eq!(
        result.map_err(|error| error.code),
        Err(ErrorCode::Unsupported)
    );
}
