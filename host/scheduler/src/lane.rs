//! One quota: who may go next, and what each end of an attempt teaches.
//!
//! A lane is asked in one order, from what is cheapest to wait for to what is dearest:
//!
//! ```text
//! gate (blocked? broken? ended?) → buckets (declared by the server) → slot → pace (found by
//! trying) → window (how much at once) → limits (declared by the user; the scheduler's)
//! ```
//!
//! All have to agree; the tightest one holds. What is learnt comes in through
//! [`Lane::finish`], and a refusal is put to the account of exactly one of them:
//!
//! 1. A reading says that less is left than the attempt needed, or a bucket was nearly empty
//!    anyway: **explained**. The bucket is corrected, nothing else changes.
//! 2. The server declares limits and by these there was credit: its buckets are **disappointed**.
//!    They keep more in reserve, and send evenly instead of in bursts. Only when that happens
//!    again and again the lane is treated as in 3.
//! 3. Nothing is declared. The first time the window is halved. From then on the number in
//!    flight tells what kind of limit it is: refusals that come at the same number each time
//!    are a matter of **parallel** requests, and the window goes to that number; refusals at
//!    any number, or in quick succession, are a matter of **rate**, and `pace` measures it.
//!
//! Attempts sent before the lane last reacted belong to the same burst and teach nothing.

use std::collections::VecDeque;
use std::time::Duration;

use crate::answers::Answers;
use crate::bucket::{Bucket, Credit};
use crate::chance::Chance;
use crate::event::{Event, Notice};
use crate::gate::{Gate, Held};
use crate::hint::Dimension;
use crate::job::{JobId, LaneId, Refusal};
use crate::metrics::Counters;
use crate::pace::Pace;
use crate::policy::Policy;
use crate::queue::{Head, Queue};
use crate::retry::Budget;
use crate::sent::{Amounts, Sent};
use crate::time::Time;
use crate::view::{View, Wait, Why};
use crate::window::{Known, Window};

mod lessons;

/// Without a measurement: how long without a refusal counts as acceptance. Rejections return
/// within that nearly everywhere.
const QUIET: Duration = Duration::from_millis(250);

/// Shortest spell that counts as quiet, for servers next door.
const SHORTEST_QUIET: Duration = Duration::from_millis(25);

/// Longest spell that is waited for.
const LONGEST_QUIET: Duration = Duration::from_secs(2);

/// Bursts are spread: in one slot goes at most what comes back in a second and a fortieth of
/// the limit. Published is a tenth, after Azure's slices, in 100 ms; that is still half a slice
/// at once (simulation), and a lane must not idle for 100 ms.
const SLOT: Duration = Duration::from_millis(90);

/// Disappointments after which declared limits are no longer taken for the whole truth.
const BETRAYED: u32 = 3;

/// Hasty refusals after which a limit is taken for one of rate after all.
const TOO_HASTY: u32 = 3;

/// Accepted attempts that make up for a disappointment.
const FORGIVEN_AFTER: u32 = 100;

/// Accepted attempts after which bursts are tried again: one burst in ten minutes of a hundred
/// calls a minute.
const FORGOTTEN_AFTER: u32 = 1000;

/// What kind of undeclared limit there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Nature {
    /// No refusal yet.
    Unknown,
    /// One episode, which says little.
    Suspected,
    Rate,
    Parallel,
}

/// An attempt in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Flight {
    pub(crate) sent_at: Time,
    /// The lane's totals right after it was sent.
    marks: Amounts,
    /// Attempts in flight then, this one included.
    among: u32,
    /// Some bucket seemed to hold too little for it.
    overdraft: bool,
}

/// What a lane needs from around it.
pub(crate) struct Surroundings<'a> {
    pub(crate) now: Time,
    pub(crate) chance: &'a mut Chance,
    pub(crate) events: &'a mut VecDeque<Notice>,
}

/// Whether the head may go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    Go,
    /// Not before then; `None`: when an attempt ends.
    Wait(Option<Wait>, Option<Time>),
    /// This job never.
    Refuse(Refusal),
    /// No job ever.
    End(Refusal),
}

#[derive(Debug)]
pub(crate) struct Lane {
    id: LaneId,
    policy: Policy,
    pub(crate) queue: Queue,
    pub(crate) gate: Gate,
    pub(crate) budget: Budget,
    pub(crate) counters: Counters,
    pub(crate) wait: Option<Wait>,
    /// The head that was looked at last.
    pub(crate) front: Option<JobId>,
    sent: Sent,
    buckets: Vec<Bucket>,
    window: Window,
    pace: Pace,
    in_flight: u32,
    /// Attempts sent before then belong to an episode that was reacted to.
    reacted_at: Time,
    nature: Nature,
    /// How many were in flight at the first refusal of the last episode.
    refused_at: u32,
    /// To what the window was fitted last.
    fitted: u32,
    refusal_latency: Option<Duration>,
    disappointments: u32,
    /// Accepted attempts since the last one.
    calm: u32,
    /// Refusals at the same height that came too soon after each other for a limit of parallel
    /// requests.
    hasty: u32,
    answers: Answers,
    /// When the first attempt was sent.
    begun: Option<Time>,
    slot: (Time, u64),
}

