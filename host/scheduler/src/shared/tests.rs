//! What a common quota promises, one sentence each; `any_visits` holds it against whatever programs do.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use super::*;

mod any_visits;

const SECOND: Duration = Duration::from_secs(1);

/// What the programs of these tests go by.
const FIFTY: Rule = (50, SECOND);

fn at(ms: u64) -> Time {
    Time::ZERO + Duration::from_millis(1_000_000 + ms)
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// A program that goes by [`FIFTY`], wants all it can get, and has sent so many just now.
fn sent(count: u64) -> QuotaReport {
    let (first, last) = (Duration::ZERO, Duration::ZERO);
    let batch = Batch { first, last, count };
    QuotaReport {
        sent: if count > 0 { vec![batch] } else { Vec::new() },
        wants: u64::MAX,
        needs: 1,
        rule: Some(FIFTY),
        ..QuotaReport::default()
    }
}

/// Two programs that know of each other; both want all.
fn two() -> CommonQuota {
    let mut quota = CommonQuota::default();
    for program in [1, 2, 1] {
        quota.visit(at(0), program, &sent(0));
    }
    quota
}

fn count(portion: &QuotaReply) -> u64 {
    portion.block.unwrap().count
}

#[test]
fn who_is_alone_goes_by_its_own_count() {
    let mut quota = CommonQuota::default();
    let portion = quota.visit(at(0), 1, &sent(3));
    assert_eq!((portion.is_common, portion.block), (false, None));
    assert_eq!(portion.next(), ms(250));
}

#[test]
fn who_comes_gets_nothing_before_all_others_know() {
    let mut quota = CommonQuota::default();
    quota.visit(at(0), 1, &sent(7));
    let newcomer = quota.visit(at(10), 2, &sent(0));
    assert_eq!(count(&newcomer), 0);
    let told: u64 = newcomer.others.iter().map(|batch| batch.count).sum();
    assert_eq!(told, 7, "it hears what was sent before it came");
    assert!(quota.visit(at(20), 1, &sent(0)).is_common);
    assert!(count(&quota.visit(at(30), 2, &sent(0))) > 0);
}

#[test]
fn blocks_are_a_twentieth_of_a_window_and_neither_too_short_nor_too_long() {
    for (window, expected) in [(1000, 50), (100, 25), (60_000, 1000)] {
        let mut quota = CommonQuota::default();
        let visit = QuotaReport {
            rule: Some((600, ms(window))),
            ..sent(0)
        };
        for program in [1, 2, 1] {
            quota.visit(at(0), program, &visit);
        }
        let portion = quota.visit(at(0), 2, &visit);
        assert_eq!(portion.next(), ms(expected), "{window}");
        // A tenth more than evenly, and half of that.
        let each = (600 * expected * 100).div_ceil(window * 90).div_ceil(2);
        assert_eq!(count(&portion), each, "{window}");
        assert_eq!(portion.block.unwrap().lasts, ms(2 * expected));
        let room = Some(ms(1));
        assert_eq!(QuotaReply { room, ..portion }.next(), ms(5));
    }
}

#[test]
fn what_is_not_used_comes_back_with_the_next_visit() {
    let mut quota = two();
    quota.visit(at(10), 2, &sent(48));
    assert_eq!(
        count(&quota.visit(at(20), 1, &sent(0))),
        2,
        "all that is left"
    );
    assert_eq!(count(&quota.visit(at(30), 2, &sent(0))), 0);
    quota.visit(at(40), 1, &sent(0));
    let nothing = QuotaReport {
        wants: 0,
        ..sent(0)
    };
    quota.visit(at(50), 1, &nothing);
    assert_eq!(count(&quota.visit(at(60), 2, &sent(0))), 2);
}

#[test]
fn what_was_sent_counts_for_a_window() {
    let mut quota = two();
    quota.visit(at(10), 2, &sent(50));
    for (now, left) in [(1000, 0), (1014, 0), (1015, 2)] {
        assert_eq!(count(&quota.visit(at(now), 1, &sent(0))), left, "{now}");
    }
}

#[test]
fn a_program_that_dies_leaves_its_block_when_that_and_a_window_are_over() {
    let mut quota = two();
    let last = QuotaReport {
        wants: 0,
        ..sent(48)
    };
    quota.visit(at(10), 1, &last);
    assert_eq!(count(&quota.visit(at(11), 2, &sent(0))), 2);
    // The second one is never seen again. Its block is good until 111 ms, and may have been used until then.
    let mut block = 0;
    for now in 12..1116 {
        block = count(&quota.visit(at(now), 1, &sent(block)));
        let held = quota.members[0].holds(at(now), counted(SECOND));
        assert!(held <= 48, "{held} beside the two that may be out at {now}");
    }
    assert_eq!(block, 0, "48 are used");
    assert_eq!(count(&quota.visit(at(1116), 1, &sent(0))), 2);
    assert!(
        quota.visit(at(2000), 1, &sent(0)).is_common,
        "it may still live"
    );
    assert!(!quota.visit(at(3012), 1, &sent(0)).is_common);
    assert_eq!(quota.members.len(), 1, "nothing of it is left");
}

#[test]
fn who_leaves_is_not_waited_for_and_what_it_sent_still_counts() {
    let mut quota = two();
    quota.leave(at(10), 2, &sent(49));
    let portion = quota.visit(at(20), 1, &sent(0));
    assert_eq!((portion.is_common, count(&portion)), (true, 1));
    let later = quota.visit(at(1016), 1, &sent(0));
    assert_eq!((later.is_common, later.block), (false, None));
    quota.leave(at(1020), 1, &sent(0));
    quota.forget(at(1020));
    assert!(quota.is_idle());
}

#[test]
fn who_wants_less_leaves_the_rest() {
    let mut quota = two();
    let little = QuotaReport {
        wants: 1,
        ..sent(0)
    };
    assert_eq!(count(&quota.visit(at(0), 2, &little)), 1);
    assert_eq!(count(&quota.visit(at(0), 1, &sent(0))), 2, "three in all");
}

#[test]
fn a_large_one_is_saved_for() {
    let large = QuotaReport {
        needs: 10,
        ..sent(0)
    };
    let mut quota = two();
    quota.visit(
        at(0),
        1,
        &QuotaReport {
            wants: 0,
            ..sent(0)
        },
    );
    let got = [10, 20, 30, 40, 50, 60].map(|now| {
        quota.visit(at(now - 5), 2, &sent(1));
        count(&quota.visit(at(now), 1, &large))
    });
    assert_eq!(got, [2, 4, 6, 8, 10, 10]);
}

#[test]
fn what_the_server_did_not_count_is_given_back() {
    let mut quota = two();
    quota.visit(at(10), 2, &sent(50));
    let refused = QuotaReport {
        returned: 30,
        ..sent(0)
    };
    quota.visit(at(20), 2, &refused);
    assert_eq!(count(&quota.visit(at(30), 1, &sent(0))), 2);
    assert_eq!(quota.members[1].holds(at(30), SECOND), 20 + 2);
}

#[test]
fn what_one_has_found_out_all_go_by() {
    let mut quota = CommonQuota::default();
    let nothing = QuotaReport {
        rule: None,
        ..sent(1)
    };
    quota.visit(at(0), 1, &nothing);
    let portion = quota.visit(at(0), 2, &nothing);
    assert_eq!((portion.rule, portion.block), (None, None));
    assert_eq!(portion.next(), ms(100));
    let news = QuotaReport {
        is_news: true,
        ..sent(0)
    };
    quota.visit(at(10), 1, &news);
    let heard = QuotaReport {
        heard: portion.number,
        ..nothing
    };
    assert_eq!(quota.visit(at(20), 2, &heard).rule, Some(FIFTY));
    let lost = QuotaReport { rule: None, ..news };
    assert_eq!(quota.visit(at(30), 1, &lost).rule, None);
}

#[test]
fn of_two_who_find_it_out_at_once_who_has_seen_more_is_right() {
    let visit = |limit, heard, is_news| QuotaReport {
        rule: Some((limit, SECOND)),
        heard,
        is_news,
        ..sent(0)
    };
    let mut quota = CommonQuota::default();
    let late = quota.visit(at(0), 1, &visit(30, 0, false));
    let early = quota.visit(at(1), 2, &visit(50, 0, false));
    assert_eq!(early.rule, Some((50, SECOND)));
    let heard = quota.visit(at(2), 1, &visit(30, late.number, false));
    assert_eq!(heard.rule, Some((50, SECOND)), "fewer are no news");
    quota.visit(at(3), 1, &visit(44, heard.number, true));
    let stale = quota.visit(at(4), 2, &visit(50, early.number, false));
    assert_eq!(stale.rule, Some((44, SECOND)), "it has not heard of that");
}

#[test]
fn what_those_who_are_gone_have_found_out_is_forgotten() {
    let mut quota = CommonQuota::default();
    quota.visit(at(0), 1, &sent(1));
    let nothing = QuotaReport {
        rule: None,
        ..sent(0)
    };
    for (now, rule) in [(2999, Some(FIFTY)), (3000, None)] {
        let portion = quota.clone().visit(at(now), 2, &nothing);
        assert_eq!(portion.rule, rule, "{now}");
    }
}

#[test]
fn a_clock_that_was_set_back_leaves_nobody_for_ever() {
    let mut quota = CommonQuota::default();
    quota.visit(at(100_000), 1, &sent(7));
    let portion = quota.visit(at(0), 2, &sent(0));
    assert!(!portion.is_common);
}

#[test]
fn what_was_heard_is_not_told_again() {
    let mut quota = two();
    let told = |portion: &QuotaReply| portion.others.iter().map(|batch| batch.count).sum::<u64>();
    quota.visit(at(10), 2, &sent(3));
    let first = quota.visit(at(20), 1, &sent(0));
    assert_eq!(told(&first), 3);
    let heard = first.number;
    quota.visit(at(30), 2, &sent(4));
    let visit = |heard| QuotaReport { heard, ..sent(0) };
    assert_eq!(told(&quota.visit(at(40), 1, &visit(heard))), 4);
    // The quota was begun anew since.
    assert_eq!(told(&quota.visit(at(50), 1, &visit(1000))), 7);
}

#[test]
fn without_a_rule_what_was_sent_is_kept_for_a_minute() {
    let mut quota = CommonQuota::default();
    let nothing = QuotaReport {
        rule: None,
        ..sent(1)
    };
    quota.visit(at(0), 1, &nothing);
    for (now, told) in [(59_999, 1), (60_000, 0)] {
        let mut quota = quota.clone();
        let others = quota.visit(at(now), 2, &nothing).others;
        assert_eq!(others.len(), told, "{now}");
    }
}

#[test]
fn of_many_batches_the_oldest_become_one() {
    let mut quota = two();
    for now in 0..MOST_BATCHES as u64 + 10 {
        quota.visit(at(now), 2, &sent(1));
    }
    let member = &quota.members[1];
    assert_eq!(member.sent.len(), MOST_BATCHES);
    let lent = member.lent.map_or(0, |lent| lent.count);
    assert_eq!(
        member.holds(at(530), SECOND),
        MOST_BATCHES as u64 + 10 + lent
    );
}

#[test]
fn it_is_the_same_after_it_was_kept() {
    let mut quota = two();
    quota.visit(at(10), 2, &sent(3));
    assert_eq!(CommonQuota::from_bytes(&quota.to_bytes()), Some(quota));
    let empty = CommonQuota::default();
    assert_eq!(CommonQuota::from_bytes(&empty.to_bytes()), Some(empty));
}

#[test]
fn what_is_no_quota_is_none() {
    let bytes = two().to_bytes();
    for end in 0..bytes.len() {
        assert_eq!(CommonQuota::from_bytes(&bytes[..end]), None, "{end}");
    }
    let mut more = bytes.clone();
    more.extend([0; 8]);
    assert_eq!(CommonQuota::from_bytes(&more), None);
    for index in 0..bytes.len() {
        let mut other = bytes.clone();
        other[index] = 255;
        // It may be another quota; it is never a panic, nor memory for a count that somebody wrote.
        if let Some(mut other) = CommonQuota::from_bytes(&other) {
            other.visit(at(0), 1, &sent(1));
        }
    }
}
