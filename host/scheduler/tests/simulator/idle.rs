//! The longest time in which a lane had work, its server had credit, and nothing was sent.
//!
//! Credit counts from above the guard that the published design keeps unspent, and with what
//! is already on its way subtracted. It is measured from when the scheduler says that it has
//! learnt the window of each limit that the server declares: before, nobody can know when
//! there is credit again, and what that costs is part of the regret. So is what the opening costs, before
//! [`OPENING`] answers have come: until then answers say how much at once the server works on. A wait
//! that the server asked for is obedience, not idleness.

use std::collections::BTreeSet;
use std::time::Duration;

use runner_scheduler::{Dimension, Time, View, Wait, WaitReason};

use super::server::Charge;

/// Answers by which a lane has opened.
const OPENING: u32 = 64;

/// The meter of one lane.
#[derive(Debug, Clone)]
pub(crate) struct Idle {
    learnt: BTreeSet<Dimension>,
    /// How many limits there are to learn.
    declared: usize,
    /// From then on they ought to be known.
    latest: Time,
    answers: u32,
    running: bool,
    since: Option<Time>,
    longest: Duration,
    on_the_way: Charge,
}

impl Idle {
    /// A meter for a lane whose server declares so many limits, of windows up to this long.
    pub(crate) fn new(declared: usize, window: Duration) -> Self {
        Self {
            learnt: BTreeSet::new(),
            declared,
            latest: Time::ZERO + 2 * window,
            answers: 0,
            running: false,
            since: None,
            longest: Duration::ZERO,
            on_the_way: Charge {
                requests: 0,
                tokens: 0,
            },
        }
    }

    /// The window of a limit is known.
    pub(crate) fn learnt(&mut self, dimension: Dimension) {
        self.learnt.insert(dimension);
    }

    /// An answer has come.
    pub(crate) fn answered(&mut self) {
        self.answers += 1;
    }

    /// Whether there is no excuse any more at `now`.
    pub(crate) fn runs(&mut self, now: Time) -> bool {
        let known = self.learnt.len() >= self.declared || now >= self.latest;
        self.running |= self.declared > 0 && known && self.answers >= OPENING;
        self.running
    }

    /// The longest time so far; `None` if it was never measured.
    pub(crate) fn longest(&self) -> Option<Duration> {
        self.running.then_some(self.longest)
    }

    /// What was sent to the server and has not arrived.
    pub(crate) fn on_the_way(&self) -> Charge {
        self.on_the_way
    }

    pub(crate) fn sent(&mut self, charge: Charge) {
        self.on_the_way.requests += charge.requests;
        self.on_the_way.tokens += charge.tokens;
    }

    pub(crate) fn arrived(&mut self, charge: Charge) {
        self.on_the_way.requests -= charge.requests;
        self.on_the_way.tokens -= charge.tokens;
    }

    /// Time passes until `now` without a send. `view` is how the lane stands meanwhile; it is
    /// asked only when it matters, because it costs.
    pub(crate) fn until(&mut self, now: Time, view: impl FnOnce() -> View) {
        let Some(gap) = self.since.map(|since| now.since(since)) else {
            return;
        };
        if gap <= self.longest {
            return;
        }
        let asked = matches!(
            view().wait,
            Some(Wait {
                why: WaitReason::Blocked { asked: true }
                    | WaitReason::Broken
                    | WaitReason::Backoff
                    | WaitReason::Declared { .. },
                ..
            })
        );
        if !asked {
            self.longest = gap;
        }
    }

    /// The scheduler has done all it wants to do now. `credit` is when a request could be sent
    /// that would be accepted; `None` if never, or if there is no work.
    pub(crate) fn look(&mut self, now: Time, sent: bool, credit: Option<Time>) {
        let Some(credit) = credit else {
            self.since = None;
            return;
        };
        if sent || credit > now || self.since.is_none() {
            self.since = Some(credit.max(now));
        }
    }
}
