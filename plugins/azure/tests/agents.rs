//! Agents of Foundry: where they are asked, by whom, and in which shape.

use plugin_azure::Azure;
use runner_plugin::json::{Value, json};
use runner_plugin::testing::{self, Played, Reply, Script};
use runner_plugin::{Completion, Error, ErrorCode, Provider, Request};

const PROJECT: &str = "r.services.ai.azure.com/api/projects/p";

fn config(more: &Value) -> Value {
    let mut config = json!({ "projectUrl": PROJECT });
    if let (Value::Object(config), Value::Object(more)) = (&mut config, more) {
        config.extend(more.clone());
    }
    config
}

fn ask(id: &str, config: &Value, url: &str, reply: Reply) -> Played<Result<Completion, Error>> {
    let target = testing::target(id, config);
    assert_eq!(Azure::check_target(&target), Ok(()), "{id}");
    Script::new()
        .exchange("POST", url, reply)
        .play(|| Azure::complete(&target, &Request::new("Hi"), &testing::context()))
}

fn run() -> Reply {
    let message = json!({
        "role": "assistant", "content": [{ "type": "text", "text": { "value": "Hello" } }],
    });
    let run = json!({ "status": "completed" });
    let text = format!(
        "event: thread.message.completed\ndata: {message}\n\nevent: thread.run.completed\ndata: {run}\n\n"
    );
    Reply::text(200, &text)
}

fn response() -> Reply {
    let said =
        json!({ "type": "message", "content": [{ "type": "output_text", "text": "Hello" }] });
    Reply::json(200, &json!({ "status": "completed", "output": [said] }))
}

#[test]
fn an_agent_that_has_an_id_is_run_in_its_project() {
    for (more, url) in [
        (
            json!({}),
            format!("https://{PROJECT}/threads/runs?api-version=v1"),
        ),
        (
            json!({ "apiVersion": "2025-05-01", "projectUrl": format!("https://{PROJECT}/") }),
            format!("https://{PROJECT}/threads/runs?api-version=2025-05-01"),
        ),
    ] {
        let played = ask("azure:foundry-agent:asst_1", &config(&more), &url, run());
        assert_eq!(
            played.requests[0].body_json(),
            Some(json!({
                "assistant_id": "asst_1", "stream": true,
                "thread": { "messages": [{ "role": "user", "content": "Hi" }] },
            }))
        );
        assert_eq!(played.result.expect("an answer").message.text(), "Hello");
    }
}

#[test]
fn an_agent_that_has_a_name_is_asked_for_a_response() {
    let more = json!({
        "max_tokens": 5, "modelName": "gpt-4o", "maxPollTimeMs": 1, "instructions": "Be brief.",
    });
    let url = format!("https://{PROJECT}/openai/v1/responses");
    let played = ask(
        "azure:foundry-agent:helper",
        &config(&more),
        &url,
        response(),
    );
    assert_eq!(
        played.requests[0].body_json(),
        Some(json!({
            "agent_reference": { "name": "helper", "type": "agent_reference" },
            "input": [{ "role": "user", "content": "Hi" }], "model": "gpt-4o",
            "max_output_tokens": 5, "instructions": "Be brief.",
        }))
    );
    assert_eq!(played.requests[0].bucket.as_deref(), Some("helper"));
    assert_eq!(played.result.expect("an answer").message.text(), "Hello");
}

#[test]
fn a_token_is_sent_where_there_is_one_and_else_the_key() {
    let url = format!("https://{PROJECT}/openai/v1/responses");
    for (more, credential) in [
        (json!({}), Some("azure-token")),
        (json!({ "$without": ["azure-token"] }), Some("azure-key")),
        (json!({ "apiKeyRequired": false }), None),
    ] {
        let played = ask("azure:foundry-agent:a", &config(&more), &url, response());
        assert_eq!(played.requests[0].credential.as_deref(), credential);
    }
}

#[test]
fn no_request_says_another_project_and_none_is_guessed() {
    let mut request = Request::new("Hi");
    request.options_json = Some(json!({ "projectUrl": "evil.test" }).to_string());
    let target = testing::target("azure:foundry-agent:a", &config(&json!({})));
    let played = Script::new().play(|| Azure::complete(&target, &request, &testing::context()));
    let error = played.result.expect_err("refused");
    assert!(error.message.contains("projectUrl"), "{}", error.message);
    for (id, config) in [
        (
            "azure:foundry-agent:a",
            json!({ "apiHost": "r.openai.azure.com" }),
        ),
        ("azure:foundry-agent", config(&json!({}))),
    ] {
        let target = testing::target(id, &config);
        let error = Azure::check_target(&target).expect_err("refused");
        assert_eq!(error.code, ErrorCode::InvalidRequest, "{id}");
        let called = Azure::complete(&target, &Request::new("Hi"), &testing::context());
        assert_eq!(called.expect_err("no answer"), error);
    }
    let both = config(&json!({ "apiBaseUrl": "https://other.test" }));
    assert_eq!(Azure::check_config(&both)[0].0, "/projectUrl");
}
