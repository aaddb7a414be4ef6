//! What a lane looks like from outside: for the progress line and the summary.

use std::time::Duration;

use crate::hint::Dimension;
use crate::time::Time;

/// A lane at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct View {
    /// Attempts in flight.
    pub in_flight: u32,
    /// How many may be.
    pub window: u32,
    /// Jobs in the queue, those that wait for a retry included.
    pub queued: usize,
    /// What the head of the queue waits for; `None` when it doesn't wait, or only for an
    /// attempt to end.
    pub wait: Option<Wait>,
    /// The time from one attempt to the next, where that was found by trying.
    pub interval: Option<Duration>,
    /// Counts since the lane was opened.
    pub metrics: Metrics,
}

/// Why a lane doesn't send now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wait {
    /// The reason.
    pub why: WaitReason,
    /// When it will look again; `None`: when an attempt ends.
    pub until: Option<Time>,
}

/// Reasons for not sending.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WaitReason {
    /// A limit that the server declares is used up.
    Learnt {
        /// Of what.
        dimension: Dimension,
        /// How much of it is used.
        used: u64,
        /// Of how much.
        limit: u64,
    },
    /// A limit that the user declared is used up.
    Declared {
        /// Its name.
        name: String,
        /// How much of it is used.
        used: u64,
        /// Of how much.
        capacity: u64,
    },
    /// The rate that was found by trying: the time from one call to the next.
    Pace {
        /// That time.
        interval: Duration,
    },
    /// The server refused and the lane waits, or sends single probes.
    Blocked {
        /// Whether the server said how long.
        asked: bool,
    },
    /// The server fails; see [`Event::BreakerOpened`](crate::Event::BreakerOpened).
    Broken,
    /// All that is queued are retries in their pause.
    Backoff,
}

/// Counts of a lane, by their published names. Latencies are of the last 100 attempts that
/// had a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Metrics {
    /// `totalRequests`: attempts started.
    pub total_requests: u64,
    /// `completedRequests`: jobs whose last attempt was answered with [`Class::Ok`](crate::Class).
    pub completed_requests: u64,
    /// `failedRequests`: jobs that ended in any other way.
    pub failed_requests: u64,
    /// `rateLimitHits`: attempts that were throttled.
    pub rate_limit_hits: u64,
    /// `retriedRequests`: attempts that were not a job's first.
    pub retried_requests: u64,
    /// `avgLatencyMs`.
    pub latency_avg: Duration,
    /// `p50LatencyMs`.
    pub latency_p50: Duration,
    /// `p99LatencyMs`.
    pub latency_p99: Duration,
    /// How many at once the server was seen to work on, where it lets the others wait.
    pub knee: Option<u32>,
}
