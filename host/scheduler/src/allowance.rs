//! So many in a window of time, where the server doesn't say so: found by when it opens.
//!
//! A server that counts in windows (fixed ones, the last second, a mix of both) refuses everything
//! once its number is reached, until a window ends or the oldest attempts leave it. So what is seen is:
//! open, so many accepted, shut, open again. From one opening to the next, the number accepted is the
//! **limit**, and the time is the **window**.
//!
//! - The window lies between the last refused probe and the one that was accepted. Windows are round (a
//!   second, ten, a minute), so the shortest round one between these two is taken. The first one may have
//!   begun before anything was sent, so that it may be longer than it looks: the next round one. Of later
//!   ones, which begin with an opening, the longest possible is taken where none is round.
//! - **Several programs** on one machine find it out together, and divide it: see `shared`.
//! - **Used is the strictest of the kinds**: no more than the limit in *any* span of one window. What a
//!   sliding window takes, a fixed one takes too, whenever it begins. And the attempts are spread over the
//!   window, a tenth faster than evenly, which servers that mix two windows want; a client that
//!   was late may catch up a tenth of a window, since it is the count that must hold, not the rhythm.
//! - **A refusal although there was room** says how many there really were in the window: that is
//!   the limit then. If there were less than half, this is no window: the lane forgets it, and the
//!   next opening says what it is instead, or `pace` measures a rate.
//! - After a calm stretch more is tried, and twice as many more while that stands (`growth`).
//!
//! A bucket that refills opens at once, with one or two accepted until it is shut again; so few are
//! no window, and `pace` is right for it.

use std::collections::VecDeque;
use std::time::Duration;

use crate::shared::{QuotaReply, QuotaReport, Rule};
use crate::sharing::Sharing;
use crate::time::Time;
use crate::tuning::PER_CENT;
use crate::tuning::allowance::{
    CATCH_UP, FEWEST, LEAST_SHARE, ROUND, SHUT_SHARE, SLACK, SPREAD_PER_CENT,
};

mod growth;

use growth::Growth;

/// Attempts that are remembered: of a larger limit, only this many are held apart.
const MOST: usize = 16_384;

/// Refusals between two openings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct RefusalEpisode {
    /// When the first attempt was sent that was refused.
    first: Time,
    /// And the newest.
    last: Time,
    /// How many were in flight with the first.
    among: u32,
}

/// What a lane may send in a window.
#[derive(Debug, Default)]
pub(crate) struct Allowance {
    /// So many in such a window.
    known: Option<Rule>,
    /// It was corrected since it was last told.
    is_news: bool,
    /// What others use of it.
    sharing: Sharing,
    /// When each attempt was sent that was not refused, oldest first, those of others among them; no more
    /// than [`MOST`].
    log: VecDeque<Time>,
    /// Since when the server is open.
    opened_at: Option<Time>,
    /// That was seen; otherwise the window may have begun before.
    is_whole: bool,
    /// The refusals since then.
    shut: Option<RefusalEpisode>,
    /// When the next is due if all are spread.
    due: Time,
    growth: Growth,
}

impl Allowance {
    /// So many in such a window, if that is known.
    pub(crate) fn known(&self) -> Option<Rule> {
        self.known
    }

    /// When the next attempt may be sent.
    pub(crate) fn due(&self, now: Time) -> Time {
        let Some((limit, window)) = self.known else {
            return Time::ZERO;
        };
        let full = (self.log.len() as u64).checked_sub(limit);
        let room = full.and_then(|index| self.log.get(index as usize));
        let room = room.map_or(Time::ZERO, |oldest| *oldest + window + window / SLACK);
        let block = self.sharing.due(now, 1).unwrap_or_default();
        room.max(self.due).max(block)
    }

