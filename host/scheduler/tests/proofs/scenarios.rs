//! Single runs that no figure of the table describes, and runs that once went wrong, by name.

use std::time::Duration;

use runner_scheduler::{Class, LanePolicy, LaneStrategy, LimitMeasure, Time};

use crate::simulator::client::{self, Ended, Run, Way};
use crate::simulator::plan::{Fault, Plan, ServerPlan, Sizes, Tenant};
use crate::simulator::quota::Shape;
use crate::simulator::speech::{Ask, Style, Unit};

const MINUTE: Duration = Duration::from_mins(1);

fn run(name: &str, plan: &Plan, seed: u64) -> Run {
    let way = Way {
        name: name.to_owned(),
        trace: true,
        explain: false,
    };
    client::run(plan.world(seed), way)
}

fn openai(shape: Shape) -> ServerPlan {
    ServerPlan::declaring(Style::OpenAi, Ask::Seconds, &[(shape, Unit::Requests)])
}

fn count(run: &Run, how: Ended) -> usize {
    run.ended
        .iter()
        .filter(|ended| **ended == Some(how))
        .count()
}

#[test]
fn an_empty_account_ends_its_lane_at_once() {
    let limit = 600;
    let at = Time::ZERO + Duration::from_secs(30);
    let mut server = openai(Shape::Bucket {
        limit,
        window: MINUTE,
    });
    server.faults.push(Fault::Exhausted { at });
    let run = run("an empty account", &Plan::one(server, 3000, 1500), 1);
    let told = count(&run, Ended::Failed(Class::QuotaExhausted));
    let refused = count(&run, Ended::Refused);
    assert!(
        told >= 1 && refused > 2000,
        "{told} told, {refused} refused"
    );
    // Nothing is sent after the first such answer, which takes a round trip.
    assert!(run.attempts < 900 + 20, "{} attempts", run.attempts);
}

#[test]
fn a_server_that_was_never_there_ends_a_run_of_any_size_within_a_minute() {
    for (jobs, parallel) in [(40, 4), (40, 256), (2000, 20)] {
        let mut server = ServerPlan::declaring(Style::Silent, Ask::Nothing, &[]);
        let (from, until) = (Time::ZERO, Time::NEVER);
        server.faults.push(Fault::Outage { from, until });
        let plan = Plan {
            parallel,
            ..Plan::one(server, jobs, 50)
        };
        for seed in 1..=5 {
            let run = run("a server that was never there", &plan, seed);
            let refused = count(&run, Ended::Refused);
            assert!(refused >= jobs * 9 / 10, "{refused} refused of {jobs}");
            let waited = run.makespan;
            assert!(waited >= MINUTE / 2 && waited < MINUTE, "{waited:?}");
            // Ten break the lane, and each probe is one; a few may be in flight with the tenth. Then
            // three of each wave are tried.
            let waves = jobs / parallel;
            let most = 60 + 3 * waves as u64;
            assert!(run.attempts < most, "{} attempts", run.attempts);
        }
    }
}

#[test]
fn a_used_up_day_ends_its_lane_and_is_not_slept_through() {
    let (limit, window) = (100, Duration::from_hours(24));
    let plan = Plan::one(openai(Shape::Fixed { limit, window }), 150, 1500);
    let run = run("a used-up day", &plan, 1);
    assert_eq!(count(&run, Ended::Answered), 100);
    assert!(run.makespan < MINUTE, "{:?}", run.makespan);
}

#[test]
fn an_answer_that_leaves_nothing_is_used_and_not_sent_again() {
    let (limit, window) = (10, Duration::from_secs(10));
    let plan = Plan::one(openai(Shape::Bucket { limit, window }), 40, 50);
    let run = run("nothing remains", &plan, 1);
    assert_eq!(count(&run, Ended::Answered), 40);
    assert_eq!(run.accepted.len(), 40);
}

/// Somebody else uses up the window: the scheduler once asked to be woken a nanosecond later,
/// again and again, until the server's next answer.
#[test]
fn a_window_that_others_use_up_is_waited_for_and_not_spun_on() {
    let (limit, window) = (8, Duration::from_secs(10));
    let shape = Shape::Fixed { limit, window };
    let mut server = ServerPlan::declaring(Style::Ietf, Ask::Nothing, &[(shape, Unit::Requests)]);
    server.tenant = Some(Tenant {
        from: Time::ZERO + Duration::from_secs(1),
        until: Time::NEVER,
        every: Duration::from_millis(221),
        tokens: 10,
    });
    let mut plan = Plan {
        parallel: 5,
        sizes: Sizes::Mixed {
            input: 50,
            output: 100,
        },
        ..Plan::one(server, 13, 218)
    };
    plan.lanes[0].policy = LanePolicy {
        max_window: 6,
        ..LanePolicy::default()
    };
    for seed in [1, 2, 876_063_051_091_637_361] {
        run("a window that others use up", &plan, seed);
    }
}

