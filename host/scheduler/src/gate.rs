//! Whether a lane is open at all: blocks, probes, the breaker, and ends for good.
//!
//! - A refusal **blocks** the lane: for as long as the server asked, otherwise for a short while.
//!   Then it is half open: one attempt, and twice as many after each quiet spell, so that
//!   nobody returns as a herd. A refused probe blocks again, for twice as long (1, 2, 4, 8 s). A blind minute, as elsewhere, would cost a minute each time.
//! - A long wait that the server asks for is **checked** on the way, since some servers ask for
//!   the same minute and a half whatever happens: one probe after a quarter of it. A server
//!   that meant it pays with one cheap refusal; how much too long its wishes are is remembered.
//! - Ten failures in a row, or eleven of the last twenty (published), **break** the lane: server
//!   or network are down, and retries would only feed the storm. One probe after U(1, 2) · 2ᵏ s,
//!   at most 8 s. Success opens the lane; so does silence, for three times as long as failures
//!   took. Attempts from before the failures prove nothing, however they end.
//! - A lane that has never had a success and whose probes have failed for half a minute is
//!   **given up** (`hope`): what is queued ends with that reason, and what is offered later
//!   too, but for the one that goes as the breaker's next probe.
//! - A used-up quota **ends** it, as do credentials that were never accepted and a model that was
//!   never there: what is queued fails at once with the reason, and no money or patience is spent
//!   on it.

use std::time::Duration;

use crate::chance::Chance;
use crate::job::Refusal;
use crate::time::Time;

mod hope;

use hope::Hope;

/// First block when the server doesn't say how long (published probing: 1, 2, 4 … s).
const FIRST_BLOCK: Duration = Duration::from_secs(1);

/// Longest block without a word of the server. Published is a minute; a window that opens
/// meanwhile stands idle for half of it, and a probe costs one refusal (simulation).
const LONGEST_BLOCK: Duration = Duration::from_secs(8);

/// Doublings of the breaker's pause. Published is up to a minute; up to 8 s a probe costs
/// nothing, and a recovery is not slept through (simulation: an outage of 30 s).
const BREAKER_DOUBLINGS: u32 = 2;

/// Shortest spell without a failure that counts as recovered.
const CALM: Duration = Duration::from_secs(1);

/// Waits above this are checked after a quarter. Below, obeying costs less than a probe.
const CHECKED_ABOVE: Duration = Duration::from_secs(10);

/// Failures in a row that break the lane (published).
const BREAKING_ROW: u32 = 10;

/// Failures of the last twenty that break it: more than half (published).
const BREAKING_SHARE: u32 = 11;

/// Mask of that history.
const LAST_TWENTY: u32 = (1 << 20) - 1;

/// First attempts that all failed for the credential and end the lane. A 403 can also be one
/// request's own fault; three in a row without a single success are the key's.
const AUTH_FAILURES: u32 = 3;

/// First attempts that all found nothing and end the lane, as for the credential. A lane is one
/// model of one server mostly, and servers say in ten ways, or in none, whether the model or the
/// address is missing; so every such answer counts, and any success forbids the conclusion.
const NOT_FOUND: u32 = 3;

/// Half-open allowance from which on the lane counts as open.
const WIDE_OPEN: u32 = 64;

#[derive(Debug, Clone, PartialEq, Eq)]
enum State {
    Open,
    Blocked {
        until: Time,
        /// The server said how long.
        asked: bool,
        broken: bool,
    },
    /// Half open.
    Probing {
        since: Time,
        allowance: u32,
        sent: u32,
        last: Time,
        broken: bool,
    },
    Ended(Refusal),
}

/// What holds a lane back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Held {
    /// Blocked, or waiting for a probe's answer; nothing may be sent before then. `None`: until
    /// an attempt ends.
    Until {
        time: Option<Time>,
        asked: bool,
        broken: bool,
    },
    /// Nobody who is queued now will pass.
    Ended(Refusal),
}

/// The gate of a lane.
#[derive(Debug)]
pub(crate) struct Gate {
    state: State,
    /// Blocks in a row without a success between.
    strikes: u32,
    /// The wait that was asked for last, and from when.
    asked: Option<(Time, Duration)>,
    /// How much of a long wait proved needed, in thousandths.
    needed: u64,
    failures_in_row: u32,
    /// Outcomes of the last twenty, newest in the lowest bit; 1 is a failure.
    recent: u32,
    auth_failures: u32,
    not_found: u32,
    succeeded: bool,
    /// Probes that were refused before the last opening, until somebody asks.
    opening: Option<u32>,
    /// When the newest attempt that failed was sent.
    failed_at: Time,
    /// Longest that a failure took.
    failure_latency: Duration,
    hope: Hope,
}

