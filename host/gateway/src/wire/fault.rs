//! Why an attempt gave no response, or was not made.

use std::time::Duration;

use runner_scheduler::Class;

use super::class::Transport;
use crate::exchange::ExchangeCode;
use crate::policy::grants::Refusal;

/// Why an attempt gave no response, or was not made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum WireFault {
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error("{0}")]
    Invalid(String),
    #[error("credential '{name}' is granted, but {env} is not set")]
    NoSecret { name: String, env: String },
    #[error("credential '{name}' from {env} has characters that no header can carry")]
    UnusableSecret { name: String, env: String },
    #[error("no access token from {origin}: {why}")]
    NoToken {
        origin: String,
        why: String,
        /// Another try would end alike.
        is_lasting: bool,
    },
    /// The stack knows which budget it is.
    #[error("the budget has no request left to ask for an access token")]
    Unpaid,
    #[error("no whole answer from {origin} within {limit:?} on the wire ({})", whose(*.is_own))]
    TimedOut {
        origin: String,
        limit: Duration,
        /// The limit is the request's own.
        is_own: bool,
    },
    #[error("{kind} {origin}{detail}")]
    Transport {
        origin: String,
        kind: Transport,
        detail: String,
    },
    #[error("the request body has {size} bytes, {limit} are allowed")]
    RequestTooLarge { size: usize, limit: usize },
    #[error("the answer from {origin} is larger than {limit} bytes")]
    ResponseTooLarge { origin: String, limit: usize },
    #[error(
        "the answers that the call holds are larger than {limit} bytes together; ask for less at once"
    )]
    CallTooLarge { limit: usize },
    #[error(
        "the answers being received take too much memory together, and none of them was complete"
    )]
    NoSpace,
    #[error(
        "the answer from {origin} did not go on for half a minute, while others waited for the memory that it took"
    )]
    Stands { origin: String },
    #[error(
        "the answer from {origin} is compressed though the request asks that it isn't, and not in \
         a way that can be read (gzip or deflate, once)"
    )]
    Coded { origin: String },
    #[error(
        "the answer from {origin} is only a part of one (status 206), in which a part of the \
         credential could not be found"
    )]
    Partial { origin: String },
    #[error("{origin} redirected more than {limit} times")]
    TooManyRedirects { origin: String, limit: u32 },
    #[error("the HTTP client could not be made: {0}")]
    Client(String),
    #[error(transparent)]
    Process(#[from] runner_process::Fault),
}

/// Which limit on the time of an exchange it was.
fn whose(is_own: bool) -> &'static str {
    if is_own {
        "the request's own timeout-ms, as its plugin set it"
    } else {
        "the limit of every request, RUNNER_REQUEST_TIMEOUT_MS"
    }
}

impl WireFault {
    pub(crate) fn code(&self) -> ExchangeCode {
        match self {
            Self::Refused(_) => ExchangeCode::Denied,
            Self::Invalid(_) | Self::RequestTooLarge { .. } => ExchangeCode::InvalidRequest,
            Self::NoSecret { .. }
            | Self::UnusableSecret { .. }
            | Self::NoToken {
                is_lasting: true, ..
            } => ExchangeCode::Auth,
            Self::NoToken { .. } => ExchangeCode::Transient,
            Self::Unpaid => ExchangeCode::Budget,
            Self::TimedOut { .. }
            | Self::Stands { .. }
            | Self::Process(runner_process::Fault::TimedOut { .. }) => ExchangeCode::Timeout,
            Self::Process(runner_process::Fault::NotStarted { .. }) | Self::Client(_) => {
                ExchangeCode::Other
            }
            Self::Transport { kind, .. } if kind.class() == Class::Transient => {
                ExchangeCode::Transient
            }
            Self::Transport { .. }
            | Self::TooManyRedirects { .. }
            | Self::ResponseTooLarge { .. }
            | Self::CallTooLarge { .. }
            | Self::NoSpace
            | Self::Coded { .. }
            | Self::Partial { .. }
            | Self::Process(_) => ExchangeCode::BadResponse,
        }
    }

    /// What retry and lanes read.
    pub(crate) fn class(&self) -> Class {
        match self {
            Self::Transport { kind, .. } => kind.class(),
            Self::TimedOut { .. }
            | Self::Stands { .. }
            | Self::Process(runner_process::Fault::TimedOut { .. }) => Class::Timeout,
            Self::NoSecret { .. }
            | Self::UnusableSecret { .. }
            | Self::NoToken {
                is_lasting: true, ..
            } => Class::Auth,
            Self::NoToken { .. } => Class::Transient,
            _ => Class::Permanent,
        }
    }
}
