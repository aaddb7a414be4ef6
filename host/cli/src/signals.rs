//! Ctrl-C, SIGTERM, and the end of the terminal (SIGHUP) unless it was ignored from the start, as
//! below `nohup`.
//!
//! The first asks the run to drain, the second to stop now, the third ends the process: a
//! person who presses it three times is not to be kept waiting by anything, not even a bug. Nor
//! is one who presses it twice while nobody reads what the run says, or once while nobody reads
//! its results: they are stored, and what is printed can be printed again.
//!
//! Some programs send a signal to their child and at once to its whole group. What comes before the
//! run has heard of the last one is the same one, unless it goes on: then the run hears nothing.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use runner_eval::run::Interrupts;
use tokio::sync::oneshot;

use crate::exit::INTERRUPTED;
use crate::talk::Talk;

/// What a signal leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reaction {
    /// The run was asked to drain, or there was no need to.
    Asked,
    /// It was asked to stop now.
    AskedAgain,
    Leave,
}

/// The signals so far.
#[derive(Debug, Default)]
struct Received {
    /// How often the run was asked.
    asked: u32,
    /// How many came since then that were no new question.
    unheard: u32,
}

impl Received {
    /// Decides what the next signal leads to; `is_new`: the run had heard of those before.
    fn on(&mut self, is_new: bool) -> Reaction {
        if is_new {
            (self.asked, self.unheard) = (self.asked + 1, 0);
        } else {
            self.unheard += 1;
        }
        match (self.asked, self.unheard) {
            (3.., _) | (2, 1..) | (_, 2..) => Reaction::Leave,
            (2, 0) => Reaction::AskedAgain,
            _ => Reaction::Asked,
        }
    }
}

/// How long a run that was told to stop now may take to do so.
const PATIENCE: Duration = Duration::from_secs(5);

/// Listens for signals on a thread of its own, until it is dropped: the run's threads may all be
/// waiting for somebody to read what they say.
pub(crate) struct Watch {
    is_stored: Arc<AtomicBool>,
    /// Dropping it ends the thread.
    _stop: oneshot::Sender<()>,
}

impl Watch {
    /// Passes signals on to the run from now on.
    ///
    /// # Errors
    /// When there is no thread to be had.
    pub(crate) fn start(interrupts: Interrupts, talk: Talk) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        // Before there is a thread: a signal that comes while it starts is one for the run, too.
        let signals = {
            let _context = runtime.enter();
            Signals::new()
        };
        let is_stored = Arc::new(AtomicBool::new(false));
        let (stop, stopped) = oneshot::channel();
        let flag = is_stored.clone();
        let listen = move || {
            runtime.block_on(async {
                tokio::select! {
                    _ = stopped => {}
                    () = pass_on(signals, &interrupts, &talk, &flag) => {}
                }
            });
        };
        std::thread::Builder::new()
            .name("signals".to_owned())
            .spawn(listen)?;
        Ok(Self {
            is_stored,
            _stop: stop,
        })
    }

    /// Takes in that the run has ended and is stored: the next signal ends the process.
    pub(crate) fn all_is_stored(&self) {
        self.is_stored.store(true, Ordering::Relaxed);
    }
}

async fn pass_on(
    signals: io::Result<Signals>,
    interrupts: &Interrupts,
    talk: &Talk,
    is_stored: &AtomicBool,
) {
    let leave = || std::process::exit(INTERRUPTED.into());
    let Ok(mut signals) = signals else {
        return talk.warning("signals can't be caught here: Ctrl-C will end the run at once");
    };
    let mut received = Received::default();
    loop {
        signals.next().await;
        if is_stored.load(Ordering::Relaxed) {
            leave();
        }
        match received.on(interrupts.interrupt()) {
            // The run itself says what it does about it, when it drains.
            Reaction::Asked => {}
            Reaction::AskedAgain => {
                let talk = talk.clone();
                // Nobody may be reading.
                std::thread::spawn(move || talk.line("stopping now; results so far are kept"));
                tokio::spawn(async move {
                    tokio::time::sleep(PATIENCE).await;
                    leave();
                });
            }
            Reaction::Leave => leave(),
        }
    }
}

/// Signals as they come, from when this was made.
#[cfg(unix)]
pub(crate) struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
    /// Where it is not ignored.
    hangup: Option<tokio::signal::unix::Signal>,
}

#[cfg(unix)]
impl Signals {
    /// Starts to catch them; needs the runtime around it.
    ///
    /// # Errors
    /// When the system refuses.
    pub(crate) fn new() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        let hangup = (!ignores_hangup()).then(|| signal(SignalKind::hangup()));
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: hangup.transpose()?,
        })
    }

    /// Waits for one.
    pub(crate) async fn next(&mut self) {
        let hangup = async {
            match &mut self.hangup {
                Some(hangup) => hangup.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = hangup => {}
        }
    }
}

/// Whether this process was started to outlive its terminal. Catching the signal would undo that.
#[cfg(unix)]
fn ignores_hangup() -> bool {
    match std::fs::read_to_string("/proc/self/status") {
        Ok(status) => is_ignored(&status, 1),
        // Where the system does not say: `nohup` leaves no terminal to tell anything.
        Err(_) => !io::IsTerminal::is_terminal(&io::stderr()),
    }
}

/// Whether what Linux says of a process has this signal among those that it ignores.
#[cfg(unix)]
fn is_ignored(status: &str, signal: u32) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

/// Ctrl-C as it comes.
#[cfg(not(unix))]
pub(crate) struct Signals;

#[cfg(not(unix))]
impl Signals {
    #[expect(clippy::unnecessary_wraps, reason = "the same shape as on Unix")]
    pub(crate) fn new() -> io::Result<Self> {
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

    #[cfg(unix)]
    #[test]
    fn what_a_process_ignores_is_read_from_what_the_system_says() {
        let status = |mask: &str| format!("SigBlk:\t0000000000000001\nSigIgn:\t{mask}\n");
        assert!(is_ignored(&status("0000000000001001"), 1));
        assert!(!is_ignored(&status("0000000000001000"), 1));
        assert!(!is_ignored("", 1));
    }

    #[test]
    fn the_third_signal_ends_the_process_whether_or_not_the_run_hears() {
        use Reaction::{Asked, AskedAgain, Leave};
        for (are_new, expected) in [
            ([true, true, true], [Asked, AskedAgain, Leave]),
            ([true, false, true], [Asked, Asked, AskedAgain]),
            ([true, true, false], [Asked, AskedAgain, Leave]),
            ([true, false, false], [Asked, Asked, Leave]),
        ] {
            let mut received = Received::default();
            assert_eq!(
                are_new.map(|is_new| received.on(is_new)),
                expected,
                "{are_new:?}"
            );
        }
    }
}
