//! What a run says of itself beside its rows: how long it took, what was asked of it and whether that holds, and the
//! metrics that its config works out.

use std::time::Duration;

use runner_store::{RunInfo, StoreError};
use runner_telling::figures;
use runner_telling::thresholds::{self, MetricBounds};
use serde::Deserialize as _;
use serde_json::Value;

use crate::site::Site;

/// Its summary and its options, as far as they can be read.
#[derive(Debug)]
pub(crate) struct StoredSummary {
    pub(crate) summary: Value,
    options: Value,
}

/// What was asked of a run, in words that are safe to show, and whether it holds.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ThresholdVerdict {
    pub(crate) holds: bool,
    pub(crate) told: String,
}

impl StoredSummary {
    pub(crate) fn of(site: &Site, run: &RunInfo) -> Result<Self, StoreError> {
        let summary = run.summary_json.as_deref().unwrap_or_default();
        Ok(Self::read(summary, &site.store.run_options(&run.id)?))
    }

    pub(crate) fn read(summary: &str, options: &str) -> Self {
        let [summary, options] =
            [summary, options].map(|text| serde_json::from_str(text).unwrap_or_default());
        Self { summary, options }
    }

    /// With how many requests in flight a lane's server began to queue, if it did.
    pub(crate) fn knee(&self, lane: &str) -> Option<u64> {
        let mut lanes = self.summary["lanes"].as_array()?.iter();
        lanes.find(|it| it["lane"] == lane)?["inFlightAtKnee"].as_u64()
    }

    pub(crate) fn duration(&self) -> Option<Duration> {
        self.summary["durationMs"]
            .as_u64()
            .map(Duration::from_millis)
    }

    /// The derived metrics of each column, in their order.
    pub(crate) fn derived(&self) -> Vec<Vec<(&str, f64)>> {
        let columns = self.summary["derivedMetrics"]
            .as_array()
            .into_iter()
            .flatten();
        columns.map(pairs).collect()
    }

    /// Whether a threshold wants little of a metric, so that its highest mean is not its best.
    pub(crate) fn wants_little(&self, metric: &str) -> bool {
        let metrics = self.summary["metricThresholds"].as_array();
        metrics
            .into_iter()
            .flatten()
            .any(|it| it["name"] == metric && it["max"].is_number() && !it["min"].is_number())
    }

    /// What was asked of the run, once it has ended.
    pub(crate) fn asked(&self, passed: u64, total: u64) -> Vec<ThresholdVerdict> {
        if self.summary.is_null() {
            return Vec::new();
        }
        let rate = self.options["thresholds"]["passRate"].as_f64();
        let rate = rate.map(|percent| {
            let holds = thresholds::passes(passed, total, percent);
            let found = figures::percent(passed, total);
            ThresholdVerdict::new(holds, &format!("pass rate at least {percent} %: {found}"))
        });
        let metrics = self.summary["metricThresholds"].as_array();
        rate.into_iter()
            .chain(metrics.into_iter().flatten().map(metric))
            .collect()
    }
}

impl ThresholdVerdict {
    fn new(holds: bool, told: &str) -> Self {
        let word = if holds { "held" } else { "not held" };
        Self {
            holds,
            told: format!("{word}: {told}"),
        }
    }
}

fn pairs(of_column: &Value) -> Vec<(&str, f64)> {
    let pairs = of_column.as_array().into_iter().flatten();
    pairs
        .filter_map(|pair| pair[0].as_str().zip(pair[1].as_f64()))
        .collect()
}

/// A metric has to be within its bounds in every column, whatever was not graded.
fn metric(asked: &Value) -> ThresholdVerdict {
    let bounds = MetricBounds {
        min: asked["min"].as_f64(),
        max: asked["max"].as_f64(),
    };
    let wanted = bounds.wanted(asked["name"].as_str().unwrap_or_default());
    let told = |(column, value): (usize, &Value)| {
        let Some(value) = value.as_f64() else {
            return (false, "–".to_owned());
        };
        // Runs of before have none.
        let range = <[f64; 2]>::deserialize(&asked["ranges"][column]).unwrap_or([value; 2]);
        let (shown, holds) = (figures::number(value), bounds.hold_between(range));
        if holds || !bounds.hold(value) {
            return (holds, shown);
        }
        let worst = figures::number(bounds.worst(range));
        (false, format!("{shown}, {worst} at worst"))
    };
    let values = asked["values"].as_array().into_iter().flatten();
    let columns: Vec<(bool, String)> = values.enumerate().map(told).collect();
    let holds = !columns.is_empty() && columns.iter().all(|(holds, _)| *holds);
    let told: Vec<&str> = columns.iter().map(|(_, told)| &**told).collect();
    let told = told.join(", ");
    let not_graded = figures::not_graded(asked["notGraded"].as_u64().unwrap_or_default());
    ThresholdVerdict::new(holds, &format!("{wanted}: {told}{not_graded}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_was_asked_holds_in_every_column_or_not() {
        let left = |summary| StoredSummary {
            summary,
            options: json!({ "thresholds": { "passRate": 60.0 } }),
        };
        let of = |values: Value| json!({ "name": "to\nne", "min": 0.5, "max": null, "values": values, "notGraded": 2 });
        let asked = |values: Value| {
            let left = left(json!({ "metricThresholds": [of(values)] }));
            let asked = left.asked(3, 5);
            let told = asked.into_iter().map(|it| it.told);
            told.collect::<Vec<_>>()
        };
        let rate = "held: pass rate at least 60 %: 60.0 %";
        assert_eq!(
            asked(json!([0.5, 0.75])),
            [rate, "held: to ne at least 0.5: 0.5, 0.75 (2 not graded)"]
        );
        assert_eq!(
            asked(json!([0.5, 0.4])),
            [
                rate,
                "not held: to ne at least 0.5: 0.5, 0.4 (2 not graded)"
            ]
        );
        assert_eq!(
            asked(json!([null])),
            [rate, "not held: to ne at least 0.5: – (2 not graded)"]
        );
        assert_eq!(
            asked(json!([])),
            [rate, "not held: to ne at least 0.5:  (2 not graded)"]
        );
        let mut of = of(json!([0.75, 0.5]));
        of["ranges"] = json!([[0.25, 0.75], [0.5, 1.0]]);
        assert_eq!(
            left(json!({ "metricThresholds": [of] })).asked(3, 5)[1].told,
            "not held: to ne at least 0.5: 0.75, 0.25 at worst, 0.5 (2 not graded)"
        );
        assert!(!left(json!({})).asked(2, 5)[0].holds);
        // A run that goes on has come to nothing yet.
        assert_eq!(left(Value::Null).asked(5, 5), []);
    }
}
