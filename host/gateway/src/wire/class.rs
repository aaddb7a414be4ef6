//! What an attempt's end means: one table, from which retry and lanes take everything.
//!
//! Only what servers state in machine-readable form is read: the status, and the `code`,
//! `type`, `status` and `reason` fields of a JSON error body. No message is ever matched:
//! wording changes without notice, and an answer that merely *talks* about rate limits
//! must not look like one. (A message may say *how long* to wait, which `hint`
//! reads out of it; whether to wait is decided here.)
//!
//! **What one request may say of all.** A class that ends a lane ([`Class::Auth`],
//! [`Class::NotFound`], [`Class::QuotaExhausted`]) stops every other row of the model, and rows may
//! be a stranger's. So it takes a word that doesn't depend on what was asked: a 401, or a code
//! with a status that fits it. A bare 403 (a policy or a firewall that dislikes the text), a bare
//! 404 (a row's variable in the path), a bare 402 (an answer too long for what is left) are
//! their request's own fault, and a 400 may repeat the request's body, with whatever code
//! somebody wrote into it.

use std::fmt;
use std::time::Duration;

pub(crate) use runner_scheduler::Class;
use serde_json::Value;

use super::hint::BodyHint;

#[cfg(test)]
mod tests;

/// How the transport failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Transport {
    /// The name could not be resolved.
    Resolve,
    /// No connection came about.
    Connect,
    /// The other side's certificate or TLS is not acceptable.
    Tls,
    /// The connection ended before a whole response was there.
    Broken,
}

impl Transport {
    /// Names and connections come back; a certificate does not heal within a run.
    pub(crate) fn class(self) -> Class {
        match self {
            Self::Resolve | Self::Connect | Self::Broken => Class::Transient,
            Self::Tls => Class::Permanent,
        }
    }
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Resolve => "could not resolve",
            Self::Connect => "could not connect to",
            Self::Tls => "no trusted TLS connection to",
            Self::Broken => "lost the connection to",
        })
    }
}

/// Longest body that is looked into for a code. Error bodies are small; answers are not
/// looked into at all.
const ERROR_BODY_LIMIT: usize = 64 << 10;

/// Codes that mean a used-up quota or balance (OpenAI, Anthropic, OpenRouter, DeepSeek
/// and compatible servers), with a status about the account: 402, 403 or 429.
const QUOTA_CODES: [&str; 9] = [
    "insufficient_quota",
    "billing_hard_limit_reached",
    "billing_not_active",
    "billing_error",
    "access_terminated",
    "credit_balance_exhausted",
    "insufficient_balance",
    "insufficient_credits",
    "dailylimitexceeded",
];

/// A code that servers use for both a short window and a monthly quota.
const AMBIGUOUS_QUOTA_CODE: &str = "quota_exceeded";

/// A wait up to which an ambiguous quota counts as a window: one hour, in seconds.
const WINDOW_SECONDS: u64 = 3600;

/// Codes that mean "slower", seen with statuses other than 429 (403 from Google, 503 from gateways).
/// With a 400, as some gateways send them, they may be the request's own words.
const THROTTLE_CODES: [&str; 8] = [
    "rate_limit_exceeded",
    "rate_limit_error",
    "rate_limit_reached",
    "too_many_requests",
    "resource_exhausted",
    "ratelimitexceeded",
    "userratelimitexceeded",
    "slow_down",
];

/// Codes of a missing model or deployment, with 404 or 403 (OpenAI sends that where a project may
/// not use a model).
const NOT_FOUND_CODES: [&str; 4] = [
    "model_not_found",
    "deploymentnotfound",
    "not_found_error",
    "notfounderror",
];

/// Codes of a credential that is not accepted, with 403: Google, Anthropic, AWS, and servers
/// that mean OpenAI's 401.
const AUTH_CODES: [&str; 6] = [
    "permission_denied",
    "permission_error",
    "authentication_error",
    "invalid_api_key",
    "unrecognizedclientexception",
    "expiredtokenexception",
];

