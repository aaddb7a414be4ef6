//! How many attempts of a lane may be in flight.
//!
//! A window is a rate only when divided by a latency, so it can't meet a quota alone; `bucket`
//! and `pace` do that. The window answers the other question: how much at once. It starts at 4
//! (published), and what it becomes is somebody's word or somebody's answer:
//!
//! - **Whose word.** Up to what the user asked for (`-j`) it doubles as long as nothing was refused,
//!   each 150 ms: so many are welcome, and a first refusal is heard before all of them are on the
//!   wire. The same where the server declares its limits, or where its rate was measured: the buckets
//!   and the pace say how much may be sent, and the window only has to get out of their way.
//! - **Whose answer.** Beyond that it grows with answers alone, never with time: what is on the wire
//!   and unanswered bounds what may follow. It grows while `knee` finds that more at once get more
//!   answers, and goes back to where they did.
//! - It **halves** (published) at the first refusal that nothing declared explains, once per
//!   episode: attempts that were sent before the cut say nothing new. So it does when an attempt ran
//!   out of time and none that was sent after it was answered: then it waited in a queue.
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
    CAREFUL_SPELL, DECLARED_SPELL, FIRST_SIZE, IN_USE_PER_MILLE, MANY, MOST_ROUNDS, SILENCE, STEPS,
    WELCOME_SPELL,
};

/// What says how much is welcome, beside answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Known {
    /// The user's word alone.
    Word,
    /// The rate was measured; a refusal is there within this, generously.
    Paced(Duration),
    /// The server declares its limits.
    Limits,
    /// Nothing: a refusal or a queue was seen.
    Nothing,
    /// Not even an answer: the first may hang.
    Silence,
}

/// A lane's window.
#[derive(Debug)]
pub(crate) struct Window {
    size: u32,
    policy: LanePolicy,
    /// A limit of parallel requests was found.
    fitted: bool,
    /// When it last changed.
    changed: Time,
    /// What attempts earned that ended well since then while it was in use: eighths of a place, or
    /// where it is fitted, answers.
    earned: u32,
    /// Rounds of answers before a fitted one grows.
    rounds: u32,
}

