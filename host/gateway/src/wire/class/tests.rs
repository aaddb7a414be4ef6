//! The table, row by row.

use super::*;

fn classify(status: u16, body: &[u8], retry_after: Option<Duration>) -> Class {
    super::classify(status, &ErrorBody::read(status, body), retry_after)
}

#[test]
fn a_bare_status_has_its_meaning() {
    let cases = [
        (Class::Ok, "200 201 204 206 299 304"),
        (Class::Auth, "401 407"),
        (Class::Throttled, "429"),
        (
            Class::Transient,
            "408 425 500 502 503 504 520 521 522 523 524 529 599",
        ),
        (
            Class::Permanent,
            "400 402 403 404 405 409 410 413 415 422 451 499 501 505 511",
        ),
    ];
    for (expected, statuses) in cases {
        for status in statuses.split(' ') {
            let status = status.parse().expect("the table holds numbers");
            assert_eq!(classify(status, b"", None), expected, "{status}");
        }
    }
}

/// Status, body, meaning.
const CODES: &[(u16, &str, Class)] = &[
    (
        429,
        r#"{"error":{"code":"insufficient_quota","message":"x"}}"#,
        Class::QuotaExhausted,
    ),
    (
        429,
        r#"{"error":{"type":"insufficient_quota","code":null}}"#,
        Class::QuotaExhausted,
    ),
    (
        429,
        r#"{"error":{"code":"rate_limit_exceeded","type":"tokens"}}"#,
        Class::Throttled,
    ),
    (
        429,
        r#"{"error":{"code":"quota_exceeded"}}"#,
        Class::QuotaExhausted,
    ),
    (
        402,
        r#"{"type":"error","error":{"type":"billing_error"}}"#,
        Class::QuotaExhausted,
    ),
    // What a server repeats of the request says nothing of the next one.
    (
        400,
        r#"{"error":{"code":"insufficient_quota"}}"#,
        Class::Permanent,
    ),
    (
        400,
        r#"{"error":{"code":"model_not_found"}}"#,
        Class::Permanent,
    ),
    (
        400,
        r#"{"error":{"code":"rate_limit_exceeded","message":"Please try again in 9h0m0s."}}"#,
        Class::Permanent,
    ),
    (
        403,
        r#"{"error":{"code":"model_not_found"}}"#,
        Class::NotFound,
    ),
    (
        404,
        r#"{"type":"error","error":{"type":"not_found_error"}}"#,
        Class::NotFound,
    ),
    // OpenRouter, of a text that its moderation flags.
    (
        403,
        r#"{"error":{"code":403,"message":"x","metadata":{"reasons":["violence"]}}}"#,
        Class::Permanent,
    ),
    // And of an answer that what is left can't pay.
    (
        402,
        r#"{"error":{"code":402,"message":"fewer max_tokens"}}"#,
        Class::Permanent,
    ),
    (
        403,
        r#"{"error":{"code":403,"errors":[{"reason":"rateLimitExceeded"}]}}"#,
        Class::Throttled,
    ),
    (
        403,
        r#"{"error":{"code":403,"errors":[{"reason":"dailyLimitExceeded"}]}}"#,
        Class::QuotaExhausted,
    ),
    (
        403,
        r#"{"error":{"code":403,"status":"PERMISSION_DENIED"}}"#,
        Class::Auth,
    ),
    (503, r#"{"error":{"code":"slow_down"}}"#, Class::Throttled),
    (
        529,
        r#"{"type":"error","error":{"type":"overloaded_error"}}"#,
        Class::Transient,
    ),
    (
        429,
        r#"[{"error":{"code":429,"status":"RESOURCE_EXHAUSTED"}}]"#,
        Class::Throttled,
    ),
    (
        429,
        r#"{"error":{"details":[{"violations":[{"quotaId":"RequestsPerDayPerProject"}]}]}}"#,
        Class::QuotaExhausted,
    ),
    (
        429,
        r#"{"error":{"details":[{"violations":[{"quotaId":"RequestsPerMinutePerProject"}]}]}}"#,
        Class::Throttled,
    ),
];

#[test]
fn codes_in_the_body_refine_it() {
    for (status, body, expected) in CODES.iter().copied() {
        assert_eq!(
            classify(status, body.as_bytes(), None),
            expected,
            "{status} {body}"
        );
    }
}

#[test]
fn an_ambiguous_quota_with_a_wait_of_at_most_an_hour_is_a_window() {
    let body = br#"{"error":{"code":"quota_exceeded"}}"#;
    let wait = |seconds| Some(Duration::from_secs(seconds));
    assert_eq!(classify(429, body, wait(3600)), Class::Throttled);
    assert_eq!(classify(429, body, wait(3601)), Class::QuotaExhausted);
}

#[test]
fn texts_decide_nothing() {
    let cases = [
        (
            400,
            r#"{"error":{"message":"429 rate limit: insufficient_quota"}}"#,
            Class::Permanent,
        ),
        (500, "Too Many Requests", Class::Transient),
        (200, r#"{"error":{"code":"insufficient_quota"}}"#, Class::Ok),
        (429, "quota_exceeded", Class::Throttled),
        (429, r#""insufficient_quota""#, Class::Throttled),
    ];
    for (status, body, expected) in cases {
        assert_eq!(
            classify(status, body.as_bytes(), None),
            expected,
            "{status} {body}"
        );
    }
}

#[test]
fn a_large_body_is_not_looked_into() {
    let body = format!(
        r#"{{"error":{{"code":"insufficient_quota","x":"{}"}}}}"#,
        "x".repeat(70_000)
    );
    assert_eq!(classify(429, body.as_bytes(), None), Class::Throttled);
}

#[test]
fn transport_failures_are_transient_unless_they_can_not_heal() {
    let cases = [
        (Transport::Resolve, Class::Transient),
        (Transport::Connect, Class::Transient),
        (Transport::Broken, Class::Transient),
        (Transport::Tls, Class::Permanent),
    ];
    for (transport, class) in cases {
        assert_eq!(transport.class(), class);
    }
}

#[test]
fn a_body_hands_out_the_texts_that_say_when_to_come_back() {
    let google = r#"[{"error":{"message":"x","details":[{"@type":"x/Help"},{"@type":"x/RetryInfo","retryDelay":"45.5s"}]}}]"#;
    let cases = [
        (429, google, Some("45.5s"), Some("x")),
        (
            429,
            r#"{"error":{"message":"Please try again in 20s."}}"#,
            None,
            Some("Please try again in 20s."),
        ),
        (429, r#"{"message":"slower"}"#, None, Some("slower")),
        (
            429,
            r#"{"error":{"details":[{"retryDelay":7}]}}"#,
            None,
            None,
        ),
        (429, "slower", None, None),
        (200, google, None, None),
    ];
    for (status, body, delay, message) in cases {
        let read = ErrorBody::read(status, body.as_bytes());
        let hint = read.hint();
        assert_eq!((hint.retry_delay, hint.message), (delay, message), "{body}");
    }
}
