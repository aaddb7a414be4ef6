//! How many attempts of a lane may be in flight.
//!
//! A window is a rate only when divided by a latency, so it can't meet a quota alone; `bucket`
//! and `pace` do that. The window answers the other question: how much at once. It starts at 4
//! (published), or with what the user asked for (`-j`), and grows on somebody's word or on answers:
//!
//! - **The user's word.** Up to 20 attempts go at once, and from there to the number that was asked for
//!   it doubles each tenth of a second, so that a first refusal or a declared limit is heard before
//!   all of them are on the wire.
//! - **Answers.** Beyond that it grows with answers that pay (`knee`), never with time alone, as in TCP's *slow
//!   start*: what is on the wire and unanswered bounds what may follow. Only where nothing at all is heard one
//!   more is tried after 5, 10, 20 s and so on, since the first ones may hang.
//! - **The server's word.** Where it declares its limits, the buckets say how much may be sent, and the window gets
//!   out of their way as far as answers allow: it doubles with each spell up to four times as many as an answer
//!   has paid for. A server that states a limit may have few slots behind it, so its word alone widens nothing.
//!   Where it has refused, only what was asked for comes back by waiting, with each quiet spell.
//!
//! It **halves** (published) at the first refusal that nothing declared explains, once per episode: attempts
//! that were sent before the cut say nothing new. So it does when attempts run out of time and nobody is answered.
//!
//! Where refusals come back at the same number in flight, the server limits parallel requests. Halving
//! again and again costs a quarter of such a limit, so the window goes to that number instead. From then on it **adds
//! one** (published) after clean rounds in which it was in use: two, and twice as many after each further refusal.
//! With the halving it is TCP's *AIMD* (additive increase, multiplicative decrease), but refusals lead to that number.
//!
//! It only grows while it is what holds jobs back; an idle window proves nothing.

use std::time::Duration;

use crate::policy::LanePolicy;
use crate::time::Time;
use crate::tuning::PER_CENT;
use crate::tuning::window::{
    DECLARED_SPELL, FIRST_SIZE, MOST_ROUNDS, PAID_TIMES, SILENCE, SILENT_ANSWERS, STEP_SHARE,
    STEPS, USED_PER_CENT, WELCOME_SPELL,
};

/// What is known of the server, which says how far the window grows by waiting, and how fast.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ServerKnowledge {
    /// Nothing but its answers.
    Answers,
    /// More at once get no more of them.
    Queue,
    /// A refusal is there within this, generously.
    Refusals(Duration),
    /// It declares its limits, and an answer has paid for so many at once.
    Limits(u32),
}

/// The last answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct LastAnswer {
    pub(crate) at: Time,
    /// How long it had taken.
    pub(crate) took: Duration,
}

/// A lane's window.
#[derive(Debug)]
pub(crate) struct Window {
    size: u32,
    policy: LanePolicy,
    /// Growing freely, until a limit of parallel requests is found.
    is_free: bool,
    /// When it last changed.
    changed: Time,
    /// Attempts that ended well since then while it was in use.
    clean: u32,
    /// Rounds of that before it grows by one.
    rounds: u32,
}

impl Window {
    pub(crate) fn new(policy: LanePolicy, now: Time) -> Self {
        let mut window = Self {
            size: 1,
            policy,
            is_free: true,
            changed: now,
            clean: 0,
            rounds: 1,
        };
        window.resize(policy.start_window.min(FIRST_SIZE), now);
        window
    }

    pub(crate) fn size(&self) -> u32 {
        self.size
    }

    /// Obeys another policy from now on.
    pub(crate) fn obey(&mut self, policy: LanePolicy) {
        self.policy = policy;
        self.size = self.size.min(policy.max_window).max(1);
    }

    /// Takes in that a job is held back by the window alone: grows if the spell was quiet, or says
    /// when it will. `None`: it grows no more by waiting.
    pub(crate) fn grow_when_due(
        &mut self,
        now: Time,
        known: ServerKnowledge,
        heard: LastAnswer,
    ) -> Option<Time> {
        if !self.is_free || self.size >= self.policy.max_window {
            return None;
        }
        let asked = self.policy.start_window;
        let (spell, most) = match known {
            ServerKnowledge::Answers => (WELCOME_SPELL, asked),
            ServerKnowledge::Queue => (WELCOME_SPELL, 0),
            ServerKnowledge::Refusals(quiet) => (quiet.max(DECLARED_SPELL), asked),
            ServerKnowledge::Limits(paid) => {
                (DECLARED_SPELL, asked.max(paid.saturating_mul(PAID_TIMES)))
            }
        };
        let (due, more) = if self.size < most {
            (
                self.changed + spell / STEPS,
                self.step().min(most - self.size),
            )
        } else {
            (self.silent_until(heard), 1)
        };
        if now < due {
            return Some(due);
        }
        self.resize(self.size.saturating_add(more), now);
        Some(now)
    }

    /// What is added in one step.
    fn step(&self) -> u32 {
        (self.size / STEP_SHARE).max(1)
    }

    /// How long nothing more is heard before one more is tried.
    fn silent_until(&self, heard: LastAnswer) -> Time {
        let silence = self.changed.since(heard.at);
        let longer = silence.max(heard.took.saturating_mul(SILENT_ANSWERS));
        self.changed.max(heard.at) + longer.max(SILENCE)
    }

    /// Begins a new spell: nothing was held back until now.
    pub(crate) fn begin_spell(&mut self, now: Time) {
        self.changed = now;
    }

    /// Whether it is nearly full with so many.
    pub(crate) fn is_used(&self, in_flight: u32) -> bool {
        u64::from(in_flight) * u64::from(PER_CENT) >= u64::from(self.size) * USED_PER_CENT
    }

    /// Takes in that an attempt ended well while `in_flight` others and itself were out.
    pub(crate) fn succeed(&mut self, now: Time, in_flight: u32) {
        if self.is_free || !self.is_used(in_flight) {
            return;
        }
        self.clean += 1;
        if self.clean >= self.size.saturating_mul(self.rounds) {
            self.resize(self.size + 1, now);
        }
    }

    /// Answers earned so many places.
    pub(crate) fn add(&mut self, places: u32) {
        if self.is_free {
            let most = self.policy.max_window.max(1);
            self.size = self.size.saturating_add(places).min(most);
        }
    }

    /// Halves the window.
    pub(crate) fn halve(&mut self, now: Time) {
        self.resize(self.size / 2, now);
    }

    /// Takes in that the server takes `parallel` at once and no more.
    pub(crate) fn limit(&mut self, parallel: u32, now: Time) {
        self.is_free = false;
        self.rounds = (self.rounds * 2).min(MOST_ROUNDS);
        self.resize(parallel.min(self.size), now);
    }

    /// Gets out of the way of others: the rate was the reason, which they take care of.
    pub(crate) fn free(&mut self, now: Time) {
        self.is_free = true;
        self.changed = now;
    }

    /// Goes to so many at once, or as near as it may.
    pub(crate) fn resize(&mut self, size: u32, now: Time) {
        let least = self.policy.min_window.min(self.policy.max_window).max(1);
        self.size = size.clamp(least, self.policy.max_window.max(1));
        self.changed = now;
        self.clean = 0;
    }
}

#[cfg(test)]
mod tests;
