//! The formats, and what is not one.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use reqwest::header::{HeaderName, HeaderValue};

use super::*;

fn after(pairs: &[(&str, &str)]) -> Option<Duration> {
    hint(429, pairs, "").after
}

fn hint(status: u16, pairs: &[(&str, &str)], body: &str) -> Hint {
    let mut headers = HeaderMap::new();
    for (name, value) in pairs {
        headers.insert(
            HeaderName::try_from(*name).unwrap(),
            HeaderValue::try_from(*value).unwrap(),
        );
    }
    let now: Timestamp = "2026-01-02T03:04:05Z".parse().unwrap();
    read(status, &headers, body.as_bytes(), now)
}

const fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

#[test]
fn numbers_are_seconds_or_milliseconds() {
    assert_eq!(after(&[("retry-after", "20")]), Some(ms(20_000)));
    assert_eq!(after(&[("retry-after", " 0.25 ")]), Some(ms(250)));
    assert_eq!(after(&[("retry-after", "0")]), Some(ms(0)));
    assert_eq!(after(&[("retry-after-ms", "1500")]), Some(ms(1500)));
    assert_eq!(
        after(&[("retry-after-ms", "1500"), ("retry-after", "2")]),
        Some(ms(1500))
    );
    assert_eq!(
        after(&[("retry-after-ms", "soon"), ("retry-after", "2")]),
        Some(ms(2000))
    );
}

#[test]
fn a_date_counts_from_the_date_of_the_response() {
    let retry = ("retry-after", "Fri, 02 Jan 2026 03:04:35 GMT");
    assert_eq!(
        after(&[retry, ("date", "Fri, 02 Jan 2026 03:04:15 GMT")]),
        Some(ms(20_000))
    );
    assert_eq!(
        after(&[retry]),
        Some(ms(30_000)),
        "the local clock where there is no date"
    );
    assert_eq!(
        after(&[retry, ("date", "Fri, 02 Jan 2026 04:00:00 GMT")]),
        Some(ms(0)),
        "in the past"
    );
}

#[test]
fn what_is_no_wait_is_ignored() {
    for value in [
        "",
        "-1",
        "1e3",
        "inf",
        "NaN",
        "12abc",
        "1.2.3",
        "20 s",
        "99999999999999999999999",
    ] {
        assert_eq!(after(&[("retry-after", value)]), None, "{value}");
    }
    assert_eq!(
        hint(200, &[("retry-after", "20")], "").after,
        None,
        "on a success"
    );
}

#[test]
fn a_google_error_body_gives_the_delay() {
    let body = r#"{"error":{"details":[{"@type":"x/Help"},{"@type":"x/RetryInfo","retryDelay":"45.5s"}]}}"#;
    assert_eq!(hint(429, &[], body).after, Some(ms(45_500)));
    assert_eq!(
        hint(429, &[("retry-after", "1")], body).after,
        Some(ms(1000)),
        "a header comes first"
    );
    assert_eq!(
        hint(429, &[], r#"{"error":{"details":[{"retryDelay":"soon"}]}}"#).after,
        None
    );
}

#[test]
fn a_server_may_forbid_another_try() {
    assert!(!hint(500, &[("x-should-retry", "false")], "").again);
    assert!(hint(500, &[("x-should-retry", "true")], "").again);
    assert!(hint(500, &[], "").again);
}
