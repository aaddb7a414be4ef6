//! What became of the requests of a case, where there is more to say than that one was answered at once.

use std::time::Duration;

use runner_gateway::{Attempt, AttemptLog, Class};
use serde::{Deserialize, Serialize};

/// An attempt of a request, or a wait that none came of. Times are in milliseconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AttemptRecord {
    /// The lane in which it waited.
    pub lane: String,
    /// Which attempt of its request; the first is 1.
    pub attempt: u32,
    /// When it began to wait for its turn, from the beginning of the case.
    pub queued_ms: u64,
    /// How long it waited.
    pub waited_ms: u64,
    /// How long it was on the wire; absent where it never was.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub worked_ms: Option<u64>,
    /// HTTP status, where there was a response.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub status: Option<u16>,
    /// How it ended, in a word; absent where it was cut off.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ended: Option<String>,
}

/// The attempts that are kept with a case, in the order in which they began to wait.
pub(crate) fn of(log: &AttemptLog) -> Vec<AttemptRecord> {
    let mut attempts: Vec<_> = log.attempts().iter().map(record).collect();
    attempts.sort_by_key(|it| it.queued_ms);
    attempts
}

fn record(attempt: &Attempt) -> AttemptRecord {
    let ms = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    AttemptRecord {
        lane: attempt.lane.to_string(),
        attempt: attempt.number,
        queued_ms: ms(attempt.queued),
        waited_ms: ms(attempt.waited),
        worked_ms: attempt.worked.map(ms),
        status: attempt.status,
        ended: attempt.class.map(|class| word(class).to_owned()),
    }
}

/// How an attempt ended, as rows say it.
fn word(class: Class) -> &'static str {
    match class {
        Class::Ok => "ok",
        Class::Throttled => "throttled",
        Class::Transient => "transient",
        Class::Timeout => "timeout",
        Class::Permanent => "refused",
        Class::QuotaExhausted => "quota-exhausted",
        Class::Auth => "auth",
        Class::NotFound => "not-found",
    }
}
