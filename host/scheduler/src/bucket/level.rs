//! Credit and its rates, in millionths of a limit's unit, so that slow refills don't round to
//! nothing.
//!
//! Types of their own, since a bucket has whole requests or tokens beside them, and a millionth
//! taken for a whole is a wrong wait that nothing shows. Integers, as everywhere here.

use std::ops::{Add, AddAssign, Sub, SubAssign};
use std::time::Duration;

use crate::time::nanos;

/// Millionths of a unit.
const UNIT: i128 = 1_000_000;

/// Nanoseconds of a second.
const SECOND: i128 = 1_000_000_000;

/// An amount of credit; below zero if more was used than there was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) struct Level(i128);

impl Level {
    pub(super) const ZERO: Self = Self(0);

    /// So many whole requests or tokens.
    pub(super) fn whole(units: u64) -> Self {
        Self(i128::from(units) * UNIT)
    }

    /// The whole requests or tokens of it; zero below zero.
    pub(super) fn units(self) -> u64 {
        u64::try_from(self.0 / UNIT).unwrap_or(0)
    }

    /// `by` parts of it of which `over` are all; `over` is not 0.
    pub(super) fn scaled(self, by: i128, over: i128) -> Self {
        Self(self.0 * by / over)
    }

    /// What comes back in `span` of a credit that all comes back in `window`.
    pub(super) fn refilled(self, span: Duration, window: Duration) -> Self {
        self.scaled(nanos(span).into(), nanos(window).max(1).into())
    }

    /// How many times so many units it is, in fractions of `scale`; rounded down.
    pub(super) fn ratio(self, units: u64, scale: u64) -> i128 {
        (self.0 * i128::from(scale)).div_euclid(Self::whole(units).0)
    }

    pub(super) fn abs(self) -> Self {
        Self(self.0.abs())
    }
}

impl Add for Level {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl Sub for Level {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl AddAssign for Level {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl SubAssign for Level {
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

/// Credit a second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) struct Rate(i128);

impl Rate {
    pub(super) const ZERO: Self = Self(0);

    /// So much in each `window`.
    pub(super) fn of(credit: Level, window: Duration) -> Self {
        Self(credit.0 * SECOND / i128::from(nanos(window).max(1)))
    }

    /// What comes together in `span`.
    pub(super) fn over(self, span: Duration) -> Level {
        Level(self.0 * i128::from(nanos(span)) / SECOND)
    }

    /// What is left of it when others take `taken`; a twentieth is always ours to try.
    pub(super) fn without(self, taken: Self) -> Self {
        Self((self.0 - taken.0).max(self.0 / 20))
    }

    /// How long until `credit` has come together.
    pub(super) fn time_for(self, credit: Level) -> Duration {
        let wait = (credit.0 * SECOND).div_euclid(self.0.max(1)) + 1;
        Duration::from_nanos(u64::try_from(wait).unwrap_or(u64::MAX))
    }

    /// Moves it to the rate of `credit` in `span`, as a mean over `memory`.
    pub(super) fn learn(&mut self, credit: Level, span: Duration, memory: Duration) {
        let (span, memory) = (i128::from(nanos(span)), i128::from(nanos(memory)));
        self.0 += (credit.0 * SECOND - self.0 * span) / memory.max(span);
    }
}
