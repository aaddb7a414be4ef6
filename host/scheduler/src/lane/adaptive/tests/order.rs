//! In which order the parts of the strategy are asked.

use super::*;
use crate::classifier::{Classifier, Finding, Unexplained};

#[test]
fn the_gate_is_asked_before_the_buckets_and_the_buckets_before_the_window() {
    let mut rig = Rig::new(LanePolicy::default());
    let flights = rig.send(0, 4);
    assert_eq!(flights.len(), 4);
    rig.end(10, &flights[0], Class::Ok, &says(10, 0, MINUTE));
    assert!(matches!(rig.why(11), Some(WaitReason::Learnt { .. })));
    let hint = Hint {
        retry_after: Some(Duration::from_secs(1)),
        ..Hint::default()
    };
    rig.end(12, &flights[1], Class::Throttled, &hint);
    assert_eq!(rig.why(13), Some(WaitReason::Blocked { asked: true }));
    let hint = Hint {
        retry_after: Some(Duration::from_hours(2)),
        ..Hint::default()
    };
    rig.end(14, &flights[2], Class::Throttled, &hint);
    let why = Refusal::TooLong(LongWait {
        until: at(7_200_014),
        asked: Duration::from_hours(2),
        longest: Duration::from_mins(15),
    });
    assert_eq!(rig.check(15), Verdict::End(why), "more than is sat out");
}

#[test]
fn of_several_buckets_the_one_that_fills_last_holds() {
    let mut rig = Rig::wide();
    let flights = rig.send(0, 1);
    let tokens = Reading {
        dimension: Dimension::Tokens,
        ..reading(1000, 0, Duration::from_secs(30))
    };
    let hint = Hint {
        readings: vec![reading(10, 0, Duration::from_secs(5)), tokens],
        ..Hint::default()
    };
    rig.end(10, &flights[0], Class::Ok, &hint);
    let Some(WaitReason::Learnt { dimension, .. }) = rig.why(11) else {
        panic!("both are empty");
    };
    assert_eq!(dimension, Dimension::Tokens);
}

#[test]
fn who_waits_longer_than_a_run_sits_out_gets_the_reason_at_once() {
    let mut rig = Rig::wide();
    let flights = rig.send(0, 1);
    let day = Duration::from_hours(20);
    rig.end(10, &flights[0], Class::Ok, &says(1000, 0, day));
    let Verdict::End(Refusal::TooLong(wait)) = rig.check(11) else {
        panic!("the day's requests are used up");
    };
    assert!(wait.until >= Time::ZERO + day);
}

#[test]
fn a_burst_is_spread_over_spells() {
    let mut rig = Rig::wide();
    for second in 0..4 {
        let flights = rig.send(1000 * second, 1);
        let stated = Reading {
            window: Some(MINUTE),
            ..reading(600, 599 - second, Duration::from_secs(60 - second))
        };
        let hint = Hint {
            readings: vec![stated],
            ..Hint::default()
        };
        rig.end(1000 * second + 10, &flights[0], Class::Ok, &hint);
    }
    // What comes back in a second is ten; a share of the limit is beside it.
    let burst = rig.send(4000, 500).len();
    assert!((11..=100).contains(&burst), "{burst} of 596");
    let next = 4000 + SPELL.as_millis() as u64;
    assert_eq!(rig.check(4000), Verdict::Wait(None, Some(at(next))));
    assert_eq!(rig.send(next, 500).len(), burst);
}

#[test]
fn who_goes_when_something_else_says_so_is_not_counted_among_those_in_flight() {
    let mut rig = Rig::wide();
    let first = rig.send(1000, 1);
    assert!(matches!(
        rig.check(2000),
        Verdict::Go(Pass { spaced: false })
    ));
    rig.strategy.held();
    let spaced = rig.send(2000, 1);
    let later = rig.send(3000, 1);
    let ahead = [&first, &spaced, &later].map(|sent| sent[0].note.order.ahead);
    assert_eq!(ahead, [0, 1, 1]);
}

/// Finds the same in every refusal.
#[derive(Debug)]
struct Finds(Finding);

impl Classifier for Finds {
    fn refused(&mut self, _: Unexplained) -> Finding {
        self.0
    }

    fn kind(&self) -> LimitKind {
        LimitKind::Unknown
    }
}

#[test]
fn the_window_goes_by_what_the_classifier_finds() {
    let window = |finding| {
        let mut rig = Rig::wide();
        rig.strategy.refusals.classifier = Box::new(Finds(finding));
        let flights = rig.send(0, 2);
        rig.end_all(10, &flights[..1], Class::Throttled);
        rig.strategy.window()
    };
    assert_eq!(window(Finding::Unclear), 100);
    assert_eq!(window(Finding::Parallel(7)), 7);
    assert_eq!(window(Finding::Rate), 200, "no rate is measured yet");
}
