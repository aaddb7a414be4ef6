//! What is learnt from the end of an attempt. The policy is written above the strategy.

use std::time::Duration;

use super::{Adaptive, Flight, Holder, Order, Strategy, Surroundings};
use crate::bucket::Bucket;
use crate::classifier::{Finding, LimitKind, Unexplained};
use crate::event::Event;
use crate::evidence::TimedReading;
use crate::hint::{Dimension, Hint, Reading};
use crate::knee::{Advice, AnsweredAttempt};
use crate::pace::Pace;
use crate::sent::Amounts;
use crate::time::Time;
use crate::trust::Amends;
use crate::tuning::adaptive::{
    BLOCK_INTERVALS, LONGEST_QUIET, LONGEST_USUAL_BLOCK, NEARLY_EMPTY, NEARLY_EMPTY_CALLS, QUIET,
    QUIET_LATENCIES, SHORTEST_EARLY_BLOCK, SHORTEST_PACED_BLOCK, SHORTEST_QUIET, TIME_TO_LIMIT,
};
use crate::window::LastAnswer;

impl Adaptive {
    /// Takes in what a response says about one limit.
    pub(super) fn read(
        &mut self,
        flight: &Flight,
        reading: &Reading,
        around: &mut Surroundings<'_>,
    ) {
        let Some(remaining) = reading.remaining else {
            return;
        };
        let now = around.now;
        let place = self
            .buckets
            .iter()
            .position(|bucket| bucket.dimension() == reading.dimension);
        if place.is_none() && reading.limit.is_none() && remaining == 0 {
            // A limit of nothing known would refuse everything for ever.
            return;
        }
        let index = place.unwrap_or_else(|| {
            let mut bucket = Bucket::new(reading.dimension, now);
            if reading.limit.is_some() && reading.reset.is_none() && reading.window.is_none() {
                bucket.presume(around.minute_end());
            }
            self.buckets.push(bucket);
            self.buckets.len() - 1
        });
        let bucket = &mut self.buckets[index];
        let calls = Dimension::Requests;
        let since = self.sent.total()[calls].saturating_sub(flight.note.marks[calls]);
        let seen = TimedReading {
            sent_at: flight.sent_at,
            received_at: now,
            mark: flight.note.marks[reading.dimension],
            beside: since + u64::from(flight.among),
            remaining,
            reset: reading.reset,
            resolution: reading.resolution,
        };
        let news = bucket.observe(now, reading, seen, &self.sent);
        let dimension = Some(reading.dimension);
        let (limit, window) = (bucket.limit(), bucket.window());
        if news.learned {
            around.tell(Event::RateLimitLearned {
                dimension,
                limit,
                window,
            });
        }
        if news.scarce {
            around.tell(Event::RateLimitWarning {
                dimension: reading.dimension,
                remaining,
                limit,
            });
        }
    }

    /// Asks after an answer whether more at once pay.
    pub(super) fn weigh(&mut self, flight: &Flight, order: Order, now: Time) {
        let took = now - flight.sent_at;
        // Who refuses what is too much at once has no queue.
        if flight.note.spaced
            || self.last_held_by == Holder::Other
            || self.refusals.classifier.kind() == LimitKind::Parallel
        {
            self.knee.spaced();
            self.knee.base_on(flight.among, took);
            return;
        }
        let came = AnsweredAttempt {
            among: flight.among,
            took,
            ahead: flight.note.order.ahead,
            rank: order.rank,
            beside: order.beside,
            out: order.out,
            filled: flight.note.filled,
            bounds: (self.policy.min_window, self.policy.max_window),
            limited: !self.buckets.is_empty() || self.refusals.latency.is_some(),
        };
        match self.knee.answered(came, self.window.size()) {
            Advice::Stay => {}
            Advice::Turn(to) => self.window.resize(to, now),
            Advice::Grow(places) => self.window.add(places),
        }
    }

    /// Takes in that an attempt ran out of time. One that others overtook was slow by itself, which
    /// says neither that the server refused nor that it failed; where none did, all of them wait
    /// in a queue, or nobody is served.
    pub(super) fn outwait(&mut self, flight: &Flight, now: Time) {
        if flight.sent_at < self.answers.outwaited.max(self.answers.newest) {
            return;
        }
        self.answers.outwaited = now;
        self.knee.interrupt();
        self.window.halve(now);
    }

