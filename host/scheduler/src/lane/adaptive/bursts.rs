//! In which order the attempts in flight came to the server, as far as that can be known.
//!
//! Attempts that are sent within a moment are one **burst**: each takes a connection and a thread of its
//! own, so any of them may come to the server first. Bursts come in the order in which they began.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::time::Time;

/// An attempt's burst, and its number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct InBurst {
    /// When the first of the burst was sent.
    since: Time,
    /// Attempts in flight then, which came to the server before them.
    pub(super) ahead: u32,
    /// Counts the lane's attempts.
    number: u64,
}

/// Where an attempt stands among those in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Order {
    /// Its place, the oldest first, from 1; all of a burst have the same.
    pub(super) rank: u32,
    /// How many of its burst were sent before it.
    pub(super) beside: u32,
    /// How many there are, itself included.
    pub(super) out: u32,
}

/// The attempts in flight.
#[derive(Debug, Default)]
pub(super) struct Bursts {
    /// When the burst of each began, and its number.
    out: BTreeSet<(Time, u64)>,
    newest: InBurst,
}

impl Bursts {
    /// An attempt is sent now; all within `moment` are of one burst. Only those that are `counted` have
    /// a place among the others.
    pub(super) fn send(&mut self, now: Time, moment: Duration, counted: bool) -> InBurst {
        let sent = &mut self.newest;
        sent.number += 1;
        if now - sent.since > moment {
            (sent.since, sent.ahead) = (now, self.out.len() as u32);
        }
        if counted {
            self.out.insert((sent.since, sent.number));
        }
        *sent
    }

    /// One is in flight no longer. Gives where it stood.
    pub(super) fn leave(&mut self, gone: InBurst) -> Order {
        let (burst, own) = ((gone.since, 0), (gone.since, gone.number));
        let order = Order {
            rank: self.out.range(..burst).count() as u32 + 1,
            beside: self.out.range(burst..own).count() as u32,
            out: self.out.len() as u32,
        };
        self.out.remove(&own);
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOMENT: Duration = Duration::from_millis(10);

    /// Sends an attempt at each of these milliseconds.
    fn sent(at: &[u64]) -> (Bursts, Vec<InBurst>) {
        let mut bursts = Bursts::default();
        let send = |ms: &u64| {
            let now = Time::ZERO + Duration::from_millis(*ms);
            bursts.send(now, MOMENT, true)
        };
        let attempts = at.iter().map(send).collect();
        (bursts, attempts)
    }

    /// Where the attempts stand that leave in this order, by their place in `at`.
    fn orders(at: &[u64], leave: &[usize]) -> Vec<[u32; 3]> {
        let (mut bursts, attempts) = sent(at);
        let order = |index: &usize| {
            let Order { rank, beside, out } = bursts.leave(attempts[*index]);
            [rank, beside, out]
        };
        leave.iter().map(order).collect()
    }

    #[test]
    fn a_burst_lasts_a_moment_from_its_first_attempt_on() {
        let (_, attempts) = sent(&[100, 105, 110, 111, 121, 122]);
        let since = |sent: &InBurst| (sent.since - Time::ZERO).as_millis();
        let began: Vec<u128> = attempts.iter().map(since).collect();
        assert_eq!(began, [100, 100, 100, 111, 111, 122]);
        let ahead: Vec<u32> = attempts.iter().map(|sent| sent.ahead).collect();
        assert_eq!(ahead, [0, 0, 0, 3, 3, 5]);
    }

    #[test]
    fn who_leaves_in_order_is_always_the_first() {
        let first = orders(&[100, 200, 300], &[0, 1, 2]);
        assert_eq!(first, [[1, 0, 3], [1, 0, 2], [1, 0, 1]]);
    }

    #[test]
    fn the_rank_tells_who_overtook_older_ones() {
        let last = orders(&[100, 200, 300], &[2, 1, 0]);
        assert_eq!(last, [[3, 0, 3], [2, 0, 2], [1, 0, 1]]);
    }

    #[test]
    fn of_a_burst_all_have_the_same_rank_and_those_sent_before_beside_them() {
        let burst = orders(&[100, 200, 201, 202], &[3, 1, 2]);
        assert_eq!(burst, [[2, 2, 4], [2, 0, 3], [2, 0, 2]]);
    }

    #[test]
    fn who_does_not_count_is_in_nobody_s_way() {
        let (mut bursts, attempts) = sent(&[100]);
        let spaced = bursts.send(Time::ZERO + Duration::from_millis(50), MOMENT, false);
        let later = bursts.send(Time::ZERO + Duration::from_millis(500), MOMENT, true);
        assert_eq!(later.ahead, 1);
        let out = |order: Order| order.out;
        assert_eq!(out(bursts.leave(spaced)), 2);
        assert_eq!(out(bursts.leave(attempts[0])), 2);
        assert_eq!(out(bursts.leave(later)), 1);
    }
}
