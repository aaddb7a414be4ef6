//! What a lane has sent, and when.
//!
//! One log of running totals answers every question about the past: what was sent after some
//! attempt (the difference of two totals), what was sent in the last minute (the same), when
//! enough of it is older than a window. Sends that are close together share an entry, so that
//! the log's length doesn't grow with the rate; the entry has the time of the latest, which
//! errs on the careful side.

use std::collections::VecDeque;
use std::ops::Index;

use crate::hint::Dimension;
use crate::job::QuotaUse;
use crate::time::Time;

/// How much of each dimension, in its unit: requests or tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Amounts([u64; 6]);

impl Amounts {
    /// What one attempt of this cost uses.
    pub(crate) fn of(cost: QuotaUse) -> Self {
        let tokens = cost.tokens();
        let mut amounts = Self::default();
        for (dimension, amount) in [
            (Dimension::Requests, 1),
            (Dimension::Tokens, tokens),
            (Dimension::InputTokens, cost.input_tokens),
            (Dimension::OutputTokens, cost.output_tokens),
            (Dimension::ProjectTokens, tokens),
            (Dimension::TokensPerMonth, tokens),
        ] {
            amounts.0[dimension as usize] = amount;
        }
        amounts
    }

    /// Adds `more`, saturating.
    fn add(&mut self, more: Self) {
        for (total, amount) in self.0.iter_mut().zip(more.0) {
            *total = total.saturating_add(amount);
        }
    }
}

impl Index<Dimension> for Amounts {
    type Output = u64;

    fn index(&self, dimension: Dimension) -> &u64 {
        &self.0[dimension as usize]
    }
}

/// Entries that are kept. At 64 bytes each it is 128 KiB for a lane, and the error of a time
/// is a two-thousandth of what the log spans.
const KEPT: usize = 2048;

/// The log.
#[derive(Debug)]
pub(crate) struct Sent {
    total: Amounts,
    /// Times with the totals that were reached then, oldest first.
    log: VecDeque<(Time, Amounts)>,
    /// Sends within this many nanoseconds share an entry.
    grain: u64,
}

impl Default for Sent {
    fn default() -> Self {
        Self {
            total: Amounts::default(),
            log: VecDeque::new(),
            grain: 1_000_000,
        }
    }
}

impl Sent {
    /// The totals so far.
    pub(crate) fn total(&self) -> Amounts {
        self.total
    }

    /// Adds an attempt that is sent now.
    pub(crate) fn add(&mut self, now: Time, amounts: Amounts) {
        self.total.add(amounts);
        // The entry's first send is not kept, so an entry could slide on for ever under a
        // steady stream; its predecessor bounds it.
        let grain = self.grain;
        let before = self.log.len().checked_sub(2).map(|i| self.log[i].0);
        match self.log.back_mut() {
            Some((at, totals)) if before.is_some_and(|b| (now - b).as_nanos() < grain.into()) => {
                (*at, *totals) = (now, self.total);
            }
            _ => self.log.push_back((now, self.total)),
        }
        if self.log.len() > KEPT {
            self.thin();
        }
    }

    /// What was sent of `dimension` up to and including `at`. Before the log began: its start.
    pub(crate) fn until(&self, dimension: Dimension, at: Time) -> u64 {
        let after = self.log.partition_point(|(time, _)| *time <= at);
        match after.checked_sub(1) {
            Some(index) => self.log[index].1[dimension],
            None => 0,
        }
    }

    /// When the total of `dimension` reached `amount`; `None` if it hasn't.
    pub(crate) fn reached(&self, dimension: Dimension, amount: u64) -> Option<Time> {
        let index = self
            .log
            .partition_point(|(_, totals)| totals[dimension] < amount);
        self.log.get(index).map(|(time, _)| *time)
    }

    /// Keeps every other entry, and the newest.
    fn thin(&mut self) {
        self.grain *= 2;
        let last = self.log.len() - 1;
        let mut index = 0;
        self.log.retain(|_| {
            let keep = index % 2 == 1 || index == last;
            index += 1;
            keep
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn ms(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    fn log(times: impl IntoIterator<Item = u64>) -> Sent {
        let mut sent = Sent::default();
        for time in times {
            sent.add(ms(time), Amounts::of(QuotaUse::default()));
        }
        sent
    }

    #[test]
    fn the_past_is_read_from_totals() {
        let sent = log([10, 20, 30]);
        let until = |at| sent.until(Dimension::Requests, ms(at));
        assert_eq!([until(9), until(10), until(29), until(99)], [0, 1, 2, 3]);
        let reached = |amount| sent.reached(Dimension::Requests, amount);
        assert_eq!([reached(2), reached(3)], [Some(ms(20)), Some(ms(30))]);
        assert_eq!(reached(4), None);
    }

    #[test]
    fn a_long_stream_takes_bounded_room_and_loses_no_count() {
        let sent = log(0..100_000);
        assert!(sent.log.len() <= KEPT);
        assert_eq!(sent.total()[Dimension::Requests], 100_000);
        let half = sent.until(Dimension::Requests, ms(50_000));
        assert!((49_800..=50_001).contains(&half), "{half}");
    }

    #[test]
    fn a_dimension_counts_its_own() {
        let cost = QuotaUse {
            input_tokens: 3,
            output_tokens: 4,
        };
        assert_eq!(Amounts::of(cost).0, [1, 7, 3, 4, 7, 7]);
    }
}
