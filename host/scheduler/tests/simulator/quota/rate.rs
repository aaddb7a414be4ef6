//! Limits that come back evenly: the token bucket and the generic cell rate algorithm.
//!
//! Both in whole numbers: a bucket's level is counted in units × nanoseconds of its window, so
//! that a nanosecond's refill is a whole number and nothing is ever rounded.

use std::time::Duration;

use runner_scheduler::Time;

use super::{Level, Quota};

/// A token bucket.
#[derive(Debug)]
pub(crate) struct Bucket {
    limit: u64,
    window: u64,
    /// Units × nanoseconds of the window; below zero when others took more than there was.
    level: i128,
    at: Time,
}

impl Bucket {
    /// A full bucket.
    pub(crate) fn new(limit: u64, window: Duration) -> Self {
        let window = window.as_nanos() as u64;
        Self {
            limit,
            window,
            level: i128::from(limit) * i128::from(window),
            at: Time::ZERO,
        }
    }

    fn scaled(&self, amount: u64) -> i128 {
        i128::from(amount) * i128::from(self.window)
    }

    fn until(&self, level: i128) -> Duration {
        let missing = (level - self.level).max(0) as u128;
        Duration::from_nanos(missing.div_ceil(u128::from(self.limit.max(1))) as u64)
    }
}

impl Quota for Bucket {
    fn advance(&mut self, now: Time) {
        let span = now.since(self.at).as_nanos() as i128;
        let refilled = self.level + i128::from(self.limit) * span;
        self.level = refilled.min(self.scaled(self.limit));
        self.at = now;
    }

    fn opens(&self, now: Time, amount: u64) -> Time {
        if amount > self.limit {
            return Time::NEVER;
        }
        now + self.until(self.scaled(amount))
    }

    fn take(&mut self, _now: Time, amount: u64, _until: Time) {
        self.level -= self.scaled(amount);
    }

    fn level(&self, _now: Time) -> Level {
        Level {
            limit: self.limit,
            remaining: (self.level.max(0) / i128::from(self.window)) as u64,
            reset: self.until(self.scaled(self.limit)),
        }
    }

    fn resize(&mut self, limit: u64) {
        self.limit = limit;
        self.level = self.level.min(self.scaled(limit));
    }
}

/// One call every interval, with some ahead of time.
#[derive(Debug)]
pub(crate) struct Gcra {
    burst: u64,
    interval: u64,
    /// When the next call would be due if all came evenly.
    due: Time,
}

impl Gcra {
    /// Nothing used yet.
    pub(crate) fn new(burst: u64, interval: Duration) -> Self {
        Self {
            burst,
            interval: interval.as_nanos() as u64,
            due: Time::ZERO,
        }
    }

    fn span(&self, amount: u64) -> Duration {
        Duration::from_nanos(amount.saturating_mul(self.interval))
    }
}

impl Quota for Gcra {
    fn advance(&mut self, _now: Time) {}

    fn opens(&self, now: Time, amount: u64) -> Time {
        if amount > self.burst {
            return Time::NEVER;
        }
        let due = self.due.max(now) + self.span(amount);
        now.max(due.before(self.span(self.burst)))
    }

    fn take(&mut self, now: Time, amount: u64, _until: Time) {
        self.due = self.due.max(now) + self.span(amount);
    }

    fn level(&self, now: Time) -> Level {
        let ahead = self.due.since(now);
        let used = ahead.as_nanos().div_ceil(u128::from(self.interval)) as u64;
        Level {
            limit: self.burst,
            remaining: self.burst.saturating_sub(used),
            reset: ahead,
        }
    }

    fn resize(&mut self, limit: u64) {
        self.interval = self.interval * self.burst / limit.max(1);
        self.burst = limit;
    }
}
