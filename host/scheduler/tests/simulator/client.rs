//! The client: drives the scheduler as the program's shell does, and measures.
//!
//! It offers up to `-j` jobs, sends what `start` gives, hands each answer's hint to `finish`,
//! and comes back when `wake` says so, rounded up to the millisecond that the runtime's timers
//! have. A cancelled attempt is taken off the books at once, but its request still reaches the
//! server: that is how networks are.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use runner_scheduler::{
    Action, Class, Demand, End, Event, JobId, LaneId, Limit, LimitId, NextStep, Notice, QuotaReply,
    Refusal, Scheduler, Time,
};

use super::busy::Stalls;
use super::idle::Idle;
use super::plan::{Job, Plan, World};
use super::random::Random;
use super::server::{Answer, Server, Status};
use super::watch::Watch;

mod idleness;
mod sharing;

use sharing::Sharing;

/// Granularity of the runtime's timers.
const TIMER: u64 = 1_000_000;

/// How a job ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    Answered,
    /// Its last attempt ended like this.
    Failed(Class),
    Refused,
    Cancelled,
}

/// What a run measured.
#[derive(Debug, Default)]
pub(crate) struct Run {
    pub(crate) makespan: Duration,
    /// How each job ended, by number.
    pub(crate) ended: Vec<Option<Ended>>,
    pub(crate) attempts: u64,
    pub(crate) throttled: u64,
    /// When a request was accepted at its server, and for which lane.
    pub(crate) accepted: Vec<(Time, usize)>,
    /// When a job ended, and in which lane.
    pub(crate) left: Vec<(Time, usize)>,
    /// How long each answer took since its attempt was sent.
    pub(crate) took: Vec<Duration>,
    /// Time in the queue before each job's first attempt.
    pub(crate) queued: Vec<Duration>,
    /// Longest time in which there was work and credit and nothing was sent.
    /// `None` where the limits were never learnt.
    pub(crate) idle: Option<Duration>,
    /// For how long lanes waited for what; empty unless asked for.
    pub(crate) waited: BTreeMap<&'static str, Duration>,
    /// What happened, line by line; empty unless asked for.
    pub(crate) trace: Vec<String>,
}

/// How to run.
#[derive(Debug, Clone)]
pub(crate) struct Way {
    /// What failures are called.
    pub(crate) name: String,
    pub(crate) trace: bool,
    /// Whether to count what lanes wait for, which costs.
    pub(crate) explain: bool,
}

#[derive(Debug)]
enum Happening {
    Arrives {
        job: usize,
        attempt: u32,
    },
    Returns {
        job: usize,
        attempt: u32,
        answer: Box<Answer>,
    },
    Cancelled {
        job: usize,
    },
    Visits {
        lane: usize,
    },
    Hears {
        lane: usize,
        asked: Time,
        portion: Box<QuotaReply>,
    },
}

#[derive(Debug, Clone, Copy, Default)]
struct Ticket {
    id: Option<JobId>,
    attempt: u32,
    flying: bool,
    sent_at: Time,
}

struct Client {
    plan: Arc<Plan>,
    servers: Vec<Server>,
    jobs: Arc<[Job]>,
    way: Way,
    scheduler: Scheduler,
    lanes: Vec<LaneId>,
    limits: Vec<LimitId>,
    tickets: Vec<Ticket>,
    /// What will happen, by time and then by order of cause.
    future: BTreeMap<(Time, u64), Happening>,
    causes: u64,
    now: Time,
    /// Jobs of each program that are begun and not ended, and the next that it looks at.
    begun: Vec<usize>,
    next: Vec<usize>,
    stalls: Stalls,
    sharing: Sharing,
    watch: Watch,
    /// Queued jobs of each lane.
    queues: Vec<BTreeSet<usize>>,
    idle: Vec<Idle>,
    idle_noted: Duration,
    run: Run,
}

