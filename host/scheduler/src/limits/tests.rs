//! What leases promise, one sentence each, with a clock that the test moves.
//!
//! Here: the rules as published, where they are ours too. `defects` has those that differ on
//! purpose, `model` holds everything against a slow and obvious bookkeeping.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod defects;
mod model;

use super::*;

const MINUTE: Duration = Duration::from_mins(1);

/// A time in seconds.
fn at(seconds: u64) -> Time {
    Time::ZERO + Duration::from_secs(seconds)
}

/// A nanosecond earlier.
fn just_before(time: Time) -> Time {
    time.before(Duration::from_nanos(1))
}

fn limit(counts: LimitMeasure, capacity: u64) -> Limit {
    Limit {
        name: "account".to_owned(),
        counts,
        capacity,
    }
}

fn requests(capacity: u64) -> Limit {
    limit(LimitMeasure::Requests(MINUTE), capacity)
}

fn tokens(capacity: u64) -> Limit {
    limit(LimitMeasure::Tokens(MINUTE), capacity)
}

fn concurrency(capacity: u64) -> Limit {
    limit(LimitMeasure::Concurrency, capacity)
}

/// Limits with a counter that draws lease ids, as the machine does.
#[derive(Default, Clone)]
struct Desk {
    limits: Limits,
    drawn: u64,
}

impl Desk {
    /// A desk with one limit.
    fn with(limit: Limit) -> (Self, LimitId) {
        let mut desk = Self::default();
        let id = desk.limits.declare(limit);
        (desk, id)
    }

    fn draw(&mut self) -> LeaseId {
        self.drawn += 1;
        LeaseId(self.drawn)
    }

    /// Tries with a new id.
    fn ask(&mut self, now: Time, requirements: &[(LimitId, u64)]) -> Result<LeaseId, Denied> {
        let lease = self.draw();
        self.limits.reserve(now, lease, requirements)?;
        Ok(lease)
    }

    fn used(&self, now: Time, limit: LimitId) -> u64 {
        self.limits.used(now, limit)
    }
}

fn full(limit: LimitId, retry_at: Option<Time>) -> Denied {
    Denied::Full { limit, retry_at }
}

#[test]
fn what_fits_is_allowed_and_the_next_is_denied() {
    let (mut desk, rpm) = Desk::with(requests(2));
    assert!(desk.ask(at(0), &[(rpm, 1)]).is_ok());
    assert!(desk.ask(at(1), &[(rpm, 1)]).is_ok());
    let denied = desk.ask(at(2), &[(rpm, 1)]);
    assert_eq!(denied, Err(full(rpm, Some(at(60)))));
}

#[test]
fn expiry_frees_a_window() {
    let (mut desk, rpm) = Desk::with(requests(1));
    desk.ask(at(0), &[(rpm, 1)]).unwrap();
    assert!(desk.ask(just_before(at(60)), &[(rpm, 1)]).is_err());
    assert!(desk.ask(at(60), &[(rpm, 1)]).is_ok());
}

#[test]
fn a_lease_takes_all_or_nothing() {
    let (mut desk, rpm) = Desk::with(requests(10));
    let slots = desk.limits.declare(concurrency(1));
    desk.ask(at(0), &[(rpm, 1), (slots, 1)]).unwrap();
    let denied = desk.ask(at(0), &[(rpm, 1), (slots, 1)]);
    assert_eq!(denied, Err(full(slots, None)));
    assert_eq!(desk.used(at(0), rpm), 1);
}

#[test]
fn settling_ends_a_hold() {
    let (mut desk, slots) = Desk::with(concurrency(1));
    let lease = desk.ask(at(0), &[(slots, 1)]).unwrap();
    assert_eq!(desk.ask(at(1), &[(slots, 1)]), Err(full(slots, None)));
    desk.limits.settle(at(2), lease, &[]);
    assert!(desk.ask(at(2), &[(slots, 1)]).is_ok());
}

#[test]
fn a_hold_that_nobody_renews_ends() {
    let (mut desk, slots) = Desk::with(concurrency(1));
    desk.ask(at(0), &[(slots, 1)]).unwrap();
    let end = at(60);
    assert_eq!(desk.used(just_before(end), slots), 1);
    assert_eq!(desk.used(end, slots), 0);
    assert!(desk.ask(just_before(end), &[(slots, 1)]).is_err());
    assert!(desk.ask(end, &[(slots, 1)]).is_ok());
}

