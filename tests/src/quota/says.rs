//! What a server tells its clients about its limit.
//!
//! A header is a snapshot from the moment of admission: an answer that takes long brings old
//! news. That is so with the real ones, and a client has to cope.

use std::time::Duration;

use serde_json::json;

use super::limit::{Standing, Verdict};
use crate::answer::Answer;

/// Which headers a server sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Says {
    /// None.
    Nothing,
    /// `retry-after` with a refusal, in whole seconds as most servers write it.
    RetryAfter,
    /// OpenAI's `x-ratelimit-{limit,remaining,reset}-requests` with every answer. The reset is
    /// the time until everything is there again, as a Go duration.
    OpenAi,
    /// `x-ratelimit-remaining-requests: 0` with every answer, whatever is left, and with this
    /// reset if there is one.
    NoneLeft(Option<Duration>),
}

/// The headers for a request that was judged so.
pub(super) fn headers(says: Says, verdict: &Verdict) -> Vec<(&'static str, String)> {
    let (standing, refused) = match verdict {
        Verdict::Accepted(standing) => (standing, false),
        Verdict::Refused(standing) => (standing, true),
        Verdict::Stormed => return vec![("retry-after", "1".into())],
        Verdict::Spent => return Vec::new(),
    };
    match (says, standing) {
        (Says::Nothing, _) | (Says::RetryAfter | Says::OpenAi, None) => Vec::new(),
        (Says::RetryAfter, Some(standing)) => Vec::from_iter(refused.then(|| {
            let seconds = standing.next.as_nanos().div_ceil(1_000_000_000);
            ("retry-after", seconds.to_string())
        })),
        (Says::OpenAi, Some(standing)) => open_ai(standing),
        (Says::NoneLeft(reset), _) => {
            let mut headers = vec![("x-ratelimit-remaining-requests", "0".to_owned())];
            headers.extend(reset.map(|reset| ("x-ratelimit-reset-requests", go_duration(reset))));
            headers
        }
    }
}

fn open_ai(standing: &Standing) -> Vec<(&'static str, String)> {
    vec![
        ("x-ratelimit-limit-requests", standing.limit.to_string()),
        (
            "x-ratelimit-remaining-requests",
            standing.remaining.to_string(),
        ),
        ("x-ratelimit-reset-requests", go_duration(standing.reset)),
    ]
}

/// A refusal in OpenAI's shape.
pub(super) fn refusal() -> Answer {
    let error = json!({
        "message": "Rate limit reached for requests. Please slow down.",
        "type": "requests",
        "param": null,
        "code": "rate_limit_exceeded",
    });
    Answer::json(&json!({ "error": error })).with_status(429)
}

/// A duration as Go prints it, in whole milliseconds rounded up: `12ms`, `8.64s`, `1h0m5s`.
pub(super) fn go_duration(duration: Duration) -> String {
    let millis = duration.as_nanos().div_ceil(1_000_000);
    if millis == 0 {
        return "0s".into();
    }
    if millis < 1_000 {
        return format!("{millis}ms");
    }
    let (minutes, rest) = (millis / 60_000, millis % 60_000);
    let seconds = format!("{}.{:03}", rest / 1_000, rest % 1_000);
    let seconds = seconds.trim_end_matches('0').trim_end_matches('.');
    match (minutes / 60, minutes % 60) {
        (0, 0) => format!("{seconds}s"),
        (0, minutes) => format!("{minutes}m{seconds}s"),
        (hours, minutes) => format!("{hours}h{minutes}m{seconds}s"),
    }
}
