//! Measures guest time: what a call spends in guest code, not what it waits for.
//!
//! A call is a future. Its time is the time inside its polls, minus the time inside the polls
//! of host calls; so neither waiting for a server, nor for a turn on a busy executor, nor
//! the host's own work counts. Wall clock inside a poll, not the thread's CPU clock, which
//! costs a system call on each side; on a machine with more threads than cores the figure is
//! therefore an upper bound. Fuel is the measure that does not depend on the machine.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Stopwatch of one call. Shared between the call's future and its store, which are always
/// on the same thread at any one moment, so relaxed atomics are enough.
#[derive(Debug)]
pub(crate) struct Meter {
    origin: Instant,
    /// Nanoseconds before the current stretch.
    spent: AtomicU64,
    /// Nanoseconds since `origin` when the current stretch began, plus one; 0: stopped.
    since: AtomicU64,
}

impl Meter {
    pub(crate) fn new() -> Self {
        Self {
            origin: Instant::now(),
            spent: AtomicU64::new(0),
            since: AtomicU64::new(0),
        }
    }

    /// Guest time up to this moment.
    pub(crate) fn spent(&self) -> Duration {
        let spent = self.spent.load(Ordering::Relaxed);
        let running = match self.since.load(Ordering::Relaxed) {
            0 => 0,
            since => self.now().saturating_sub(since - 1),
        };
        Duration::from_nanos(spent + running)
    }

    /// Counts the time inside the polls of `future`.
    pub(crate) async fn inside<F: Future>(&self, future: F) -> F::Output {
        self.while_polling(future, Self::resume, Self::pause).await
    }

    /// Leaves out the time inside the polls of `future`, which runs within [`Self::inside`].
    pub(crate) async fn outside<F: Future>(&self, future: F) -> F::Output {
        self.while_polling(future, Self::pause, Self::resume).await
    }

    async fn while_polling<F: Future>(
        &self,
        future: F,
        before: fn(&Self),
        after: fn(&Self),
    ) -> F::Output {
        let mut future = pin!(future);
        poll_fn(|context| {
            before(self);
            let poll = future.as_mut().poll(context);
            after(self);
            poll
        })
        .await
    }

    fn resume(&self) {
        self.since.store(self.now() + 1, Ordering::Relaxed);
    }

    fn pause(&self) {
        self.spent
            .store(self.spent().as_nanos() as u64, Ordering::Relaxed);
        self.since.store(0, Ordering::Relaxed);
    }

    fn now(&self) -> u64 {
        self.origin.elapsed().as_nanos() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Works for at least the given time.
    fn work(amount: Duration) {
        let start = Instant::now();
        while start.elapsed() < amount {
            std::hint::spin_loop();
        }
    }

    #[tokio::test]
    async fn only_time_inside_counts() {
        let meter = Meter::new();
        let unit = Duration::from_millis(2);
        meter
            .inside(async {
                work(unit);
                meter.outside(async { work(unit * 20) }).await;
                tokio::task::yield_now().await;
                work(unit);
            })
            .await;
        work(unit * 20);
        let spent = meter.spent();
        assert!(spent >= unit * 2, "{spent:?}");
        // Not a bound on speed: what must not be in it is forty units.
        assert!(
            spent + unit * 40 < meter.origin.elapsed(),
            "{spent:?} includes time outside"
        );
    }
}
