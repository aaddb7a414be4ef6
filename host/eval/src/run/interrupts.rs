//! How a run is asked to stop.

use tokio::sync::watch;

/// Asks a run to stop; the first time it drains, the second time it stops now. What comes before
/// the run has heard of the last one is the same one: some programs send a signal to their child
/// and at once to its whole group.
#[derive(Debug, Clone)]
pub struct Interrupts(watch::Sender<InterruptCounts>);

/// How often a run was asked to stop, and how often it has heard it.
#[derive(Debug, Clone, Copy, Default)]
struct InterruptCounts {
    asked: u32,
    heard: u32,
}

impl Interrupts {
    /// Nothing was asked yet.
    pub fn new() -> Self {
        Self(watch::Sender::new(InterruptCounts::default()))
    }

    /// Asks once more; `false` if the run has not heard of the last time.
    pub fn interrupt(&self) -> bool {
        self.0.send_if_modified(|it| {
            let is_new = it.asked == it.heard;
            it.asked += u32::from(is_new);
            is_new
        })
    }

    /// Waits until the run is asked once more.
    pub(crate) async fn next(&self) {
        let mut asked = self.0.subscribe();
        // It fails when there is no sender, which is `self`.
        drop(asked.wait_for(|it| it.asked > it.heard).await);
        self.0.send_if_modified(|it| {
            it.heard = it.asked;
            false
        });
    }
}

impl Default for Interrupts {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    /// `timeout` and shells send a signal to their child and at once to its group.
    #[test]
    fn signals_that_come_before_the_first_is_heard_are_one() {
        let interrupts = Interrupts::new();
        let hears = || interrupts.next().now_or_never().is_some();
        assert!(!hears());
        assert!(interrupts.interrupt());
        assert!(!interrupts.interrupt());
        assert!(hears());
        assert!(!hears());
        assert!(interrupts.interrupt());
        assert!(hears());
    }
}
