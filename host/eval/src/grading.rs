//! How the grades of a case's assertions become the grade of the case.
//!
//! Pure; promptfoo's rules: the score is the weighted mean; without a threshold every component
//! must pass, with one only the score counts. Two differences, both on purpose: the reason is
//! that of the *last* failing assertion in the order written, whatever finished last; and an
//! assertion that could not be graded makes the case an error, but keeps everything else.
//!
//! Beyond promptfoo: of a set that is an `assert-any` one member is enough, and its score is that
//! of the best; an assertion whose `when` did not hold counts for nothing.

use std::sync::Arc;

use runner_config::plan::{Assertion, Check, SetRule};
use serde_json::{Map, Value};

use crate::failure::FailureCode;
use crate::record::{
    ByPeople, ComponentRecord, Conclusion, GRADER_ERROR, GraderUsage, GradingRecord,
};

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
    /// An assertion that counts could not be graded. Then the case is an error, and `pass` of the
    /// record is false.
    pub ungraded: bool,
    /// As it will be stored.
    pub record: GradingRecord,
}

impl CaseGrade {
    /// How a case with this grade ended.
    pub(crate) fn conclusion(&self) -> Conclusion {
        let mut components = self.record.component_results.iter();
        let broken = components.clone().find(|it| it.error_code.is_some());
        // A budget comes first: with a larger one the case can be graded.
        let of_budget = |it: &&ComponentRecord| it.error_code == Some(FailureCode::Budget);
        let why = components.find(of_budget).or(broken);
        let ungraded = why.filter(|_| self.ungraded);
        let ungraded = ungraded.and_then(|it| Some((it.error_code.clone()?, &*it.reason)));
        let waits = self
            .record
            .by_people
            .as_ref()
            .is_some_and(ByPeople::decides);
        let ungraded = ungraded.or_else(|| waits.then_some((FailureCode::Human, ByPeople::WAITS)));
        Conclusion::graded(&self.record, ungraded)
    }
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
struct Level {
    rule: SetRule,
    mean: Mean,
    /// Highest score of what has a weight.
    best: f64,
    /// Of what has a weight: how many passed, and how many there are.
    passed: usize,
    counted: usize,
    failing_reason: Option<String>,
    /// A guardrail of the API stopped an attack, which is what the test is about.
    blocked: bool,
    /// An assertion that counts could not be graded.
    ungraded: bool,
}

impl Level {
    fn new(rule: SetRule) -> Self {
        Self {
            rule,
            mean: Mean::default(),
            best: 0.0,
            passed: 0,
            counted: 0,
            failing_reason: None,
            blocked: false,
            ungraded: false,
        }
    }

    fn add(&mut self, component: &ComponentRecord, weight: f64) {
        if component.skipped {
            return;
        }
        self.mean.add(component.score, weight);
        self.ungraded |= component.error_code.is_some() && weight != 0.0;
        if weight != 0.0 {
            self.best = if self.counted == 0 {
                component.score
            } else {
                self.best.max(component.score)
            };
            self.counted += 1;
            self.passed += usize::from(component.pass);
        }
        if !component.pass {
            self.failing_reason = Some(component.reason.clone());
            self.blocked |= is_wanted_block(&component.assertion);
        }
    }

    /// (pass, score, reason)
    fn close(self, threshold: Option<f64>) -> (bool, f64, String) {
        let blocked = self.blocked;
        let (pass, score, reason) = match self.rule {
            SetRule::All => self.close_all(threshold),
            SetRule::Any => self.close_any(threshold),
        };
        if blocked {
            let reason = "A guardrail stopped it, which passes a test of `purpose: redteam`";
            return (true, score, reason.to_owned());
        }
        (pass, score, reason)
    }

    fn close_any(self, threshold: Option<f64>) -> (bool, f64, String) {
        let (score, passed, counted) = (self.best, self.passed, self.counted);
        if let Some(threshold) = threshold {
            let pass = score >= threshold;
            let sign = if pass { "≥" } else { "<" };
            let reason = format!("Best score {score:.2} {sign} {threshold} threshold");
            return (pass, score, reason);
        }
        let reason = match self.failing_reason {
            _ if passed > 0 => format!("{passed} of {counted} assertions passed, one is enough"),
            _ if counted == 0 => "No assertion of the set counted".to_owned(),
            Some(reason) => format!("None of {counted} assertions passed; the last: {reason}"),
            None => format!("None of {counted} assertions passed"),
        };
        (passed > 0 || counted == 0, score, reason)
    }

