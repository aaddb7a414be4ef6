//! What an attempt's end means: one table, from which retry and lanes take everything.
//!
//! Only what servers state in machine-readable form is read: the status, and the `code`,
//! `type`, `status` and `reason` fields of a JSON error body. No message is ever matched:
//! wording changes without notice, and an answer that merely *talks* about rate limits
//! must not look like one.

use std::fmt;

use serde_json::Value;

#[cfg(test)]
mod tests;

/// The meaning of an attempt's end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Class {
    /// A response to hand on as it is.
    Ok,
    /// The server asked to slow down.
    Throttled,
    /// Worth another try: server trouble, connection trouble.
    Transient,
    /// The time was up.
    Timeout,
    /// Trying again gives the same.
    Permanent,
    /// A quota or a balance is used up: nothing more will pass today.
    QuotaExhausted,
    /// The credential is not accepted.
    Auth,
}

/// How the transport failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Transport {
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
    pub(super) fn class(self) -> Class {
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
/// and compatible servers).
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

/// Codes that mean "slower", seen with statuses other than 429 (403 from Google, 400 and
/// 503 from gateways).
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

/// Classifies a response by its status, its body and the wait that it asks for.
pub(super) fn classify(
    status: u16,
    body: &[u8],
    retry_after: Option<std::time::Duration>,
) -> Class {
    if (100..400).contains(&status) {
        return Class::Ok;
    }
    let codes = error_codes(body);
    let any = |list: &[&str]| codes.iter().any(|code| list.contains(&code.as_str()));

    let short_wait = retry_after.is_some_and(|wait| wait.as_secs() <= WINDOW_SECONDS);
    if any(&QUOTA_CODES) || (any(&[AMBIGUOUS_QUOTA_CODE]) && !short_wait) || per_day(body, status) {
        return Class::QuotaExhausted;
    }
    if any(&THROTTLE_CODES) || any(&[AMBIGUOUS_QUOTA_CODE]) {
        return Class::Throttled;
    }
    match status {
        401 | 403 | 407 => Class::Auth,
        402 => Class::QuotaExhausted,
        429 => Class::Throttled,
        501 | 505 | 506 | 508 | 510 | 511 => Class::Permanent,
        408 | 425 | 500..=599 => Class::Transient,
        _ => Class::Permanent,
    }
}

/// The codes of a JSON error body, in lower case: `code`, `type`, `status` of the body,
/// of its `error`, and `reason` of the entries of `error.errors` and `error.details`.
fn error_codes(body: &[u8]) -> Vec<String> {
    let Some(root) = parse(body) else {
        return Vec::new();
    };
    let error = root.get("error").unwrap_or(&Value::Null);
    let fields = [&root, error]
        .into_iter()
        .flat_map(|object| ["code", "type", "status"].map(|field| object.get(field)));
    let reasons = entries(error, "errors")
        .chain(entries(error, "details"))
        .map(|entry| entry.get("reason"));
    fields
        .chain(reasons)
        .chain([root.get("error")])
        .flatten()
        .filter_map(Value::as_str)
        .map(str::to_ascii_lowercase)
        .collect()
}

/// Whether a 429 names a daily quota: Google's `QuotaFailure` gives the quota's id.
fn per_day(body: &[u8], status: u16) -> bool {
    let Some(root) = parse(body).filter(|_| status == 429) else {
        return false;
    };
    let error = root.get("error").unwrap_or(&Value::Null);
    entries(error, "details")
        .flat_map(|detail| entries(detail, "violations"))
        .filter_map(|violation| violation.get("quotaId").and_then(Value::as_str))
        .any(|id| id.contains("PerDay"))
}

/// A JSON object out of a body that is short enough to be an error. Some servers wrap it
/// in an array of one.
pub(super) fn parse(body: &[u8]) -> Option<Value> {
    if body.len() > ERROR_BODY_LIMIT {
        return None;
    }
    let value: Value = serde_json::from_slice(body).ok()?;
    match value {
        Value::Array(mut list) if !list.is_empty() => Some(list.swap_remove(0)),
        Value::Object(_) => Some(value),
        _ => None,
    }
}

/// The entries of an array field; none when it is something else.
pub(super) fn entries<'a>(
    object: &'a Value,
    field: &str,
) -> impl Iterator<Item = &'a Value> + use<'a> {
    object
        .get(field)
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}