impl Lane {
    pub(crate) fn new(id: LaneId, policy: Policy, now: Time) -> Self {
        Self {
            id,
            policy,
            queue: Queue::default(),
            gate: Gate::default(),
            budget: Budget::default(),
            counters: Counters::default(),
            wait: None,
            front: None,
            sent: Sent::default(),
            buckets: Vec::new(),
            window: Window::new(policy, now),
            pace: Pace::default(),
            in_flight: 0,
            reacted_at: Time::ZERO,
            nature: Nature::Unknown,
            refused_at: 0,
            fitted: 0,
            refusal_latency: None,
            disappointments: 0,
            calm: 0,
            hasty: 0,
            answers: Answers::default(),
            begun: None,
            slot: (now, 0),
        }
    }

    pub(crate) fn policy(&self) -> &Policy {
        &self.policy
    }

    pub(crate) fn obey(&mut self, policy: Policy, now: Time) {
        self.policy = policy;
        if self.begun.is_none() {
            self.window = Window::new(policy, now);
        } else {
            self.window.obey(policy);
        }
    }

    pub(crate) fn in_flight(&self) -> u32 {
        self.in_flight
    }

    pub(crate) fn window(&self) -> u32 {
        self.window.size()
    }

    pub(crate) fn view(&self) -> View {
        View {
            in_flight: self.in_flight,
            window: self.window.size(),
            queued: self.queue.len(),
            wait: self.wait.clone(),
            metrics: self.counters.metrics(),
        }
    }

    /// The head of the line. A retry of a failure waits for the budget while others work.
    pub(crate) fn head(&mut self, now: Time, budgeted: impl Fn(JobId) -> bool) -> Option<Head> {
        let head = self.queue.head(now)?;
        let holds = head.is_retry && budgeted(head.job) && !self.budget.allows();
        if holds && self.in_flight > 0 {
            self.queue.fresh_head()
        } else {
            Some(head)
        }
    }

    /// Whether an attempt that uses `amounts` may go now, but for the user's limits.
    pub(crate) fn check(&mut self, amounts: &Amounts, around: &mut Surroundings<'_>) -> Verdict {
        let now = around.now;
        if self.policy.adaptive {
            let quiet = self.quiet();
            let held = self.gate.check(now, quiet, self.pace.interval().is_some());
            self.mark_opening(now);
            match held {
                None => {}
                Some(Held::Ended(why)) => return Verdict::End(why),
                Some(Held::Until {
                    time,
                    asked,
                    broken,
                }) => {
                    let why = if broken {
                        Why::Broken
                    } else {
                        Why::Blocked { asked }
                    };
                    return Verdict::Wait(Some(Wait { why, until: time }), time);
                }
            }
            if let Some(verdict) = self.check_buckets(now, amounts) {
                return verdict;
            }
            if let Some(due) = self.slot_due(now) {
                return Verdict::Wait(None, Some(due));
            }
            let due = self.pace.due();
            if let Some(interval) = self.pace.interval().filter(|_| due > now) {
                let why = Why::Pace { interval };
                let until = Some(due);
                return Verdict::Wait(Some(Wait { why, until }), until);
            }
        }
        self.check_window(around)
    }

    fn check_buckets(&mut self, now: Time, amounts: &Amounts) -> Option<Verdict> {
        let mut latest: Option<(Time, Why)> = None;
        for bucket in &mut self.buckets {
            bucket.advance(now, &self.sent);
            let amount = amounts[bucket.dimension() as usize];
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
        let until = Some(until);
        Some(Verdict::Wait(Some(Wait { why, until }), until))
    }

    fn check_window(&mut self, around: &mut Surroundings<'_>) -> Verdict {
        while self.in_flight >= self.window.size() {
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
        if !self.buckets.is_empty() && self.disappointments < BETRAYED {
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
        let (begin, used) = self.slot;
        if now >= begin + SLOT {
            self.slot = (now, 0);
            return None;
        }
        let requests = self
            .buckets
            .iter()
            .find(|bucket| bucket.dimension() == Dimension::Requests)?;
        let most = (requests.per_second()? + requests.limit() / 40).max(1);
        (used >= most).then_some(begin + SLOT)
    }

    /// An attempt goes on the wire.
    pub(crate) fn send(&mut self, now: Time, amounts: Amounts) -> Flight {
        if self.begun.is_none() {
            self.begun = Some(now);
            self.window.rest(now);
        }
        self.sent.add(now, amounts);
        let mut overdraft = false;
        for bucket in &mut self.buckets {
            overdraft |= bucket.spend(now, amounts[bucket.dimension() as usize]);
        }
        self.pace.send(now);
        self.gate.send(now);
        self.slot.1 += 1;
        self.in_flight += 1;
        self.wait = None;
        Flight {
            sent_at: now,
            marks: self.sent.total(),
            among: self.in_flight,
            overdraft,
        }
    }

    /// An attempt has left the wire, whatever became of it.
    pub(crate) fn land(&mut self) {
        self.in_flight -= 1;
    }

    fn say_window(&mut self, from: u32, around: &mut Surroundings<'_>) {
        let to = self.window.size();
        let event = match to.cmp(&from) {
            std::cmp::Ordering::Equal => return,
            std::cmp::Ordering::Greater => Event::ConcurrencyIncreased { from, to },
            std::cmp::Ordering::Less => Event::ConcurrencyDecreased { from, to },
        };
        self.tell(event, around);
    }

    pub(crate) fn tell(&self, event: Event, around: &mut Surroundings<'_>) {
        around.events.push_back(Notice {
            at: around.now,
            lane: self.id,
            event,
        });
    }
}

#[cfg(test)]
mod tests;
