//! The limits that servers enforce, as arithmetic over a time that the caller gives.
//!
//! Times count from the server's start. Integers throughout: a server that is wrong by one
//! call in a thousand would hide what is measured with it.

use std::time::Duration;

/// What a server enforces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// Nothing is ever refused.
    None,
    /// So many calls in each window; the next window begins with all of them.
    Window {
        /// Calls in a window.
        calls: u32,
        /// Length of a window.
        per: Duration,
        /// When windows begin.
        phase: Phase,
    },
    /// A bucket that starts full, gives a call for each token, and fills steadily.
    Bucket {
        /// Tokens that it holds.
        capacity: u32,
        /// How long it takes from empty to full.
        fills_in: Duration,
    },
    /// So many calls in flight.
    Parallel {
        /// Calls in flight.
        calls: u32,
    },
}

/// When the windows of a [`Limit::Window`] begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// The first one with the first request, the others follow on.
    FirstRequest,
    /// So long after the server's start, and every window's length before and after.
    SinceStart(Duration),
}

/// What becomes of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It is answered.
    Accepted(Option<Standing>),
    /// It is one too many.
    Refused(Option<Standing>),
    /// It came in a storm.
    Stormed,
    /// Its model has no quota left at all.
    Spent,
}

/// Where a limit stands, right after a request was counted. A parallel limit has none: no
/// server states one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Standing {
    /// What there is at most.
    pub(crate) limit: u32,
    /// Calls that would be accepted now.
    pub(crate) remaining: u32,
    /// How long until there are `limit` again.
    pub(crate) reset: Duration,
    /// How long until there is one.
    pub(crate) next: Duration,
}

/// A limit with its count.
#[derive(Debug)]
pub(crate) struct Meter {
    limit: Limit,
    storm: Duration,
    first: Option<Duration>,
    /// [`Limit::Window`]: which window, and calls in it.
    window: (u128, u32),
    /// [`Limit::Bucket`]: when it was looked at, and what was in it. A token is as many
    /// parts as filling takes nanoseconds: then each nanosecond brings `capacity` parts.
    bucket: (Duration, u128),
    in_flight: u32,
}

impl Meter {
    /// A limit that nothing has been taken from, after a storm of this length.
    pub(crate) fn new(limit: Limit, storm: Duration) -> Self {
        let full = match limit {
            Limit::Bucket { capacity, fills_in } => u128::from(capacity) * fills_in.as_nanos(),
            Limit::None | Limit::Window { .. } | Limit::Parallel { .. } => 0,
        };
        Self {
            limit,
            storm,
            first: None,
            window: (0, 0),
            bucket: (Duration::ZERO, full),
            in_flight: 0,
        }
    }

    /// Decides about a request and counts it. `now` never goes back.
    pub(crate) fn judge(&mut self, now: Duration) -> Verdict {
        let first = *self.first.get_or_insert(now);
        if now < first + self.storm {
            return Verdict::Stormed;
        }
        let (accepted, standing) = match self.limit {
            Limit::None => (true, None),
            Limit::Window { calls, per, phase } => {
                let begin = match phase {
                    Phase::FirstRequest => first,
                    Phase::SinceStart(begin) => begin,
                };
                self.judge_window(now, calls, per, begin)
            }
            Limit::Bucket { capacity, fills_in } => self.judge_bucket(now, capacity, fills_in),
            Limit::Parallel { calls } => (self.in_flight < calls, None),
        };
        if accepted {
            self.in_flight += 1;
            return Verdict::Accepted(standing);
        }
        Verdict::Refused(standing)
    }

    /// An accepted request has been answered.
    pub(crate) fn release(&mut self) {
        self.in_flight -= 1;
    }

    fn judge_window(
        &mut self,
        now: Duration,
        calls: u32,
        per: Duration,
        begin: Duration,
    ) -> (bool, Option<Standing>) {
        let length = per.as_nanos();
        // One window's length more, so that what lies before `begin` has a number as well.
        let since = (now + per).as_nanos() - begin.as_nanos() % length;
        let (number, into) = (since / length, since % length);
        if self.window.0 != number {
            self.window = (number, 0);
        }
        let accepted = self.window.1 < calls;
        self.window.1 += u32::from(accepted);
        let reset = nanos(length - into);
        let remaining = calls - self.window.1;
        let next = if remaining > 0 { Duration::ZERO } else { reset };
        let standing = Standing {
            limit: calls,
            remaining,
            reset,
            next,
        };
        (accepted, Some(standing))
    }

    fn judge_bucket(
        &mut self,
        now: Duration,
        capacity: u32,
        fills_in: Duration,
    ) -> (bool, Option<Standing>) {
        let (token, each_nano) = (fills_in.as_nanos(), u128::from(capacity));
        let full = token * each_nano;
        let (seen, held) = self.bucket;
        let mut held = (held + now.saturating_sub(seen).as_nanos() * each_nano).min(full);
        let accepted = held >= token;
        held -= if accepted { token } else { 0 };
        self.bucket = (now, held);
        let standing = Standing {
            limit: capacity,
            remaining: (held / token) as u32,
            reset: nanos((full - held).div_ceil(each_nano)),
            next: nanos(token.saturating_sub(held).div_ceil(each_nano)),
        };
        (accepted, Some(standing))
    }
}

fn nanos(count: u128) -> Duration {
    Duration::from_nanos(u64::try_from(count).expect("no test lasts for centuries"))
}
