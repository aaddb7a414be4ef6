//! When an allowance tries more, and how much.
//!
//! A limit that was found out is not for ever: it is raised, somebody else who used it leaves, or it was none and
//! the server had a bad minute. So after a calm stretch more is tried: one more, and while that stands twice
//! as many more each time. **What stands** is what twice as many attempts as before say nothing against: one
//! window of the server's may have begun before the first of them, the next one has not.
//!
//! A refusal goes back to what stood. If more than that was accepted, half of the step is tried next, until
//! there is none left. Otherwise the limit is confirmed, and the next calm stretch is longer.
//!
//! A limit that nothing has confirmed yet is tried with much more: that tells within a part of a window whether
//! there is one, and costs no time. What was sent too soon would have been sent later in that window.

use crate::tuning::allowance::{BOLD, CALM, CALM_WINDOWS};

/// The growth of a limit.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Growth {
    /// Attempts since the limit changed.
    calm: u64,
    /// What is tried beyond what stood; 0 outside of a series.
    step: u64,
    /// What stood before.
    stood: u64,
    /// Steps become smaller.
    narrows: bool,
    /// A refusal has shown the limit.
    is_confirmed: bool,
    /// How often it did so after a calm stretch, as a power of two.
    confirmed: u32,
}

impl Growth {
    /// What is known to stand where so many may be sent.
    pub(super) fn standing(&self, limit: u64) -> u64 {
        if self.step > 0 { self.stood } else { limit }
    }

    /// Takes in that an attempt is sent; gives how many may be sent from now on.
    pub(super) fn sent(&mut self, limit: u64) -> u64 {
        self.calm += 1;
        if self.calm < self.pause(limit) {
            return limit;
        }
        self.calm = 0;
        self.stood = limit;
        self.step = match self.step {
            0 if self.is_confirmed => 1,
            0 => limit.saturating_mul(BOLD - 1),
            step if self.narrows => step / 2,
            step => step.saturating_mul(2),
        };
        self.narrows &= self.step > 0;
        limit.saturating_add(self.step)
    }

    /// Takes in a refusal where `held` had been accepted in a window; gives how many may be sent.
    pub(super) fn refused(&mut self, held: u64, limit: u64) -> u64 {
        self.calm = 0;
        if self.step == 0 {
            self.is_confirmed = true;
            return held.min(limit - 1);
        }
        let is_over = held <= self.stood + 1 || self.step == 1;
        self.narrows = !is_over;
        if is_over {
            self.step = 0;
            self.is_confirmed = true;
            self.confirmed += 1;
        }
        held.min(self.stood)
    }

    /// Attempts without a refusal before more is tried.
    fn pause(&self, limit: u64) -> u64 {
        if self.step > 0 {
            return self.stood.saturating_mul(2).saturating_add(1);
        }
        let most = limit.saturating_mul(CALM_WINDOWS);
        let windows = limit.saturating_mul(1 << self.confirmed.min(16));
        windows.min(most).max(most.min(CALM))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends so many where no more than `limit` may be; gives how many may be.
    fn calm(growth: &mut Growth, limit: u64, count: u64) -> u64 {
        (0..count).fold(limit, |limit, _| growth.sent(limit))
    }

    /// Of a limit that a refusal has shown.
    fn confirmed() -> Growth {
        let mut growth = Growth::default();
        assert_eq!(growth.refused(50, 60), 50);
        growth
    }

    #[test]
    fn while_it_stands_twice_as_many_more_are_tried_each_time() {
        let mut growth = confirmed();
        assert_eq!(calm(&mut growth, 50, 999), 50);
        assert_eq!(calm(&mut growth, 50, 1), 51);
        assert_eq!(
            calm(&mut growth, 51, 100),
            51,
            "the next window may not have begun"
        );
        assert_eq!(calm(&mut growth, 51, 1), 53);
        assert_eq!(calm(&mut growth, 53, 103), 57);
        assert_eq!(growth.standing(57), 53);
    }

    #[test]
    fn a_refusal_goes_back_to_what_stood_and_half_a_step_is_tried_until_none_is_left() {
        let mut growth = confirmed();
        // There are 100 now.
        let (mut limit, mut refusals) = (50, 0);
        for _ in 0..10_000 {
            limit = growth.sent(limit);
            if limit > 100 && growth.calm > 50 {
                limit = growth.refused(100, limit);
                refusals += 1;
            }
        }
        assert!((95..=101).contains(&limit), "{limit}");
        assert!(refusals <= 10, "{refusals}");
    }

    #[test]
    fn of_what_nothing_has_confirmed_four_times_as_much_is_tried() {
        let mut growth = Growth::default();
        assert_eq!(calm(&mut growth, 2000, 1999), 2000);
        assert_eq!(calm(&mut growth, 2000, 1), 8000);
        assert_eq!(growth.refused(2000, 8000), 2000);
        assert_eq!(calm(&mut growth, 2000, 4000), 2001, "it was no more");
    }

    #[test]
    fn a_limit_that_was_confirmed_is_tried_ever_later() {
        let mut growth = confirmed();
        for windows in [1, 2, 4, 8, 16, 20, 20] {
            let pause = windows * 2000;
            assert_eq!(calm(&mut growth, 2000, pause - 1), 2000);
            assert_eq!(calm(&mut growth, 2000, 1), 2001);
            assert_eq!(growth.refused(2001, 2001), 2000);
        }
    }

    #[test]
    fn of_a_small_limit_twenty_windows_are_calm() {
        let mut growth = confirmed();
        assert_eq!(calm(&mut growth, 10, 199), 10);
        assert_eq!(calm(&mut growth, 10, 1), 11);
    }
}
