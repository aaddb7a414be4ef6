//! The scenarios of the score table, family by family.
//!
//! Sizes follow the design's own comparison: a limit of 600 calls a minute, 6,000 jobs, so that
//! a run takes some ten virtual minutes and constant costs stay small; latencies of 1.5 s and
//! 8 s, log-normal with σ 0.5; `-j` 256, above what any of them needs.

use std::time::Duration;

use runner_scheduler::{LimitMeasure, Time};

use super::gate::{Gate, Share};
use super::plan::{Fault, Hangs, LanePlan, Plan, RulePlan, ServerPlan, Sizes, Tenant, Twist};
use super::quota::Shape;
use super::score::Change;
use super::speech::{Ask, Style, Unit};

mod everyday;

pub(crate) use everyday::{busy, changing, queueing, two_runs, unlearnt};

/// A named plan with its gate.
#[derive(Debug, Clone)]
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    pub(crate) plan: Plan,
    pub(crate) gate: Gate,
    pub(crate) change: Option<Change>,
}

/// All of them.
pub(crate) fn all() -> Vec<Scenario> {
    [
        declared(),
        mixed(),
        crooked(),
        troubled(),
        undeclared(),
        parallel(),
        short(),
        hanging(),
        by_user(),
        queueing(),
        unlearnt(),
        two_runs(),
        changing(),
        busy(),
    ]
    .concat()
}

const MINUTE: Duration = Duration::from_mins(1);

fn scenario(name: &'static str, plan: Plan, gate: Gate) -> Scenario {
    Scenario {
        name,
        plan,
        gate,
        change: None,
    }
}

const fn seconds(seconds: u64) -> Time {
    Time::from_nanos(seconds * 1_000_000_000)
}

fn bucket(limit: u64) -> (Shape, Unit) {
    let window = MINUTE;
    (Shape::Bucket { limit, window }, Unit::Requests)
}

fn tokens(limit: u64) -> (Shape, Unit) {
    let window = MINUTE;
    (Shape::Bucket { limit, window }, Unit::Tokens)
}

/// A server with OpenAI's headers.
fn openai(limits: &[(Shape, Unit)]) -> ServerPlan {
    ServerPlan::declaring(Style::OpenAi, Ask::Seconds, limits)
}

/// A bucket of 600 a minute that says nothing but what `ask` says on a refusal.
fn silent(ask: Ask) -> ServerPlan {
    ServerPlan::declaring(Style::Silent, ask, &[bucket(600)])
}

/// Headers say 600 a minute, held in slices of 100 per 10 s.
fn slices(style: Style) -> ServerPlan {
    let window = Duration::from_secs(10);
    let mut server = ServerPlan::declaring(style, Ask::Seconds, &[bucket(600)]);
    server.rules[0].enforced = false;
    server.rules.push(RulePlan {
        shape: Shape::Bucket { limit: 100, window },
        unit: Unit::Requests,
        enforced: true,
        declared: false,
    });
    server
}

/// Requests are limited, one way or another, and the headers say so.
pub(crate) fn declared() -> Vec<Scenario> {
    let window = MINUTE;
    let fixed = (Shape::Fixed { limit: 600, window }, Unit::Requests);
    let log = (Shape::Log { limit: 600, window }, Unit::Requests);
    let gcra = Shape::Gcra {
        burst: 10,
        interval: Duration::from_millis(100),
    };
    let gcra = |style| ServerPlan::declaring(style, Ask::Seconds, &[(gcra, Unit::Requests)]);
    let mistral = ServerPlan::declaring(Style::Mistral, Ask::Seconds, &[bucket(600)]);
    let (told, half, slow) = (Gate::DECLARED, Gate::HALF_DECLARED, Gate::SLOW);
    let azure = "10 s slices, Azure's partial headers";
    let rows: [(&str, ServerPlan, u64, Gate); 14] = [
        ("token bucket, 1.5 s", openai(&[bucket(600)]), 1500, told),
        ("token bucket, 8 s", openai(&[bucket(600)]), 8000, told),
        ("10 s slices, 1.5 s", slices(Style::OpenAi), 1500, half),
        ("10 s slices, 8 s", slices(Style::OpenAi), 8000, half),
        (azure, slices(Style::Azure), 1500, half),
        ("fixed window, 1.5 s", openai(&[fixed]), 1500, told),
        ("fixed window, 8 s", openai(&[fixed]), 8000, told),
        ("sliding log, 1.5 s", openai(&[log]), 1500, told),
        ("sliding log, 8 s", openai(&[log]), 8000, told),
        (
            "leaky bucket, resets in ms",
            gcra(Style::OpenAi),
            1500,
            told,
        ),
        ("leaky bucket, resets in s", gcra(Style::Ietf), 1500, told),
        ("60 a minute, 1.5 s", openai(&[bucket(60)]), 1500, slow),
        ("60 a minute, 8 s", openai(&[bucket(60)]), 8000, slow),
        ("Mistral's headers, no reset", mistral, 1500, told),
    ];
    let row = |(name, server, latency, gate): (&'static str, ServerPlan, u64, Gate)| {
        let jobs = match server.rules[0].shape {
            // The last window is half full: else one call of caution would cost a window.
            Shape::Fixed { .. } | Shape::Log { .. } => 5700,
            _ if gate == slow => 600,
            _ => 6000,
        };
        scenario(name, Plan::one(server, jobs, latency), gate)
    };
    rows.into_iter().map(row).collect()
}

