//! What a run has to come to, held against what it came to.
//!
//! A metric has to be so in every column, since the mean of all hides the one that got bad; a column in
//! which nothing has a score of it does not hold. Nor does one that what a judge failed to grade could bring beyond
//! its bounds, so that nobody gains by silencing a judge. Derived metrics are held as they were worked out.

use std::fmt::Write as _;

use runner_config::plan::{MetricThreshold, Thresholds};
use runner_eval::summary::{Summary, Tally};
use runner_telling::thresholds::{MetricBounds, passes};
use serde_json::{Value, json};

use crate::figures;

/// Columns that are named where a metric does not hold.
const TOP_COLUMNS: usize = 3;

/// A threshold, and what the run came to. Texts are safe to show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ThresholdCheck {
    pub(crate) holds: bool,
    /// What must be.
    pub(crate) wanted: String,
    /// What is.
    pub(crate) found: String,
}

/// For results files: what was asked, and whether it holds.
pub(crate) fn json(summary: &Summary) -> Option<Value> {
    let thresholds = &summary.thresholds;
    let rate = thresholds.pass_rate.map(|rate| json!({ "passRate": rate }));
    let metrics = thresholds.metrics.iter();
    let asked = metrics.map(|it| json!({ "metric": it.name, "min": it.min, "max": it.max }));
    let asked = rate.into_iter().chain(asked);
    let told = asked.zip(checks(summary)).map(|(mut told, check)| {
        told["holds"] = json!(check.holds);
        told["found"] = json!(check.found);
        told
    });
    let told: Vec<Value> = told.collect();
    (!told.is_empty()).then(|| json!(told))
}

/// What was asked of a run, as a results file has it.
pub(crate) fn asked(told: &Value) -> Thresholds {
    let mut asked = Thresholds::default();
    for told in told.as_array().into_iter().flatten() {
        match told["metric"].as_str() {
            None => {
                let rate = told["passRate"].as_f64();
                asked.pass_rate = rate.filter(|rate| (0.0..=100.0).contains(rate));
            }
            Some(name) => asked.metrics.push(MetricThreshold {
                name: name.to_owned(),
                min: told["min"].as_f64(),
                max: told["max"].as_f64(),
            }),
        }
    }
    asked
}

/// Everything that flags and config ask of a run, in their order.
pub(crate) fn checks(summary: &Summary) -> Vec<ThresholdCheck> {
    let thresholds = &summary.thresholds;
    let rate = thresholds.pass_rate.map(|percent| ThresholdCheck {
        holds: passes(summary.all.passed, summary.total, percent),
        wanted: format!("pass rate at least {percent} %"),
        found: figures::percent(summary.all.passed, summary.total),
    });
    let columns: Vec<&Tally> = summary.columns.iter().map(|(_, tally)| tally).collect();
    let metrics = thresholds.metrics.iter();
    rate.into_iter()
        .chain(metrics.map(|threshold| metric(threshold, &columns)))
        .collect()
}

fn metric(threshold: &MetricThreshold, columns: &[&Tally]) -> ThresholdCheck {
    let bounds = MetricBounds {
        min: threshold.min,
        max: threshold.max,
    };
    let values: Vec<Option<f64>> = columns
        .iter()
        .map(|tally| tally.metric(&threshold.name))
        .collect();
    let ranges = columns.iter().map(|it| it.metric_range(&threshold.name));
    let holds = |range: Option<[f64; 2]>| range.is_some_and(|range| bounds.hold_between(range));
    let bad = ranges.enumerate().filter(|(_, range)| !holds(*range));
    let bad: Vec<_> = bad.collect();
    let found = if bad.is_empty() {
        spread(&values)
    } else {
        failing(threshold, bounds, &values, &bad)
    };
    let not_graded = columns
        .iter()
        .map(|tally| tally.not_graded(&threshold.name));
    let found = found + &figures::not_graded(not_graded.sum());
    ThresholdCheck {
        holds: bad.is_empty() && !values.is_empty(),
        wanted: bounds.wanted(&threshold.name),
        found,
    }
}

/// The least and the most.
fn spread(values: &[Option<f64>]) -> String {
    let numbers = || values.iter().flatten().copied();
    let (least, most) = (
        numbers().fold(f64::INFINITY, f64::min),
        numbers().fold(f64::NEG_INFINITY, f64::max),
    );
    let (least, most) = (figures::number(least), figures::number(most));
    if least == most {
        least
    } else {
        format!("{least} to {most}")
    }
}

