//! What the verbs promise, one sentence each: order, retries, ends, cancelling.
//!
//! `shared` has the limits that the user declares, `draining` how everything ends, `down` how a
//! lane does whose server was never there, `hanging` what calls without an answer do to others,
//! `published` what the published scheduler of questions must do,
//! `any_calls` what holds whatever is called.

mod any_calls;
mod down;
mod draining;
mod hanging;
mod published;
mod shared;

use std::time::Duration;

use super::*;
use crate::hint::{Dimension, Hint, Reading};
use crate::job::{LongWait, QuotaUse};
use crate::limits::LimitMeasure;
use crate::policy::LaneStrategy;

const MINUTE: Duration = Duration::from_mins(1);

fn at(ms: u64) -> Time {
    Time::ZERO + Duration::from_millis(ms)
}

/// A policy with so many slots from the start.
fn slots(window: u32) -> LanePolicy {
    LanePolicy {
        start_window: window,
        max_window: window,
        ..LanePolicy::default()
    }
}

fn asks_for(wait: Duration) -> Hint {
    Hint {
        retry_after: Some(wait),
        ..Hint::default()
    }
}

fn says(dimension: Dimension, limit: u64, remaining: u64, reset: Duration) -> Hint {
    let reading = Reading {
        dimension,
        limit: Some(limit),
        remaining: Some(remaining),
        reset: Some(reset),
        resolution: Duration::from_millis(1),
        window: None,
    };
    Hint {
        readings: vec![reading],
        ..Hint::default()
    }
}

fn tokens(tokens: u64) -> QuotaUse {
    QuotaUse {
        input_tokens: tokens,
        output_tokens: 0,
    }
}

/// A scheduler with a clock in milliseconds.
struct Rig {
    scheduler: Scheduler,
    now: u64,
}

impl Rig {
    fn new() -> Self {
        Self {
            scheduler: Scheduler::new(1),
            now: 1,
        }
    }

    /// With one lane.
    fn with(policy: LanePolicy) -> (Self, LaneId) {
        let mut rig = Self::new();
        let lane = rig.scheduler.open(policy);
        (rig, lane)
    }

    fn offer(&mut self, lane: LaneId) -> JobId {
        self.offer_with(lane, Demand::default())
    }

    fn offer_with(&mut self, lane: LaneId, demand: Demand) -> JobId {
        self.scheduler.offer(at(self.now), lane, demand)
    }

    /// All that is to be done now.
    fn actions(&mut self) -> Vec<Action> {
        let now = at(self.now);
        let actions = std::iter::from_fn(|| self.scheduler.start(now)).collect();
        let wake = self.scheduler.wake();
        assert!(wake.is_none_or(|wake| wake > now), "{wake:?}");
        actions
    }

    /// The jobs that are to be started now, where nothing is refused.
    fn started(&mut self) -> Vec<u64> {
        let started = |action| match action {
            Action::Start(job) => job.ticket(),
            Action::Refuse(job, why) => panic!("{job:?}: {why:?}"),
        };
        self.actions().into_iter().map(started).collect()
    }

    fn wake(&self) -> Option<u64> {
        let wake = self.scheduler.wake()?;
        Some((wake - Time::ZERO).as_nanos().div_ceil(1_000_000) as u64)
    }

    /// Lets time pass up to `ms`, looking whenever the scheduler wants to.
    fn pass(&mut self, ms: u64) -> Vec<u64> {
        let mut started = self.started();
        while let Some(wake) = self.wake().filter(|wake| *wake <= ms) {
            self.now = wake;
            started.extend(self.started());
        }
        self.now = ms;
        started.extend(self.started());
        started
    }

    /// The next that starts, however long that takes; for a lane that starts one at a time.
    fn next(&mut self) -> Option<u64> {
        loop {
            if let Some(&ticket) = self.started().first() {
                return Some(ticket);
            }
            self.now = self.wake()?;
        }
    }

    fn finish(&mut self, job: JobId, class: Class, hint: &Hint) -> NextStep {
        let usage = None;
        let end = End { class, hint, usage };
        self.scheduler.finish(at(self.now), job, &end)
    }

    fn ends(&mut self, job: JobId, class: Class) -> NextStep {
        self.finish(job, class, &Hint::default())
    }

    fn cancel(&mut self, job: JobId) {
        self.scheduler.cancel(at(self.now), job);
    }

    fn events(&mut self) -> Vec<&'static str> {
        let events = std::iter::from_fn(|| self.scheduler.event());
        events.map(|notice| notice.event.name()).collect()
    }
}