impl Default for Gate {
    fn default() -> Self {
        Self {
            state: State::Open,
            strikes: 0,
            asked: None,
            needed: 1000,
            failures_in_row: 0,
            recent: 0,
            auth_failures: 0,
            not_found: 0,
            succeeded: false,
            opening: None,
            failed_at: Time::ZERO,
            failure_latency: Duration::ZERO,
            hope: Hope::default(),
        }
    }
}

impl Gate {
    /// Whether an attempt may be sent now. `quiet`: how long without a refusal counts as
    /// acceptance; `paced`: something else spaces the attempts.
    pub(crate) fn check(&mut self, now: Time, quiet: Duration, paced: bool) -> Option<Held> {
        let held = self.look(now, quiet, paced)?;
        let waits_for_probe = matches!(held, Held::Until { broken: true, .. });
        let lost = self.hope.lost(now).filter(|_| waits_for_probe);
        Some(lost.map_or(held, Held::Ended))
    }

    fn look(&mut self, now: Time, quiet: Duration, paced: bool) -> Option<Held> {
        if let State::Blocked { until, broken, .. } = self.state
            && until <= now
        {
            self.state = State::Probing {
                since: now,
                allowance: 1,
                sent: 0,
                last: now,
                broken,
            };
        }
        match &mut self.state {
            State::Open => None,
            State::Ended(refusal) => Some(Held::Ended(refusal.clone())),
            State::Blocked {
                until,
                asked,
                broken,
            } => Some(Held::Until {
                time: Some(*until),
                asked: *asked,
                broken: *broken,
            }),
            State::Probing {
                allowance, sent, ..
            } if *sent < *allowance => None,
            State::Probing {
                allowance,
                sent,
                last,
                broken,
                ..
            } => {
                let spell = if *broken {
                    CALM.max(self.failure_latency * 3)
                } else {
                    quiet
                };
                let due = *last + spell;
                if now < due {
                    return Some(Held::Until {
                        time: Some(due),
                        asked: false,
                        broken: *broken,
                    });
                }
                (*allowance, *sent, *last) = (*allowance * 2, 0, now);
                let wide = (paced && !*broken) || *allowance >= WIDE_OPEN;
                self.accept(now);
                if wide {
                    self.state = State::Open;
                    (self.failures_in_row, self.recent) = (0, 0);
                }
                None
            }
        }
    }

    pub(crate) fn send(&mut self, now: Time) {
        if let State::Probing { sent, last, .. } = &mut self.state {
            *sent += 1;
            *last = now;
        }
    }

    /// Whether an attempt sent then was a probe.
    pub(crate) fn is_probe(&self, sent_at: Time) -> bool {
        matches!(self.state, State::Probing { since, .. } if sent_at >= since)
    }

    pub(crate) fn blocked_until(&self) -> Option<Time> {
        match self.state {
            State::Blocked { until, .. } => Some(until),
            _ => None,
        }
    }

    /// An attempt was refused for its rate. `asked` is the server's wish, `usual` what is right
    /// without one. A refusal of the same burst only makes the block longer.
    pub(crate) fn block(
        &mut self,
        now: Time,
        asked: Option<Duration>,
        usual: Option<Duration>,
        same_burst: bool,
    ) {
        if matches!(self.state, State::Ended(_)) {
            return;
        }
        if !same_burst {
            self.strikes += 1;
        }
        let doubled = |first: Duration| {
            let doublings = self.strikes.saturating_sub(1).min(16);
            first.saturating_mul(1 << doublings).min(LONGEST_BLOCK)
        };
        let own = doubled(usual.unwrap_or(FIRST_BLOCK));
        let wait = match asked.filter(|wait| !wait.is_zero()) {
            Some(wait) => {
                self.asked.get_or_insert((now, wait));
                self.believed(wait)
            }
            None => own,
        };
        let until = now + wait;
        let (until, broken) = match self.state {
            State::Blocked {
                until: known,
                broken,
                ..
            } if same_burst => (known.max(until), broken),
            _ => (until, false),
        };
        self.state = State::Blocked {
            until,
            asked: asked.is_some_and(|wait| !wait.is_zero()),
            broken,
        };
    }

    /// How long a wait that was asked for is waited before the first look.
    fn believed(&self, wait: Duration) -> Duration {
        if wait <= CHECKED_ABOVE {
            return wait;
        }
        // A quarter at first, or half of what was enough before; more if that was refused.
        let first = (self.needed / 2).min(250);
        let share = first << self.strikes.saturating_sub(1).min(10);
        let share = share.min(1000);
        let part = Duration::from_nanos((wait.as_nanos() * u128::from(share) / 1000) as u64);
        part.max(FIRST_BLOCK)
    }

