//! The simulator itself: servers against their definition, oracle and client against figures
//! that can be worked out on paper.

use std::time::Duration;

use proptest::prelude::*;
use runner_scheduler::{LanePolicy, LaneStrategy, Time};

use crate::simulator::client::{self, Ended, Run, Way};
use crate::simulator::oracle;
use crate::simulator::plan::{Fault, Plan, ServerPlan, Sizes, Tenant, Twist};
use crate::simulator::quota::Shape;
use crate::simulator::random::Random;
use crate::simulator::server::{Charge, Server, Status};
use crate::simulator::speech::{Ask, Style, Unit};

const MINUTE: Duration = Duration::from_mins(1);
const ONE: Charge = Charge {
    requests: 1,
    tokens: 200,
};

fn seconds(seconds: u64) -> Time {
    Time::ZERO + Duration::from_secs(seconds)
}

/// A silent server with this limit and answers that take no time.
fn plan(shape: Shape, jobs: usize) -> Plan {
    let limit = [(shape, Unit::Requests)];
    Plan {
        parallel: jobs,
        ..Plan::one(
            ServerPlan::declaring(Style::Silent, Ask::Nothing, &limit),
            jobs,
            0,
        )
    }
}

/// What the oracle needs beside two ways of 20 ms, where it may open as wide as it likes.
fn ideal(plan: &Plan) -> Duration {
    let mut plan = plan.clone();
    open_wide(&mut plan);
    let makespan = oracle::run(plan.world(1)).makespan;
    makespan.saturating_sub(2 * plan.delay)
}

/// Everything may be sent before the first answer.
fn open_wide(plan: &mut Plan) {
    for lane in &mut plan.lanes {
        lane.policy.start_window = u32::MAX;
    }
}

fn client(plan: &Plan) -> Run {
    let way = Way {
        name: "models".to_owned(),
        trace: false,
        explain: false,
    };
    client::run(plan.world(1), way)
}

#[test]
fn the_oracle_empties_a_bucket_and_then_sends_at_its_rate() {
    let limit = 600;
    let bucket = Shape::Bucket {
        limit,
        window: MINUTE,
    };
    assert_eq!(ideal(&plan(bucket, 1200)), MINUTE);
    assert_eq!(ideal(&plan(bucket, 600)), Duration::ZERO);
}

#[test]
fn the_oracle_needs_one_window_more_for_each_that_it_fills() {
    let limit = 600;
    let fixed = Shape::Fixed {
        limit,
        window: MINUTE,
    };
    assert_eq!(
        ideal(&plan(fixed, 1801)),
        ideal(&plan(fixed, 1201)) + MINUTE
    );
    assert_eq!(ideal(&plan(fixed, 600)), Duration::ZERO);
    let log = Shape::Log {
        limit,
        window: MINUTE,
    };
    assert_eq!(ideal(&plan(log, 1201)), 2 * MINUTE);
}

#[test]
fn the_oracle_sends_a_burst_and_then_one_each_interval() {
    let interval = Duration::from_millis(100);
    let gcra = Shape::Gcra {
        burst: 10,
        interval,
    };
    assert_eq!(ideal(&plan(gcra, 110)), Duration::from_secs(10));
}

#[test]
fn the_oracle_keeps_to_the_tighter_of_two_limits() {
    let limits = [
        (
            Shape::Bucket {
                limit: 600,
                window: MINUTE,
            },
            Unit::Requests,
        ),
        (
            Shape::Bucket {
                limit: 6000,
                window: MINUTE,
            },
            Unit::Tokens,
        ),
    ];
    let server = ServerPlan::declaring(Style::Silent, Ask::Nothing, &limits);
    // 100 jobs of 200 tokens; 6,000 are there, the rest comes at 100 a second.
    assert_eq!(ideal(&Plan::one(server, 100, 0)), Duration::from_secs(140));
}

