//! What a lane learns from the end of an attempt. The policy is written above the lane.

use std::time::Duration;

use super::{
    BETRAYED, FORGIVEN_AFTER, FORGOTTEN_AFTER, Flight, LONGEST_QUIET, Lane, Nature, QUIET,
    SHORTEST_QUIET, Surroundings, TOO_HASTY,
};
use crate::bucket::Bucket;
use crate::class::Class;
use crate::event::Event;
use crate::evidence::Seen;
use crate::hint::{Hint, Reading};
use crate::job::{End, JobId, Refusal};
use crate::pace::Pace;
use crate::sent::Amounts;
use crate::time::Time;

impl Lane {
    /// Takes in what a response says about limits.
    pub(crate) fn read(&mut self, flight: &Flight, hint: &Hint, around: &mut Surroundings<'_>) {
        if !self.policy.adaptive {
            return;
        }
        for reading in &hint.readings {
            self.read_one(flight, reading, around);
        }
    }

    fn read_one(&mut self, flight: &Flight, reading: &Reading, around: &mut Surroundings<'_>) {
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
            self.buckets.push(Bucket::new(reading.dimension, now));
            self.buckets.len() - 1
        });
        let bucket = &mut self.buckets[index];
        let seen = Seen {
            sent_at: flight.sent_at,
            received_at: now,
            mark: flight.marks[reading.dimension as usize],
            remaining,
            reset: reading.reset,
            resolution: reading.resolution,
        };
        let news = bucket.observe(now, reading, seen, &self.sent);
        let dimension = Some(reading.dimension);
        let (limit, window) = (bucket.limit(), bucket.window());
        if news.learned {
            self.tell(
                Event::RateLimitLearned {
                    dimension,
                    limit,
                    window,
                },
                around,
            );
        }
        if news.scarce {
            let event = Event::RateLimitWarning {
                dimension: reading.dimension,
                remaining,
                limit,
            };
            self.tell(event, around);
        }
    }

    /// Takes in how an attempt ended; `true` if that closed the breaker.
    pub(crate) fn learn(
        &mut self,
        flight: &Flight,
        amounts: &Amounts,
        end: &End<'_>,
        job: JobId,
        around: &mut Surroundings<'_>,
    ) -> bool {
        let (now, sent_at) = (around.now, flight.sent_at);
        let was_broken = self.gate.is_broken();
        if end.class != Class::Timeout && end.class != Class::Transient {
            self.counters.answered(now - sent_at);
        }
        match end.class {
            Class::Ok | Class::Permanent => {
                if end.class == Class::Ok {
                    self.gate.succeeded();
                    self.budget.succeed();
                } else {
                    self.gate.was_understood();
                }
                self.accept(flight, around);
            }
            Class::Throttled => {
                self.counters.counts.rate_limit_hits += 1;
                self.refuse(flight, amounts, end.hint, around);
                let event = Event::RateLimitHit {
                    job,
                    retry_after: end.hint.retry_after,
                    blocked_until: self.gate.blocked_until(),
                };
                self.tell(event, around);
            }
            Class::Transient => {
                self.window.rest(now);
                if self.policy.adaptive
                    && let Some(until) = self.gate.fails(now, sent_at, around.chance)
                {
                    self.tell(Event::BreakerOpened { until }, around);
                }
                return false;
            }
            Class::Timeout => return false,
            Class::QuotaExhausted if self.policy.adaptive => {
                let until = end.hint.retry_after.map(|wait| now + wait);
                self.gate.end(Refusal::QuotaExhausted { until });
            }
            Class::Auth if self.policy.adaptive => self.gate.auth_failed(),
            Class::NotFound => {
                if self.policy.adaptive {
                    self.gate.was_not_found();
                }
                self.accept(flight, around);
            }
            Class::QuotaExhausted | Class::Auth => {}
        }
        self.gate.works(now, sent_at);
        was_broken && !self.gate.is_broken()
    }

    /// An attempt was accepted and ended well.
    pub(super) fn accept(&mut self, flight: &Flight, around: &mut Surroundings<'_>) {
        if !self.policy.adaptive {
            return;
        }
        self.answers.came(around.now, around.now - flight.sent_at);
        self.gate.accepted(around.now, flight.sent_at);
        self.mark_opening(around.now);
        if flight.overdraft {
            self.buckets.iter_mut().for_each(Bucket::bluffed);
        }
        let before = self.window.size();
        self.window.succeed(around.now, self.in_flight + 1);
        self.say_window(before, around);
        self.calm += 1;
        if self.calm.is_multiple_of(FORGIVEN_AFTER) {
            self.disappointments = self.disappointments.saturating_sub(1);
            for bucket in &mut self.buckets {
                bucket.forgive();
                if self.calm.is_multiple_of(FORGOTTEN_AFTER) {
                    bucket.forget_cap();
                }
            }
        }
    }

    /// An attempt was refused for its rate.
    pub(super) fn refuse(
        &mut self,
        flight: &Flight,
        amounts: &Amounts,
        hint: &Hint,
        around: &mut Surroundings<'_>,
    ) {
        let now = around.now;
        if !self.policy.adaptive {
            return;
        }
        if let Some(wait) = hint.retry_after
            && wait > self.policy.longest_hint
        {
            let until = Some(now + wait);
            self.gate.end(Refusal::QuotaExhausted { until });
            return;
        }
        if self.gate.is_broken() && !self.gate.is_probe(flight.sent_at) {
            return;
        }
        let took = now - flight.sent_at;
        self.refusal_latency = Some(self.refusal_latency.map_or(took, |known| known.max(took)));
        self.window.rest(now);
        let is_new = flight.sent_at >= self.reacted_at;
        let explained = self.explain(now, amounts, hint, is_new);
        let before = self.window.size();
        let first_probe = self.gate.is_first_probe(flight.sent_at);
        if first_probe && !explained {
            self.buckets.iter_mut().for_each(Bucket::uncap);
        }
        let usual = match (explained, is_new && !first_probe) {
            (true, _) => {
                self.pace.refuse(flight.sent_at);
                None
            }
            (false, true) => Some(self.blame(now, flight)),
            (false, false) => {
                self.pace.refuse(flight.sent_at);
                Some(self.usual_block())
            }
        };
        if is_new {
            self.reacted_at = now;
            self.calm = 0;
        }
        self.say_window(before, around);
        if hint.retry_after.is_some_and(|wait| !wait.is_zero()) || usual.is_some() {
            self.gate
                .block(now, hint.retry_after, usual.flatten(), !is_new);
        }
    }

    /// Tells the pace when the lane has opened again.
    pub(super) fn mark_opening(&mut self, now: Time) {
        if let Some(probes) = self.gate.take_opening()
            && self.nature != Nature::Parallel
        {
            self.pace.opened(now, probes);
        }
    }

    /// Whether declared limits say why.
    fn explain(&mut self, now: Time, amounts: &Amounts, hint: &Hint, is_new: bool) -> bool {
        let mut explained = false;
        for reading in &hint.readings {
            let amount = amounts[reading.dimension as usize];
            explained |= reading.remaining.is_some_and(|left| left < amount);
        }
        let said = hint.readings.iter().any(|r| r.remaining.is_some());
        for bucket in &mut self.buckets {
            let amount = amounts[bucket.dimension() as usize];
            let left = bucket.limit().saturating_sub(bucket.used());
            if !said && left <= (2 * amount).max(bucket.limit() / 50) {
                bucket.empty(now);
                explained = true;
            }
            if explained && is_new {
                bucket.overdrawn();
            }
        }
        explained
    }

    /// Puts an unexplained refusal to somebody's account; gives how long to wait.
    fn blame(&mut self, now: Time, flight: &Flight) -> Option<Duration> {
        if !self.buckets.is_empty() {
            self.disappointments += 1;
            for bucket in &mut self.buckets {
                bucket.disappoint(now, &self.sent);
            }
            if self.disappointments < BETRAYED {
                self.pace.episode(flight.sent_at, false);
                return None;
            }
        }
        let same_height = flight.among.abs_diff(self.refused_at) <= (self.refused_at / 10).max(1);
        let earned = self.pace.accepted() >= u64::from(self.window.size());
        self.refused_at = flight.among;
        match self.nature {
            Nature::Unknown => {
                self.nature = Nature::Suspected;
                self.pace.episode(flight.sent_at, false);
                self.window.cut(now);
            }
            Nature::Suspected if same_height => {
                self.nature = Nature::Parallel;
                self.pace = Pace::default();
                self.pace.episode(flight.sent_at, false);
                self.fitted = flight.among - 1;
                self.window.fit(self.fitted, now);
            }
            Nature::Parallel if same_height && self.hasty < TOO_HASTY => {
                // A true limit of parallel requests doesn't refuse again at what it took.
                let tight = flight.among <= self.fitted;
                self.hasty = if earned && !tight { 0 } else { self.hasty + 1 };
                self.pace.episode(flight.sent_at, false);
                self.fitted = flight.among - 1;
                self.window.fit(self.fitted, now);
            }
            _ => {
                self.nature = Nature::Rate;
                if self.pace.episode(flight.sent_at, true) {
                    self.window.widen(now);
                }
            }
        }
        self.usual_block()
    }

    /// How long a refusal blocks if the server doesn't say; `None`: the gate's own default.
    fn usual_block(&self) -> Option<Duration> {
        match (self.nature, self.pace.interval()) {
            (_, Some(interval)) => Some((interval * 3).clamp(SHORTEST_QUIET * 2, QUIET * 4)),
            (Nature::Parallel, None) => Some(self.quiet()),
            // A limit that was reached within a moment may be open again in the next.
            _ => self.begun.map(|begun| {
                ((self.reacted_at.max(begun) - begun) / 4).clamp(SHORTEST_QUIET * 4, QUIET * 4)
            }),
        }
    }

    pub(super) fn quiet(&self) -> Duration {
        self.refusal_latency.map_or(QUIET, |latency| {
            (latency * 3).clamp(SHORTEST_QUIET, LONGEST_QUIET)
        })
    }
}