/// Requests and tokens at once, jobs of all sizes.
pub(crate) fn mixed() -> Vec<Scenario> {
    // Some 700 tokens each: requests and tokens are used up about equally fast.
    let sizes = Sizes::Mixed {
        input: 360,
        output: 200,
    };
    let both = [bucket(600), tokens(420_000)];
    let plan = |server, latency| Plan {
        sizes,
        ..Plan::one(server, 6000, latency)
    };
    let anthropic = ServerPlan::declaring(Style::Anthropic, Ask::Seconds, &both);
    let mut actual = openai(&both);
    actual.charges_actual = true;
    let day = Duration::from_hours(24);
    let groq = openai(&[
        (
            Shape::Bucket {
                limit: 14_400,
                window: day,
            },
            Unit::Requests,
        ),
        tokens(24_000),
    ]);
    vec![
        scenario(
            "requests and tokens, 1.5 s",
            plan(openai(&both), 1500),
            Gate::DECLARED,
        ),
        scenario(
            "requests and tokens, 8 s",
            plan(openai(&both), 8000),
            Gate::DECLARED,
        ),
        scenario("tokens charged as used", plan(actual, 1500), Gate::DECLARED),
        scenario(
            "Anthropic's rounding",
            plan(anthropic, 1500),
            Gate::DECLARED,
        ),
        scenario(
            "requests a day, tokens a minute",
            Plan::one(groq, 1200, 1500),
            Gate::DECLARED,
        ),
    ]
}

/// Headers that are not the truth.
pub(crate) fn crooked() -> Vec<Scenario> {
    let twisted = |twist| {
        let mut server = openai(&[bucket(600)]);
        server.twist = twist;
        Plan::one(server, 6000, 1500)
    };
    let most = Duration::from_secs(1);
    vec![
        scenario(
            "headers up to 1 s stale",
            twisted(Twist::Stale { most }),
            Gate::DECLARED,
        ),
        scenario(
            "every other answer without headers",
            twisted(Twist::Missing),
            Gate::DECLARED,
        ),
        // What never changes declares nothing.
        scenario(
            "remaining is always the limit",
            twisted(Twist::Lying),
            Gate::UNDECLARED,
        ),
    ]
}

/// Answers take so many times as long from then on.
fn slow_from(from: Time, factor: u32) -> Fault {
    Fault::Slow {
        from,
        until: Time::NEVER,
        factor,
    }
}

