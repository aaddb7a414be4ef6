//! Another number in flight for a while, to see what becomes of answers.
//!
//! With fewer in flight, answers of a queue take less; with more, they take more, and nobody
//! overtakes more than before. A round of answers is passed over first: the quick ones come back
//! alone, and say that answers take less whatever the server does.

use super::octaves::{Mean, log2};
use super::ranks::Ranks;
use super::{AnsweredAttempt, Found};
use crate::tuning::knee::{LONGER, MOST, WANTED};

#[derive(Debug, Clone, Copy)]
pub(super) struct Trial {
    pub(super) from: u32,
    pub(super) to: u32,
    /// What the server is presumed to do.
    pub(super) presumed: Found,
    /// By how much answers take less, or more, in a queue.
    expected: i64,
    /// What they took before.
    before: i64,
    /// Answers that are passed over.
    skip: u32,
    /// What they take since.
    since: Mean,
    ranks: Ranks,
}

impl Trial {
    /// A trial of `to` instead of `from`, where answers have taken `taken` with `height` in flight.
    /// `None`: it would tell nothing.
    pub(super) fn new(
        (from, to): (u32, u32),
        (taken, height): (i64, i64),
        presumed: Found,
    ) -> Option<Self> {
        let now = log2(to.into());
        let expected = if to < from {
            height - now
        } else {
            now - log2(from.into())
        };
        (expected >= LONGER / 2).then(|| Self {
            from,
            to,
            presumed,
            expected,
            before: taken,
            skip: to,
            since: Mean::default(),
            ranks: Ranks::default(),
        })
    }

    fn is_down(&self) -> bool {
        self.to < self.from
    }

    /// What answers took since.
    pub(super) fn taken(&self) -> i64 {
        self.since.value
    }

    /// Takes in an answer; says whether the server queues once there were enough.
    pub(super) fn answered(
        &mut self,
        came: &AnsweredAttempt,
        taken: i64,
        varied: bool,
    ) -> Option<bool> {
        let tells = if self.is_down() {
            came.among <= self.to
        } else {
            came.among > self.from
        };
        if !tells {
            return None;
        }
        self.ranks.add(came);
        if let Some(fewer) = self.skip.checked_sub(1) {
            self.skip = fewer;
            return None;
        }
        self.since.add(taken, i64::MAX);
        let enough = self.since.count >= i64::from(self.to.clamp(WANTED, MOST));
        enough.then(|| self.queues(varied))
    }

    /// Half of what would be in a queue is enough; or the order, where answers vary.
    fn queues(&self, varied: bool) -> bool {
        let (moved, nobody) = if self.is_down() {
            let nobody = self.ranks.highest() <= self.presumed.knee && self.ranks.in_order();
            (self.before - self.since.value, nobody)
        } else {
            (
                self.since.value - self.before,
                self.ranks.highest() <= self.from,
            )
        };
        moved * 2 >= self.expected || varied && nobody
    }
}
