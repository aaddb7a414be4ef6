//! How many attempts per unit of time, where the server doesn't say.
//!
//! **Empty to empty.** A refusal means that the server's credit was used up just then. Between
//! two such moments it gave out exactly what was accepted between them, so that number over
//! that time is its rate, whatever the capacity of its bucket.
//!
//! A server that goes on refusing counts in windows, and is `allowance`'s.
//!
//! The lane then sends one attempt per interval, at 0.99 of the rate found (published design),
//! and faster by 0.01 % with each call, twice as much after every hundred calls without a
//! refusal. Counted in calls rather than seconds it costs the same share of any limit. A
//! measurement over few calls is rough and is left more quickly; one over many is good, and
//! is left as slowly as it took to make. A refusal starts the next measurement.
//!
//! This is a measurement, not a search: nothing is cut in half, nothing oscillates but for one
//! call in some hundred.

use std::time::Duration;

use crate::time::{Time, nanos};
use crate::tuning::pace::{
    CALM_CALLS, ENOUGH, FIRST_STEP_MILLIONTHS, GOOD, LAG, LAST_STEP_MILLIONTHS, MEASURED_CALM,
    ROUGHEST, SLOWER, SLOWEST, USED_PER_MILLE,
};
use crate::tuning::{MILLIONTHS, PER_MILLE};

/// A lane's pace.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    /// Nanoseconds from one attempt to the next; `None`: unlimited.
    interval: Option<u64>,
    /// What it was after the last measurement; from then on it shrinks with each attempt.
    found: Option<u64>,
    /// When the next attempt is due.
    due: Time,
    /// First refusal of the last episode.
    empty_at: Option<Time>,
    /// Attempts sent since then.
    sent: u64,
    /// Of these, refused.
    refused: u64,
    /// Attempts since the last episode that count for growth.
    calm: u64,
    /// Accepted calls in the measurement behind the interval.
    measured: u64,
}

impl Pace {
    /// The time between attempts; `None`: unlimited.
    pub(crate) fn interval(&self) -> Option<Duration> {
        self.interval.map(Duration::from_nanos)
    }

    /// What a refusal last said that it is.
    pub(crate) fn found(&self) -> Option<Duration> {
        self.found.map(Duration::from_nanos)
    }

    /// When the next attempt may be sent.
    pub(crate) fn due(&self) -> Time {
        self.interval.map_or(Time::ZERO, |_| self.due)
    }

    /// Takes in that an attempt is sent now.
    pub(crate) fn send(&mut self, now: Time) {
        self.sent += 1;
        let Some(interval) = self.interval else {
            return;
        };
        let from = self.due.max(now.before(LAG));
        self.due = from + Duration::from_nanos(interval);
        self.calm += 1;
        let rough = (GOOD / self.measured.max(1)).clamp(1, ROUGHEST);
        let doublings = self.calm / CALM_CALLS.max(self.measured / MEASURED_CALM);
        let step = ((FIRST_STEP_MILLIONTHS * rough) << doublings.min(8)).min(LAST_STEP_MILLIONTHS);
        let faster = u128::from(interval) * u128::from(step) / u128::from(MILLIONTHS);
        self.interval = Some((interval - faster as u64).max(1));
    }

    /// Attempts accepted since the last episode.
    pub(crate) fn accepted(&self) -> u64 {
        self.sent.saturating_sub(self.refused)
    }

    /// Takes in that an attempt was refused that the last measurement already knows of.
    pub(crate) fn refuse(&mut self, sent_at: Time) {
        if self.empty_at.is_some_and(|empty| sent_at > empty) {
            self.refused += 1;
        }
    }

    /// Takes in that the server is shut for another reason: the time until it opens tells nothing of its rate.
    pub(crate) fn interrupt(&mut self) {
        (self.empty_at, self.sent, self.refused) = (None, 0, 0);
    }

