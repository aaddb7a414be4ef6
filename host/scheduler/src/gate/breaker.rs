//! The circuit breaker: whether the server, or the way to it, is down.
//!
//! Ten failures in a row, or eleven of the last twenty (published), **break** the lane: retries
//! would only feed the storm. A probe goes after each twentieth of the time for which it has failed, or up to
//! a tenth by chance, and never later than after 8 s: so much of an outage is lost at most. An answer, whatever it says, closes the breaker; so does silence, for three times as long as failures took. Attempts
//! from before the failures prove nothing, however they end.
//!
//! **Why two signals.** A server that is down fails everything, and ten in a row say so at once,
//! however little history there is. One that is half down, since some of the machines behind its
//! address are, lets a success through now and then: no row ever grows long, and only the share
//! shows it. The share alone would be slow where a long good past has to be outweighed; the row
//! alone would never see the half.
//!
//! **A refusal for its rate is no failure**, but an answer: the server is there and counts. It ends
//! a row, and where it answers a probe, it ends the breaking: the wait is the back-off's from then
//! on, which takes over the strikes, so that a server which comes back overloaded is not met with
//! first pauses again. A failure of a lane that is backing off doesn't break it either. One thing
//! holds a lane at a time, or two rows of probes would go side by side.
//!
//! **What a cold start can't trip.** Fewer than ten failures break nothing, so a lane that has sent
//! its first four attempts to a server which is still starting only retries them. The share counts
//! failures, not their part of what was sent: three attempts that all fail are not a hundred per cent.
//! And a timeout is no failure here: a model that is loaded for a minute on its first call looks
//! slow, not broken.
//!
//! **Which job is the probe.** What failed may be the jobs' own fault: a server fails on what it
//! can't digest, and rows come in files of which one may be a stranger's. So no job is tried twice
//! while others have not been tried, and they are taken from all over the queue
//! ([`Queue::probe`](crate::queue::Queue::probe)): one that is answered closes the breaker, and
//! those that fail have failed by themselves.
//!
//! A lane whose probes have failed for long is **given up** (`giving_up`): what is queued ends with that
//! reason, some of it having been tried.
//!
//! How fast a lane sends once it is open, and how long it waits after a refusal, is not decided here: that is
//! the back-off's.

use std::time::Duration;

use crate::chance::Chance;
use crate::job::Refusal;
use crate::time::Time;

mod giving_up;

use crate::tuning::breaker::{
    BREAKING_ROW, BREAKING_SHARE, HISTORY, LONGEST_PAUSE, PAUSE_SHARE, RECOVERED,
    RECOVERED_LATENCIES, SHORTEST_PAUSE,
};
use giving_up::GivingUp;

/// The bits of [`Breaker::recent`] that are in use.
const RECENT: u32 = (1 << HISTORY) - 1;

/// What a failure meets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FailureContext {
    /// A lane that nothing holds.
    Open,
    /// A lane that is held, so that the failure can't break it.
    Held,
    /// A broken lane, of which it was a probe.
    Broken,
}

/// The breaker of a lane.
#[derive(Debug, Default)]
pub(super) struct Breaker {
    /// Pauses in a row without an answer between.
    strikes: u32,
    failures_in_row: u32,
    /// Outcomes of the last [`HISTORY`], newest in the lowest bit; 1 is a failure.
    recent: u32,
    /// When the newest attempt that failed was sent.
    failed_at: Time,
    /// Longest that a failure took.
    failure_latency: Duration,
    giving_up: GivingUp,
}

impl Breaker {
    /// How long without a failure counts as recovered.
    pub(super) fn spell(&self) -> Duration {
        RECOVERED.max(self.failure_latency * RECOVERED_LATENCIES)
    }

    /// Why the `queued` jobs are not waited with any more, if that is so; said once of each wave.
    pub(super) fn lost(&mut self, now: Time, queued: usize) -> Option<Refusal> {
        self.giving_up.lost(now, queued)
    }

    /// Pauses in a row without an answer between.
    pub(super) fn strikes(&self) -> u32 {
        self.strikes
    }

    /// Takes in that an attempt failed. Gives the time of the next probe if that breaks the lane.
    pub(super) fn failed(
        &mut self,
        now: Time,
        sent_at: Time,
        meets: FailureContext,
        chance: &mut Chance,
    ) -> Option<Time> {
        self.failures_in_row += 1;
        self.failed_at = self.failed_at.max(sent_at);
        self.failure_latency = self.failure_latency.max(now - sent_at);
        self.recent = ((self.recent << 1) | 1) & RECENT;
        if meets == FailureContext::Broken {
            self.giving_up.probe_fails(now);
        } else {
            self.giving_up.fails(now);
        }
        let many =
            self.failures_in_row >= BREAKING_ROW || self.recent.count_ones() >= BREAKING_SHARE;
        let breaks = match meets {
            FailureContext::Open => many,
            FailureContext::Held => false,
            FailureContext::Broken => true,
        };
        if !breaks {
            return None;
        }
        self.strikes += 1;
        // Who was given up gets the next wave's probes one after the other.
        if self.giving_up.is_given_up() {
            return Some(now);
        }
        let lasted = self.giving_up.failing_for(now);
        let least = (lasted / PAUSE_SHARE).clamp(SHORTEST_PAUSE, LONGEST_PAUSE);
        let least = least.as_millis() as u64;
        Some(now + Duration::from_millis(least + chance.below(least)))
    }

    /// Takes in that the server answered, whatever it said; `true` if that closes a broken lane.
    pub(super) fn answered(&mut self, sent_at: Time, is_broken: bool) -> bool {
        if is_broken && sent_at < self.failed_at {
            return false;
        }
        self.giving_up.answers();
        self.failures_in_row = 0;
        self.recent = if is_broken {
            0
        } else {
            (self.recent << 1) & RECENT
        };
        is_broken
    }

    /// Forgets the failures so far: the lane has been open and quiet.
    pub(super) fn forget(&mut self) {
        (self.failures_in_row, self.recent) = (0, 0);
    }

    /// Takes in a success: the server is no longer given up, and is waited for longer from now on.
    pub(super) fn works(&mut self) {
        self.giving_up.succeeds();
    }

    /// Counts pauses anew: it is over, or something else holds the lane now. Gives how many there were.
    pub(super) fn recovers(&mut self) -> u32 {
        std::mem::take(&mut self.strikes)
    }
}
