//! Servers that were met: those that queue, those that count otherwise than they say, and others who
//! use the same key.
//!
//! They are next door (0.2 ms away), as a proxy or a model server mostly is, and the runs are as short as
//! those of a working day: what is learnt has to be learnt in seconds.

use std::time::Duration;

use runner_scheduler::Time;

use super::{Scenario, scenario, seconds};
use crate::simulator::gate::{Gate, Share};
use crate::simulator::plan::{Fault, LanePlan, Plan, ServerPlan, Tenant, Twist};
use crate::simulator::quota::Shape;
use crate::simulator::service::Service;
use crate::simulator::speech::{Ask, Style, Unit};

const SECOND: Duration = Duration::from_secs(1);

/// 50 calls a second.
const LIMIT: u64 = 50;

fn near(server: ServerPlan, jobs: usize, latency: u64, j: Option<u32>) -> Plan {
    Plan {
        delay: Duration::from_micros(200),
        ..Plan::one(server, jobs, latency)
    }
    .with_j(j)
}

fn limited(style: Style, ask: Ask, shape: Shape) -> ServerPlan {
    ServerPlan::declaring(style, ask, &[(shape, Unit::Requests)])
}

fn sliding() -> Shape {
    let (limit, window) = (LIMIT, SECOND);
    Shape::Log { limit, window }
}

fn fixed() -> Shape {
    let (limit, window) = (LIMIT, SECOND);
    Shape::Fixed { limit, window }
}

fn bucket() -> Shape {
    let (limit, window) = (LIMIT, SECOND);
    Shape::Bucket { limit, window }
}

/// 500 calls of 50 ms with `-j 20`.
fn fifty(style: Style, ask: Ask, shape: Shape) -> Plan {
    near(limited(style, ask, shape), 500, 50, Some(20))
}

/// A tenth above the ideal, and a twentieth refused.
const NINE_TENTHS: Gate = Gate::UNDECLARED.but(
    Share::tenths(111),
    Share::tenths(50),
    "90 % of the ideal, from the first call on",
);

