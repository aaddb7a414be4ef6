//! What is left of a limit that the server declares.
//!
//! A response says "`remaining` of `limit`, reset in `reset`". That is a snapshot taken when
//! the request arrived: up to a whole latency old when it is read, and other requests were sent
//! since. So a reading is never believed as the present; it bounds it. With `after`, what this
//! lane sent after the request that the reading belongs to:
//!
//! - there is at least `remaining − after`,
//! - and at most that plus what has been refilled since.
//!
//! Between readings the bucket follows its own model (what was sent goes off at once, refills
//! come on), and each reading pulls it into its bounds. That corrects wrong estimates, lost
//! refunds and other users of the same key in both directions, without trusting a stale
//! number. A steady other user is seen as refill that doesn't arrive (`foreign`).
//!
//! **How a limit refills is inferred, never assumed.** The same two numbers are stated by token
//! buckets, fixed windows and sliding logs. Consecutive resets tell: in a bucket that refills
//! continuously the reset is proportional to what is missing; in a fixed window all resets
//! point at the same moment. Until that is clear nothing is counted as refilled (right for
//! all three), and one probe is sent when the server said that it would be full. What looks
//! like a fixed window and isn't refilled then is a sliding log: there each own attempt comes
//! back one window after it was sent. Who states a limit without a reset and without a window counts
//! by the clock's minute, presumably, until more is seen of its window (`presumed`).
//!
//! **Margins.** A continuous bucket keeps max(1 call, 0.3 %) unspent (published design): a
//! constant loss, against a 429 for each jitter of the network. Each rejection that the bucket
//! can't explain adds to that margin, each quiet stretch takes from it.

use std::time::Duration;

use crate::evidence::TimedReading;
use crate::hint::Dimension;
use crate::sent::Sent;
use crate::time::{Time, nanos};
use crate::tuning::PER_MILLE;
use crate::tuning::bucket::{
    ASSUMED_WINDOW, CLOCKS_APART, CONVINCED, EDGE_PROBE_PAUSE, EDGE_PROBES, FALSE_ZEROS,
    FOREIGN_MEMORY,
};
use crate::tuning::evidence::JITTER;

mod level;
mod presumed;
mod readings;

use level::{Level, Rate};
use presumed::Presumed;

/// Largest limit that is believed; the published ones end at 10⁹ tokens a day.
const LARGEST_LIMIT: u64 = 1_000_000_000_000;

/// How a limit comes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Refill {
    /// Not known yet: it doesn't, but may be tried at the reset.
    Unsure,
    /// Evenly, all of it in one window.
    Continuous { window: Duration },
    /// All at once at `end`; `proven` once that was seen to happen.
    Fixed {
        end: Time,
        window: Option<Duration>,
        proven: bool,
    },
    /// Each attempt's share one window after it was sent.
    Log { window: Duration },
}

/// A declared limit of a lane.
#[derive(Debug)]
pub(crate) struct Bucket {
    dimension: Dimension,
    limit: u64,
    /// The server said so; otherwise it is the most that was ever left.
    stated: bool,
    kind: Refill,
    /// What was seen of a window whose length is presumed.
    presumed: Option<Presumed>,
    /// Credit at `at`. May be below zero when others use the same limit.
    level: Level,
    at: Time,
    /// Most that the level may be, when bursts proved too much.
    cap: Option<u64>,
    /// Credit that stays unspent because the bucket was wrong before, in units.
    distrust: u64,
    /// By how much readings have been above the level lately.
    drift: Level,
    /// What others use.
    foreign: Rate,
    /// What the server charges of what is estimated, per mille.
    charge: u64,
    /// Newest reading, by when its request was sent.
    last: Option<TimedReading>,
    leaning: i8,
    longest_reset: Duration,
    /// Of all resets. Who writes `57.541s` now and `57s` then counts in milliseconds both times.
    finest: Duration,
    /// When to try although there seems to be nothing, and how often that was done.
    probe_at: Time,
    probes: u32,
    /// Attempts in a row that were accepted although nothing was left.
    false_zeros: u32,
    warned: bool,
}