/// The body of an error response, read once for all that is asked of it.
#[derive(Debug, Default)]
pub(crate) struct ErrorBody(Value);

impl ErrorBody {
    /// Reads a body. Null for a success, whose body is not looked into, for what is no JSON
    /// object, and for what is too long for an error. Some servers wrap the object in an array
    /// of one.
    pub(crate) fn read(status: u16, body: &[u8]) -> Self {
        if status < 400 || body.len() > ERROR_BODY_LIMIT {
            return Self::default();
        }
        match serde_json::from_slice(body) {
            Ok(Value::Array(mut list)) if !list.is_empty() => Self(list.swap_remove(0)),
            Ok(object @ Value::Object(_)) => Self(object),
            _ => Self::default(),
        }
    }

    fn error(&self) -> &Value {
        self.0.get("error").unwrap_or(&Value::Null)
    }

    /// The texts that say when to come back: Google's `RetryInfo`, and the message.
    pub(crate) fn hint(&self) -> BodyHint<'_> {
        let mut details = entries(self.error(), "details");
        let messages = [self.error(), &self.0];
        BodyHint {
            retry_delay: details.find_map(|detail| detail.get("retryDelay")?.as_str()),
            message: messages
                .into_iter()
                .find_map(|part| part.get("message")?.as_str()),
        }
    }

    /// The codes, in lower case: `code`, `type`, `status` of the body, of its `error`, and
    /// `reason` of the entries of `error.errors` and `error.details`.
    fn codes(&self) -> Vec<String> {
        let fields = [&self.0, self.error()]
            .into_iter()
            .flat_map(|object| ["code", "type", "status"].map(|field| object.get(field)));
        let reasons = entries(self.error(), "errors")
            .chain(entries(self.error(), "details"))
            .map(|entry| entry.get("reason"));
        fields
            .chain(reasons)
            .chain([self.0.get("error")])
            .flatten()
            .filter_map(Value::as_str)
            .map(str::to_ascii_lowercase)
            .collect()
    }

    /// Whether it names a daily quota: Google's `QuotaFailure` gives the quota's id.
    fn names_a_daily_quota(&self) -> bool {
        entries(self.error(), "details")
            .flat_map(|detail| entries(detail, "violations"))
            .filter_map(|violation| violation.get("quotaId").and_then(Value::as_str))
            .any(|id| id.contains("PerDay"))
    }
}

/// Classifies a response by its status, its body and the wait that it asks for.
pub(crate) fn classify(status: u16, body: &ErrorBody, retry_after: Option<Duration>) -> Class {
    if (100..400).contains(&status) {
        return Class::Ok;
    }
    let codes = body.codes();
    let any = |list: &[&str]| codes.iter().any(|code| list.contains(&code.as_str()));

    let ambiguous = any(&[AMBIGUOUS_QUOTA_CODE]);
    let short_wait = retry_after.is_some_and(|wait| wait.as_secs() <= WINDOW_SECONDS);
    let daily = status == 429 && body.names_a_daily_quota();
    let of_account = matches!(status, 402 | 403 | 429);
    if of_account && (any(&QUOTA_CODES) || (ambiguous && !short_wait) || daily) {
        return Class::QuotaExhausted;
    }
    let of_pace = of_account || status >= 500;
    if of_pace && (ambiguous || any(&THROTTLE_CODES)) {
        return Class::Throttled;
    }
    match status {
        403 | 404 if any(&NOT_FOUND_CODES) => Class::NotFound,
        401 | 407 => Class::Auth,
        403 if any(&AUTH_CODES) => Class::Auth,
        429 => Class::Throttled,
        501 | 505 | 506 | 508 | 510 | 511 => Class::Permanent,
        408 | 425 | 500..=599 => Class::Transient,
        _ => Class::Permanent,
    }
}

/// The entries of an array field; none when it is something else.
fn entries<'a>(object: &'a Value, field: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
    object
        .get(field)
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}
