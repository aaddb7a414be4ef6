//! The machine without a system below it.
//!
//! `cargo xtask check pure` compiles this to bare WebAssembly and looks that the module imports
//! nothing: whatever clock, randomness, file or lock the machine could reach would be an
//! import there. Every verb is called, so that nothing is left out as unused. A program and
//! not an example, since those bring the libraries of tests with them.

use std::hint::black_box;
use std::time::Duration;

use runner_scheduler::{
    Action, Class, Demand, Dimension, End, Hint, LanePolicy, Limit, LimitMeasure, NextStep,
    QuotaUse, Reading, Scheduler, Time,
};

fn main() {
    black_box(drive(black_box(7), black_box(1000)));
}

/// Plays `ticks` milliseconds; gives a number that depends on every decision.
fn drive(seed: u64, ticks: u64) -> u64 {
    let mut machine = Scheduler::new(seed);
    let lane = machine.open(LanePolicy::default());
    machine.tighten(lane, LanePolicy::default());
    let limit = machine.declare(Limit {
        name: "declared".to_owned(),
        counts: LimitMeasure::Tokens(Duration::from_secs(1)),
        capacity: 1000,
    });
    let mut digest = seed;
    let mut mix = |number: u64| digest = digest.rotate_left(7) ^ number;
    for tick in 0..ticks {
        let now = Time::from_nanos(tick * 1_000_000);
        let demand = Demand {
            cost: QuotaUse {
                input_tokens: seed % 50,
                output_tokens: tick % 50,
            },
            max_retries: None,
            limits: [limit].into(),
        };
        let offered = machine.offer(now, lane, demand);
        while let Some(action) = machine.start(now) {
            match action {
                Action::Start(job) => {
                    let hint = hint(tick);
                    let end = End {
                        class: class(tick),
                        hint: &hint,
                        usage: None,
                    };
                    if let NextStep::Again { retry, .. } = machine.finish(now, job, &end) {
                        mix(u64::from(retry));
                    }
                }
                Action::Refuse(job, _) => mix(job.ticket()),
            }
        }
        if tick % 7 == 0 {
            machine.cancel(now, offered);
        }
        while let Some(notice) = machine.event() {
            mix(notice.at.as_nanos() ^ notice.event.name().len() as u64);
        }
        mix(machine.wake().map_or(0, Time::as_nanos));
        mix(machine.view(lane).queued as u64);
    }
    let end = Time::from_nanos(ticks * 1_000_000);
    machine.drain(end);
    while let Some(Action::Refuse(job, _)) = machine.start(end) {
        mix(job.ticket());
    }
    digest
}

fn class(tick: u64) -> Class {
    match tick % 5 {
        0 => Class::Throttled,
        1 => Class::Transient,
        2 => Class::Permanent,
        _ => Class::Ok,
    }
}

fn hint(tick: u64) -> Hint {
    Hint {
        retry_after: tick.is_multiple_of(3).then_some(Duration::from_secs(1)),
        useless: false,
        readings: vec![Reading {
            dimension: Dimension::Requests,
            limit: Some(60),
            remaining: Some(tick % 60),
            reset: Some(Duration::from_millis(tick % 900)),
            resolution: Duration::from_millis(1),
            window: None,
        }],
    }
}