    /// An attempt sent at `sent_at` was not refused.
    pub(crate) fn accepted(&mut self, now: Time, sent_at: Time) {
        if !self.is_probe(sent_at) {
            return;
        }
        self.accept(now);
        if let State::Probing {
            broken: false,
            allowance,
            ..
        } = &mut self.state
        {
            *allowance = allowance.saturating_mul(2);
            if *allowance >= WIDE_OPEN {
                self.state = State::Open;
            }
        }
    }

    /// Whether a refusal now is the first probe's: the same episode goes on.
    pub(crate) fn is_first_probe(&self, sent_at: Time) -> bool {
        let State::Probing {
            since, allowance, ..
        } = self.state
        else {
            return false;
        };
        sent_at >= since && allowance == 1
    }

    /// Probes that had been refused when the lane opened last, once.
    pub(crate) fn take_opening(&mut self) -> Option<u32> {
        self.opening.take()
    }

    /// Refusals are over: remembers how much of the asked wait was needed.
    fn accept(&mut self, now: Time) {
        if self.strikes > 0 {
            self.opening = Some(self.strikes - 1);
        }
        self.strikes = 0;
        if let Some((from, wait)) = self.asked.take()
            && wait > CHECKED_ABOVE
        {
            let needed = (now - from).as_nanos() * 1000 / wait.as_nanos().max(1);
            self.needed = (needed as u64).clamp(10, 1000);
        }
    }

    /// The server answered, whatever it said. `true` if that closed the breaker.
    pub(crate) fn works(&mut self, now: Time, sent_at: Time) -> bool {
        if self.is_broken() && sent_at < self.failed_at {
            return false;
        }
        self.hope.works();
        self.failures_in_row = 0;
        self.recent = (self.recent << 1) & LAST_TWENTY;
        if !self.is_broken() {
            return false;
        }
        self.accept(now);
        self.recent = 0;
        self.state = State::Open;
        true
    }

    /// A probe was cancelled: another may go in its place.
    pub(crate) fn lost_probe(&mut self, sent_at: Time) {
        if let State::Probing { since, sent, .. } = &mut self.state
            && sent_at >= *since
        {
            *sent = sent.saturating_sub(1);
        }
    }

    /// The server or the way to it failed. Gives the time of the next probe if that broke the
    /// lane.
    pub(crate) fn fails(&mut self, now: Time, sent_at: Time, chance: &mut Chance) -> Option<Time> {
        self.failures_in_row += 1;
        self.failed_at = self.failed_at.max(sent_at);
        self.failure_latency = self.failure_latency.max(now - sent_at);
        self.recent = ((self.recent << 1) | 1) & LAST_TWENTY;
        let probe =
            matches!(self.state, State::Probing { broken: true, since, .. } if sent_at >= since);
        self.hope.fails(now, probe, self.succeeded);
        let breaks = self.state == State::Open
            && (self.failures_in_row >= BREAKING_ROW || self.recent.count_ones() >= BREAKING_SHARE);
        if !probe && !breaks {
            return None;
        }
        self.strikes += 1;
        let doublings = self.strikes.saturating_sub(1).min(BREAKER_DOUBLINGS);
        let jitter = Duration::from_millis(1000 + chance.below(1000));
        let until = now + jitter * (1 << doublings);
        self.state = State::Blocked {
            until,
            asked: false,
            broken: true,
        };
        Some(until)
    }

    /// Whether the breaker is open or being probed.
    pub(crate) fn is_broken(&self) -> bool {
        matches!(
            self.state,
            State::Blocked { broken: true, .. } | State::Probing { broken: true, .. }
        )
    }

    /// The credential was not accepted.
    pub(crate) fn auth_failed(&mut self) {
        self.auth_failures += 1;
        if !self.succeeded && self.auth_failures >= AUTH_FAILURES {
            self.end(Refusal::Auth);
        }
    }

    /// What was asked for is not there.
    pub(crate) fn was_not_found(&mut self) {
        self.not_found += 1;
        if !self.succeeded && self.not_found >= NOT_FOUND {
            self.end(Refusal::NotFound);
        }
    }

    /// The credential works, and something is there.
    pub(crate) fn succeeded(&mut self) {
        self.succeeded = true;
        self.hope.works();
        (self.auth_failures, self.not_found) = (0, 0);
    }

    /// The server answered that the request itself is wrong: then the lane's own is there.
    pub(crate) fn was_understood(&mut self) {
        self.not_found = 0;
    }

    /// Nothing will pass any more.
    pub(crate) fn end(&mut self, why: Refusal) {
        if !matches!(self.state, State::Ended(_)) {
            self.state = State::Ended(why);
        }
    }
}

#[cfg(test)]
mod tests;
