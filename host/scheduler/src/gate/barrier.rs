//! What is shut for a time and then opened by degrees: one attempt, and twice as many after each
//! quiet spell, so that nobody returns as a herd.
//!
//! Why it is shut, and for how long, is its owner's business: `backoff` after refusals, `breaker`
//! after failures.

use std::time::Duration;

use crate::time::Time;
use crate::tuning::barrier::WIDE_OPEN;

/// Whether attempts pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Barrier {
    #[default]
    Open,
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
    /// Free, since a whole spell passed without a word against it.
    Quiet,
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
        *allowance *= 2;
        if at_once || *allowance >= WIDE_OPEN {
            *self = Self::Open;
        }
        Passage::Quiet
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

    /// Lets twice as many pass, for one that did.
    pub(super) fn widen(&mut self) {
        if let Self::HalfOpen { allowance, .. } = self {
            *allowance = allowance.saturating_mul(2);
            if *allowance >= WIDE_OPEN {
                *self = Self::Open;
            }
        }
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
            Self::Open | Self::HalfOpen { .. } => None,
        }
    }

    pub(super) fn is_open(self) -> bool {
        self == Self::Open
    }
}
