//! What is sent, and what a run sees of the answer.

use plugin_llama::Llama;
use runner_plugin::json::{Value, json};
use runner_plugin::testing::{self, Played, Reply, Script};
use runner_plugin::{Completion, Error, ErrorCode, FinishReason, Provider, Request};

const URL: &str = "http://localhost:8080/completion";

fn play(
    id: &str,
    config: &Value,
    request: &Request,
    url: &str,
    reply: Reply,
) -> Played<Result<Completion, Error>> {
    let target = testing::target(id, config);
    assert_eq!(Llama::check_target(&target), Ok(()), "{id}");
    assert_eq!(Llama::check_config(config), []);
    Script::new()
        .exchange("POST", url, reply)
        .play(|| Llama::complete(&target, request, &testing::context()))
}

fn sent(id: &str, config: &Value, request: &Request, url: &str) -> Value {
    let reply = Reply::json(200, &json!({ "content": "ok" }));
    let played = play(id, config, request, url, reply);
    assert_eq!(played.result.expect("an answer").message.text(), "ok");
    assert_eq!(played.requests[0].credential, None);
    played.requests[0].body_json().expect("a body")
}

fn ask(reply: Reply) -> Result<Completion, Error> {
    play("llama", &json!({}), &Request::new("Hi"), URL, reply).result
}

#[test]
fn the_prompt_goes_as_it_stands_and_the_answer_has_an_end() {
    let body = sent("llama", &json!({}), &Request::new("Q: Hi\nA:"), URL);
    assert_eq!(body, json!({ "prompt": "Q: Hi\nA:", "n_predict": 512 }));
    let mut request = Request::new("Hi");
    request.seed = Some(7);
    request.response_schema_json = Some(json!({ "type": "object" }).to_string());
    let config = json!({ "temperature": 0, "top_k": 3, "max_tokens": 9, "stop": "END" });
    assert_eq!(
        sent("llama:m", &config, &request, URL),
        json!({
            "model": "m", "prompt": "Hi", "temperature": 0, "top_k": 3, "n_predict": 9, "seed": 7,
            "stop": ["END"], "json_schema": { "type": "object" },
        })
    );
    request.max_tokens = Some(5);
    assert_eq!(sent("llama", &config, &request, URL)["n_predict"], 5);
}

#[test]
fn the_server_is_where_the_config_says() {
    let config = json!({ "baseUrl": "http://127.0.0.1:9/" });
    let url = "http://127.0.0.1:9/completion";
    let body = sent("llama", &config, &Request::new("Hi"), url);
    assert_eq!(body.get("baseUrl"), None);
    let info = Llama::describe();
    assert_eq!(info.provider_prefixes, ["llama"]);
    assert_eq!(info.wants.hosts, ["http://localhost:8080"]);
    assert_eq!(info.wants.host_config_key.as_deref(), Some("baseUrl"));
    assert_eq!(info.wants.settings[0].env, "LLAMA_BASE_URL");
    let mut request = Request::new("Hi");
    request.options_json = Some(json!({ "baseUrl": "https://evil.test" }).to_string());
    let target = testing::target("llama", &config);
    let played = Script::new().play(|| Llama::complete(&target, &request, &testing::context()));
    let error = played.result.expect_err("refused");
    assert!(error.message.contains("baseUrl"), "{}", error.message);
    let problems = Llama::check_config(&json!({ "apiBaseUrl": "http://a.test" }));
    assert!(problems[0].1.contains("`baseUrl`"), "{}", problems[0].1);
}

#[test]
fn an_answer_says_why_it_ended_and_what_it_took() {
    for (end, finish) in [
        (json!({ "stop_type": "eos" }), FinishReason::Stop),
        (json!({ "stop_type": "word" }), FinishReason::Stop),
        (json!({ "stop_type": "limit" }), FinishReason::Length),
        (
            json!({ "stop": true, "stopped_limit": true }),
            FinishReason::Length,
        ),
        (json!({ "stop": true }), FinishReason::Stop),
    ] {
        let mut body = json!({
            "content": "ok", "tokens_evaluated": 5, "tokens_predicted": 2, "model": "m.gguf",
        });
        if let (Value::Object(body), Value::Object(end)) = (&mut body, end) {
            body.extend(end);
        }
        let completion = ask(Reply::json(200, &body)).expect("an answer");
        assert_eq!(completion.finish_reason, Some(finish), "{body}");
        assert_eq!(completion.usage.input_tokens, Some(5));
        assert_eq!(completion.usage.output_tokens, Some(2));
        assert_eq!(completion.model.as_deref(), Some("m.gguf"));
    }
}

#[test]
fn errors_are_told_apart() {
    let said =
        |kind: &str| json!({ "error": { "code": 400, "type": kind, "message": "too long" } });
    for (status, body, code) in [
        (
            400,
            said("exceed_context_size_error"),
            ErrorCode::ContextLength,
        ),
        (
            400,
            said("invalid_request_error"),
            ErrorCode::InvalidRequest,
        ),
        (503, said("unavailable_error"), ErrorCode::Transient),
        (200, json!({ "stop": true }), ErrorCode::BadResponse),
    ] {
        let error = ask(Reply::json(status, &body)).expect_err("an error");
        assert_eq!(error.code, code, "{body}");
    }
}
