//! Measures guest time: what a call spends in guest code, not what it waits for.
//!
//! A call is a future. Its time is the time inside its polls, minus the time inside the polls
//! of host calls; so neither waiting for a server, nor for a turn on a busy executor, nor
//! the host's own work counts. A guest that waits while no host call is under way sleeps, and
//! that time is its own: it holds an instance that others wait for. Wall clock inside a poll, not the thread's CPU clock, which
//! costs a system call on each side; on a machine with more threads than cores the figure is
//! therefore an upper bound. Fuel is the measure that does not depend on the machine.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use futures_util::task::AtomicWaker;

use crate::trap::OverGuestTime;

/// Stopwatch of one call. Shared between the call's future and its store, which are always
/// on the same thread at any one moment, so relaxed atomics are enough.
#[derive(Debug)]
pub(crate) struct Meter {
    origin: Instant,
    /// Nanoseconds before the current stretch.
    spent: AtomicU64,
    /// Nanoseconds since `origin` when the current stretch began, plus one; 0: stopped.
    since: AtomicU64,
    /// What the guest waits for is the host, or its next turn.
    excused: AtomicBool,
    /// Answers that the guest waits for in a way of its own, with [`PollGuard`] for each.
    waits: AtomicUsize,
    /// Wakes the call when the last of those has come: what it sleeps from then on is its own time.
    waker: AtomicWaker,
}

/// An answer of the host is awaited by a guest that polls for it. Dropped with it.
#[derive(Debug)]
pub(crate) struct PollGuard(Arc<Meter>);

impl Drop for PollGuard {
    fn drop(&mut self) {
        self.0.waits.fetch_sub(1, Ordering::AcqRel);
        self.0.waker.wake();
    }
}

/// Whether the host has something to do for a guest that polls: from when it is woken until it has
/// looked.
struct Turn {
    meter: Arc<Meter>,
    waits: Mutex<Option<PollGuard>>,
    task: AtomicWaker,
}

impl Turn {
    fn set(&self, waits: Option<PollGuard>) {
        *self.waits.lock().unwrap_or_else(PoisonError::into_inner) = waits;
    }
}

impl Wake for Turn {
    fn wake(self: Arc<Self>) {
        self.set(Some(self.meter.waits()));
        self.task.wake();
    }
}

impl Meter {
    pub(crate) fn new() -> Self {
        Self {
            origin: Instant::now(),
            spent: AtomicU64::new(0),
            since: AtomicU64::new(0),
            excused: AtomicBool::new(false),
            waits: AtomicUsize::new(0),
            waker: AtomicWaker::new(),
        }
    }

    /// From now on until this is dropped, the guest waits for the host when it sleeps.
    pub(crate) fn waits(self: &Arc<Self>) -> PollGuard {
        self.waits.fetch_add(1, Ordering::AcqRel);
        PollGuard(Arc::clone(self))
    }