/// Limits that change, other users, bad days; the server declares its limits.
pub(crate) fn troubled() -> Vec<Scenario> {
    let with = |fault| {
        let mut server = openai(&[bucket(600)]);
        server.faults.push(fault);
        Plan::one(server, 4000, 1500)
    };
    let mut shared = openai(&[bucket(600)]);
    shared.tenant = Some(Tenant {
        from: seconds(100),
        until: Time::NEVER,
        every: Duration::from_millis(200),
        tokens: 200,
    });
    let ask = Duration::from_secs(1);
    let (from, until) = (seconds(0), seconds(10));
    let first = Fault::Storm { from, until, ask };
    let (from, until) = (seconds(100), seconds(110));
    let later = Fault::Storm { from, until, ask };
    let (from, until) = (seconds(100), seconds(130));
    let outage = Fault::Outage { from, until };
    let (from, until) = (seconds(0), seconds(20));
    let late = Fault::Outage { from, until };
    let at = seconds(100);
    let shared = Plan::one(shared, 4000, 1500);
    let (halved, doubled) = (50, 200);
    let limit = |percent| with(Fault::Limit { at, percent });
    let slow = with(slow_from(at, 10));
    let (from, until) = (seconds(100), seconds(110));
    let short = Fault::Outage { from, until };
    let rows: [(&str, Plan, u64, u64); 9] = [
        ("10 s of 503", with(short), 110, 600),
        ("limit halved", limit(halved), 100, 300),
        ("limit doubled", limit(doubled), 100, 1200),
        ("another user takes half", shared, 100, 300),
        ("10 s of 429 from the start", with(first), 10, 600),
        ("10 s of 429 later", with(later), 110, 600),
        ("30 s of 503", with(outage), 130, 600),
        ("20 s of 503 from the start", with(late), 20, 600),
        ("latency × 10", slow, 100, 600),
    ];
    let row = |(name, plan, at, per_minute): (&'static str, Plan, u64, u64)| {
        let gate = if name.starts_with("10 s of 429") {
            Gate::HALF_DECLARED.recovering(Duration::from_secs(1))
        } else if name == "10 s of 503" || name == "30 s of 503" {
            Gate::HALF_DECLARED.recovering((seconds(at) - seconds(100)) / 10)
        } else if name.starts_with("20 s of 503") {
            let why = "a broken lane is probed every 8 s or sooner";
            Gate::HALF_DECLARED.but(Share::tenths(25), Share::tenths(10), why)
        } else {
            Gate::HALF_DECLARED
        };
        let at = seconds(at);
        Scenario {
            change: Some(Change { at, per_minute }),
            ..scenario(name, plan, gate)
        }
    };
    rows.into_iter().map(row).collect()
}

/// A rate that nobody declares.
pub(crate) fn undeclared() -> Vec<Scenario> {
    let rows: [(&str, Ask, u64); 8] = [
        ("only 429, 1.5 s", Ask::Nothing, 1500),
        ("only 429, 8 s", Ask::Nothing, 8000),
        ("only Retry-After, 1.5 s", Ask::Seconds, 1500),
        ("only Retry-After, 8 s", Ask::Seconds, 8000),
        ("only Gemini's RetryInfo", Ask::RetryInfo, 1500),
        // Read against the clock that wrote it, a date is a number of whole seconds.
        ("only dates by a wrong clock", Ask::Seconds, 1500),
        ("Retry-After always 89 s", Ask::Always(89), 1500),
        ("Retry-After always 0", Ask::Always(0), 1500),
    ];
    let mut all: Vec<Scenario> = rows
        .into_iter()
        .map(|(name, ask, latency)| {
            scenario(
                name,
                Plan::one(silent(ask), 6000, latency),
                Gate::UNDECLARED,
            )
        })
        .collect();
    let millis = Plan::one(silent(Ask::Millis), 6000, 1500);
    all.push(scenario("only retry-after-ms", millis, Gate::UNDECLARED));
    all
}

/// A number of parallel requests, which nobody declares.
pub(crate) fn parallel() -> Vec<Scenario> {
    let limit = (Shape::Parallel { limit: 16 }, Unit::Requests);
    let server = || ServerPlan::declaring(Style::Silent, Ask::Nothing, &[limit]);
    let plan = |jobs, latency| Plan::one(server(), jobs, latency);
    vec![
        scenario("16 parallel, 1.5 s", plan(5000, 1500), Gate::UNDECLARED),
        scenario("16 parallel, 8 s", plan(1500, 8000), Gate::UNDECLARED),
    ]
}

