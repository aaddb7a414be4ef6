//! The words of the contract for what happens in the gateway.

use runner_gateway::{ExchangeCode, ExchangeError};
use runner_sandbox::abi::{self, ErrorCode};

/// A failed exchange as its guest hears of it.
pub(super) fn exchange_error(failure: ExchangeError) -> abi::Error {
    let code = match failure.code {
        ExchangeCode::InvalidRequest => ErrorCode::InvalidRequest,
        ExchangeCode::Auth => ErrorCode::Auth,
        ExchangeCode::NotFound => ErrorCode::NotFound,
        ExchangeCode::Denied => ErrorCode::Denied,
        ExchangeCode::RateLimited => ErrorCode::RateLimited,
        ExchangeCode::QuotaExhausted => ErrorCode::QuotaExhausted,
        ExchangeCode::Timeout => ErrorCode::Timeout,
        ExchangeCode::Transient => ErrorCode::Transient,
        ExchangeCode::Budget => ErrorCode::Budget,
        ExchangeCode::BadResponse => ErrorCode::BadResponse,
        ExchangeCode::Draining | ExchangeCode::Other => ErrorCode::Other,
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
