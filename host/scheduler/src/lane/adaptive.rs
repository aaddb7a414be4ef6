//! The strategy that learns from what the server says and does.
//!
//! It is asked in one order, from what is cheapest to wait for to what is dearest:
//!
//! ```text
//! gate (blocked? broken? ended?) → buckets (declared by the server) → spell (bursts are spread) →
//! pace, allowance (found by trying: a rate, or so many in a window) → window (how much at once) →
//! limits (declared by the user; the scheduler's)
//! ```
//!
//! All have to agree; the tightest one holds. What is learnt comes in through
//! [`Strategy::ended`] (`lessons`), and a refusal is put to the account of exactly one of them:
//!
//! 1. A reading says that less is left than the attempt needed, or a bucket was nearly empty
//!    anyway: **explained**. The bucket is corrected, nothing else changes.
//! 2. The server declares limits and by these there was credit: its buckets are **disappointed**.
//!    They keep more in reserve, and send evenly instead of in bursts. Only when that happens
//!    again and again it goes on as in 3.
//! 3. Nothing is declared. The first time the window is halved. From then on a `classifier` tells
//!    what kind of limit it is: if of **parallel** requests, the window goes to their number; if
//!    of **rate**, `pace` measures it. Where the server shuts and opens by windows, `allowance` sees that
//!    when it opens, and takes the place of both.
//!
//! Attempts sent before it last reacted belong to the same burst and teach nothing. Answers say whether
//! more at once pay (`knee`, by the order of `bursts`) and make up for disappointments (`trust`). An
//! attempt that runs out of time where nobody is answered halves the window.

use std::time::Duration;

use super::Flight;
use super::strategy::{Pass, Strategy, Surroundings, Verdict};
use crate::allowance::Allowance;
use crate::bucket::{Bucket, Credit};
use crate::class::Class;
use crate::classifier::Classifier;
use crate::event::Event;
use crate::gate::{Gate, HoldReason};
use crate::hint::Dimension;
use crate::job::{End, Refusal};
use crate::knee::Knee;
use crate::pace::Pace;
use crate::policy::LanePolicy;
use crate::sent::{Amounts, Sent};
use crate::shared::{QuotaReply, QuotaReport};
use crate::time::{Time, nanos};
use crate::trust::Trust;
use crate::tuning::adaptive::{AT_ONCE, BURST, SPELL, SPELL_SHARE};
use crate::view::WaitReason;
use crate::window::{LastAnswer, ServerKnowledge, Window};

mod bursts;
mod lessons;
mod told;

use bursts::{Bursts, InBurst, Order};
use told::LastAnnouncement;

/// A spell of [`SPELL`], in which only part of a burst may go.
#[derive(Debug)]
struct Spell {
    since: Time,
    /// Attempts sent in it.
    used: u64,
}

impl Spell {
    fn begin(since: Time) -> Self {
        Self { since, used: 0 }
    }

    fn end(&self) -> Time {
        self.since + SPELL
    }
}

/// What holds attempts back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Holder {
    /// The window, or nothing yet.
    Window,
    /// A block, a limit of rate, the server's or the user's.
    Other,
}

/// What is noted of an attempt in flight.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Note {
    /// The lane's totals right after it was sent.
    marks: Amounts,
    /// Some bucket seemed to hold too little for it.
    overdraft: bool,
    /// Something else than the window said when it goes.
    spaced: bool,
    /// It filled the window.
    filled: bool,
    order: InBurst,
}

/// What refusals showed.
#[derive(Debug, Default)]
struct Refusals {
    /// Attempts sent before then belong to an episode that was reacted to.
    reacted_at: Time,
    /// How long the slowest took.
    latency: Option<Duration>,
    classifier: Box<dyn Classifier>,
}

/// What answers showed, and that there were none.
#[derive(Debug, Default)]
struct Answers {
    /// The last answer, or the first attempt.
    heard: LastAnswer,
    /// When the newest of the answered attempts was sent.
    newest: Time,
    /// Attempts sent before then that run out of time were reacted to.
    outwaited: Time,
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
    allowance: Allowance,
    refusals: Refusals,
    trust: Trust,
    knee: Knee,
    answers: Answers,
    bursts: Bursts,
    /// What held an attempt back last.
    last_held_by: Holder,
    /// When the first attempt was sent.
    begun: Option<Time>,
    spell: Spell,
    told: LastAnnouncement,
}

