//! Whom the strategy blames for a refusal.
//!
//! Jobs, retries and the user's limits belong to lane and scheduler; here attempts are sent and end.

use std::collections::VecDeque;

use super::*;
use crate::chance::Chance;
use crate::classifier::LimitKind;
use crate::event::Notice;
use crate::hint::{Hint, Reading};
use crate::job::{LaneId, LongWait, QuotaUse};
use crate::sent::Amounts;

mod any_ends;
mod news;
mod order;

const MINUTE: Duration = Duration::from_mins(1);

fn at(ms: u64) -> Time {
    Time::ZERO + Duration::from_millis(ms)
}

/// One request of a hundred tokens.
fn usual() -> Amounts {
    Amounts::of(QuotaUse {
        input_tokens: 100,
        output_tokens: 0,
    })
}

fn reading(limit: u64, remaining: u64, reset: Duration) -> Reading {
    Reading {
        dimension: Dimension::Requests,
        limit: Some(limit),
        remaining: Some(remaining),
        reset: Some(reset),
        resolution: Duration::from_millis(1),
        window: None,
    }
}

fn says(limit: u64, remaining: u64, reset: Duration) -> Hint {
    Hint {
        readings: vec![reading(limit, remaining, reset)],
        ..Hint::default()
    }
}

fn silent() -> Hint {
    Hint::default()
}

/// A strategy with what is around it.
struct Rig {
    strategy: Adaptive,
    in_flight: u32,
    chance: Chance,
    events: VecDeque<Notice>,
    /// What accepted attempts say.
    word: Hint,
}

impl Rig {
    fn new(policy: LanePolicy) -> Self {
        Self {
            strategy: Adaptive::new(policy, Time::ZERO),
            in_flight: 0,
            chance: Chance::new(1),
            events: VecDeque::new(),
            word: Hint::default(),
        }
    }

    /// A lane whose window is in nobody's way.
    fn wide() -> Self {
        let mut rig = Self::new(LanePolicy::default());
        rig.strategy.window.resize(200, Time::ZERO);
        rig
    }

    fn check(&mut self, ms: u64) -> Verdict {
        let mut around = Surroundings {
            lane: LaneId(0),
            now: at(ms),
            chance: &mut self.chance,
            events: &mut self.events,
            clock: Duration::ZERO,
        };
        self.strategy.check(&usual(), self.in_flight, &mut around)
    }

    fn why(&mut self, ms: u64) -> Option<WaitReason> {
        match self.check(ms) {
            Verdict::Wait(why, _) => why,
            verdict => panic!("{verdict:?}"),
        }
    }

    /// Sends as many as may go at this moment, up to `most`.
    fn send(&mut self, ms: u64, most: usize) -> Vec<Flight> {
        let mut flights = Vec::new();
        while flights.len() < most
            && let Verdict::Go(pass) = self.check(ms)
        {
            self.in_flight += 1;
            let flight = self.strategy.send(at(ms), pass, usual(), self.in_flight);
            flights.push(flight);
        }
        flights
    }

    fn end(&mut self, ms: u64, flight: &Flight, class: Class, hint: &Hint) {
        let mut around = Surroundings {
            lane: LaneId(0),
            now: at(ms),
            chance: &mut self.chance,
            events: &mut self.events,
            clock: Duration::ZERO,
        };
        let end = End {
            class,
            hint,
            usage: None,
        };
        self.in_flight -= 1;
        self.strategy
            .ended(flight, &usual(), &end, self.in_flight, &mut around);
    }

    fn end_all(&mut self, ms: u64, flights: &[Flight], class: Class) {
        let word = self.word.clone();
        for flight in flights {
            self.end(ms, flight, class, &word);
        }
    }

    /// An episode: `height` attempts go out at `ms`, of which the last is refused ten
    /// milliseconds later and the others are accepted.
    fn episode(&mut self, ms: u64, height: usize) {
        let flights = self.send(ms, height);
        assert_eq!(flights.len(), height);
        let (refused, accepted) = flights.split_last().expect("some were sent");
        self.end(ms + 10, refused, Class::Throttled, &silent());
        self.end_all(ms + 20, accepted, Class::Ok);
    }

