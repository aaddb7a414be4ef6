//! What a lane counts.

use std::time::Duration;

use crate::view::Metrics;

/// Latencies that are kept. Published: 100.
const KEPT: usize = 100;

/// The counters of a lane.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) counts: Metrics,
    latencies: Vec<Duration>,
    next: usize,
}

impl Counters {
    /// Takes in that an attempt had a response after `latency`.
    pub(crate) fn answered(&mut self, latency: Duration) {
        if self.latencies.len() < KEPT {
            self.latencies.push(latency);
        } else {
            self.latencies[self.next] = latency;
        }
        self.next = (self.next + 1) % KEPT;
    }

    pub(crate) fn metrics(&self) -> Metrics {
        let sorted = sorted(&self.latencies);
        let sum: Duration = sorted.iter().sum();
        Metrics {
            latency_avg: sum
                .checked_div(sorted.len() as u32)
                .unwrap_or(Duration::ZERO),
            latency_p50: percentile(&sorted, 50),
            latency_p99: percentile(&sorted, 99),
            ..self.counts
        }
    }
}

fn sorted(latencies: &[Duration]) -> Vec<Duration> {
    let mut sorted = latencies.to_vec();
    sorted.sort_unstable();
    sorted
}

/// The published index: `floor((n − 1) · p)`.
fn percentile(sorted: &[Duration], percent: usize) -> Duration {
    let last = sorted.len().saturating_sub(1);
    sorted
        .get(last * percent / 100)
        .copied()
        .unwrap_or(Duration::ZERO)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_of_the_last_hundred() {
        let mut counters = Counters::default();
        for ms in 1..=1000 {
            counters.answered(Duration::from_millis(ms));
        }
        let metrics = counters.metrics();
        assert_eq!(metrics.latency_p50, Duration::from_millis(950));
        assert_eq!(metrics.latency_p99, Duration::from_millis(999));
        assert_eq!(metrics.latency_avg, Duration::from_micros(950_500));
    }

    #[test]
    fn nothing_measured_is_zero() {
        assert_eq!(Counters::default().metrics(), Metrics::default());
    }
}
