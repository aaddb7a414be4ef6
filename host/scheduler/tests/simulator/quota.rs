//! How servers count: one type per way, all behind [`Quota`].
//!
//! Exact in integers and without opinions: no safety margin, no network. They are what the
//! scheduler has to guess from outside, so they share nothing with its own buckets.

use std::fmt::Debug;
use std::time::Duration;

use runner_scheduler::Time;

mod rate;
mod room;

pub(crate) use rate::{Bucket, Gcra};
pub(crate) use room::{FixedWindow, Parallel, SlidingCounter, SlidingLog};

/// What a server would write into its headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Level {
    pub(crate) limit: u64,
    pub(crate) remaining: u64,
    /// How long until it is reset, as such servers say it: buckets, when they are full again;
    /// windows, when they end; logs, when the oldest entry leaves.
    pub(crate) reset: Duration,
}

/// One limit of a server. Times never go back; whoever asks at `now` has called `advance(now)`.
pub(crate) trait Quota: Debug {
    /// Lets time pass.
    fn advance(&mut self, now: Time);

    /// When `amount` would be accepted if nobody else came: `now`, later, or never.
    fn opens(&self, now: Time, amount: u64) -> Time;

    /// Counts `amount`, whether there is room or not (somebody else's may come before ours).
    /// `until` is when the request will have been answered.
    fn take(&mut self, now: Time, amount: u64, until: Time);

    /// The state as the server knows it.
    fn level(&self, now: Time) -> Level;

    /// The limit is another one from now on.
    fn resize(&mut self, limit: u64);
}

/// A limit as data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Refills evenly, holds what comes in one window; full at the start.
    Bucket { limit: u64, window: Duration },
    /// Refilled at once at the end of each window; windows begin with a random phase.
    Fixed { limit: u64, window: Duration },
    /// What was sent in any window.
    Log { limit: u64, window: Duration },
    /// What was sent in a window that slides, counted by the parts of two fixed ones; windows begin with a
    /// random phase.
    Counter { limit: u64, window: Duration },
    /// One every `interval`, at most `burst` at once.
    Gcra { burst: u64, interval: Duration },
    /// Requests that are being answered.
    Parallel { limit: u64 },
}

impl Shape {
    /// A server's limit of this shape; `phase` (0 to 999 thousandths) is how much of the first
    /// window has passed at the start.
    pub(crate) fn build(self, phase: u64) -> Box<dyn Quota> {
        match self {
            Self::Bucket { limit, window } => Box::new(Bucket::new(limit, window)),
            Self::Fixed { limit, window } => {
                let first = window * (1000 - phase as u32) / 1000;
                Box::new(FixedWindow::new(limit, window, Time::ZERO + first))
            }
            Self::Counter { limit, window } => {
                let first = window * (1000 - phase as u32) / 1000;
                Box::new(SlidingCounter::new(limit, window, Time::ZERO + first))
            }
            Self::Log { limit, window } => Box::new(SlidingLog::new(limit, window)),
            Self::Gcra { burst, interval } => Box::new(Gcra::new(burst, interval)),
            Self::Parallel { limit } => Box::new(Parallel::new(limit)),
        }
    }

    /// How much it holds.
    pub(crate) fn limit(self) -> u64 {
        match self {
            Self::Bucket { limit, .. }
            | Self::Fixed { limit, .. }
            | Self::Log { limit, .. }
            | Self::Counter { limit, .. }
            | Self::Parallel { limit } => limit,
            Self::Gcra { burst, .. } => burst,
        }
    }

    /// In which time all of it comes back.
    pub(crate) fn window(self) -> Duration {
        match self {
            Self::Bucket { window, .. }
            | Self::Fixed { window, .. }
            | Self::Counter { window, .. }
            | Self::Log { window, .. } => window,
            Self::Gcra { burst, interval } => interval * burst as u32,
            Self::Parallel { .. } => Duration::ZERO,
        }
    }
}
