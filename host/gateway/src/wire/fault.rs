//! Why an exchange gave no response.
//!
//! `Fault` is what the stages of the gateway raise, with its parts as fields;
//! [`ExchangeError`] is what leaves the gateway: a code to act on and a message in which
//! every secret is masked, whatever the parts were (a redirect's target, for one, is
//! written by the server).

use std::sync::Arc;
use std::time::Duration;

use runner_scheduler as scheduler;

use crate::admission::budget::Exceeded;
use crate::exchange::Spent;
use crate::policy::grants::{Grants, Refusal};
use crate::wire::class::{Class, Transport};

/// What the host can act on. Each has one counterpart in the plugin contract, but for
/// `Cancelled`, of which no plugin lives to hear.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Code {
    /// The request itself is wrong.
    InvalidRequest,
    /// The credential has no value, or the server doesn't accept it.
    Auth,
    /// The server doesn't have what the lane asks for.
    NotFound,
    /// A rate limit forbids it, however long it waits.
    RateLimited,
    /// A quota or a balance is used up.
    QuotaExhausted,
    /// A capability is not granted.
    Denied,
    /// A time limit passed.
    Timeout,
    /// Worth another try later.
    Transient,
    /// A budget is spent.
    Budget,
    /// The server does not speak HTTP as it should.
    BadResponse,
    /// The run was cancelled.
    Cancelled,
    /// The host could not do its part.
    Other,
}

/// An exchange without a response.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ExchangeError {
    /// What kind of failure it is.
    pub code: Code,
    /// The same in the terms that retries and lanes think in.
    pub class: Class,
    /// One line for people, without secrets.
    pub message: String,
    /// What the exchange took until then.
    pub spent: Spent,
}

/// What a stage raises.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Fault {
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error("{0}")]
    Invalid(String),
    #[error("credential '{name}' is granted, but {env} is not set")]
    NoSecret { name: String, env: String },
    #[error("credential '{name}' from {env} has characters that no header can carry")]
    UnusableSecret { name: String, env: String },
    #[error("no whole answer from {origin} within {limit:?} on the wire ({})", whose(*.is_own))]
    TimedOut {
        origin: String,
        limit: Duration,
        /// The limit is the request's own.
        is_own: bool,
    },
    #[error("the time for this call was up")]
    PastDeadline,
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
    #[error("the answers on their way are too large together, and none came to its end")]
    NoSpace,
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
    #[error("{method} {url} is not in the recording{nearest}")]
    NotRecorded {
        method: String,
        url: String,
        nearest: String,
    },
    #[error("{message}")]
    Replayed {
        code: Code,
        class: Class,
        message: String,
    },
    #[error("the HTTP client could not be made: {0}")]
    Client(String),
    #[error("{lane}: not sent: {}", reason(.why))]
    Unsent {
        lane: Arc<str>,
        why: scheduler::Refusal,
    },
    #[error(transparent)]
    OverBudget(#[from] Exceeded),
    #[error("cancelled")]
    Cancelled,
}

/// Which limit on the time of an exchange it was.
fn whose(is_own: bool) -> &'static str {
    if is_own {
        "the request's own timeout-ms, as its plugin set it"
    } else {
        "the limit of every request, RUNNER_REQUEST_TIMEOUT_MS"
    }
}

/// Why the scheduler did not let a request go, and what to do about it.
fn reason(why: &scheduler::Refusal) -> String {
    use scheduler::Refusal as Why;
    match why {
        Why::Oversize {
            limit,
            asked,
            capacity,
        } => format!(
            "it needs about {asked} of the limit '{limit}', which holds {capacity} when nothing is \
             used; shorten the prompt, ask for fewer output tokens, or raise the limit"
        ),
        Why::QuotaExhausted { .. } => "the quota or balance behind this credential is used up, as \
             the server said to an earlier request"
            .to_owned(),
        Why::Auth => {
            "the server does not accept the credential, as it said to earlier requests".to_owned()
        }
        Why::NotFound => "the server does not have this model or address, as it said to earlier \
             requests, and nothing else was ever found"
            .to_owned(),
        Why::Down { lasted } => format!(
            "the server has failed for {:.0} s, at every attempt since the first; see that it \
             runs and that its address is right",
            lasted.as_secs_f64()
        ),
        Why::DeadlineInQueue { needed } => format!(
            "with its turn and its answer it would need {:.1} s, more than this call has left",
            needed.as_secs_f64()
        ),
        Why::UnknownLimit => {
            "it falls under a limit that was never declared, which is a bug in runner".to_owned()
        }
        Why::Draining => "the run is ending".to_owned(),
    }
}

impl Fault {
    pub(crate) fn code(&self) -> Code {
        match self {
            Self::Refused(_) => Code::Denied,
            Self::Invalid(_) | Self::RequestTooLarge { .. } => Code::InvalidRequest,
            Self::NoSecret { .. } | Self::UnusableSecret { .. } => Code::Auth,
            Self::TimedOut { .. } | Self::PastDeadline => Code::Timeout,
            Self::Transport { kind, .. } if kind.class() == Class::Transient => Code::Transient,
            Self::Transport { .. }
            | Self::TooManyRedirects { .. }
            | Self::ResponseTooLarge { .. }
            | Self::CallTooLarge { .. }
            | Self::NoSpace
            | Self::Coded { .. }
            | Self::Partial { .. } => Code::BadResponse,
            Self::OverBudget(_) => Code::Budget,
            Self::NotRecorded { .. } | Self::Client(_) => Code::Other,
            Self::Unsent { why, .. } => match why {
                scheduler::Refusal::Oversize { .. } => Code::RateLimited,
                scheduler::Refusal::QuotaExhausted { .. } => Code::QuotaExhausted,
                scheduler::Refusal::Auth => Code::Auth,
                scheduler::Refusal::NotFound => Code::NotFound,
                scheduler::Refusal::Down { .. } => Code::Transient,
                scheduler::Refusal::DeadlineInQueue { .. } => Code::Timeout,
                scheduler::Refusal::UnknownLimit => Code::Other,
                scheduler::Refusal::Draining => Code::Cancelled,
            },
            Self::Cancelled => Code::Cancelled,
            Self::Replayed { code, .. } => *code,
        }
    }

    /// What retry and lanes read.
    pub(crate) fn class(&self) -> Class {
        match self {
            Self::Transport { kind, .. } => kind.class(),
            Self::Replayed { class, .. } => *class,
            Self::TimedOut { .. } | Self::PastDeadline => Class::Timeout,
            Self::NoSecret { .. } | Self::UnusableSecret { .. } => Class::Auth,
            Self::Unsent { why, .. } => match why {
                scheduler::Refusal::QuotaExhausted { .. } => Class::QuotaExhausted,
                scheduler::Refusal::Auth => Class::Auth,
                scheduler::Refusal::NotFound => Class::NotFound,
                scheduler::Refusal::Down { .. } => Class::Transient,
                scheduler::Refusal::DeadlineInQueue { .. } => Class::Timeout,
                scheduler::Refusal::Oversize { .. }
                | scheduler::Refusal::UnknownLimit
                | scheduler::Refusal::Draining => Class::Permanent,
            },
            _ => Class::Permanent,
        }
    }

    /// The form that leaves the gateway.
    pub(crate) fn into_error(self, grants: &Grants, spent: Spent) -> ExchangeError {
        ExchangeError {
            code: self.code(),
            class: self.class(),
            message: grants.masker().mask(&self.to_string()).into_owned(),
            spent,
        }
    }
}
