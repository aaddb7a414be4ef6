//! The policy's table and its bounds.

use proptest::prelude::*;

use super::*;

fn attempted(class: Class) -> Attempted {
    Attempted {
        class,
        hint: Hint::NONE,
        retries: 0,
        allowed: None,
        left: None,
    }
}

fn asking(seconds: u64) -> Attempted {
    Attempted {
        hint: Hint {
            after: Some(Duration::from_secs(seconds)),
            again: true,
        },
        ..attempted(Class::Throttled)
    }
}

const POLICY: RetryPolicy = RetryPolicy {
    max_retries: 3,
    base: Duration::from_secs(1),
    cap: Duration::from_mins(1),
    longest_hint: Duration::from_mins(10),
};

fn after(ms: u64) -> Decision {
    Decision::RetryAfter(Duration::from_millis(ms))
}

#[test]
fn only_throttling_and_passing_trouble_are_retried() {
    for class in [Class::Throttled, Class::Transient] {
        assert_eq!(
            POLICY.decide(&attempted(class), 0.5),
            after(500),
            "{class:?}"
        );
    }
    let final_ones = [
        Class::Ok,
        Class::Timeout,
        Class::Permanent,
        Class::QuotaExhausted,
        Class::Auth,
    ];
    for class in final_ones {
        assert_eq!(
            POLICY.decide(&attempted(class), 0.5),
            Decision::Return,
            "{class:?}"
        );
    }
}

#[test]
fn pauses_double_up_to_the_cap_and_end_with_the_retries() {
    let at = |retries, allowed| {
        let attempted = Attempted {
            retries,
            allowed,
            ..attempted(Class::Transient)
        };
        POLICY.decide(&attempted, 0.5)
    };
    assert_eq!(at(1, None), after(1000));
    assert_eq!(at(2, None), after(2000));
    assert_eq!(at(3, None), Decision::Return);
    assert_eq!(at(0, Some(0)), Decision::Return);
    assert_eq!(at(7, Some(99)), after(30_000));
    assert_eq!(at(98, Some(99)), after(30_000));
}

#[test]
fn a_hint_is_kept_to_and_hardly_exceeded() {
    assert_eq!(POLICY.decide(&asking(5), 0.0), after(5000));
    assert_eq!(POLICY.decide(&asking(5), 0.5), after(5250));
    assert_eq!(POLICY.decide(&asking(60), 0.5), after(60_500));
    assert_eq!(POLICY.decide(&asking(0), 0.9), after(0));
    assert_eq!(POLICY.decide(&asking(601), 0.0), Decision::Return);
}

#[test]
fn a_server_that_says_never_is_believed() {
    let mut never = asking(1);
    never.hint.again = false;
    assert_eq!(POLICY.decide(&never, 0.0), Decision::Return);
}

#[test]
fn no_pause_begins_that_the_deadline_would_cut() {
    let with_left = |seconds| Attempted {
        left: Some(Duration::from_secs(seconds)),
        ..asking(5)
    };
    assert_eq!(POLICY.decide(&with_left(5), 0.0), Decision::Return);
    assert_eq!(POLICY.decide(&with_left(6), 0.0), after(5000));
}

proptest! {
    #[test]
    fn every_pause_lies_within_the_bounds(
        retries in 0u32..200,
        hint in prop::option::of(0u64..2_000),
        left in prop::option::of(0u64..2_000),
        draw in 0.0f64..1.0,
    ) {
        let attempted = Attempted {
            hint: Hint { after: hint.map(Duration::from_secs), again: true },
            retries,
            allowed: Some(200),
            left: left.map(Duration::from_secs),
            ..attempted(Class::Throttled)
        };
        if let Decision::RetryAfter(pause) = POLICY.decide(&attempted, draw) {
            prop_assert!(attempted.left.is_none_or(|left| pause < left));
            match attempted.hint.after {
                Some(asked) => prop_assert!(pause >= asked && pause <= asked + Duration::from_secs(1)),
                None => prop_assert!(pause <= POLICY.cap),
            }
        }
    }
}
