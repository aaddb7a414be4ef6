//! Whether to try again, and when: a pure function of what happened.
//!
//! This is the only layer that retries. The client below does not (its own retries are
//! off), plugins do not, the run above does not; layers that each try three times multiply
//! one refused request into a storm.
//!
//! A timeout is never retried: the exchange's time was for all attempts together, so none
//! is left, and a completion that was slow once costs as much to be slow again.

use std::time::Duration;

use super::class::Class;
use super::hint::Hint;

#[cfg(test)]
mod tests;

/// The numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Retries after the first attempt.
    pub max_retries: u32,
    /// Upper end of the first pause; doubles with each retry.
    pub base: Duration,
    /// Where doubling ends.
    pub cap: Duration,
    /// Longest pause that a server may ask for. Rate limits reset within a minute or so;
    /// who asks for more has run out of something that a run should not sit out.
    pub longest_hint: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            max_retries: 3,
            base: Duration::from_secs(1),
            cap: Duration::from_mins(1),
            longest_hint: Duration::from_mins(10),
        }
    }
}

/// What the policy looks at.
#[derive(Debug, Clone, Copy)]
pub struct Attempted {
    /// How the attempt ended.
    pub class: Class,
    /// What the server said.
    pub hint: Hint,
    /// Retries done already.
    pub retries: u32,
    /// Retries allowed instead of the policy's number.
    pub allowed: Option<u32>,
    /// Time until the call's deadline; `None` without one.
    pub left: Option<Duration>,
}

/// What to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// Hand on what there is.
    Return,
    /// Pause, then try again.
    RetryAfter(Duration),
}

impl RetryPolicy {
    /// Decides. `draw` is a random number from [0, 1).
    ///
    /// Without a hint the pause is drawn from all of [0, base·2ⁿ): full jitter, which
    /// spreads callers that failed together. A hint is kept to and exceeded by up to a
    /// tenth (a second at most), so that those who got the same one don't return as a
    /// herd. A pause that would not end before the deadline is not begun.
    pub fn decide(&self, attempted: &Attempted, draw: f64) -> Decision {
        let retryable = matches!(attempted.class, Class::Throttled | Class::Transient);
        let allowed = attempted.allowed.unwrap_or(self.max_retries);
        if !retryable || !attempted.hint.again || attempted.retries >= allowed {
            return Decision::Return;
        }
        let pause = match attempted.hint.after {
            Some(asked) if asked > self.longest_hint => return Decision::Return,
            Some(asked) => asked + (asked / 10).min(Duration::from_secs(1)).mul_f64(draw),
            None => self.ceiling(attempted.retries).mul_f64(draw),
        };
        match attempted.left {
            Some(left) if pause >= left => Decision::Return,
            _ => Decision::RetryAfter(pause),
        }
    }

    fn ceiling(&self, retries: u32) -> Duration {
        let factor = 2u32.checked_pow(retries).unwrap_or(u32::MAX);
        self.base.saturating_mul(factor).min(self.cap)
    }
}
