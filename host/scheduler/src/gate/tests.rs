//! What the gate promises, one sentence each, with a clock that the test moves.
//!
//! How much a refusal blocks is decided in the lane; here it simply happens.

use super::*;

mod ending;
mod rule;

/// How long without a refusal counts as acceptance, in these tests.
const QUIET: Duration = Duration::from_millis(250);

fn at(ms: u64) -> Time {
    Time::ZERO + Duration::from_millis(ms)
}

fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

/// A gate with its luck.
struct Watched {
    gate: Gate,
    chance: Chance,
}

impl Watched {
    fn new() -> Self {
        Self::with_seed(1)
    }

    fn with_seed(seed: u64) -> Self {
        Self {
            gate: Gate::default(),
            chance: Chance::new(seed),
        }
    }

    /// How many attempts it lets go at this moment; a hundred stands for any number.
    fn sends(&mut self, ms: u64) -> u32 {
        let mut sent = 0;
        while sent < 100 && self.gate.check(at(ms), QUIET, false).is_none() {
            self.gate.send(at(ms));
            sent += 1;
        }
        sent
    }

    /// Until when it is held, in milliseconds.
    fn held_until(&mut self, ms: u64) -> Option<u64> {
        match self.gate.check(at(ms), QUIET, false) {
            Some(HoldReason::Until(time, _)) => Some((time - Time::ZERO).as_millis() as u64),
            held => {
                assert_eq!(held, None, "not for good");
                None
            }
        }
    }

    /// A new refusal.
    fn refused(&mut self, ms: u64, asked: Option<Duration>) {
        self.gate.block(at(ms), asked, None, false);
    }

    /// An attempt that was sent then ends so now; `true` if that breaks the lane.
    fn ends(&mut self, ms: u64, sent_ms: u64, class: Class) -> bool {
        let (now, sent_at) = (at(ms), at(sent_ms));
        let probe = self.gate.ended(now, sent_at, class, None, &mut self.chance);
        probe.is_some()
    }

    /// One fails.
    fn fails(&mut self, ms: u64, sent_ms: u64) -> bool {
        self.ends(ms, sent_ms, Class::Transient)
    }

    /// The server says that the quota is used up until then.
    fn runs_out(&mut self, ms: u64, until: Option<u64>) {
        let (now, class) = (at(ms), Class::QuotaExhausted);
        self.gate
            .ended(now, now, class, until.map(at), &mut self.chance);
    }

    /// Breaks the lane by failures that are sent one after the other from `ms` on and take
    /// `took`. Gives when it probes.
    fn breaks(&mut self, ms: u64, took: u64) -> u64 {
        let broke = (0..10).map(|n| self.fails(ms + n + took, ms + n)).last();
        assert_eq!(broke, Some(true));
        self.held_until(ms + 9 + took).expect("a broken lane waits")
    }
}

#[test]
fn a_lane_of_which_nothing_is_known_is_open() {
    assert_eq!(Watched::new().sends(0), 100);
}

#[test]
fn a_refusal_blocks_for_as_long_as_the_server_asked() {
    let mut lane = Watched::new();
    lane.refused(0, Some(secs(3)));
    let held = lane.gate.check(at(10), QUIET, false);
    let why = WaitReason::Blocked { asked: true };
    assert_eq!(held, Some(HoldReason::Until(at(3000), why)));
    assert_eq!(lane.held_until(2999), Some(3000));
    assert_eq!(lane.held_until(3000), None);
}

#[test]
fn a_refusal_without_a_word_blocks_for_what_is_usual_there() {
    let mut lane = Watched::new();
    lane.gate
        .block(at(0), None, Some(Duration::from_millis(200)), false);
    assert_eq!(lane.held_until(0), Some(200));
    let mut lane = Watched::new();
    lane.refused(0, None);
    assert_eq!(
        lane.held_until(0),
        Some(1000),
        "or for the published second"
    );
}

