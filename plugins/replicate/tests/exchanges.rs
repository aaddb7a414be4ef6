//! What is sent, how a run is waited for, and what comes of it.

use plugin_replicate::Replicate;
use runner_plugin::http::CacheMode;
use runner_plugin::json::{Value, json};
use runner_plugin::testing::{self, Played, Reply, Script};
use runner_plugin::{Completion, Error, ErrorCode, Message, Part, Provider, Request, Role};

const API: &str = "https://api.replicate.com/v1";

fn run(
    id: &str,
    config: &Value,
    request: &Request,
    script: Script,
) -> Played<Result<Completion, Error>> {
    let target = testing::target(id, config);
    script.play(|| Replicate::complete(&target, request, &testing::context()))
}

fn create() -> String {
    format!("{API}/models/meta/m/predictions")
}

fn look() -> String {
    format!("{API}/predictions/p1")
}

fn at(status: &str, output: &Value) -> Reply {
    Reply::json(
        200,
        &json!({ "id": "p1", "status": status, "output": output, "error": null }),
    )
}

/// The answer to a plain prompt where the creation is answered so.
fn ask(reply: Reply) -> Played<Result<Completion, Error>> {
    let script = Script::new().exchange("POST", &create(), reply);
    run("replicate:meta/m", &json!({}), &Request::new("Hi"), script)
}

#[test]
fn a_quick_model_answers_the_first_exchange() {
    let mut request = Request::new("Hi");
    request.messages.insert(0, Message::system("Be brief."));
    request.max_tokens = Some(9);
    request.stop = vec!["a".to_owned(), "b".to_owned()];
    let body = json!({
        "id": "p1", "status": "succeeded", "model": "meta/m", "output": ["He", "llo"],
        "metrics": { "predict_time": 0.5, "input_token_count": 4, "output_token_count": 2 },
    });
    let config = json!({
        "temperature": 0.5, "system_prompt": "else", "prompt": { "prefix": "<", "suffix": ">" },
        "passthrough": { "extra": 1 },
    });
    let script = Script::new().exchange("POST", &create(), Reply::json(201, &body));
    let played = run("replicate:meta/m", &config, &request, script);
    let sent = &played.requests[0];
    assert_eq!(
        sent.body_json(),
        Some(json!({ "input": {
            "temperature": 0.5, "system_prompt": "Be brief.", "extra": 1, "max_tokens": 9,
            "stop_sequences": "a,b", "prompt": "<Hi>",
        } }))
    );
    assert_eq!(sent.header_value("prefer"), Some("wait=60"));
    assert_eq!(sent.header_value("cancel-after"), Some("5m"));
    assert_eq!(sent.credential.as_deref(), Some("replicate-key"));
    assert_eq!(sent.bucket.as_deref(), Some("meta/m"));
    assert_eq!(sent.cache, CacheMode::Auto);
    let completion = played.result.expect("an answer");
    assert_eq!(completion.message.text(), "Hello");
    assert_eq!(completion.usage.input_tokens, Some(4));
    assert_eq!(completion.usage.output_tokens, Some(2));
    assert_eq!(completion.model.as_deref(), Some("meta/m"));
}

#[test]
fn a_version_is_run_by_itself() {
    let url = format!("{API}/predictions");
    let script = Script::new().exchange("POST", &url, at("succeeded", &json!("ok")));
    let played = run(
        "replicate:meta/m:abc",
        &json!({}),
        &Request::new("Hi"),
        script,
    );
    assert_eq!(
        played.requests[0].body_json(),
        Some(json!({ "version": "abc", "input": { "prompt": "Hi" } }))
    );
    assert_eq!(played.requests[0].bucket.as_deref(), Some("meta/m"));
    assert_eq!(played.result.expect("an answer").message.text(), "ok");
}

