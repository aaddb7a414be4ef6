//! Whatever world is drawn: what must hold at every step does, every job ends, and the same
//! seed decides the same.
//!
//! What holds at every step is in `simulator/watch.rs`; it panics where it doesn't.

use std::time::Duration;

use proptest::prelude::*;
use runner_scheduler::{LanePolicy, LaneStrategy, LimitMeasure, Time};

use crate::simulator::client::{self, Way};
use crate::simulator::plan::{Fault, LanePlan, Plan, ServerPlan, Sizes, Tenant, Twist, Whims};
use crate::simulator::quota::Shape;
use crate::simulator::speech::{Ask, Style, Unit};

fn shape() -> impl Strategy<Value = Shape> {
    let window = prop_oneof![Just(1), Just(10), Just(60)].prop_map(Duration::from_secs);
    (1u64..60, window, 0..5).prop_map(|(limit, window, which)| match which {
        0 => Shape::Bucket { limit, window },
        1 => Shape::Fixed { limit, window },
        2 => Shape::Log { limit, window },
        3 => Shape::Gcra {
            burst: limit,
            interval: window / 60,
        },
        _ => Shape::Parallel { limit },
    })
}

fn fault() -> impl Strategy<Value = Fault> {
    (0u64..40, 1u64..20, 0..6).prop_map(|(from, span, which)| {
        let at = |seconds| Time::ZERO + Duration::from_secs(seconds);
        let (from, until) = (at(from), at(from + span));
        match which {
            0 => Fault::Storm {
                from,
                until,
                ask: Duration::from_secs(span / 4),
            },
            // Up to a minute: some servers are given up.
            1 => Fault::Outage {
                from,
                until: from + Duration::from_secs(3 * span),
            },
            2 => Fault::Slow {
                from,
                until: Time::NEVER,
                factor: 10,
            },
            3 => Fault::Limit {
                at: from,
                percent: 50,
            },
            4 => Fault::Limit {
                at: from,
                percent: 200,
            },
            _ => Fault::Exhausted { at: from },
        }
    })
}

fn server() -> impl Strategy<Value = ServerPlan> {
    let style = prop_oneof![
        Just(Style::Silent),
        Just(Style::OpenAi),
        Just(Style::Azure),
        Just(Style::Anthropic),
        Just(Style::Mistral),
        Just(Style::Ietf),
    ];
    let ask = prop_oneof![
        Just(Ask::Nothing),
        Just(Ask::Seconds),
        Just(Ask::Millis),
        Just(Ask::Always(0)),
        Just(Ask::Always(89)),
        Just(Ask::RetryInfo),
    ];
    let most = Duration::from_secs(1);
    let twist = prop_oneof![
        4 => Just(Twist::None),
        1 => Just(Twist::Stale { most }),
        1 => Just(Twist::Missing),
        1 => Just(Twist::AtAnswer),
        1 => Just(Twist::Lying),
    ];
    let faults = proptest::collection::vec(fault(), 0..2);
    let tenant = (any::<bool>(), 1u64..30, 100u64..3000).prop_map(|(there, from, every)| {
        there.then_some(Tenant {
            from: Time::ZERO + Duration::from_secs(from),
            until: Time::NEVER,
            every: Duration::from_millis(every),
            tokens: 10,
        })
    });
    let parts = (style, ask, shape(), any::<bool>(), twist, faults, tenant);
    parts.prop_map(|(style, ask, shape, tokens, twist, faults, tenant)| {
        let mut limits = vec![(shape, Unit::Requests)];
        if tokens {
            let window = Duration::from_secs(10);
            limits.push((
                Shape::Bucket {
                    limit: 5000,
                    window,
                },
                Unit::Tokens,
            ));
        }
        ServerPlan {
            faults,
            tenant,
            twist,
            ..ServerPlan::declaring(style, ask, &limits)
        }
    })
}

/// One or two lanes, of one server or two, with some declared limits.
fn plan() -> impl Strategy<Value = Plan> {
    let policy =
        (any::<bool>(), 1u32..40, 0u32..4).prop_map(|(adaptive, max, retries)| LanePolicy {
            strategy: if adaptive || max > 5 {
                LaneStrategy::Adaptive
            } else {
                LaneStrategy::Fixed
            },
            max_window: max,
            max_retries: retries,
            ..LanePolicy::default()
        });
    let lane = (0usize..2, policy, any::<bool>());
    let lanes = proptest::collection::vec(lane, 1..3);
    let jobs = (1usize..120, 1usize..60, 1u64..4000);
    let cancelled = 0u64..300;
    let limits = (1u64..40, 1u64..20);
    (server(), server(), lanes, jobs, cancelled, limits).prop_map(
        |(first, second, lanes, (jobs, parallel, latency), cancelled, limits)| {
            let lanes = lanes.into_iter().map(|(server, policy, limited)| LanePlan {
                server,
                policy,
                limits: if limited { vec![0, 1, 2] } else { Vec::new() },
                ends: false,
            });
            let window = Duration::from_secs(10);
            Plan {
                lanes: lanes.collect(),
                limits: vec![
                    (LimitMeasure::Requests(window), limits.0),
                    (LimitMeasure::Tokens(window), 5000),
                    (LimitMeasure::Concurrency, limits.1),
                ],
                parallel,
                sizes: Sizes::Mixed {
                    input: 50,
                    output: 100,
                },
                whims: Whims { cancelled },
                servers: vec![first.clone(), second],
                ..Plan::one(first, jobs, latency)
            }
        },
    )
}

fn trace(plan: &Plan, seed: u64) -> Vec<String> {
    let way = Way {
        name: "a drawn world".to_owned(),
        trace: true,
        explain: false,
    };
    client::run(plan.world(seed), way).trace
}

/// What fails becomes a scenario with a name, not a line in a file of seeds.
fn config() -> ProptestConfig {
    ProptestConfig {
        cases: 400,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn every_job_ends_once_and_no_promise_is_broken(plan in plan(), seed: u64) {
        trace(&plan, seed);
    }

    #[test]
    fn the_same_seed_and_the_same_calls_decide_the_same(plan in plan(), seed: u64) {
        prop_assert_eq!(trace(&plan, seed), trace(&plan, seed));
    }
}