    /// What to tell others that use the same quota; `is_waiting`: there is more to be sent.
    pub(crate) fn visit(&mut self, now: Time, is_waiting: bool) -> QuotaReport {
        QuotaReport {
            rule: self.known,
            is_news: std::mem::take(&mut self.is_news),
            ..self.sharing.visit(now, is_waiting.then_some(1))
        }
    }

    /// Takes in what others have told. `true` if they have found out what a window holds.
    pub(crate) fn hear(&mut self, asked: Time, now: Time, portion: &QuotaReply) -> bool {
        self.sharing.hear(asked, now, portion);
        for batch in &portion.others {
            let span = batch.first.saturating_sub(batch.last);
            let count = batch.count.min(MOST as u64);
            for index in 0..count {
                let age = batch
                    .first
                    .saturating_sub(span * index as u32 / count as u32);
                let at = asked.before(age);
                let place = self.log.partition_point(|sent| *sent <= at);
                self.log.insert(place, at);
            }
        }
        while self.log.len() > MOST {
            self.log.pop_front();
        }
        // What was found out meanwhile is newer.
        if self.is_news || portion.rule == self.known {
            return false;
        }
        let is_first = self.known.is_none();
        (self.known, self.growth) = (portion.rule, Growth::default());
        is_first
    }

    /// Takes in that an attempt is sent now.
    pub(crate) fn send(&mut self, now: Time) {
        self.opened_at.get_or_insert(now);
        if self.log.len() == MOST {
            self.log.pop_front();
        }
        self.log.push_back(now);
        self.sharing.send(now, 1);
        let Some((limit, window)) = self.known else {
            return;
        };
        let spread =
            window * SPREAD_PER_CENT / PER_CENT / u32::try_from(limit).unwrap_or(u32::MAX).max(1);
        self.due = self.due.max(now.before(window / CATCH_UP)) + spread;
        let grown = self.growth.sent(limit);
        self.is_news |= grown != limit;
        self.known = Some((grown, window));
    }

    /// Takes in that an attempt that was sent then as one of `among` was refused, and nothing else
    /// explains it. `is_new`: it is the first of its burst.
    pub(crate) fn refused(&mut self, sent_at: Time, among: u32, is_new: bool) {
        if let Ok(index) = self.log.binary_search(&sent_at) {
            self.log.remove(index);
            self.sharing.take_back(1);
        }
        let shut = self.shut.get_or_insert(RefusalEpisode {
            first: sent_at,
            last: sent_at,
            among,
        });
        shut.last = shut.last.max(sent_at);
        let Some((limit, window)) = self.known.filter(|_| is_new) else {
            return;
        };
        let held = self.sent_in(sent_at.before(window), sent_at);
        let is_window = held >= FEWEST && held * LEAST_SHARE >= self.growth.standing(limit);
        let fits = self.growth.refused(held, limit);
        self.known = is_window.then_some((fits, window));
        self.is_news = true;
    }

    /// Takes in that the server is shut for another reason: when it opens tells nothing of its windows.
    pub(crate) fn interrupt(&mut self) {
        (self.opened_at, self.shut, self.is_whole) = (None, None, false);
    }

    /// Takes in that an attempt that was sent then was accepted, the first after the refusals.
    /// `probed`: the server asked for the wait, or refused a probe meanwhile. `true` if that tells what a
    /// window holds.
    ///
    /// `is_declared`: the server states limits, too, which say more of a window than when it opens.
    pub(crate) fn opened(&mut self, at: Time, probed: bool, is_declared: bool) -> bool {
        let shut = self.shut.take();
        let is_whole = std::mem::replace(&mut self.is_whole, true) || is_declared;
        let (Some(from), Some(shut)) = (self.opened_at.replace(at), shut) else {
            return false;
        };
        if !probed || self.known.is_some() {
            return false;
        }
        let begun = self.log.partition_point(|sent| *sent < from);
        let shut_at = self.log.partition_point(|sent| *sent <= shut.first);
        let limit = shut_at.saturating_sub(begun) as u64;
        let (least, most) = (shut.last.since(from), at.since(from));
        // Where all that was accepted was still in flight, it may have been too many at once.
        let told = limit >= FEWEST && limit > u64::from(shut.among);
        if !told || at.since(shut.first) * SHUT_SHARE < most {
            return false;
        }
        let round = ROUND.into_iter().map(Duration::from_secs);
        let window = round
            .into_iter()
            .find(|round| *round > least && (*round <= most || !is_whole));
        let window = window.unwrap_or(most);
        // No news: where others have found it out, too, the first word holds.
        self.known = Some((limit, window));
        self.growth = Growth::default();
        true
    }

