//! The two state machines: what starts when, of cases and of requests. Three bytes are an event.

use std::collections::BTreeSet;
use std::time::Duration;

use runner_config::plan::CaseId;
use runner_eval::dispatch::{Dispatch, Order, Signal};
use runner_scheduler::{
    Action, Class, Cost, Counts, Demand, Dimension, End, Hint, JobId, Limit, Next, Policy, Reading,
    Scheduler, Time,
};

/// Cases start once, within their slots, and none after an order to stop.
pub(super) fn dispatch(input: &[u8]) -> String {
    let slots = usize::from(input.first().copied().unwrap_or(1) % 5) + 1;
    let mut machine = Dispatch::new(slots);
    let mut out: BTreeSet<CaseId> = BTreeSet::new();
    let (mut next, mut exhausted, mut stopped) = (0, false, false);
    let mut said = String::new();
    for event in input.iter().skip(1) {
        let which = usize::from(event / 8);
        let signal = match event % 8 {
            0..=2 => {
                if machine.wants_case() {
                    let (test_idx, prompt_idx) = (next, 0);
                    machine.enter(
                        CaseId {
                            test_idx,
                            prompt_idx,
                        },
                        None,
                    );
                    next += 1;
                }
                None
            }
            3 | 4 => {
                let case = (!out.is_empty()).then(|| out.iter().nth(which % out.len()).copied());
                case.flatten().map(Signal::Ended)
            }
            5 => Some([Signal::Interrupt, Signal::GraceOver][which % 2]),
            6 => Some([Signal::TimeLimit, Signal::RecorderFailed][which % 2]),
            _ => Some(Signal::Exhausted),
        };
        if let Some(signal) = signal {
            if let Signal::Ended(case) = signal {
                out.remove(&case);
            }
            exhausted |= signal == Signal::Exhausted;
            if let Some(order) = machine.on(signal) {
                stopped = true;
                said.push_str(if order == Order::Abort { "a" } else { "d" });
            }
        }
        while let Some(case) = machine.start() {
            assert!(!stopped, "{case:?} starts after an order to stop");
            assert!(out.insert(case), "{case:?} starts twice");
        }
        assert_eq!(machine.in_flight(), out.len());
        assert!(out.len() <= slots);
        assert!(!machine.is_over() || out.is_empty() && (exhausted || stopped));
    }
    format!("{said} {:?} {}", machine.end(), machine.is_over())
}

const CLASSES: [Class; 8] = [
    Class::Ok,
    Class::Throttled,
    Class::Transient,
    Class::Timeout,
    Class::Permanent,
    Class::QuotaExhausted,
    Class::Auth,
    Class::NotFound,
];

/// Jobs go or end once, within the limits that were declared, and somebody always wakes up.
pub(super) fn scheduler(input: &[u8]) -> String {
    let mut world = Jobs::new();
    for event in input.chunks_exact(3).take(2000) {
        world.event([event[0], event[1], event[2]]);
    }
    world.end()
}

struct Jobs {
    machine: Scheduler,
    lanes: [runner_scheduler::LaneId; 2],
    limit: runner_scheduler::LimitId,
    now: Time,
    queued: BTreeSet<JobId>,
    out: BTreeSet<JobId>,
    drained: bool,
    said: BTreeSet<String>,
}

/// What is declared.
const MOST: usize = 3;

impl Jobs {
    fn new() -> Self {
        let mut machine = Scheduler::new(7);
        let lanes = [(); 2].map(|()| machine.open(Policy::default()));
        let limit = machine.declare(Limit {
            name: "limit".to_owned(),
            counts: Counts::Concurrency,
            capacity: MOST as u64,
        });
        Self {
            machine,
            lanes,
            limit,
            now: Time::ZERO,
            queued: BTreeSet::new(),
            out: BTreeSet::new(),
            drained: false,
            said: BTreeSet::new(),
        }
    }