fn failing(
    threshold: &MetricThreshold,
    bounds: MetricBounds,
    values: &[Option<f64>],
    bad: &[(usize, Option<[f64; 2]>)],
) -> String {
    let mut text = String::new();
    for (idx, range) in bad.iter().take(TOP_COLUMNS) {
        let separator = if text.is_empty() { "" } else { ", " };
        // Writing to a string can't fail.
        let _ = match values[*idx].zip(*range) {
            Some((value, range)) if bounds.hold(value) => write!(
                text,
                "{separator}{} in column {idx}, {} at worst",
                told(threshold, value),
                told(threshold, bounds.worst(range))
            ),
            Some((value, _)) => write!(
                text,
                "{separator}{} in column {idx}",
                told(threshold, value)
            ),
            None => write!(text, "{separator}no score in column {idx}"),
        };
    }
    let more = bad.len().saturating_sub(TOP_COLUMNS);
    if more > 0 {
        let more = figures::counted(more as u64, "more column", "more columns");
        let _ = write!(text, ", and {more}");
    }
    text
}

/// A value that is beside a bound, with as many digits as tell it from there.
fn told(threshold: &MetricThreshold, value: f64) -> String {
    let short = figures::number(value);
    let bounds = [threshold.min, threshold.max];
    let is_bound = bounds
        .iter()
        .flatten()
        .any(|it| figures::number(*it) == short);
    if is_bound { value.to_string() } else { short }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(value: Option<f64>) -> Tally {
        let mut tally = Tally::default();
        tally.derived = value
            .map(|value| ("tone".to_owned(), value))
            .into_iter()
            .collect();
        tally
    }

    #[test]
    fn a_metric_holds_in_every_column_or_not() {
        let table = [
            (
                Some(0.5),
                None,
                &[Some(0.5), Some(0.75)][..],
                true,
                "0.5 to 0.75",
            ),
            (Some(0.5), None, &[Some(0.75)], true, "0.75"),
            (Some(0.9), None, &[Some(0.3 * 3.0)], true, "0.9"),
            (
                Some(0.9),
                None,
                &[Some(0.899_99)],
                false,
                "0.89999 in column 0",
            ),
            (
                None,
                Some(0.1),
                &[Some(0.0), Some(0.2)],
                false,
                "0.2 in column 1",
            ),
            (Some(0.0), Some(1.0), &[Some(1.5)], false, "1.5 in column 0"),
            (
                Some(0.0),
                None,
                &[None, Some(f64::NAN)],
                false,
                "no score in column 0, NaN in column 1",
            ),
            (
                Some(1.0),
                None,
                &[Some(0.0); 5],
                false,
                "0 in column 0, 0 in column 1, 0 in column 2, and 2 more columns",
            ),
        ];
        for (min, max, values, holds, found) in table {
            let threshold = MetricThreshold {
                name: "tone".to_owned(),
                min,
                max,
            };
            let columns: Vec<Tally> = values.iter().copied().map(column).collect();
            let check = metric(&threshold, &columns.iter().collect::<Vec<_>>());
            assert_eq!(
                (check.holds, &*check.found),
                (holds, found),
                "{min:?} {max:?}"
            );
        }
    }

    #[test]
    fn what_was_asked_is_read_back_from_results() {
        let told = json!([
            { "passRate": 95.0, "holds": true, "found": "100.0 %" },
            { "metric": "tone", "min": 0.5, "max": null, "holds": false, "found": "0.1 in column 0" },
        ]);
        let expected = Thresholds {
            pass_rate: Some(95.0),
            metrics: vec![MetricThreshold {
                name: "tone".to_owned(),
                min: Some(0.5),
                max: None,
            }],
        };
        assert_eq!(asked(&told), expected);
        assert_eq!(asked(&Value::Null), Thresholds::default());
    }

    #[test]
    fn what_is_wanted_is_told_on_a_line() {
        let wanted = |min, max| {
            let name = "a\nb".to_owned();
            metric(&MetricThreshold { name, min, max }, &[]).wanted
        };
        assert_eq!(wanted(Some(0.5), None), "a b at least 0.5");
        assert_eq!(wanted(None, Some(2.0)), "a b at most 2");
        assert_eq!(wanted(Some(0.5), Some(2.0)), "a b from 0.5 to 2");
    }
}
