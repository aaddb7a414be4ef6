//! What admission costs: CPU per call with 10,000 jobs queued. `cargo xtask bench` runs it.
//!
//! One call is an `offer`, a `start` and a `finish` with a hint of two limits, while 10,000
//! other jobs wait: what each exchange of a run pays, whatever the server does. The best and
//! the median of many rounds are printed; on a busy machine the best is the scheduler's and the
//! rest is the others'.
//!
//! It is an example and not a test: time is not asserted anywhere.

use std::time::{Duration, Instant};

use runner_scheduler::{
    Action, Class, Demand, Dimension, End, Hint, LaneId, LanePolicy, Limit, LimitMeasure, NextStep,
    QuotaUse, Reading, Scheduler, Time,
};

/// Jobs that wait all the time.
const QUEUED: u64 = 10_000;

/// Calls between two looks at the clock.
const ROUND: u64 = 10_000;

/// Rounds.
const ROUNDS: usize = 51;

fn main() {
    println!("admission with {QUEUED} jobs queued, offer + start + finish, µs of CPU a call");
    for (name, declared) in [
        ("learnt limits", false),
        ("learnt and declared limits", true),
    ] {
        let mut bench = Bench::new(declared);
        let mut rounds: Vec<Duration> = (0..ROUNDS).map(|_| bench.round()).collect();
        rounds.sort_unstable();
        let (best, median) = (micros(rounds[0]), micros(rounds[ROUNDS / 2]));
        println!("  {name}: best {best}, median {median}");
    }
}

/// A call's part of a round, to the nanosecond.
fn micros(round: Duration) -> String {
    let nanos = round.as_nanos() / u128::from(ROUND);
    format!("{}.{:03}", nanos / 1000, nanos % 1000)
}

/// A scheduler with a full queue, and the server's side of it.
struct Bench {
    scheduler: Scheduler,
    lane: LaneId,
    demand: Demand,
    hint: Hint,
    now: Time,
}

impl Bench {
    fn new(declared: bool) -> Self {
        let mut scheduler = Scheduler::new(1);
        let lane = scheduler.open(LanePolicy::default());
        let mut limits = Vec::new();
        if declared {
            let minute = Duration::from_mins(1);
            for (name, counts, capacity) in [
                ("requests", LimitMeasure::Requests(minute), 1_000_000),
                ("tokens", LimitMeasure::Tokens(minute), 1_000_000_000),
                ("parallel", LimitMeasure::Concurrency, 1000),
            ] {
                let name = name.to_owned();
                limits.push(scheduler.declare(Limit {
                    name,
                    counts,
                    capacity,
                }));
            }
        }
        let demand = Demand {
            cost: QuotaUse {
                input_tokens: 300,
                output_tokens: 200,
            },
            limits: limits.into(),
            ..Demand::default()
        };
        for _ in 0..QUEUED {
            scheduler.offer(Time::ZERO, lane, demand.clone());
        }
        Self {
            scheduler,
            lane,
            demand,
            hint: hint(),
            now: Time::ZERO,
        }
    }

    /// Some calls, each of which leaves the queue as long as it was.
    fn round(&mut self) -> Duration {
        let begin = clock();
        for _ in 0..ROUND {
            self.call();
        }
        clock() - begin
    }

    fn call(&mut self) {
        // 1,000 calls a second, far below every limit: admission alone is measured.
        self.now = self.now + Duration::from_millis(1);
        self.scheduler
            .offer(self.now, self.lane, self.demand.clone());
        let Some(Action::Start(job)) = self.scheduler.start(self.now) else {
            panic!("nothing holds the lane back");
        };
        let end = End {
            class: Class::Ok,
            hint: &self.hint,
            usage: Some(self.demand.cost),
        };
        assert_eq!(self.scheduler.finish(self.now, job, &end), NextStep::Return);
        while self.scheduler.event().is_some() {}
    }
}

/// Two limits with room.
fn hint() -> Hint {
    let reading = |dimension, limit| Reading {
        dimension,
        limit: Some(limit),
        remaining: Some(limit - limit / 10),
        reset: Some(Duration::from_secs(6)),
        resolution: Duration::from_millis(1),
        window: None,
    };
    Hint {
        readings: vec![
            reading(Dimension::Requests, 1_000_000),
            reading(Dimension::Tokens, 1_000_000_000),
        ],
        ..Hint::default()
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a benchmark outside the crate measures time"
)]
fn clock() -> Instant {
    Instant::now()
}