#[test]
fn to_be_asked_to_wait_for_nothing_is_not_to_be_asked() {
    let mut lane = Watched::new();
    lane.refused(0, Some(Duration::ZERO));
    assert_eq!(lane.held_until(0), Some(1000));
}

#[test]
fn after_a_block_goes_one_and_twice_as_many_after_each_quiet_spell() {
    let mut lane = Watched::new();
    lane.refused(0, None);
    assert_eq!(lane.sends(1000), 1);
    assert_eq!(lane.held_until(1249), Some(1250));
    let rest: Vec<u32> = (1..=5).map(|n| lane.sends(1000 + 250 * n)).collect();
    assert_eq!(rest, [2, 4, 8, 16, 32]);
    assert_eq!(lane.sends(2500), 100, "sixty-four is as good as open");
}

#[test]
fn a_spell_is_quiet_only_after_the_last_attempt() {
    let mut lane = Watched::new();
    lane.refused(0, None);
    assert_eq!(lane.sends(1100), 1);
    assert_eq!(lane.held_until(1300), Some(1350));
}

#[test]
fn an_accepted_probe_lets_the_next_two_go_without_a_pause() {
    let mut lane = Watched::new();
    lane.refused(0, None);
    assert_eq!(lane.sends(1000), 1);
    lane.ends(1010, 1000, Class::Permanent);
    assert_eq!(lane.sends(1010), 1, "two at once, of which one is out");
    lane.ends(1020, 1010, Class::Permanent);
    assert_eq!(lane.sends(1020), 2);
}

#[test]
fn what_was_sent_before_the_block_is_no_probe() {
    let mut lane = Watched::new();
    lane.refused(500, None);
    assert_eq!(lane.sends(1500), 1);
    lane.ends(1510, 400, Class::Permanent);
    assert_eq!(lane.sends(1510), 0);
}

#[test]
fn each_refused_probe_doubles_the_block_up_to_eight_seconds() {
    let mut lane = Watched::new();
    let mut now = 0;
    let mut blocks = Vec::new();
    for _ in 0..6 {
        lane.refused(now, None);
        let until = lane.held_until(now).expect("blocked");
        blocks.push(until - now);
        assert_eq!(lane.sends(until), 1);
        now = until;
    }
    assert_eq!(blocks, [1000, 2000, 4000, 8000, 8000, 8000]);
}

#[test]
fn an_accepted_probe_ends_the_doubling() {
    let mut lane = Watched::new();
    for now in [0, 1000] {
        lane.refused(now, None);
    }
    assert_eq!(lane.sends(3000), 1);
    lane.ends(3010, 3000, Class::Permanent);
    lane.refused(3020, None);
    assert_eq!(lane.held_until(3020), Some(4020));
}

#[test]
fn a_refusal_of_the_same_burst_makes_the_block_longer_and_nothing_else() {
    let mut lane = Watched::new();
    lane.refused(0, Some(secs(3)));
    lane.gate.block(at(100), None, None, true);
    assert_eq!(lane.held_until(100), Some(3000));
    lane.gate.block(at(200), Some(secs(5)), None, true);
    assert_eq!(lane.held_until(200), Some(5200));
    assert_eq!(lane.sends(5200), 1);
    lane.refused(5300, None);
    assert_eq!(lane.held_until(5300), Some(7300), "one strike before");
}

#[test]
fn where_a_pace_spaces_the_attempts_one_quiet_spell_opens() {
    let mut lane = Watched::new();
    lane.refused(0, None);
    assert_eq!(lane.gate.check(at(1000), QUIET, true), None);
    lane.gate.send(at(1000));
    assert!(lane.gate.check(at(1249), QUIET, true).is_some());
    assert_eq!(lane.gate.check(at(1250), QUIET, true), None);
    assert_eq!(lane.sends(1250), 100);
}

