//! Why an exchange gave no response.
//!
//! `Fault` is what the stages raise, with its parts as fields;
//! [`ExchangeError`] is what leaves the gateway: a code to act on and a message in which
//! every secret is masked, whatever the parts were (a redirect's target, for one, is
//! written by the server).

use std::sync::Arc;

use runner_scheduler::{self as scheduler, Class};

use crate::admission::budget::Exceeded;
use crate::exchange::{ExchangeCode, ExchangeError, ExchangeUsage};
use crate::policy::masker::Masker;
use crate::wire::fault::WireFault;

/// What a stage raises.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Fault {
    #[error(transparent)]
    Wire(#[from] WireFault),
    #[error("{method} {url} is not in the recording{nearest}")]
    NotRecorded {
        method: String,
        url: String,
        nearest: String,
    },
    #[error("{method} {url} is in the recording {whose}")]
    OfAnother {
        method: String,
        url: String,
        whose: String,
    },
    #[error("{message}")]
    Replayed {
        code: ExchangeCode,
        class: Class,
        message: String,
    },
    #[error("{lane}: not sent: {}", reason(.why))]
    Unsent {
        lane: Arc<str>,
        why: scheduler::Refusal,
    },
    #[error("{lane}: {}{}", long(.wait), saying(.said.as_ref()))]
    GivenUp {
        lane: Arc<str>,
        /// Of the answer that asks for the wait.
        class: Class,
        wait: scheduler::LongWait,
        /// The server's own words.
        said: Option<String>,
    },
    #[error(transparent)]
    OverBudget(#[from] Exceeded),
}

/// A wait that is not sat out, and whose word that is.
fn long(wait: &scheduler::LongWait) -> String {
    format!(
        "the server asks to wait for {:.0} s, and maxRetryAfter (--max-retry-after) lets a request \
         wait for {:.0} s; raise it, or run what is missing later",
        wait.asked.as_secs_f64(),
        wait.longest.as_secs_f64()
    )
}

fn saying(said: Option<&String>) -> String {
    said.map_or_else(String::new, |said| format!("; it says: {said}"))
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
        Why::TooLong(wait) => long(wait),
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
        Why::UnknownLimit => {
            "it falls under a limit that was never declared, which is a bug in runner".to_owned()
        }
        Why::Draining => "the run is ending".to_owned(),
    }
}

impl Fault {
    pub(super) fn code(&self) -> ExchangeCode {
        match self {
            Self::Wire(fault) => fault.code(),
            Self::OverBudget(_) => ExchangeCode::Budget,
            Self::NotRecorded { .. } | Self::OfAnother { .. } => ExchangeCode::Other,
            Self::Unsent { why, .. } => match why {
                scheduler::Refusal::Oversize { .. } | scheduler::Refusal::TooLong(_) => {
                    ExchangeCode::RateLimited
                }
                scheduler::Refusal::QuotaExhausted { .. } => ExchangeCode::QuotaExhausted,
                scheduler::Refusal::Auth => ExchangeCode::Auth,
                scheduler::Refusal::NotFound => ExchangeCode::NotFound,
                scheduler::Refusal::Down { .. } => ExchangeCode::Transient,
                scheduler::Refusal::UnknownLimit => ExchangeCode::Other,
                scheduler::Refusal::Draining => ExchangeCode::Draining,
            },
            Self::Replayed { code, .. } => *code,
            Self::GivenUp {
                class: Class::Throttled,
                ..
            } => ExchangeCode::RateLimited,
            Self::GivenUp { .. } => ExchangeCode::Transient,
        }
    }

    /// What retry and lanes read.
    pub(super) fn class(&self) -> Class {
        match self {
            Self::Wire(fault) => fault.class(),
            Self::Replayed { class, .. } | Self::GivenUp { class, .. } => *class,
            Self::Unsent { why, .. } => match why {
                scheduler::Refusal::QuotaExhausted { .. } => Class::QuotaExhausted,
                scheduler::Refusal::TooLong(_) => Class::Throttled,
                scheduler::Refusal::Auth => Class::Auth,
                scheduler::Refusal::NotFound => Class::NotFound,
                scheduler::Refusal::Down { .. } => Class::Transient,
                scheduler::Refusal::Oversize { .. }
                | scheduler::Refusal::UnknownLimit
                | scheduler::Refusal::Draining => Class::Permanent,
            },
            _ => Class::Permanent,
        }
    }

    /// The form that leaves the gateway.
    pub(super) fn into_error(self, masker: &Masker, spent: ExchangeUsage) -> ExchangeError {
        ExchangeError {
            code: self.code(),
            class: self.class(),
            message: masker.mask(&self.to_string()).into_owned(),
            spent,
        }
    }
}
