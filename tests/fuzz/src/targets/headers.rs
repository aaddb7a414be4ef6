//! What servers say about their limits. The input is a status, then a header a line.

use std::time::Duration;

use runner_gateway::{BodyHint, HintSource};
use runner_scheduler::{Hint, Reading};

/// Headers, and what their values look like.
pub(super) const WORDS: &[&str] = &[
    "retry-after: ",
    "retry-after-ms: ",
    "x-should-retry: false",
    "date: Sun, 22 Nov 2026 09:00:00 GMT",
    "RateLimit: ",
    "RateLimit-Policy: ",
    "x-ratelimit-limit-requests: ",
    "x-ratelimit-remaining-requests: ",
    "x-ratelimit-reset-requests: ",
    "x-ratelimit-limit-tokens: ",
    "anthropic-ratelimit-requests-reset: ",
    "x-ratelimit-tokens-query-cost: ",
    "x-ratelimit-limit-tokens-minute: ",
    "\n",
    "6m0s",
    "1h2m3.5s",
    "120ms",
    "2026-11-22T09:00:00Z",
    "2026-11-22T09:00:00.123456789+02:00",
    "\"default\";r=50;t=30",
    ";w=60",
    ";q=100",
    ", ",
    "999999999999999",
    "-1",
    "0.5",
    "1e308",
    "NaN",
    "please retry in 20s",
    "try again in 1.5s",
];

pub(super) fn run(input: &[u8]) -> String {
    let text = String::from_utf8_lossy(input);
    let mut lines = text.lines();
    let first = lines.next().unwrap_or_default();
    let status = first.trim().parse().unwrap_or(429);
    let lines: Vec<&str> = lines.collect();
    let pairs = lines.iter().filter_map(|line| line.split_once(':'));
    let headers: Vec<(String, String)> = pairs
        .map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()))
        .collect();
    let last = lines.last().copied();
    let hint = HintSource {
        status,
        headers: &headers,
        body: BodyHint {
            retry_delay: lines.first().copied(),
            message: last,
        },
        unix_time: Duration::from_hours(498_705),
    }
    .read();
    check(&hint, status);
    shape(&hint)
}

/// What holds whatever a server says.
fn check(hint: &Hint, status: u16) {
    assert!(
        hint.retry_after.is_none_or(|wait| wait <= Hint::LONGEST),
        "{hint:?}"
    );
    assert!(
        status >= 400 || hint.retry_after.is_none() && !hint.useless,
        "{hint:?}"
    );
    for reading in &hint.readings {
        let Reading {
            limit,
            remaining,
            reset,
            ..
        } = *reading;
        assert!(
            limit.is_none_or(|limit| (1..=Reading::MOST).contains(&limit)),
            "{reading:?}"
        );
        assert!(
            remaining.is_none_or(|left| left <= limit.unwrap_or(Reading::MOST)),
            "{reading:?}"
        );
        assert!(
            reset.is_none_or(|reset| reset <= Hint::LONGEST),
            "{reading:?}"
        );
        assert!(
            limit.or(remaining).is_some() || reset.is_some(),
            "{reading:?}"
        );
    }
}

/// Which things it says, without their numbers.
fn shape(hint: &Hint) -> String {
    let kinds = hint.readings.iter().map(|it| {
        let Reading {
            limit,
            remaining,
            reset,
            window,
            ..
        } = it;
        let has = [
            limit.is_some(),
            remaining.is_some(),
            reset.is_some(),
            window.is_some(),
        ];
        format!("{:?}{has:?}", it.dimension)
    });
    let kinds: Vec<String> = kinds.collect();
    format!("{kinds:?} {}", hint.retry_after.is_some())
}
