//! Limits that the user declares and several lanes share.

use std::sync::Arc;

use super::*;

/// Three lanes with slots to spare.
fn three() -> (Rig, [LaneId; 3]) {
    let mut rig = Rig::new();
    let lanes = [(); 3].map(|()| rig.scheduler.open(slots(20)));
    (rig, lanes)
}

fn declare(rig: &mut Rig, counts: LimitMeasure, capacity: u64) -> LimitId {
    rig.scheduler.declare(Limit {
        name: "group".to_owned(),
        counts,
        capacity,
    })
}

fn under(limits: &[LimitId], cost: QuotaUse) -> Demand {
    Demand {
        cost,
        limits: Arc::from(limits),
        ..Demand::default()
    }
}

/// One request under these limits.
fn one(limits: &[LimitId]) -> Demand {
    under(limits, QuotaUse::default())
}

#[test]
fn a_head_that_does_not_fit_holds_up_everybody_behind_it() {
    let (mut rig, [lane, ..]) = three();
    let limit = declare(&mut rig, LimitMeasure::Tokens(MINUTE), 1000);
    for cost in [800, 500, 100] {
        rig.offer_with(lane, under(&[limit], tokens(cost)));
    }
    assert_eq!(rig.started(), [0], "the small one doesn't overtake");
    let why = rig.scheduler.view(lane).wait.expect("it waits").why;
    let expected = WaitReason::Declared {
        name: "group".to_owned(),
        used: 800,
        capacity: 1000,
    };
    assert_eq!(why, expected);
    assert_eq!(rig.pass(60_000), [0; 0]);
    assert_eq!(rig.pass(60_001), [1, 2], "a minute after the first");
}

#[test]
fn what_was_not_used_is_free_for_the_next() {
    let (mut rig, [lane, ..]) = three();
    let limit = declare(&mut rig, LimitMeasure::Tokens(MINUTE), 1000);
    let first = rig.offer_with(lane, under(&[limit], tokens(900)));
    rig.offer_with(lane, under(&[limit], tokens(800)));
    assert_eq!(rig.started(), [0]);
    let hint = &Hint::default();
    let usage = Some(tokens(200));
    let class = Class::Ok;
    let end = End { class, hint, usage };
    rig.scheduler.finish(at(rig.now), first, &end);
    assert_eq!(rig.started(), [1]);
}

#[test]
fn more_than_a_declared_limit_holds_is_refused_at_once_with_the_reason() {
    let (mut rig, [lane, ..]) = three();
    let limit = declare(&mut rig, LimitMeasure::Tokens(MINUTE), 1000);
    let large = rig.offer_with(lane, under(&[limit], tokens(1001)));
    let small = rig.offer_with(lane, under(&[limit], tokens(1000)));
    let why = Refusal::Oversize {
        limit: "group".to_owned(),
        asked: 1001,
        capacity: 1000,
    };
    let expected = [Action::Refuse(large, why), Action::Start(small)];
    assert_eq!(rig.actions(), expected);
}

#[test]
fn a_limit_that_nobody_declared_is_refused_at_once() {
    let (mut rig, [lane, ..]) = three();
    let mut elsewhere = Rig::new();
    let foreign = declare(&mut elsewhere, LimitMeasure::Concurrency, 1);
    let job = rig.offer_with(lane, one(&[foreign]));
    let expected = [Action::Refuse(job, Refusal::UnknownLimit)];
    assert_eq!(rig.actions(), expected);
}

#[test]
fn a_job_takes_all_that_it_needs_or_nothing() {
    let (mut rig, [a, b, c]) = three();
    let places = declare(&mut rig, LimitMeasure::Concurrency, 1);
    let requests = declare(&mut rig, LimitMeasure::Requests(MINUTE), 10);
    rig.offer_with(a, one(&[places]));
    rig.offer_with(b, one(&[places, requests]));
    for _ in 0..12 {
        rig.offer_with(c, one(&[requests]));
    }
    let started = rig.started();
    assert_eq!(started.len(), 11, "{started:?}");
    assert!(!started.contains(&1));
}

#[test]
fn a_shared_limit_is_given_out_by_ticket() {
    let (mut rig, [a, b, c]) = three();
    let limit = declare(&mut rig, LimitMeasure::Concurrency, 1);
    let lanes = [c, a, b, a, c, b, b, a, c];
    let jobs = lanes.map(|lane| rig.offer_with(lane, one(&[limit])));
    let mut order = Vec::new();
    for _ in 0..jobs.len() {
        let started = rig.started();
        assert_eq!(started.len(), 1);
        rig.ends(jobs[started[0] as usize], Class::Ok);
        order.extend(started);
    }
    // The head of `a` is looked at first, when nobody waits yet.
    assert_eq!(order, [1, 0, 2, 3, 4, 5, 6, 7, 8]);
}

#[test]
fn a_large_job_of_one_lane_is_not_starved_by_small_ones_of_another() {
    let (mut rig, [small, large, _]) = three();
    let limit = declare(&mut rig, LimitMeasure::Tokens(Duration::from_secs(1)), 1000);
    rig.offer_with(small, under(&[limit], tokens(300)));
    let large = rig.offer_with(large, under(&[limit], tokens(900)));
    for _ in 0..20 {
        rig.offer_with(small, under(&[limit], tokens(300)));
    }
    let first = rig.started();
    assert_eq!(first.len(), 3, "whoever comes while nobody waits");
    let mut later = Vec::new();
    while later.is_empty() {
        rig.now += 10;
        later = rig.started();
    }
    assert_eq!(later[0], large.ticket());
}