/// Runs the scheduler through a world.
pub(crate) fn run(world: World, way: Way) -> Run {
    let mut client = Client::new(world, way);
    client.begin_sharing();
    client.offer();
    client.act(false);
    while let Some(at) = client.next_time() {
        client.go_to(at);
    }
    client.watch.over();
    client.run.idle = client.longest_idle();
    client.run
}

impl Client {
    fn new(world: World, way: Way) -> Self {
        let plan = world.plan;
        let mut scheduler = Scheduler::new(world.seed);
        scheduler.set_clock(world.clock);
        let lanes = plan.lanes.iter().map(|lane| scheduler.open(lane.policy));
        let lanes: Vec<LaneId> = lanes.collect();
        let limits = plan.limits.iter().enumerate();
        let limits = limits.map(|(index, (counts, capacity))| Limit {
            name: format!("limit {index}"),
            counts: *counts,
            capacity: *capacity,
        });
        let meters = plan.lanes.iter().map(|lane| {
            let (declared, window) = plan.declares(lane);
            Idle::new(declared, window)
        });
        let programs = plan.lanes.len();
        let stalls = Stalls::new(plan.busy, Random::stream(world.seed, 5));
        Self {
            limits: limits.map(|limit| scheduler.declare(limit)).collect(),
            watch: Watch::new(format!("{} with seed {}", way.name, world.seed), &plan),
            idle: meters.collect(),
            idle_noted: Duration::ZERO,
            queues: vec![BTreeSet::new(); lanes.len()],
            tickets: vec![Ticket::default(); world.jobs.len()],
            run: Run {
                ended: vec![None; world.jobs.len()],
                ..Run::default()
            },
            servers: world.servers,
            jobs: world.jobs,
            plan,
            way,
            scheduler,
            lanes,
            future: BTreeMap::new(),
            causes: 0,
            now: Time::ZERO,
            begun: vec![0; programs],
            next: vec![0; programs],
            stalls,
            sharing: Sharing::default(),
        }
    }

    fn will(&mut self, at: Time, happening: Happening) {
        self.causes += 1;
        self.future.insert((at, self.causes), happening);
    }

    fn note(&mut self, line: impl FnOnce() -> String) {
        if self.way.trace {
            let at = self.now.since(Time::ZERO);
            let line = format!("{:>12.6}  {}", at.as_secs_f64(), line());
            self.run.trace.push(line);
        }
    }

    /// When the scheduler's timer fires and somebody notices.
    fn timer(&mut self) -> Option<Time> {
        let wake = self.scheduler.wake().filter(|wake| *wake < Time::NEVER)?;
        let fires = Time::from_nanos(wake.as_nanos().div_ceil(TIMER) * TIMER);
        Some(self.stalls.noticed(self.now, fires))
    }

    fn next_time(&mut self) -> Option<Time> {
        let event = self.future.first_key_value().map(|((at, _), _)| *at);
        [event, self.timer()].into_iter().flatten().min()
    }

    fn go_to(&mut self, at: Time) {
        let woken = self.timer().is_some_and(|timer| timer <= at);
        for (idle, lane) in self.idle.iter_mut().zip(&self.lanes) {
            idle.until(at, || self.scheduler.view(*lane));
        }
        self.count_waits(at);
        self.now = at;
        self.note_idleness();
        self.watch.tick(at);
        let mut touched = woken;
        while let Some((&key, _)) = self.future.first_key_value()
            && key.0 == at
            && let Some(happening) = self.future.remove(&key)
        {
            touched |= self.happens(happening);
        }
        if touched {
            self.offer();
            self.act(woken);
        }
    }

