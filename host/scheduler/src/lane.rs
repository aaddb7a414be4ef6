//! One quota: its queue, its counters, and a strategy that decides how much it sends.
//!
//! A strategy is `fixed` or `adaptive`, as the policy says; the lane itself knows no limit.

use crate::class::Class;
use crate::event::Event;
use crate::gate::Gate;
use crate::job::{End, JobId, Refusal};
use crate::metrics::Counters;
use crate::policy::{LanePolicy, LaneStrategy};
use crate::queue::{Head, Queue};
use crate::retry::RetryTokens;
use crate::sent::Amounts;
use crate::shared::{QuotaReply, QuotaReport};
use crate::time::Time;
use crate::view::{Metrics, View, Wait};

mod adaptive;
mod fixed;
mod strategy;

use adaptive::{Adaptive, Note};
use fixed::Fixed;
use strategy::Strategy;
pub(crate) use strategy::{Pass, Surroundings, Verdict};

/// An attempt in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Flight {
    pub(crate) sent_at: Time,
    /// Attempts in flight then, this one included.
    among: u32,
    note: Note,
}

#[derive(Debug)]
pub(crate) struct Lane {
    policy: LanePolicy,
    pub(crate) queue: Queue,
    pub(crate) retry_tokens: RetryTokens,
    pub(crate) counters: Counters,
    pub(crate) wait: Option<Wait>,
    /// The head that was looked at last.
    pub(crate) front: Option<JobId>,
    in_flight: u32,
    /// When the newest of the attempts was sent that the server neither failed nor refused for its rate.
    accepted: Option<Time>,
    strategy: Box<dyn Strategy>,
}

/// The strategy that a policy asks for.
fn strategy(policy: LanePolicy, now: Time) -> Box<dyn Strategy> {
    match policy.strategy {
        LaneStrategy::Fixed => Box::new(Fixed::new(policy)),
        LaneStrategy::Adaptive => Box::new(Adaptive::new(policy, now)),
    }
}

impl Lane {
    pub(crate) fn new(policy: LanePolicy, now: Time) -> Self {
        Self {
            policy,
            queue: Queue::default(),
            retry_tokens: RetryTokens::default(),
            counters: Counters::default(),
            wait: None,
            front: None,
            in_flight: 0,
            accepted: None,
            strategy: strategy(policy, now),
        }
    }

    pub(crate) fn policy(&self) -> &LanePolicy {
        &self.policy
    }

    /// Obeys another policy from now on.
    pub(crate) fn obey(&mut self, policy: LanePolicy, now: Time) {
        if policy.strategy == self.policy.strategy {
            self.strategy.obey(policy, now);
        } else {
            self.strategy = strategy(policy, now);
        }
        self.policy = policy;
    }

    /// How many attempts may be in flight.
    pub(crate) fn window(&self) -> u32 {
        self.strategy.window()
    }

    /// Whether it waits after refusals itself, so that a job needs no pause of its own.
    pub(crate) fn waits(&self) -> bool {
        self.strategy.gate().is_some()
    }

    /// What to tell others that use the same quota, if anything.
    pub(crate) fn visit(&mut self, now: Time, is_waiting: bool) -> Option<QuotaReport> {
        self.strategy.visit(now, is_waiting)
    }

    /// Takes in what others told.
    pub(crate) fn hear(&mut self, asked: Time, now: Time, portion: &QuotaReply) {
        self.strategy.hear(asked, now, portion);
    }

    /// Until when nothing is sent after a refusal or failures, if that is known.
    pub(crate) fn blocked_until(&self) -> Option<Time> {
        self.strategy.gate()?.blocked_until()
    }

    /// Whether the server is taken to be down.
    pub(crate) fn is_broken(&self) -> bool {
        self.strategy.gate().is_some_and(Gate::is_broken)
    }

    pub(crate) fn in_flight(&self) -> u32 {
        self.in_flight
    }

