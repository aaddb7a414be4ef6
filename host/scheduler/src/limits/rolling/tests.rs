//! One log: its window, its exact times, its debt. Nothing about leases.

use proptest::prelude::*;

use super::*;

fn at(nanos: u64) -> Time {
    Time::from_nanos(nanos)
}

fn per_100ns() -> Rolling {
    Rolling::new(Duration::from_nanos(100))
}

#[test]
fn an_entry_counts_for_exactly_one_window() {
    let mut rolling = per_100ns();
    rolling.take(at(7), 3);
    assert_eq!(rolling.used(at(106)), 3);
    assert_eq!(rolling.used(at(107)), 0);
}

#[test]
fn the_time_is_that_of_the_entry_which_frees_enough() {
    let mut rolling = per_100ns();
    for time in [10, 20, 30] {
        rolling.take(at(time), 2);
    }
    assert_eq!(rolling.room(at(40), 6, 1), Room::At(at(110)));
    assert_eq!(rolling.room(at(40), 6, 2), Room::At(at(110)));
    assert_eq!(rolling.room(at(40), 6, 3), Room::At(at(120)));
    assert_eq!(rolling.room(at(40), 6, 6), Room::At(at(130)));
    assert_eq!(rolling.room(at(130), 6, 6), Room::Now);
}

#[test]
fn settling_never_moves_an_entry() {
    let mut rolling = per_100ns();
    let (entry, _) = rolling.take(at(0), 5);
    rolling.settle(at(60), entry, 9, 10);
    assert_eq!(rolling.used(at(99)), 9);
    assert_eq!(rolling.used(at(100)), 0);
}

#[test]
fn overuse_that_is_free_is_not_debt() {
    let mut rolling = per_100ns();
    let (entry, _) = rolling.take(at(0), 5);
    rolling.settle(at(1), entry, 10, 10);
    assert_eq!((rolling.used(at(1)), rolling.debt(at(1))), (10, 0));
}

#[test]
fn debt_takes_room_until_it_expires() {
    let mut rolling = per_100ns();
    let (first, _) = rolling.take(at(0), 5);
    let (_second, _) = rolling.take(at(50), 5);
    rolling.settle(at(60), first, 12, 10);
    assert_eq!((rolling.used(at(60)), rolling.debt(at(60))), (17, 7));
    assert_eq!(rolling.room(at(60), 10, 1), Room::At(at(100)));
    assert_eq!((rolling.used(at(100)), rolling.debt(at(100))), (5, 0));
    assert_eq!(rolling.room(at(100), 10, 5), Room::Now);
}

#[test]
fn an_expired_entry_is_not_settled_and_its_number_is_not_mistaken() {
    let mut rolling = per_100ns();
    let (first, _) = rolling.take(at(0), 5);
    rolling.take(at(100), 4);
    rolling.settle(at(100), first, 50, 10);
    assert_eq!(rolling.used(at(100)), 4);
}

#[test]
fn absurd_usage_overflows_nothing() {
    let mut rolling = per_100ns();
    let (first, _) = rolling.take(at(0), 5);
    let (second, _) = rolling.take(at(1), 5);
    rolling.settle(at(2), first, u64::MAX, 10);
    rolling.settle(at(2), second, u64::MAX, 10);
    assert_eq!(rolling.used(at(2)), u64::MAX);
    assert_eq!(rolling.room(at(2), 10, 10), Room::At(at(101)));
    assert_eq!(rolling.used(at(100)), 5);
}

#[test]
fn a_window_that_reaches_past_the_end_of_time_never_ends() {
    let mut rolling = Rolling::new(Duration::MAX);
    rolling.take(at(1), 5);
    assert_eq!(rolling.room(at(2), 5, 1), Room::At(Time::NEVER));
}

#[test]
fn a_window_of_no_length_limits_nothing() {
    let mut rolling = Rolling::new(Duration::ZERO);
    rolling.take(at(3), 5);
    assert_eq!(rolling.room(at(3), 5, 5), Room::Now);
}

/// What is kept of one admission: when, how much, until when.
type Sent = Vec<(u64, u64, Time)>;

fn counted(sent: &Sent, now: u64) -> u64 {
    let live = sent.iter().filter(|(_, _, until)| *until > at(now));
    live.map(|(_, amount, _)| amount).sum()
}

proptest! {
    /// Many more entries than the ring's first slots, so that it wraps and grows.
    #[test]
    fn no_window_ever_holds_more_than_the_capacity(
        steps in prop::collection::vec((0_u64..12, 1_u64..8, 0_u64..8), 1..300),
    ) {
        let capacity = 120;
        let mut rolling = per_100ns();
        let mut sent: Sent = Vec::new();
        let mut now = 0;
        for (wait, amount, actual) in steps {
            now += wait;
            match rolling.room(at(now), capacity, amount) {
                Room::Now => {
                    let (entry, expires) = rolling.take(at(now), amount);
                    let actual = actual.min(amount);
                    rolling.settle(at(now), entry, actual, capacity);
                    sent.push((now, actual, expires));
                }
                Room::At(time) => {
                    let time = time.as_nanos();
                    prop_assert!(time > now);
                    prop_assert!(counted(&sent, time) + amount <= capacity);
                    prop_assert!(counted(&sent, time - 1) + amount > capacity);
                }
                Room::AfterSettle => prop_assert!(false, "a window frees by itself"),
            }
            prop_assert_eq!(rolling.used(at(now)), counted(&sent, now));
        }
        for (end, ..) in &sent {
            let inside = sent.iter().filter(|(time, ..)| time <= end && time + 100 > *end);
            prop_assert!(inside.map(|(_, amount, _)| amount).sum::<u64>() <= capacity);
        }
    }
}
