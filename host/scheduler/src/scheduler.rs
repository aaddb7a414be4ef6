//! The machine: lanes, declared limits, and the six verbs.
//!
//! It owns every job from `offer` to its end and knows which lanes have to be looked at: those
//! where something happened, and those whose time has come. Looking at a lane asks its head
//! alone, so that a call costs the same with ten jobs queued and with ten thousand.
//!
//! A limit that several lanes share is given out by ticket: while the head of one lane waits
//! for it, no later ticket of another lane may take from it. Otherwise small jobs of one lane
//! would starve large ones of another.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use crate::chance::Chance;
use crate::class::Class;
use crate::event::{Event, Notice};
use crate::job::{Action, Demand, End, JobId, LaneId, NextStep, Refusal};
use crate::lane::{Flight, Lane, Pass, Surroundings, Verdict};
use crate::limits::{LeaseId, Limit, LimitId, Limits};
use crate::policy::LanePolicy;
use crate::retry::{self, Attempted, Tries};
use crate::sent::Amounts;
use crate::time::Time;
use crate::tuning::retry::{OWN_AFTER, OWN_REFUSALS};
use crate::view::{View, Wait, WaitReason};

mod leases;
mod shares;

pub use shares::Shareable;

/// All lanes of a run.
///
/// The caller keeps the loop: after `offer`, `finish`, `cancel`, `drain`, and when the time that
/// `wake` gave has come, it calls `start` until that gives `None`, does what it is told, and takes
/// the events. `now` never goes back.
#[derive(Debug)]
pub struct Scheduler {
    lanes: Vec<Lane>,
    jobs: BTreeMap<JobId, Job>,
    limits: Limits,
    /// Lanes to look at.
    dirty: BTreeSet<LaneId>,
    /// When to look at a lane again.
    timers: BTreeSet<(Time, LaneId)>,
    /// The present timer of each lane.
    timer_of: Vec<Option<Time>>,
    /// Heads that wait for a declared limit.
    waiters: BTreeSet<(LimitId, JobId, LaneId)>,
    refused: VecDeque<(JobId, Refusal)>,
    events: VecDeque<Notice>,
    chance: Chance,
    next_job: u64,
    next_lease: u64,
    /// Leases of attempts in flight.
    leased: BTreeSet<LeaseId>,
    /// Nothing starts any more.
    is_draining: bool,
    now: Time,
    /// How much of the clock's minute had passed when time began.
    clock: Duration,
}

/// Why a head can't go, and when to look again.
type Later = (Option<WaitReason>, Option<Time>);

#[derive(Debug)]
struct Job {
    lane: LaneId,
    demand: Demand,
    amounts: Amounts,
    /// Since when it has been in the queue.
    queued_at: Time,
    not_before: Time,
    tries: Tries,
    /// When the first of its attempts was sent that failed.
    failed: Option<Time>,
    /// Its next attempt is a retry of a failure, which costs retry tokens.
    costs_tokens: bool,
    flight: Option<(Flight, Option<LeaseId>)>,
    /// The limits that it found full since it is the head.
    waits_for: Vec<LimitId>,
}

impl Scheduler {
    /// A scheduler without lanes. The same seed and the same calls give the same decisions.
    pub fn new(seed: u64) -> Self {
        Self {
            lanes: Vec::new(),
            jobs: BTreeMap::new(),
            limits: Limits::default(),
            dirty: BTreeSet::new(),
            timers: BTreeSet::new(),
            timer_of: Vec::new(),
            waiters: BTreeSet::new(),
            refused: VecDeque::new(),
            events: VecDeque::new(),
            chance: Chance::new(seed),
            next_job: 0,
            next_lease: 0,
            leased: BTreeSet::new(),
            is_draining: false,
            now: Time::ZERO,
            clock: Duration::ZERO,
        }
    }

    /// Says how much of the clock's minute (of UTC) had passed when time began: many servers count
    /// by it.
    pub fn set_clock(&mut self, passed: Duration) {
        self.clock = passed;
    }

    /// Opens a lane.
    pub fn open(&mut self, policy: LanePolicy) -> LaneId {
        let id = LaneId(self.lanes.len() as u32);
        self.lanes.push(Lane::new(policy, self.now));
        self.timer_of.push(None);
        id
    }