    /// Waits for the end of a block and lets one probe after the other succeed.
    fn reopen(&mut self, ms: u64) -> u64 {
        let until = self.strategy.gate.blocked_until().unwrap_or(Time::ZERO);
        let mut now = ms.max((until - Time::ZERO).as_millis() as u64 + 1);
        for _ in 0..12 {
            let flights = self.send(now, 1);
            self.end_all(now + 1, &flights, Class::Ok);
            now += 20;
        }
        now
    }

    /// What was told of rates that were found by trying.
    fn rates(&self) -> Vec<(u64, Duration)> {
        let rate = |notice: &Notice| match notice.event {
            Event::RateLimitLearned {
                dimension: None,
                limit,
                window,
            } => Some((limit, window.expect("it is known"))),
            _ => None,
        };
        self.events.iter().filter_map(rate).collect()
    }

    fn events(&mut self, name: &str) -> usize {
        let named = |notice: &&Notice| notice.event.name() == name;
        self.events.iter().filter(named).count()
    }
}

#[test]
fn an_unknown_lane_sends_its_first_four() {
    let mut rig = Rig::new(LanePolicy::default());
    assert_eq!(rig.send(0, 100).len(), 4);
    let wait = rig.check(0);
    let later = Some(at(5000));
    assert_eq!(wait, Verdict::Wait(None, later), "the four may hang");
}

#[test]
fn what_the_user_asked_for_is_sent_within_a_moment_of_silence() {
    let mut rig = Rig::new(LanePolicy {
        start_window: 40,
        max_window: 40,
        ..LanePolicy::default()
    });
    let sent: Vec<usize> = (0..200).map(|ms| rig.send(ms, 100).len()).collect();
    assert_eq!((sent[0], sent.iter().sum::<usize>()), (20, 40));
}

#[test]
fn a_server_that_works_on_one_at_a_time_gets_one_more_and_not_ten() {
    let mut rig = Rig::new(LanePolicy::default());
    let mut flights: VecDeque<Flight> = rig.send(0, 99).into();
    let mut most = 0;
    for answer in 1..60 {
        let flight = flights.pop_front().expect("some are in flight");
        rig.end(300 * answer, &flight, Class::Ok, &silent());
        flights.extend(rig.send(300 * answer, 99));
        most = most.max(flights.len());
    }
    assert!(most <= 10, "{most}");
    assert_eq!((flights.len(), rig.strategy.knee()), (2, Some(1)));
}

#[test]
fn an_attempt_that_ran_out_of_time_halves_the_window_unless_others_overtook_it() {
    let mut rig = Rig::wide();
    let flights = rig.send(0, 3);
    let later = rig.send(10, 1);
    rig.end_all(100, &later, Class::Ok);
    let before = rig.strategy.window();
    rig.end(5000, &flights[0], Class::Timeout, &silent());
    assert_eq!(rig.strategy.window(), before, "it was slow by itself");
    let alone = rig.send(6000, 2);
    rig.end_all(11_000, &alone, Class::Timeout);
    assert_eq!(rig.strategy.window(), before / 2, "once for both");
}

#[test]
fn a_success_that_says_nothing_is_left_holds_the_next_until_the_reset() {
    let mut rig = Rig::wide();
    let flights = rig.send(0, 1);
    rig.end(50, &flights[0], Class::Ok, &says(10, 0, MINUTE));
    let Verdict::Wait(Some(why), until) = rig.check(51) else {
        panic!("nothing is left");
    };
    assert!(until >= Some(at(60_000)));
    let used_up = WaitReason::Learnt {
        dimension: Dimension::Requests,
        used: 10,
        limit: 10,
    };
    assert_eq!(why, used_up);
}

#[test]
fn a_refusal_with_a_reading_that_explains_it_changes_nothing_but_the_bucket() {
    let mut rig = Rig::wide();
    let flights = rig.send(0, 20);
    rig.end(10, &flights[0], Class::Throttled, &says(10, 0, MINUTE));
    assert_eq!(rig.strategy.window(), 200);
    assert_eq!(rig.strategy.refusals.classifier.kind(), LimitKind::Unknown);
    assert_eq!(rig.strategy.gate.blocked_until(), None);
    assert!(matches!(rig.why(11), Some(WaitReason::Learnt { .. })));
    assert_eq!(rig.events("concurrency:decreased"), 0);
}

