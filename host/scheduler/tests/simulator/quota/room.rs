//! Limits that count what is inside: a window with an end, the last window, the present.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::time::Duration;

use runner_scheduler::Time;

use super::{Level, Quota};

/// So much until the window ends; then a new one.
#[derive(Debug)]
pub(crate) struct FixedWindow {
    limit: u64,
    window: Duration,
    used: u64,
    end: Time,
}

impl FixedWindow {
    /// The first window ends at `end`.
    pub(crate) fn new(limit: u64, window: Duration, end: Time) -> Self {
        Self {
            limit,
            window,
            used: 0,
            end,
        }
    }
}

impl Quota for FixedWindow {
    fn advance(&mut self, now: Time) {
        while self.end <= now {
            self.end = self.end + self.window;
            self.used = 0;
        }
    }

    fn opens(&self, now: Time, amount: u64) -> Time {
        if amount > self.limit {
            Time::NEVER
        } else if self.used + amount <= self.limit {
            now
        } else {
            self.end
        }
    }

    fn take(&mut self, _now: Time, amount: u64, _until: Time) {
        self.used += amount;
    }

    fn level(&self, now: Time) -> Level {
        Level {
            limit: self.limit,
            remaining: self.limit.saturating_sub(self.used),
            reset: self.end.since(now),
        }
    }

    fn resize(&mut self, limit: u64) {
        self.limit = limit;
    }
}

/// So much in any window.
#[derive(Debug)]
pub(crate) struct SlidingLog {
    limit: u64,
    window: Duration,
    log: VecDeque<(Time, u64)>,
    used: u64,
}

impl SlidingLog {
    /// Nothing was sent yet.
    pub(crate) fn new(limit: u64, window: Duration) -> Self {
        Self {
            limit,
            window,
            log: VecDeque::new(),
            used: 0,
        }
    }
}

impl Quota for SlidingLog {
    fn advance(&mut self, now: Time) {
        while let Some(&(at, amount)) = self.log.front()
            && at + self.window <= now
        {
            self.log.pop_front();
            self.used -= amount;
        }
    }

    fn opens(&self, now: Time, amount: u64) -> Time {
        let mut used = self.used;
        let mut at = now;
        for (sent, freed) in &self.log {
            if used + amount <= self.limit {
                return at;
            }
            used -= freed;
            at = *sent + self.window;
        }
        if used + amount <= self.limit {
            at
        } else {
            Time::NEVER
        }
    }

    fn take(&mut self, now: Time, amount: u64, _until: Time) {
        self.log.push_back((now, amount));
        self.used += amount;
    }

    fn level(&self, now: Time) -> Level {
        let oldest = self.log.front().map_or(now, |(at, _)| *at + self.window);
        Level {
            limit: self.limit,
            remaining: self.limit.saturating_sub(self.used),
            reset: oldest.since(now),
        }
    }

    fn resize(&mut self, limit: u64) {
        self.limit = limit;
    }
}

/// So much in any window, as far as two fixed ones tell: all of this one, and of the last the part that
/// the window which slides still has of it.
#[derive(Debug)]
pub(crate) struct SlidingCounter {
    limit: u64,
    window: Duration,
    used: u64,
    before: u64,
    end: Time,
}

impl SlidingCounter {
    /// The first window ends at `end`.
    pub(crate) fn new(limit: u64, window: Duration, end: Time) -> Self {
        Self {
            limit,
            window,
            used: 0,
            before: 0,
            end,
        }
    }

    /// What is counted of the last window, rounded down.
    fn share(&self, now: Time) -> u64 {
        let left = self.end.since(now).as_nanos();
        (u128::from(self.before) * left / self.window.as_nanos()) as u64
    }
}

impl Quota for SlidingCounter {
    fn advance(&mut self, now: Time) {
        while self.end <= now {
            self.end = self.end + self.window;
            self.before = std::mem::take(&mut self.used);
        }
    }

    fn opens(&self, now: Time, amount: u64) -> Time {
        if amount > self.limit {
            return Time::NEVER;
        }
        if self.used + self.share(now) + amount <= self.limit {
            return now;
        }
        // In this window so many of the last one may be left, in the next so many of this one.
        let (of, most, end) = match self.limit.checked_sub(self.used + amount) {
            Some(most) => (self.before, most, self.end),
            None => (self.used, self.limit - amount, self.end + self.window),
        };
        if of <= most {
            return end.before(self.window);
        }
        let window = self.window.as_nanos();
        let left = (u128::from(most + 1) * window - 1) / u128::from(of);
        end.before(Duration::from_nanos(left as u64))
    }

    fn take(&mut self, _now: Time, amount: u64, _until: Time) {
        self.used += amount;
    }

    fn level(&self, now: Time) -> Level {
        Level {
            limit: self.limit,
            remaining: self.limit.saturating_sub(self.used + self.share(now)),
            reset: self.end.since(now),
        }
    }

    fn resize(&mut self, limit: u64) {
        self.limit = limit;
    }
}

/// So many at the same time.
#[derive(Debug)]
pub(crate) struct Parallel {
    limit: u64,
    /// When those inside leave.
    leaving: BinaryHeap<Reverse<Time>>,
}

impl Parallel {
    /// Nobody is inside.
    pub(crate) fn new(limit: u64) -> Self {
        Self {
            limit,
            leaving: BinaryHeap::new(),
        }
    }
}

impl Quota for Parallel {
    fn advance(&mut self, now: Time) {
        while self.leaving.peek().is_some_and(|leaves| leaves.0 <= now) {
            self.leaving.pop();
        }
    }

    fn opens(&self, now: Time, amount: u64) -> Time {
        let inside = self.leaving.len() as u64;
        if amount > self.limit {
            Time::NEVER
        } else if inside + amount <= self.limit {
            now
        } else {
            let mut times: Vec<Time> = self.leaving.iter().map(|leaves| leaves.0).collect();
            times.sort_unstable();
            times[(inside + amount - self.limit - 1) as usize]
        }
    }

    fn take(&mut self, _now: Time, amount: u64, until: Time) {
        for _ in 0..amount {
            self.leaving.push(Reverse(until));
        }
    }

    fn level(&self, _now: Time) -> Level {
        Level {
            limit: self.limit,
            remaining: self.limit.saturating_sub(self.leaving.len() as u64),
            reset: Duration::ZERO,
        }
    }

    fn resize(&mut self, limit: u64) {
        self.limit = limit;
    }
}