    /// Makes a lane as careful as `policy` too. See [`LanePolicy::tighter`].
    pub fn tighten(&mut self, lane: LaneId, policy: LanePolicy) {
        let lane = &mut self.lanes[lane.index()];
        let policy = lane.policy().tighter(policy);
        lane.obey(policy, self.now);
    }

    /// Adds a declared limit.
    pub fn declare(&mut self, limit: Limit) -> LimitId {
        self.limits.declare(limit)
    }

    /// Puts a job into its lane's queue.
    pub fn offer(&mut self, now: Time, lane: LaneId, demand: Demand) -> JobId {
        self.pass(now);
        let id = JobId(self.next_job);
        self.next_job += 1;
        let queue = &mut self.lanes[lane.index()];
        queue.queue.push(id);
        self.jobs.insert(
            id,
            Job {
                lane,
                amounts: Amounts::of(demand.cost),
                demand,
                queued_at: self.now,
                not_before: Time::ZERO,
                tries: Tries::default(),
                failed: None,
                costs_tokens: false,
                flight: None,
                waits_for: Vec::new(),
            },
        );
        self.dirty.insert(lane);
        id
    }

    /// Returns the next thing to do now, if there is one.
    pub fn start(&mut self, now: Time) -> Option<Action> {
        self.pass(now);
        while let Some(&(due, lane)) = self.timers.first()
            && due <= self.now
        {
            self.set_timer(lane, None);
            self.dirty.insert(lane);
        }
        loop {
            if let Some((job, why)) = self.refused.pop_front() {
                return Some(Action::Refuse(job, why));
            }
            let &lane = self.dirty.first()?;
            if self.is_draining {
                self.refuse_all(lane, &Refusal::Draining);
                continue;
            }
            if let Some(job) = self.try_head(lane) {
                return Some(Action::Start(job));
            }
        }
    }

    /// Takes in that the attempt of a started job has ended.
    pub fn finish(&mut self, now: Time, job: JobId, end: &End<'_>) -> NextStep {
        self.pass(now);
        let Some((flight, lease)) = self.jobs.get_mut(&job).and_then(|job| job.flight.take())
        else {
            return NextStep::Return;
        };
        let id = self.jobs[&job].lane;
        self.dirty.insert(id);
        let used = end.usage.map_or(self.jobs[&job].amounts, Amounts::of);
        self.settle(job, lease, &used);
        let lane = &mut self.lanes[id.index()];
        lane.land();
        let in_flight = lane.in_flight();
        self.say(id, Event::SlotReleased { job, in_flight });
        let lane = &self.lanes[id.index()];
        let (was_broken, in_vain) = (lane.is_broken(), lane.in_vain());
        let ended = &self.jobs[&job];
        let others_pass = ended
            .failed
            .is_some_and(|first| lane.has_worked_since(first));
        // Refused again and again while others pass, for longer than a limit of tokens a minute keeps a large
        // one waiting that may pass: that is no limit of the lane's, and teaches it none.
        let often = ended.tries.retries() >= OWN_REFUSALS;
        let long = ended
            .failed
            .is_some_and(|first| self.now.since(first) >= OWN_AFTER);
        let is_own = end.class == Class::Throttled && often && long && others_pass;
        let class = if is_own { Class::Permanent } else { end.class };
        let (amounts, taught) = (ended.amounts, End { class, ..*end });
        let (lane, mut around) = self.lane(id);
        lane.learn(&flight, &amounts, &taught, job, &mut around);
        let first = *self
            .jobs
            .get_mut(&job)
            .expect("it was in flight")
            .failed
            .get_or_insert(flight.sent_at);
        // A job that fails, or is refused again and again, where others are answered has itself to blame.
        let to_blame = is_own || in_vain && self.lanes[id.index()].has_worked_since(first);
        let next = self.decide(job, end, (was_broken, to_blame));
        if was_broken && let Some(why) = self.lanes[id.index()].lost(self.now) {
            self.refuse_all(id, &why);
        }
        next
    }