    /// Takes in that an attempt was accepted and ended well.
    pub(super) fn accept(&mut self, flight: &Flight, in_flight: u32, now: Time) {
        self.answers.heard = LastAnswer {
            at: now,
            took: now - flight.sent_at,
        };
        self.answers.newest = self.answers.newest.max(flight.sent_at);
        self.mark_opening(now);
        if flight.note.overdraft {
            for bucket in &mut self.buckets {
                bucket.served_at_zero(flight.sent_at);
            }
        }
        self.window.succeed(now, in_flight + 1);
        let amends = self.trust.accepted();
        for bucket in &mut self.buckets {
            if amends != Amends::Nothing {
                bucket.forgive();
            }
            if amends == Amends::Forgotten {
                bucket.forget_cap();
            }
        }
    }

    /// Takes in that an attempt was refused for its rate.
    ///
    /// First it is found out whether declared limits explain it, since only what they don't explain is put to
    /// the account of anything else. The gate is shut last: what it says of probes holds until then.
    pub(super) fn refuse(&mut self, flight: &Flight, amounts: &Amounts, hint: &Hint, now: Time) {
        // It was sent before the lane broke. Its block would take the place of the breaker's hold, which only
        // a refused probe may do.
        if self.gate.is_broken() && !self.gate.is_probe(flight.sent_at) {
            return;
        }
        // Of every refusal, also of those that were reacted to: the slowest says how long a spell has to be
        // quiet, and each ends a quiet one.
        let took = now - flight.sent_at;
        self.refusals.latency = Some(self.refusals.latency.map_or(took, |known| known.max(took)));
        self.window.begin_spell(now);
        // What was sent before the lane last reacted belongs to the burst that it has reacted to.
        let is_new = flight.sent_at >= self.refusals.reacted_at;
        let explained = self.explain(flight, amounts, hint, is_new, now);
        // Asked before the gate is shut again, after which nothing that was sent before is a probe.
        let first_probe = self.gate.is_first_probe(flight.sent_at);
        if first_probe {
            self.gate.probed_in_vain();
        }
        if first_probe && !explained {
            // It went alone and after a pause, so it was no burst that the server refused.
            self.buckets.iter_mut().for_each(Bucket::uncap);
        }
        // A first probe that is refused belongs to the episode that had shut the lane. What that one was put to
        // the account of is not made slower a second time.
        let is_first = is_new && !first_probe;
        if !explained {
            // Each of them, not the first of a burst alone: a refused attempt is none that the window held, and
            // the first and the newest say for how long the server was shut. It comes before `blame`, which
            // asks what the allowance still knows after this refusal.
            self.allowance
                .refused(flight.sent_at, flight.among, is_first);
        }
        let usual = if is_first && !explained {
            Some(self.blame(now, flight))
        } else {
            // Otherwise the pace would take it for an accepted one.
            self.pace.refuse(flight.sent_at);
            (!explained).then(|| self.usual_block())
        };
        if is_new {
            self.refusals.reacted_at = now;
            self.trust.refused();
        }
        // One that is explained shuts the lane only if the server asks for a wait: otherwise the buckets, which
        // were corrected, say when the next attempt may go.
        if hint.retry_after.is_some_and(|wait| !wait.is_zero()) || usual.is_some() {
            self.gate
                .block(now, hint.retry_after, usual.flatten(), !is_new);
        }
    }

    /// Learns from when the lane has opened again.
    pub(super) fn mark_opening(&mut self, now: Time) {
        if let Some(opening) = self.gate.take_opening()
            && self.refusals.classifier.kind() != LimitKind::Parallel
            && self
                .allowance
                .opened(opening.at, opening.probed, !self.buckets.is_empty())
        {
            self.pace = Pace::default();
            self.window.free(now);
        }
    }