#[test]
fn the_lane_learns_once_when_it_opened_and_whether_probes_were_refused_before() {
    let mut lane = Watched::new();
    for now in [0, 1000, 3000] {
        lane.refused(now, None);
        assert_eq!(lane.gate.take_opening(), None);
    }
    assert_eq!(lane.sends(7000), 1);
    lane.ends(7010, 7000, Class::Permanent);
    let opening = Opening {
        at: at(7000),
        probed: true,
    };
    assert_eq!(lane.gate.take_opening(), Some(opening));
    assert_eq!(lane.gate.take_opening(), None);
}

#[test]
fn a_wait_up_to_ten_seconds_is_obeyed() {
    let mut lane = Watched::new();
    lane.refused(0, Some(secs(10)));
    assert_eq!(lane.held_until(0), Some(10_000));
}

#[test]
fn a_longer_one_is_checked_after_a_quarter() {
    let mut lane = Watched::new();
    lane.refused(0, Some(secs(88)));
    assert_eq!(lane.held_until(0), Some(22_000));
    assert_eq!(lane.sends(22_000), 1);
    let mut lane = Watched::new();
    lane.refused(0, Some(secs(12)));
    assert_eq!(lane.held_until(0), Some(3000));
}

#[test]
fn a_server_that_meant_it_is_asked_once_more_and_then_obeyed() {
    let mut lane = Watched::new();
    lane.refused(0, Some(secs(88)));
    lane.refused(22_000, Some(secs(66)));
    assert_eq!(lane.held_until(22_000), Some(55_000), "half of the rest");
    lane.refused(55_000, Some(secs(33)));
    assert_eq!(lane.held_until(55_000), Some(88_000), "all of it");
}

#[test]
fn how_much_of_a_long_wait_was_needed_is_remembered() {
    let mut lane = Watched::new();
    lane.refused(0, Some(secs(80)));
    assert_eq!(lane.sends(20_000), 1);
    lane.ends(20_000, 20_000, Class::Permanent);
    lane.refused(30_000, Some(secs(80)));
    // A quarter was enough, so half of a quarter is tried.
    assert_eq!(lane.held_until(30_000), Some(40_000));
    lane.refused(40_000, Some(secs(80)));
    assert_eq!(lane.held_until(40_000), Some(60_000), "that was too early");
    lane.gate.check(at(60_000), QUIET, false);
    lane.ends(60_000, 60_000, Class::Permanent);
    lane.refused(70_000, Some(secs(80)));
    // 30 of 80 s were needed: half of that, in thousandths.
    assert_eq!(lane.held_until(70_000), Some(70_000 + 187 * 80));
}

#[test]
fn a_wait_that_was_not_needed_at_all_is_checked_after_a_two_hundredth() {
    let mut lane = Watched::new();
    lane.refused(0, Some(secs(3000)));
    let mut now = 750_000;
    for _ in 0..20 {
        assert_eq!(lane.sends(now), 1);
        lane.ends(now, now, Class::Permanent);
        lane.refused(now, Some(secs(3000)));
        now = lane.held_until(now).expect("blocked");
    }
    let asked = now;
    lane.sends(asked);
    lane.ends(asked, asked, Class::Permanent);
    lane.refused(asked, Some(secs(3000)));
    assert_eq!(lane.held_until(asked), Some(asked + 15_000));
}

#[test]
fn ten_failures_in_a_row_break_the_lane() {
    let mut lane = Watched::new();
    let broke: Vec<bool> = (0..10).map(|n| lane.fails(n + 1, n)).collect();
    assert_eq!(broke.iter().position(|broke| *broke), Some(9));
    assert!(lane.gate.is_broken());
    assert_eq!(lane.sends(500), 0);
}

#[test]
fn a_success_between_begins_the_row_anew() {
    let mut lane = Watched::new();
    for n in 0..9 {
        assert!(!lane.fails(n, n), "{n}");
    }
    lane.ends(9, 9, Class::Ok);
    assert!(!lane.fails(10, 10), "the first of its row");
}