/// When a bucket has credit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Credit {
    /// Now.
    Now,
    /// Then, as far as is known.
    At(Time),
    /// Never: it holds less when full.
    Never,
}

/// What an observation changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct ObservedChange {
    /// The limit or its window is new.
    pub(crate) learned: bool,
    /// Less than a tenth is left, and was not before.
    pub(crate) scarce: bool,
}

impl Bucket {
    /// A bucket of a limit that was never read before.
    pub(crate) fn new(dimension: Dimension, now: Time) -> Self {
        Self {
            dimension,
            limit: 0,
            stated: false,
            kind: Refill::Unsure,
            presumed: None,
            level: Level::ZERO,
            at: now,
            cap: None,
            distrust: 0,
            drift: Level::ZERO,
            foreign: Rate::ZERO,
            charge: PER_MILLE,
            last: None,
            leaning: 0,
            longest_reset: Duration::ZERO,
            finest: Duration::MAX,
            probe_at: Time::ZERO,
            probes: 0,
            false_zeros: 0,
            warned: false,
        }
    }

    /// Presumes a window. Its server says neither when it is filled again nor how long that takes:
    /// mostly it is with the clock's minute, which ends then. The first reading afterwards proves
    /// it or not.
    pub(crate) fn presume(&mut self, end: Time) {
        self.kind = Refill::Fixed {
            end,
            window: Some(ASSUMED_WINDOW),
            proven: false,
        };
    }

    pub(crate) fn dimension(&self) -> Dimension {
        self.dimension
    }

    pub(crate) fn limit(&self) -> u64 {
        self.limit
    }

    /// How much seems to be used, for display.
    pub(crate) fn used(&self) -> u64 {
        self.limit.saturating_sub(self.level.units())
    }

    /// The window, once known.
    pub(crate) fn window(&self) -> Option<Duration> {
        match self.kind {
            Refill::Unsure => None,
            Refill::Continuous { window } | Refill::Log { window } => Some(window),
            Refill::Fixed { window, .. } => window,
        }
    }

    /// What comes back in a second, in units, where that is known.
    pub(crate) fn per_second(&self) -> Option<u64> {
        if self.presumed_end().is_some() {
            return None;
        }
        let window = nanos(self.window()?).max(1);
        Some((u128::from(self.limit) * 1_000_000_000 / u128::from(window)) as u64)
    }

    /// Brings the model to `now`.
    pub(crate) fn advance(&mut self, now: Time, sent: &Sent) {
        if now <= self.at {
            return;
        }
        self.level += self.refill(self.at, now, sent);
        self.doubt_others(now);
        if let Refill::Fixed {
            end,
            window,
            proven: true,
        } = &mut self.kind
            && *end <= now
        {
            self.level = Level::whole(self.limit);
            self.drift = Level::ZERO;
            *end = match window {
                Some(window) => next_end(*end, *window, now),
                None => Time::NEVER,
            };
        }
        self.at = now;
        self.trim();
    }

    /// Takes in that an attempt that uses `amount` is sent now. `true` if there seemed to be too little.
    pub(crate) fn spend(&mut self, now: Time, amount: u64) -> bool {
        let cost = self.charged(amount);
        let overdraft = self.level < cost;
        if overdraft {
            self.probe_at = self
                .next_look(now)
                .unwrap_or_else(|| now + self.next_probe());
            self.probes += 1;
        } else {
            self.use_presumed(now);
        }
        self.level -= cost;
        overdraft
    }

    /// Takes in that an attempt sent then, for which there seemed to be too little, was accepted. What the
    /// server said of later ones says nothing of it.
    pub(crate) fn served_at_zero(&mut self, sent_at: Time) {
        if self
            .last
            .is_some_and(|last| last.remaining == 0 && last.sent_at <= sent_at)
        {
            self.false_zeros += 1;
        }
    }