    fn close_all(self, threshold: Option<f64>) -> (bool, f64, String) {
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

/// Whether an assertion that fails shows what a test of attacks wants to see: `guardrails` with
/// `config: { purpose: redteam }`.
fn is_wanted_block(assertion: &Value) -> bool {
    assertion["type"] == "guardrails" && assertion["config"]["purpose"] == "redteam"
}

/// The set around an assertion; of one that stands alone, nothing.
struct EnclosingSet {
    weight: f64,
    /// Rendered.
    metric: Option<String>,
}

impl EnclosingSet {
    fn none() -> Self {
        Self {
            weight: 1.0,
            metric: None,
        }
    }
}

/// The largest score that counts. Sums and means of larger ones may be no numbers, and a record
/// that holds none could not be read again.
pub(crate) const LARGEST_SCORE: f64 = 1e12;

/// What is wrong with a score that is beyond [`LARGEST_SCORE`], if one is.
pub(crate) fn beyond(scores: impl IntoIterator<Item = f64>) -> Option<String> {
    let mut scores = scores.into_iter();
    let score = scores.find(|score| !score.is_finite() || score.abs() > LARGEST_SCORE)?;
    Some(format!(
        "the score {score:e} is beyond {LARGEST_SCORE:e}, the largest one that counts"
    ))
}

/// Named scores of one grade. A row has them several times.
pub(crate) const MOST_NAMED_SCORES: usize = 1_000;

/// Bytes of a reason. It is there to be read.
pub(crate) const MAX_REASON: usize = 64 << 10;

/// Bytes of a name that a grader gives. Names are kept to the end of the run.
pub(crate) const LONGEST_METRIC: usize = 1 << 10;

/// What is wrong with a grader's named scores, if they are too many or a name is too long.
pub(crate) fn overnamed(named: &[(String, f64)]) -> Option<String> {
    let many = named.len();
    if many > MOST_NAMED_SCORES {
        return Some(format!(
            "the grade has {many} named scores, {MOST_NAMED_SCORES} are allowed"
        ));
    }
    let longest = named.iter().map(|(name, _)| name.len()).max()?;
    (longest > LONGEST_METRIC)
        .then(|| format!("the name of a score has {longest} bytes, {LONGEST_METRIC} are allowed"))
}

/// Named scores of a case: a weighted mean per metric, and the weights behind it.
#[derive(Default)]
pub(crate) struct NamedScores(pub(crate) Map<String, Value>, pub(crate) Map<String, Value>);

impl NamedScores {
    pub(crate) fn add(&mut self, name: &str, score: f64, weight: f64) {
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

    /// Adds the scores of a grade. A score under the name of the set around it is left to the set.
    fn take(&mut self, graded: &Graded, weight: f64, around: &EnclosingSet) {
        let weight = weight * around.weight;
        let sets = |name: &String| around.metric.as_ref() == Some(name);
        if let Some(metric) = graded.metric.as_ref().filter(|name| !sets(name)) {
            self.add(metric, graded.component.score, weight);
        }
        let own = |name: &String| graded.metric.as_ref() == Some(name) || sets(name);
        let stated = graded.component.named_scores.iter();
        for (name, score) in stated.filter(|(name, _)| !own(name)) {
            self.add(name, score.as_f64().unwrap_or(0.0), weight);
        }
    }
}

/// The grade of a case whose `checks` came to `graded`: one entry per assertion in the order
/// written, members of sets in their place. `set_metric` renders a set's metric template.
///
/// # Panics
/// If `graded` has fewer entries than `checks` has assertions.
pub(crate) fn aggregate(
    checks: &[Check],
    threshold: Option<f64>,
    graded: Vec<Graded>,
    used: GraderUsage,
    set_metric: impl Fn(&str) -> String,
) -> CaseGrade {
    let mut graded = graded.into_iter();
    let mut case = Level::new(SetRule::All);
    let mut tree = Tree::default();
    for check in checks {
        match check {
            Check::One(assertion) => {
                tree.take(&mut graded, assertion, &mut case, &EnclosingSet::none());
            }
            Check::Set {
                rule,
                assertions,
                weight,
                threshold,
                metric,
                json,
            } => {
                let mut set = Level::new(*rule);
                let place = tree.components.len();
                let around = EnclosingSet {
                    weight: *weight,
                    metric: metric.as_deref().map(&set_metric),
                };
                for assertion in assertions {
                    tree.take(&mut graded, assertion, &mut set, &around);
                }
                let ungraded = set.ungraded;
                let (pass, score, reason) = set.close(*threshold);
                // What one member says can't change that another one is enough.
                let is_enough = *rule == SetRule::Any && pass;
                case.ungraded |= ungraded && !is_enough;
                let whole = ComponentRecord::plain(pass, score, reason, json.clone());
                case.add(&whole, *weight);
                if let Some(metric) = around.metric {
                    tree.metrics.add(&metric, score, *weight);
                    let mut members = assertions.iter().zip(&tree.components[place..]);
                    let lacks = members.any(|(it, grade)| it.weight != 0.0 && !grade.is_graded());
                    (tree.not_graded).extend((lacks && !is_enough).then_some(metric));
                }
                tree.components.insert(place, whole);
            }
        }
    }
    let ungraded = case.ungraded;
    let (pass, score, reason) = if checks.is_empty() {
        (true, 1.0, "No assertions".to_owned())
    } else {
        case.close(threshold)
    };
    let record = GradingRecord {
        pass: pass && !ungraded,
        score,
        reason,
        named_scores: tree.metrics.0,
        named_score_weights: tree.metrics.1,
        not_graded: tree.not_graded,
        used,
        component_results: tree.components,
        before_comparison: None,
        by_people: None,
    };
    CaseGrade { ungraded, record }
}

/// Whether a check passed by itself, its weight aside; `None` if it was skipped. `graded` is what
/// its assertions came to.
pub(crate) fn passed(check: &Check, graded: &[Graded]) -> Option<bool> {
    match check {
        Check::One(_) => {
            let component = &graded.first()?.component;
            (!component.skipped).then_some(component.pass)
        }
        Check::Set {
            rule,
            assertions,
            threshold,
            ..
        } => {
            let mut set = Level::new(*rule);
            for (one, assertion) in graded.iter().zip(assertions) {
                set.add(&settle(one.clone(), assertion).component, assertion.weight);
            }
            Some(set.close(*threshold).0)
        }
    }
}

/// What the assertions add up to beside the levels.
#[derive(Default)]
struct Tree {
    components: Vec<ComponentRecord>,
    metrics: NamedScores,
    /// Metrics of assertions that could not be graded.
    not_graded: Vec<String>,
}

impl Tree {
    /// Moves the next assertion's grade to its level and its place among the components. Its
    /// metrics count in the case with the weight of its set, too.
    fn take(
        &mut self,
        graded: &mut impl Iterator<Item = Graded>,
        assertion: &Assertion,
        level: &mut Level,
        around: &EnclosingSet,
    ) {
        let one = graded
            .next()
            .expect("every assertion of the case was graded");
        let one = settle(one, assertion);
        level.add(&one.component, assertion.weight);
        if !one.component.skipped {
            self.metrics.take(&one, assertion.weight, around);
        }
        if !one.component.is_graded() {
            self.not_graded.extend(one.metric.clone());
        }
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
    /// Whether a grader gave it: it did not fail, and no judge that it asked gave none that can be read.
    pub(crate) fn is_graded(&self) -> bool {
        self.error_code.is_none() && self.metadata.get(GRADER_ERROR) != Some(&Value::Bool(true))
    }

    /// A component with nothing but a verdict.
    pub fn plain(pass: bool, score: f64, reason: String, assertion: impl Into<Arc<Value>>) -> Self {
        Self {
            pass,
            score,
            reason,
            skipped: false,
            error_code: None,
            assertion: assertion.into(),
            metadata: Map::new(),
            named_scores: Map::new(),
            parts: Vec::new(),
        }
    }
}

#[cfg(test)]
#[path = "grading/tests.rs"]
pub(crate) mod tests;
