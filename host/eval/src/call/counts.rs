//! What one call of a component, or of code, did: its requests, its waits, and what models that it asked used.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use runner_gateway::ExchangeUsage;

use crate::record::GraderUsage;

/// What one call did.
#[derive(Debug, Default)]
pub(super) struct Counts {
    /// Exchanges that were answered.
    answered: AtomicU64,
    /// Requests that left the machine, now or when they were recorded.
    attempts: AtomicU64,
    /// Those that left it now.
    pub(super) sent: AtomicU64,
    waited_us: AtomicU64,
    past_latency_us: AtomicU64,
    /// Time to the first token of an answer that was streamed.
    first_token: Mutex<Option<Duration>>,
    by_judges: Mutex<GraderUsage>,
    /// What the host said when a budget was spent.
    pub(super) refused: OnceLock<String>,
}

impl Counts {
    /// Requests that left the machine, now or when they were recorded.
    pub(super) fn attempts(&self) -> u64 {
        self.attempts.load(Ordering::Relaxed)
    }

    /// Counts that an exchange was answered.
    pub(super) fn answered(&self) {
        self.answered.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn add_wait(&self, wait: Duration) {
        self.waited_us
            .fetch_add(wait.as_micros() as u64, Ordering::Relaxed);
    }

    pub(super) fn waited(&self) -> Duration {
        Duration::from_micros(self.waited_us.load(Ordering::Relaxed))
    }

    /// What remembered answers took when they came.
    pub(super) fn past_latency(&self) -> Duration {
        Duration::from_micros(self.past_latency_us.load(Ordering::Relaxed))
    }

    /// Notes the time to the first token; `None`: what was noted is void. The last answer that was streamed counts.
    pub(super) fn note_first_token(&self, time: Option<Duration>) {
        *self
            .first_token
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = time;
    }

    /// Time to the first token, if the answer was streamed.
    pub(super) fn first_token(&self) -> Option<Duration> {
        *self
            .first_token
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn add(&self, spent: &ExchangeUsage) {
        let count = |sum: &AtomicU64, more| sum.fetch_add(more, Ordering::Relaxed);
        // A replayed run counts as the one that was recorded.
        count(
            &self.attempts,
            u64::from(spent.attempts + spent.past_attempts),
        );
        count(&self.sent, u64::from(spent.attempts));
        count(&self.waited_us, spent.waited.as_micros() as u64);
        count(&self.past_latency_us, spent.past_latency.as_micros() as u64);
    }

    /// Adds what a part of the call did.
    pub(super) fn include(&self, part: &Self) {
        let sums = [
            (&self.answered, &part.answered),
            (&self.attempts, &part.attempts),
            (&self.sent, &part.sent),
            (&self.waited_us, &part.waited_us),
            (&self.past_latency_us, &part.past_latency_us),
        ];
        for (sum, more) in sums {
            sum.fetch_add(more.load(Ordering::Relaxed), Ordering::Relaxed);
        }
    }

    /// Its requests were answered, and none left the machine.
    pub(super) fn is_cached(&self) -> bool {
        let none = |sum: &AtomicU64| sum.load(Ordering::Relaxed) == 0;
        none(&self.attempts) && !none(&self.answered)
    }

    pub(super) fn add_judge(&self, used: &GraderUsage) {
        self.lock().add(used);
    }

    pub(super) fn by_judges(&self) -> GraderUsage {
        *self.lock()
    }

    fn lock(&self) -> MutexGuard<'_, GraderUsage> {
        self.by_judges
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spent(attempts: u32, past_attempts: u32) -> ExchangeUsage {
        ExchangeUsage {
            attempts,
            past_attempts,
            ..ExchangeUsage::default()
        }
    }

    #[test]
    fn a_call_is_cached_when_it_was_answered_and_nothing_left_the_machine() {
        let after = |answered: u64, each: &[ExchangeUsage]| {
            let counts = Counts::default();
            counts.answered.store(answered, Ordering::Relaxed);
            for spent in each {
                counts.add(spent);
            }
            counts.is_cached()
        };
        assert!(after(1, &[spent(0, 0)]));
        assert!(!after(0, &[spent(0, 0)]), "nobody answered");
        assert!(!after(2, &[spent(0, 0), spent(1, 0)]));
        assert!(
            !after(1, &[spent(0, 1)]),
            "a replayed run counts as the recorded one"
        );
    }
}