    /// Takes in that nobody wants the job's answer any more, whether it waits or is in flight.
    pub fn cancel(&mut self, now: Time, job: JobId) {
        self.pass(now);
        self.refused.retain(|(refused, _)| *refused != job);
        let Some(mut gone) = self.jobs.remove(&job) else {
            return;
        };
        self.dirty.insert(gone.lane);
        self.stop_waiting(&mut gone, job);
        let lane = &mut self.lanes[gone.lane.index()];
        lane.queue.remove(job, gone.not_before);
        if let Some((flight, lease)) = gone.flight {
            lane.cancel(&flight);
            let in_flight = lane.in_flight();
            self.say(gone.lane, Event::SlotReleased { job, in_flight });
            self.settle_lease(lease, &gone.demand, &gone.amounts);
        }
    }

    /// Lets nothing go on the wire any more, for good. Every job that waits, for its first attempt
    /// or for a further one, ends as [`Refusal::Draining`], as does what is offered later or
    /// would be tried again; attempts in flight end as they end.
    pub fn drain(&mut self, now: Time) {
        self.pass(now);
        self.is_draining = true;
        self.dirty.extend((0..self.lanes.len() as u32).map(LaneId));
    }

    /// When `start` has to be asked again even if nothing else happens: strictly after the
    /// last `now`, or `start` has something to give now.
    pub fn wake(&self) -> Option<Time> {
        let timer = self.timers.first().map(|&(due, _)| due);
        let renewal = self.limits.renewal().map(|(due, _)| due);
        [timer, renewal].into_iter().flatten().min()
    }

    /// Takes the oldest event that was not taken yet. They are kept until they are taken.
    pub fn event(&mut self) -> Option<Notice> {
        self.events.pop_front()
    }

    /// How a lane stands.
    pub fn view(&self, lane: LaneId) -> View {
        self.lanes[lane.index()].view()
    }

    /// Starts the head of a lane, or refuses it, or notes when to look again.
    fn try_head(&mut self, id: LaneId) -> Option<JobId> {
        let jobs = &self.jobs;
        let lane = &mut self.lanes[id.index()];
        let Some(head) = lane.head(self.now, |job| jobs[&job].costs_tokens) else {
            let pause = lane.queue.next_pause_end();
            lane.wait = pause.map(|_| Wait {
                why: WaitReason::Backoff,
                until: pause,
            });
            self.rest(id, pause);
            return None;
        };
        if let Some(other) = lane.front.replace(head.job)
            && other != head.job
        {
            self.leave_limit(other);
        }
        let amounts = self.jobs[&head.job].amounts;
        let (lane, mut around) = self.lane(id);
        let (why, until) = match lane.check(&amounts, &mut around) {
            Verdict::Go(pass) => match self.reserve(id, head.job) {
                Ok(lease) => return Some(self.launch(id, head.job, pass, lease)),
                Err(Some(verdict)) => {
                    self.lanes[id.index()].held();
                    verdict
                }
                Err(None) => return None,
            },
            Verdict::Wait(why, until) => {
                // It can't take a shared limit now, so nobody waits behind it for that.
                self.leave_limit(head.job);
                (why, until)
            }
            Verdict::Refuse(why) => {
                self.refuse(head.job, why);
                return None;
            }
            Verdict::End(why) => {
                self.refuse_all(id, &why);
                return None;
            }
        };
        let lane = &mut self.lanes[id.index()];
        let pause = lane.queue.next_pause_end();
        lane.wait = why.map(|why| Wait { why, until });
        let until = [until, pause].into_iter().flatten().min();
        self.rest(id, until);
        None
    }

    fn launch(&mut self, id: LaneId, job: JobId, pass: Pass, lease: Option<LeaseId>) -> JobId {
        let mut started = self.jobs.remove(&job).expect("the head is a job");
        self.stop_waiting(&mut started, job);
        let lane = &mut self.lanes[id.index()];
        lane.queue.remove(job, started.not_before);
        if started.costs_tokens {
            lane.retry_tokens.spend();
            started.costs_tokens = false;
        }
        lane.counters.counts.total_requests += 1;
        lane.counters.counts.retried_requests += u64::from(started.tries.retries() > 0);
        let flight = lane.send(self.now, pass, started.amounts);
        let event = Event::SlotAcquired {
            job,
            queued: self.now - started.queued_at.max(started.not_before),
            in_flight: lane.in_flight(),
            window: lane.window(),
        };
        started.flight = Some((flight, lease));
        self.jobs.insert(job, started);
        self.say(id, event);
        job
    }