    /// Runs what takes something from the guest piece by piece, in a task of its own: the guest
    /// waits for the host while a piece is there, and spends its own time while there is none.
    pub(crate) async fn taking<F: Future>(self: &Arc<Self>, future: F) -> F::Output {
        let turn = Arc::new(Turn {
            meter: Arc::clone(self),
            waits: Mutex::new(None),
            task: AtomicWaker::new(),
        });
        let waker = Waker::from(Arc::clone(&turn));
        let mut future = pin!(future);
        poll_fn(|context| {
            turn.task.register(context.waker());
            // Before it looks: what comes while it does sets the next turn.
            turn.set(None);
            future.as_mut().poll(&mut Context::from_waker(&waker))
        })
        .await
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

    /// Counts the time inside the polls of `future`, and between them where it sleeps; ends it
    /// with [`OverGuestTime`] when it has slept beyond `limit`. Needs a runtime with a clock.
    pub(crate) async fn inside<T>(
        &self,
        limit: Duration,
        future: impl Future<Output = wasmtime::Result<T>>,
    ) -> wasmtime::Result<T> {
        let mut future = pin!(future);
        let mut alarm = None;
        poll_fn(|context| {
            self.resume();
            let poll = future.as_mut().poll(context);
            // Before the count is read, or an answer that comes in between wakes nobody.
            self.waker.register(context.waker());
            let waits = self.waits.load(Ordering::Acquire) > 0;
            if poll.is_ready() || self.excused.swap(false, Ordering::Relaxed) || waits {
                self.pause();
                return poll;
            }
            let left = limit.saturating_sub(self.spent());
            if left.is_zero() {
                return Poll::Ready(Err(OverGuestTime.into()));
            }
            // Its time may be up before anything else wakes it.
            let alarm = alarm.insert(Box::pin(tokio::time::sleep(left)));
            match alarm.as_mut().poll(context) {
                Poll::Ready(()) => Poll::Ready(Err(OverGuestTime.into())),
                Poll::Pending => Poll::Pending,
            }
        })
        .await
    }

    /// Takes in that the guest waits next for its turn, not for the time.
    pub(crate) fn yields(&self) {
        self.excused.store(true, Ordering::Relaxed);
    }

    /// Leaves out `future`, which runs within [`Self::inside`].
    pub(crate) async fn outside<F: Future>(&self, future: F) -> F::Output {
        let mut future = pin!(future);
        poll_fn(|context| {
            self.pause();
            let poll = future.as_mut().poll(context);
            self.resume();
            if poll.is_pending() {
                self.excused.store(true, Ordering::Relaxed);
            }
            poll
        })
        .await
    }

    /// Starts the current stretch, or goes on with it.
    fn resume(&self) {
        if self.since.load(Ordering::Relaxed) == 0 {
            self.since.store(self.now() + 1, Ordering::Relaxed);
        }
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
        let call = meter.inside(unit * 40, async {
            work(unit);
            meter.outside(async { work(unit * 20) }).await;
            meter.yields();
            tokio::task::yield_now().await;
            work(unit);
            Ok(())
        });
        call.await.expect("it ends in time");
        work(unit * 20);
        let spent = meter.spent();
        assert!(spent >= unit * 2, "{spent:?}");
        // Not a bound on speed: what must not be in it is forty units.
        assert!(
            spent + unit * 40 < meter.origin.elapsed(),
            "{spent:?} includes time outside"
        );
    }

    #[tokio::test]
    async fn who_sleeps_spends_and_who_waits_for_the_host_does_not() {
        let limit = Duration::from_millis(5);
        let meter = Meter::new();
        let call = meter.inside(limit, async {
            meter.outside(tokio::time::sleep(limit * 10)).await;
            Ok(())
        });
        call.await.expect("the host's time");
        let call = meter.inside(limit, async {
            tokio::time::sleep(Duration::from_hours(5)).await;
            Ok(())
        });
        let error = call.await.expect_err("the guest's time");
        assert!(error.is::<OverGuestTime>(), "{error}");
    }

    #[tokio::test]
    async fn who_polls_for_an_answer_spends_once_it_is_there() {
        let limit = Duration::from_millis(5);
        let meter = Arc::new(Meter::new());
        let waits = meter.waits();
        let answered = tokio::spawn(async move {
            tokio::time::sleep(limit * 10).await;
            drop(waits);
        });
        let call = meter.inside(limit, async {
            answered.await.expect("it ends");
            tokio::time::sleep(Duration::from_hours(5)).await;
            Ok(())
        });
        let error = call.await.expect_err("the guest's time");
        assert!(error.is::<OverGuestTime>(), "{error}");
        assert!(meter.origin.elapsed() >= limit * 11, "the wait was counted");
    }

    #[tokio::test]
    async fn who_gives_nothing_to_what_is_taken_from_it_spends() {
        let limit = Duration::from_millis(5);
        let meter = Arc::new(Meter::new());
        let (give, mut take) = tokio::sync::mpsc::unbounded_channel::<()>();
        let taking = {
            let meter = Arc::clone(&meter);
            tokio::spawn(async move { meter.taking(take.recv()).await })
        };
        let call = meter.inside(limit, async {
            taking.await.expect("it ends");
            Ok(())
        });
        let error = call.await.expect_err("the guest's time");
        assert!(error.is::<OverGuestTime>(), "{error}");
        drop(give);
    }

    #[tokio::test]
    async fn who_has_given_waits_for_the_hosts_turn() {
        let limit = Duration::from_millis(5);
        let meter = Arc::new(Meter::new());
        let (give, mut take) = tokio::sync::mpsc::unbounded_channel();
        let mut taking = Box::pin(meter.taking(take.recv()));
        // Nothing is there, and then something is, which nobody looks at for a while.
        let nothing = taking
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()));
        assert!(nothing.is_pending());
        give.send(()).expect("it is taken");
        let call = meter.inside(limit, async {
            tokio::time::sleep(limit * 10).await;
            Ok(())
        });
        call.await.expect("the host's time");
        assert_eq!(taking.await, Some(()));
        assert_eq!(meter.waits.load(Ordering::Acquire), 0);
    }
}