#[test]
fn slack_is_free_at_once() {
    let (mut desk, tpm) = Desk::with(tokens(100));
    let lease = desk.ask(at(0), &[(tpm, 100)]).unwrap();
    desk.limits.settle(at(5), lease, &[(tpm, 10)]);
    assert!(desk.ask(at(5), &[(tpm, 90)]).is_ok());
    assert_eq!(
        desk.ask(at(5), &[(tpm, 1)]),
        Err(full(tpm, Some(at(60)))),
        "the ten that were used keep their time"
    );
}

#[test]
fn overuse_becomes_debt() {
    let (mut desk, tpm) = Desk::with(tokens(100));
    let lease = desk.ask(at(0), &[(tpm, 100)]).unwrap();
    desk.limits.settle(at(5), lease, &[(tpm, 140)]);
    assert_eq!(desk.limits.debt(at(5), tpm), 40);
    assert_eq!(desk.limits.debt(at(60), tpm), 0);
}

#[test]
fn the_same_reservation_twice_takes_once() {
    let (mut desk, tpm) = Desk::with(tokens(100));
    let slots = desk.limits.declare(concurrency(5));
    let lease = desk.ask(at(0), &[(tpm, 60), (slots, 1)]).unwrap();
    let repeated = desk
        .limits
        .reserve(at(1), lease, &[(slots, 1), (tpm, 20), (tpm, 40)]);
    assert_eq!(repeated, Ok(()));
    assert_eq!((desk.used(at(1), tpm), desk.used(at(1), slots)), (60, 1));
}

#[test]
fn the_same_id_with_other_requirements_is_refused() {
    let (mut desk, tpm) = Desk::with(tokens(100));
    let rpm = desk.limits.declare(requests(5));
    let lease = desk.ask(at(0), &[(tpm, 60)]).unwrap();
    for other in [&[(tpm, 61)][..], &[(rpm, 60)], &[(tpm, 60), (rpm, 1)]] {
        let refused = desk.limits.reserve(at(0), lease, other);
        assert_eq!(refused, Err(Denied::InvalidLease));
    }
    assert_eq!((desk.used(at(0), tpm), desk.used(at(0), rpm)), (60, 0));
}

#[test]
fn settling_twice_or_what_is_unknown_does_nothing() {
    let (mut desk, tpm) = Desk::with(tokens(100));
    let lease = desk.ask(at(0), &[(tpm, 60)]).unwrap();
    desk.limits.settle(at(1), lease, &[(tpm, 50)]);
    desk.limits.settle(at(1), lease, &[(tpm, 10)]);
    desk.limits.settle(at(1), LeaseId(99), &[(tpm, 10)]);
    desk.limits.renew(at(1), LeaseId(99));
    desk.limits.release(at(1), LeaseId(99));
    assert_eq!(desk.used(at(1), tpm), 50);
    assert!(desk.ask(at(1), &[(tpm, 50)]).is_ok(), "99 is not consumed");
}

#[test]
fn a_raised_capacity_holds_at_once() {
    let (mut desk, rpm) = Desk::with(requests(1));
    desk.ask(at(0), &[(rpm, 1)]).unwrap();
    assert!(desk.ask(at(0), &[(rpm, 1)]).is_err());
    desk.limits.change(at(0), rpm, 2);
    assert!(desk.ask(at(0), &[(rpm, 1)]).is_ok());
}

#[test]
fn a_lowered_capacity_denies_until_enough_has_drained() {
    let (mut desk, rpm) = Desk::with(requests(4));
    for second in 0..4 {
        desk.ask(at(second), &[(rpm, 1)]).unwrap();
    }
    desk.limits.change(at(10), rpm, 2);
    assert_eq!(desk.used(at(10), rpm), 4, "nothing is revoked");
    // Two must expire to be down at the new capacity, and one more to have room.
    assert_eq!(desk.ask(at(10), &[(rpm, 1)]), Err(full(rpm, Some(at(62)))));
    assert!(desk.ask(just_before(at(62)), &[(rpm, 1)]).is_err());
    assert!(desk.ask(at(62), &[(rpm, 1)]).is_ok());
}

#[test]
fn lowered_concurrency_drains_as_attempts_end() {
    let (mut desk, slots) = Desk::with(concurrency(3));
    let leases: Vec<_> = (0..3)
        .map(|_| desk.ask(at(0), &[(slots, 1)]).unwrap())
        .collect();
    desk.limits.change(at(0), slots, 1);
    for lease in leases {
        assert!(desk.ask(at(1), &[(slots, 1)]).is_err());
        desk.limits.settle(at(1), lease, &[]);
    }
    assert!(desk.ask(at(1), &[(slots, 1)]).is_ok());
}