#[test]
fn first_come_first_served() {
    let (mut rig, lane) = Rig::with(slots(2));
    let jobs: Vec<JobId> = (0..5).map(|_| rig.offer(lane)).collect();
    assert_eq!(rig.started(), [0, 1]);
    rig.ends(jobs[1], Class::Ok);
    assert_eq!(rig.started(), [2]);
    rig.ends(jobs[0], Class::Ok);
    rig.ends(jobs[2], Class::Ok);
    assert_eq!(rig.started(), [3, 4]);
}

#[test]
fn lanes_do_not_wait_for_each_other() {
    let (mut rig, blocked) = Rig::with(slots(4));
    let other = rig.scheduler.open(slots(1));
    let job = rig.offer(blocked);
    rig.started();
    rig.finish(job, Class::Throttled, &asks_for(MINUTE));
    let free = rig.offer(other);
    assert_eq!(rig.started(), [free.ticket()]);
}

#[test]
fn retries_go_before_new_work_by_their_first_ticket() {
    let (mut rig, lane) = Rig::with(slots(2));
    let jobs: Vec<JobId> = (0..6).map(|_| rig.offer(lane)).collect();
    assert_eq!(rig.started(), [0, 1]);
    let mut last = 0;
    for job in [jobs[1], jobs[0]] {
        let NextStep::Again { retry, not_before } = rig.ends(job, Class::Transient) else {
            panic!("three retries are published");
        };
        assert_eq!(retry, 1);
        last = last.max(not_before.as_nanos().div_ceil(1_000_000));
    }
    assert_eq!(rig.started(), [2, 3], "who pauses holds up nobody");
    rig.now = last;
    assert_eq!(rig.started(), [0; 0]);
    rig.ends(jobs[2], Class::Ok);
    rig.ends(jobs[3], Class::Ok);
    assert_eq!(rig.started(), [0, 1]);
}

#[test]
fn the_fourth_failure_is_the_answer() {
    let (mut rig, lane) = Rig::with(slots(1));
    let job = rig.offer(lane);
    let patient = Demand {
        max_retries: Some(1),
        ..Demand::default()
    };
    let other = rig.offer_with(lane, patient);
    let mut attempts = [0; 2];
    while let Some(ticket) = rig.next() {
        attempts[ticket as usize] += 1;
        let job = if ticket == 0 { job } else { other };
        rig.ends(job, Class::Transient);
        assert_eq!(
            rig.ends(job, Class::Transient),
            NextStep::Return,
            "it is out"
        );
    }
    assert_eq!(attempts, [4, 2]);
    let metrics = rig.scheduler.view(lane).metrics;
    let counts = (metrics.total_requests, metrics.retried_requests);
    assert_eq!(counts, (6, 4));
    assert_eq!(metrics.failed_requests, 2);
}

#[test]
fn a_job_that_is_always_refused_ends_after_twenty_refusals_more() {
    let (mut rig, lane) = Rig::with(slots(4));
    let job = rig.offer(lane);
    let mut attempts = 0;
    while rig.next().is_some() {
        attempts += 1;
        rig.ends(job, Class::Throttled);
    }
    assert_eq!(attempts, 21);
    assert_eq!(rig.scheduler.view(lane).metrics.rate_limit_hits, 21);
}

#[test]
fn a_success_with_nothing_remaining_is_a_success_and_only_the_next_waits() {
    let (mut rig, lane) = Rig::with(slots(9));
    let job = rig.offer(lane);
    rig.started();
    let hint = says(Dimension::Requests, 60, 0, Duration::from_secs(20));
    assert_eq!(rig.finish(job, Class::Ok, &hint), NextStep::Return);
    assert_eq!(rig.scheduler.view(lane).metrics.completed_requests, 1);
    rig.offer(lane);
    assert_eq!(rig.started(), [0; 0]);
    let wait = rig.scheduler.view(lane).wait.expect("it is said why");
    let why = WaitReason::Learnt {
        dimension: Dimension::Requests,
        used: 60,
        limit: 60,
    };
    assert_eq!(wait.why, why);
    assert_eq!(rig.pass(20_000), [0; 0]);
    assert_eq!(rig.pass(20_002), [1]);
}

#[test]
fn what_a_learnt_limit_never_holds_is_refused_at_once_and_the_next_goes() {
    let (mut rig, lane) = Rig::with(slots(9));
    let job = rig.offer(lane);
    rig.started();
    rig.finish(job, Class::Ok, &says(Dimension::Tokens, 5000, 4000, MINUTE));
    let cost = tokens(5001);
    let large = Demand {
        cost,
        ..Demand::default()
    };
    let large = rig.offer_with(lane, large);
    let small = rig.offer(lane);
    let why = Refusal::Oversize {
        limit: "tokens".to_owned(),
        asked: 5001,
        capacity: 5000,
    };
    let expected = [Action::Refuse(large, why), Action::Start(small)];
    assert_eq!(rig.actions(), expected);
}