    /// Takes in the first refusal of an episode, of an attempt sent at `sent_at`. With `measure` the
    /// rate since the last one is taken as the pace; `true` if that gave one.
    pub(crate) fn episode(&mut self, sent_at: Time, measure: bool) -> bool {
        self.refused += 1;
        let accepted = self.accepted();
        if measure && self.interval.is_none() && self.empty_at.is_some() && accepted < ENOUGH {
            // Not yet a measurement: it goes on from the same moment.
            return false;
        }
        let span = self.empty_at.map(|empty| nanos(sent_at - empty));
        self.empty_at = Some(sent_at);
        (self.sent, self.refused) = (0, 0);
        self.calm = 0;
        match span.filter(|_| measure) {
            Some(span) if accepted >= ENOUGH => self.take(span, accepted),
            Some(_) => {
                // Too soon to tell: slower than before.
                self.interval = self.interval.map(|interval| {
                    let slower = interval.saturating_add(interval / SLOWER);
                    slower.min(interval.max(nanos(SLOWEST)))
                });
            }
            None => return self.interval.is_some(),
        }
        self.found = self.interval;
        self.interval.is_some()
    }

    /// Takes a measurement.
    fn take(&mut self, span: u64, accepted: u64) {
        let measured = u128::from(span) * u128::from(PER_MILLE)
            / (u128::from(accepted) * u128::from(USED_PER_MILLE));
        let measured = u64::try_from(measured).unwrap_or(u64::MAX).max(1);
        // Where the pace was below the limit for a while, the average is too: what came back
        // meanwhile was lost. The truth is between it and the pace that was too fast.
        self.interval = Some(match self.interval {
            Some(known) if known < measured => known.midpoint(measured),
            _ => measured,
        });
        self.measured = accepted;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ms(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    /// Sends `count` attempts.
    fn send(pace: &mut Pace, now: Time, count: u32) {
        for _ in 0..count {
            pace.send(now);
        }
    }

    #[test]
    fn the_rate_is_what_was_accepted_between_two_refusals() {
        let mut pace = Pace::default();
        send(&mut pace, ms(0), 20);
        assert!(
            !pace.episode(ms(1000), true),
            "one moment is no measurement"
        );
        send(&mut pace, ms(1500), 101);
        assert!(pace.episode(ms(11_000), true));
        // 100 accepted in 10 s, of which 99 % are used.
        let interval = pace.interval().expect("measured");
        assert_eq!(interval.as_millis(), 101);
    }

    #[test]
    fn refusals_of_the_same_burst_are_not_counted_as_accepted() {
        let mut pace = Pace::default();
        pace.episode(ms(0), true);
        for _ in 0..5 {
            pace.refuse(ms(0));
        }
        send(&mut pace, ms(1), 120);
        for _ in 0..19 {
            pace.refuse(ms(1));
        }
        pace.episode(ms(10_000), true);
        assert_eq!(pace.interval().expect("measured").as_millis(), 101);
    }

    #[test]
    fn too_few_calls_only_slow_down() {
        let mut pace = Pace::default();
        pace.episode(ms(0), true);
        send(&mut pace, ms(1), 101);
        pace.episode(ms(10_000), true);
        let before = pace.interval().expect("measured");
        send(&mut pace, ms(10_001), 2);
        assert!(pace.episode(ms(10_002), true));
        let after = pace.interval().expect("measured");
        let slower = before * 6 / 5..=before * 5 / 4;
        assert!(slower.contains(&after), "{after:?} after {before:?}");
    }

    #[test]
    fn attempts_are_spaced_and_may_catch_up_a_timer_s_lag_only() {
        let mut pace = Pace {
            interval: Some(1_000_000),
            ..Pace::default()
        };
        let mut sent = 0;
        while pace.due() <= ms(100) {
            pace.send(ms(100));
            sent += 1;
        }
        assert_eq!(sent, 6, "one now and five milliseconds' worth");
    }

    #[test]
    fn it_grows_slowly_at_first_and_doubles_its_steps_with_calm() {
        let interval = 100_000_000;
        let mut pace = Pace {
            interval: Some(interval),
            measured: GOOD / 2,
            ..Pace::default()
        };
        let faster = |pace: &Pace| interval * 1000 / pace.interval.expect("set") - 1000;
        send(&mut pace, ms(0), 100);
        assert!((16..=24).contains(&faster(&pace)), "{} ‰", faster(&pace));
        send(&mut pace, ms(0), 300);
        let grown = faster(&pace);
        assert!((250..=420).contains(&grown), "{grown} ‰");
    }

    #[test]
    fn it_slows_down_to_one_a_minute_and_no_further() {
        let slowed = |interval: Duration| {
            let mut pace = Pace {
                interval: Some(nanos(interval)),
                empty_at: Some(ms(0)),
                ..Pace::default()
            };
            for now in 1..100 {
                pace.episode(ms(now), true);
            }
            pace.interval()
        };
        let minute = Duration::from_mins(1);
        assert_eq!(slowed(Duration::from_millis(1)), Some(minute));
        assert_eq!(slowed(minute * 2), Some(minute * 2), "that was measured");
    }

    #[test]
    fn a_rough_measurement_is_left_sooner_and_a_long_one_later() {
        let millionths_after = |measured, calls| {
            let interval = 1_000_000_000;
            let mut pace = Pace {
                interval: Some(interval),
                measured,
                calm: calls,
                ..Pace::default()
            };
            pace.send(ms(0));
            (interval - pace.interval.expect("set")) / 1000
        };
        let first = [1, 24, 25, 50, 400, 9999].map(|measured| millionths_after(measured, 0));
        assert_eq!(first, [1600, 1600, 1600, 800, 100, 100]);
        let later = [499, 500, 999].map(|calls| millionths_after(1000, calls - 1));
        assert_eq!(later, [100, 200, 200]);
    }

    #[test]
    fn the_slowest_pace_grows_and_slows_as_any_other() {
        let mut pace = Pace {
            interval: Some(u64::MAX),
            empty_at: Some(ms(0)),
            ..Pace::default()
        };
        pace.send(ms(1));
        let grown = pace.interval.expect("set");
        assert_eq!(
            (u64::MAX - grown) / (u64::MAX / 10_000),
            16,
            "as a rough one"
        );
        assert_eq!(pace.due(), Time::NEVER);
        pace.episode(ms(2), true);
        assert_eq!(pace.interval, Some(grown), "a minute is long enough");
    }

    /// Something that happens to a pace.
    #[derive(Debug, Clone)]
    enum Happening {
        Sends(usize),
        Refused,
        Episode(bool),
    }

    fn happening() -> impl Strategy<Value = Happening> {
        prop_oneof![
            3 => (1_usize..300).prop_map(Happening::Sends),
            1 => Just(Happening::Refused),
            2 => any::<bool>().prop_map(Happening::Episode),
        ]
    }

    /// How long nothing happens: moments mostly, and now and then for ever.
    fn pause() -> impl Strategy<Value = u64> {
        prop_oneof![8 => 0..10_000_000_000_u64, 1 => any::<u64>()]
    }

    proptest! {
        #[test]
        fn it_grows_by_small_steps_and_slows_by_measurements_whatever_happens(
            steps in prop::collection::vec((happening(), pause()), 1..60),
        ) {
            let mut pace = Pace::default();
            let mut now = Time::ZERO;
            for (happening, pause) in steps {
                now = now + Duration::from_nanos(pause);
                match happening {
                    Happening::Sends(count) => {
                        for _ in 0..count {
                            let (interval, due) = (pace.interval, pace.due());
                            pace.send(now);
                            prop_assert_eq!(pace.interval.is_some(), interval.is_some());
                            let (Some(before), Some(after)) = (interval, pace.interval) else {
                                prop_assert_eq!(pace.due(), Time::ZERO);
                                continue;
                            };
                            let most = before / 1000 * LAST_STEP_MILLIONTHS / 1000 + LAST_STEP_MILLIONTHS;
                            prop_assert!(after >= 1 && after <= before && before - after <= most);
                            prop_assert!(pace.due() >= due);
                            prop_assert!(pace.due() <= due.max(now) + Duration::from_nanos(before));
                        }
                    }
                    Happening::Refused => pace.refuse(now),
                    Happening::Episode(measure) => {
                        let before = pace.interval;
                        let has_pace = pace.episode(now, measure);
                        prop_assert_eq!(has_pace, pace.interval.is_some());
                        prop_assert!(before.is_none() || has_pace, "it is never unlearnt");
                        if !measure {
                            prop_assert_eq!(pace.interval, before);
                        }
                    }
                }
                // What was found is where it went on from.
                prop_assert!(pace.found >= pace.interval);
            }
        }
    }
}
