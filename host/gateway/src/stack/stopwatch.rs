//! Takes the time of an exchange: what was work and what was waiting.
//!
//! Kept outside the futures whose time it counts, so that an exchange which is cut short
//! is accounted for up to that moment.

use std::future::Future;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch;

use crate::clock::{ClockHold, WorkClock};
use crate::exchange::ExchangeUsage;

/// Takes the time of one exchange.
pub(super) struct Stopwatch<'a> {
    spent: Mutex<ExchangeUsage>,
    clock: Option<&'a WorkClock>,
    _open: Option<ClockHold>,
    /// Hears whether an attempt is on the wire.
    on_wire: Option<watch::Sender<bool>>,
}

impl<'a> Stopwatch<'a> {
    /// Opens an exchange on the call's clock.
    pub(super) fn open(clock: Option<&'a WorkClock>) -> Self {
        Self {
            spent: Mutex::default(),
            clock,
            _open: clock.map(WorkClock::open),
            on_wire: None,
        }
    }

    /// The stopwatch of a request that several callers wait for. It has no clock: each caller
    /// has its own, and learns through `on_wire` when it runs.
    pub(super) fn of_shared(on_wire: watch::Sender<bool>) -> Self {
        Self {
            spent: Mutex::default(),
            clock: None,
            _open: None,
            on_wire: Some(on_wire),
        }
    }

    pub(super) fn spent(&self) -> ExchangeUsage {
        *self.lock()
    }

    /// Runs `future` and books its time as waiting.
    pub(super) async fn waiting<F: Future>(&self, future: F) -> F::Output {
        let _held = self.clock.map(WorkClock::wait);
        let _timer = Timer::start(|time| self.lock().waited += time);
        future.await
    }

    /// Runs `future` while the clock runs on, and books its time as waiting: the work is
    /// on another stopwatch, whose time [`Self::adopt`] takes over.
    pub(super) async fn beside<F: Future>(&self, future: F) -> F::Output {
        let _timer = Timer::start(|time| self.lock().waited += time);
        future.await
    }

    /// Takes over what a shared request took; its attempts are one caller's only.
    pub(super) fn adopt(&self, shared: &ExchangeUsage, is_payer: bool) {
        let mut spent = self.lock();
        spent.past_latency += shared.worked + shared.past_latency;
        if is_payer {
            spent.attempts += shared.attempts;
        }
    }

    /// Notes what a remembered answer had taken.
    pub(super) fn remember(&self, latency: Duration, attempts: u32) {
        let mut spent = self.lock();
        spent.past_latency += latency;
        spent.past_attempts += attempts;
    }

    /// Runs an attempt and books its time as work.
    pub(super) async fn working<F: Future>(&self, attempt: F) -> F::Output {
        self.lock().attempts += 1;
        self.tell(true);
        let _timer = Timer::start(|time| {
            let mut spent = self.lock();
            spent.worked += time;
            spent.latency = time;
            drop(spent);
            self.tell(false);
        });
        attempt.await
    }

    fn tell(&self, on_wire: bool) {
        if let Some(listeners) = &self.on_wire {
            listeners.send_replace(on_wire);
        }
    }

    fn lock(&self) -> MutexGuard<'_, ExchangeUsage> {
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
