//! What a call asks of the world, counted before it is done.
//!
//! Our own imports and `wasi:http` lead to the same host, so one count is of both. A used-up count
//! is an error that the guest sees; whether an effect is *granted* is the host's to say.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::abi;
use crate::limits::CallLimits;

/// Counters of what a call asked of the world. Shared with its requests through `wasi:http`.
pub(crate) struct Effects {
    limits: CallLimits,
    nested: bool,
    http: AtomicU32,
    llm: AtomicU32,
    refused: Mutex<Option<abi::Error>>,
}

impl Effects {
    /// Of a call with these limits; one on behalf of another guest may not call models.
    pub(crate) fn new(limits: CallLimits, nested: bool) -> Self {
        Self {
            limits,
            nested,
            http: AtomicU32::new(0),
            llm: AtomicU32::new(0),
            refused: Mutex::default(),
        }
    }

    /// Notes how the host answered a request through `wasi:http`: why it refused it, if it did.
    pub(crate) fn answered(&self, refusal: Option<abi::Error>) {
        *self.refused.lock().unwrap_or_else(PoisonError::into_inner) = refusal;
    }

    /// Why the host refused the last request through `wasi:http`, if it did. Few toolchains pass that on to the
    /// guest's code, which may crash of it.
    pub(crate) fn refusal(&self) -> Option<abi::Error> {
        self.refused
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// HTTP requests that were asked for, refused ones included.
    pub(crate) fn http_calls(&self) -> u32 {
        self.http.load(Ordering::Relaxed)
    }

    /// Model calls that were asked for, refused ones included.
    pub(crate) fn llm_calls(&self) -> u32 {
        self.llm.load(Ordering::Relaxed)
    }

    /// Counts HTTP requests before they are made.
    pub(crate) fn take_http(&self, count: usize) -> Granted {
        Granted::of(&self.http, count, self.limits.http_calls, "HTTP requests")
    }

    /// Counts model calls before they are made.
    pub(crate) fn take_llm(&self, count: usize) -> Granted {
        let granted = Granted::of(&self.llm, count, self.limits.llm_calls, "model calls");
        if !self.nested {
            return granted;
        }
        Granted {
            count: 0,
            refusal: Some(abi::Error::new(
                abi::ErrorCode::Denied,
                "a plugin that is called by a plugin may not call models itself",
            )),
        }
    }
}

/// How many of the effects that a guest asked for at once it may have.
pub(crate) struct Granted {
    pub(crate) count: usize,
    /// What is said of the others, if there are any.
    pub(crate) refusal: Option<abi::Error>,
}

impl Granted {
    fn of(counter: &AtomicU32, asked: usize, limit: u32, what: &str) -> Self {
        let more = u32::try_from(asked).unwrap_or(u32::MAX);
        let before = counter.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |count| {
            Some(count.saturating_add(more))
        });
        let left = limit.saturating_sub(before.unwrap_or_else(|count| count)) as usize;
        let refused = || {
            let message = format!("no more than {limit} {what} in one call");
            abi::Error::new(abi::ErrorCode::Budget, message)
        };
        Self {
            count: asked.min(left),
            refusal: (asked > left).then(refused),
        }
    }

    /// Returns the refusal of a single effect, if there is one.
    pub(crate) fn one(self) -> Result<(), abi::Error> {
        self.refusal.map_or(Ok(()), Err)
    }
}
