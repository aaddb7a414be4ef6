//! What a run adds up to, in memory that doesn't grow with its length.
//!
//! Latencies go into a histogram of two significant digits rather than a list: p50 and p95 are
//! within 1 %, and a million rows cost as much as ten.

use std::collections::BTreeMap;
use std::time::Duration;

use hdrhistogram::Histogram;
use runner_config::plan::{ShardRows, Thresholds};
use runner_gateway::{LaneSummary, Statement};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::question::Tasks;
use crate::record::{CaseCost, CaseRecord, Outcome, TokenUsage};
use crate::repeats::Repeats;

mod metrics;
mod streamed;

use metrics::MetricScores;
pub use metrics::{MOST_METRIC_NAMES, MOST_METRICS, Metrics};
use streamed::StreamedAnswers;

/// Longest latency that the histogram tells apart; above it counts as this. One day.
const MAX_LATENCY_MS: u64 = 24 * 60 * 60 * 1000;

/// Why a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// Every case ended.
    Finished,
    /// Ctrl-C or another signal that asks to end.
    Interrupted,
    /// `maxEvalTimeMs` passed.
    TimeLimit,
    /// The store took no more results.
    StoreFailed,
}

/// What names a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnHead {
    /// The provider's label or id, told apart from others of the same name.
    pub provider: String,
    /// The prompt's label.
    pub prompt: String,
}

impl ColumnHead {
    /// The name of a provider with what tells it from others that have it.
    pub fn told_apart(provider: &str, variant: Option<&str>) -> String {
        match variant {
            Some(variant) => format!("{provider} ({variant})"),
            None => provider.to_owned(),
        }
    }
}

/// A finished run.
#[derive(Debug, Clone)]
pub struct Summary {
    /// The run's id.
    pub run_id: String,
    /// Why it ended.
    pub end: End,
    /// Cases that the plan holds.
    pub total: u64,
    /// Wall time.
    pub duration: Duration,
    /// Cases in flight at once, as configured.
    pub concurrency: usize,
    /// All columns together.
    pub all: Tally,
    /// Per column, in order.
    pub columns: Vec<(ColumnHead, Tally)>,
    /// What the sums of the columns' metrics take.
    pub metrics: Metrics,
    /// How often the repeats of each test passed.
    pub repeats: Repeats,
    /// What the questions of each task add up to.
    pub tasks: Tasks,
    /// What each lane did, by name.
    pub lanes: Vec<LaneSummary>,
    /// Requests answered with 429 or its equivalent: the sum over the lanes.
    pub throttled: u64,
    /// Requests sent again: the sum over the lanes.
    pub retries: u64,
    /// What this session of the run has spent of each budget.
    pub budgets: Vec<Statement>,
    /// What it has to come to.
    pub thresholds: Thresholds,
    /// The part of a run that it is, if it is one.
    pub shard: Option<ShardRows>,
}

impl Summary {
    /// Cases that have not ended: not started, or cut off.
    pub fn not_run(&self) -> u64 {
        self.total.saturating_sub(self.all.count())
    }

    /// What the store keeps of a run beside its rows.
    pub fn to_json(&self) -> Value {
        serde_json::json!({
            "end": self.end,
            "total": self.total,
            "passed": self.all.passed,
            "failed": self.all.failed,
            "waiting": self.all.waiting,
            "errors": self.all.errors,
            "budgetExceeded": self.all.budget_exceeded,
            "notRun": self.not_run(),
            "cost": self.all.cost.map(FixedSum::value),
            "durationMs": self.duration.as_millis() as u64,
            "concurrency": self.concurrency,
            "throttled": self.throttled,
            "retries": self.retries,
            "lanes": self.lanes.iter().map(LaneSummary::to_json).collect::<Value>(),
            "budgets": self.budgets.iter().map(Statement::to_json).collect::<Value>(),
            "derivedMetrics": self.derived_json(),
            "metricThresholds": self.metric_thresholds_json(),
        })
    }

    /// What metrics have to be, and what they are in each column.
    fn metric_thresholds_json(&self) -> Value {
        let asked = self.thresholds.metrics.iter();
        asked
            .map(|it| {
                let name = &it.name;
                let tallies = || self.columns.iter().map(|(_, tally)| tally);
                let values: Vec<Option<f64>> = tallies().map(|it| it.metric(name)).collect();
                let ranges: Vec<_> = tallies().map(|it| it.metric_range(name)).collect();
                let not_graded: u64 = tallies().map(|it| it.not_graded(name)).sum();
                serde_json::json!({
                    "name": name, "min": it.min, "max": it.max,
                    "values": values, "ranges": ranges, "notGraded": not_graded,
                })
            })
            .collect()
    }

    /// The derived metrics of each column as `[name, value]` pairs, which keep their order.
    fn derived_json(&self) -> Value {
        let pairs = |tally: &Tally| {
            tally
                .derived
                .iter()
                .map(|pair| serde_json::json!(pair))
                .collect()
        };
        self.columns
            .iter()
            .map(|(_, tally)| -> Value { pairs(tally) })
            .collect()
    }