/// A limit that is half of what it was when the bucket filled, and a second lane that uses it
/// too: what the lane took for others' use once was more than the whole rate, and it waited
/// for ever.
#[test]
fn others_are_never_believed_to_take_everything() {
    let (limit, window) = (12, MINUTE);
    let shape = Shape::Bucket { limit, window };
    let mut server = ServerPlan::declaring(Style::Ietf, Ask::Nothing, &[(shape, Unit::Requests)]);
    server.faults.push(Fault::Limit {
        at: Time::ZERO,
        percent: 50,
    });
    let mut plan = Plan {
        parallel: 4,
        sizes: Sizes::Mixed {
            input: 50,
            output: 100,
        },
        limits: vec![
            (LimitMeasure::Requests(Duration::from_secs(10)), 2),
            (LimitMeasure::Concurrency, 1),
        ],
        ..Plan::one(server, 19, 1)
    };
    plan.lanes[0].limits = vec![0, 1];
    plan.lanes.push(plan.lanes[0].clone());
    plan.lanes[0].policy = LanePolicy {
        strategy: LaneStrategy::Fixed,
        max_window: 1,
        max_retries: 0,
        ..LanePolicy::default()
    };
    plan.lanes[1].policy = LanePolicy {
        max_window: 6,
        max_retries: 0,
        ..LanePolicy::default()
    };
    for seed in 0..8 {
        run("others take everything", &plan, seed);
    }
}

/// The lane once kept to single calls after a storm and never spent what had come together.
#[test]
fn credit_that_came_together_in_a_storm_is_used_afterwards() {
    let limit = 600;
    let mut server = openai(Shape::Bucket {
        limit,
        window: MINUTE,
    });
    let at = |seconds| Time::ZERO + Duration::from_secs(seconds);
    let (from, until, ask) = (at(100), at(110), Duration::from_secs(1));
    server.faults.push(Fault::Storm { from, until, ask });
    let run = run("a storm", &Plan::one(server, 3000, 1500), 1);
    let after = |from, until| {
        let times = run.accepted.iter().map(|(time, _)| *time);
        times
            .filter(|time| (at(from)..at(until)).contains(time))
            .count()
    };
    // 100 came together, and 10 a second come on.
    let used = after(110, 130);
    assert!(used >= 290, "{used} of 300");
}

/// Blocks shorter than the quiet spell once left two calls between two refusals for ever: too
/// few to measure a rate by.
#[test]
fn short_waits_that_the_server_asks_for_do_not_become_a_rhythm() {
    let limit = 600;
    let shape = Shape::Bucket {
        limit,
        window: MINUTE,
    };
    let server = ServerPlan::declaring(Style::Silent, Ask::Millis, &[(shape, Unit::Requests)]);
    let run = run("short waits", &Plan::one(server, 2000, 1500), 2);
    let refused = run.throttled * 100 / run.attempts;
    assert!(refused < 5, "{refused} % refused");
}

/// The probe that was sent when a short block was over is refused, after an attempt from before the
/// block was refused for longer: that wish of the server was forgotten, and the job sent again
/// before it.
#[test]
fn a_refusal_makes_no_block_shorter() {
    let bucket = |limit, seconds| Shape::Bucket {
        limit,
        window: Duration::from_secs(seconds),
    };
    let limits = [
        (bucket(41, 1), Unit::Requests),
        (bucket(5000, 10), Unit::Tokens),
    ];
    let server = ServerPlan::declaring(Style::Ietf, Ask::RetryInfo, &limits);
    let mut plan = Plan {
        parallel: 36,
        sizes: Sizes::Mixed {
            input: 50,
            output: 100,
        },
        ..Plan::one(server, 39, 866)
    };
    plan.lanes.push(plan.lanes[0].clone());
    for (lane, (max_window, max_retries)) in plan.lanes.iter_mut().zip([(18, 0), (16, 1)]) {
        lane.policy = LanePolicy {
            max_window,
            max_retries,
            ..LanePolicy::default()
        };
    }
    for seed in [1, 2, 14_570_938_571_914_429_171] {
        run("a refusal that asks for less", &plan, seed);
    }
}