#[test]
fn the_oracle_keeps_parallel_servers_busy() {
    let limit = Shape::Parallel { limit: 16 };
    let plan = Plan {
        latency: Duration::from_millis(1500),
        ..plan(limit, 1000)
    };
    let jobs = plan.world(1).jobs;
    let work: Duration = jobs.iter().map(|job| job.latency).sum();
    let longest = jobs.iter().map(|job| job.latency).max().unwrap_or_default();
    let ideal = ideal(&plan);
    assert!(
        work / 16 <= ideal && ideal <= work / 16 + longest,
        "{ideal:?}"
    );
}

#[test]
fn one_job_after_the_other_takes_the_sum_of_all() {
    let limit = 600;
    let plan = Plan {
        latency: Duration::from_millis(700),
        parallel: 1,
        ..plan(
            Shape::Bucket {
                limit,
                window: MINUTE,
            },
            50,
        )
    };
    let latencies: Duration = plan.world(1).jobs.iter().map(|job| job.latency).sum();
    let sum = latencies + 50 * 2 * plan.delay;
    assert_eq!(oracle::run(plan.world(1)).makespan, sum);
    assert_eq!(client(&plan).makespan, sum);
}

#[test]
fn a_fixed_window_of_four_does_what_the_oracle_does_with_four_jobs() {
    let limit = 1_000_000;
    let free = Shape::Bucket {
        limit,
        window: MINUTE,
    };
    let mut four = Plan {
        latency: Duration::from_millis(1500),
        ..plan(free, 500)
    };
    four.lanes[0].policy = LanePolicy {
        strategy: LaneStrategy::Fixed,
        max_window: 4,
        ..LanePolicy::default()
    };
    let mut wide = four.clone();
    wide.parallel = 4;
    assert_eq!(client(&four).makespan, oracle::run(wide.world(1)).makespan);
}

#[test]
fn the_oracle_waits_for_the_end_of_trouble_and_loses_nothing() {
    let limit = 600;
    let bucket = Shape::Bucket {
        limit,
        window: MINUTE,
    };
    let (from, until) = (seconds(0), seconds(30));
    let ask = Duration::from_secs(1);
    for fault in [
        Fault::Storm { from, until, ask },
        Fault::Outage { from, until },
    ] {
        let mut plan = plan(bucket, 100);
        plan.servers[0].faults.push(fault);
        open_wide(&mut plan);
        let ideal = oracle::run(plan.world(1));
        assert_eq!(ideal.makespan, Duration::from_secs(30) + plan.delay);
        assert!(ideal.answered.iter().all(|answered| *answered));
    }
}

#[test]
fn nobody_gets_an_answer_from_an_empty_account() {
    let limit = 600;
    let mut plan = plan(
        Shape::Bucket {
            limit,
            window: MINUTE,
        },
        1200,
    );
    plan.servers[0]
        .faults
        .push(Fault::Exhausted { at: seconds(30) });
    let ideal = oracle::run(plan.world(1));
    // The bucket, and 10 a second until then.
    let answered = ideal.answered.iter().filter(|answered| **answered).count();
    assert_eq!(answered, 899);
    let run = client(&plan);
    let got = run
        .ended
        .iter()
        .filter(|ended| **ended == Some(Ended::Answered))
        .count();
    assert!(got <= answered);
}

#[test]
fn another_tenant_leaves_what_he_does_not_take() {
    let limit = 600;
    let mut plan = plan(
        Shape::Bucket {
            limit,
            window: MINUTE,
        },
        1200,
    );
    plan.servers[0].tenant = Some(Tenant {
        from: seconds(0),
        until: Time::NEVER,
        every: Duration::from_millis(200),
        tokens: 1,
    });
    let secs = ideal(&plan).as_secs();
    // (1,200 − 600) at 5 a second.
    assert!((118..=122).contains(&secs), "{secs}");
}

#[test]
fn the_same_seed_is_the_same_world() {
    let plan = Plan {
        sizes: Sizes::Mixed {
            input: 300,
            output: 200,
        },
        latency: Duration::from_secs(1),
        ..plan(Shape::Parallel { limit: 4 }, 20)
    };
    let drawn = |seed| format!("{:?}", plan.world(seed).jobs);
    assert_eq!(drawn(5), drawn(5));
    assert_ne!(drawn(5), drawn(6));
}

