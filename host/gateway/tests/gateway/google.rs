//! Tokens of Google, from a server that gives them out: one for all who need it, renewed, never shown.

use std::collections::BTreeMap;
use std::sync::Arc;

use runner_gateway::{
    Budget, BudgetLedger, Credential, ExchangeCode, ExchangeScope, Gateway, Grants, Masker,
    OriginPattern, Owner, Payers, Reservation, Scheduling, Scheme, Secret, Settings,
};
use runner_tests::{Answer, ModelApi};
use serde_json::{Value, json};

use super::{post, scheduling, scope, settings, text};

/// Made for these tests; it opens nothing.
const KEY: &str = include_str!("rsa.pem");

const TOKEN: &str = "ya29.a-token-of-a-test";

/// A gateway with a plugin whose key asks for tokens at `tokens`.
fn plugin(api: &ModelApi, tokens: &ModelApi) -> (Gateway, Arc<Grants>) {
    let key = json!({
        "type": "service_account", "client_email": "me@p.iam.gserviceaccount.com",
        "private_key": KEY, "token_uri": "https://oauth2.googleapis.com/token",
    });
    let at = format!("{}/token", tokens.url());
    let hosts = vec![OriginPattern::parse(&api.url()).expect("a pattern")];
    let credential = Credential {
        scheme: Scheme::GoogleAdc,
        secret: Some(Secret::google(&key.to_string(), Some(&at)).expect("a key")),
        env: "GOOGLE_APPLICATION_CREDENTIALS".to_owned(),
        hosts: hosts.clone(),
    };
    let credentials = BTreeMap::from([("key".to_owned(), credential)]);
    let grants = Arc::new(Grants::new("vertex", hosts, credentials));
    let settings = Settings {
        masker: Masker::new(&grants.secrets()),
        ..settings()
    };
    (Gateway::new(settings), grants)
}

fn giving(seconds: u64) -> Answer {
    Answer::json(&json!({ "access_token": TOKEN, "expires_in": seconds, "token_type": "Bearer" }))
}

fn echoing() -> ModelApi {
    let api = ModelApi::start();
    api.always(Answer::json(
        &json!({ "you_sent": format!("Bearer {TOKEN}") }),
    ));
    api
}

#[tokio::test]
async fn one_token_serves_all_and_nobody_sees_it() {
    let (api, tokens) = (echoing(), ModelApi::start());
    tokens.always(giving(3600));
    let (gateway, grants) = plugin(&api, &tokens);
    let scope = scope();
    let sends =
        (0..8).map(|nth| gateway.send(&grants, post(format!("{}/{nth}", api.url())), &scope));
    for reply in futures_util::future::join_all(sends).await {
        let reply = reply.expect("a reply");
        let said: Value = serde_json::from_str(text(&reply)).expect("JSON");
        assert_eq!(said, json!({ "you_sent": "Bearer [masked]" }));
    }
    let expected = format!("Bearer {TOKEN}");
    for request in api.requests() {
        assert_eq!(request.header("authorization"), Some(expected.as_str()));
    }
    assert_eq!(api.requests().len(), 8);
    assert_eq!(tokens.requests().len(), 1, "asked for once");
}

#[tokio::test]
async fn a_token_that_has_ended_is_asked_for_anew() {
    let (api, tokens) = (echoing(), ModelApi::start());
    tokens.always(giving(0));
    let (gateway, grants) = plugin(&api, &tokens);
    for _ in 0..2 {
        let sent = gateway.send(&grants, post(api.url()), &scope()).await;
        sent.expect("a reply");
    }
    assert_eq!(tokens.requests().len(), 2);
}

#[tokio::test]
async fn without_a_token_nothing_is_sent() {
    let (api, tokens) = (echoing(), ModelApi::start());
    let refusal = json!({ "error": "invalid_grant", "error_description": "of-a-person" });
    tokens.always(Answer::json(&refusal).with_status(400));
    let (gateway, grants) = plugin(&api, &tokens);
    let error = gateway.send(&grants, post(api.url()), &scope()).await;
    let error = error.expect_err("no reply");
    assert_eq!(error.code, ExchangeCode::Auth);
    let expected = format!(
        "no access token from {}: HTTP 400, invalid_grant",
        tokens.url()
    );
    assert_eq!(error.message, expected);
    assert!(api.requests().is_empty());
}

#[tokio::test]
async fn a_server_that_gives_no_tokens_is_left_alone_for_a_while() {
    let (api, tokens) = (echoing(), ModelApi::start());
    tokens.always(Answer::text("busy").with_status(503));
    let (gateway, grants) = plugin(&api, &tokens);
    // Who tries again comes when the server may be asked again.
    let scope = ExchangeScope {
        scheduling: Arc::new(Scheduling {
            max_retries: Some(0),
            ..scheduling()
        }),
        ..scope()
    };
    let sends = (0..8).map(|_| gateway.send(&grants, post(api.url()), &scope));
    for result in futures_util::future::join_all(sends).await {
        assert_eq!(result.expect_err("no reply").code, ExchangeCode::Transient);
    }
    assert_eq!(tokens.requests().len(), 1);
    assert!(api.requests().is_empty());
}

#[tokio::test]
async fn a_request_for_a_token_is_one_of_the_budget_s() {
    let (api, tokens) = (echoing(), ModelApi::start());
    tokens.always(giving(0));
    let (gateway, grants) = plugin(&api, &tokens);
    let ledger = Arc::new(BudgetLedger::default());
    let budget = Budget {
        requests: Some(5),
        ..Budget::default()
    };
    let account = ledger.open(Owner::Run, budget);
    let mut codes = Vec::new();
    for _ in 0..4 {
        let payers = Payers::new(&ledger, [account], None, true);
        let scope = ExchangeScope {
            reservation: payers.map(|payers| Arc::new(Reservation::new(payers))),
            ..scope()
        };
        let sent = gateway.send(&grants, post(api.url()), &scope).await;
        codes.push(sent.map(|_| ()).map_err(|error| error.code));
    }
    let refused = Err(ExchangeCode::Budget);
    assert_eq!(codes, [Ok(()), Ok(()), refused, refused]);
    assert_eq!((api.requests().len(), tokens.requests().len()), (2, 2));
}