#[test]
fn a_slow_model_is_looked_after_until_it_is_over() {
    let script = Script::new()
        .exchange("POST", &create(), at("starting", &Value::Null))
        .exchange("GET", &look(), at("processing", &json!(["He"])))
        .exchange("GET", &look(), at("succeeded", &json!(["He", "llo"])));
    let config = json!({ "headers": { "x-a": "b" } });
    let played = run("replicate:meta/m", &config, &Request::new("Hi"), script);
    assert_eq!(played.result.expect("an answer").message.text(), "Hello");
    for sent in &played.requests[1..] {
        assert_eq!(sent.cache, CacheMode::Bypass);
        assert_eq!(sent.credential.as_deref(), Some("replicate-key"));
        assert_eq!(sent.header_value("x-a"), Some("b"));
    }
}

#[test]
fn looking_has_an_end_and_then_the_run_is_cancelled() {
    let mut script = Script::new().exchange("POST", &create(), at("starting", &Value::Null));
    for _ in 0..60 {
        script = script.exchange("GET", &look(), at("processing", &Value::Null));
    }
    let cancel = format!("{}/cancel", look());
    let script = script.exchange("POST", &cancel, at("canceled", &Value::Null));
    let played = run("replicate:meta/m", &json!({}), &Request::new("Hi"), script);
    assert_eq!(
        played.result.expect_err("no answer").code,
        ErrorCode::Timeout
    );
    assert_eq!(played.requests.len(), 62);
}

#[test]
fn what_the_cache_has_counts_only_where_it_succeeded() {
    let kept = at("succeeded", &json!("ok")).cached();
    assert_eq!(ask(kept).result.expect("an answer").message.text(), "ok");
    for status in ["processing", "failed"] {
        let script = Script::new()
            .exchange("POST", &create(), at(status, &Value::Null).cached())
            .exchange("POST", &create(), at("succeeded", &json!("new")));
        let played = run("replicate:meta/m", &json!({}), &Request::new("Hi"), script);
        assert_eq!(played.requests[1].cache, CacheMode::Bypass);
        assert_eq!(played.requests[1].header_value("prefer"), Some("wait=60"));
        assert_eq!(played.result.expect("an answer").message.text(), "new");
    }
}

#[test]
fn a_value_that_is_no_text_is_the_output_as_it_is() {
    let value = json!({ "boxes": [1, 2] });
    let completion = ask(at("succeeded", &value)).result.expect("an answer");
    assert_eq!(completion.output_json, Some(value.to_string()));
    let error = ask(at("succeeded", &Value::Null))
        .result
        .expect_err("no answer");
    assert_eq!(error.code, ErrorCode::BadResponse);
}

#[test]
fn a_picture_is_markdown() {
    let long = "a [cat]\nof many words, so many that they do not fit here";
    for (prompt, output, text) in [
        (
            "a [cat]\nhere",
            json!(["https://a.test/1", "https://a.test/2"]),
            "![a (cat) here](https://a.test/1)",
        ),
        ("cat", json!("https://a.test/1"), "![cat](https://a.test/1)"),
        (
            long,
            json!(["u"]),
            "![a (cat) of many words, so many that they do not...](u)",
        ),
    ] {
        let script = Script::new().exchange("POST", &create(), at("succeeded", &output));
        let request = Request::new(prompt);
        let played = run(
            "replicate:image:meta/m",
            &json!({ "width": 8 }),
            &request,
            script,
        );
        assert_eq!(
            played.requests[0].body_json(),
            Some(json!({ "input": { "width": 8, "prompt": prompt } }))
        );
        assert_eq!(played.result.expect("an answer").message.text(), text);
    }
    let script = Script::new().exchange("POST", &create(), at("succeeded", &json!([])));
    let played = run(
        "replicate:image:meta/m",
        &json!({}),
        &Request::new("cat"),
        script,
    );
    assert_eq!(
        played.result.expect_err("no picture").code,
        ErrorCode::BadResponse
    );
}

