//! The words of the contract for what happens in the gateway, and the run's words for both.

use runner_sandbox::abi::{self, ErrorCode};

use crate::gateway::{Code, ExchangeError};

/// The code of what a budget stood in the way of. Given by the host alone: a guest that says
/// `budget` itself is a `call-budget`, which no larger budget helps.
pub(crate) const OVER_BUDGET: &str = "budget";

/// A failed exchange as its guest hears of it.
pub(super) fn exchange_error(failure: ExchangeError) -> abi::Error {
    let code = match failure.code {
        Code::InvalidRequest => ErrorCode::InvalidRequest,
        Code::Auth => ErrorCode::Auth,
        Code::NotFound => ErrorCode::NotFound,
        Code::Denied => ErrorCode::Denied,
        Code::RateLimited => ErrorCode::RateLimited,
        Code::QuotaExhausted => ErrorCode::QuotaExhausted,
        Code::Timeout => ErrorCode::Timeout,
        Code::Transient => ErrorCode::Transient,
        Code::Budget => ErrorCode::Budget,
        Code::BadResponse => ErrorCode::BadResponse,
        Code::Cancelled | Code::Other => ErrorCode::Other,
    };
    abi::Error::new(code, failure.message)
}

/// The contract's own spelling of an error code, but for [`OVER_BUDGET`].
pub(super) fn code_word(code: ErrorCode) -> &'static str {
    match code {
        ErrorCode::InvalidRequest => "invalid-request",
        ErrorCode::Auth => "auth",
        ErrorCode::RateLimited => "rate-limited",
        ErrorCode::QuotaExhausted => "quota-exhausted",
        ErrorCode::NotFound => "not-found",
        ErrorCode::ContextLength => "context-length",
        ErrorCode::ContentFilter => "content-filter",
        ErrorCode::Timeout => "timeout",
        ErrorCode::Transient => "transient",
        ErrorCode::BadResponse => "bad-response",
        ErrorCode::Denied => "denied",
        ErrorCode::Budget => "call-budget",
        ErrorCode::Unsupported => "unsupported",
        ErrorCode::Other => "other",
    }
}

/// The code that a failure had before it became a word.
pub(super) fn code_of(word: &str) -> ErrorCode {
    const CODES: [ErrorCode; 13] = [
        ErrorCode::InvalidRequest,
        ErrorCode::Auth,
        ErrorCode::RateLimited,
        ErrorCode::QuotaExhausted,
        ErrorCode::NotFound,
        ErrorCode::ContextLength,
        ErrorCode::ContentFilter,
        ErrorCode::Timeout,
        ErrorCode::Transient,
        ErrorCode::BadResponse,
        ErrorCode::Denied,
        ErrorCode::Budget,
        ErrorCode::Unsupported,
    ];
    let is = |code: &ErrorCode| code_word(*code) == word;
    match CODES.into_iter().find(is) {
        Some(code) => code,
        None if word == OVER_BUDGET => ErrorCode::Budget,
        None => ErrorCode::Other,
    }
}

/// The host's own levels.
pub(super) fn level(level: abi::Level) -> tracing::Level {
    match level {
        abi::Level::Trace => tracing::Level::TRACE,
        abi::Level::Debug => tracing::Level::DEBUG,
        abi::Level::Info => tracing::Level::INFO,
        abi::Level::Warn => tracing::Level::WARN,
        abi::Level::Error => tracing::Level::ERROR,
    }
}
