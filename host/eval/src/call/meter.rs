//! What the calls of a case do together: what they used, and what they have under way.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use runner_gateway::AttemptLog;
use runner_sandbox::CallUsage;
use tokio::sync::watch;

/// What the calls of a case used together.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    guest_cpu_us: AtomicU64,
    peak_memory: AtomicU64,
    /// What became of their requests.
    pub(crate) attempts: Arc<AttemptLog>,
    /// Exchanges under way.
    open: watch::Sender<u32>,
}

/// Counts an exchange as under way until it is dropped.
pub(super) struct Open<'a>(&'a Meter);

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.open.send_modify(|open| *open -= 1);
    }
}

impl Meter {
    /// Counts an exchange as under way from now on.
    pub(super) fn open(&self) -> Open<'_> {
        self.open.send_modify(|open| *open += 1);
        Open(self)
    }

    /// Waits until no exchange is under way.
    pub(super) async fn idle(&self) {
        let mut open = self.open.subscribe();
        // It fails when there is no sender, which is `self`.
        drop(open.wait_for(|open| *open == 0).await);
    }

    /// Time inside guests.
    pub(crate) fn guest_cpu(&self) -> Duration {
        Duration::from_micros(self.guest_cpu_us.load(Ordering::Relaxed))
    }

    /// The largest memory of any guest, in bytes.
    pub(crate) fn peak_memory(&self) -> u64 {
        self.peak_memory.load(Ordering::Relaxed)
    }

    /// Adds what one call used.
    pub(super) fn add(&self, usage: &CallUsage) {
        self.guest_cpu_us
            .fetch_add(usage.guest_cpu.as_micros() as u64, Ordering::Relaxed);
        self.peak_memory
            .fetch_max(usage.peak_memory, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::poll;

    use super::*;

    #[tokio::test]
    async fn a_case_is_idle_when_the_last_of_its_exchanges_has_ended() {
        let meter = Meter::default();
        meter.idle().await;
        let (first, second) = (meter.open(), meter.open());
        let mut idle = Box::pin(meter.idle());
        assert!(poll!(&mut idle).is_pending());
        drop(first);
        assert!(poll!(&mut idle).is_pending());
        drop(second);
        assert!(poll!(&mut idle).is_ready());
    }
}
