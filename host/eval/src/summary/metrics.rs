//! Sums of named scores: what a column has of each metric, and how much all of them may take.

use std::collections::HashSet;

use super::{FixedSum, Tally};
use crate::record::CaseRecord;

/// Sums of metrics in a run, those of all columns together. Whoever grades may give metrics any
/// names; each stays in its row.
pub const MOST_METRICS: usize = 10_000;
/// Bytes of their names.
pub const MOST_METRIC_NAMES: usize = 4 << 20;

/// The scores of a metric.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct MetricScores {
    /// Weighted, and what was not graded as 0, as promptfoo has it.
    pub(super) sum: FixedSum,
    pub(super) weight: FixedSum,
    /// The part of both that those have which were not graded.
    pub(super) ungraded: [FixedSum; 2],
    /// Cases of which it was not graded.
    pub(super) not_graded: u64,
    /// The least that a case got, or 0, and the most.
    pub(super) reach: [f64; 2],
}

impl MetricScores {
    /// The mean of those that were graded.
    pub(super) fn mean(&self) -> Option<f64> {
        let [sum, weight] = self.ungraded;
        let weight = self.weight.0.saturating_sub(weight.0);
        (weight > 0)
            .then(|| FixedSum(self.sum.0.saturating_sub(sum.0)).value() / FixedSum(weight).value())
    }

    /// What the mean would be if those that were not graded had this score.
    pub(super) fn mean_with(&self, score: f64) -> Option<f64> {
        let mean = self.mean()?;
        let (all, ungraded) = (self.weight.value(), self.ungraded[1].value());
        Some(mean + (score - mean) * ungraded / all)
    }
}

/// Sums metrics: how much their sums take of what a run has for them.
#[derive(Debug, Clone, Default)]
pub struct Metrics {
    /// Names that always have room.
    declared: HashSet<String>,
    sums: usize,
    name_bytes: usize,
    /// Named scores that are in no sum, since there was no room for one.
    pub unsummed: u64,
}

impl Metrics {
    /// Sums of which those of the `declared` names have room, whatever else rows name.
    pub fn declaring(declared: impl IntoIterator<Item: Into<String>>) -> Self {
        let declared = declared.into_iter().take(MOST_METRICS);
        Self {
            declared: declared.map(Into::into).collect(),
            ..Self::default()
        }
    }

    /// Adds the named scores of a case to the sums of its column.
    pub fn add(&mut self, column: &mut Tally, record: &CaseRecord) {
        let grading = record.grading_result.as_ref();
        let weights = grading.map(|grading| &grading.named_score_weights);
        let not_graded = grading.map_or(&[][..], |grading| &grading.not_graded);
        for (name, score) in &record.named_scores {
            if !column.named.contains_key(name) && !self.begin_sum(name) {
                self.unsummed += 1;
                continue;
            }
            let weight = weights.and_then(|weights| weights.get(name)?.as_f64());
            let weight = weight.unwrap_or(1.0);
            let named = column.named.entry(name.clone()).or_default();
            let score = score.as_f64().unwrap_or(0.0);
            named.sum.add(score * weight);
            named.weight.add(weight);
            if not_graded.contains(name) {
                named.ungraded[0].add(score * weight);
                named.ungraded[1].add(weight);
                named.not_graded += 1;
            } else {
                let [least, most] = named.reach;
                named.reach = [least.min(score), most.max(score)];
            }
        }
    }

    /// Takes the room for one more sum; says whether there was any.
    fn begin_sum(&mut self, name: &str) -> bool {
        if self.declared.contains(name) {
            return true;
        }
        let name_bytes = self.name_bytes + name.len();
        let has_room = self.sums < MOST_METRICS && name_bytes <= MOST_METRIC_NAMES;
        if has_room {
            self.sums += 1;
            self.name_bytes = name_bytes;
        }
        has_room
    }
}
