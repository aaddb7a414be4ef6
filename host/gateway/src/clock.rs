//! The time that a call *works*, as against the time that passes.
//!
//! A test's timeout counts work: a queue in front of a lane, or a pause that a server
//! asked for, must not make a slow quota look like a slow model. So the clock stands
//! still while the call has exchanges open and every one of them waits. (While none is
//! open the guest itself is computing, and while one is on the wire the model is.)
//!
//! The meter is a plain state machine that is given the time; the clock around it adds a
//! lock and a wake-up.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

#[cfg(test)]
mod tests;

/// A work clock. Clones are the same clock.
#[derive(Debug, Clone)]
pub struct WorkClock(Arc<ClockState>);

#[derive(Debug)]
struct ClockState {
    meter: Mutex<Meter>,
    changed: Notify,
}

impl Default for WorkClock {
    fn default() -> Self {
        Self::start()
    }
}

impl WorkClock {
    /// Starts a running clock that shows zero.
    pub fn start() -> Self {
        Self(Arc::new(ClockState {
            meter: Mutex::new(Meter::start(Instant::now())),
            changed: Notify::new(),
        }))
    }

    /// The work so far.
    pub fn worked(&self) -> Duration {
        self.meter().worked(Instant::now())
    }

    /// Completes once the clock shows `limit`. Safe to drop and to ask for again.
    pub async fn spent(&self, limit: Duration) {
        loop {
            let changed = self.0.changed.notified();
            tokio::pin!(changed);
            // From here on a change wakes us, even between reading and waiting.
            changed.as_mut().enable();
            let (worked, runs) = {
                let meter = self.meter();
                (meter.worked(Instant::now()), meter.runs())
            };
            let Some(left) = limit.checked_sub(worked).filter(|left| !left.is_zero()) else {
                return;
            };
            if runs {
                tokio::select! {
                    () = changed => {}
                    () = tokio::time::sleep(left) => {}
                }
            } else {
                changed.await;
            }
        }
    }

    /// Counts an exchange as open until the guard is dropped.
    pub(crate) fn open(&self) -> ClockHold {
        self.change(Meter::open);
        ClockHold(self.clone(), Meter::close)
    }

    /// Counts an open exchange as waiting until the guard is dropped.
    pub(crate) fn wait(&self) -> ClockHold {
        self.change(Meter::wait);
        ClockHold(self.clone(), Meter::resume)
    }

    /// Stands still until the guard is dropped, unless an exchange is on the wire meanwhile: for
    /// a pause that the user asked for.
    pub fn pause(&self) -> Pause {
        let open = self.open();
        Pause {
            _wait: self.wait(),
            _open: open,
        }
    }

    fn meter(&self) -> MutexGuard<'_, Meter> {
        self.0.meter.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: Change) {
        let (before, after) = {
            let mut meter = self.meter();
            let before = meter.runs();
            change(&mut meter, Instant::now());
            (before, meter.runs())
        };
        if before != after {
            self.0.changed.notify_waiters();
        }
    }
}

type Change = fn(&mut Meter, Instant);

/// Undoes a change of the clock's state when dropped.
pub(crate) struct ClockHold(WorkClock, Change);

impl Drop for ClockHold {
    fn drop(&mut self) {
        self.0.change(self.1);
    }
}

/// A pause of the clock, until it is dropped. Its parts end in this order: what is open waits no longer than it is
/// open.
pub struct Pause {
    _wait: ClockHold,
    _open: ClockHold,
}

/// The state: which exchanges are open and waiting, and the work until `since`.
#[derive(Debug, Clone, Copy)]
struct Meter {
    open: u32,
    waiting: u32,
    worked: Duration,
    since: Instant,
}

impl Meter {
    fn start(now: Instant) -> Self {
        Self {
            open: 0,
            waiting: 0,
            worked: Duration::ZERO,
            since: now,
        }
    }

    fn runs(&self) -> bool {
        self.open == 0 || self.waiting < self.open
    }

    fn worked(&self, now: Instant) -> Duration {
        if self.runs() {
            self.worked + now.saturating_duration_since(self.since)
        } else {
            self.worked
        }
    }

    fn settle(&mut self, now: Instant) {
        self.worked = self.worked(now);
        self.since = now;
    }

    fn open(&mut self, now: Instant) {
        self.settle(now);
        self.open += 1;
    }

    fn close(&mut self, now: Instant) {
        self.settle(now);
        self.open -= 1;
    }

    fn wait(&mut self, now: Instant) {
        self.settle(now);
        self.waiting += 1;
    }

    fn resume(&mut self, now: Instant) {
        self.settle(now);
        self.waiting -= 1;
    }
}
