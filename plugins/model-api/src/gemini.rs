//! The shape of Gemini's `generateContent`, which Google serves under two addresses: `body` writes
//! it, `answer` reads it, `events` says what its parts are when it is streamed.

pub mod answer;
pub mod body;
pub mod events;
mod messages;

use runner_plugin::json::Value;
use runner_plugin::{Error, ErrorCode, http};

use crate::failure;

/// As [`failure::check`]; and a daily quota is not worth a retry in this run.
///
/// # Errors
/// What the API reports.
pub fn check(response: &http::Response) -> Result<Value, Error> {
    failure::check(response).map_err(|mut error| {
        let detail = error.detail.as_ref();
        let violations = detail
            .and_then(|detail| detail["details"].as_array())
            .into_iter()
            .flatten()
            .filter_map(|detail| detail["violations"].as_array())
            .flatten();
        let mut ids = violations.filter_map(|violation| violation["quotaId"].as_str());
        if error.code == ErrorCode::RateLimited && ids.any(|id| id.contains("PerDay")) {
            error.code = ErrorCode::QuotaExhausted;
        }
        error
    })
}
