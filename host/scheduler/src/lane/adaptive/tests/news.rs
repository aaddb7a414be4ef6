//! What is told of what was found out.

use super::*;

impl Rig {
    /// The lane after two refusals that show that its rate is limited, and the time then.
    fn paced() -> (Self, u64) {
        let mut rig = Self::wide();
        rig.episode(1000, 20);
        let now = rig.reopen(2000) + 1000;
        rig.episode(now, 40);
        (rig, now + 20)
    }
}

#[test]
fn a_pace_is_told_when_it_is_measured_and_not_as_it_grows() {
    let (mut rig, now) = Rig::paced();
    let found = rig.strategy.pace.found().expect("measured");
    assert_eq!(rig.rates(), [(1, found)]);
    let mut now = rig.reopen(now);
    for _ in 0..200 {
        now += 100;
        let flights = rig.send(now, 1);
        rig.end_all(now + 5, &flights, Class::Ok);
    }
    let grown = rig.strategy.interval().expect("still paced");
    assert!(grown < found * 99 / 100, "{grown:?} of {found:?}");
    assert_eq!(rig.rates().len(), 1);
    let refused = rig.send(now + 100, 1);
    rig.end(now + 110, &refused[0], Class::Throttled, &silent());
    let again = rig.strategy.pace.found().expect("measured again");
    assert_eq!(rig.rates()[1..], [(1, again)]);
}

#[test]
fn a_window_that_nobody_declares_is_told_when_it_is_found_and_when_it_changes() {
    let mut rig = Rig::wide();
    // A server that takes fifty in each second.
    for now in (0..250).step_by(5) {
        let flights = rig.send(now, 1);
        rig.end_all(now + 1, &flights, Class::Ok);
    }
    let mut now = 250;
    let refused = rig.send(now, 1);
    rig.end_all(now + 1, &refused, Class::Throttled);
    while rig.strategy.allowance.known().is_none() {
        let until = rig.strategy.gate.blocked_until();
        now = (until.expect("blocked") - Time::ZERO).as_millis() as u64 + 1;
        let probe = rig.send(now, 1);
        let class = if now < 1000 {
            Class::Throttled
        } else {
            Class::Ok
        };
        rig.end_all(now + 1, &probe, class);
    }
    let second = Duration::from_secs(1);
    assert_eq!(rig.rates(), [(50, second)]);
    assert_eq!(rig.strategy.interval(), Some(second / 50));
    for _ in 0..45 {
        now += 25;
        let flights = rig.send(now, 1);
        rig.end_all(now + 1, &flights, Class::Ok);
    }
    let refused = rig.send(now + 25, 1);
    rig.end_all(now + 26, &refused, Class::Throttled);
    let fewer = rig.strategy.allowance.known().expect("still a window");
    assert_eq!(rig.rates()[1..], [fewer]);
    assert!(fewer.0 < 50);
}

#[test]
fn a_policy_that_makes_the_window_smaller_is_told_once_something_was_sent() {
    let mut rig = Rig::new(LanePolicy::default());
    let narrow = |max_window| LanePolicy {
        max_window,
        ..LanePolicy::default()
    };
    rig.strategy.obey(narrow(3), at(0));
    rig.send(0, 1);
    assert_eq!(rig.events("concurrency:decreased"), 0, "it opens so");
    rig.strategy.obey(narrow(2), at(1));
    rig.check(1);
    rig.check(1);
    assert_eq!(rig.events("concurrency:decreased"), 1);
}

#[test]
fn the_time_until_a_quota_is_filled_is_no_window() {
    let mut rig = Rig::wide();
    let wait = |secs| Hint {
        retry_after: Some(Duration::from_secs(secs)),
        ..Hint::default()
    };
    for now in (0..250).step_by(5) {
        let flights = rig.send(now, 1);
        rig.end_all(now + 1, &flights, Class::Ok);
    }
    let refused = rig.send(250, 2);
    rig.end(260, &refused[0], Class::Throttled, &wait(1));
    rig.end(261, &refused[1], Class::Throttled, &wait(7200));
    let mut now = 7_200_261;
    // Then it is shut for a moment, with more in flight, and opens.
    for class in [Class::Ok, Class::Ok, Class::Ok, Class::Throttled, Class::Ok] {
        let flights = rig.send(now, 6);
        let (last, others) = flights.split_last().expect("it is tried again");
        rig.end_all(now + 10, others, Class::Ok);
        rig.end(now + 10, last, class, &wait(1));
        now += 1100;
    }
    assert_eq!(rig.strategy.refusals.classifier.kind(), LimitKind::Rate);
    let rates = rig.rates();
    let is_of_today = |rate: &(u64, Duration)| rate.1 < MINUTE;
    assert!(
        !rates.is_empty() && rates.iter().all(is_of_today),
        "{rates:?}"
    );
}