#[test]
fn eleven_failures_of_twenty_break_it_and_ten_do_not() {
    let mut lane = Watched::new();
    for n in 0..100 {
        assert!(!lane.fails(2 * n, 2 * n));
        lane.ends(2 * n + 1, 2 * n + 1, Class::Ok);
    }
    assert!(!lane.fails(200, 200), "it takes the place of a failure");
    assert!(lane.fails(201, 201), "it takes the place of a success");
}

#[test]
fn a_broken_lane_probes_after_up_to_a_tenth_of_the_time_that_it_has_failed() {
    let mut pauses: Vec<(u64, u64)> = Vec::new();
    for seed in 0..50 {
        let mut lane = Watched::with_seed(seed);
        let mut now = 9;
        lane.ends(0, 0, Class::Ok);
        let mut until = lane.breaks(0, 0);
        while now < 200_000 {
            pauses.push((now, until - now));
            now = until;
            assert_eq!(lane.sends(now), 1);
            assert!(lane.fails(now, now));
            until = lane.held_until(now).expect("blocked again");
        }
    }
    for (failed_for, pause) in &pauses {
        let least = (failed_for / 20).clamp(500, 4000);
        assert!(
            (least - 1..2 * least + 2).contains(pause),
            "{failed_for} {pause}"
        );
    }
    let longest = pauses.iter().map(|(_, pause)| *pause).max();
    assert!(longest.is_some_and(|longest| longest > 7000), "{longest:?}");
}

#[test]
fn a_probe_that_is_answered_closes_the_breaker_and_forgets_the_failures() {
    let mut lane = Watched::new();
    let until = lane.breaks(0, 5);
    assert_eq!(lane.sends(until), 1);
    lane.ends(until + 5, until, Class::Ok);
    assert_eq!(lane.sends(until + 5), 100);
    let again: Vec<bool> = (0..9).map(|n| lane.fails(until + 9, until + n)).collect();
    assert!(!again.contains(&true));
}

#[test]
fn attempts_from_before_the_failures_prove_nothing_however_they_end() {
    let mut lane = Watched::new();
    let until = lane.breaks(100, 5);
    lane.ends(120, 50, Class::Ok);
    assert!(!lane.fails(121, 51));
    assert_eq!(lane.held_until(122), Some(until));
    assert_eq!(lane.sends(until), 1);
    assert!(!lane.fails(until + 1, 52));
    lane.ends(until + 2, 53, Class::Permanent);
    assert_eq!(lane.sends(until + 2), 0, "still waiting for the probe");
    assert!(lane.gate.is_broken());
}

#[test]
fn silence_for_three_times_as_long_as_failures_took_lets_more_go() {
    let mut lane = Watched::new();
    let until = lane.breaks(0, 2000);
    assert_eq!(lane.sends(until), 1);
    assert_eq!(lane.held_until(until + 5999), Some(until + 6000));
    assert_eq!(lane.sends(until + 6000), 2);
    let mut now = until + 6000;
    while lane.gate.is_broken() {
        now += 6000;
        assert!(now < until + 60_000, "silence never opens it");
        lane.sends(now);
    }
    assert_eq!(lane.sends(now), 100);
}

#[test]
fn silence_after_quick_failures_takes_a_second() {
    let mut lane = Watched::new();
    let until = lane.breaks(0, 5);
    assert_eq!(lane.sends(until), 1);
    assert_eq!(lane.held_until(until + 1), Some(until + 1000));
}

#[test]
fn another_probe_goes_in_the_place_of_a_cancelled_one() {
    let mut lane = Watched::new();
    lane.refused(0, None);
    assert_eq!(lane.sends(1000), 1);
    lane.gate.lost_probe(at(1000));
    assert_eq!(lane.sends(1001), 1);
}
