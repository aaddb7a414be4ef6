//! Where the published limiter goes wrong and this one must not.
//!
//! `docs/leases.md` has the list; each entry names its test here.

use super::*;

#[test]
fn more_than_a_limit_holds_is_refused_for_good() {
    let (mut desk, tpm) = Desk::with(tokens(10_000));
    let refused = Err(Denied::ExceedsCapacity {
        limit: tpm,
        asked: 12_000,
        capacity: 10_000,
    });
    assert_eq!(desk.ask(at(0), &[(tpm, 12_000)]), refused);
    assert_eq!(desk.ask(at(0), &[(tpm, 7_000), (tpm, 5_000)]), refused);
}

#[test]
fn more_than_a_falling_limit_will_hold_is_refused_for_good_while_it_drains() {
    let (mut desk, tpm) = Desk::with(tokens(100));
    desk.ask(at(0), &[(tpm, 80)]).unwrap();
    desk.limits.change(at(1), tpm, 30);
    assert_eq!(desk.used(at(1), tpm), 80);
    assert_eq!(
        desk.ask(at(1), &[(tpm, 31)]),
        Err(Denied::ExceedsCapacity {
            limit: tpm,
            asked: 31,
            capacity: 30
        })
    );
    assert_eq!(desk.ask(at(1), &[(tpm, 30)]), Err(full(tpm, Some(at(60)))));
}

#[test]
fn an_unknown_limit_is_refused_for_good_and_takes_nothing() {
    let (mut desk, rpm) = Desk::with(requests(1));
    let unknown = LimitId(7);
    let refused = desk.ask(at(0), &[(rpm, 1), (unknown, 1)]);
    assert_eq!(refused, Err(Denied::UnknownLimit(unknown)));
    assert_eq!(desk.used(at(0), rpm), 0);
    desk.limits.change(at(0), unknown, 5);
    assert_eq!(desk.used(at(0), unknown), 0);
    assert_eq!(desk.limits.debt(at(0), unknown), 0);
    assert!(desk.limits.limit(unknown).is_none());
}

#[test]
fn the_retry_time_is_exact_to_the_nanosecond() {
    let (mut desk, tpm) = Desk::with(tokens(1_000));
    for second in 0..1_000 {
        let spread = Time::from_nanos(second * 7_000_003);
        desk.ask(spread, &[(tpm, 1)]).unwrap();
    }
    let now = at(10);
    for amount in [1, 2, 500, 999, 1_000] {
        let Err(Denied::Full {
            retry_at: Some(retry_at),
            ..
        }) = desk.ask(now, &[(tpm, amount)])
        else {
            panic!("a window that is full says when it isn't");
        };
        assert_eq!(
            retry_at,
            Time::from_nanos((amount - 1) * 7_000_003) + MINUTE
        );
        let mut early = desk.clone();
        assert!(early.ask(just_before(retry_at), &[(tpm, amount)]).is_err());
        let mut on_time = desk.clone();
        assert!(on_time.ask(retry_at, &[(tpm, amount)]).is_ok());
    }
}

#[test]
fn an_attempt_that_is_renewed_keeps_its_place_for_ever() {
    let (mut desk, slots) = Desk::with(concurrency(1));
    let lease = desk.ask(at(0), &[(slots, 1)]).unwrap();
    let mut now = at(0);
    for _ in 0..1_000 {
        let (due, renewed) = desk.limits.renewal().unwrap();
        assert_eq!(renewed, lease);
        assert!(due > now, "time goes on");
        now = due;
        desk.limits.renew(now, lease);
        assert_eq!(desk.ask(now, &[(slots, 1)]), Err(full(slots, None)));
    }
    desk.limits.settle(now, lease, &[]);
    assert_eq!(desk.limits.renewal(), None);
    assert_eq!(desk.used(now, slots), 0);
}

#[test]
fn renewing_up_to_the_last_moment_is_in_time_and_at_the_end_too_late() {
    let (mut desk, slots) = Desk::with(concurrency(1));
    let lease = desk.ask(at(0), &[(slots, 1)]).unwrap();
    let last = just_before(at(0) + HOLD);
    desk.limits.renew(last, lease);
    assert_eq!(desk.used(at(0) + HOLD, slots), 1);
    desk.limits.renew(last + HOLD, lease);
    assert_eq!(desk.used(last + HOLD, slots), 0);
}

#[test]
fn a_lease_that_has_expired_is_never_allowed_again() {
    let (mut desk, rpm) = Desk::with(requests(1));
    let lease = desk.ask(at(0), &[(rpm, 1)]).unwrap();
    let repeat = desk.limits.reserve(at(60), lease, &[(rpm, 1)]);
    assert_eq!(repeat, Err(Denied::InvalidLease));
    assert_eq!(desk.used(at(60), rpm), 0);
}

