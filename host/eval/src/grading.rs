//! How the grades of a case's assertions become the grade of the case.
//!
//! Pure; promptfoo's rules: the score is the weighted mean; without a threshold every component
//! must pass, with one only the score counts. Two differences, both on purpose: the reason is
//! that of the *last* failing assertion in the order written, whatever finished last; and an
//! assertion that could not be graded makes the case an error, but keeps everything else.

use runner_config::plan::{Assertion, Check};
use serde_json::{Map, Value};

use crate::record::{ComponentRecord, GradingRecord, Outcome, TokenUsage};

/// What one assertion of the plan came to.
#[derive(Debug, Clone, PartialEq)]
pub struct Graded {
    /// As it will be stored.
    pub component: ComponentRecord,
    /// The rendered `metric` of the assertion.
    pub metric: Option<String>,
}

/// The grade of a case.
#[derive(Debug, Clone, PartialEq)]
pub struct CaseGrade {
    /// Passed, failed, or an error if an assertion could not be graded.
    pub outcome: Outcome,
    /// As it will be stored.
    pub record: GradingRecord,
}

/// Sums that make a weighted mean.
#[derive(Default)]
struct Mean {
    score: f64,
    weight: f64,
}

impl Mean {
    fn add(&mut self, score: f64, weight: f64) {
        self.score += score * weight;
        self.weight += weight;
    }

    /// 0 where nothing has a weight.
    fn value(&self) -> f64 {
        if self.weight == 0.0 {
            0.0
        } else {
            self.score / self.weight
        }
    }
}

/// A level of the tree: the case, or one set.
#[derive(Default)]
struct Level {
    mean: Mean,
    failing_reason: Option<String>,
}

impl Level {
    fn add(&mut self, component: &ComponentRecord, weight: f64) {
        self.mean.add(component.score, weight);
        if !component.pass {
            self.failing_reason = Some(component.reason.clone());
        }
    }

    /// (pass, score, reason)
    fn close(self, threshold: Option<f64>) -> (bool, f64, String) {
        let score = self.mean.value();
        match threshold {
            Some(threshold) => {
                let pass = score >= threshold;
                let sign = if pass { "≥" } else { "<" };
                (
                    pass,
                    score,
                    format!("Aggregate score {score:.2} {sign} {threshold} threshold"),
                )
            }
            None => match self.failing_reason {
                Some(reason) => (false, score, reason),
                None => (true, score, "All assertions passed".to_owned()),
            },
        }
    }
}

/// Named scores of a case: a weighted mean per metric.
#[derive(Default)]
struct Metrics(Map<String, Value>, Map<String, Value>);

impl Metrics {
    fn add(&mut self, name: &str, score: f64, weight: f64) {
        let number =
            |map: &Map<String, Value>| map.get(name).and_then(Value::as_f64).unwrap_or(0.0);
        let (mean, weights) = (number(&self.0), number(&self.1));
        let sum = weights + weight;
        let mean = if sum == 0.0 {
            0.0
        } else {
            (mean * weights + score * weight) / sum
        };
        self.0.insert(name.to_owned(), mean.into());
        self.1.insert(name.to_owned(), sum.into());
    }

    fn take(&mut self, graded: &Graded, weight: f64) {
        if let Some(metric) = &graded.metric {
            self.add(metric, graded.component.score, weight);
        }
        for (name, score) in &graded.component.named_scores {
            self.add(name, score.as_f64().unwrap_or(0.0), weight);
        }
    }
}

/// The grade of a case whose `checks` came to `graded`: one entry per assertion in the order
/// written, members of sets in their place. `set_metric` renders a set's metric template.
///
/// # Panics
/// If `graded` has fewer entries than `checks` has assertions.
pub fn aggregate(
    checks: &[Check],
    threshold: Option<f64>,
    graded: Vec<Graded>,
    tokens_used: TokenUsage,
    set_metric: impl Fn(&str) -> String,
) -> CaseGrade {
    let mut graded = graded.into_iter();
    let mut case = Level::default();
    let mut tree = Tree::default();
    for check in checks {
        match check {
            Check::One(assertion) => tree.take(&mut graded, assertion, &mut case),
            Check::Set {
                assertions,
                weight,
                threshold,
                metric,
                json,
            } => {
                let mut set = Level::default();
                let place = tree.components.len();
                for assertion in assertions {
                    tree.take(&mut graded, assertion, &mut set);
                }
                let (pass, score, reason) = set.close(*threshold);
                let whole = ComponentRecord::plain(pass, score, reason, json.clone());
                case.add(&whole, *weight);
                if let Some(metric) = metric {
                    tree.metrics.add(&set_metric(metric), score, *weight);
                }
                tree.components.insert(place, whole);
            }
        }
    }
    let (pass, score, reason) = if checks.is_empty() {
        (true, 1.0, "No assertions".to_owned())
    } else {
        case.close(threshold)
    };
    let outcome = match (tree.ungraded, pass) {
        (true, _) => Outcome::Error,
        (false, true) => Outcome::Passed,
        (false, false) => Outcome::Failed,
    };
    let record = GradingRecord {
        pass: pass && !tree.ungraded,
        score,
        reason,
        named_scores: tree.metrics.0,
        named_score_weights: tree.metrics.1,
        tokens_used,
        component_results: tree.components,
    };
    CaseGrade { outcome, record }
}

/// What the assertions add up to beside the levels.
#[derive(Default)]
struct Tree {
    components: Vec<ComponentRecord>,
    metrics: Metrics,
    /// An assertion that counts could not be graded.
    ungraded: bool,
}

impl Tree {
    /// Moves the next assertion's grade to its level and its place among the components.
    fn take(
        &mut self,
        graded: &mut impl Iterator<Item = Graded>,
        assertion: &Assertion,
        level: &mut Level,
    ) {
        let one = graded
            .next()
            .expect("every assertion of the case was graded");
        let one = settle(one, assertion);
        self.ungraded |= one.component.error_code.is_some() && assertion.weight != 0.0;
        level.add(&one.component, assertion.weight);
        self.metrics.take(&one, assertion.weight);
        self.components.push(one.component);
    }
}

/// A weight of 0 makes an assertion informative: it is shown, and can't fail its case.
fn settle(mut graded: Graded, assertion: &Assertion) -> Graded {
    if assertion.weight == 0.0 {
        graded.component.pass = true;
    }
    graded
}

impl ComponentRecord {
    /// A component with nothing but a verdict.
    pub fn plain(pass: bool, score: f64, reason: String, assertion: Value) -> Self {
        Self {
            pass,
            score,
            reason,
            error_code: None,
            assertion,
            metadata: Map::new(),
            named_scores: Map::new(),
            parts: Vec::new(),
        }
    }
}

#[cfg(test)]
#[path = "grading/tests.rs"]
mod tests;
