//! What a case cost, in US dollars: its answer, and what models said of it for its grade.
//!
//! `cost` is what something costs where it is bought, as in promptfoo. What came out of the cache was paid by
//! an earlier run: `incurredCost` is what was paid in this one. Budgets count the same.

use serde::{Deserialize, Serialize};

use super::{CaseRecord, TokenUsage};

/// What models used that graders asked.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GraderUsage {
    /// Their tokens.
    pub tokens_used: TokenUsage,
    /// US dollars, also of answers out of the cache; absent where unknown.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cost: Option<f64>,
    /// Those of them that were paid in this run.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub incurred_cost: Option<f64>,
}

impl GraderUsage {
    /// What one answer used; `cached`: nothing left the machine for it.
    pub(crate) fn of(tokens_used: TokenUsage, cost: Option<f64>, cached: bool) -> Self {
        Self {
            tokens_used,
            cost,
            incurred_cost: paid(cost, cached),
        }
    }

    /// Adds what others used.
    pub(crate) fn add(&mut self, other: &Self) {
        self.tokens_used.add(&other.tokens_used);
        self.cost = sum(self.cost, other.cost);
        self.incurred_cost = sum(self.incurred_cost, other.incurred_cost);
    }
}

/// US dollars of a case, each absent where nothing is known of it.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct CaseCost {
    /// What was paid for it in this run.
    pub paid: Option<f64>,
    /// The part of it that grading took.
    pub grading: Option<f64>,
    /// What it would have cost beyond that, if the cache had not had it.
    pub saved: Option<f64>,
}

impl CaseCost {
    /// What it costs where all of it is bought.
    pub fn priced(self) -> Option<f64> {
        sum(self.paid, self.saved)
    }
}

impl CaseRecord {
    /// What the case cost.
    pub fn costs(&self) -> CaseCost {
        let cached = self.response.as_ref().is_some_and(|it| it.cached);
        let judges = self.grading_result.as_ref().map(|it| it.used);
        let GraderUsage {
            cost,
            incurred_cost: grading,
            ..
        } = judges.unwrap_or_default();
        let spared = cost.zip(grading).map(|(cost, paid)| cost - paid);
        let saved = sum(self.cost.filter(|_| cached), spared);
        CaseCost {
            paid: sum(paid(self.cost, cached), grading),
            grading,
            saved: saved.filter(|usd| *usd > 0.0),
        }
    }
}

fn paid(cost: Option<f64>, cached: bool) -> Option<f64> {
    cost.map(|usd| if cached { 0.0 } else { usd })
}

fn sum(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    one.zip(other)
        .map(|(one, other)| one + other)
        .or(one)
        .or(other)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::record::GradingRecord;
    use crate::record::samples::record;

    /// A case whose answer cost 1, and whose judges were asked twice.
    fn case(cached: bool, judges: [(Option<f64>, bool); 2]) -> CaseRecord {
        let mut record = record(0);
        record.cost = Some(1.0);
        record.response.as_mut().expect("it answered").cached = cached;
        let mut used = GraderUsage::default();
        for (cost, cached) in judges {
            used.add(&GraderUsage::of(TokenUsage::default(), cost, cached));
        }
        let graded = json!({
            "pass": true, "score": 1, "reason": "", "namedScores": {}, "namedScoreWeights": {},
            "tokensUsed": TokenUsage::default(), "componentResults": [],
        });
        let graded = serde_json::from_value(graded).expect("a grade");
        record.grading_result = Some(GradingRecord { used, ..graded });
        record
    }

    #[test]
    fn what_was_paid_is_told_from_what_the_cache_had() {
        let costs = |cached, judges| {
            let CaseCost {
                paid,
                grading,
                saved,
            } = case(cached, judges).costs();
            (paid, grading, saved)
        };
        let (bought, kept, unknown) = ((Some(0.25), false), (Some(0.25), true), (None, false));
        for (cached, judges, expected) in [
            (false, [unknown, unknown], (Some(1.0), None, None)),
            (false, [bought, unknown], (Some(1.25), Some(0.25), None)),
            (false, [bought, kept], (Some(1.25), Some(0.25), Some(0.25))),
            (true, [unknown, unknown], (Some(0.0), None, Some(1.0))),
            (true, [bought, bought], (Some(0.5), Some(0.5), Some(1.0))),
            (true, [kept, kept], (Some(0.0), Some(0.0), Some(1.5))),
        ] {
            assert_eq!(costs(cached, judges), expected, "{cached} {judges:?}");
            let priced = case(cached, judges).costs().priced();
            let judges: f64 = judges.iter().filter_map(|(cost, _)| *cost).sum();
            assert_eq!(priced, Some(1.0 + judges), "whatever the cache has");
        }
    }

    #[test]
    fn a_record_of_before_has_no_cost_of_judges() {
        let old = json!({ "tokensUsed": TokenUsage::default() });
        let read: GraderUsage = serde_json::from_value(old.clone()).expect("it is one");
        assert_eq!(read, GraderUsage::default());
        assert_eq!(json!(read), old, "what is unknown is not written");
    }
}
