//! What a lane does whatever its strategy: counts, tells, and keeps its line.

use std::collections::VecDeque;
use std::time::Duration;

use super::*;
use crate::chance::Chance;
use crate::event::Notice;
use crate::hint::{Dimension, Hint, Reading};
use crate::job::{LaneId, QuotaUse};
use crate::sent::Amounts;

fn at(ms: u64) -> Time {
    Time::ZERO + Duration::from_millis(ms)
}

/// A lane with what is around it.
struct Rig {
    lane: Lane,
    chance: Chance,
    events: VecDeque<Notice>,
}

impl Rig {
    fn new(policy: LanePolicy) -> Self {
        Self {
            lane: Lane::new(policy, Time::ZERO),
            chance: Chance::new(1),
            events: VecDeque::new(),
        }
    }

    /// The lane, and its surroundings at this moment.
    fn at(&mut self, ms: u64) -> (&mut Lane, Surroundings<'_>) {
        let around = Surroundings {
            lane: LaneId(0),
            now: at(ms),
            chance: &mut self.chance,
            events: &mut self.events,
            clock: Duration::ZERO,
        };
        (&mut self.lane, around)
    }

    /// Sends as many as may go at this moment, up to `most`.
    fn send(&mut self, ms: u64, most: usize) -> Vec<Flight> {
        let amounts = Amounts::of(QuotaUse::default());
        let (lane, mut around) = self.at(ms);
        let mut flights = Vec::new();
        while flights.len() < most
            && let Verdict::Go(pass) = lane.check(&amounts, &mut around)
        {
            flights.push(lane.send(around.now, pass, amounts));
        }
        flights
    }

    fn end_all(&mut self, ms: u64, flights: &[Flight], class: Class, hint: &Hint) {
        let (lane, mut around) = self.at(ms);
        for flight in flights {
            let end = End {
                class,
                hint,
                usage: None,
            };
            lane.land();
            let amounts = Amounts::of(QuotaUse::default());
            lane.learn(flight, &amounts, &end, JobId(0), &mut around);
        }
    }
}

#[test]
fn without_adapting_nothing_is_learnt_and_the_ceiling_holds() {
    let mut rig = Rig::new(LanePolicy {
        strategy: LaneStrategy::Fixed,
        max_window: 30,
        ..LanePolicy::default()
    });
    let minute = Duration::from_mins(1);
    let hint = Hint {
        retry_after: Some(minute),
        readings: vec![Reading {
            dimension: Dimension::Requests,
            limit: Some(10),
            remaining: Some(0),
            reset: Some(minute),
            resolution: Duration::from_millis(1),
            window: None,
        }],
        ..Hint::default()
    };
    let classes = [
        Class::Throttled,
        Class::Transient,
        Class::Auth,
        Class::QuotaExhausted,
        Class::NotFound,
    ];
    for (ms, class) in (0..).step_by(10).zip(classes) {
        let flights = rig.send(ms, 100);
        assert_eq!(flights.len(), 30, "before {class:?}");
        rig.end_all(ms + 5, &flights, class, &hint);
    }
    assert_eq!(rig.send(100, 100).len(), 30);
}

#[test]
fn a_lane_that_is_made_to_adapt_begins_anew() {
    let fixed = LanePolicy {
        strategy: LaneStrategy::Fixed,
        ..LanePolicy::default()
    };
    let mut rig = Rig::new(fixed);
    let flights = rig.send(0, 10);
    rig.lane.obey(fixed.tighter(LanePolicy::default()), at(1));
    assert_eq!(rig.send(1, 1), [], "more are out than a new lane sends");
    rig.end_all(5, &flights, Class::Ok, &Hint::default());
    assert_eq!(rig.send(6, 4).len(), 4);
}

#[test]
fn every_refusal_is_counted_and_told() {
    let mut rig = Rig::new(LanePolicy::default());
    let flights = rig.send(0, 3);
    let hint = Hint {
        retry_after: Some(Duration::from_secs(2)),
        ..Hint::default()
    };
    rig.end_all(10, &flights, Class::Throttled, &hint);
    let hits: Vec<_> = rig
        .events
        .iter()
        .filter_map(|notice| match notice.event {
            Event::RateLimitHit { blocked_until, .. } => blocked_until,
            _ => None,
        })
        .collect();
    assert_eq!(hits, [at(2010); 3]);
    assert_eq!(rig.lane.view().metrics.rate_limit_hits, 3);
}

#[test]
fn a_pace_that_was_found_is_seen_from_outside() {
    let mut rig = Rig::new(LanePolicy::default());
    assert_eq!(rig.lane.view().interval, None);
    // Refused are the last of many and, some time later, the first of many.
    for round in 1..=10 {
        let now = 2000 * round;
        let flights = rig.send(now, 100);
        let refused = match round {
            5 => flights.len() - 1..flights.len(),
            10 => 0..1,
            _ => 0..0,
        };
        rig.end_all(
            now + 5,
            &flights[refused.clone()],
            Class::Throttled,
            &Hint::default(),
        );
        rig.end_all(
            now + 6,
            &flights[..refused.start],
            Class::Ok,
            &Hint::default(),
        );
        rig.end_all(
            now + 7,
            &flights[refused.end..],
            Class::Ok,
            &Hint::default(),
        );
    }
    let interval = rig.lane.view().interval.expect("it was measured");
    assert!(interval > Duration::from_millis(10), "{interval:?}");
}

#[test]
fn a_retry_of_a_failure_waits_for_retry_tokens_while_others_work() {
    let mut rig = Rig::new(LanePolicy::default());
    rig.lane.queue.push_retry(JobId(1), at(0));
    rig.lane.queue.push(JobId(2));
    let failed = |job| job == JobId(1);
    let head = |rig: &mut Rig| rig.lane.head(at(1), failed).map(|head| head.job);
    while rig.lane.retry_tokens.allows() {
        rig.lane.retry_tokens.spend();
    }
    assert_eq!(head(&mut rig), Some(JobId(1)), "nothing else is in flight");
    let flights = rig.send(1, 1);
    assert_eq!(head(&mut rig), Some(JobId(2)));
    rig.end_all(2, &flights, Class::Ok, &Hint::default());
    assert_eq!(head(&mut rig), Some(JobId(1)));
}

#[test]
fn the_clock_s_minute_ends_when_it_does() {
    let mut rig = Rig::new(LanePolicy::default());
    let mut end = |clock: u64, ms| {
        let (_, around) = rig.at(ms);
        let clock = Duration::from_secs(clock);
        Surroundings { clock, ..around }.minute_end()
    };
    assert_eq!(end(0, 0), at(60_000));
    assert_eq!(end(20, 0), at(40_000));
    assert_eq!(end(20, 39_999), at(40_000));
    assert_eq!(end(20, 40_000), at(100_000));
    assert_eq!(end(59, 61_000), at(121_000));
}
