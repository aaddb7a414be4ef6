//! A model server: limits, a voice, and a bad day now and then.
//!
//! It decides when a request *arrives*, and what it says is the state right after that, as
//! gateways do; the answer may come much later. It knows nothing of clients.

use std::collections::VecDeque;
use std::time::Duration;

use runner_scheduler::Time;

use super::plan::{Fault, ServerPlan, Twist};
use super::quota::{Level, Quota};
use super::random::Random;
use super::service::Slots;
use super::speech::{Said, Style, Unit};

/// How long a refusal takes to be written.
const REFUSING: Duration = Duration::from_millis(1);

/// What a request uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Charge {
    pub(crate) requests: u64,
    pub(crate) tokens: u64,
}

impl Charge {
    fn of(self, unit: Unit) -> u64 {
        match unit {
            Unit::Requests => self.requests,
            Unit::Tokens => self.tokens,
        }
    }
}

/// What becomes of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    /// Answered.
    Done,
    /// Refused for its rate.
    Throttled,
    /// The server is out of order.
    Failed,
    /// The account has nothing left.
    Exhausted,
    /// The client did not wait for the answer.
    GivenUp,
}

/// The answer to a request.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: Status,
    pub(crate) said: Said,
    /// When it leaves the server.
    pub(crate) at: Time,
}

#[derive(Debug)]
struct Rule {
    quota: Box<dyn Quota>,
    unit: Unit,
    enforced: bool,
    declared: bool,
}

/// A server in time.
#[derive(Debug)]
pub(crate) struct Server {
    plan: ServerPlan,
    rules: Vec<Rule>,
    slots: Option<Slots>,
    /// Changes of limits that are still to come, soonest first.
    changes: VecDeque<(Time, u64)>,
    /// When the other tenant's next request comes.
    tenant_at: Option<Time>,
    /// Past states, for stale headers.
    past: VecDeque<(Time, Vec<Option<Level>>)>,
    random: Random,
}

impl Server {
    pub(crate) fn new(plan: ServerPlan, mut random: Random) -> Self {
        let phase = random.below(1000);
        let rules = plan.rules.iter().map(|rule| Rule {
            quota: rule.shape.build(phase),
            unit: rule.unit,
            enforced: rule.enforced,
            declared: rule.declared,
        });
        let changes = plan.faults.iter().filter_map(|fault| match fault {
            Fault::Limit { at, percent } => Some((*at, *percent)),
            _ => None,
        });
        Self {
            rules: rules.collect(),
            slots: plan.service.build(),
            changes: changes.collect(),
            tenant_at: plan.tenant.map(|tenant| tenant.from),
            past: VecDeque::new(),
            random,
            plan,
        }
    }

    /// Lets time pass.
    pub(crate) fn advance(&mut self, now: Time) {
        loop {
            let change = self
                .changes
                .front()
                .map(|(at, _)| *at)
                .filter(|at| *at <= now);
            let tenant = self.tenant_at.filter(|at| *at <= now);
            match (change, tenant) {
                (Some(at), _) if tenant.is_none_or(|other| at <= other) => self.change(at),
                (_, Some(at)) => self.serve_tenant(at),
                _ => break,
            }
        }
        self.settle(now);
    }

    fn settle(&mut self, now: Time) {
        for rule in &mut self.rules {
            rule.quota.advance(now);
        }
    }

    fn change(&mut self, at: Time) {
        self.settle(at);
        let Some((_, percent)) = self.changes.pop_front() else {
            return;
        };
        for (rule, plan) in self.rules.iter_mut().zip(&self.plan.rules) {
            rule.quota.resize(plan.shape.limit() * percent / 100);
        }
    }

    /// The other tenant's requests are always before ours: it takes what it takes.
    fn serve_tenant(&mut self, at: Time) {
        self.settle(at);
        let Some(tenant) = self.plan.tenant else {
            return;
        };
        for rule in &mut self.rules {
            let amount = match rule.unit {
                Unit::Requests => 1,
                Unit::Tokens => tenant.tokens,
            };
            rule.quota.take(at, amount, at + tenant.every);
        }
        let next = at + tenant.every / 2 + self.random.span(tenant.every);
        self.tenant_at = Some(next).filter(|next| *next < tenant.until);
    }

    /// When a request would be accepted if nobody else came and nothing changed; `None`:
    /// never. The server has been advanced to `now`.
    pub(crate) fn opens(&self, now: Time, charge: Charge) -> Option<Time> {
        let mut opens = now;
        for fault in &self.plan.faults {
            match fault {
                Fault::Storm { from, until, .. } | Fault::Outage { from, until }
                    if *from <= now && now < *until =>
                {
                    opens = opens.max(*until);
                }
                Fault::Exhausted { at } if *at <= now => return None,
                _ => {}
            }
        }
        for rule in self.rules.iter().filter(|rule| rule.enforced) {
            opens = opens.max(rule.quota.opens(now, charge.of(rule.unit)));
        }
        (opens < Time::NEVER).then_some(opens)
    }

