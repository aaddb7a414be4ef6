//! What a scheduler did, for logs, displays and tests.
//!
//! The names are those of the published design, as [`Event::name`] gives them.

use std::time::Duration;

use crate::hint::Dimension;
use crate::job::{JobId, LaneId};
use crate::time::Time;

/// Something happened in a lane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// When.
    pub at: Time,
    /// Where.
    pub lane: LaneId,
    /// What.
    pub event: Event,
}

/// The moments of a lane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A job goes on the wire.
    SlotAcquired {
        /// Which one.
        job: JobId,
        /// How long it was in the queue for this attempt.
        queued: Duration,
        /// Attempts in flight, this one included.
        in_flight: u32,
        /// How many may be.
        window: u32,
    },
    /// An attempt has ended or was cancelled.
    SlotReleased {
        /// Which job's.
        job: JobId,
        /// Attempts that are still in flight.
        in_flight: u32,
    },
    /// The server refused an attempt for its rate.
    RateLimitHit {
        /// Which job's.
        job: JobId,
        /// How long it asked to wait, if it said so.
        retry_after: Option<Duration>,
        /// When the lane goes on, if it is blocked now.
        blocked_until: Option<Time>,
    },
    /// A limit became known, or changed.
    RateLimitLearned {
        /// Of what; `None`: a rate without a name, found by trying. One in each window, unless the server
        /// was seen to count by longer ones.
        dimension: Option<Dimension>,
        /// How much of it a window holds.
        limit: u64,
        /// Length of the window, once known.
        window: Option<Duration>,
    },
    /// Less than a tenth of a limit is left.
    RateLimitWarning {
        /// Of what.
        dimension: Dimension,
        /// What is left.
        remaining: u64,
        /// Of how much.
        limit: u64,
    },
    /// More attempts may be in flight.
    ConcurrencyIncreased {
        /// Window before.
        from: u32,
        /// Window now.
        to: u32,
    },
    /// Fewer attempts may be in flight.
    ConcurrencyDecreased {
        /// Window before.
        from: u32,
        /// Window now.
        to: u32,
    },
    /// A job will be sent again.
    RequestRetrying {
        /// Which one.
        job: JobId,
        /// Number of the retry, from 1.
        retry: u32,
        /// Not before then.
        not_before: Time,
    },
    /// The lane lets nothing through until a probe succeeds.
    BreakerOpened {
        /// When it probes.
        until: Time,
    },
    /// The lane works again.
    BreakerClosed,
}

impl Event {
    /// The published name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::SlotAcquired { .. } => "slot:acquired",
            Self::SlotReleased { .. } => "slot:released",
            Self::RateLimitHit { .. } => "ratelimit:hit",
            Self::RateLimitLearned { .. } => "ratelimit:learned",
            Self::RateLimitWarning { .. } => "ratelimit:warning",
            Self::ConcurrencyIncreased { .. } => "concurrency:increased",
            Self::ConcurrencyDecreased { .. } => "concurrency:decreased",
            Self::RequestRetrying { .. } => "request:retrying",
            Self::BreakerOpened { .. } => "breaker:opened",
            Self::BreakerClosed => "breaker:closed",
        }
    }
}