    fn event(&mut self, [kind, one, two]: [u8; 3]) {
        let span = Duration::from_millis(u64::from(one) << (two % 16));
        match kind % 8 {
            0 | 1 => {
                let demand = Demand {
                    cost: Cost {
                        input_tokens: u64::from(one) << (two % 56),
                        output_tokens: u64::from(two),
                    },
                    deadline: one.is_multiple_of(5).then_some(self.now + span),
                    max_retries: two.is_multiple_of(3).then_some(u32::from(one % 4)),
                    limits: [self.limit].into(),
                };
                let lane = self.lanes[usize::from(one) % 2];
                self.queued
                    .insert(self.machine.offer(self.now, lane, demand));
            }
            2..=4 => self.finish(one, two, span),
            5 if two.is_multiple_of(16) => {
                self.machine.drain(self.now);
                self.drained = true;
            }
            5 => {
                let job = pick(&self.queued, one).or_else(|| pick(&self.out, one));
                if let Some(job) = job {
                    self.machine.cancel(self.now, job);
                    self.queued.remove(&job);
                    self.out.remove(&job);
                }
            }
            6 => self.pass(self.now + span),
            _ => self.now = self.machine.wake().unwrap_or(self.now),
        }
        self.obey();
    }

    /// Lets time pass, and wakes the machine whenever it wants: its holds are renewed then.
    fn pass(&mut self, end: Time) {
        while let Some(wake) = self.machine.wake().filter(|wake| *wake < end) {
            self.now = wake;
            self.obey();
        }
        self.now = end;
    }

    fn finish(&mut self, one: u8, two: u8, span: Duration) {
        let Some(job) = pick(&self.out, one) else {
            return;
        };
        let class = CLASSES[usize::from(two) % 8];
        let limit = (1 + u64::from(one)) << (two % 40);
        let reading = Reading {
            dimension: [Dimension::Requests, Dimension::Tokens][usize::from(one) % 2],
            limit: Some(limit.min(Reading::MOST)),
            remaining: Some((limit / (1 + u64::from(two))).min(Reading::MOST)),
            reset: Some(span.min(Hint::LONGEST)),
            resolution: Duration::from_millis(u64::from(two % 2) * 1000),
            window: None,
        };
        let hint = Hint {
            retry_after: one.is_multiple_of(7).then(|| span.min(Hint::LONGEST)),
            readings: if one.is_multiple_of(3) {
                vec![reading]
            } else {
                Vec::new()
            },
            ..Hint::default()
        };
        let end = End {
            class,
            hint: &hint,
            usage: None,
        };
        let next = self.machine.finish(self.now, job, &end);
        self.out.remove(&job);
        if let Next::Again { not_before, .. } = next {
            assert!(not_before >= self.now);
            self.queued.insert(job);
        }
        self.said
            .insert(format!("{class:?} {}", matches!(next, Next::Return)));
    }

    fn obey(&mut self) {
        while let Some(action) = self.machine.start(self.now) {
            let job = match action {
                Action::Start(job) => {
                    assert!(!self.drained, "{job:?} starts after the end");
                    self.out.insert(job);
                    job
                }
                Action::Refuse(job, why) => {
                    self.said.insert(format!("{why:?}"));
                    job
                }
            };
            assert!(self.queued.remove(&job), "{job:?} goes or ends once");
        }
        let wake = self.machine.wake();
        assert!(wake.is_none_or(|wake| wake > self.now), "{wake:?}");
        assert!(self.out.len() <= MOST);
        while self.machine.event().is_some() {}
        let views = self.lanes.map(|lane| self.machine.view(lane));
        assert_eq!(
            views.iter().map(|view| view.queued).sum::<usize>(),
            self.queued.len()
        );
    }

    /// Answers everything well; then everything ends.
    fn end(mut self) -> String {
        let hint = Hint::default();
        let end = End {
            class: Class::Ok,
            hint: &hint,
            usage: None,
        };
        for _ in 0..100_000 {
            if let Some(job) = pick(&self.out, 0) {
                self.machine.finish(self.now, job, &end);
                self.out.remove(&job);
            } else if self.queued.is_empty() {
                return self.said.into_iter().collect::<Vec<_>>().join(" ");
            } else {
                self.now = self
                    .machine
                    .wake()
                    .expect("somebody waits, and nothing will happen");
            }
            self.obey();
        }
        panic!("somebody waits for ever");
    }
}

fn pick(jobs: &BTreeSet<JobId>, which: u8) -> Option<JobId> {
    let place = usize::from(which).checked_rem(jobs.len())?;
    jobs.iter().nth(place).copied()
}
