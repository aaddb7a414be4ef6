//! A program's own end of a quota that others may use, too: what it has sent since it told so, and what it
//! may send until it asks again. See `shared`.
//!
//! While nobody else is here it only counts. Where somebody is, nothing is sent beyond the block; from the
//! moment in which it says what it has sent until it hears its portion nothing is sent at all, for what is
//! sent in between would be told too late. That is the time of a question to a file. Should no answer
//! come, because the file is locked or gone, it goes on alone after a while: as if nobody else was here.

use std::time::Duration;

use crate::shared::{Batch, QuotaReply, QuotaReport};
use crate::time::Time;
use crate::tuning::shared::{GRAIN, GRAINS, MOST_FRESH, PATIENCE};

/// What may be sent until the next portion.
#[derive(Debug, Clone, Copy)]
struct Allotted {
    left: u64,
    until: Time,
    /// When it goes on alone.
    alone_from: Time,
}

/// Some that were sent and are not told yet.
#[derive(Debug, Clone, Copy)]
struct Untold {
    first: Time,
    last: Time,
    count: u64,
}

/// A program's end of a quota.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sharing {
    untold: Vec<Untold>,
    /// What it may send, where others are here.
    held: Option<Allotted>,
    /// The number of the last visit.
    heard: u64,
    grain: Duration,
    /// How many of those told were not counted by the server.
    returned: u64,
}

impl Sharing {
    /// Takes in that so many are sent now.
    pub(crate) fn send(&mut self, now: Time, count: u64) {
        if let Some(held) = &mut self.held {
            held.left = held.left.saturating_sub(count);
        }
        let full = self.untold.len() >= MOST_FRESH;
        match self.untold.last_mut() {
            Some(last) if full || now.since(last.first) <= self.grain.max(GRAIN) => {
                last.last = now;
                last.count += count;
            }
            _ => self.untold.push(Untold {
                first: now,
                last: now,
                count,
            }),
        }
    }

    /// Takes in that so many of those that were sent were not counted by the server.
    pub(crate) fn take_back(&mut self, count: u64) {
        self.returned += count;
    }

    /// When so many may be sent, if others are here; sooner if a portion says so.
    pub(crate) fn due(&self, now: Time, count: u64) -> Option<Time> {
        let held = self.held.filter(|held| held.alone_from > now)?;
        (held.until <= now || held.left < count).then_some(held.alone_from)
    }

    /// Waits for a first portion before anything is sent, for so long.
    pub(crate) fn expect(&mut self, now: Time, patience: Duration) {
        self.held.get_or_insert(Allotted {
            left: 0,
            until: now,
            alone_from: now + patience,
        });
    }

    /// What to say now. Until the portion is heard nothing more is sent, if others are here.
    ///
    /// `needs`: what the first of those that wait needs, if there is one.
    pub(crate) fn visit(&mut self, now: Time, needs: Option<u64>) -> QuotaReport {
        if let Some(held) = &mut self.held {
            held.left = 0;
        }
        let untold = std::mem::take(&mut self.untold);
        let sent: u64 = untold.iter().map(|untold| untold.count).sum();
        QuotaReport {
            sent: untold
                .into_iter()
                .map(|untold| Batch {
                    first: now.since(untold.first),
                    last: now.since(untold.last),
                    count: untold.count,
                })
                .collect(),
            returned: std::mem::take(&mut self.returned),
            wants: needs.map_or(sent * 2 + 1, |_| u64::MAX),
            needs: needs.unwrap_or_default(),
            heard: self.heard,
            ..QuotaReport::default()
        }
    }

    /// Takes in the portion of a visit that was made at `asked`.
    pub(crate) fn hear(&mut self, asked: Time, now: Time, portion: &QuotaReply) {
        self.heard = portion.number;
        self.grain = portion.rule.map_or(GRAIN, |(_, window)| window / GRAINS);
        self.held = portion.block.map(|block| Allotted {
            left: block.count,
            // The file had it a moment after it was asked, and counts from then.
            until: asked + block.lasts,
            alone_from: now + PATIENCE,
        });
    }
}

