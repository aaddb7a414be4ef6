//! What went over a server, and what can be read from it.

use std::time::Duration;

/// Every request that arrived, in order of arrival. Times count from the server's start.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Traffic {
    /// The requests.
    pub calls: Vec<TrafficCall>,
}

/// One request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrafficCall {
    /// When it arrived.
    pub at: Duration,
    /// The model that it asked for.
    pub model: String,
    /// It was not refused.
    pub accepted: bool,
    /// When it was answered or its client was gone; `None`: it is in flight.
    pub ended: Option<Duration>,
}

impl Traffic {
    /// Requests that arrived.
    pub fn arrivals(&self) -> usize {
        self.calls.len()
    }

    /// Requests that were not refused.
    pub fn accepted(&self) -> usize {
        self.calls.iter().filter(|call| call.accepted).count()
    }

    /// Requests that were refused.
    pub fn refused(&self) -> usize {
        self.arrivals() - self.accepted()
    }

    /// The requests for one model.
    #[must_use]
    pub fn of_model(&self, model: &str) -> Self {
        let calls = self.calls.iter().filter(|call| call.model == model);
        Self {
            calls: calls.cloned().collect(),
        }
    }

    /// When the first request arrived.
    pub fn first_arrival(&self) -> Option<Duration> {
        self.calls.first().map(|call| call.at)
    }

    /// When the last answer was given.
    pub fn last_answer(&self) -> Option<Duration> {
        self.calls.iter().filter_map(|call| call.ended).max()
    }

    /// From the first arrival to the last answer; zero when there was nothing.
    pub fn makespan(&self) -> Duration {
        let (first, last) = (self.first_arrival(), self.last_answer());
        last.unwrap_or_default()
            .saturating_sub(first.unwrap_or_default())
    }

    /// Requests that were accepted and refused in each window of this length, from the one with the
    /// first arrival on; a window begins at `begin`.
    pub fn in_windows(&self, begin: Duration, length: Duration) -> Vec<(usize, usize)> {
        let length = length.as_nanos();
        // One window's length more, so that what lies before `begin` has a number as well.
        let number = |at: Duration| (at.as_nanos() + length - begin.as_nanos() % length) / length;
        let mut windows: Vec<(usize, usize)> = Vec::new();
        for call in &self.calls {
            let index = (number(call.at) - number(self.calls[0].at)) as usize;
            windows.resize(windows.len().max(index + 1), (0, 0));
            windows[index].0 += usize::from(call.accepted);
            windows[index].1 += usize::from(!call.accepted);
        }
        windows
    }

    /// How many requests each found in flight when it arrived.
    pub fn found_in_flight(&self) -> Vec<usize> {
        let found = self.calls.iter().enumerate().map(|(number, call)| {
            let before = &self.calls[..number];
            let is_out = |other: &&TrafficCall| other.ended.is_none_or(|ended| ended > call.at);
            before.iter().filter(is_out).count()
        });
        found.collect()
    }

    /// The most arrivals in any stretch of this length, its end not included: what a sliding
    /// log would have counted.
    pub fn most_within(&self, length: Duration) -> usize {
        let mut oldest = 0;
        let mut most = 0;
        for (newest, call) in self.calls.iter().enumerate() {
            while self.calls[oldest].at + length <= call.at {
                oldest += 1;
            }
            most = most.max(newest - oldest + 1);
        }
        most
    }
}