#[test]
fn a_used_up_quota_refuses_what_is_queued_and_what_comes_later_but_no_other_lane() {
    let (mut rig, lane) = Rig::with(slots(2));
    let other = rig.scheduler.open(slots(2));
    let jobs: Vec<JobId> = (0..4).map(|_| rig.offer(lane)).collect();
    rig.started();
    let hint = asks_for(Duration::from_hours(5));
    let next = rig.finish(jobs[1], Class::QuotaExhausted, &hint);
    assert_eq!(next, NextStep::Return);
    let until = Some(at(rig.now) + Duration::from_hours(5));
    let why = Refusal::QuotaExhausted { until };
    let refused = |n: usize| Action::Refuse(jobs[n], why.clone());
    assert_eq!(rig.actions(), [refused(2), refused(3)]);
    rig.now += 1000;
    assert_eq!(rig.ends(jobs[0], Class::Ok), NextStep::Return, "it was out");
    let newcomer = rig.offer(lane);
    let fine = rig.offer(other);
    let expected = [Action::Refuse(newcomer, why), Action::Start(fine)];
    assert_eq!(rig.actions(), expected);
}

#[test]
fn a_quota_that_is_filled_again_is_used_by_who_comes_later() {
    let (mut rig, lane) = Rig::with(slots(2));
    let first = rig.offer(lane);
    rig.started();
    let next = rig.finish(first, Class::Throttled, &asks_for(Duration::from_hours(5)));
    let wait = LongWait {
        until: at(rig.now) + Duration::from_hours(5),
        asked: Duration::from_hours(5),
        longest: LanePolicy::default().longest_hint,
    };
    assert_eq!(next, NextStep::TooLong(wait));
    let early = rig.offer(lane);
    let refused = Action::Refuse(early, Refusal::TooLong(wait));
    assert_eq!(rig.actions(), [refused]);
    rig.now += 5 * 3_600_000;
    let jobs = [(); 3].map(|()| rig.offer(lane));
    assert_eq!(rig.started(), [jobs[0].ticket()], "one looks");
    rig.ends(jobs[0], Class::Ok);
    assert_eq!(
        rig.pass(rig.now + 1000),
        [jobs[1].ticket(), jobs[2].ticket()]
    );
}

#[test]
fn a_model_that_was_never_there_is_given_up_after_three() {
    let (mut rig, lane) = Rig::with(slots(1));
    let jobs: Vec<JobId> = (0..5).map(|_| rig.offer(lane)).collect();
    for job in &jobs[..3] {
        assert_eq!(rig.started(), [job.ticket()]);
        assert_eq!(rig.ends(*job, Class::NotFound), NextStep::Return);
    }
    let refused = |job: &JobId| Action::Refuse(*job, Refusal::NotFound);
    let expected: Vec<Action> = jobs[3..].iter().map(refused).collect();
    assert_eq!(rig.actions(), expected);
}

#[test]
fn a_credential_that_never_worked_is_given_up_after_three() {
    let (mut rig, lane) = Rig::with(slots(1));
    let jobs: Vec<JobId> = (0..5).map(|_| rig.offer(lane)).collect();
    for job in &jobs[..3] {
        assert_eq!(rig.started(), [job.ticket()]);
        assert_eq!(rig.ends(*job, Class::Auth), NextStep::Return);
    }
    let refused = |job: &JobId| Action::Refuse(*job, Refusal::Auth);
    let expected: Vec<Action> = jobs[3..].iter().map(refused).collect();
    assert_eq!(rig.actions(), expected);
}

#[test]
fn a_cancelled_job_never_starts_wherever_it_was() {
    let (mut rig, lane) = Rig::with(slots(1));
    let jobs: Vec<JobId> = (0..4).map(|_| rig.offer(lane)).collect();
    assert_eq!(rig.started(), [0]);
    rig.cancel(jobs[1]);
    rig.ends(jobs[0], Class::Transient);
    rig.cancel(jobs[0]);
    assert_eq!(rig.pass(10_000), [2], "not queued, not paused");
    rig.cancel(jobs[2]);
    assert_eq!(rig.ends(jobs[2], Class::Transient), NextStep::Return);
    assert_eq!(rig.pass(20_000), [3], "not in flight");
    rig.ends(jobs[3], Class::Ok);
    assert_eq!(rig.pass(90_000), [0; 0]);
    let view = rig.scheduler.view(lane);
    assert_eq!((view.queued, view.in_flight), (0, 0));
}

