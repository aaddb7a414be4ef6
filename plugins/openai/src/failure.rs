//! What went wrong, by the API's own codes and by status.
//!
//! The codes in the body say more than the status: a 429 is a pause or an empty account, a 400
//! may be a prompt that is too long. Only `error.code` and `error.type` decide, never the
//! message. When to try again is the host's matter; it reads the headers itself.

use runner_plugin::json::Value;
use runner_plugin::{Error, ErrorCode, http};

/// The longest message of the API that is repeated.
const MESSAGE_CHARACTERS: usize = 300;

/// The body of a response that is an answer, or the error that it stands for. Some servers
/// report an error with status 200.
pub(crate) fn check(response: &http::Response) -> Result<Value, Error> {
    let body: Result<Value, Error> = response.json();
    let reported = body
        .as_ref()
        .ok()
        .and_then(|body| body.get("error"))
        .filter(|error| !error.is_null());
    match reported {
        None if response.is_success() => body,
        None => Err(by_status(response.status, None)),
        Some(error) => Err(of(response.status, error)),
    }
}

fn of(status: u16, error: &Value) -> Error {
    let known = ["code", "type"]
        .iter()
        .find_map(|key| code(error.get(key)?.as_str()?));
    let mut failure = by_status(status, error["message"].as_str().or(error.as_str()));
    if let Some(known) = known {
        failure.code = known;
    }
    failure.detail(error.clone())
}

/// The codes that say more than the status.
fn code(code: &str) -> Option<ErrorCode> {
    Some(match code {
        "context_length_exceeded" | "string_above_max_length" => ErrorCode::ContextLength,
        "content_filter" | "content_policy_violation" => ErrorCode::ContentFilter,
        "insufficient_quota"
        | "billing_hard_limit_reached"
        | "billing_not_active"
        | "access_terminated"
        | "quota_exceeded"
        | "credit_balance_exhausted" => ErrorCode::QuotaExhausted,
        "rate_limit_exceeded" => ErrorCode::RateLimited,
        "invalid_api_key" | "invalid_organization" => ErrorCode::Auth,
        "model_not_found" => ErrorCode::NotFound,
        "timeout" => ErrorCode::Timeout,
        "server_error" => ErrorCode::Transient,
        _ => return None,
    })
}

fn by_status(status: u16, message: Option<&str>) -> Error {
    let said = message.map_or_else(String::new, |message| format!(": {}", one_line(message)));
    Error::from_status(status, format!("the API answered HTTP {status}{said}"))
}

fn one_line(message: &str) -> String {
    let words: Vec<&str> = message.split_whitespace().collect();
    words.join(" ").chars().take(MESSAGE_CHARACTERS).collect()
}