    /// `true` if the scheduler has heard of it.
    fn happens(&mut self, happening: Happening) -> bool {
        match happening {
            Happening::Arrives { job, attempt } => {
                self.arrives(job, attempt);
                false
            }
            Happening::Returns {
                job,
                attempt,
                answer,
            } => {
                let ticket = self.tickets[job];
                if !ticket.flying || ticket.attempt != attempt {
                    return false;
                }
                self.returns(job, *answer);
                true
            }
            Happening::Cancelled { job } => self.cancel(job),
            Happening::Visits { lane } => {
                self.visits(lane);
                true
            }
            Happening::Hears {
                lane,
                asked,
                portion,
            } => {
                self.hears(lane, asked, &portion);
                true
            }
        }
    }

    /// Begins jobs up to `-j`.
    fn offer(&mut self) {
        let plan = Arc::clone(&self.plan);
        for program in 0..plan.lanes.len() {
            while self.begun[program] < plan.parallel
                && let Some(job) = self.jobs.get(self.next[program])
            {
                if plan.program(job.lane) == program {
                    self.begun[program] += 1;
                    self.begin(self.next[program]);
                }
                self.next[program] += 1;
            }
        }
    }

    /// Offers a job to the scheduler.
    fn begin(&mut self, index: usize) {
        let job = self.jobs[index];
        let limits = self.plan.lanes[job.lane].limits.iter();
        let demand = Demand {
            cost: job.estimate,
            max_retries: None,
            limits: limits.map(|limit| self.limits[*limit]).collect(),
        };
        let id = self.scheduler.offer(self.now, self.lanes[job.lane], demand);
        self.tickets[index].id = Some(id);
        self.queues[job.lane].insert(index);
        self.watch.offered(index);
        if let Some(span) = job.cancelled {
            self.will(self.now + span, Happening::Cancelled { job: index });
        }
    }

    /// Does what the scheduler says until it says nothing.
    fn act(&mut self, woken: bool) {
        let mut sent = vec![false; self.lanes.len()];
        while let Some(action) = self.scheduler.start(self.now) {
            match action {
                Action::Start(id) => {
                    let index = self.watch.job(id);
                    sent[self.jobs[index].lane] = true;
                    self.send(index);
                }
                Action::Refuse(id, why) => self.refused(self.watch.job(id), &why),
            }
            self.listen();
            self.offer();
        }
        self.listen();
        let wake = self.scheduler.wake();
        let idle = !sent.contains(&true);
        self.watch.asleep(wake, woken && idle);
        for (lane, sent) in sent.into_iter().enumerate() {
            self.measure_idleness(lane, sent);
        }
    }

    fn send(&mut self, index: usize) {
        let job = self.jobs[index];
        self.watch
            .started(index, &job, &self.plan.lanes[job.lane].limits);
        self.queues[job.lane].remove(&index);
        let ticket = &mut self.tickets[index];
        ticket.attempt += 1;
        ticket.flying = true;
        ticket.sent_at = self.now;
        let attempt = ticket.attempt;
        self.run.attempts += 1;
        let server = self.plan.lanes[job.lane].server;
        for (idle, lane) in self.idle.iter_mut().zip(&self.plan.lanes) {
            if lane.server == server {
                idle.sent(job.charge);
            }
        }
        self.will(
            self.now + self.plan.delay + job.late,
            Happening::Arrives {
                job: index,
                attempt,
            },
        );
    }

    fn arrives(&mut self, index: usize, attempt: u32) {
        let job = self.jobs[index];
        let at = self.plan.lanes[job.lane].server;
        for (idle, lane) in self.idle.iter_mut().zip(&self.plan.lanes) {
            if lane.server == at {
                idle.arrived(job.charge);
            }
        }
        let mut answer = self.servers[at].arrive(self.now, job.charge, job.latency);
        match answer.status {
            Status::Done => self.run.accepted.push((self.now, job.lane)),
            Status::Throttled => self.run.throttled += 1,
            Status::Failed | Status::Exhausted | Status::GivenUp => {}
        }
        self.note(|| {
            let (status, hint) = (answer.status, answer.said.hint());
            format!("server: {status:?} job {index} attempt {attempt} {hint:?}")
        });
        let sent_at = self.tickets[index].sent_at;
        let mut at = answer.at + self.plan.delay;
        if let Some(limit) = self.plan.timeout
            && at > sent_at + limit
        {
            at = sent_at + limit;
            answer.status = Status::GivenUp;
        }
        let at = self.stalls.noticed(self.now, at.max(self.now));
        let answer = Box::new(answer);
        self.will(
            at,
            Happening::Returns {
                job: index,
                attempt,
                answer,
            },
        );
    }

