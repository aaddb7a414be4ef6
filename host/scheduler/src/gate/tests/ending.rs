//! What each end of an attempt does, and what ends a lane.

use super::*;

impl Watched {
    /// Why nothing will pass any more, if that is so.
    fn ended(&mut self, ms: u64) -> Option<Refusal> {
        match self.gate.check(at(ms), QUIET, false) {
            Some(HoldReason::Ended(why)) => Some(why),
            _ => None,
        }
    }

    /// So many first attempts end so.
    fn ends_often(&mut self, times: usize, class: Class) {
        for _ in 0..times {
            self.ends(0, 0, class);
        }
    }
}

#[test]
fn each_class_has_its_effect() {
    let empty = Refusal::QuotaExhausted { until: None };
    // What three first attempts end the lane for, how many go after a probe of a lane that backs off, and
    // after one of a broken lane.
    let table = [
        (Class::Ok, None, 1, 100),
        (Class::Permanent, None, 1, 100),
        (Class::NotFound, Some(Refusal::NotFound), 1, 100),
        (Class::Auth, Some(Refusal::Auth), 0, 100),
        (Class::QuotaExhausted, Some(empty), 0, 100),
        (Class::Throttled, None, 0, 100),
        (Class::Transient, None, 0, 0),
        (Class::Timeout, None, 0, 0),
    ];
    for (class, ended, backing_off, broken) in table {
        let mut lane = Watched::new();
        lane.ends_often(2, class);
        assert_eq!(lane.sends(0), 100, "two of {class:?}");
        lane.ends_often(1, class);
        assert_eq!(lane.ended(0), ended, "three of {class:?}");

        let mut lane = Watched::new();
        lane.refused(0, None);
        assert_eq!(lane.sends(1000), 1);
        lane.ends(1010, 1000, class);
        assert_eq!(lane.sends(1010), backing_off, "backing off: {class:?}");

        let mut lane = Watched::new();
        let until = lane.breaks(0, 5);
        assert_eq!(lane.sends(until), 1);
        lane.ends(until + 5, until, class);
        assert_eq!(lane.sends(until + 5), broken, "broken: {class:?}");
        assert_eq!(lane.gate.is_broken(), broken == 0, "{class:?}");
    }
}

#[test]
fn where_something_was_found_or_understood_a_missing_thing_ends_nothing() {
    let mut lane = Watched::new();
    for _ in 0..50 {
        lane.ends_often(2, Class::NotFound);
        lane.ends_often(1, Class::Permanent);
    }
    lane.ends_often(1, Class::Ok);
    lane.ends_often(50, Class::NotFound);
    assert_eq!(lane.ended(0), None);
}

#[test]
fn a_credential_that_was_accepted_once_ends_nothing() {
    let mut lane = Watched::new();
    lane.ends_often(2, Class::Auth);
    lane.ends_often(1, Class::Ok);
    lane.ends_often(50, Class::Auth);
    assert_eq!(lane.sends(0), 100);
}

#[test]
fn a_success_that_was_on_its_way_opens_what_ended_for_its_credential_or_model() {
    for (class, opens) in [
        (Class::Auth, true),
        (Class::NotFound, true),
        (Class::QuotaExhausted, false),
    ] {
        let mut lane = Watched::new();
        lane.ends_often(3, class);
        lane.ends_often(1, Class::Permanent);
        assert!(lane.ended(9_999_999).is_some(), "{class:?}");
        lane.ends_often(1, Class::Ok);
        assert_eq!(lane.ended(9_999_999).is_none(), opens, "{class:?}");
    }
}

#[test]
fn an_account_is_empty_at_once_where_it_is_said_until_when() {
    let mut lane = Watched::new();
    lane.runs_out(0, Some(86_400_000));
    let until = Some(at(86_400_000));
    assert_eq!(lane.ended(0), Some(Refusal::QuotaExhausted { until }));
}

#[test]
fn a_quota_is_tried_again_when_it_is_filled_and_not_before() {
    let mut lane = Watched::new();
    lane.refused(0, None);
    lane.runs_out(10, Some(86_400_000));
    let until = Some(at(86_400_000));
    let why = Some(Refusal::QuotaExhausted { until });
    assert_eq!(lane.ended(86_399_999), why);
    assert_eq!(lane.sends(86_400_000), 1, "by one first");
    lane.runs_out(86_400_010, Some(90_000_000));
    let until = Some(at(90_000_000));
    let why = Some(Refusal::QuotaExhausted { until });
    assert_eq!(lane.ended(86_400_010), why);
    assert_eq!(lane.sends(90_000_000), 1);
    lane.ends(90_000_010, 90_000_000, Class::Ok);
    assert_eq!(lane.gate.take_opening(), None, "a day is no window");
    assert_eq!(lane.sends(90_000_010), 1, "then more");
}

#[test]
fn answers_before_a_quota_was_filled_do_not_count_towards_the_next_time() {
    let mut lane = Watched::new();
    lane.ends_often(2, Class::QuotaExhausted);
    lane.runs_out(0, Some(1000));
    assert_eq!(lane.sends(1000), 1);
    lane.ends(1010, 1000, Class::QuotaExhausted);
    assert_eq!(lane.ended(1010), None, "it may be too dear by itself");
}

#[test]
fn what_has_ended_stays_so_for_its_first_reason() {
    let mut lane = Watched::new();
    lane.runs_out(0, Some(86_400_000));
    lane.ends_often(3, Class::Auth);
    lane.refused(5, Some(secs(1)));
    for n in 0..20 {
        assert!(!lane.fails(10 + n, 9 + n));
    }
    lane.ends(50, 49, Class::Ok);
    let until = Some(at(86_400_000));
    let why = Refusal::QuotaExhausted { until };
    assert_eq!(lane.ended(80_000_000), Some(why));
}
