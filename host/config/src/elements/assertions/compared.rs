//! `select-best` and `max-score`: taken out of a test's list, since they grade rows and not cases.

use serde_json::Value;

use super::MAX_WEIGHT;
use crate::elements::reading::Reading;
use crate::plan::{Assertion, Check, Comparison, HighestScore, MAX_SCORE, Method, Winner};

/// The type whose winner a model chooses.
pub(crate) const SELECT_BEST: &str = "select-best";

/// Whether assertions of this type choose among answers.
pub(crate) fn is_one(kind: &str) -> bool {
    [SELECT_BEST, MAX_SCORE].contains(&kind)
}

/// The comparisons of a list, and what is left of it.
pub(crate) fn split(checks: Vec<Check>, reading: Reading<'_>) -> (Vec<Comparison>, Vec<Check>) {
    let mut comparisons = Vec::new();
    let mut rest = Vec::with_capacity(checks.len());
    for check in checks {
        match check {
            Check::One(assertion) if is_one(&assertion.kind) => {
                comparisons.extend(comparison(assertion, reading));
            }
            other => rest.push(other),
        }
    }
    let highest = |it: &&Comparison| matches!(it.winner, Winner::Highest(_));
    if let Some(comparison) = comparisons.iter().find(highest)
        && rest.is_empty()
    {
        reading.findings.error_help(
            comparison.assertion.at.clone(),
            "'max-score' compares the scores of the test's other assertions, and there are none",
            "add the assertions whose scores should decide, or ask a model: type: select-best",
        );
    }
    (comparisons, rest)
}

fn comparison(assertion: Assertion, reading: Reading<'_>) -> Option<Comparison> {
    let refuse = |message: &str, help: &str| {
        let message = format!("'{}' {message}", assertion.written_kind());
        reading
            .findings
            .error_help(assertion.at.clone(), message, help);
    };
    if assertion.inverse {
        refuse(
            "has no meaning: there is one best answer and no worst one",
            "write it without `not-`",
        );
        return None;
    }
    let unread = [
        ("when", assertion.when.is_some()),
        ("threshold", assertion.threshold.is_some()),
        ("transform", assertion.transform.is_some()),
        ("contextTransform", assertion.context_transform.is_some()),
    ];
    if let Some((key, _)) = unread.iter().find(|(_, is_there)| *is_there) {
        let help = match *key {
            "threshold" => {
                "the threshold of max-score stands in its value: value: { threshold: 0.7 }"
            }
            _ => "remove the key",
        };
        refuse(
            &format!("compares the answers of a row and takes no `{key}`"),
            help,
        );
        return None;
    }
    let winner = if assertion.kind == SELECT_BEST {
        let says = |value: &Value| value.as_str().is_some_and(|text| !text.trim().is_empty());
        if !assertion.value.as_ref().is_some_and(says) {
            refuse(
                "needs its criterion as `value`, a text",
                "value: the friendliest answer",
            );
            return None;
        }
        Winner::Judged
    } else {
        match highest(assertion.value.as_ref()) {
            Ok(highest) => Winner::Highest(highest),
            Err(problem) => {
                refuse(
                    &problem,
                    "value: { method: average, weights: { llm-rubric: 2 }, threshold: 0.7 }",
                );
                return None;
            }
        }
    };
    Some(Comparison { assertion, winner })
}

/// The value of `max-score`.
fn highest(value: Option<&Value>) -> Result<HighestScore, String> {
    let fields = match value {
        None | Some(Value::Null) => return Ok(HighestScore::default()),
        Some(Value::Object(fields)) => fields,
        Some(_) => return Err("takes a map as its value".to_owned()),
    };
    let mut highest = HighestScore::default();
    for (key, value) in fields {
        match key.as_str() {
            "method" => {
                highest.method = match value.as_str() {
                    Some("average") => Method::Average,
                    Some("sum") => Method::Sum,
                    _ => {
                        return Err(format!("has a method `average` or `sum`, and not {value}"));
                    }
                };
            }
            "threshold" => {
                let number = value.as_f64().filter(|number| *number >= 0.0);
                highest.threshold =
                    Some(number.ok_or_else(|| {
                        format!("has a number from 0 on as threshold, not {value}")
                    })?);
            }
            "weights" => {
                let weights = value
                    .as_object()
                    .ok_or("has a map of types to numbers as weights")?;
                for (kind, weight) in weights {
                    let is_one = |weight: &f64| (0.0..=MAX_WEIGHT).contains(weight);
                    let weight = weight.as_f64().filter(is_one).ok_or_else(|| {
                        format!(
                            "has a weight of '{kind}' that is no number from 0 to {MAX_WEIGHT:e}"
                        )
                    })?;
                    highest.weights.insert(kind.clone(), weight);
                }
            }
            other => return Err(format!("knows no `{other}` in its value")),
        }
    }
    Ok(highest)
}