    /// How many were sent after `from` and not after `to`.
    fn sent_in(&self, from: Time, to: Time) -> u64 {
        let until = |time| self.log.partition_point(|at| *at <= time);
        (until(to) - until(from)) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared::Batch;

    fn ms(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    /// Sends one every `every` ms from `from` on, `count` of them.
    fn send(allowance: &mut Allowance, from: u64, every: u64, count: u64) {
        for index in 0..count {
            allowance.send(ms(from + every * index));
        }
    }

    /// Fifty were accepted from 0 ms on; refused at 250 ms and, as a probe, at `probe` ms.
    fn shut(probe: u64) -> Allowance {
        let mut allowance = Allowance::default();
        send(&mut allowance, 0, 5, 50);
        for refused in [250, probe] {
            allowance.send(ms(refused));
            allowance.refused(ms(refused), 20, refused == 250);
        }
        allowance
    }

    /// What is known once it has opened.
    fn opened(mut allowance: Allowance, at: u64, probed: bool) -> Option<(u64, Duration)> {
        let tells = allowance.opened(ms(at), probed, false);
        assert_eq!(tells, allowance.known().is_some());
        allowance.known()
    }

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_round_window_that_ended_between_two_probes_is_the_one() {
        assert_eq!(opened(shut(950), 1700, true), Some((50, SECOND)));
    }

    #[test]
    fn an_odd_window_is_as_long_as_it_can_be() {
        let odd = Duration::from_millis(700);
        let whole = Allowance {
            is_whole: true,
            ..shut(450)
        };
        assert_eq!(opened(whole, 700, true), Some((50, odd)));
    }

    #[test]
    fn the_first_window_may_have_begun_before_and_is_a_round_one() {
        assert_eq!(opened(shut(450), 700, true), Some((50, SECOND)));
    }

    /// What a visit brings of others, and by which rule they go.
    fn portion(others: Vec<Batch>, rule: Option<Rule>) -> QuotaReply {
        QuotaReply {
            number: 1,
            others,
            rule,
            is_common: true,
            block: None,
            room: None,
        }
    }

    #[test]
    fn what_others_sent_counts_when_the_limit_is_found_out() {
        let mut allowance = shut(950);
        let batch = |first, last| Batch {
            first: Duration::from_millis(first),
            last: Duration::from_millis(last),
            count: 10,
        };
        // Ten at 100 to 200 ms, and ten after the refusal.
        let told = portion(vec![batch(900, 800), batch(700, 600)], None);
        assert!(!allowance.hear(ms(1000), ms(1001), &told));
        assert_eq!(opened(allowance, 1700, true), Some((60, SECOND)));
    }

    #[test]
    fn what_others_have_found_out_is_gone_by_until_a_refusal_says_otherwise() {
        let mut allowance = Allowance::default();
        let told = portion(Vec::new(), Some((50, SECOND)));
        assert!(allowance.hear(ms(0), ms(1), &told), "it is new");
        assert!(!allowance.hear(ms(0), ms(1), &told));
        assert_eq!(allowance.visit(ms(2), true).rule, Some((50, SECOND)));
        send(&mut allowance, 10, 10, 40);
        allowance.send(ms(410));
        allowance.refused(ms(410), 20, true);
        assert!(!allowance.hear(ms(400), ms(420), &told), "older than that");
        assert_eq!(allowance.known(), Some((40, SECOND)));
        let visit = allowance.visit(ms(430), true);
        assert_eq!((visit.rule, visit.is_news), (Some((40, SECOND)), true));
        assert_eq!(visit.returned, 1);
    }

    #[test]
    fn who_opens_at_once_has_no_window() {
        assert_eq!(opened(shut(255), 260, true), None, "shut for a moment");
        assert_eq!(opened(shut(950), 1700, false), None, "nobody tried between");
    }

    #[test]
    fn a_quota_that_is_filled_again_is_no_window_of_the_refusals_before() {
        let mut allowance = shut(950);
        allowance.interrupt();
        let hour = 3_600_000;
        send(&mut allowance, hour, 5, 50);
        assert_eq!(opened(allowance, hour + 1010, true), None);
    }

    #[test]
    fn what_is_still_in_flight_may_have_been_too_much_at_once() {
        let mut allowance = Allowance::default();
        send(&mut allowance, 0, 1, 16);
        allowance.send(ms(20));
        allowance.refused(ms(20), 17, true);
        assert_eq!(opened(allowance, 1500, true), None);
    }

    #[test]
    fn no_span_of_a_window_has_more_than_the_limit() {
        let mut allowance = shut(950);
        allowance.opened(ms(1010), true, false);
        let mut sent = Vec::new();
        for now in 1010..5000 {
            if allowance.due(ms(now)) <= ms(now) {
                allowance.send(ms(now));
                sent.push(now);
            }
        }
        for window in sent.windows(51) {
            assert!(window[50] - window[0] >= 1000, "{window:?}");
        }
        assert!(sent.len() >= 190, "{} of 199", sent.len());
    }

    #[test]
    fn a_window_is_filled_a_tenth_faster_than_evenly() {
        let mut allowance = shut(950);
        allowance.opened(ms(1010), true, false);
        let mut now = ms(60_000);
        allowance.send(now);
        for _ in 0..40 {
            now = now.max(allowance.due(now));
            allowance.send(now);
        }
        // The first may be a tenth of a window behind its rhythm.
        assert_eq!(now, ms(60_000 - 100 + 40 * 18));
    }

    #[test]
    fn who_was_late_catches_up() {
        let mut allowance = shut(950);
        allowance.opened(ms(1010), true, false);
        let mut sent = 0;
        // Awake every 80 ms only.
        for now in (1010..11_010).step_by(80) {
            while allowance.due(ms(now)) <= ms(now) {
                allowance.send(ms(now));
                sent += 1;
            }
        }
        assert!(sent >= 480, "{sent} of 500");
    }

    #[test]
    fn a_refusal_says_how_many_there_are() {
        let mut allowance = shut(950);
        allowance.opened(ms(1010), true, false);
        send(&mut allowance, 2010, 10, 40);
        allowance.send(ms(2410));
        allowance.refused(ms(2410), 20, true);
        assert_eq!(allowance.known(), Some((40, SECOND)));
        for (from, fit, known) in [(5000, 20, Some((20, SECOND))), (9000, 9, None)] {
            send(&mut allowance, from, 10, fit);
            allowance.send(ms(from + 900));
            allowance.refused(ms(from + 900), 20, true);
            assert_eq!(allowance.known(), known, "less than half is no window");
        }
    }

    #[test]
    fn who_holds_less_than_half_of_what_stands_has_no_window_however_much_was_tried() {
        let mut allowance = shut(950);
        allowance.opened(ms(1010), true, false);
        send(&mut allowance, 2010, 20, 1000);
        assert_eq!(allowance.known(), Some((200, SECOND)), "more is tried");
        assert!(allowance.visit(ms(22_010), true).is_news);
        for index in 0..40 {
            allowance.send(ms(30_000 + index));
        }
        allowance.send(ms(30_100));
        allowance.refused(ms(30_100), 20, true);
        assert_eq!(allowance.known(), Some((40, SECOND)));
    }
}
