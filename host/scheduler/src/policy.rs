//! What a user may set for a lane. The defaults are the published design's numbers.

use std::time::Duration;

use crate::job::LongWait;
use crate::time::Time;

/// How a lane decides how much it sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LaneStrategy {
    /// Nothing is learnt and nothing is paced; declared limits, [`LanePolicy::max_window`] and
    /// retries still hold.
    Fixed,
    /// What the server allows is learnt from its answers.
    Adaptive,
}

/// The knobs of a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LanePolicy {
    /// How it decides how much it sends.
    pub strategy: LaneStrategy,
    /// Attempts in flight before anything is known. Published: 4.
    pub start_window: u32,
    /// Attempts in flight however often the server refuses. Published: 1.
    pub min_window: u32,
    /// Attempts in flight at most. 256 is what 60 calls a second at 4 s each need; the
    /// published design has no ceiling beside `-j`.
    pub max_window: u32,
    /// Retries of a job. Published: 3.
    pub max_retries: u32,
    /// Upper end of the first pause before a retry; doubles with each. Published: 1 s.
    pub retry_base: Duration,
    /// Where doubling ends. Published: 60 s.
    pub retry_cap: Duration,
    /// Longest wait that a server may ask for; who asks for more has run out of something
    /// that a run should not sit out, and the job ends. A quarter of an hour: fifteen windows of the
    /// usual minute, and less than people take a run that shows nothing for hanging.
    pub longest_hint: Duration,
    /// A job whose attempt ran out of time is tried again as one that failed. Not unless the user wants
    /// it: what was too slow once may have been billed, and is mostly too slow again.
    pub retry_timeouts: bool,
}

impl Default for LanePolicy {
    fn default() -> Self {
        Self {
            strategy: LaneStrategy::Adaptive,
            start_window: 4,
            min_window: 1,
            max_window: 256,
            max_retries: 3,
            retry_base: Duration::from_secs(1),
            retry_cap: Duration::from_mins(1),
            longest_hint: Duration::from_mins(15),
            retry_timeouts: false,
        }
    }
}

impl LanePolicy {
    /// Says whether a wait that begins now is longer than one may be.
    pub(crate) fn too_long(&self, now: Time, asked: Duration) -> Option<LongWait> {
        (asked > self.longest_hint).then(|| LongWait {
            until: now + asked,
            asked,
            longest: self.longest_hint,
        })
    }

    /// What holds where two providers share a lane and differ: the more careful of the two.
    #[must_use]
    pub fn tighter(self, other: Self) -> Self {
        Self {
            strategy: self.strategy.max(other.strategy),
            start_window: self.start_window.min(other.start_window),
            min_window: self.min_window.min(other.min_window),
            max_window: self.max_window.min(other.max_window),
            max_retries: self.max_retries.min(other.max_retries),
            retry_base: self.retry_base.max(other.retry_base),
            retry_cap: self.retry_cap.max(other.retry_cap),
            longest_hint: self.longest_hint.min(other.longest_hint),
            retry_timeouts: self.retry_timeouts && other.retry_timeouts,
        }
    }
}