    fn returns(&mut self, index: usize, mut answer: Answer) {
        let server = self.plan.lanes[self.jobs[index].lane].server;
        // It left a moment ago: the way back is short against the way through the server.
        self.servers[server].leave(self.now, &mut answer.said);
        let class = match answer.status {
            Status::Done if self.jobs[index].hangs => Class::Timeout,
            Status::Done => Class::Ok,
            Status::Throttled => Class::Throttled,
            Status::GivenUp => Class::Timeout,
            Status::Failed => Class::Transient,
            Status::Exhausted => Class::QuotaExhausted,
        };
        let hint = answer.said.hint();
        self.finish(index, class, &hint);
    }

    fn finish(&mut self, index: usize, class: Class, hint: &runner_scheduler::Hint) {
        let job = self.jobs[index];
        let usage = (class == Class::Ok).then_some(job.actual);
        self.tickets[index].flying = false;
        if class == Class::Ok {
            let took = self.now.since(self.tickets[index].sent_at);
            self.run.took.push(took);
            self.idle[self.jobs[index].lane].answered();
        }
        let id = self.tickets[index].id.expect("it was offered");
        let next = self
            .scheduler
            .finish(self.now, id, &End { class, hint, usage });
        self.watch.answered(index, job.lane, class, usage, next);
        self.listen();
        if let NextStep::Again { .. } = next {
            self.queues[job.lane].insert(index);
        } else {
            let ended = if class == Class::Ok {
                Ended::Answered
            } else {
                Ended::Failed(class)
            };
            self.end(index, ended);
        }
    }

    fn refused(&mut self, index: usize, why: &Refusal) {
        self.note(|| format!("job {index} refused: {why:?}"));
        self.watch.refused(index, self.jobs[index].lane);
        self.end(index, Ended::Refused);
    }

    fn cancel(&mut self, index: usize) -> bool {
        if self.run.ended[index].is_some() {
            return false;
        }
        self.note(|| format!("job {index} cancelled"));
        let id = self.tickets[index].id.expect("it was offered");
        self.scheduler.cancel(self.now, id);
        self.tickets[index].flying = false;
        self.watch.cancelled(index, self.jobs[index].lane);
        self.listen();
        self.end(index, Ended::Cancelled);
        true
    }

    fn end(&mut self, index: usize, ended: Ended) {
        self.queues[self.jobs[index].lane].remove(&index);
        self.run.ended[index] = Some(ended);
        self.run.left.push((self.now, self.jobs[index].lane));
        self.run.makespan = self.now.since(Time::ZERO);
        self.begun[self.plan.program(self.jobs[index].lane)] -= 1;
    }

    /// Takes the scheduler's events.
    fn listen(&mut self) {
        while let Some(notice) = self.scheduler.event() {
            self.watch.reported(&notice);
            if let Event::SlotAcquired { job, queued, .. } = &notice.event
                && self.tickets[self.watch.job(*job)].attempt == 1
            {
                self.run.queued.push(*queued);
            }
            let Notice { lane, event, .. } = notice;
            if let Event::RateLimitLearned {
                dimension: Some(dimension),
                window: Some(_),
                ..
            } = event
            {
                self.idle[lane.index()].learnt(dimension);
            }
            self.note(|| format!("lane {}: {} {event:?}", lane.index(), event.name()));
        }
    }
}
