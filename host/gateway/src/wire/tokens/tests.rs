//! How long a token holds, and what is said where there is none. The exchange itself is in
//! `tests/gateway/google.rs`.

use serde_json::{Value, json};

use super::*;

#[test]
fn a_token_holds_until_some_time_before_its_end() {
    let begun = Instant::now();
    let within = |shortest: Duration, answer: Value| {
        let token = read(200, answer.to_string().as_bytes(), begun, shortest);
        token
            .map(|token| token.until - begun)
            .map_err(|(why, _)| why)
    };
    let life = |answer: Value| within(Duration::ZERO, answer);
    let token = |seconds: u64| json!({ "access_token": "ya29.x", "expires_in": seconds });
    assert_eq!(life(token(3600)), Ok(Duration::from_mins(55)));
    assert_eq!(life(token(100)), Ok(Duration::from_secs(90)));
    assert_eq!(life(token(0)), Ok(Duration::ZERO));
    assert_eq!(within(SHORTEST_LIFE, token(0)), Ok(SHORTEST_LIFE));
    assert_eq!(
        life(token(u64::MAX)),
        Ok(LONGEST_LIFE.saturating_sub(MARGIN))
    );
    let unsaid = json!({ "access_token": "ya29.x" });
    assert_eq!(life(unsaid), Ok(Duration::from_mins(55)));
    for nothing in [
        json!({}),
        json!({ "access_token": "" }),
        json!({ "access_token": "a b" }),
    ] {
        assert_eq!(life(nothing), Err("HTTP 200".to_owned()));
    }
}

#[test]
fn a_word_is_no_token_to_look_for() {
    assert!(is_masked("ya29.a-token-of-a-test"));
    for word in ["Canberra", "1234", "TheCapitalIsCanberra"] {
        assert!(!is_masked(word), "{word}");
    }
}

#[test]
fn of_a_refusal_only_its_code_is_repeated() {
    let refused = |status: u16, body: &str| {
        let error = read(status, body.as_bytes(), Instant::now(), Duration::ZERO);
        error.map(|_| ()).expect_err("no token")
    };
    let body = r#"{"error":"invalid_grant","error_description":"Bad 1//x"}"#;
    assert_eq!(
        refused(400, body),
        ("HTTP 400, invalid_grant".to_owned(), true)
    );
    let body = r#"{"error":"1//x is bad"}"#;
    assert_eq!(refused(401, body), ("HTTP 401".to_owned(), true));
    assert_eq!(refused(429, ""), ("HTTP 429".to_owned(), false));
    assert_eq!(refused(503, "<html>"), ("HTTP 503".to_owned(), false));
}

#[test]
fn a_server_without_tokens_is_asked_ever_more_rarely() {
    let begun = Instant::now();
    let fault = WireFault::Invalid("none".to_owned());
    let mut held = TokenState::default();
    assert!(held.known(begun).is_none());
    let mut pauses = Vec::new();
    let mut now = begun;
    for _ in 0..8 {
        held.failed(&fault, now);
        assert!(held.known(now).is_some_and(|known| known.is_err()));
        let until = held.failure.as_ref().expect("it failed").until;
        assert!(held.known(until).is_none());
        pauses.push((until - now).as_secs());
        now = until;
    }
    assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 60, 60]);
}
