//! The strategy that learns from what the server says and does.
//!
//! It is asked in one order, from what is cheapest to wait for to what is dearest:
//!
//! ```text
//! gate (blocked? broken? ended?) → buckets (declared by the server) → slot → pace (found by
//! trying) → window (how much at once) → limits (declared by the user; the scheduler's)
//! ```
//!
//! All have to agree; the tightest one holds. What is learnt comes in through
//! [`Strategy::learn`], and a refusal is put to the account of exactly one of them:
//!
//! 1. A reading says that less is left than the attempt needed, or a bucket was nearly empty
//!    anyway: **explained**. The bucket is corrected, nothing else changes.
//! 2. The server declares limits and by these there was credit: its buckets are **disappointed**.
//!    They keep more in reserve, and send evenly instead of in bursts. Only when that happens
//!    again and again it goes on as in 3.
//! 3. Nothing is declared. The first time the window is halved. From then on a `classifier` tells
//!    what kind of limit it is: if of **parallel** requests, the window goes to their number; if
//!    of **rate**, `pace` measures it.
//!
//! Attempts sent before it last reacted belong to the same burst and teach nothing.

use std::cmp::Ordering;
use std::time::Duration;

use super::strategy::{Flight, Strategy, Surroundings, Verdict};
use crate::answers::Answers;
use crate::bucket::{Bucket, Credit};
use crate::class::Class;
use crate::classifier::{ByHeight, Classifier};
use crate::event::Event;
use crate::gate::{Gate, Held};
use crate::hint::{Dimension, Hint};
use crate::job::{End, Refusal};
use crate::pace::Pace;
use crate::policy::LanePolicy;
use crate::sent::{Amounts, Sent};
use crate::time::Time;
use crate::trust::Trust;
use crate::tuning::adaptive::{SLOT, SLOT_SHARE};
use crate::view::Why;
use crate::window::{Known, Window};

mod lessons;

/// A spell of [`SLOT`], in which only part of a burst may go.
#[derive(Debug)]
struct Slot {
    since: Time,
    /// Attempts sent in it.
    used: u64,
}

impl Slot {
    fn begin(since: Time) -> Self {
        Self { since, used: 0 }
    }

    fn end(&self) -> Time {
        self.since + SLOT
    }
}

/// What is known of a server's limits, and what is done about them.
#[derive(Debug)]
pub(super) struct Adaptive {
    policy: LanePolicy,
    gate: Gate,
    sent: Sent,
    buckets: Vec<Bucket>,
    window: Window,
    pace: Pace,
    /// Attempts sent before then belong to an episode that was reacted to.
    reacted_at: Time,
    classifier: Box<dyn Classifier>,
    trust: Trust,
    refusal_latency: Option<Duration>,
    answers: Answers,
    /// When the first attempt was sent.
    begun: Option<Time>,
    slot: Slot,
}

impl Adaptive {
    pub(super) fn new(policy: LanePolicy, now: Time) -> Self {
        Self {
            policy,
            gate: Gate::default(),
            sent: Sent::default(),
            buckets: Vec::new(),
            window: Window::new(policy, now),
            pace: Pace::default(),
            reacted_at: Time::ZERO,
            classifier: Box::new(ByHeight::default()),
            trust: Trust::default(),
            refusal_latency: None,
            answers: Answers::default(),
            begun: None,
            slot: Slot::begin(now),
        }
    }

    /// Whether the gate holds everything back.
    fn check_gate(&mut self, now: Time) -> Option<Verdict> {
        let quiet = self.quiet();
        let held = self.gate.check(now, quiet, self.pace.interval().is_some());
        self.mark_opening(now);
        Some(match held? {
            Held::Ended(why) => Verdict::End(why),
            Held::Until(time, why) => Verdict::until(time, why),
        })
    }

    fn check_buckets(&mut self, now: Time, amounts: &Amounts) -> Option<Verdict> {
        let mut latest: Option<(Time, Why)> = None;
        for bucket in &mut self.buckets {
            bucket.advance(now, &self.sent);
            let amount = amounts[bucket.dimension()];
            match bucket.credit(now, amount, &self.sent) {
                Credit::Now => {}
                Credit::At(time) => {
                    if latest.as_ref().is_none_or(|(known, _)| time > *known) {
                        let why = Why::Learnt {
                            dimension: bucket.dimension(),
                            used: bucket.used(),
                            limit: bucket.limit(),
                        };
                        latest = Some((time, why));
                    }
                }
                Credit::Never => {
                    return Some(Verdict::Refuse(Refusal::Oversize {
                        limit: bucket.dimension().to_string(),
                        asked: amount,
                        capacity: bucket.limit(),
                    }));
                }
            }
        }
        let (until, why) = latest?;
        if until - now > self.policy.longest_hint {
            return Some(Verdict::End(Refusal::QuotaExhausted { until: Some(until) }));
        }
        Some(Verdict::until(until, why))
    }