impl Window {
    pub(crate) fn new(policy: LanePolicy, now: Time) -> Self {
        let mut window = Self {
            size: 1,
            policy,
            fitted: false,
            changed: now,
            earned: 0,
            rounds: 1,
        };
        window.set(policy.start_window.min(FIRST_SIZE), now);
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

    /// A job is held back by the window alone: grows if a spell has passed, or says when it will.
    /// `None`: it grows no more by waiting.
    pub(crate) fn press(&mut self, now: Time, known: Known) -> Option<Time> {
        let (spell, most) = match known {
            Known::Limits => (DECLARED_SPELL, self.policy.max_window),
            Known::Paced(quiet) => (quiet.max(DECLARED_SPELL), self.policy.max_window),
            Known::Word if self.size < MANY => (WELCOME_SPELL, self.policy.start_window),
            Known::Word => (CAREFUL_SPELL, self.policy.start_window),
            Known::Silence if self.size >= self.policy.start_window => {
                (SILENCE * STEPS, self.policy.max_window)
            }
            Known::Silence => return self.press(now, Known::Word),
            Known::Nothing => return None,
        };
        if self.fitted || self.size >= most.min(self.policy.max_window) {
            return None;
        }
        let due = self.changed + spell / STEPS;
        if now < due {
            return Some(due);
        }
        // An eleventh eight times over is a doubling.
        let more = match known {
            Known::Silence => 1,
            _ => (self.size / 11).max(1),
        };
        self.set((self.size + more).min(most), now);
        Some(now)
    }

    /// A new spell begins: nothing was held back until now.
    pub(crate) fn rest(&mut self, now: Time) {
        self.changed = now;
    }

    /// An attempt ended well while `in_flight` others and itself were out; what it earns are so many
    /// eighths of a place.
    pub(crate) fn succeed(&mut self, in_flight: u32, eighths: u32) {
        let used = u64::from(in_flight) * 1000 >= u64::from(self.size) * IN_USE_PER_MILLE;
        if !used {
            return;
        }
        let (earns, price) = if self.fitted {
            (1, self.size.saturating_mul(self.rounds))
        } else {
            (eighths, 8)
        };
        self.earned += earns;
        if self.earned >= price {
            self.earned = 0;
            self.size = (self.size + 1).min(self.policy.max_window.max(1));
        }
    }

    /// Halves.
    pub(crate) fn cut(&mut self, now: Time) {
        self.set(self.size / 2, now);
    }

    /// Takes so many at once, as the knee says.
    pub(crate) fn turn(&mut self, size: u32, now: Time) {
        self.set(size, now);
    }

    /// The server takes `parallel` at once and no more.
    pub(crate) fn fit(&mut self, parallel: u32, now: Time) {
        self.fitted = true;
        self.rounds = (self.rounds * 2).min(MOST_ROUNDS);
        self.set(parallel.min(self.size), now);
    }

    /// The rate was the reason, which others take care of: out of their way.
    pub(crate) fn widen(&mut self, now: Time) {
        self.fitted = false;
        self.changed = now;
    }

    fn set(&mut self, size: u32, now: Time) {
        let least = self.policy.min_window.min(self.policy.max_window).max(1);
        self.size = size.clamp(least, self.policy.max_window.max(1));
        self.changed = now;
        self.earned = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    /// The user asked for so many.
    fn window(word: u32) -> Window {
        Window::new(
            LanePolicy {
                start_window: word,
                ..LanePolicy::default()
            },
            Time::ZERO,
        )
    }

    /// Ends `count` attempts well with the window full.
    fn clean(window: &mut Window, count: u32) {
        for _ in 0..count {
            window.succeed(window.size(), 8);
        }
    }

    /// What it becomes by waiting, and how long that takes.
    fn waited(window: &mut Window, known: Known) -> (u32, u128) {
        let mut now = Time::ZERO;
        while let Some(due) = window.press(now, known) {
            now = due;
        }
        (window.size(), (now - Time::ZERO).as_millis())
    }

    #[test]
    fn it_starts_at_four_and_grows_by_waiting_up_to_the_user_s_word() {
        assert_eq!(window(20).size(), 4);
        assert_eq!(waited(&mut window(20), Known::Word), (20, 300));
        let wide = waited(&mut window(100), Known::Word);
        assert!(wide.0 == 100 && wide.1 < 1500, "{wide:?}");
        assert_eq!(waited(&mut window(4), Known::Word), (4, 0));
        assert_eq!(waited(&mut window(20), Known::Nothing), (4, 0));
    }

    #[test]
    fn declared_limits_let_it_out_of_the_way() {
        assert_eq!(waited(&mut window(4), Known::Limits).0, 256);
        let quiet = Duration::from_secs(1);
        let slower = waited(&mut window(4), Known::Paced(quiet));
        assert!(slower.0 == 256 && slower.1 > 5000, "{slower:?}");
    }

    #[test]
    fn it_grows_with_each_answer_or_with_a_part_of_them() {
        let mut window = window(4);
        clean(&mut window, 4);
        assert_eq!(window.size(), 8, "it doubles with a round");
        for _ in 0..8 {
            window.succeed(8, 1);
        }
        assert_eq!(window.size(), 9);
    }

    #[test]
    fn a_refusal_begins_a_new_spell() {
        let mut window = window(20);
        window.rest(ms(200));
        let due = Time::ZERO + Duration::from_micros(218_750);
        assert_eq!(window.press(ms(201), Known::Word), Some(due));
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
        clean(&mut window, 9);
        assert_eq!(window.size(), 6);
        assert_eq!(window.press(ms(9000), Known::Limits), None);
    }

    #[test]
    fn a_cut_halves_and_never_goes_below_the_floor() {
        let mut window = window(4);
        window.cut(ms(1));
        assert_eq!(window.size(), 2);
        for _ in 0..5 {
            window.cut(ms(1));
        }
        assert_eq!(window.size(), 1);
    }

    #[test]
    fn an_idle_window_does_not_grow() {
        let mut window = window(4);
        for _ in 0..100 {
            window.succeed(1, 8);
        }
        assert_eq!(window.size(), 4);
    }

    #[test]
    fn each_confirmation_of_a_parallel_limit_doubles_the_rounds_before_the_next_try() {
        let mut window = window(64);
        window.turn(64, ms(0));
        window.fit(16, ms(1));
        assert_eq!(window.size(), 16);
        assert_eq!(window.press(ms(9000), Known::Word), None, "no doubling");
        clean(&mut window, 31);
        assert_eq!(window.size(), 16);
        clean(&mut window, 1);
        assert_eq!(window.size(), 17);
        window.fit(16, ms(2));
        clean(&mut window, 63);
        assert_eq!(window.size(), 16);
    }
}
