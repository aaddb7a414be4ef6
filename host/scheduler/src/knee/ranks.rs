//! The order of answers.

use super::AnsweredAttempt;
use crate::tuning::knee::ORDER;

/// The ranks of some answers.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Ranks {
    count: u64,
    highest: u32,
    /// How many they could have overtaken, themselves included, added up.
    among: u64,
}

impl Ranks {
    pub(super) fn add(&mut self, came: &AnsweredAttempt) {
        self.count += 1;
        self.highest = self.highest.max(came.rank);
        self.among += u64::from(came.ahead) + 1;
    }

    pub(super) fn and(self, more: Self) -> Self {
        Self {
            count: self.count + more.count,
            highest: self.highest.max(more.highest),
            among: self.among + more.among,
        }
    }

    pub(super) fn count(self) -> u64 {
        self.count
    }

    /// The most that anybody overtook, himself included, of those sent before him.
    pub(super) fn highest(self) -> u32 {
        self.highest
    }

    /// Whether more would have been overtaken by now where all are worked on at once. Where answers
    /// vary by a factor of 1.6, as models' do, a fifth of them overtake half of those in flight, and
    /// every twentieth two thirds; so the fewer are left over, the more answers it takes.
    pub(super) fn in_order(self) -> bool {
        let rest = self
            .among
            .saturating_sub(u64::from(self.highest) * self.count);
        self.count * rest * rest >= ORDER * self.among * self.among
    }
}
