//! What is shut for a time and then opened by degrees: one attempt, and twice as many after each
//! quiet spell, so that nobody returns as a herd.
//!
//! Why it is shut, and for how long, is its owner's business: `backoff` after refusals, `breaker`
//! after failures.

use std::time::Duration;

use crate::time::Time;
use crate::tuning::barrier::WIDE_OPEN;

/// What lets no attempts pass, or few.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Barrier {
    Shut {
        until: Time,
    },
    /// Attempts are probes.
    HalfOpen {
        since: Time,
        allowance: u32,
        sent: u32,
        last: Time,
    },
}

/// What a barrier says to an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Passage {
    Free,
    /// Free, since a whole spell passed without a word against it. `wide`: nothing is left of the barrier.
    Quiet {
        wide: bool,
    },
    /// Not before then.
    Held(Time),
}

impl Barrier {
    /// Says whether an attempt may be sent now. A half-open barrier lets more pass after `spell`
    /// without a send, or everything if `at_once`.
    pub(super) fn check(&mut self, now: Time, spell: Duration, at_once: bool) -> Passage {
        if let Self::Shut { until } = *self {
            if until > now {
                return Passage::Held(until);
            }
            *self = Self::HalfOpen {
                since: now,
                allowance: 1,
                sent: 0,
                last: now,
            };
        }
        let Self::HalfOpen {
            allowance,
            sent,
            last,
            ..
        } = self
        else {
            return Passage::Free;
        };
        if *sent < *allowance {
            return Passage::Free;
        }
        let due = *last + spell;
        if now < due {
            return Passage::Held(due);
        }
        (*sent, *last) = (0, now);
        let wide = self.widen();
        Passage::Quiet {
            wide: wide || at_once,
        }
    }

    /// Counts an attempt that is sent now.
    pub(super) fn send(&mut self, now: Time) {
        if let Self::HalfOpen { sent, last, .. } = self {
            *sent += 1;
            *last = now;
        }
    }

    /// Takes back a probe that was cancelled: another may go in its place.
    pub(super) fn lost_probe(&mut self, sent_at: Time) {
        if let Self::HalfOpen { since, sent, .. } = self
            && sent_at >= *since
        {
            *sent = sent.saturating_sub(1);
        }
    }

    /// Lets twice as many pass. `true`: so many that nothing is left of it.
    pub(super) fn widen(&mut self) -> bool {
        let Self::HalfOpen { allowance, .. } = self else {
            return false;
        };
        *allowance *= 2;
        *allowance >= WIDE_OPEN
    }

    /// Whether an attempt sent then was a probe.
    pub(super) fn is_probe(self, sent_at: Time) -> bool {
        matches!(self, Self::HalfOpen { since, .. } if sent_at >= since)
    }

    /// Whether it was one while only one could go.
    pub(super) fn is_first_probe(self, sent_at: Time) -> bool {
        self.is_probe(sent_at) && matches!(self, Self::HalfOpen { allowance: 1, .. })
    }

    /// Until when it is shut.
    pub(super) fn until(self) -> Option<Time> {
        match self {
            Self::Shut { until } => Some(until),
            Self::HalfOpen { .. } => None,
        }
    }
}
