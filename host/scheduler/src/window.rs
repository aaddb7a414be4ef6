//! How many attempts of a lane may be in flight.
//!
//! A window is a rate only when divided by a latency, so it can't meet a quota alone; `bucket`
//! and `pace` do that. The window answers the other question: how much at once. It starts at 4
//! (published), or with what the user asked for (`-j`), and grows on somebody's word or on answers:
//!
//! - **The user's word.** Up to 20 attempts go at once, and from there to the number that was asked for
//!   it doubles each tenth of a second, so that a first refusal or a declared limit is heard before
//!   all of them are on the wire.
//! - **The server's word.** Where it declares its limits, or has refused, the buckets and the pace say
//!   how much may be sent; the window doubles with each quiet spell and gets out of their way.
//! - **Answers.** Otherwise it grows with answers that pay (`knee`), never with time, as in TCP's *slow start*: what
//!   is on the wire and unanswered bounds what may follow. Only where nothing at all is heard one more
//!   is tried after 5, 10, 20 s and so on, since the first ones may hang.
//!
//! It **halves** (published) at the first refusal that nothing declared explains, once per episode: attempts
//! that were sent before the cut say nothing new. So it does when attempts run out of time and nobody is answered.
//!
//! Where refusals come back at the same number in flight, the server limits parallel requests. Halving
//! again and again costs a quarter of such a limit, so the window goes to that number instead. From then on it **adds
//! one** (published) after clean rounds in which it was in use: two, and twice as many after each further refusal.
//! With the halving it is TCP's *AIMD* (additive increase, multiplicative decrease), but refusals lead to that number.
//!
//! It only grows while it is what holds jobs back; an idle window proves nothing.

use std::time::Duration;

use crate::policy::LanePolicy;
use crate::time::Time;
use crate::tuning::PER_CENT;
use crate::tuning::window::{
    DECLARED_SPELL, FIRST_SIZE, MOST_ROUNDS, SILENCE, SILENT_ANSWERS, STEP_SHARE, STEPS,
    USED_PER_CENT, WELCOME_SPELL,
};

/// What is known of the server, which says how long a quiet spell has to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Known {
    /// Nothing but its answers.
    Answers(Heard),
    /// More at once get no more of them.
    Queue(Heard),
    /// A refusal is there within this, generously.
    Refusals(Duration),
    /// It declares its limits.
    Limits,
}

/// The last answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Heard {
    pub(crate) at: Time,
    /// How long it had taken.
    pub(crate) took: Duration,
}

/// A lane's window.
#[derive(Debug)]
pub(crate) struct Window {
    size: u32,
    policy: LanePolicy,
    /// Growing freely, until a limit of parallel requests is found.
    is_free: bool,
    /// When it last changed.
    changed: Time,
    /// Attempts that ended well since then while it was in use.
    clean: u32,
    /// Rounds of that before it grows by one.
    rounds: u32,
}

impl Window {
    pub(crate) fn new(policy: LanePolicy, now: Time) -> Self {
        let mut window = Self {
            size: 1,
            policy,
            is_free: true,
            changed: now,
            clean: 0,
            rounds: 1,
        };
        window.resize(policy.start_window.min(FIRST_SIZE), now);
        window
    }

    pub(crate) fn size(&self) -> u32 {
        self.size
    }

    /// Obeys another policy from now on.
    pub(crate) fn obey(&mut self, policy: LanePolicy) {
        self.policy = policy;
        self.size = self.size.min(policy.max_window).max(1);
    }

    /// Takes in that a job is held back by the window alone: grows if the spell was quiet, or says
    /// when it will. `None`: it grows no more by waiting.
    pub(crate) fn grow_when_due(&mut self, now: Time, known: Known) -> Option<Time> {
        if !self.is_free || self.size >= self.policy.max_window {
            return None;
        }
        let asked = self.policy.start_window;
        let (due, more) = match known {
            Known::Limits => (self.changed + DECLARED_SPELL / STEPS, self.step()),
            Known::Refusals(quiet) => {
                let spell = quiet.max(DECLARED_SPELL);
                (self.changed + spell / STEPS, self.step())
            }
            Known::Answers(_) if self.size < asked => {
                let more = self.step().min(asked - self.size);
                (self.changed + WELCOME_SPELL / STEPS, more)
            }
            Known::Answers(heard) | Known::Queue(heard) => (self.silent_until(heard), 1),
        };
        if now < due {
            return Some(due);
        }
        self.resize(self.size.saturating_add(more), now);
        Some(now)
    }