    pub(crate) fn view(&self) -> View {
        View {
            in_flight: self.in_flight,
            window: self.strategy.window(),
            queued: self.queue.len(),
            wait: self.wait.clone(),
            interval: self.strategy.interval(),
            metrics: Metrics {
                knee: self.strategy.knee(),
                ..self.counters.metrics()
            },
        }
    }

    /// Whether probes were in vain since something holds it.
    pub(crate) fn in_vain(&self) -> bool {
        self.strategy.gate().and_then(Gate::in_vain).is_some()
    }

    /// Returns the head of the line, or who is the next probe of a server that failed or refused those
    /// before. A retry of a
    /// failure waits for retry tokens while others work.
    pub(crate) fn head(&mut self, now: Time, costs_tokens: impl Fn(JobId) -> bool) -> Option<Head> {
        let head = match self.strategy.gate().and_then(Gate::in_vain) {
            None => self.queue.head(now)?,
            Some(pauses) => self.queue.probe(now, pauses)?,
        };
        let holds = head.is_retry && costs_tokens(head.job) && !self.retry_tokens.allows();
        if holds && self.in_flight > 0 {
            self.queue.fresh_head()
        } else {
            Some(head)
        }
    }

    /// Whether the server has answered an attempt that was sent after then, and not with a refusal for its
    /// rate.
    pub(crate) fn has_worked_since(&self, then: Time) -> bool {
        self.accepted.is_some_and(|at| at > then)
    }

    /// Why what is queued ends untried, where the server has been down for too long.
    pub(crate) fn lost(&mut self, now: Time) -> Option<Refusal> {
        self.strategy.lost(now, self.queue.len())
    }

    /// Says whether an attempt that uses `amounts` may go now, but for the user's limits.
    pub(crate) fn check(&mut self, amounts: &Amounts, around: &mut Surroundings<'_>) -> Verdict {
        self.strategy.check(amounts, self.in_flight, around)
    }

    /// Takes in that it may, and a limit of the user's holds it back.
    pub(crate) fn held(&mut self) {
        self.strategy.held();
    }

    /// Takes in that an attempt goes on the wire, which may.
    pub(crate) fn send(&mut self, now: Time, pass: Pass, amounts: Amounts) -> Flight {
        self.in_flight += 1;
        self.wait = None;
        self.strategy.send(now, pass, amounts, self.in_flight)
    }

    /// Takes in that an attempt has left the wire, whatever became of it.
    pub(crate) fn land(&mut self) {
        self.in_flight -= 1;
    }

    /// Takes in that nobody wants the answer of an attempt in flight.
    pub(crate) fn cancel(&mut self, flight: &Flight) {
        self.land();
        self.strategy.cancelled(flight);
    }

    /// Takes in how an attempt ended, and what its response said.
    pub(crate) fn learn(
        &mut self,
        flight: &Flight,
        amounts: &Amounts,
        end: &End<'_>,
        job: JobId,
        around: &mut Surroundings<'_>,
    ) {
        let (now, sent_at) = (around.now, flight.sent_at);
        let was_broken = self.is_broken();
        self.strategy
            .ended(flight, amounts, end, self.in_flight, around);
        if end.class == Class::Ok {
            self.retry_tokens.succeed();
        }
        if end.class == Class::Throttled {
            self.counters.counts.rate_limit_hits += 1;
            around.tell(Event::RateLimitHit {
                job,
                retry_after: end.hint.retry_after,
                blocked_until: self.blocked_until(),
            });
        }
        if end.class.is_answer() {
            self.counters.answered(now - sent_at);
        }
        if end.class.is_answer() && end.class != Class::Throttled {
            self.accepted = self.accepted.max(Some(sent_at));
        }
        if was_broken && !self.is_broken() {
            around.tell(Event::BreakerClosed);
        }
    }
}

#[cfg(test)]
mod tests;
