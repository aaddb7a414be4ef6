//! How many attempts of a lane may be in flight.
//!
//! A window is a rate only when divided by a latency, so it can't meet a quota alone; `bucket`
//! and `pace` do that. The window answers the other question: how much at once. It starts at 4
//! (published) and
//!
//! - **doubles** as long as nothing was refused: once per quiet spell, not once per round
//!   trip. Silence is acceptance: a refusal comes back in a round trip of the network, a
//!   completion takes seconds, so a spell without a refusal says that the server took all. At
//!   25 s latency this is the difference between minutes and seconds. Where answers keep
//!   coming, a spell is a quarter of what they take, so that calls that hang don't fill the
//!   window before it has grown; where answers stop or slow down, it is a second again.
//! - **halves** (published) at the first refusal that nothing declared explains, once per
//!   episode: attempts that were sent before the cut say nothing new.
//! - Where refusals come back at the same number in flight, the server limits parallel
//!   requests. Halving again and again costs a quarter of such a limit, so the window goes to
//!   that number instead. From then on it **adds one** (published) after clean rounds in which
//!   it was in use: two, and twice as many after each further refusal.
//!
//! It only grows while it is what holds jobs back; an idle window proves nothing.

use std::time::Duration;

use crate::policy::LanePolicy;
use crate::time::Time;
use crate::tuning::window::{
    DECLARED_SPELL, FIRST_SPELL, FIRST_SPELL_BELOW, MOST_ROUNDS, SHORTEST_SPELL, SPELL, SPELLS,
    STEPS,
};

/// What is known of the server, which says how long a quiet spell has to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Known {
    /// Nothing has come back yet.
    Nothing,
    /// It answers, and says nothing about limits.
    Answers,
    /// The same, and answers keep coming, each after about this.
    Steady(Duration),
    /// A refusal is there within this, generously.
    Refusals(Duration),
    /// It declares its limits.
    Limits,
}

/// A lane's window.
#[derive(Debug)]
pub(crate) struct Window {
    size: u32,
    policy: LanePolicy,
    /// Doubling, until a limit of parallel requests is found.
    doubling: bool,
    /// When it last changed.
    changed: Time,
    /// Attempts that ended well since then while it was in use.
    clean: u32,
    /// Rounds of that before it grows by one.
    rounds: u32,
}

impl Window {
    pub(crate) fn new(policy: LanePolicy, now: Time) -> Self {
        Self {
            size: policy.start_window.min(policy.max_window).max(1),
            policy,
            doubling: true,
            changed: now,
            clean: 0,
            rounds: 1,
        }
    }

    pub(crate) fn size(&self) -> u32 {
        self.size
    }

    /// Obeys another policy from now on.
    pub(crate) fn obey(&mut self, policy: LanePolicy) {
        self.policy = policy;
        self.size = self.size.min(policy.max_window).max(1);
    }

    /// A job is held back by the window alone: doubles it if the spell was quiet, or says when
    /// it will. `None`: it grows no more by waiting.
    pub(crate) fn press(&mut self, now: Time, known: Known) -> Option<Time> {
        if !self.doubling || self.size >= self.policy.max_window {
            return None;
        }
        let spell = match known {
            Known::Limits => DECLARED_SPELL,
            Known::Refusals(quiet) => quiet.max(DECLARED_SPELL),
            Known::Nothing if self.size < FIRST_SPELL_BELOW => FIRST_SPELL,
            Known::Nothing | Known::Answers => SPELL,
            Known::Steady(usual) => (usual / SPELLS).clamp(SHORTEST_SPELL, SPELL),
        };
        let due = self.changed + spell / STEPS;
        if now < due {
            return Some(due);
        }
        self.set(self.size + (self.size / 11).max(1), now);
        Some(now)
    }

    /// A new spell begins: nothing was held back until now.
    pub(crate) fn rest(&mut self, now: Time) {
        self.changed = now;
    }

    /// An attempt ended well while `in_flight` others and itself were out.
    pub(crate) fn succeed(&mut self, now: Time, in_flight: u32) {
        let used = u64::from(in_flight) * 5 >= u64::from(self.size) * 4;
        if self.doubling || !used {
            return;
        }
        self.clean += 1;
        if self.clean >= self.size.saturating_mul(self.rounds) {
            self.set(self.size + 1, now);
        }
    }

