//! What went wrong, by the API's own codes and by status.
//!
//! The codes in the body say more than the status: a 429 is a pause or an empty account, a 400
//! may be a prompt that is too long. Only machine-readable fields decide (`code`, `type`,
//! `status`, the `reason` of details), never the message. When to try again is the host's
//! matter; it reads the headers itself.
//!
//! One table for all APIs: their codes don't contradict each other, and a gateway in front of
//! one passes on those of another.

use runner_plugin::json::Value;
use runner_plugin::{Error, ErrorCode, http};

/// The longest message of the API that is repeated.
const MESSAGE_CHARACTERS: usize = 300;

/// The body of a response that is an answer, or the error that it stands for. Some servers
/// report an error with status 200.
///
/// # Errors
/// What the API reports, or `bad-response` where the body is no JSON.
pub fn check(response: &http::Response) -> Result<Value, Error> {
    let body: Result<Value, Error> = response.json();
    let reported = body.as_ref().ok().and_then(|body| {
        let error = body.get("error").filter(|error| !error.is_null());
        let error = error.or_else(|| (!response.is_success() && body.is_object()).then_some(body));
        error.map(first)
    });
    match reported {
        None if response.is_success() => body,
        None => Err(by_status(response.status, None)),
        Some(error) => Err(of(response.status, error)),
    }
}

/// The error itself: the first, where an API describes several in a list, or under `errors`
/// with nothing said beside it.
fn first(error: &Value) -> &Value {
    let several = error.get("errors").filter(|_| error["message"].is_null());
    let list = several.unwrap_or(error).as_array();
    list.and_then(|list| list.first()).unwrap_or(error)
}

/// The error that an API describes with this JSON value, which came with this status.
pub fn of(status: u16, error: &Value) -> Error {
    let known = codes(error).find_map(|text| code(&text.to_ascii_lowercase()));
    let said = error["message"].as_str().or(error["detail"].as_str());
    let message = said.or(error.as_str());
    // A gateway reports the status of what is behind it in the body of a 200.
    let stated = error["code"]
        .as_u64()
        .and_then(|code| u16::try_from(code).ok())
        .filter(|code| (400..600).contains(code));
    let mut failure = by_status(status, message);
    if let (200..300, Some(stated)) = (status, stated) {
        failure.code = by_status(stated, None).code;
    }
    if let Some(known) = known {
        failure.code = known;
    }
    // A body without any field is no detail.
    if error.as_object().is_none_or(|fields| !fields.is_empty()) {
        failure = failure.detail(error.clone());
    }
    failure
}

/// The error that a status stands for where the body says nothing better. As the SDK has it,
/// and 402 is an empty account, 498 a tier without room at the moment.
pub fn by_status(status: u16, message: Option<&str>) -> Error {
    let said = message.map_or_else(String::new, |message| format!(": {}", one_line(message)));
    let mut error = Error::from_status(status, format!("the API answered HTTP {status}{said}"));
    match status {
        402 => error.code = ErrorCode::QuotaExhausted,
        498 => error.code = ErrorCode::Transient,
        _ => {}
    }
    error
}

/// The texts that may be codes, the most telling first.
fn codes(error: &Value) -> impl Iterator<Item = &str> {
    let fields = ["code", "type", "status"].map(|key| &error[key]);
    let details = error["details"].as_array().into_iter().flatten();
    let reasons = details.map(|detail| &detail["reason"]);
    fields.into_iter().chain(reasons).filter_map(Value::as_str)
}

/// The codes that say more than the status, in lower case.
fn code(code: &str) -> Option<ErrorCode> {
    Some(match code {
        "context_length_exceeded"
        | "string_above_max_length"
        | "request_too_large"
        | "exceed_context_size_error"
        | "context_window_exceeded" => ErrorCode::ContextLength,
        "content_filter"
        | "content_policy_violation"
        | "responsibleaipolicyviolation"
        | "moderation_blocked" => ErrorCode::ContentFilter,
        "insufficient_quota"
        | "billing_hard_limit_reached"
        | "billing_not_active"
        | "billing_error"
        | "access_terminated"
        | "quota_exceeded"
        | "credit_balance_exhausted"
        | "insufficient_credits"
        | "insufficient_balance" => ErrorCode::QuotaExhausted,
        "rate_limit_exceeded"
        | "rate_limit_error"
        | "rate_limited"
        | "resource_exhausted"
        | "too_many_requests" => ErrorCode::RateLimited,
        "invalid_api_key"
        | "invalid_organization"
        | "authentication_error"
        | "permission_error"
        | "api_key_invalid"
        | "unauthenticated"
        | "permission_denied" => ErrorCode::Auth,
        "model_not_found" | "deploymentnotfound" | "not_found_error" | "not_found" => {
            ErrorCode::NotFound
        }
        "timeout" | "timeout_error" | "deadline_exceeded" => ErrorCode::Timeout,
        "server_error"
        | "api_error"
        | "overloaded_error"
        | "unavailable"
        | "internal"
        | "capacity_exceeded"
        | "service_tier_capacity_exceeded" => ErrorCode::Transient,
        _ => return None,
    })
}

fn one_line(message: &str) -> String {
    let words: Vec<&str> = message.split_whitespace().collect();
    words.join(" ").chars().take(MESSAGE_CHARACTERS).collect()
}
