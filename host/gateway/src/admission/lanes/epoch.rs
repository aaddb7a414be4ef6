//! The one place where the clock's time becomes the scheduler's, and back.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use runner_scheduler::Time;
use tokio::time::{Instant, sleep_until};

/// What tokio's timers can tell apart. A machine that wants to be woken in the past, which it
/// must not, costs this much and not a processor.
const SHORTEST_SLEEP: Duration = Duration::from_millis(1);

/// When the scheduler's time began.
#[derive(Debug, Clone, Copy)]
pub(super) struct Epoch(Instant);

impl Epoch {
    pub(super) fn begin() -> Self {
        Self(Instant::now())
    }

    /// How much of the clock's minute has passed.
    pub(super) fn minute() -> Duration {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let nanos = since.unwrap_or_default().as_nanos() % 60_000_000_000;
        Duration::from_nanos(nanos as u64)
    }

    pub(super) fn now(&self) -> Time {
        Time::ZERO + self.0.elapsed()
    }

    /// `None` for a time that is never reached.
    pub(super) fn instant(&self, at: Time) -> Option<Instant> {
        if at == Time::NEVER {
            return None;
        }
        self.0.checked_add(at - Time::ZERO)
    }

    /// Sleeps until then, but not for nothing.
    pub(super) async fn reached(&self, at: Time) {
        match self.instant(at) {
            Some(at) => sleep_until(at.max(Instant::now() + SHORTEST_SLEEP)).await,
            None => std::future::pending().await,
        }
    }
}
