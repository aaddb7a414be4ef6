//! What is sent where. The shape itself is tested with `openai`.

use plugin_databricks::Databricks;
use runner_plugin::json::{Value, json};
use runner_plugin::testing::{self, Played, Reply, Script};
use runner_plugin::{Completion, Error, ErrorCode, Provider, Request};

const URL: &str = "https://w.cloud.databricks.com/serving-endpoints/chat/completions";

fn play(config: &Value, request: &Request, url: &str) -> Played<Result<Completion, Error>> {
    let target = testing::target("databricks:m", config);
    let answer = json!({ "choices": [{ "message": { "content": "ok" } }] });
    Script::new()
        .exchange("POST", url, Reply::json(200, &answer))
        .play(|| Databricks::complete(&target, request, &testing::context()))
}

#[test]
fn a_model_is_asked_in_the_workspace_with_its_token() {
    let config = json!({
        "workspaceUrl": "https://w.cloud.databricks.com", "isPayPerToken": true,
        "aiGatewayConfig": { "enableSafety": true }, "usageContext": { "team": "a" },
    });
    let mut request = Request::new("Hi");
    request.max_tokens = Some(5);
    let played = play(&config, &request, URL);
    let sent = &played.requests[0];
    assert_eq!(
        sent.body_json(),
        Some(json!({
            "model": "m", "messages": [{ "role": "user", "content": "Hi" }],
            "usage_context": { "team": "a" }, "max_tokens": 5,
        }))
    );
    assert_eq!(sent.credential.as_deref(), Some("databricks-key"));
    assert_eq!(sent.bucket.as_deref(), Some("m"));
    assert_eq!(played.result.expect("an answer").message.text(), "ok");
}

#[test]
fn a_workspace_is_written_with_the_end_of_its_address_or_without() {
    let bare = "https://w.cloud.databricks.com";
    for end in ["", "/", "/serving-endpoints", "/serving-endpoints/"] {
        let config = json!({ "workspaceUrl": format!("{bare}{end}") });
        let played = play(&config, &Request::new("Hi"), URL);
        assert!(played.result.is_ok(), "{end}: {:?}", played.result);
    }
}

#[test]
fn the_host_is_told_which_key_says_where_the_token_may_go() {
    let info = Databricks::describe();
    assert_eq!(info.provider_prefixes, ["databricks"]);
    assert_eq!(info.wants.hosts, Vec::<String>::new());
    assert_eq!(info.wants.host_config_key.as_deref(), Some("workspaceUrl"));
    assert_eq!(info.wants.credentials[0].env, "DATABRICKS_TOKEN");
    assert_eq!(info.wants.settings[0].env, "DATABRICKS_WORKSPACE_URL");
    assert_eq!(info.wants.settings[0].config_key, "workspaceUrl");
}

#[test]
fn no_request_says_another_workspace() {
    let config = json!({ "workspaceUrl": "https://w.test" });
    for key in ["workspaceUrl", "apiBaseUrl"] {
        let mut request = Request::new("Hi");
        request.options_json = Some(json!({ key: "https://evil.test" }).to_string());
        let target = testing::target("databricks:m", &config);
        let played =
            Script::new().play(|| Databricks::complete(&target, &request, &testing::context()));
        let error = played.result.expect_err("refused");
        assert_eq!(error.code, ErrorCode::InvalidRequest);
        assert!(error.message.contains(key), "{}", error.message);
        assert!(played.requests.is_empty());
    }
}

#[test]
fn what_cannot_be_served_is_found_at_load() {
    let there = json!({ "workspaceUrl": "https://w.test" });
    for (id, config, says) in [
        ("databricks:m", json!({}), "DATABRICKS_WORKSPACE_URL"),
        ("databricks", there.clone(), "write `databricks:MODEL`"),
        ("databricks:embedding:e", there, "no form `embedding`"),
    ] {
        let target = testing::target(id, &config);
        let at_load = Databricks::check_target(&target).expect_err("refused");
        assert!(at_load.message.contains(says), "{}", at_load.message);
        let called = Databricks::complete(&target, &Request::new("Hi"), &testing::context());
        assert_eq!(called.expect_err("no answer"), at_load);
    }
    let config = json!({ "apiBaseUrl": "https://w.test" });
    let problems = Databricks::check_config(&config);
    assert_eq!(problems[0].0, "/apiBaseUrl");
    assert!(problems[0].1.contains("workspaceUrl"), "{}", problems[0].1);
}