    /// What is added in one step.
    fn step(&self) -> u32 {
        (self.size / STEP_SHARE).max(1)
    }

    /// How long nothing more is heard before one more is tried.
    fn silent_until(&self, heard: Heard) -> Time {
        let silence = self.changed.since(heard.at);
        let longer = silence.max(heard.took.saturating_mul(SILENT_ANSWERS));
        self.changed.max(heard.at) + longer.max(SILENCE)
    }

    /// Begins a new spell: nothing was held back until now.
    pub(crate) fn begin_spell(&mut self, now: Time) {
        self.changed = now;
    }

    /// Whether it is nearly full with so many.
    pub(crate) fn is_used(&self, in_flight: u32) -> bool {
        u64::from(in_flight) * u64::from(PER_CENT) >= u64::from(self.size) * USED_PER_CENT
    }

    /// Takes in that an attempt ended well while `in_flight` others and itself were out.
    pub(crate) fn succeed(&mut self, now: Time, in_flight: u32) {
        if self.is_free || !self.is_used(in_flight) {
            return;
        }
        self.clean += 1;
        if self.clean >= self.size.saturating_mul(self.rounds) {
            self.resize(self.size + 1, now);
        }
    }

    /// Answers earned so many places.
    pub(crate) fn add(&mut self, places: u32) {
        if self.is_free {
            let most = self.policy.max_window.max(1);
            self.size = self.size.saturating_add(places).min(most);
        }
    }

    /// Halves the window.
    pub(crate) fn halve(&mut self, now: Time) {
        self.resize(self.size / 2, now);
    }

    /// Takes in that the server takes `parallel` at once and no more.
    pub(crate) fn limit(&mut self, parallel: u32, now: Time) {
        self.is_free = false;
        self.rounds = (self.rounds * 2).min(MOST_ROUNDS);
        self.resize(parallel.min(self.size), now);
    }

    /// Gets out of the way of others: the rate was the reason, which they take care of.
    pub(crate) fn free(&mut self, now: Time) {
        self.is_free = true;
        self.changed = now;
    }

