//! The two state machines: what starts when, of cases and of requests. Three bytes are an event.

use std::collections::BTreeSet;
use std::time::Duration;

use runner_config::plan::CaseId;
use runner_eval::state::{Bounds, Command, EndStatus, Input, QueuedCase, RunState, StoreState};
use runner_scheduler::{
    Action, Class, Demand, Dimension, End, Hint, JobId, LanePolicy, Limit, LimitMeasure, NextStep,
    QuotaUse, Reading, Scheduler, Time,
};

/// Cases start once, within their slots, and none after a reason to stop or while the store is
/// behind.
pub(super) fn state(input: &[u8]) -> String {
    let mut run = CasesOfRun::new(usize::from(input.first().copied().unwrap_or(1) % 5) + 1);
    run.tell(Input::Wake);
    for event in input.iter().skip(1) {
        let which = usize::from(event / 8);
        let input = match event % 8 {
            0..=2 => match run.some(which) {
                Some(id) if run.comparing.remove(&id) => Input::Compared(id),
                Some(id) => Input::Ended {
                    id,
                    how: [EndStatus::Answered(()), EndStatus::Done, EndStatus::Open][which % 3],
                    left: None,
                },
                None => Input::Wake,
            },
            3 => {
                run.now += Duration::from_secs(which as u64);
                Input::Wake
            }
            4 => {
                run.store = match run.store {
                    StoreState::Failed => StoreState::Failed,
                    _ => [StoreState::Ready, StoreState::Behind][which % 2],
                };
                Input::Store(run.store)
            }
            5 if which == 0 => {
                run.store = StoreState::Failed;
                Input::Store(StoreState::Failed)
            }
            6 if which < 4 => Input::Interrupt,
            7 => {
                run.exhausted = true;
                Input::Wake
            }
            _ => Input::Wake,
        };
        if let Input::Ended { id, .. } | Input::Compared(id) = input {
            run.out.remove(&id);
        }
        run.tell(input);
        if std::mem::take(&mut run.abandoning) {
            run.tell(Input::Abandoned);
        }
        assert_eq!(run.machine.in_flight(), run.out.len());
        assert!(run.out.len() <= run.slots);
        assert!(!run.machine.is_over() || run.out.is_empty());
    }
    let (end, is_over) = (run.machine.end(), run.machine.is_over());
    format!("{} {end:?} {is_over}", run.said)
}

/// A run of cases of which every other row is compared.
struct CasesOfRun {
    machine: RunState<(), ()>,
    now: Duration,
    slots: usize,
    came: u32,
    exhausted: bool,
    out: BTreeSet<CaseId>,
    comparing: BTreeSet<CaseId>,
    store: StoreState,
    stopped: bool,
    abandoning: bool,
    said: String,
}

impl CasesOfRun {
    fn new(slots: usize) -> Self {
        let bounds = Bounds {
            shares: 2,
            slots,
            time: Some(Duration::from_mins(1)),
            grace: Duration::from_secs(10),
        };
        Self {
            machine: RunState::new(bounds),
            now: Duration::ZERO,
            slots,
            came: 0,
            exhausted: false,
            out: BTreeSet::new(),
            comparing: BTreeSet::new(),
            store: StoreState::Ready,
            stopped: false,
            abandoning: false,
            said: String::new(),
        }
    }

    fn some(&self, which: usize) -> Option<CaseId> {
        let place = which.checked_rem(self.out.len())?;
        self.out.iter().nth(place).copied()
    }

    fn next(&mut self) -> Option<QueuedCase<()>> {
        let id = CaseId {
            test_idx: self.came / 2,
            prompt_idx: self.came % 2,
        };
        self.came += 1;
        (!self.exhausted).then_some(QueuedCase {
            id,
            share: id.prompt_idx,
            needs: None,
            compared_among: id.test_idx.is_multiple_of(2).then_some(2),
            case: (),
        })
    }

    fn tell(&mut self, input: Input<(), ()>) {
        let mut inputs = vec![input];
        while let Some(input) = inputs.pop() {
            for command in self.machine.on(self.now, input) {
                match command {
                    Command::Next => inputs.push(Input::Next(self.next())),
                    Command::Admit(id) => {
                        let may = !self.stopped && self.store == StoreState::Ready;
                        assert!(may, "{id:?} starts after a reason not to");
                        assert!(self.out.insert(id), "{id:?} starts twice");
                    }
                    Command::Run { .. } | Command::TellCodeRuns | Command::TellClosing => {}
                    Command::Compare { id, .. } => {
                        self.out.insert(id);
                        self.comparing.insert(id);
                    }
                    Command::Abandon(_) => self.abandoning = true,
                    Command::ReadRest => inputs.push(Input::Read),
                    Command::Close => {
                        assert!(self.out.is_empty(), "every case comes before");
                        inputs.push(Input::Closed);
                    }
                    Command::CutClosing => self.said.push('c'),
                    Command::Drain { .. } => self.stop("d"),
                    Command::CutOff(_) => self.stop("a"),
                }
            }
        }
    }

    fn stop(&mut self, how: &str) {
        self.stopped = true;
        self.said.push_str(how);
    }
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
        let lanes = [(); 2].map(|()| machine.open(LanePolicy::default()));
        let limit = machine.declare(Limit {
            name: "limit".to_owned(),
            counts: LimitMeasure::Concurrency,
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
                    cost: QuotaUse {
                        input_tokens: u64::from(one) << (two % 56),
                        output_tokens: u64::from(two),
                    },
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
        if let NextStep::Again { not_before, .. } = next {
            assert!(not_before >= self.now);
            self.queued.insert(job);
        }
        self.said
            .insert(format!("{class:?} {}", matches!(next, NextStep::Return)));
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
