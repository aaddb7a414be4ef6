//! What lanes tell: moments, how they stand, what they came to.

use std::sync::Arc;
use std::time::{Duration, Instant};

use runner_scheduler::{Event, Metrics, Wait};
use serde_json::{Value, json};

/// Something happened in a lane.
#[derive(Debug, Clone)]
pub struct LaneNotice {
    /// What people call it: `api.openai.com/gpt-4o`. Unique within a run: a second lane that
    /// would have the same name, since only its credential differs, has ` #2` after it.
    pub lane: Arc<str>,
    /// When, from the run's begin. Times in `event` count from the same moment.
    pub at: Duration,
    /// What.
    pub event: Event,
}

/// What a lane's next request waits for has changed.
#[derive(Debug, Clone)]
pub struct LaneStanding {
    /// What people call the lane.
    pub lane: Arc<str>,
    /// What it waits for; `None`: it doesn't wait any more, or only for a request to end.
    pub wait: Option<Wait>,
    /// When it will look again, if that is known: `wait.until` on the wall's clock.
    pub until: Option<Instant>,
}

/// A lane at the end of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaneSummary {
    /// What people call it.
    pub lane: Arc<str>,
    /// What it counted.
    pub metrics: Metrics,
}

impl LaneSummary {
    /// The published names, times in milliseconds.
    pub fn to_json(&self) -> Value {
        let ms = |span: Duration| u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
        json!({
            "lane": &*self.lane,
            "totalRequests": self.metrics.total_requests,
            "completedRequests": self.metrics.completed_requests,
            "failedRequests": self.metrics.failed_requests,
            "rateLimitHits": self.metrics.rate_limit_hits,
            "retriedRequests": self.metrics.retried_requests,
            "avgLatencyMs": ms(self.metrics.latency_avg),
            "p50LatencyMs": ms(self.metrics.latency_p50),
            "p99LatencyMs": ms(self.metrics.latency_p99),
        })
    }
}
