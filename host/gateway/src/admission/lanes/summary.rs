//! What a lane has to do, and what it came to.

use std::sync::Arc;
use std::time::Duration;

use runner_scheduler::Metrics;
use serde_json::{Value, json};

/// A lane at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaneLoad {
    /// What people call it.
    pub lane: Arc<str>,
    /// Attempts in flight.
    pub in_flight: u32,
    /// How many may be.
    pub allowed: u32,
    /// Requests that wait for their turn, those in a pause before a retry included.
    pub waiting: usize,
    /// Attempts that the server has refused so far.
    pub refused: u64,
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
    /// The published names, times in milliseconds, and `inFlightAtKnee` where the server queued.
    pub fn to_json(&self) -> Value {
        let ms = |span: Duration| u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
        let mut summary = json!({
            "lane": &*self.lane,
            "totalRequests": self.metrics.total_requests,
            "completedRequests": self.metrics.completed_requests,
            "failedRequests": self.metrics.failed_requests,
            "rateLimitHits": self.metrics.rate_limit_hits,
            "retriedRequests": self.metrics.retried_requests,
            "avgLatencyMs": ms(self.metrics.latency_avg),
            "p50LatencyMs": ms(self.metrics.latency_p50),
            "p99LatencyMs": ms(self.metrics.latency_p99),
        });
        if let Some(knee) = self.metrics.knee {
            summary["inFlightAtKnee"] = json!(knee);
        }
        summary
    }
}