impl Adaptive {
    pub(super) fn new(policy: LanePolicy, now: Time) -> Self {
        let window = Window::new(policy, now);
        Self {
            policy,
            told: LastAnnouncement::new(window.size()),
            gate: Gate::default(),
            sent: Sent::default(),
            buckets: Vec::new(),
            window,
            pace: Pace::default(),
            allowance: Allowance::default(),
            refusals: Refusals::default(),
            trust: Trust::default(),
            knee: Knee::default(),
            answers: Answers {
                heard: LastAnswer {
                    at: now,
                    ..LastAnswer::default()
                },
                ..Answers::default()
            },
            bursts: Bursts::default(),
            last_held_by: Holder::Window,
            begun: None,
            spell: Spell::begin(now),
        }
    }

    /// Says whether the gate holds everything back.
    fn check_gate(&mut self, now: Time) -> Option<Verdict> {
        let quiet = self.quiet();
        let held = self.gate.check(now, quiet, self.interval().is_some());
        self.mark_opening(now);
        Some(match held? {
            HoldReason::Ended(why) => Verdict::End(why),
            HoldReason::Until(time, why) => Verdict::until(time, why),
        })
    }

    fn check_buckets(&mut self, now: Time, amounts: &Amounts) -> Option<Verdict> {
        let mut latest: Option<(Time, WaitReason)> = None;
        for bucket in &mut self.buckets {
            bucket.advance(now, &self.sent);
            let amount = amounts[bucket.dimension()];
            match bucket.credit(now, amount, &self.sent) {
                Credit::Now => {}
                Credit::At(time) => {
                    if latest.as_ref().is_none_or(|(known, _)| time > *known) {
                        let why = WaitReason::Learnt {
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
        if let Some(wait) = self.policy.too_long(now, until - now) {
            return Some(Verdict::End(Refusal::TooLong(wait)));
        }
        Some(Verdict::until(until, why))
    }

    /// Whether an attempt is not due yet by what was found by trying.
    fn check_rate(&self, now: Time) -> Option<Verdict> {
        let due = self.pace.due().max(self.allowance.due(now));
        let interval = self.interval().filter(|_| due > now)?;
        Some(Verdict::until(due, WaitReason::Pace { interval }))
    }

    fn check_window(&mut self, in_flight: u32, now: Time) -> Verdict {
        let known = self.known();
        while in_flight >= self.window.size() {
            match self.window.grow_when_due(now, known, self.answers.heard) {
                Some(due) if due <= now => {}
                later => {
                    self.last_held_by = Holder::Window;
                    return Verdict::Wait(None, later);
                }
            }
        }
        Verdict::Go(Pass {
            spaced: self.last_held_by == Holder::Other,
        })
    }

    fn known(&self) -> ServerKnowledge {
        if self.knee.queues() {
            ServerKnowledge::Queue
        } else if !self.buckets.is_empty() && self.trust.holds() {
            ServerKnowledge::Limits(self.knee.paid())
        } else if self.refusals.latency.is_some() {
            ServerKnowledge::Refusals(self.quiet())
        } else {
            ServerKnowledge::Answers
        }
    }

    /// Returns when the present spell ends, if it is used up.
    fn spell_due(&mut self, now: Time) -> Option<Time> {
        if now >= self.spell.end() {
            self.spell = Spell::begin(now);
            return None;
        }
        let requests = self
            .buckets
            .iter()
            .find(|bucket| bucket.dimension() == Dimension::Requests)?;
        let most = (requests.per_second()? + requests.limit() / SPELL_SHARE).max(1);
        (self.spell.used >= most).then_some(self.spell.end())
    }

    /// How many may be sent in how long, where that was found by trying.
    fn rate(&self) -> Option<(u64, Duration)> {
        let each = |interval| (1, interval);
        self.allowance.known().or(self.pace.found().map(each))
    }

    /// Tells what is new.
    fn tell_news(&mut self, around: &mut Surroundings<'_>) {
        self.told.tell(self.window.size(), self.rate(), around);
    }
}

impl Strategy for Adaptive {
    fn obey(&mut self, policy: LanePolicy, now: Time) {
        self.policy = policy;
        if self.begun.is_none() {
            self.window = Window::new(policy, now);
            self.told = LastAnnouncement::new(self.window.size());
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
            .or_else(|| Some(Verdict::Wait(None, Some(self.spell_due(now)?))))
            .or_else(|| self.check_rate(now));
        let verdict = match held {
            Some(verdict) => {
                self.last_held_by = Holder::Other;
                verdict
            }
            None => self.check_window(in_flight, now),
        };
        self.tell_news(around);
        verdict
    }

    fn send(&mut self, now: Time, pass: Pass, amounts: Amounts, in_flight: u32) -> Flight {
        if self.begun.is_none() {
            self.begun = Some(now);
            self.answers.heard.at = now;
            self.window.begin_spell(now);
        }
        let moment = (self.answers.heard.took / BURST).max(AT_ONCE);
        let order = self.bursts.send(now, moment, !pass.spaced);
        self.knee.sent(in_flight);
        self.sent.add(now, amounts);
        let mut overdraft = false;
        for bucket in &mut self.buckets {
            overdraft |= bucket.spend(now, amounts[bucket.dimension()]);
        }
        self.pace.send(now);
        self.allowance.send(now);
        self.gate.send(now);
        self.spell.used += 1;
        Flight {
            sent_at: now,
            among: in_flight,
            note: Note {
                marks: self.sent.total(),
                overdraft,
                spaced: pass.spaced,
                filled: self.window.is_used(in_flight),
                order,
            },
        }
    }

    fn held(&mut self) {
        self.last_held_by = Holder::Other;
    }

    fn ended(
        &mut self,
        flight: &Flight,
        amounts: &Amounts,
        end: &End<'_>,
        in_flight: u32,
        around: &mut Surroundings<'_>,
    ) {
        let now = around.now;
        for reading in &end.hint.readings {
            self.read(flight, reading, around);
        }
        let order = self.bursts.leave(flight.note.order);
        self.knee.gone(flight.among);
        let (class, asked) = (end.class, end.hint.retry_after);
        let refused = class == Class::Throttled;
        match asked.and_then(|wait| self.policy.too_long(now, wait)) {
            Some(wait) if refused => self.gate.give_up(wait),
            // Whom it is put to the account of depends on what the gate holds until then.
            _ if refused => self.refuse(flight, amounts, end.hint, now),
            _ => {}
        }
        let until = asked.map(|wait| now + wait);
        let breaks = self
            .gate
            .ended(now, flight.sent_at, class, until, around.chance);
        if let Some(until) = breaks {
            around.tell(Event::BreakerOpened { until });
        }
        match class {
            Class::Ok => {
                self.accept(flight, in_flight, now);
                self.weigh(flight, order, now);
            }
            Class::Permanent | Class::NotFound => self.accept(flight, in_flight, now),
            Class::Transient => self.window.begin_spell(now),
            Class::Timeout => self.outwait(flight, now),
            Class::Throttled | Class::QuotaExhausted if self.gate.is_ended() => {
                self.pace.interrupt();
                self.allowance.interrupt();
            }
            Class::Throttled | Class::QuotaExhausted | Class::Auth => {}
        }
        self.tell_news(around);
    }

    fn cancelled(&mut self, flight: &Flight) {
        self.bursts.leave(flight.note.order);
        self.knee.gone(flight.among);
        self.gate.lost_probe(flight.sent_at);
    }

    fn visit(&mut self, now: Time, is_waiting: bool) -> Option<QuotaReport> {
        let is_shut = self.gate.blocked_until().is_some_and(|until| until > now);
        Some(self.allowance.visit(now, is_waiting && !is_shut))
    }

    fn hear(&mut self, asked: Time, now: Time, portion: &QuotaReply) {
        if self.allowance.hear(asked, now, portion) {
            self.pace = Pace::default();
            self.window.free(now);
        }
    }

    fn gate(&self) -> Option<&Gate> {
        Some(&self.gate)
    }

    fn lost(&mut self, now: Time, queued: usize) -> Option<Refusal> {
        self.gate.lost(now, queued)
    }

    fn knee(&self) -> Option<u32> {
        self.knee.found()
    }

    fn interval(&self) -> Option<Duration> {
        let spread =
            |(limit, window): (u64, Duration)| Duration::from_nanos(nanos(window) / limit.max(1));
        self.allowance.known().map(spread).or(self.pace.interval())
    }
}

#[cfg(test)]
mod tests;