    /// When an attempt that uses `amount` may be sent.
    pub(crate) fn credit(&self, now: Time, amount: u64, sent: &Sent) -> Credit {
        let cost = self.charged(amount);
        if amount == 0 || self.false_zeros >= FALSE_ZEROS {
            return Credit::Now;
        }
        let mut full = Level::whole(self.cap.unwrap_or(self.limit));
        if !self.stated {
            full = full.max(cost);
        }
        if self.stated && cost > Level::whole(self.limit) {
            return Credit::Never;
        }
        // A single attempt may always be sent from a full bucket, whatever margins and cap say.
        let needed = (cost + self.margin(cost)).min(full);
        if self.level >= needed {
            return Credit::Now;
        }
        let missing = needed - self.level;
        let refilled = match self.kind {
            Refill::Continuous { window } => self.after_refill(now, missing, window),
            Refill::Fixed {
                end, proven: true, ..
            } if end < Time::NEVER => end,
            Refill::Log { window } => self.after_expiry(now, missing, window, sent),
            Refill::Fixed { .. } | Refill::Unsure => self.probe_at,
        };
        if refilled <= now {
            Credit::Now
        } else {
            Credit::At(refilled)
        }
    }

    /// Takes in that the server refused an attempt although there seemed to be credit.
    pub(crate) fn disappoint(&mut self, now: Time, sent: &Sent) {
        self.distrust = (self.distrust + (self.limit / 100).max(1)).min(self.limit / 4);
        let Refill::Continuous { .. } = self.kind else {
            return;
        };
        let window = self.window().unwrap_or(ASSUMED_WINDOW);
        let before = sent.until(self.dimension, now.before(window));
        let recent = sent.until(self.dimension, now) - before;
        let second = self.per_second().unwrap_or(1).max(1);
        if recent > second {
            // Perhaps it was a burst; from now on evenly.
            self.cap = Some(self.cap.map_or(second, |cap| cap.min(second)));
        }
        self.level = self.level.min(Level::ZERO);
    }

    /// Takes in that the server refused an attempt and said why: something was used that the model missed.
    pub(crate) fn overdrawn(&mut self) {
        self.false_zeros = 0;
        self.level = self.level.min(Level::ZERO);
        let raised = (self.distrust + (self.limit / 200).max(1)).min(self.limit / 8);
        self.distrust = self.distrust.max(raised);
    }

    /// Takes in that nothing is left now, whatever the model says.
    /// `looked`: an attempt said so that was sent then although nothing seemed to be left.
    pub(crate) fn empty(&mut self, now: Time, looked: Option<Time>) {
        self.false_zeros = 0;
        self.level = self.level.min(Level::ZERO);
        if let Some(sent_at) = looked {
            self.looked_in_vain(sent_at);
        }
        self.probe_at = self
            .next_look(now)
            .unwrap_or_else(|| self.probe_at.max(now + probe_pause(self.probes)));
        if let Refill::Fixed {
            end,
            window: Some(window),
            proven: true,
        } = self.kind
            && self.last.is_some_and(|last| last.reset.is_none())
            && now - end.before(window) <= CLOCKS_APART.min(window / 20)
        {
            // The server's clock is behind: its window has not begun.
            let end = now + EDGE_PROBE_PAUSE;
            let (window, proven) = (Some(window), false);
            self.kind = Refill::Fixed {
                end,
                window,
                proven,
            };
            self.probe_at = end;
        }
    }

    /// Trusts more after a long stretch without an unexplained rejection.
    pub(crate) fn forgive(&mut self) {
        self.distrust -= self.distrust.div_ceil(8);
    }

    /// Takes in that a single attempt after a pause was refused too: bursts were not the reason.
    pub(crate) fn uncap(&mut self) {
        self.cap = None;
    }

    /// Doubles the cap on bursts after a very long one, until there is none.
    pub(crate) fn forget_cap(&mut self) {
        self.cap = self.cap.map(|cap| cap * 2).filter(|cap| *cap < self.limit);
    }

    fn charged(&self, amount: u64) -> Level {
        Level::whole(amount).scaled(self.charge.into(), PER_MILLE.into())
    }

