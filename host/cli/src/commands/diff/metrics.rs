//! What each metric came to in the cases that are in both runs, and which a judge graded both times.

use std::collections::{BTreeMap, HashMap};

use indexmap::IndexSet;
use runner_eval::record::CaseRecord;
use serde_json::{Map, Value, json};

use super::cases::CaseSummary;

/// Metrics that are compared, the first that are seen.
const MOST: usize = 100;

/// The scores of a case by the numbers of their metrics.
type Scores = Vec<(usize, f64)>;

/// The scores of both runs.
#[derive(Debug, Default)]
pub(super) struct Metrics {
    names: IndexSet<String>,
    /// Those of the earlier run, by test and column.
    before: HashMap<(u32, u32), Scores>,
    /// By column of the later run and metric: how many cases, and their sums.
    sums: BTreeMap<(usize, usize), (u64, [f64; 2])>,
}

impl Metrics {
    /// Takes a case of the earlier run.
    pub(super) fn note(&mut self, record: &CaseRecord) {
        let scores = self.scores(record);
        if !scores.is_empty() {
            let place = (record.test_idx, record.prompt_idx);
            self.before.insert(place, scores);
        }
    }

    /// Takes a case of the later run with its partner.
    pub(super) fn add(&mut self, before: &CaseSummary, record: &CaseRecord) {
        let Some(was) = self.before.remove(&(before.test_idx, before.prompt_idx)) else {
            return;
        };
        for (metric, is) in self.scores(record) {
            let Some((_, was)) = was.iter().find(|it| it.0 == metric) else {
                continue;
            };
            let at = (record.prompt_idx as usize, metric);
            let (cases, sums) = self.sums.entry(at).or_default();
            *cases += 1;
            sums[0] += was;
            sums[1] += is;
        }
    }

    fn scores(&mut self, record: &CaseRecord) -> Scores {
        let grading = record.grading_result.as_ref();
        let not_graded = grading.map_or(&[][..], |it| &it.not_graded);
        let mut scores = Vec::new();
        for (name, score) in &record.named_scores {
            let Some(score) = score.as_f64().filter(|_| !not_graded.contains(name)) else {
                continue;
            };
            if self.names.len() < MOST || self.names.contains(name) {
                scores.push((self.names.insert_full(name.clone()).0, score));
            }
        }
        scores
    }

    /// Each metric of a column with how many cases have it both times, and its means.
    pub(super) fn of(&self, column: usize) -> impl Iterator<Item = (&str, u64, [f64; 2])> {
        let own = self.sums.range((column, 0)..(column + 1, 0));
        own.map(|((_, metric), (cases, sums))| {
            let means = sums.map(|sum| sum / *cases as f64);
            (self.names[*metric].as_str(), *cases, means)
        })
    }

    /// For `--json`: each pair is before, after.
    pub(super) fn json(&self, column: usize) -> Value {
        let told = self
            .of(column)
            .map(|(name, cases, mean)| (name.to_owned(), json!({ "cases": cases, "mean": mean })));
        Value::Object(told.collect::<Map<String, Value>>())
    }
}

#[cfg(test)]
mod tests {
    use runner_eval::record::Outcome;

    use super::*;
    use crate::findings::tests::record;

    #[test]
    fn a_metric_is_of_cases_that_were_graded_both_times() {
        let scored = |test: u32, score: f64| {
            let mut record = record(test, 0, Outcome::Passed, "a");
            record.named_scores = Map::from_iter([("tone".to_owned(), json!(score))]);
            record
        };
        let mut broken = scored(1, 0.0);
        let grading = broken.grading_result.as_mut().expect("it was graded");
        grading.not_graded = vec!["tone".to_owned()];
        let mut metrics = Metrics::default();
        for record in [scored(0, 0.5), scored(1, 0.5)] {
            metrics.note(&record);
        }
        for record in [scored(0, 1.0), broken] {
            metrics.add(
                &CaseSummary::of(&scored(record.test_idx, 0.5), None),
                &record,
            );
        }
        let told: Vec<_> = metrics.of(0).collect();
        assert_eq!(told, [("tone", 1, [0.5, 1.0])]);
        assert_eq!(metrics.of(1).count(), 0);
    }
}