#[cfg(test)]
impl Sharing {
    /// Others are here, as far as is known.
    pub(crate) fn is_common(&self, now: Time) -> bool {
        self.held.is_some_and(|held| held.alone_from > now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared::Block;

    fn ms(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    /// So many may be sent for 100 ms from the visit on.
    fn block(count: u64) -> QuotaReply {
        let lasts = Duration::from_millis(100);
        QuotaReply {
            number: 7,
            others: Vec::new(),
            rule: Some((50, Duration::from_secs(1))),
            is_common: true,
            block: Some(Block { count, lasts }),
            room: None,
        }
    }

    #[test]
    fn who_is_alone_sends_what_it_likes_and_tells_it_by_when() {
        let mut sharing = Sharing::default();
        for now in [0, 5, 10, 11, 40] {
            assert_eq!(sharing.due(ms(now), 1), None);
            sharing.send(ms(now), 1);
        }
        let visit = sharing.visit(ms(100), None);
        let told = |batch: &Batch| (batch.first.as_millis(), batch.last.as_millis(), batch.count);
        let told: Vec<_> = visit.sent.iter().map(told).collect();
        assert_eq!(told, [(100, 90, 3), (89, 89, 1), (60, 60, 1)]);
        assert!(!visit.is_quiet());
        assert!(sharing.visit(ms(200), None).is_quiet(), "it is told once");
    }

    #[test]
    fn nothing_is_sent_beyond_a_block_and_nothing_while_one_is_asked_for() {
        let mut sharing = Sharing::default();
        sharing.hear(ms(0), ms(1), &block(2));
        for _ in 0..2 {
            assert_eq!(sharing.due(ms(10), 1), None);
            sharing.send(ms(10), 1);
        }
        assert!(sharing.due(ms(10), 1).is_some());
        sharing.hear(ms(20), ms(21), &block(5));
        assert!(sharing.due(ms(30), 6).is_some(), "more than there is");
        assert_eq!(sharing.due(ms(119), 5), None);
        assert!(sharing.due(ms(120), 5).is_some(), "its time is over");
        sharing.hear(ms(120), ms(121), &block(5));
        sharing.visit(ms(130), Some(1));
        assert!(
            sharing.due(ms(131), 1).is_some(),
            "it would be told too late"
        );
    }

    #[test]
    fn without_an_answer_it_goes_on_alone_after_a_while() {
        let mut sharing = Sharing::default();
        sharing.hear(ms(0), ms(1), &block(0));
        assert_eq!(sharing.due(ms(10), 1), Some(ms(2001)));
        assert_eq!(sharing.due(ms(2001), 1), None);
    }

    #[test]
    fn who_waits_for_a_first_portion_does_so_for_a_moment() {
        let mut sharing = Sharing::default();
        sharing.expect(ms(0), Duration::from_millis(100));
        assert_eq!(sharing.due(ms(5), 1), Some(ms(100)));
        let alone = QuotaReply {
            is_common: false,
            block: None,
            ..block(0)
        };
        sharing.hear(ms(5), ms(6), &alone);
        assert_eq!(sharing.due(ms(6), 1), None);
    }

    #[test]
    fn who_has_no_queue_wants_about_as_much_as_last_time() {
        let mut sharing = Sharing::default();
        sharing.send(ms(0), 3);
        sharing.take_back(1);
        let visit = sharing.visit(ms(10), None);
        assert_eq!((visit.wants, visit.returned, visit.needs), (7, 1, 0));
        let visit = sharing.visit(ms(20), Some(2));
        assert_eq!((visit.wants, visit.returned, visit.needs), (u64::MAX, 0, 2));
    }

    #[test]
    fn of_many_batches_the_newest_become_one() {
        let mut sharing = Sharing::default();
        for index in 0..100 {
            sharing.send(ms(20 * index), 1);
        }
        let visit = sharing.visit(ms(2000), None);
        assert_eq!(visit.sent.len(), MOST_FRESH);
        let count: u64 = visit.sent.iter().map(|batch| batch.count).sum();
        assert_eq!(count, 100);
    }
}
