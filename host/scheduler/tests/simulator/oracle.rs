//! The clairvoyant client: it sees into the servers and sends each request so that it arrives
//! at the very moment at which it will be accepted.
//!
//! It keeps to the same rules as everybody: the same draws, jobs of a lane in order, `-j` jobs
//! begun and not ended, the same network, and no more at once than a lane opens with before its first
//! answer: nobody can know anything before that. It never has a request refused, so what it needs is
//! what anybody needs at least, but for reordering. A closed formula would not do: the tail of
//! a log-normal latency alone costs several per cent of a short run.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::time::Duration;

use runner_scheduler::Time;

use super::plan::World;

/// What the oracle reached.
#[derive(Debug, Clone)]
pub(crate) struct Ideal {
    /// When its last answer had come back.
    pub(crate) makespan: Duration,
    /// For each job, whether it was answered.
    pub(crate) answered: Vec<bool>,
    /// How long each answer took, from the client's side.
    pub(crate) took: Vec<Duration>,
}

/// Runs the oracle through a world.
pub(crate) fn run(world: World) -> Ideal {
    let jobs = world.jobs.len();
    let lanes = world.plan.lanes.len();
    let mut oracle = Oracle {
        heard: vec![false; lanes],
        world,
        queues: vec![VecDeque::new(); lanes],
        returning: BinaryHeap::new(),
        begun: vec![0; lanes],
        next: vec![0; lanes],
        now: Time::ZERO,
        ideal: Ideal {
            makespan: Duration::ZERO,
            answered: vec![false; jobs],
            took: Vec::new(),
        },
    };
    oracle.admit(Time::ZERO);
    while oracle.step() {}
    oracle.ideal
}

struct Oracle {
    world: World,
    /// Jobs that wait, with the earliest time at which each can be at its server.
    queues: Vec<VecDeque<(usize, Time)>>,
    /// When the client has the answers of those that were sent.
    returning: BinaryHeap<Reverse<(Time, usize)>>,
    /// Jobs of each program that are begun and not ended, and the next that it looks at.
    begun: Vec<usize>,
    next: Vec<usize>,
    now: Time,
    /// Which programs have had an answer.
    heard: Vec<bool>,
    ideal: Ideal,
}

impl Oracle {
    /// Begins jobs up to `-j`; the client knows at `now` that there is room.
    fn admit(&mut self, now: Time) {
        let plan = &self.world.plan;
        for program in 0..self.queues.len() {
            let most = if self.heard[program] {
                plan.parallel
            } else {
                plan.opening(program)
            };
            while self.begun[program] < most
                && let Some(job) = self.world.jobs.get(self.next[program])
            {
                if plan.program(job.lane) == program {
                    self.queues[job.lane].push_back((self.next[program], now + plan.delay));
                    self.begun[program] += 1;
                }
                self.next[program] += 1;
            }
        }
    }

    /// Goes to the next event; `false` after the last.
    fn step(&mut self) -> bool {
        let heads = self
            .queues
            .iter()
            .filter_map(|queue| queue.front().copied());
        let heads: Vec<(usize, Time)> = heads.collect();
        let first = heads
            .into_iter()
            .map(|(job, ready)| (self.look_at(job, ready), job))
            .min();
        match (first, self.returning.peek().map(|back| back.0.0)) {
            (Some((at, _)), Some(back)) if back <= at => self.take_back(),
            (Some((at, job)), _) => self.try_send(at, job),
            (None, Some(_)) => self.take_back(),
            (None, None) => return false,
        }
        true
    }

    /// When a head is worth a look: at its acceptance, or when its server changes before.
    fn look_at(&mut self, job: usize, ready: Time) -> Time {
        let wanted = self.world.jobs[job];
        let server = self.world.plan.lanes[wanted.lane].server;
        let server = &mut self.world.servers[server];
        server.advance(self.now);
        let Some(opens) = server.serves(self.now, wanted.charge) else {
            return self.now;
        };
        let at = opens.max(ready);
        server
            .next_change(self.now)
            .map_or(at, |change| at.min(change))
    }

    fn try_send(&mut self, at: Time, job: usize) {
        self.now = at;
        let wanted = self.world.jobs[job];
        let queue = &mut self.queues[wanted.lane];
        let (_, ready) = queue.front().copied().expect("it is the head");
        let server = self.world.plan.lanes[wanted.lane].server;
        let program = self.world.plan.program(wanted.lane);
        let server = &mut self.world.servers[server];
        server.advance(at);
        match server.serves(at, wanted.charge) {
            Some(opens) if opens == at && ready <= at => {
                queue.pop_front();
                let answer = server.arrive(at, wanted.charge, wanted.latency);
                self.ideal.answered[job] = !wanted.hangs;
                let back = answer.at + self.world.plan.delay;
                self.ideal
                    .took
                    .push(back.since(at.before(self.world.plan.delay)));
                self.returning.push(Reverse((back, program)));
            }
            None => {
                queue.pop_front();
                self.returning
                    .push(Reverse((at + self.world.plan.delay, program)));
            }
            // Something changed meanwhile: look again from here.
            Some(_) => {}
        }
    }

    /// The next answer comes back.
    fn take_back(&mut self) {
        let Some(Reverse((back, program))) = self.returning.pop() else {
            return;
        };
        self.begun[program] -= 1;
        self.heard[program] = true;
        self.ideal.makespan = self.ideal.makespan.max(back.since(Time::ZERO));
        self.admit(back);
    }
}
