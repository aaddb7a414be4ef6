//! `thresholds`: what a run has to come to, so that a job may fail on it.
//!
//! `{ passRate, metrics }`: percent of the run's cases that must pass, and by the name of a metric
//! what its mean must be at least (a number), or at least and at most (`{ min, max }`). A share
//! such as 0.95 where percent are meant would let everything pass, and is refused.

use super::reading::Document;
use crate::model::Findings;
use crate::overrides::Overrides;
use crate::plan::{MetricThreshold, Thresholds};
use crate::read::entry::Entry;

pub(crate) const KNOWN: [&str; 2] = ["passRate", "metrics"];

/// What a metric may be held against.
pub(crate) const KNOWN_OF_METRIC: [&str; 2] = ["min", "max"];

/// Thresholds of metrics: each is a line of the summary.
const MOST: usize = 1_000;

/// A percentage that is meant: from 1 to 100, or 0.
///
/// # Errors
/// What it must be, in words.
pub fn pass_rate(percent: f64) -> Result<f64, &'static str> {
    match percent {
        0.0 => Ok(0.0),
        1.0..=100.0 => Ok(percent),
        _ => Err("must be percent, 0 or from 1 to 100, for example 95"),
    }
}

/// The run's: what flags say, then what the configs say, the first of them first.
pub(crate) fn of_run(flags: &Overrides, documents: &[Document<'_>]) -> Thresholds {
    let mut thresholds = Thresholds {
        pass_rate: flags.min_pass_rate,
        metrics: Vec::new(),
    };
    for (name, least) in &flags.min_metrics {
        thresholds.ask(name, *least);
    }
    for document in documents {
        if let Some(entry) = document.root.get("thresholds") {
            read(&entry, &mut thresholds, document.reading.findings);
        }
    }
    thresholds
}

fn read(entry: &Entry<'_>, thresholds: &mut Thresholds, findings: &Findings) {
    if !entry.is_map() {
        entry.mismatch(findings, "a map with `passRate` or `metrics`");
        return;
    }
    entry.report_unknown(findings, &KNOWN);
    let [rate, metrics] = KNOWN.map(|key| entry.get(key));
    if rate.is_none() && metrics.is_none() {
        findings.error_help(
            entry.at(),
            "has none of `passRate` and `metrics`",
            "for example: { passRate: 95, metrics: { accuracy: 0.9 } }",
        );
    }
    if let Some(rate) = rate.and_then(|entry| percent(&entry, findings)) {
        thresholds.pass_rate.get_or_insert(rate);
    }
    let Some(metrics) = metrics else { return };
    if !metrics.is_map() {
        metrics.mismatch(findings, "a map of metrics to what they must be");
    }
    for (name, entry) in metrics.fields() {
        let Some((min, max)) = bounds(&entry, findings) else {
            continue;
        };
        if thresholds.metrics.iter().any(|it| it.name == name) {
            continue;
        }
        if thresholds.metrics.len() == MOST {
            let message = format!("there may be at most {MOST} thresholds of metrics");
            findings.error(entry.at(), message);
            return;
        }
        thresholds.metrics.push(MetricThreshold {
            name: name.to_owned(),
            min,
            max,
        });
    }
}

fn percent(entry: &Entry<'_>, findings: &Findings) -> Option<f64> {
    let text = entry.text().and_then(|text| text.trim().strip_suffix('%'));
    let number = match text {
        Some(text) => text.trim().parse().ok().unwrap_or(f64::NAN),
        None => entry.want_number(findings)?,
    };
    let rate = pass_rate(number);
    rate.map_err(|why| findings.error(entry.at(), why)).ok()
}

/// At least, at most.
fn bounds(entry: &Entry<'_>, findings: &Findings) -> Option<(Option<f64>, Option<f64>)> {
    if !entry.is_map() {
        if entry.number().is_none() {
            let wanted = "what the metric must be at least, or a map with `min` or `max`";
            entry.mismatch(findings, wanted);
        }
        return Some((Some(entry.number()?), None));
    }
    entry.report_unknown(findings, &KNOWN_OF_METRIC);
    let [min, max] = KNOWN_OF_METRIC.map(|key| entry.get(key));
    if min.is_none() && max.is_none() {
        let example = "for example: { min: 0.8 }";
        findings.error_help(entry.at(), "has none of `min` and `max`", example);
        return None;
    }
    let number = |entry: Option<Entry<'_>>| entry?.want_number(findings);
    let (min, max) = (number(min), number(max));
    if let (Some(min), Some(max)) = (min, max)
        && min > max
    {
        let message = format!("`min` is {min} and `max` is {max}, so nothing is between them");
        findings.error(entry.at(), message);
    }
    Some((min, max))
}

#[cfg(test)]
mod tests {
    use crate::fixture::Folder;
    use crate::plan::{MetricThreshold, Thresholds};

    fn folder(more: &str) -> Folder {
        Folder::new(&format!("prompts: [p]\nproviders: [echo]\n{more}\n{ANY}"))
    }

    /// It gives whatever metric is asked for.
    const ANY: &str = "tests: [{ assert: [{ type: equals, value: a, metric: '{{ any }}' }] }]";

    fn metric(name: &str, min: Option<f64>, max: Option<f64>) -> MetricThreshold {
        MetricThreshold {
            name: name.to_owned(),
            min,
            max,
        }
    }

    #[test]
    fn thresholds_are_read_of_the_run_and_of_metrics() {
        let rate = |percent| Thresholds {
            pass_rate: Some(percent),
            metrics: Vec::new(),
        };
        let metrics = vec![
            metric("accuracy", Some(0.9), None),
            metric("toxicity", None, Some(0.1)),
            metric("length", Some(1.0), Some(2.0)),
        ];
        let cases = [
            ("", Thresholds::default()),
            ("thresholds: { passRate: 95 }", rate(95.0)),
            ("thresholds: { passRate: '99.5 %' }", rate(99.5)),
            ("thresholds: { passRate: 0 }", rate(0.0)),
            (
                "thresholds: { metrics: { accuracy: '0.9', toxicity: { max: 0.1 }, length: { min: 1, max: 2 } } }",
                Thresholds {
                    pass_rate: None,
                    metrics,
                },
            ),
        ];
        for (written, expected) in cases {
            assert_eq!(folder(written).plan().thresholds, expected, "{written}");
        }
    }

    #[test]
    fn the_flag_wins_over_the_key() {
        let mut folder = folder("thresholds: { passRate: 95, metrics: { a: 1 } }");
        folder.overrides.min_pass_rate = Some(20.0);
        let expected = Thresholds {
            pass_rate: Some(20.0),
            metrics: vec![metric("a", Some(1.0), None)],
        };
        assert_eq!(folder.plan().thresholds, expected);
    }

    #[test]
    fn what_is_wrong_is_said_where_it_stands() {
        let at = "promptfooconfig.yaml:3:";
        let percent = "must be percent, 0 or from 1 to 100, for example 95";
        let cases = [
            (
                "thresholds: 95",
                format!(
                    "{at}13: thresholds: must be a map with `passRate` or `metrics`, not a number"
                ),
            ),
            (
                "thresholds: {}",
                format!(
                    "{at}13: thresholds: has none of `passRate` and `metrics`\nhelp: for example: {{ passRate: 95, metrics: {{ accuracy: 0.9 }} }}"
                ),
            ),
            (
                "thresholds: { passRate: 0.95 }",
                format!("{at}25: thresholds.passRate: {percent}"),
            ),
            (
                "thresholds: { passRate: most% }",
                format!("{at}25: thresholds.passRate: {percent}"),
            ),
            (
                "thresholds: { metrics: [a] }",
                format!(
                    "{at}24: thresholds.metrics: must be a map of metrics to what they must be, not a list"
                ),
            ),
            (
                "thresholds: { metrics: { a: high } }",
                format!(
                    "{at}29: thresholds.metrics.a: must be what the metric must be at least, or a map with `min` or `max`, not text"
                ),
            ),
            (
                "thresholds: { metrics: { a: {} } }",
                format!(
                    "{at}29: thresholds.metrics.a: has none of `min` and `max`\nhelp: for example: {{ min: 0.8 }}"
                ),
            ),
            (
                "thresholds: { metrics: { a: { min: 2, max: 1 } } }",
                format!(
                    "{at}29: thresholds.metrics.a: `min` is 2 and `max` is 1, so nothing is between them"
                ),
            ),
        ];
        for (written, expected) in cases {
            assert_eq!(folder(written).problems(), [expected], "{written}");
        }
    }
}
