//! What a terminal sends, and to whom it does not belong.
//!
//! Ctrl-C goes to every process of the terminal's group. A program has a group of its own, so that the
//! run alone decides about it; but between the moment in which it is there and the one in which it has
//! that group, it is in ours. So the signals are held back in whoever starts it, which it takes over, and
//! what came meanwhile is thrown away by its supervisor, before it starts anything.
//!
//! Linux alone: elsewhere a signal that is held back may be lost to who waits for it.

use nix::sys::signal::{SigSet, SigmaskHow, Signal, kill};
use nix::unistd::Pid;

/// Interrupts, of a terminal (Ctrl-C) or of who ends a group.
fn interrupts() -> SigSet {
    [Signal::SIGINT, Signal::SIGTERM].into_iter().collect()
}

/// Starts something that takes over that interrupts are held back.
pub(crate) fn held<T>(start: impl FnOnce() -> T) -> T {
    let before = interrupts().thread_swap_mask(SigmaskHow::SIG_BLOCK);
    let started = start();
    if let Ok(before) = before {
        // What was so before can be so again.
        let _ = before.thread_set_mask();
    }
    started
}

/// Throws away the interrupts that came while they were held back, and holds back none from now on.
pub(crate) fn let_go() {
    let interrupts = interrupts();
    let _ = interrupts.thread_block();
    for signal in &interrupts {
        // With one of its own there is one to wait for, and never more than one of a kind.
        let sent = kill(Pid::this(), signal);
        let _ = sent.map(|()| SigSet::from(signal).wait());
    }
    let _ = interrupts.thread_unblock();
}