#[test]
fn a_lane_that_is_blocked_for_its_own_reasons_holds_up_nobody_at_a_shared_limit() {
    let (mut rig, [a, b, _]) = three();
    let limit = declare(&mut rig, LimitMeasure::Concurrency, 1);
    let holder = rig.offer_with(b, one(&[limit]));
    let impatient = Demand {
        max_retries: Some(0),
        ..Demand::default()
    };
    let alone = rig.offer_with(a, impatient);
    assert_eq!(rig.started(), [1, 0]);
    rig.offer_with(a, one(&[limit]));
    let behind = rig.offer_with(b, one(&[limit]));
    assert_eq!(rig.started(), [0; 0]);
    rig.finish(alone, Class::Throttled, &asks_for(Duration::from_secs(9)));
    rig.started();
    rig.ends(holder, Class::Ok);
    assert_eq!(rig.started(), [behind.ticket()]);
}

#[test]
fn cancelling_who_waits_for_a_limit_lets_the_next_one_have_it() {
    let (mut rig, [a, b, _]) = three();
    let limit = declare(&mut rig, LimitMeasure::Tokens(MINUTE), 100);
    rig.offer_with(a, under(&[limit], tokens(50)));
    rig.started();
    let large = rig.offer_with(a, under(&[limit], tokens(60)));
    rig.started();
    let small = rig.offer_with(b, under(&[limit], tokens(40)));
    assert_eq!(rig.started(), [0; 0]);
    rig.cancel(large);
    assert_eq!(rig.started(), [small.ticket()]);
}

#[test]
fn a_place_is_kept_for_as_long_as_the_call_lasts() {
    let (mut rig, [lane, ..]) = three();
    let limit = declare(&mut rig, LimitMeasure::Concurrency, 1);
    let long = rig.offer_with(lane, one(&[limit]));
    rig.offer_with(lane, one(&[limit]));
    assert_eq!(rig.pass(600_000), [0], "ten holds long");
    assert_eq!(rig.wake(), Some(630_001 - 30_000), "the next renewal");
    rig.ends(long, Class::Ok);
    assert_eq!(rig.started(), [1]);
}

#[test]
fn a_place_is_given_back_once_however_often_the_end_is_told() {
    let (mut rig, [lane, ..]) = three();
    let limit = declare(&mut rig, LimitMeasure::Concurrency, 2);
    let jobs: Vec<JobId> = (0..6)
        .map(|_| rig.offer_with(lane, one(&[limit])))
        .collect();
    assert_eq!(rig.started(), [0, 1]);
    rig.ends(jobs[0], Class::Ok);
    rig.ends(jobs[0], Class::Ok);
    rig.cancel(jobs[0]);
    assert_eq!(rig.started(), [2]);
    rig.cancel(jobs[1]);
    rig.cancel(jobs[1]);
    rig.ends(jobs[1], Class::Ok);
    assert_eq!(rig.started(), [3]);
}

#[test]
fn a_retry_reserves_again_and_a_pause_holds_nothing() {
    let (mut rig, [a, b, _]) = three();
    let limit = declare(&mut rig, LimitMeasure::Concurrency, 1);
    let failing = rig.offer_with(a, one(&[limit]));
    let other = rig.offer_with(b, one(&[limit]));
    assert_eq!(rig.started(), [0]);
    rig.finish(failing, Class::Transient, &asks_for(Duration::from_secs(5)));
    assert_eq!(rig.started(), [1]);
    assert_eq!(
        rig.pass(20_000),
        [0; 0],
        "its pause is over, the place taken"
    );
    rig.ends(other, Class::Ok);
    assert_eq!(rig.started(), [0]);
}

#[test]
fn without_adapting_declared_limits_hold() {
    let mut rig = Rig::new();
    let lane = rig.scheduler.open(LanePolicy {
        strategy: LaneStrategy::Fixed,
        ..slots(20)
    });
    let limit = declare(&mut rig, LimitMeasure::Requests(MINUTE), 3);
    for _ in 0..7 {
        rig.offer_with(lane, one(&[limit]));
    }
    assert_eq!(rig.started(), [0, 1, 2]);
    assert_eq!(rig.pass(60_001), [3, 4, 5]);
}

#[test]
fn of_a_learnt_and_a_declared_limit_the_tighter_one_holds() {
    for (declared, expected) in [(5, 5), (50, 9)] {
        let (mut rig, [lane, ..]) = three();
        let limit = declare(&mut rig, LimitMeasure::Requests(MINUTE), declared);
        let first = rig.offer(lane);
        rig.started();
        let hint = says(Dimension::Requests, 10, 9, MINUTE);
        rig.finish(first, Class::Ok, &hint);
        for _ in 0..20 {
            rig.offer_with(lane, one(&[limit]));
        }
        assert_eq!(rig.started().len(), expected);
    }
}
