//! `http` with `auth`.

use insta::assert_snapshot;
use runner_tests::{Answer, ModelApi, Run};
use serde_json::{Value, json};

use super::{GOOGLES, giving_tokens, is_nowhere, run};

/// A run of `http` with this `auth`, whose answer repeats what it was sent with.
fn with_auth(auth: &Value, api: &ModelApi) -> Run {
    api.rule(|seen| {
        let said = seen.header("authorization").or(seen.header("x-key"));
        Some(Answer::json(&json!([said, seen.path])))
    });
    let config = json!({ "url": format!("{}/chat", api.url()), "auth": auth });
    run(&json!({ "id": "http", "config": config })).env("RUNNER_TEST_KEY", WORD)
}

const WORD: &str = "word-of-a-test-0123456789";

#[test]
fn auth_of_http_becomes_a_header_or_a_parameter_that_nobody_sees() {
    let word = "{{env.RUNNER_TEST_KEY}}";
    for (auth, name, sent) in [
        (
            json!({ "type": "bearer", "token": word }),
            "authorization",
            format!("Bearer {WORD}"),
        ),
        (
            json!({ "type": "basic", "username": "ada", "password": word }),
            "authorization",
            "Basic YWRhOndvcmQtb2YtYS10ZXN0LTAxMjM0NTY3ODk=".to_owned(),
        ),
        (
            json!({ "type": "api_key", "placement": "header", "keyName": "X-Key", "value": word }),
            "x-key",
            WORD.to_owned(),
        ),
        (
            json!({ "type": "api_key", "placement": "query", "keyName": "key", "value": word }),
            "",
            format!("/chat?key={WORD}"),
        ),
    ] {
        let api = ModelApi::start();
        let finished = with_auth(&auth, &api).finish();
        finished.expect_code(0);
        let seen = api.requests().remove(0);
        let arrived = match name {
            "" => Some(seen.path.as_str()),
            name => seen.header(name),
        };
        assert_eq!(arrived, Some(sent.as_str()), "{auth}");
        is_nowhere(&finished, &[WORD, "YWRhOndvcmQtb2YtYS10ZXN0"]);
    }
}

#[test]
fn a_token_of_oauth_is_asked_for_once_and_nobody_sees_it() {
    let (api, tokens) = (ModelApi::start(), giving_tokens());
    let auth = json!({
        "type": "oauth", "grantType": "client_credentials", "tokenUrl": format!("{}/token", tokens.url()),
        "clientId": "me", "clientSecret": "{{env.RUNNER_TEST_KEY}}", "scopes": ["read", "write"],
    });
    let run = with_auth(&auth, &api).args(["--repeat", "5"]);
    let finished = run.finish();
    finished.expect_code(0);
    let bearer = format!("Bearer {GOOGLES}");
    for seen in api.requests() {
        assert_eq!(seen.header("authorization"), Some(bearer.as_str()));
    }
    let asked = tokens.requests();
    assert_eq!(asked.len(), 1);
    let form =
        format!("grant_type=client_credentials&client_id=me&client_secret={WORD}&scope=read+write");
    assert_eq!(String::from_utf8_lossy(&asked[0].body), form);
    is_nowhere(&finished, &[WORD, GOOGLES]);
}

#[test]
fn auth_that_is_wrong_or_asks_elsewhere_is_told_before_anything_is_sent() {
    let elsewhere = json!({
        "type": "oauth", "grantType": "password", "tokenUrl": "https://id.example/token",
        "username": "ada", "password": "{{env.RUNNER_TEST_KEY}}",
    });
    let mut told = String::new();
    for auth in [
        elsewhere,
        json!({ "type": "bearer" }),
        json!({ "type": "bearer", "token": "{{key}}" }),
        json!({ "type": "api_key", "placement": "body", "keyName": "k", "value": "v" }),
        json!({ "type": "api_key", "placement": "header", "keyName": "a b", "value": "v" }),
        json!({ "type": "api_key", "placement": "header", "keyName": "Host", "value": "v" }),
        json!({ "type": "oauth", "grantType": "implicit", "tokenUrl": "https://id.example" }),
        json!({ "type": "oauth", "grantType": "client_credentials", "tokenUrl": "x", "clientId": "a", "clientSecret": "b" }),
        json!({ "type": "digest" }),
    ] {
        let api = ModelApi::start();
        let finished = with_auth(&auth, &api).finish();
        told += &finished.told_as(&auth.to_string());
        assert_eq!(api.requests().len(), 0);
    }
    let api = ModelApi::start();
    let config = json!({
        "url": api.url(), "headers": { "Authorization": "x" },
        "auth": { "type": "bearer", "token": "y" },
    });
    told += &run(&json!({ "id": "http", "config": config }))
        .finish()
        .told_as("both");
    assert_snapshot!(told);
}