#[test]
fn a_verdict_has_the_shape_that_moderation_reads() {
    let mut request = Request::new("How?");
    request.messages.push(Message::assistant("So."));
    let judge = |said: &str| {
        let script = Script::new().exchange("POST", &create(), at("succeeded", &json!([said])));
        run("replicate:moderation:meta/m", &json!({}), &request, script)
    };
    let flag =
        |code: &str, what: &str| json!({ "code": code, "description": what, "confidence": 1.0 });
    for (said, flags) in [
        ("safe", json!([])),
        (
            "\nunsafe\nS1, S99",
            json!([flag("S1", "Violent Crimes"), flag("S99", "S99")]),
        ),
        ("unsafe", json!([flag("unsafe", "unsafe")])),
    ] {
        let played = judge(said);
        assert_eq!(
            played.requests[0].body_json(),
            Some(json!({ "input": { "prompt": "Human: How?\n\nAssistant: So." } }))
        );
        let output = played.result.expect("a verdict").output_json.expect("JSON");
        let output: Value = serde_json::from_str(&output).expect("JSON");
        assert_eq!(output, json!({ "flagged": said != "safe", "flags": flags }));
    }
    for said in ["I am a poet.", "safe\nunsafe\nS1", "safe\nS1"] {
        let error = judge(said).result.expect_err("no verdict");
        assert_eq!(error.code, ErrorCode::BadResponse, "{said}");
    }
}

#[test]
fn errors_of_the_api_and_of_a_run_are_told_apart() {
    let said = |text: &str| json!({ "title": "t", "detail": text, "status": 0 });
    for (status, body, code, says) in [
        (401, said("bad token"), ErrorCode::Auth, "bad token"),
        (
            402,
            said("no credit"),
            ErrorCode::QuotaExhausted,
            "no credit",
        ),
        (404, said("no model"), ErrorCode::NotFound, "no model"),
        (422, said("no input"), ErrorCode::InvalidRequest, "no input"),
        (429, said("slow"), ErrorCode::RateLimited, "slow"),
        (
            201,
            json!({ "status": "failed", "error": "CUDA" }),
            ErrorCode::Other,
            "CUDA",
        ),
        (
            201,
            json!({ "status": "canceled" }),
            ErrorCode::Timeout,
            "cancelled",
        ),
        (
            201,
            json!({ "status": "aborted" }),
            ErrorCode::Timeout,
            "cancelled",
        ),
        (
            201,
            json!({ "status": "starting" }),
            ErrorCode::BadResponse,
            "id",
        ),
        (201, json!({}), ErrorCode::BadResponse, "status"),
    ] {
        let error = ask(Reply::json(status, &body))
            .result
            .expect_err("no answer");
        assert_eq!(error.code, code, "{body}");
        assert!(error.message.contains(says), "{}", error.message);
    }
}

#[test]
fn what_a_model_cannot_take_is_said_before_anything_is_sent() {
    let mut turns = Request::new("Hi");
    turns.messages.push(Message::assistant("Ho"));
    turns.messages.push(Message::user("Hm"));
    let mut picture = Request::new("Hi");
    picture.messages[0]
        .content
        .push(Part::Url("https://a.test/p.png".to_owned()));
    let mut without = Request::new("Hi");
    without.messages[0].role = Role::System;
    for request in [turns, picture, without] {
        let played = run("replicate:meta/m", &json!({}), &request, Script::new());
        assert_eq!(
            played.result.expect_err("no answer").code,
            ErrorCode::Unsupported
        );
    }
}

#[test]
fn the_plugin_says_what_it_wants_and_what_it_refuses() {
    let info = Replicate::describe();
    assert_eq!(info.provider_prefixes, ["replicate"]);
    assert_eq!(info.wants.hosts, ["https://api.replicate.com"]);
    assert_eq!(info.wants.credentials[0].env, "REPLICATE_API_TOKEN");
    assert!(Replicate::check_config(&json!({ "stream": true })).is_empty());
    for id in [
        "replicate",
        "replicate:m",
        "replicate:a/b/c",
        "replicate:a/..",
        "replicate:image",
    ] {
        let target = testing::target(id, &json!({}));
        let error = Replicate::check_target(&target).expect_err(id);
        assert_eq!(error.code, ErrorCode::InvalidRequest, "{id}");
    }
    for id in [
        "replicate:a/b",
        "replicate:a/b:v",
        "replicate:image:a/b",
        "replicate:moderation:a/b:v",
    ] {
        let target = testing::target(id, &json!({}));
        assert_eq!(Replicate::check_target(&target), Ok(()), "{id}");
    }
}
