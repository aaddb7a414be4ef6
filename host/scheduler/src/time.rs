//! Points in time as integers.
//!
//! The machine never asks what time it is: every verb is given a [`Time`]. Integer nanoseconds
//! because adding up floats makes two equal instants differ, and a difference of nothing has
//! kept other schedulers awake for ever.

use std::ops::{Add, Sub};
use std::time::Duration;

/// Nanoseconds since a start that the caller chose; never goes back. Holds 584 years.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(u64);

impl Time {
    /// The caller's start.
    pub const ZERO: Self = Self(0);
    /// Later than everything: "never".
    pub const NEVER: Self = Self(u64::MAX);

    /// The time `nanos` after the start.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the start.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// How long after `earlier` this is; zero if it is not.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }

    /// The time `span` before this one, or the start.
    #[must_use]
    pub fn before(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(nanos(span)))
    }
}

impl Add<Duration> for Time {
    type Output = Self;

    /// Saturates: far enough in the future is "never".
    fn add(self, span: Duration) -> Self {
        Self(self.0.saturating_add(nanos(span)))
    }
}

impl Sub for Time {
    type Output = Duration;

    /// Saturates: see [`Time::since`].
    fn sub(self, earlier: Self) -> Duration {
        self.since(earlier)
    }
}

/// A span in nanoseconds, saturating.
pub(crate) fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn far_enough_in_the_future_is_never() {
        assert_eq!(Time::NEVER + Duration::from_secs(1), Time::NEVER);
        assert_eq!(Time::ZERO + Duration::MAX, Time::NEVER);
    }

    #[test]
    fn nothing_is_before_the_start() {
        assert_eq!(Time::ZERO.before(Duration::from_secs(1)), Time::ZERO);
        assert_eq!(Time::ZERO - Time::from_nanos(5), Duration::ZERO);
    }
}
