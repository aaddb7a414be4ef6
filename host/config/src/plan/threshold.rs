//! What a run has to come to (`thresholds`). Whoever has its sums holds them against it; a run keeps
//! them, so that whoever shows it later does the same.

use serde::{Deserialize, Serialize};

/// What a run has to come to.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Thresholds {
    /// Percent of its cases that must pass, 0 to 100; `None` where nothing is said.
    pub pass_rate: Option<f64>,
    /// In the order written, each metric once.
    pub metrics: Vec<MetricThreshold>,
}

impl Thresholds {
    /// Asks that the mean of a metric is at least so much, instead of what was asked of it.
    pub fn ask(&mut self, metric: &str, least: f64) {
        let asked = MetricThreshold {
            name: metric.to_owned(),
            min: Some(least),
            max: None,
        };
        match self.metrics.iter_mut().find(|it| it.name == metric) {
            Some(before) => *before = asked,
            None => self.metrics.push(asked),
        }
    }
}

/// What the mean of a metric must be, in every column.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MetricThreshold {
    /// Its name.
    pub name: String,
    /// At least.
    pub min: Option<f64>,
    /// At most.
    pub max: Option<f64>,
}