/// Slots behind a limit that is stated, or behind one refusal.
fn limited_slots() -> [(&'static str, Plan); 4] {
    let slots = |slots, server| ServerPlan {
        service: Service::Slots { slots, crowding: 0 },
        ..server
    };
    let (limit, window) = (1000, 60 * SECOND);
    let stated = limited(Style::OpenAi, Ask::Nothing, Shape::Fixed { limit, window });
    let mut silent = ServerPlan::declaring(Style::Silent, Ask::Nothing, &[]);
    silent.faults = vec![Fault::Storm {
        from: seconds(0),
        until: Time::ZERO + SECOND / 20,
        ask: Duration::ZERO,
    }];
    let refusing = near(slots(1, silent), 60, 300, None);
    let steady = Plan {
        steady: true,
        ..refusing.clone()
    };
    let few = near(slots(1, stated.clone()), 60, 300, None);
    [
        ("one slot that states 1,000 a minute", few),
        (
            "8 slots that state 1,000 a minute",
            near(slots(8, stated), 800, 300, None),
        ),
        ("one slot that refuses for 50 ms", refusing),
        ("one slot, always 300 ms, that refuses for 50 ms", steady),
    ]
}

/// Servers with slots, which never refuse.
pub(crate) fn queueing() -> Vec<Scenario> {
    let slots = |slots, crowding| ServerPlan {
        service: Service::Slots { slots, crowding },
        ..ServerPlan::declaring(Style::Silent, Ask::Nothing, &[])
    };
    let one = near(slots(1, 0), 60, 300, None);
    let limited = Plan {
        timeout: Some(5 * SECOND),
        ..one.clone()
    };
    let steady = Plan {
        steady: true,
        ..near(slots(1, 0), 60, 150, None)
    };
    let rows = [
        ("one slot, 0.3 s", one),
        ("one slot, 0.3 s, 5 s to answer", limited),
        ("one slot, always 150 ms", steady),
        ("one slot, 5 s", near(slots(1, 0), 60, 5000, None)),
        (
            "one slot, 0.3 s, -j 20",
            near(slots(1, 0), 200, 300, Some(20)),
        ),
        ("8 slots, 0.3 s", near(slots(8, 0), 800, 300, None)),
        (
            "8 slots, slower with each that waits",
            near(slots(8, 10), 800, 300, None),
        ),
        ("64 slots, 2 s", near(slots(64, 0), 2000, 2000, None)),
        (
            "64 slots, 2 s, -j 100",
            near(slots(64, 0), 2000, 2000, Some(100)),
        ),
    ];
    let row = |(name, plan): (&'static str, Plan)| {
        let gate = if name.ends_with("that refuses for 50 ms") {
            let why = "97 % of what the slots give, and the first four are refused";
            Gate::QUEUE.but(Gate::QUEUE.regret, Share::tenths(70), why)
        } else {
            Gate::QUEUE
        };
        scenario(name, plan.with_jitter(), gate)
    };
    limited_slots().into_iter().chain(rows).map(row).collect()
}

/// A limit and what is left, and not when it is filled again.
fn without_resets() -> Vec<(&'static str, Plan)> {
    let (limit, window) = (300, 60 * SECOND);
    let minute = Shape::Fixed { limit, window };
    let ten = Shape::Fixed {
        limit: LIMIT,
        window: 10 * SECOND,
    };
    let proxy = |latency| {
        let mut server = limited(Style::LiteLlm, Ask::Nothing, minute);
        server.by_clock = true;
        server.twist = Twist::AtAnswer;
        near(server, 700, latency, None).with_jitter()
    };
    vec![
        ("LiteLLM, 300 a minute, 4 s", proxy(4000)),
        ("LiteLLM, 300 a minute, 0.5 s", proxy(500)),
        (
            "bucket 50 a second, limits without resets",
            fifty(Style::LiteLlm, Ask::Nothing, bucket()),
        ),
        (
            "fixed 50 a second, limits without resets",
            fifty(Style::LiteLlm, Ask::Nothing, fixed()),
        ),
        (
            "sliding 50 a second, limits without resets",
            fifty(Style::LiteLlm, Ask::Nothing, sliding()),
        ),
        (
            "50 in 10 s, limits without resets",
            near(limited(Style::LiteLlm, Ask::Nothing, ten), 400, 500, None),
        ),
    ]
}

/// Limits of which something is left out.
pub(crate) fn unlearnt() -> Vec<Scenario> {
    let rows = [
        (
            "sliding 50 a second, retry-after in s",
            fifty(Style::Silent, Ask::Seconds, sliding()),
        ),
        (
            "sliding 50 a second, no hint",
            fifty(Style::Silent, Ask::Nothing, sliding()),
        ),
        (
            "fixed 50 a second, retry-after in s",
            fifty(Style::Silent, Ask::Seconds, fixed()),
        ),
        (
            "fixed 50 a second, no hint",
            fifty(Style::Silent, Ask::Nothing, fixed()),
        ),
        (
            "bucket 50 a second, retry-after in s",
            fifty(Style::Silent, Ask::Seconds, bucket()),
        ),
    ];
    let mut all: Vec<Scenario> = without_resets()
        .into_iter()
        .chain(rows)
        .map(|(name, plan)| scenario(name, plan, NINE_TENTHS))
        .collect();
    let told = Gate::HALF_DECLARED.but(
        Share::tenths(30),
        Share::tenths(10),
        "97 % of the ideal over ten windows",
    );
    let headers = |style| fifty(style, Ask::Seconds, sliding());
    all.push(scenario(
        "sliding 50 a second, resets in ms",
        headers(Style::OpenAi),
        told,
    ));
    all.push(scenario(
        "sliding, resets in ms, jitter",
        headers(Style::OpenAi).with_jitter(),
        told,
    ));
    all.push(scenario(
        "sliding 50 a second, resets in s",
        headers(Style::Ietf),
        told,
    ));
    all
}

/// Two programs that use one key: on two machines they don't know of each other, on one they share.
pub(crate) fn two_runs() -> Vec<Scenario> {
    let two = |shares, ask, shape| {
        let plan = Plan {
            apart: true,
            shares,
            ..fifty(Style::Silent, ask, shape)
        };
        let lane: LanePlan = plan.lanes[0].clone();
        Plan {
            lanes: vec![lane.clone(), lane],
            ..plan
        }
    };
    let gate = Gate {
        fairness: Some(Share::tenths(900)),
        ..NINE_TENTHS
    };
    vec![
        scenario(
            "two runs, fixed 50 a second",
            two(false, Ask::Nothing, fixed()),
            gate,
        ),
        scenario(
            "two runs, sliding 50 a second",
            two(false, Ask::Nothing, sliding()),
            gate,
        ),
        scenario(
            "two runs, bucket 50 a second",
            two(false, Ask::Nothing, bucket()),
            gate,
        ),
        scenario(
            "our own second process, fixed 50 a second",
            two(true, Ask::Nothing, fixed()),
            gate,
        ),
        scenario(
            "our own second process, sliding 50 a second",
            two(true, Ask::Nothing, sliding()),
            gate,
        ),
        scenario(
            "our own second process, bucket 50 a second",
            two(true, Ask::Nothing, bucket()),
            gate,
        ),
    ]
}

/// Windows that nobody declares, of which more comes in time: the limit is raised, somebody else leaves, or
/// there was none. And one that counts by two windows, so that what a refusal shows is less than it holds.
pub(crate) fn changing() -> Vec<Scenario> {
    let many = |ask, shape, jobs| near(limited(Style::Silent, ask, shape), jobs, 50, Some(20));
    let mut raised = many(Ask::Nothing, fixed(), 6000);
    let (at, percent) = (seconds(8), 200);
    raised.servers[0].faults = vec![Fault::Limit { at, percent }];
    let mut left = many(Ask::Nothing, fixed(), 4000);
    left.servers[0].tenant = Some(Tenant {
        from: seconds(0),
        until: seconds(10),
        every: Duration::from_millis(40),
        tokens: 0,
    });
    let mut free = many(Ask::Nothing, fixed(), 10_000);
    free.servers[0].rules.clear();
    let (from, until) = (seconds(3), seconds(63));
    let ask = Duration::ZERO;
    free.servers[0].faults = vec![Fault::Storm { from, until, ask }];
    let (limit, window) = (LIMIT, SECOND);
    let counter = Shape::Counter { limit, window };
    let rows = [
        ("fixed 50 a second, then 100", raised),
        ("somebody else takes half for 10 s", left),
        ("60 s of 429, then no limit", free),
        (
            "sliding counter, retry-after in s",
            many(Ask::Seconds, counter, 3000),
        ),
        (
            "sliding counter, no hint",
            many(Ask::Nothing, counter, 3000),
        ),
    ];
    let row = |(name, plan)| scenario(name, plan, NINE_TENTHS);
    rows.into_iter().map(row).collect()
}

/// Such servers where the client gets half of a processor.
pub(crate) fn busy() -> Vec<Scenario> {
    let loaded = |ask, shape| fifty(Style::Silent, ask, shape).on_a_busy_machine();
    vec![
        scenario(
            "busy: fixed 50 a second",
            loaded(Ask::Nothing, fixed()),
            NINE_TENTHS,
        ),
        scenario(
            "busy: sliding 50 a second",
            loaded(Ask::Nothing, sliding()),
            NINE_TENTHS,
        ),
        scenario(
            "busy: sliding, retry-after in s",
            loaded(Ask::Seconds, sliding()),
            NINE_TENTHS,
        ),
        scenario(
            "busy: bucket 50 a second",
            loaded(Ask::Nothing, bucket()),
            NINE_TENTHS,
        ),
    ]
}