/// Short windows and short runs, on loopback.
pub(crate) fn short() -> Vec<Scenario> {
    let window = Duration::from_secs(1);
    let limit = (Shape::Fixed { limit: 50, window }, Unit::Requests);
    let near = |server, jobs, latency, j| {
        let plan = Plan {
            delay: Duration::from_micros(200),
            ..Plan::one(server, jobs, latency)
        };
        plan.with_j(Some(j))
    };
    let silent = ServerPlan::declaring(Style::Silent, Ask::Nothing, &[limit]);
    let window = Duration::from_secs(2);
    let full_again = openai(&[(Shape::Bucket { limit: 60, window }, Unit::Requests)]);
    let with_headers = Gate::DECLARED.but(
        Share::tenths(30),
        Share::tenths(10),
        "97 % of the ideal over ten windows",
    );
    let without = Gate::UNDECLARED.but(
        Share::tenths(111),
        Share::tenths(50),
        "90 % of the ideal, from the first call on",
    );
    vec![
        scenario(
            "50 per second, 50 ms, -j 20",
            // Not whole windows: one call of caution would cost a further one.
            near(openai(&[limit]), 530, 50, 20),
            with_headers,
        ),
        scenario(
            "the same without headers",
            near(silent, 1500, 50, 20),
            without,
        ),
        scenario(
            "60 per 2 s, 700 ms, -j 100",
            near(full_again, 600, 700, 100),
            with_headers,
        ),
    ]
}

/// Some requests are never answered, the others soon, and nothing is limited: those that hang
/// must not keep the others from being sent.
pub(crate) fn hanging() -> Vec<Scenario> {
    let gate = Gate::UNDECLARED.but(
        Share::tenths(50),
        Share::ZERO,
        "5 % above list scheduling with the same -j",
    );
    let plan = |j, timeout| {
        let plan = Plan {
            delay: Duration::from_micros(200),
            hangs: Hangs {
                per_mille: 58,
                timeout: Duration::from_secs(timeout),
            },
            ..Plan::one(
                ServerPlan::declaring(Style::Silent, Ask::Nothing, &[]),
                500,
                50,
            )
        };
        plan.with_j(Some(j))
    };
    vec![
        scenario("one of 17 hangs for 3 s, -j 20", plan(20, 3), gate),
        scenario("one of 17 hangs for 3 s, -j 256", plan(256, 3), gate),
        scenario("one of 17 hangs for 30 s, -j 256", plan(256, 30), gate),
    ]
}

/// Limits that the user declares, and lanes beside each other.
pub(crate) fn by_user() -> Vec<Scenario> {
    let window = MINUTE;
    let log = |limit, unit| (Shape::Log { limit, window }, unit);
    let inside = (Shape::Parallel { limit: 64 }, Unit::Requests);
    let lane = |server, limits: &[usize]| LanePlan {
        limits: limits.to_vec(),
        server,
        ..Plan::one(silent(Ask::Nothing), 0, 0).lanes[0].clone()
    };
    let strict = ServerPlan::declaring(
        Style::Silent,
        Ask::Nothing,
        &[log(600, Unit::Requests), log(420_000, Unit::Tokens), inside],
    );
    let mut matching = Plan::one(strict, 6000, 1500);
    matching.sizes = Sizes::Mixed {
        input: 360,
        output: 200,
    };
    matching.limits = vec![
        (LimitMeasure::Requests(window), 600),
        (LimitMeasure::Tokens(window), 420_000),
        (LimitMeasure::Concurrency, 64),
    ];
    matching.servers[0].charges_actual = true;
    matching.lanes = vec![lane(0, &[0, 1, 2])];
    let one = ServerPlan::declaring(Style::Silent, Ask::Nothing, &[log(600, Unit::Requests)]);
    let mut shared = Plan::one(one, 6000, 1500);
    shared.limits = vec![(LimitMeasure::Requests(window), 600)];
    shared.lanes = vec![lane(0, &[0]), lane(0, &[0])];
    let fair = Gate {
        fairness: Some(Share::tenths(990)),
        ..Gate::BY_USER
    };
    let mut ending = openai(&[bucket(600)]);
    ending.faults.push(Fault::Exhausted { at: seconds(100) });
    let mut apart = Plan::one(openai(&[bucket(600)]), 6000, 1500);
    apart.servers.push(ending);
    apart.lanes = vec![lane(0, &[]), lane(1, &[])];
    apart.lanes[1].ends = true;
    vec![
        scenario(
            "limits of requests, tokens, parallel",
            matching,
            Gate::BY_USER,
        ),
        scenario("two lanes share a declared limit", shared, fair),
        scenario(
            "insufficient_quota in one of two lanes",
            apart,
            Gate::DECLARED,
        ),
    ]
}
