//! What makes two requests one, and how such a request ends.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use runner_scheduler::Class;
use runner_store::Digest;

use super::fault::Fault;
use crate::admission::budget::{BudgetId, Claim};
use crate::exchange::{ExchangeUsage, Reply};
use crate::lane::Lane;
use crate::wire::bodies::Space;
use crate::wire::fault::WireFault;

/// What makes two requests one. That is more than what makes their answers equal in the
/// cache: also the plugin (its grants decide where a redirect may lead), the lane, the time on the
/// wire, the retries and the budgets that pay. A caller never gets less than it would have got alone.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct SharingKey {
    pub(super) cache_key: Digest,
    pub(super) plugin: String,
    pub(super) lane: Lane,
    pub(super) time_limit: Duration,
    pub(super) max_retries: Option<u32>,
    /// Whose budgets pay.
    pub(super) payers: Vec<BudgetId>,
}

/// How a shared request ended, and what it took.
#[derive(Debug, Clone)]
pub(super) struct SharedEnd {
    pub(super) result: Result<Arc<Reply>, Fault>,
    pub(super) spent: ExchangeUsage,
    /// What the call of whoever pays still owes; given back if nobody takes it.
    pub(super) claim: OnlyOnce<Claim>,
    /// That of its answer, for whoever takes it first.
    pub(super) space: OnlyOnce<Space>,
}

/// Something that only the first of several callers gets.
pub(super) type OnlyOnce<T> = Arc<Mutex<Option<T>>>;

pub(super) fn take<T>(from: &OnlyOnce<T>) -> Option<T> {
    from.lock().unwrap_or_else(PoisonError::into_inner).take()
}

impl SharedEnd {
    /// Whether another try might end better.
    pub(super) fn may_pass(&self) -> bool {
        let class = match &self.result {
            Ok(reply) => reply.class,
            // Of the call that led: another may hold less.
            Err(Fault::Wire(WireFault::CallTooLarge { .. })) => return true,
            Err(fault) => fault.class(),
        };
        matches!(class, Class::Throttled | Class::Transient | Class::Timeout)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_may_pass_is_asked_for_again() {
        for (class, again) in [
            (Class::Throttled, true),
            (Class::Transient, true),
            (Class::Timeout, true),
            (Class::Ok, false),
            (Class::Permanent, false),
            (Class::QuotaExhausted, false),
            (Class::Auth, false),
        ] {
            let reply = Reply {
                status: 200,
                headers: Vec::new(),
                body: Vec::new(),
                pieces: Vec::new(),
                class,
                retry_after: None,
                cached: false,
                spent: ExchangeUsage::default(),
            };
            let end = SharedEnd {
                result: Ok(Arc::new(reply)),
                spent: ExchangeUsage::default(),
                claim: Arc::default(),
                space: Arc::default(),
            };
            assert_eq!(end.may_pass(), again, "{class:?}");
        }
    }
}
