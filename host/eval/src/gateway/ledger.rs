//! The account of an exchange's time: what was work and what was waiting.
//!
//! Kept outside the futures whose time it counts, so that an exchange which is cut short
//! is accounted for up to that moment.

use std::future::Future;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::clock::{Held, WorkClock};
use super::exchange::Spent;

/// One exchange's account.
pub(super) struct Ledger<'a> {
    spent: Mutex<Spent>,
    clock: Option<&'a WorkClock>,
    _open: Option<Held>,
}

impl<'a> Ledger<'a> {
    /// Opens an exchange on the call's clock.
    pub(super) fn open(clock: Option<&'a WorkClock>) -> Self {
        Self {
            spent: Mutex::default(),
            clock,
            _open: clock.map(WorkClock::open),
        }
    }

    pub(super) fn spent(&self) -> Spent {
        *self.lock()
    }

    /// Runs `future` and books its time as waiting.
    pub(super) async fn waiting<F: Future>(&self, future: F) -> F::Output {
        let _held = self.clock.map(WorkClock::wait);
        let _timer = Timer::start(|time| self.lock().waited += time);
        future.await
    }

    /// Runs an attempt and books its time as work.
    pub(super) async fn working<F: Future>(&self, attempt: F) -> F::Output {
        self.lock().attempts += 1;
        let _timer = Timer::start(|time| {
            let mut spent = self.lock();
            spent.worked += time;
            spent.latency = time;
        });
        attempt.await
    }

    fn lock(&self) -> MutexGuard<'_, Spent> {
        self.spent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reports the time until it is dropped.
struct Timer<F: Fn(Duration)> {
    since: Instant,
    report: F,
}

impl<F: Fn(Duration)> Timer<F> {
    fn start(report: F) -> Self {
        let since = Instant::now();
        Self { since, report }
    }
}

impl<F: Fn(Duration)> Drop for Timer<F> {
    fn drop(&mut self) {
        (self.report)(self.since.elapsed());
    }
}