#[test]
fn a_cancelled_probe_is_replaced_at_once() {
    let (mut rig, lane) = Rig::with(slots(4));
    let jobs: Vec<JobId> = (0..6).map(|_| rig.offer(lane)).collect();
    rig.started();
    for job in &jobs[..4] {
        rig.finish(*job, Class::Throttled, &asks_for(Duration::from_secs(2)));
    }
    assert_eq!(rig.pass(2001), [0], "one probe");
    assert_eq!(rig.pass(2003), [0; 0]);
    rig.cancel(jobs[0]);
    assert_eq!(rig.started(), [1]);
}

#[test]
fn one_request_that_is_too_dear_does_not_empty_the_account_of_others() {
    let (mut rig, lane) = Rig::with(slots(1));
    let jobs: Vec<JobId> = (0..8).map(|_| rig.offer(lane)).collect();
    let ends = [
        Class::QuotaExhausted,
        Class::QuotaExhausted,
        Class::Ok,
        Class::QuotaExhausted,
        Class::QuotaExhausted,
        Class::QuotaExhausted,
    ];
    for (job, class) in jobs.iter().zip(ends) {
        rig.started();
        assert_eq!(rig.ends(*job, class), NextStep::Return);
    }
    let why = Refusal::QuotaExhausted { until: None };
    let refused = |n: usize| Action::Refuse(jobs[n], why.clone());
    assert_eq!(rig.actions(), [refused(6), refused(7)], "three in a row");
}

#[test]
fn a_refusal_that_nobody_collected_is_dropped_with_its_job() {
    let (mut rig, lane) = Rig::with(slots(1));
    let jobs: Vec<JobId> = (0..3).map(|_| rig.offer(lane)).collect();
    rig.started();
    let day = asks_for(Duration::from_hours(24));
    rig.finish(jobs[0], Class::QuotaExhausted, &day);
    let until = Some(at(rig.now) + Duration::from_hours(24));
    let why = Refusal::QuotaExhausted { until };
    let first = rig.scheduler.start(at(rig.now));
    assert_eq!(first, Some(Action::Refuse(jobs[1], why)));
    rig.cancel(jobs[2]);
    assert_eq!(rig.actions(), []);
}

#[test]
fn without_adapting_refusals_use_retries_and_are_spaced_by_jobs() {
    let policy = LanePolicy {
        strategy: LaneStrategy::Fixed,
        ..slots(2)
    };
    let (mut rig, lane) = Rig::with(policy);
    let jobs = [rig.offer(lane), rig.offer(lane), rig.offer(lane)];
    assert_eq!(rig.started(), [0, 1]);
    let hint = asks_for(Duration::from_secs(9));
    let next = rig.finish(jobs[0], Class::Throttled, &hint);
    let NextStep::Again { not_before, .. } = next else {
        panic!("it has retries");
    };
    assert!(not_before >= at(9001));
    assert_eq!(rig.started(), [2], "the lane goes on");
    for _ in 0..3 {
        rig.ends(jobs[1], Class::Throttled);
        rig.now += 60_000;
        rig.started();
        rig.ends(jobs[0], Class::Ok);
        rig.ends(jobs[2], Class::Ok);
        rig.started();
    }
    assert_eq!(rig.ends(jobs[1], Class::Throttled), NextStep::Return);
}

#[test]
fn probes_of_a_broken_lane_use_up_no_retries() {
    let (mut rig, lane) = Rig::with(slots(10));
    let jobs: Vec<JobId> = (0..10).map(|_| rig.offer(lane)).collect();
    rig.started();
    for job in &jobs {
        rig.ends(*job, Class::Transient);
    }
    for _ in 0..6 {
        let probe = rig.next().expect("it probes");
        let next = rig.ends(jobs[probe as usize], Class::Transient);
        assert_ne!(next, NextStep::Return);
    }
    assert!(rig.events().contains(&"breaker:opened"));
}

#[test]
fn what_happens_to_a_job_is_told_in_order() {
    let (mut rig, lane) = Rig::with(slots(1));
    let job = rig.offer(lane);
    rig.started();
    rig.finish(job, Class::Throttled, &asks_for(Duration::from_secs(1)));
    rig.pass(2000);
    rig.ends(job, Class::Ok);
    let events = rig.events();
    let expected = [
        "slot:acquired",
        "slot:released",
        "ratelimit:hit",
        "request:retrying",
        "slot:acquired",
        "slot:released",
    ];
    assert_eq!(events, expected);
}

#[test]
fn a_tightened_lane_has_the_smaller_ceiling() {
    let (mut rig, lane) = Rig::with(slots(8));
    rig.scheduler.tighten(lane, slots(3));
    for _ in 0..9 {
        rig.offer(lane);
    }
    assert_eq!(rig.started(), [0, 1, 2]);
}