    /// When a request would be worked on at once, if nobody else came and nothing changed; `None`:
    /// never.
    pub(crate) fn serves(&self, now: Time, charge: Charge) -> Option<Time> {
        let opens = self.opens(now, charge)?;
        let slots = self.slots.as_ref();
        Some(slots.map_or(opens, |slots| opens.max(slots.free(now))))
    }

    /// When something happens after `now` that nobody's request causes.
    pub(crate) fn next_change(&self, now: Time) -> Option<Time> {
        let faults = self.plan.faults.iter().flat_map(|fault| match *fault {
            Fault::Storm { from, until, .. }
            | Fault::Outage { from, until }
            | Fault::Slow { from, until, .. } => [from, until],
            Fault::Exhausted { at } | Fault::Limit { at, .. } => [at; 2],
        });
        faults.chain(self.tenant_at).filter(|at| *at > now).min()
    }

    /// A request arrives that takes `latency` to answer.
    pub(crate) fn arrive(&mut self, now: Time, charge: Charge, latency: Duration) -> Answer {
        self.advance(now);
        let (status, wait) = self.judge(now, charge);
        let mut at = now + REFUSING;
        if status == Status::Done {
            let work = self.slowed(now, latency);
            at = match &mut self.slots {
                Some(slots) => slots.take(now, work),
                None => now + work,
            };
            for rule in &mut self.rules {
                rule.quota.take(now, charge.of(rule.unit), at);
            }
        }
        Answer {
            status,
            at,
            said: Said {
                voice: self.plan.voice,
                levels: match status {
                    Status::Failed => Vec::new(),
                    Status::Throttled if self.plan.voice.style == Style::LiteLlm => Vec::new(),
                    _ => self.say(now),
                },
                wait,
            },
        }
    }

    /// Lets an answer leave: where headers are written only then, they are now.
    pub(crate) fn leave(&mut self, now: Time, said: &mut Said) {
        if self.plan.twist == Twist::AtAnswer && !said.levels.is_empty() {
            self.advance(now);
            said.levels = self.say(now);
        }
    }

    fn judge(&self, now: Time, charge: Charge) -> (Status, Option<Duration>) {
        for fault in &self.plan.faults {
            match *fault {
                Fault::Exhausted { at } if at <= now => return (Status::Exhausted, None),
                Fault::Outage { from, until } if from <= now && now < until => {
                    return (Status::Failed, None);
                }
                Fault::Storm { from, until, ask } if from <= now && now < until => {
                    return (Status::Throttled, Some(ask));
                }
                _ => {}
            }
        }
        match self.opens(now, charge) {
            Some(at) if at == now => (Status::Done, None),
            Some(at) => (Status::Throttled, Some(at.since(now))),
            None => (Status::Exhausted, None),
        }
    }

    fn slowed(&self, now: Time, latency: Duration) -> Duration {
        let factors = self.plan.faults.iter().map(|fault| match fault {
            Fault::Slow {
                from,
                until,
                factor,
            } if *from <= now && now < *until => *factor,
            _ => 1,
        });
        factors.fold(latency, |latency, factor| latency * factor)
    }

    /// What the headers declare, with the server's own mistakes.
    fn say(&mut self, now: Time) -> Vec<(Unit, Level)> {
        let read = |rule: &Rule| rule.declared.then(|| rule.quota.level(now));
        let mut levels: Vec<Option<Level>> = self.rules.iter().map(read).collect();
        match self.plan.twist {
            Twist::None | Twist::AtAnswer => {}
            Twist::Missing => {
                if self.random.happens(500) {
                    return Vec::new();
                }
            }
            Twist::Lying => {
                for level in levels.iter_mut().flatten() {
                    level.remaining = level.limit;
                }
            }
            Twist::Stale { most } => {
                self.past.push_back((now, levels.clone()));
                let then = now.before(self.random.span(most));
                while self.past.len() > 1 && self.past[0].0 < now.before(most) {
                    self.past.pop_front();
                }
                let stale = self.past.iter().rev().find(|(at, _)| *at <= then);
                if let Some((_, then)) = stale.or(self.past.front()) {
                    levels.clone_from(then);
                }
            }
        }
        let units = self.rules.iter().map(|rule| rule.unit);
        units
            .zip(levels)
            .filter_map(|(unit, level)| Some((unit, level?)))
            .collect()
    }

    /// How much of its limits may stay unspent on purpose: max(1 request, 0.3 %), the published
    /// guard.
    pub(crate) fn guard(&self, head: Charge) -> Charge {
        let share = |unit, least: u64| {
            let rules = self.rules.iter().zip(&self.plan.rules);
            let limits = rules.filter(|(rule, _)| rule.unit == unit && rule.enforced);
            let largest = limits
                .map(|(_, plan)| plan.shape.limit())
                .max()
                .unwrap_or(0);
            least.max((largest * 3).div_ceil(1000))
        };
        Charge {
            requests: share(Unit::Requests, head.requests),
            tokens: share(Unit::Tokens, head.tokens),
        }
    }
}