#[test]
fn a_lease_of_which_a_part_has_expired_is_not_allowed_again() {
    let (mut desk, rpm) = Desk::with(requests(1));
    let daily = desk
        .limits
        .declare(limit(LimitMeasure::Tokens(Duration::from_hours(24)), 100));
    let slots = desk.limits.declare(concurrency(1));
    let asked = [(rpm, 1), (daily, 50), (slots, 1)];
    let lease = desk.ask(at(0), &asked).unwrap();
    desk.limits.renew(at(30), lease);
    assert_eq!(desk.limits.reserve(at(59), lease, &asked), Ok(()));
    let late = desk.limits.reserve(at(60), lease, &asked);
    assert_eq!(late, Err(Denied::InvalidLease), "the request has expired");
    // The rest of it lives on, and is settled as any other.
    desk.limits.settle(at(61), lease, &[(daily, 20)]);
    assert_eq!(
        (desk.used(at(61), daily), desk.used(at(61), slots)),
        (20, 0)
    );
}

#[test]
fn a_lost_hold_is_neither_renewed_nor_given_back_twice() {
    let (mut desk, slots) = Desk::with(concurrency(2));
    let daily = desk
        .limits
        .declare(limit(LimitMeasure::Tokens(Duration::from_hours(24)), 100));
    let lost = desk.ask(at(0), &[(slots, 1), (daily, 50)]).unwrap();
    let other = desk.ask(at(60), &[(slots, 2)]).unwrap();
    desk.limits.renew(at(61), lost);
    assert_eq!(desk.limits.renewal().map(|(_, lease)| lease), Some(other));
    desk.limits.settle(at(62), lost, &[(daily, 10)]);
    assert_eq!(
        (desk.used(at(62), slots), desk.used(at(62), daily)),
        (2, 10)
    );
}

#[test]
fn an_id_that_was_denied_or_has_ended_is_never_allowed() {
    let (mut desk, rpm) = Desk::with(requests(1));
    let settled = desk.ask(at(0), &[(rpm, 1)]).unwrap();
    assert!(desk.ask(at(0), &[(rpm, 1)]).is_err());
    let denied = LeaseId(desk.drawn);
    assert!(desk.ask(at(0), &[(rpm, 2)]).is_err());
    let oversize = LeaseId(desk.drawn);
    assert!(desk.ask(at(0), &[]).is_err());
    let malformed = LeaseId(desk.drawn);
    desk.limits.settle(at(0), settled, &[(rpm, 0)]);
    for lease in [settled, denied, oversize, malformed, LeaseId(0)] {
        let again = desk.limits.reserve(at(0), lease, &[(rpm, 1)]);
        assert_eq!(again, Err(Denied::InvalidLease));
    }
    assert!(desk.ask(at(0), &[(rpm, 1)]).is_ok());
}

#[test]
fn leases_that_are_never_settled_are_forgotten() {
    let (mut desk, rpm) = Desk::with(requests(1_000));
    let slots = desk.limits.declare(concurrency(1_000));
    for step in 0..10_000 {
        let now = at(step);
        desk.ask(now, &[(rpm, 1)]).unwrap();
        desk.ask(now, &[(rpm, 1), (slots, 1)]).unwrap();
        let refused = desk.ask(now, &[(rpm, 1_001)]);
        assert!(matches!(refused, Err(Denied::ExceedsCapacity { .. })));
        assert!(desk.limits.leases.count() <= 120, "two a second for 60 s");
    }
    assert_eq!(desk.used(at(9_999), slots), 60);
}

#[test]
fn an_estimate_weighs_only_until_the_answer() {
    // 4,000 reserved, 500 used, answered before the next one asks: the estimates alone would
    // fill the minute after 15.
    let (mut desk, tpm) = Desk::with(tokens(60_000));
    let mut answered = 0;
    while let Ok(lease) = desk.ask(at(1), &[(tpm, 4_000)]) {
        desk.limits.settle(at(1), lease, &[(tpm, 500)]);
        answered += 1;
    }
    // One more fits as long as at most 56,000 are used, which 112 answers are.
    assert_eq!(answered, 113);
    assert_eq!(desk.used(at(1), tpm), 56_500);
}

#[test]
fn a_window_is_free_again_for_a_call_that_lasts_longer_than_it() {
    // Time counts from the sending, not from the answer that comes two windows later.
    let (mut desk, tpm) = Desk::with(tokens(100));
    let slots = desk.limits.declare(concurrency(2));
    let long = desk.ask(at(0), &[(tpm, 100), (slots, 1)]).unwrap();
    desk.limits.renew(at(40), long);
    assert!(desk.ask(at(60), &[(tpm, 100), (slots, 1)]).is_ok());
    desk.limits.settle(at(80), long, &[(tpm, 400)]);
    assert_eq!((desk.used(at(80), tpm), desk.used(at(80), slots)), (100, 1));
}

#[test]
fn debt_takes_room_that_the_server_does_not_have() {
    let (mut desk, tpm) = Desk::with(tokens(100));
    let small = desk.ask(at(0), &[(tpm, 10)]).unwrap();
    desk.limits.settle(at(1), small, &[(tpm, 130)]);
    assert_eq!(desk.used(at(1), tpm), 130);
    assert_eq!(desk.limits.debt(at(1), tpm), 30);
    assert_eq!(desk.ask(at(1), &[(tpm, 1)]), Err(full(tpm, Some(at(60)))));
}