    /// Takes the derived metrics that a run left, as [`Summary::to_json`] wrote them.
    pub fn take_derived(&mut self, left: &Value) {
        let columns = left.as_array().into_iter().flatten();
        for ((_, tally), left) in self.columns.iter_mut().zip(columns) {
            let pairs = left.as_array().into_iter().flatten();
            let pair = |pair: &Value| {
                let name = pair[0].as_str()?.to_owned();
                Some((name, pair[1].as_f64().unwrap_or(f64::NAN)))
            };
            tally.derived = pairs.filter_map(pair).collect();
        }
    }
}

/// A sum that does not depend on the order in which cases end, so that two runs with the same
/// rows have the same sums to the last digit: fixed-point, with 80 bits behind the point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FixedSum(i128);

impl FixedSum {
    /// One in the fixed point.
    const ONE: f64 = (1_u128 << 80) as f64;

    /// Adds a number; what is none adds nothing.
    pub fn add(&mut self, number: f64) {
        // The cast cuts at the ends and makes 0 of what is no number.
        self.0 = self.0.saturating_add((number * Self::ONE) as i128);
    }

    /// The sum.
    pub fn value(self) -> f64 {
        self.0 as f64 / Self::ONE
    }
}

/// Sums over some cases.
#[derive(Debug, Clone)]
pub struct Tally {
    /// Cases by how they ended.
    pub passed: u64,
    /// Graded and not good enough.
    pub failed: u64,
    /// They wait for a person's verdict.
    pub waiting: u64,
    /// Errors.
    pub errors: u64,
    /// Stopped by a budget.
    pub budget_exceeded: u64,
    /// Of those that passed, those without an assertion.
    pub ungraded: u64,
    /// Assertions that passed, sets and their members each.
    pub assertions_passed: u64,
    /// Assertions that did not.
    pub assertions_failed: u64,
    /// Sum of the cases' scores.
    pub score: FixedSum,
    /// Tokens of the providers' calls.
    pub tokens: TokenUsage,
    /// Tokens of graders.
    pub grading_tokens: TokenUsage,
    /// US dollars that were paid, grading included, where known.
    pub cost: Option<FixedSum>,
    /// The part of them that grading took.
    pub grading_cost: FixedSum,
    /// What it would have cost beyond that without the cache.
    pub saved: FixedSum,
    /// What the answers cost where they are bought, those out of the cache included.
    priced: FixedSum,
    /// Answers for which nothing left the machine.
    pub cached: u64,
    /// Sum of latencies in milliseconds.
    pub latency_total_ms: u64,
    /// By metric, of a column.
    named: BTreeMap<String, MetricScores>,
    /// Metrics that were worked out of the others at the end of the run, in their order.
    pub derived: Vec<(String, f64)>,
    latencies: Histogram<u32>,
    /// Of answers that were streamed, if there are any.
    streamed: Option<StreamedAnswers>,
}

fn histogram() -> Histogram<u32> {
    Histogram::new_with_max(MAX_LATENCY_MS, 2).expect("two digits are in range")
}

impl Default for Tally {
    fn default() -> Self {
        Self {
            passed: 0,
            failed: 0,
            waiting: 0,
            errors: 0,
            budget_exceeded: 0,
            ungraded: 0,
            assertions_passed: 0,
            assertions_failed: 0,
            score: FixedSum::default(),
            tokens: TokenUsage::default(),
            grading_tokens: TokenUsage::default(),
            cost: None,
            grading_cost: FixedSum::default(),
            saved: FixedSum::default(),
            priced: FixedSum::default(),
            cached: 0,
            latency_total_ms: 0,
            named: BTreeMap::new(),
            derived: Vec::new(),
            latencies: histogram(),
            streamed: None,
        }
    }
}

impl Tally {
    /// Cases counted: those that have ended. One that was stopped before it was graded has
    /// not, though its tokens and its cost are in the sums.
    pub fn count(&self) -> u64 {
        self.passed + self.failed + self.waiting + self.errors + self.budget_exceeded
    }

    /// Latency in milliseconds that a share `q` (0 to 1) of the answered cases stayed within;
    /// `None` before the first answer.
    pub fn latency_ms(&self, q: f64) -> Option<u64> {
        (!self.latencies.is_empty()).then(|| self.latencies.value_at_quantile(q))
    }

    /// Time to the first token in milliseconds that a share `q` (0 to 1) of the streamed answers stayed within; `None`
    /// where none was streamed.
    pub fn ttft_ms(&self, q: f64) -> Option<u64> {
        Some(self.streamed.as_ref()?.first_token_ms(q))
    }

    /// Tokens a second of the streamed answers, from the first to the last; `None` where that is not known.
    pub fn tokens_per_second(&self) -> Option<f64> {
        self.streamed.as_ref()?.tokens_per_second()
    }

