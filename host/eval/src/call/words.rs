//! The words of the contract for what happens in the gateway.

use runner_gateway::{Code, ExchangeError};
use runner_sandbox::abi::{self, ErrorCode};

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
        Code::Draining | Code::Other => ErrorCode::Other,
    };
    abi::Error::new(code, failure.message)
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