#[test]
fn a_silent_refusal_is_explained_by_a_bucket_that_was_nearly_empty() {
    let mut rig = Rig::wide();
    let flights = rig.send(0, 2);
    rig.end(10, &flights[0], Class::Ok, &says(100, 2, MINUTE));
    rig.end(11, &flights[1], Class::Throttled, &silent());
    assert_eq!(rig.strategy.trust.disappointments, 0);
    assert_eq!(rig.strategy.window(), 200);
    assert!(matches!(rig.why(12), Some(WaitReason::Learnt { .. })));
}

#[test]
fn nearly_empty_is_a_fiftieth_of_a_limit_or_two_calls() {
    let explained = |limit: u64, left: &u64| {
        let mut rig = Rig::wide();
        let flights = rig.send(0, 2);
        rig.end(10, &flights[0], Class::Ok, &says(limit, *left, MINUTE));
        rig.end(11, &flights[1], Class::Throttled, &silent());
        rig.strategy.trust.disappointments == 0
    };
    let most = |limit| (1..limit).take_while(|left| explained(limit, left)).last();
    // The reading doesn't know of the second attempt yet.
    assert_eq!([most(50), most(1000)], [Some(3), Some(21)]);
}

#[test]
fn an_explained_refusal_blocks_if_the_server_asked_to_wait() {
    let mut rig = Rig::wide();
    let flights = rig.send(0, 1);
    let hint = Hint {
        retry_after: Some(Duration::from_secs(2)),
        ..says(10, 0, Duration::from_millis(100))
    };
    rig.end(10, &flights[0], Class::Throttled, &hint);
    assert_eq!(rig.why(1000), Some(WaitReason::Blocked { asked: true }));
    assert_eq!(rig.send(2010, 9).len(), 1, "half open");
}

#[test]
fn a_refusal_against_declared_limits_disappoints_them_and_cuts_nothing() {
    let mut rig = Rig::wide();
    let flights = rig.send(0, 2);
    rig.end(10, &flights[0], Class::Ok, &says(1000, 900, MINUTE));
    rig.end(20, &flights[1], Class::Throttled, &says(1000, 900, MINUTE));
    assert_eq!(rig.strategy.trust.disappointments, 1);
    assert_eq!(rig.strategy.window(), 200);
    assert_eq!(rig.strategy.refusals.classifier.kind(), LimitKind::Unknown);
    assert_eq!(rig.why(21), Some(WaitReason::Blocked { asked: false }));
}

#[test]
fn limits_that_disappoint_again_and_again_are_not_the_whole_truth() {
    let mut rig = Rig::wide();
    rig.word = says(1_000_000, 900_000, MINUTE);
    let mut now = 0;
    for episode in 0..3 {
        assert_eq!(rig.strategy.trust.disappointments, episode);
        assert_eq!(rig.strategy.window(), 200, "{episode}");
        let flights = rig.send(now, 2);
        rig.end_all(now + 10, &flights[..1], Class::Throttled);
        rig.end_all(now + 11, &flights[1..], Class::Ok);
        now = rig.reopen(now + 11) + 1000;
    }
    assert_eq!(rig.strategy.window(), 100);
    assert_eq!(
        rig.strategy.refusals.classifier.kind(),
        LimitKind::Suspected
    );
}

#[test]
fn a_hundred_accepted_attempts_make_up_for_a_disappointment() {
    let mut rig = Rig::wide();
    rig.word = says(1_000_000, 900_000, MINUTE);
    let flights = rig.send(0, 3);
    rig.end_all(10, &flights[..1], Class::Ok);
    rig.end_all(20, &flights[1..2], Class::Throttled);
    rig.end_all(21, &flights[2..], Class::Ok);
    let mut now = rig.reopen(21);
    let mut more = 0;
    while rig.strategy.trust.disappointments > 0 {
        more += 1;
        assert!(more <= 100, "those of the opening count too");
        now += 100;
        let flights = rig.send(now, 1);
        rig.end_all(now + 5, &flights, Class::Ok);
    }
    assert!(more > 80, "{more}");
}

#[test]
fn the_first_unexplained_refusal_halves_the_window_once_for_its_burst() {
    let mut rig = Rig::wide();
    let flights = rig.send(100, 40);
    for (n, flight) in flights.iter().enumerate() {
        rig.end(110 + n as u64, flight, Class::Throttled, &silent());
    }
    assert_eq!(rig.strategy.window(), 100);
    assert_eq!(
        rig.strategy.refusals.classifier.kind(),
        LimitKind::Suspected
    );
    assert_eq!(rig.events("concurrency:decreased"), 1);
}