fn twisted(twist: Twist) -> Server {
    let limit = 600;
    let bucket = [(
        Shape::Bucket {
            limit,
            window: MINUTE,
        },
        Unit::Requests,
    )];
    let mut plan = ServerPlan::declaring(Style::OpenAi, Ask::Nothing, &bucket);
    plan.twist = twist;
    Server::new(plan, Random::stream(1, 9))
}

/// What remains by the headers of 600 requests in two seconds, where there are any.
fn remaining(twist: Twist) -> Vec<Option<u64>> {
    let mut server = twisted(twist);
    let arrive = |index: u64| {
        let now = Time::ZERO + Duration::from_millis(index * 10);
        let answer = server.arrive(now, ONE, Duration::ZERO);
        assert_eq!(answer.status, Status::Done);
        answer.said.levels.first().map(|(_, level)| level.remaining)
    };
    (0..200).map(arrive).collect()
}

#[test]
fn a_lying_server_always_says_that_all_remains() {
    assert!(
        remaining(Twist::Lying)
            .iter()
            .all(|left| *left == Some(600))
    );
}

#[test]
fn headers_are_missing_every_other_time() {
    let missing = remaining(Twist::Missing)
        .iter()
        .filter(|left| left.is_none())
        .count();
    assert!((70..130).contains(&missing), "{missing}");
}

#[test]
fn stale_headers_are_up_to_a_second_old() {
    let honest = remaining(Twist::None);
    let most = Duration::from_secs(1);
    let stale = remaining(Twist::Stale { most });
    // 90 more are used each second.
    let behind: Vec<u64> = honest
        .iter()
        .zip(&stale)
        .map(|(honest, stale)| stale.unwrap_or(0) - honest.unwrap_or(0))
        .collect();
    assert!(behind.iter().all(|behind| *behind <= 91), "{behind:?}");
    assert!(behind.iter().any(|behind| *behind > 60), "{behind:?}");
}

#[test]
fn headers_that_are_written_with_the_answer_count_what_came_meanwhile() {
    let mut server = twisted(Twist::AtAnswer);
    let mut first = server.arrive(Time::ZERO, ONE, Duration::from_secs(1)).said;
    for _ in 0..9 {
        server.arrive(Time::ZERO, ONE, Duration::from_secs(1));
    }
    server.leave(Time::ZERO, &mut first);
    assert_eq!(first.levels[0].1.remaining, 590);
}

fn shapes() -> impl Strategy<Value = Shape> {
    let window = (1u64..100).prop_map(Duration::from_millis);
    (1u64..20, window, 0..6).prop_map(|(limit, window, which)| match which {
        0 => Shape::Bucket { limit, window },
        1 => Shape::Fixed { limit, window },
        2 => Shape::Log { limit, window },
        3 => Shape::Gcra {
            burst: limit,
            interval: window,
        },
        4 => Shape::Counter { limit, window },
        _ => Shape::Parallel { limit },
    })
}

proptest! {
    #[test]
    fn a_server_accepts_at_the_time_that_it_names_and_not_before(
        shape in shapes(),
        steps in proptest::collection::vec((0u64..20_000, 1u64..5, 1u64..50_000), 1..60),
    ) {
        let mut quota = shape.build(300);
        let mut now = Time::ZERO;
        for (pause, amount, inside) in steps {
            now = now + Duration::from_micros(pause);
            quota.advance(now);
            let opens = quota.opens(now, amount);
            if opens == Time::NEVER {
                prop_assert!(amount > shape.limit());
                continue;
            }
            if opens > now {
                let just_before = Time::from_nanos(opens.as_nanos() - 1);
                quota.advance(just_before);
                prop_assert_eq!(quota.opens(just_before, amount), opens);
                quota.advance(opens);
                prop_assert_eq!(quota.opens(opens, amount), opens);
                now = opens;
            }
            let before = quota.level(now).remaining;
            prop_assert!(before >= amount, "{} left for {}", before, amount);
            quota.take(now, amount, now + Duration::from_micros(inside));
            prop_assert_eq!(quota.level(now).remaining, before - amount);
        }
    }
}