    /// How long after a probe the next may be sent.
    fn next_probe(&self) -> Duration {
        match self.kind {
            // A window has probably begun: some probes in quick succession find out.
            Refill::Fixed { proven: false, .. } if self.probes < EDGE_PROBES => EDGE_PROBE_PAUSE,
            _ => probe_pause(self.probes),
        }
    }

    /// What stays unspent. Published design: max(1 call, 0.3 %) of what refills continuously.
    fn margin(&self, cost: Level) -> Level {
        let distrust = Level::whole(self.distrust);
        match self.kind {
            Refill::Continuous { .. } if self.cap.is_none() => {
                cost.max(Level::whole(self.limit).scaled(3, PER_MILLE.into())) + distrust
            }
            // What is left of a window is lost at its end; what was too much is one refusal.
            Refill::Continuous { .. } | Refill::Fixed { .. } => Level::ZERO,
            _ => distrust,
        }
    }

    /// What comes on from `from` to `to`; fixed windows apart.
    fn refill(&self, from: Time, to: Time, sent: &Sent) -> Level {
        match self.kind {
            Refill::Continuous { window } => {
                let refill = Level::whole(self.limit).refilled(to - from, window);
                // Others may seem to take everything; a twentieth is always ours to try.
                (refill - self.others(to - from)).max(refill.scaled(1, 20))
            }
            Refill::Log { window } => {
                let window = window + slack(window);
                let expired = sent
                    .until(self.dimension, to.before(window))
                    .saturating_sub(sent.until(self.dimension, from.before(window)));
                self.charged(expired)
            }
            Refill::Fixed { .. } | Refill::Unsure => Level::ZERO,
        }
    }

    /// Believes less and less in others, as long as there are no readings.
    fn doubt_others(&mut self, now: Time) {
        let heard = self.last.map_or(now, |last| last.received_at);
        let since = self.at.max(heard + FOREIGN_MEMORY);
        if now > since {
            self.foreign.learn(Level::ZERO, now - since, FOREIGN_MEMORY);
        }
    }

    /// What others use in `span`.
    fn others(&self, span: Duration) -> Level {
        self.foreign.max(Rate::ZERO).over(span)
    }

    fn after_refill(&self, now: Time, missing: Level, window: Duration) -> Time {
        let rate = Rate::of(Level::whole(self.limit), window);
        let others = self.foreign.max(Rate::ZERO);
        let alone = rate.time_for(missing);
        now + rate
            .without(others)
            .time_for(missing)
            .min(alone + FOREIGN_MEMORY)
    }

    fn after_expiry(&self, now: Time, missing: Level, window: Duration, sent: &Sent) -> Time {
        let window = window + slack(window);
        let expired = sent.until(self.dimension, now.before(window));
        let units = missing.ratio(self.charge.max(1), PER_MILLE) + 1;
        let amount = expired.saturating_add(u64::try_from(units).unwrap_or(u64::MAX));
        match sent.reached(self.dimension, amount) {
            Some(at) => at + window,
            // Others hold the rest.
            None => self.probe_at,
        }
    }

    fn trim(&mut self) {
        let most = self.cap.unwrap_or(self.limit);
        self.level = self.level.min(Level::whole(most));
    }
}

/// A probe's pause doubles: 1, 2, 4 … 60 s (published design).
fn probe_pause(probes: u32) -> Duration {
    Duration::from_secs(1 << probes.min(6)).min(ASSUMED_WINDOW)
}

/// What is added to a window: a thousandth, for the jitter of the network between two sends.
fn slack(window: Duration) -> Duration {
    (window / 1000).max(JITTER / 2)
}

/// The first end after `now` of windows that follow each other.
fn next_end(end: Time, window: Duration, now: Time) -> Time {
    let window = nanos(window).max(1);
    let passed = (now.as_nanos() - end.as_nanos()) / window + 1;
    Time::from_nanos(end.as_nanos().saturating_add(passed.saturating_mul(window)))
}

#[cfg(test)]
mod tests;