    /// Goes to so many at once, or as near as it may.
    pub(crate) fn resize(&mut self, size: u32, now: Time) {
        let least = self.policy.min_window.min(self.policy.max_window).max(1);
        self.size = size.clamp(least, self.policy.max_window.max(1));
        self.changed = now;
        self.clean = 0;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ms(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    fn window() -> Window {
        Window::new(LanePolicy::default(), Time::ZERO)
    }

    /// Ends `count` attempts well with the window full.
    fn clean(window: &mut Window, count: u32) {
        for _ in 0..count {
            window.succeed(ms(0), window.size());
        }
    }

    /// Who asked for so many.
    fn asked(start_window: u32) -> Window {
        let policy = LanePolicy {
            start_window,
            ..LanePolicy::default()
        };
        Window::new(policy, Time::ZERO)
    }

    /// Nothing was heard since the start.
    const SILENT: Heard = Heard {
        at: Time::ZERO,
        took: Duration::ZERO,
    };

    /// What it becomes by waiting until then.
    fn waited(window: &mut Window, known: Known, until: u64) -> u32 {
        let mut now = Time::ZERO;
        while let Some(due) = window.grow_when_due(now, known)
            && due <= ms(until)
        {
            now = due;
        }
        window.size()
    }

    #[test]
    fn it_opens_with_four_or_with_up_to_twenty_of_those_who_were_asked_for() {
        let sizes = [4, 20, 100].map(|start| asked(start).size());
        assert_eq!(sizes, [4, 20, 20]);
    }

    #[test]
    fn what_was_asked_for_is_there_within_a_third_of_a_second() {
        let answers = Known::Answers(SILENT);
        assert_eq!(waited(&mut asked(100), answers, 150), 46);
        assert_eq!(waited(&mut asked(100), answers, 300), 100);
        assert_eq!(waited(&mut asked(100), answers, 4999), 100, "and no more");
    }

    #[test]
    fn where_nothing_is_heard_one_more_is_tried_after_ever_longer_waits() {
        for known in [Known::Answers(SILENT), Known::Queue(SILENT)] {
            let sizes = [4999, 5000, 9999, 10_000, 20_000, 39_999]
                .map(|until| waited(&mut window(), known, until));
            assert_eq!(sizes, [4, 5, 5, 6, 7, 7]);
        }
        let heard = Heard {
            at: ms(1000),
            took: Duration::from_secs(5),
        };
        let due = window().grow_when_due(ms(1000), Known::Queue(heard));
        assert_eq!(
            due,
            Some(ms(21_000)),
            "four times as long as an answer takes"
        );
    }

    #[test]
    fn answers_widen_it_up_to_its_ceiling() {
        let mut window = window();
        window.add(2);
        assert_eq!(window.size(), 6);
        window.add(1000);
        assert_eq!(window.size(), 256);
        window.limit(16, ms(0));
        window.add(2);
        assert_eq!(window.size(), 16, "it is known how many it takes");
        assert!(window.is_used(13) && !window.is_used(12));
    }

    #[test]
    fn declared_limits_let_it_out_of_the_way_sooner() {
        let mut window = window();
        assert_eq!(
            window.grow_when_due(ms(5), Known::Limits),
            Some(Time::ZERO + Duration::from_micros(11_250))
        );
    }

    #[test]
    fn a_refusal_begins_a_new_spell() {
        let mut window = window();
        window.begin_spell(ms(200));
        let quiet = Duration::from_secs(1);
        assert_eq!(
            window.grow_when_due(ms(201), Known::Refusals(quiet)),
            Some(ms(325))
        );
    }

    #[test]
    fn it_stops_at_its_ceiling() {
        let mut window = Window::new(
            LanePolicy {
                max_window: 6,
                ..LanePolicy::default()
            },
            Time::ZERO,
        );
        assert_eq!(waited(&mut window, Known::Limits, 9000), 6);
        assert_eq!(window.grow_when_due(ms(9000), Known::Limits), None);
    }

    #[test]
    fn a_cut_halves_and_never_goes_below_the_floor() {
        let mut window = window();
        window.halve(ms(1));
        assert_eq!(window.size(), 2);
        for _ in 0..5 {
            window.halve(ms(1));
        }
        assert_eq!(window.size(), 1);
    }

    #[test]
    fn an_idle_window_does_not_grow() {
        let mut window = window();
        window.limit(3, ms(1));
        for _ in 0..100 {
            window.succeed(ms(2), 1);
        }
        assert_eq!(window.size(), 3);
    }

    #[test]
    fn each_confirmation_of_a_parallel_limit_doubles_the_rounds_before_the_next_try() {
        let mut window = window();
        window.resize(64, ms(0));
        window.limit(16, ms(1));
        assert_eq!(window.size(), 16);
        assert_eq!(
            window.grow_when_due(ms(9000), Known::Limits),
            None,
            "not by waiting"
        );
        clean(&mut window, 31);
        assert_eq!(window.size(), 16);
        clean(&mut window, 1);
        assert_eq!(window.size(), 17);
        window.limit(16, ms(2));
        clean(&mut window, 63);
        assert_eq!(window.size(), 16);
    }

    #[test]
    fn the_largest_window_stays_the_largest() {
        let policy = LanePolicy {
            max_window: u32::MAX,
            ..LanePolicy::default()
        };
        let mut window = Window::new(policy, ms(0));
        window.resize(u32::MAX - 1, ms(0));
        assert_eq!(
            window.grow_when_due(ms(9000), Known::Limits),
            Some(ms(9000))
        );
        assert_eq!(window.size(), u32::MAX);
        assert_eq!(window.grow_when_due(ms(18_000), Known::Limits), None);
        window.add(u32::MAX);
        assert_eq!(window.size(), u32::MAX);
        assert!(window.is_used(u32::MAX) && !window.is_used(u32::MAX / 2));
    }

    /// Something that happens to a window.
    #[derive(Debug, Clone)]
    enum Happening {
        Held(Known),
        Succeeds(u32),
        Added(u32),
        Resized(u32),
        Halved,
        Limited(u32),
        Freed,
        Obeys(LanePolicy),
    }

    /// Few, or as many as there can be.
    fn number() -> impl Strategy<Value = u32> {
        prop_oneof![6 => 0..300_u32, 1 => any::<u32>(), 1 => Just(0), 1 => Just(u32::MAX)]
    }

    /// How long something takes: moments mostly, and now and then for ever.
    fn nanos() -> impl Strategy<Value = u64> {
        prop_oneof![8 => 0..10_000_000_000_u64, 1 => any::<u64>()]
    }

    fn policy() -> impl Strategy<Value = LanePolicy> {
        let policy = |(start_window, min_window, max_window)| LanePolicy {
            start_window,
            min_window,
            max_window,
            ..LanePolicy::default()
        };
        (number(), number(), number()).prop_map(policy)
    }

    fn heard() -> impl Strategy<Value = Heard> {
        (nanos(), nanos()).prop_map(|(at, took)| Heard {
            at: Time::from_nanos(at),
            took: Duration::from_nanos(took),
        })
    }

    fn known() -> impl Strategy<Value = Known> {
        prop_oneof![
            heard().prop_map(Known::Answers),
            heard().prop_map(Known::Queue),
            nanos().prop_map(|quiet| Known::Refusals(Duration::from_nanos(quiet))),
            Just(Known::Limits),
        ]
    }

    fn happening() -> impl Strategy<Value = Happening> {
        prop_oneof![
            6 => known().prop_map(Happening::Held),
            2 => number().prop_map(Happening::Succeeds),
            2 => number().prop_map(Happening::Added),
            1 => number().prop_map(Happening::Resized),
            2 => Just(Happening::Halved),
            2 => number().prop_map(Happening::Limited),
            1 => Just(Happening::Freed),
            1 => policy().prop_map(Happening::Obeys),
        ]
    }

    proptest! {
        #[test]
        fn it_stays_between_floor_and_ceiling_whatever_happens(
            first in policy(),
            steps in prop::collection::vec((happening(), nanos()), 1..60),
        ) {
            let mut policy = first;
            let mut now = Time::ZERO;
            let mut window = Window::new(policy, now);
            for (happening, pause) in steps {
                now = now + Duration::from_nanos(pause);
                let before = window.size();
                let bounds = |policy: LanePolicy| {
                    let ceiling = policy.max_window.max(1);
                    (policy.min_window.clamp(1, ceiling), ceiling)
                };
                let (floor, ceiling) = bounds(policy);
                let allowed = match happening {
                    Happening::Held(known) => {
                        let grows = window.grow_when_due(now, known).is_some_and(|due| due <= now);
                        prop_assert_eq!(grows, window.size() > before);
                        before..=before.saturating_add((before / 11).max(1))
                    }
                    Happening::Succeeds(others) => {
                        window.succeed(now, others);
                        before..=before.saturating_add(1)
                    }
                    Happening::Added(places) => {
                        window.add(places);
                        before..=before.saturating_add(places)
                    }
                    Happening::Resized(size) => {
                        window.resize(size, now);
                        size.clamp(floor, ceiling)..=size.clamp(floor, ceiling)
                    }
                    Happening::Halved => {
                        window.halve(now);
                        let half = (before / 2).max(floor);
                        half..=half
                    }
                    Happening::Limited(parallel) => {
                        window.limit(parallel, now);
                        let fit = parallel.min(before).max(floor);
                        fit..=fit
                    }
                    Happening::Freed => {
                        window.free(now);
                        before..=before
                    }
                    Happening::Obeys(other) => {
                        policy = policy.tighter(other);
                        window.obey(policy);
                        let fit = before.min(policy.max_window).max(1);
                        fit..=fit
                    }
                };
                prop_assert!(allowed.contains(&window.size()), "{} of {allowed:?}", window.size());
                let (floor, ceiling) = bounds(policy);
                prop_assert!((floor..=ceiling).contains(&window.size()));
            }
        }
    }
}