#[test]
fn refusals_at_the_same_height_are_a_matter_of_parallel_requests() {
    let mut rig = Rig::wide();
    rig.episode(1000, 17);
    let now = rig.reopen(2000) + 1000;
    rig.episode(now, 17);
    assert_eq!(rig.strategy.refusals.classifier.kind(), LimitKind::Parallel);
    assert_eq!(rig.strategy.window(), 16);
    assert_eq!(rig.strategy.pace.interval(), None);
    let now = rig.reopen(now + 20) + 5000;
    assert_eq!(rig.send(now, 100).len(), 16);
    assert_eq!(rig.check(now), Verdict::Wait(None, None), "no doubling");
}

#[test]
fn refusals_at_any_height_are_a_matter_of_rate() {
    let mut rig = Rig::wide();
    rig.episode(1000, 20);
    let now = rig.reopen(2000) + 1000;
    rig.episode(now, 40);
    let now = rig.reopen(now + 20) + 1000;
    assert_eq!(rig.strategy.refusals.classifier.kind(), LimitKind::Rate);
    assert!(rig.strategy.pace.interval().is_some());
    rig.send(now, 1000);
    assert!(matches!(rig.why(now), Some(WaitReason::Pace { .. })));
}

#[test]
fn what_was_sent_before_the_lane_reacted_teaches_nothing() {
    let mut rig = Rig::wide();
    let flights = rig.send(0, 20);
    let (first, later) = flights.split_first().expect("twenty");
    rig.end(30, first, Class::Throttled, &silent());
    let before = (
        rig.strategy.window(),
        rig.strategy.refusals.classifier.kind(),
    );
    for flight in later {
        rig.end(500, flight, Class::Throttled, &silent());
    }
    let after = (
        rig.strategy.window(),
        rig.strategy.refusals.classifier.kind(),
    );
    assert_eq!(after, before);
}

/// A window that slides is found by the first, and a burst may be the end of a longer one.
#[test]
fn the_first_refusal_of_all_blocks_for_a_moment_and_the_rest_of_its_burst_for_longer() {
    let mut rig = Rig::wide();
    let burst = rig.send(0, 4);
    rig.end(2000, &burst[0], Class::Throttled, &silent());
    assert_eq!(rig.strategy.gate.blocked_until(), Some(at(2100)));
    rig.end(2010, &burst[1], Class::Throttled, &silent());
    assert_eq!(rig.strategy.gate.blocked_until(), Some(at(2510)));
}

#[test]
fn a_refused_probe_goes_on_with_the_same_episode() {
    let mut rig = Rig::wide();
    rig.episode(1000, 17);
    let before = (
        rig.strategy.window(),
        rig.strategy.refusals.classifier.kind(),
    );
    let mut now = 1030;
    for _ in 0..3 {
        now = (rig.strategy.gate.blocked_until().expect("blocked") - Time::ZERO).as_millis() as u64;
        let probe = rig.send(now + 1, 9);
        assert_eq!(probe.len(), 1);
        rig.end(now + 11, &probe[0], Class::Throttled, &silent());
    }
    assert!(now > 1500, "blocks double");
    assert_eq!(
        (
            rig.strategy.window(),
            rig.strategy.refusals.classifier.kind()
        ),
        before
    );
}

#[test]
fn server_trouble_costs_no_window() {
    let mut rig = Rig::wide();
    let flights = rig.send(0, 9);
    rig.end_all(10, &flights, Class::Transient);
    assert_eq!(rig.strategy.window(), 200);
    assert!(matches!(rig.check(11), Verdict::Go(_)));
    let flights = rig.send(11, 1);
    rig.end_all(12, &flights, Class::Transient);
    assert_eq!(rig.why(13), Some(WaitReason::Broken));
    assert_eq!(rig.events("breaker:opened"), 1);
}

#[test]
fn the_latency_of_refusals_says_how_long_quiet_is() {
    let mut rig = Rig::wide();
    assert_eq!(rig.strategy.quiet(), Duration::from_millis(250));
    for (took, quiet) in [(100, 300), (5, 300), (5000, 2000)] {
        rig.strategy.gate = Gate::default();
        let flight = rig.send(100_000 + took, 1);
        rig.end(100_000 + 2 * took, &flight[0], Class::Throttled, &silent());
        assert_eq!(rig.strategy.quiet(), Duration::from_millis(quiet), "{took}");
    }
}