    /// A lane, and what is around it.
    fn lane(&mut self, id: LaneId) -> (&mut Lane, Surroundings<'_>) {
        let around = Surroundings {
            lane: id,
            now: self.now,
            chance: &mut self.chance,
            events: &mut self.events,
            clock: self.clock,
        };
        (&mut self.lanes[id.index()], around)
    }

    fn decide(
        &mut self,
        job: JobId,
        end: &End<'_>,
        (was_broken, to_blame): (bool, bool),
    ) -> NextStep {
        let decided = self.jobs.get_mut(&job).expect("it was in flight");
        let id = decided.lane;
        let lane = &mut self.lanes[id.index()];
        let policy = *lane.policy();
        let attempted = Attempted {
            class: end.class,
            asked: end.hint.retry_after,
            useless: end.hint.useless,
            tries: decided.tries,
            max_retries: decided.demand.max_retries.unwrap_or(policy.max_retries),
            lane_waits: lane.waits(),
            probe: was_broken,
            to_blame,
        };
        match retry::decide(self.now, &attempted, &policy, &mut self.chance) {
            fate @ (retry::Fate::Return | retry::Fate::TooLong(_)) => {
                let counts = &mut lane.counters.counts;
                if end.class == Class::Ok {
                    counts.completed_requests += 1;
                } else {
                    counts.failed_requests += 1;
                }
                self.jobs.remove(&job);
                match fate {
                    retry::Fate::TooLong(wait) => NextStep::TooLong(wait),
                    _ => NextStep::Return,
                }
            }
            retry::Fate::Again { not_before, counts } => {
                match end.class {
                    _ if counts => decided.tries.counted += 1,
                    Class::Throttled => decided.tries.free += 1,
                    _ => decided.tries.probes += 1,
                }
                decided.costs_tokens =
                    counts && matches!(end.class, Class::Transient | Class::Timeout);
                decided.queued_at = self.now;
                decided.not_before = not_before;
                lane.queue.push_retry(job, not_before);
                let retry = decided.tries.retries();
                let not_before = not_before.max(lane.blocked_until().unwrap_or(Time::ZERO));
                self.say(
                    id,
                    Event::RequestRetrying {
                        job,
                        retry,
                        not_before,
                    },
                );
                NextStep::Again { retry, not_before }
            }
        }
    }

    /// Ends a queued job.
    fn refuse(&mut self, job: JobId, why: Refusal) {
        let Some(mut gone) = self.jobs.remove(&job) else {
            return;
        };
        self.stop_waiting(&mut gone, job);
        let lane = &mut self.lanes[gone.lane.index()];
        lane.queue.remove(job, gone.not_before);
        // What nobody tried has not failed.
        let failed = why != Refusal::Draining;
        lane.counters.counts.failed_requests += u64::from(failed);
        self.refused.push_back((job, why));
    }

    fn refuse_all(&mut self, lane: LaneId, why: &Refusal) {
        for job in self.lanes[lane.index()].queue.drain() {
            self.refuse(job, why.clone());
        }
        self.lanes[lane.index()].wait = None;
        self.rest(lane, None);
    }

    /// Takes in that a lane has been looked at; the next time is at `until`, or when something happens.
    fn rest(&mut self, lane: LaneId, until: Option<Time>) {
        self.dirty.remove(&lane);
        self.set_timer(lane, until);
    }

    fn set_timer(&mut self, lane: LaneId, until: Option<Time>) {
        let timer = &mut self.timer_of[lane.index()];
        if *timer == until {
            return;
        }
        if let Some(known) = timer.take() {
            self.timers.remove(&(known, lane));
        }
        if let Some(until) = until {
            self.timers.insert((until, lane));
        }
        *timer = until;
    }

    fn say(&mut self, lane: LaneId, event: Event) {
        self.events.push_back(Notice {
            at: self.now,
            lane,
            event,
        });
    }
}

#[cfg(test)]
mod tests;