    /// Finds out whether declared limits say why, and corrects them by the refusal.
    ///
    /// The refused answer is asked first. Only one that says nothing of what is left leaves it to the buckets,
    /// whose own count is off by what others use and by readings that are a latency old: nearly empty is
    /// empty then. An answer that says that enough is left is believed: the reason is another one.
    fn explain(
        &mut self,
        flight: &Flight,
        amounts: &Amounts,
        hint: &Hint,
        is_new: bool,
        now: Time,
    ) -> bool {
        let mut explained = false;
        let looked = flight.note.overdraft.then_some(flight.sent_at);
        for reading in &hint.readings {
            let amount = amounts[reading.dimension];
            explained |= reading.remaining.is_some_and(|left| left < amount);
        }
        let said = hint.readings.iter().any(|r| r.remaining.is_some());
        for bucket in &mut self.buckets {
            let amount = amounts[bucket.dimension()];
            let left = bucket.limit().saturating_sub(bucket.used());
            if !said && left <= (NEARLY_EMPTY_CALLS * amount).max(bucket.limit() / NEARLY_EMPTY) {
                bucket.empty(now, looked);
                explained = true;
            }
            // Once for a burst, since each time raises what stays in reserve.
            if explained && is_new {
                bucket.overdrawn();
            }
        }
        explained
    }

    /// Puts an unexplained refusal to the account of one part of the strategy, since the lane would become slower
    /// than it must if several reacted; gives how long to wait, `None` for the gate's own default.
    fn blame(&mut self, now: Time, flight: &Flight) -> Option<Duration> {
        if !self.buckets.is_empty() {
            // The server declares limits, so they come first: most likely something else uses the same
            // quota, or bursts are counted more strictly than declared.
            self.trust.disappointed();
            for bucket in &mut self.buckets {
                bucket.disappoint(now, &self.sent);
            }
            if self.trust.holds() {
                // The pace counts anew from here, but measures nothing: this was not the moment at which
                // an undeclared rate was used up. The wait is the gate's own, since `usual_block` goes by what is
                // known of undeclared limits.
                self.pace.episode(flight.sent_at, false);
                return None;
            }
            // Too often: there must be a limit that the server does not declare, which is looked for below.
        }
        if self.allowance.known().is_some() {
            // It took the refusal in before this was called, and corrected its window by it. The classifier
            // would count it a second time.
            return self.usual_block();
        }
        let finding = self.refusals.classifier.refused(Unexplained {
            in_flight: flight.among,
            // As many as may be in flight: then the number is the lane's own and tells nothing of the server.
            at_ceiling: flight.among >= self.policy.max_window,
            // A limit of parallel requests lets a whole window pass before it refuses again.
            earned: self.pace.accepted() >= u64::from(self.window.size()),
        });
        match finding {
            Finding::Unclear => {
                // Half as many at once is less of both, parallel requests and rate. The window moves under
                // a trial of the knee, whose answers would be put down to the trial.
                self.knee.interrupt();
                // Where a measurement may begin, should the next refusal show that it is a rate.
                self.pace.episode(flight.sent_at, false);
                self.window.halve(now);
            }
            Finding::Parallel(most) => {
                self.knee.interrupt();
                // What was taken for a rate was none. The new pace counts what is accepted from here on,
                // by which the next refusal is `earned` or not.
                self.pace = Pace::default();
                self.pace.episode(flight.sent_at, false);
                self.window.limit(most, now);
            }
            Finding::Rate => {
                // Only a pace that was measured may take the place of the window. Too few calls give none, and
                // then nothing else would hold the lane back.
                if self.pace.episode(flight.sent_at, true) {
                    self.window.free(now);
                }
            }
        }
        self.usual_block()
    }

    /// How long a refusal blocks if the server doesn't say; `None`: the gate's own default.
    fn usual_block(&self) -> Option<Duration> {
        match (self.refusals.classifier.kind(), self.interval()) {
            (_, Some(interval)) => {
                Some((interval * BLOCK_INTERVALS).clamp(SHORTEST_PACED_BLOCK, LONGEST_USUAL_BLOCK))
            }
            (LimitKind::Parallel, None) => Some(self.quiet()),
            // A limit that was reached within a moment may be open again in the next. `reacted_at` is that of
            // the refusals before this one: the first of all blocks for the shortest time, which finds a
            // window that slides, and the rest of its burst for a part of what it took until the first.
            // Counted to this refusal itself, sliding windows lose a tenth of their rate (simulation).
            _ => self.begun.map(|begun| {
                ((self.refusals.reacted_at.max(begun) - begun) / TIME_TO_LIMIT)
                    .clamp(SHORTEST_EARLY_BLOCK, LONGEST_USUAL_BLOCK)
            }),
        }
    }

    pub(super) fn quiet(&self) -> Duration {
        self.refusals.latency.map_or(QUIET, |latency| {
            (latency * QUIET_LATENCIES).clamp(SHORTEST_QUIET, LONGEST_QUIET)
        })
    }
}
