//! Ctrl-C and SIGTERM.
//!
//! The first asks the run to drain, the second to stop now, the third ends the process: a
//! person who presses it three times is not to be kept waiting by anything, not even a bug. Nor
//! is one who presses it twice while nobody reads what the run says, or once while nobody reads
//! its results: they are stored, and what is printed can be printed again.

use std::time::Duration;

use runner_eval::run::Interrupts;

use crate::exit::INTERRUPTED;
use crate::talk::Talk;

/// What a signal leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reaction {
    Ask,
    AskAgain,
    Leave,
}

/// What the `n`-th signal (from 1) leads to.
fn reaction(n: u32) -> Reaction {
    match n {
        0 | 1 => Reaction::Ask,
        2 => Reaction::AskAgain,
        _ => Reaction::Leave,
    }
}

/// How long a run that was told to stop now may take to do so.
const PATIENCE: Duration = Duration::from_secs(5);

/// Ends the process at the first signal: nothing is left to be saved.
pub(crate) async fn leave() {
    if let Ok(mut signals) = Signals::new() {
        signals.next().await;
        std::process::exit(INTERRUPTED.into());
    }
}

async fn leave_after(patience: Duration) {
    tokio::time::sleep(patience).await;
    std::process::exit(INTERRUPTED.into());
}

/// Passes signals on to the run, until the task is dropped.
pub(crate) async fn watch(interrupts: Interrupts, talk: Talk) {
    let Ok(mut signals) = Signals::new() else {
        talk.warning("signals can't be caught here: Ctrl-C will end the run at once");
        return;
    };
    for n in 1.. {
        signals.next().await;
        match reaction(n) {
            // The run itself says what it does about it, when it drains.
            Reaction::Ask => interrupts.interrupt(),
            Reaction::AskAgain => {
                interrupts.interrupt();
                tokio::spawn(leave_after(PATIENCE));
                let talk = talk.clone();
                // Nobody may be reading.
                tokio::task::spawn_blocking(move || {
                    talk.line("stopping now; results so far are kept");
                });
            }
            Reaction::Leave => std::process::exit(INTERRUPTED.into()),
        }
    }
}

/// Ctrl-C and SIGTERM as they come, from when this was made.
#[cfg(unix)]
pub(crate) struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    /// Starts to catch them; needs the runtime around it.
    ///
    /// # Errors
    /// When the system refuses.
    pub(crate) fn new() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// Waits for one.
    pub(crate) async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

/// Ctrl-C as it comes.
#[cfg(not(unix))]
pub(crate) struct Signals;

#[cfg(not(unix))]
impl Signals {
    #[expect(clippy::unnecessary_wraps, reason = "the same shape as on Unix")]
    pub(crate) fn new() -> std::io::Result<Self> {
        Ok(Self)
    }

    pub(crate) async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_third_signal_ends_the_process() {
        assert_eq!(
            [1, 2, 3, 4].map(reaction),
            [
                Reaction::Ask,
                Reaction::AskAgain,
                Reaction::Leave,
                Reaction::Leave
            ]
        );
    }
}