    /// Whether an attempt is not due yet by the pace.
    fn check_pace(&self, now: Time) -> Option<Verdict> {
        let due = self.pace.due();
        let interval = self.pace.interval().filter(|_| due > now)?;
        Some(Verdict::until(due, Why::Pace { interval }))
    }

    fn check_window(&mut self, in_flight: u32, around: &mut Surroundings<'_>) -> Verdict {
        while in_flight >= self.window.size() {
            let before = self.window.size();
            match self.window.press(around.now, self.known(around.now)) {
                Some(due) if due > around.now => return Verdict::Wait(None, Some(due)),
                Some(_) => self.say_window(before, around),
                None => return Verdict::Wait(None, None),
            }
        }
        Verdict::Go
    }

    fn known(&self, now: Time) -> Known {
        if !self.buckets.is_empty() && self.trust.holds() {
            Known::Limits
        } else if self.refusal_latency.is_some() {
            Known::Refusals(self.quiet())
        } else if let Some(usual) = self.answers.steady(now) {
            Known::Steady(usual)
        } else if self.answers.any() {
            Known::Answers
        } else {
            Known::Nothing
        }
    }

    /// When the present slot ends, if it is used up.
    fn slot_due(&mut self, now: Time) -> Option<Time> {
        if now >= self.slot.end() {
            self.slot = Slot::begin(now);
            return None;
        }
        let requests = self
            .buckets
            .iter()
            .find(|bucket| bucket.dimension() == Dimension::Requests)?;
        let most = (requests.per_second()? + requests.limit() / SLOT_SHARE).max(1);
        (self.slot.used >= most).then_some(self.slot.end())
    }

    fn say_window(&self, from: u32, around: &mut Surroundings<'_>) {
        let to = self.window.size();
        match to.cmp(&from) {
            Ordering::Equal => {}
            Ordering::Greater => around.tell(Event::ConcurrencyIncreased { from, to }),
            Ordering::Less => around.tell(Event::ConcurrencyDecreased { from, to }),
        }
    }
}

impl Strategy for Adaptive {
    fn obey(&mut self, policy: LanePolicy, now: Time) {
        self.policy = policy;
        if self.begun.is_none() {
            self.window = Window::new(policy, now);
        } else {
            self.window.obey(policy);
        }
    }

    fn window(&self) -> u32 {
        self.window.size()
    }

    fn check(
        &mut self,
        amounts: &Amounts,
        in_flight: u32,
        around: &mut Surroundings<'_>,
    ) -> Verdict {
        let now = around.now;
        let held = self
            .check_gate(now)
            .or_else(|| self.check_buckets(now, amounts))
            .or_else(|| Some(Verdict::Wait(None, Some(self.slot_due(now)?))))
            .or_else(|| self.check_pace(now));
        held.unwrap_or_else(|| self.check_window(in_flight, around))
    }

    fn send(&mut self, now: Time, amounts: Amounts, in_flight: u32) -> Flight {
        if self.begun.is_none() {
            self.begun = Some(now);
            self.window.rest(now);
        }
        self.sent.add(now, amounts);
        let mut overdraft = false;
        for bucket in &mut self.buckets {
            overdraft |= bucket.spend(now, amounts[bucket.dimension()]);
        }
        self.pace.send(now);
        self.gate.send(now);
        self.slot.used += 1;
        Flight {
            sent_at: now,
            marks: self.sent.total(),
            among: in_flight,
            overdraft,
        }
    }

    fn read(&mut self, flight: &Flight, hint: &Hint, around: &mut Surroundings<'_>) {
        for reading in &hint.readings {
            self.read_one(flight, reading, around);
        }
    }

    fn learn(
        &mut self,
        flight: &Flight,
        amounts: &Amounts,
        end: &End<'_>,
        in_flight: u32,
        around: &mut Surroundings<'_>,
    ) {
        match end.class {
            Class::Ok => {
                self.gate.succeeded();
                self.accept(flight, in_flight, around);
            }
            Class::Permanent => {
                self.gate.was_understood();
                self.accept(flight, in_flight, around);
            }
            Class::NotFound => {
                self.gate.was_not_found();
                self.accept(flight, in_flight, around);
            }
            Class::Throttled => self.refuse(flight, amounts, end.hint, around),
            Class::Transient => self.fail(flight, around),
            Class::QuotaExhausted => {
                let until = end.hint.retry_after.map(|wait| around.now + wait);
                self.gate.end(Refusal::QuotaExhausted { until });
            }
            Class::Auth => self.gate.auth_failed(),
            // How long an answer takes is the model's work and the caller's patience: silence says
            // neither that the server refused nor that it failed.
            Class::Timeout => {}
        }
    }

    fn answered(&mut self, now: Time, sent_at: Time) {
        self.gate.works(now, sent_at);
    }

    fn cancelled(&mut self, sent_at: Time) {
        self.gate.lost_probe(sent_at);
    }

    fn blocked_until(&self) -> Option<Time> {
        self.gate.blocked_until()
    }

    fn is_broken(&self) -> bool {
        self.gate.is_broken()
    }

    fn waits(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests;