    /// Counts a case.
    pub fn add(&mut self, record: &CaseRecord) {
        match record.conclusion.outcome() {
            Outcome::Passed => {
                self.passed += 1;
                self.ungraded += u64::from(!record.is_graded());
            }
            Outcome::Failed => self.failed += 1,
            Outcome::Waiting => self.waiting += 1,
            Outcome::Error => self.errors += 1,
            Outcome::BudgetExceeded => self.budget_exceeded += 1,
            Outcome::Cancelled => {}
        }
        self.score.add(record.conclusion.score());
        self.tokens.add(&record.token_usage);
        self.priced.add(record.cost.unwrap_or_default());
        let CaseCost {
            paid,
            grading,
            saved,
        } = record.costs();
        if let Some(paid) = paid {
            self.cost.get_or_insert_default().add(paid);
        }
        self.grading_cost.add(grading.unwrap_or_default());
        self.saved.add(saved.unwrap_or_default());
        if let Some(response) = &record.response {
            self.cached += u64::from(response.cached);
            self.latency_total_ms += record.latency_ms;
            self.latencies.saturating_record(record.latency_ms);
            if let Some(ttft) = response.ttft_ms {
                let streamed = self
                    .streamed
                    .get_or_insert_with(|| StreamedAnswers::new(histogram()));
                streamed.add(ttft, record.latency_ms, record.token_usage.completion);
            }
        }
        if let Some(grading) = &record.grading_result {
            self.grading_tokens.add(&grading.used.tokens_used);
            for component in grading.component_results.iter().filter(|it| !it.skipped) {
                self.assertions_passed += u64::from(component.pass);
                self.assertions_failed += u64::from(!component.pass);
            }
        }
    }

    /// The weighted sum of each metric, by name.
    pub(crate) fn named(&self) -> impl Iterator<Item = (&str, f64)> {
        let named = self.named.iter();
        named.map(|(name, it)| (name.as_str(), it.sum.value()))
    }

    /// The weighted sum of a metric.
    pub(crate) fn sum_of(&self, name: &str) -> Option<f64> {
        self.named.get(name).map(|it| it.sum.value())
    }

    /// What a column has of a metric: a derived one as it was worked out, else the mean of the scores
    /// that have its name, without those that a judge failed to give; `None` where there are none.
    pub fn metric(&self, name: &str) -> Option<f64> {
        let derived = self.derived.iter().find(|(derived, _)| derived == name);
        let mean = || self.named.get(name)?.mean();
        derived.map(|(_, value)| *value).or_else(mean)
    }

    /// The least and the most that a metric could be, whatever a judge that failed would have said: as little as any
    /// other case got, or 0, and as much, or 1.
    pub fn metric_range(&self, name: &str) -> Option<[f64; 2]> {
        let mean = self.metric(name)?;
        let is_derived = self.derived.iter().any(|(derived, _)| derived == name);
        let scores = self
            .named
            .get(name)
            .filter(|it| !is_derived && it.not_graded > 0);
        let Some(scores) = scores else {
            return Some([mean; 2]);
        };
        let [least, most] = scores.reach;
        Some([scores.mean_with(least)?, scores.mean_with(most.max(1.0))?])
    }

    /// Cases of which a metric was not graded, since a judge failed.
    pub fn not_graded(&self, name: &str) -> u64 {
        self.named.get(name).map_or(0, |it| it.not_graded)
    }

    /// The metrics of which there is something to tell: named scores by name, then derived ones.
    pub fn metrics(&self) -> impl Iterator<Item = &str> {
        let is_derived = |name: &str| self.derived.iter().any(|(derived, _)| derived == name);
        let named = self.named.keys().map(String::as_str);
        let named = named.filter(move |name| !is_derived(name));
        let derived = self.derived.iter().map(|(name, _)| name.as_str());
        let is_told = |name: &&str| self.metric(name).is_some() || self.not_graded(name) > 0;
        named.chain(derived).filter(is_told)
    }

    /// The column's `metrics` in promptfoo's results file.
    pub fn metrics_json(&self) -> Value {
        let named = |part: fn(&MetricScores) -> FixedSum| -> Map<String, Value> {
            self.named
                .iter()
                .map(|(name, sums)| (name.clone(), part(sums).value().into()))
                .collect()
        };
        let mut scores = named(|it| it.sum);
        for (name, value) in &self.derived {
            scores.insert(name.clone(), (*value).into());
        }
        serde_json::json!({
            "score": self.score.value(),
            "testPassCount": self.passed,
            "testFailCount": self.failed + self.waiting,
            "testErrorCount": self.errors + self.budget_exceeded,
            "assertPassCount": self.assertions_passed,
            "assertFailCount": self.assertions_failed,
            "totalLatencyMs": self.latency_total_ms,
            "tokenUsage": self.tokens,
            "namedScores": scores,
            "namedScoreWeights": named(|it| it.weight),
            "cost": self.priced.value(),
            "incurredCost": self.cost.unwrap_or_default().value(),
            "gradingCost": self.grading_cost.value(),
        })
    }
}

#[cfg(test)]
mod tests;
