//! Which requests are the same, and which responses are worth keeping.

use std::collections::BTreeSet;

use super::*;
use crate::policy::secret::Secret;

fn envelope() -> Envelope {
    Envelope {
        method: "POST".to_owned(),
        url: "https://api.acme.com/v1".to_owned(),
        headers: vec![
            ("b".to_owned(), "1".to_owned()),
            ("a".to_owned(), "2".to_owned()),
        ],
        body: "{}".into(),
        credential: Some(Secret::new("sk-12345678").fingerprint()),
        repeat: 0,
    }
}

#[test]
fn every_part_of_a_request_is_part_of_its_key_but_not_the_order_of_headers() {
    let base = envelope();
    let key = |envelope: &Envelope| key(envelope, Reach::Loopback, Some(&Scheme::Bearer));
    let mut swapped = base.clone();
    swapped.headers.reverse();
    assert_eq!(key(&swapped), key(&base));
    let changes: [fn(&mut Envelope); 7] = [
        |it| it.method = "GET".to_owned(),
        |it| it.url.push('x'),
        |it| it.headers[0].1.push('x'),
        |it| it.headers.push(("b".to_owned(), "3".to_owned())),
        |it| it.body = "{ }".into(),
        |it| it.credential = None,
        |it| it.repeat = 1,
    ];
    for (place, change) in changes.iter().enumerate() {
        let mut other = base.clone();
        change(&mut other);
        assert_ne!(key(&other), key(&base), "change {place}");
    }
    let mut other = base.clone();
    other.credential = None;
    assert_eq!(anonymous_key(&other), anonymous_key(&base));
}

#[test]
fn how_far_a_host_leads_and_how_its_credential_is_sent_are_part_of_the_key() {
    let ways = [
        (Reach::Public, None),
        (Reach::Loopback, None),
        (Reach::Private, None),
        (Reach::Public, Some(Scheme::Bearer)),
        (Reach::Public, Some(Scheme::Header("x-key".to_owned()))),
        (Reach::Public, Some(Scheme::Query("x-key".to_owned()))),
    ];
    let keys = ways.map(|(reach, scheme)| key(&envelope(), reach, scheme.as_ref()).to_string());
    let different: BTreeSet<&String> = keys.iter().collect();
    assert_eq!(different.len(), keys.len());
}

#[test]
fn only_a_whole_answer_without_an_error_in_it_is_worth_keeping() {
    let cases = [
        (200, "hello", true),
        (201, "", true),
        (200, r#"{"choices": [], "error": null}"#, true),
        (200, r#"{"error": false}"#, true),
        (200, r#"{"error": ""}"#, true),
        (200, r#"[{"error": "an item's, not the answer's"}]"#, true),
        (200, r#"["one text"]"#, true),
        (200, r#"{"text": "the word error"}"#, true),
        (200, r#"{"error": "overloaded"}"#, false),
        (200, r#" {"error": {"message": "overloaded"}}"#, false),
        (200, r#"{"error": true}"#, false),
        (202, "accepted", false),
        (206, "a part", false),
        (304, "", false),
        (404, "", false),
        (500, "", false),
    ];
    for (status, body, expected) in cases {
        let response = StoredResponse {
            status,
            headers: Vec::new(),
            body: body.into(),
            pieces: Vec::new(),
        };
        assert_eq!(is_worth_keeping(&response), expected, "{status} {body}");
    }
}

#[test]
fn a_request_that_changes_something_is_never_answered_from_memory() {
    assert!(is_repeatable("POST") && is_repeatable("GET"));
    assert!(!is_repeatable("DELETE") && !is_repeatable("PUT"));
}

#[test]
fn what_is_not_what_it_says_is_not_kept() {
    let cases = [
        ("application/json", "{}", true),
        ("application/json; charset=utf-8", "{\"cut\": ", false),
        ("text/html", "<h1>Log in</h1>", false),
        ("Text/HTML; charset=utf-8", "{}", false),
        ("text/plain", "anything", true),
        (
            "text/event-stream",
            "data: {\"a\":1}\n\ndata: [DONE]\n",
            true,
        ),
        (
            "text/event-stream; charset=utf-8",
            "data: {\"error\": {}}\n",
            false,
        ),
        (
            "application/x-ndjson",
            "{\"a\":1}\n{\"error\": \"late\"}\n",
            false,
        ),
    ];
    for (kind, body, expected) in cases {
        let response = StoredResponse {
            status: 200,
            headers: vec![("content-type".to_owned(), kind.to_owned())],
            body: body.into(),
            pieces: Vec::new(),
        };
        assert_eq!(is_worth_keeping(&response), expected, "{kind} {body}");
    }
}