#[test]
fn a_hundred_attempts_in_any_order_never_exceed_the_limits() {
    let (mut desk, slots) = Desk::with(concurrency(7));
    let rpm = desk.limits.declare(requests(40));
    let mut running: Vec<LeaseId> = Vec::new();
    let (mut allowed, mut most) = (0, 0);
    for step in 0_u64..2_000 {
        let now = Time::from_nanos(step * 200_000_000);
        // A prime stride: some order that isn't the order of arrival.
        if !running.is_empty() && step % 3 != 0 {
            let lease = running.swap_remove(step as usize * 31 % running.len());
            desk.limits.settle(now, lease, &[(rpm, 1)]);
        } else if let Ok(lease) = desk.ask(now, &[(slots, 1), (rpm, 1)]) {
            running.push(lease);
            allowed += 1;
        }
        most = most.max(desk.used(now, rpm));
        assert_eq!(desk.used(now, slots), running.len() as u64);
        assert!(running.len() <= 7);
    }
    assert_eq!(most, 40);
    assert!(allowed >= 240, "six full windows in 400 s, not {allowed}");
}

#[test]
fn what_an_attempt_did_not_report_stays_reserved() {
    let (mut desk, tpm) = Desk::with(tokens(100));
    let rpm = desk.limits.declare(requests(5));
    let lease = desk.ask(at(0), &[(tpm, 60)]).unwrap();
    desk.limits.settle(at(1), lease, &[(rpm, 3)]);
    assert_eq!((desk.used(at(1), tpm), desk.used(at(1), rpm)), (60, 0));
    assert_eq!(desk.used(at(60), tpm), 0);
}

#[test]
fn actual_use_that_is_named_twice_is_summed() {
    let (mut desk, tpm) = Desk::with(tokens(100));
    let lease = desk.ask(at(0), &[(tpm, 60)]).unwrap();
    desk.limits.settle(at(1), lease, &[(tpm, 5), (tpm, 6)]);
    assert_eq!(desk.used(at(1), tpm), 11);
}

#[test]
fn an_attempt_that_was_never_sent_gives_everything_back() {
    let (mut desk, tpm) = Desk::with(tokens(100));
    let slots = desk.limits.declare(concurrency(1));
    let lease = desk.ask(at(0), &[(tpm, 100), (slots, 1)]).unwrap();
    desk.limits.release(at(1), lease);
    assert!(desk.ask(at(1), &[(tpm, 100), (slots, 1)]).is_ok());
}

#[test]
fn the_wait_is_for_the_limit_that_frees_last() {
    let (mut desk, rpm) = Desk::with(requests(1));
    let tpm = desk.limits.declare(tokens(100));
    let slots = desk.limits.declare(concurrency(1));
    desk.ask(at(0), &[(rpm, 1)]).unwrap();
    desk.ask(at(9), &[(tpm, 100)]).unwrap();
    let both = desk.ask(at(10), &[(tpm, 1), (rpm, 1)]);
    assert_eq!(both, Err(full(tpm, Some(at(69)))));
    desk.ask(at(10), &[(slots, 1)]).unwrap();
    let all = desk.ask(at(10), &[(slots, 1), (tpm, 1), (rpm, 1)]);
    assert_eq!(all, Err(full(slots, None)));
}

#[test]
fn a_lease_has_from_one_to_thirty_two_requirements_of_at_least_one() {
    let (mut desk, rpm) = Desk::with(requests(100));
    let invalid = Err(Denied::InvalidLease);
    assert_eq!(desk.ask(at(0), &[]), invalid);
    assert_eq!(desk.ask(at(0), &[(rpm, 1), (rpm, 0)]), invalid);
    assert_eq!(desk.ask(at(0), &[(rpm, 1); 33]), invalid);
    assert!(desk.ask(at(0), &[(rpm, 1); 32]).is_ok());
    assert_eq!(desk.used(at(0), rpm), 32);
}

#[test]
fn a_clock_that_goes_back_stands_still() {
    let (mut desk, rpm) = Desk::with(requests(1));
    desk.ask(at(60), &[(rpm, 1)]).unwrap();
    let denied = desk.ask(at(1), &[(rpm, 1)]);
    assert_eq!(denied, Err(full(rpm, Some(at(120)))));
    assert_eq!(desk.used(at(1), rpm), 1);
}