    /// Halves.
    pub(crate) fn cut(&mut self, now: Time) {
        self.set(self.size / 2, now);
    }

    /// The server takes `parallel` at once and no more.
    pub(crate) fn fit(&mut self, parallel: u32, now: Time) {
        self.doubling = false;
        self.rounds = (self.rounds * 2).min(MOST_ROUNDS);
        self.set(parallel.min(self.size), now);
    }

    /// The rate was the reason, which others take care of: out of their way.
    pub(crate) fn widen(&mut self, now: Time) {
        self.doubling = true;
        self.changed = now;
    }

    fn set(&mut self, size: u32, now: Time) {
        let least = self.policy.min_window.min(self.policy.max_window).max(1);
        self.size = size.clamp(least, self.policy.max_window.max(1));
        self.changed = now;
        self.clean = 0;
    }
}

#[cfg(test)]
mod tests {
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

    #[test]
    fn it_starts_at_four_and_doubles_with_each_quiet_spell_that_it_is_pressed() {
        let mut window = window();
        assert_eq!(window.size(), 4);
        let mut now = Time::ZERO;
        let mut sizes = Vec::new();
        while window.size() < 16 {
            let due = window.press(now, Known::Nothing).expect("it grows");
            if window.size() == 8 && sizes.is_empty() {
                sizes.push((now - Time::ZERO).as_millis());
            }
            now = due;
        }
        assert_eq!(sizes, [75], "small windows grow by whole calls, so faster");
        assert!(now <= ms(320), "{now:?}");
        let slower = window.press(now, Known::Nothing).expect("it grows") - now;
        assert_eq!(slower.as_millis(), 125);
    }

    #[test]
    fn declared_limits_let_it_out_of_the_way_sooner() {
        let mut window = window();
        assert_eq!(
            window.press(ms(5), Known::Limits),
            Some(Time::ZERO + Duration::from_micros(11_250))
        );
    }

    #[test]
    fn a_spell_is_a_quarter_of_a_steady_answer_and_never_longer_than_without() {
        let due = |known| {
            let due = window().press(Time::ZERO, known).expect("it grows");
            (due - Time::ZERO).as_micros()
        };
        let steady = |ms| due(Known::Steady(Duration::from_millis(ms)));
        assert_eq!([steady(0), steady(80), steady(800)], [1_250, 2_500, 25_000]);
        assert_eq!([steady(60_000), due(Known::Answers)], [125_000; 2]);
    }

    #[test]
    fn a_refusal_begins_a_new_spell() {
        let mut window = window();
        window.rest(ms(200));
        assert_eq!(window.press(ms(201), Known::Answers), Some(ms(325)));
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
        for step in 1..5 {
            window.press(ms(250 * step), Known::Nothing);
        }
        assert_eq!(window.size(), 6);
        assert_eq!(window.press(ms(9000), Known::Nothing), None);
    }

    #[test]
    fn a_cut_halves_and_never_goes_below_the_floor() {
        let mut window = window();
        window.cut(ms(1));
        assert_eq!(window.size(), 2);
        for _ in 0..5 {
            window.cut(ms(1));
        }
        assert_eq!(window.size(), 1);
    }

    #[test]
    fn an_idle_window_does_not_grow() {
        let mut window = window();
        window.fit(3, ms(1));
        for _ in 0..100 {
            window.succeed(ms(2), 1);
        }
        assert_eq!(window.size(), 3);
    }

    #[test]
    fn each_confirmation_of_a_parallel_limit_doubles_the_rounds_before_the_next_try() {
        let mut window = Window::new(
            LanePolicy {
                start_window: 64,
                ..LanePolicy::default()
            },
            Time::ZERO,
        );
        window.fit(16, ms(1));
        assert_eq!(window.size(), 16);
        assert_eq!(window.press(ms(9000), Known::Answers), None, "no doubling");
        clean(&mut window, 31);
        assert_eq!(window.size(), 16);
        clean(&mut window, 1);
        assert_eq!(window.size(), 17);
        window.fit(16, ms(2));
        clean(&mut window, 63);
        assert_eq!(window.size(), 16);
    }
}
