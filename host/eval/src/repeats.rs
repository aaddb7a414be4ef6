//! How often the repeats of a test passed: the pass rate, `pass^k`, and which tests are flaky.
//!
//! Repeats are cases that differ in nothing but the repeat. Each record says which group it is
//! one of; those of a test that runs once say nothing and cost nothing here. The rest take some
//! tens of bytes per group, which is what can be said about each of them in the end, and their
//! descriptions, each text once: a test of many combinations in many columns is many groups.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use runner_config::plan::CaseId;
use serde_json::{Value, json};

use crate::record::{CaseRecord, Outcome};

/// The repeats of every test in every column.
#[derive(Debug, Clone, Default)]
pub struct Repeats {
    groups: BTreeMap<(Arc<str>, u32), TestRepeats>,
    descriptions: HashSet<Arc<str>>,
}

/// The repeats of one test, with one set of variables, in one column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestRepeats {
    /// Place of the earliest of them.
    pub first: CaseId,
    /// The test's description.
    pub description: Option<Arc<str>>,
    /// How many have ended.
    pub ran: u64,
    /// How many of them passed.
    pub passed: u64,
}

impl TestRepeats {
    /// Share of those that passed, 0 to 1.
    pub(crate) fn pass_rate(&self) -> f64 {
        self.passed as f64 / self.ran as f64
    }

    /// `pass^k`: the chance that `k` of them, drawn without putting back, all passed, 0 to 1. It
    /// estimates how often `k` runs in a row would pass. `None` if fewer than `k` ended.
    pub fn pass_hat(&self, k: u64) -> Option<f64> {
        match k {
            0 => Some(1.0),
            k => self.pass_hats().nth(usize::try_from(k - 1).ok()?),
        }
    }

    /// `pass^k` for every k from 1 to their number: each is made of the one before it.
    fn pass_hats(&self) -> impl Iterator<Item = f64> {
        (0..self.ran).scan(1.0, |chance, drawn| {
            *chance *= self.passed.saturating_sub(drawn) as f64 / (self.ran - drawn) as f64;
            Some(*chance)
        })
    }

    /// Whether it passed at times, and at times it didn't.
    pub fn is_flaky(&self) -> bool {
        self.passed > 0 && self.passed < self.ran
    }
}

impl Repeats {
    /// Counts a case, if it is one of several repeats.
    pub fn add(&mut self, record: &CaseRecord) {
        let Some(group) = &record.repeat_group else {
            return;
        };
        // It has not ended, or nobody has judged it.
        let outcome = record.conclusion.outcome();
        if matches!(outcome, Outcome::Cancelled | Outcome::Waiting) {
            return;
        }
        let id = CaseId {
            test_idx: record.test_idx,
            prompt_idx: record.prompt_idx,
        };
        let descriptions = &mut self.descriptions;
        let key = (Arc::from(group.as_str()), record.prompt_idx);
        let repeated = self.groups.entry(key).or_insert_with(|| TestRepeats {
            first: id,
            description: record.description().map(|text| shared(descriptions, text)),
            ran: 0,
            passed: 0,
        });
        repeated.first = repeated.first.min(id);
        repeated.ran += 1;
        repeated.passed += u64::from(outcome == Outcome::Passed);
    }

    /// All of them, in the order of the results.
    pub fn in_order(&self) -> Vec<&TestRepeats> {
        let mut all: Vec<&TestRepeats> = self.groups.values().collect();
        all.sort_by_key(|repeated| repeated.first);
        all
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// The most repeats of which every group has as many, and `pass^k` for that many: the mean
    /// over the groups. `None` without repeats.
    pub fn pass_hat(&self) -> Option<(u64, f64)> {
        let k = self.groups.values().map(|repeated| repeated.ran).min()?;
        let sum: f64 = self.groups.values().filter_map(|one| one.pass_hat(k)).sum();
        Some((k, sum / self.groups.len() as f64))
    }

    /// For the results file: one entry for each group, `pass^k` for k from 1 to its repeats.
    pub fn to_json(&self) -> Value {
        let entry = |one: &&TestRepeats| {
            json!({
                "testIdx": one.first.test_idx,
                "promptIdx": one.first.prompt_idx,
                "description": one.description.as_deref(),
                "repeats": one.ran,
                "passed": one.passed,
                "passRate": one.pass_rate(),
                "pass^k": one.pass_hats().collect::<Value>(),
                "flaky": one.is_flaky(),
            })
        };
        self.in_order().iter().map(entry).collect()
    }
}

/// The one copy of a text.
fn shared(texts: &mut HashSet<Arc<str>>, text: &str) -> Arc<str> {
    if let Some(known) = texts.get(text) {
        return known.clone();
    }
    let new = Arc::from(text);
    texts.insert(Arc::clone(&new));
    new
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Conclusion;
    use crate::record::samples::record;

    fn repeats(outcomes: &[(&str, u32, Outcome)]) -> Repeats {
        let mut repeats = Repeats::default();
        for (test_idx, (group, prompt_idx, outcome)) in (0..).zip(outcomes) {
            let mut record = record(test_idx);
            record.prompt_idx = *prompt_idx;
            record.conclusion = Conclusion::foreign(*outcome, 0.0, None);
            record.repeat_group = Some((*group).to_owned());
            repeats.add(&record);
        }
        repeats
    }

    #[test]
    fn what_nobody_has_judged_is_not_counted() {
        let waits = Outcome::Waiting;
        let passed = Outcome::Passed;
        assert!(repeats(&[("a", 0, waits), ("a", 0, waits)]).is_empty());
        let one = repeats(&[("a", 0, passed), ("a", 0, waits), ("a", 0, passed)]);
        assert_eq!(one.pass_hat(), Some((2, 1.0)));
    }

    #[test]
    fn cases_that_run_once_are_no_repeats() {
        let mut repeats = Repeats::default();
        repeats.add(&record(0));
        assert!(repeats.is_empty());
        assert_eq!(repeats.pass_hat(), None);
    }

    #[test]
    fn two_of_three_is_flaky_and_an_error_is_no_pass() {
        use Outcome::{Error, Passed};
        let repeats = repeats(&[("a", 0, Passed), ("a", 0, Error), ("a", 0, Passed)]);
        let json = repeats.to_json();
        assert_eq!(json[0]["passRate"], 2.0 / 3.0);
        assert_eq!(json[0]["pass^k"], json!([2.0 / 3.0, 1.0 / 3.0, 0.0]));
        assert_eq!(json[0]["flaky"], true);
        assert_eq!(repeats.pass_hat(), Some((3, 0.0)));
    }

    #[test]
    fn columns_are_apart_and_the_mean_is_over_all() {
        use Outcome::{Failed, Passed};
        let repeats = repeats(&[
            ("b", 1, Passed),
            ("b", 0, Failed),
            ("b", 1, Passed),
            ("b", 0, Failed),
        ]);
        assert_eq!(repeats.pass_hat(), Some((2, 0.5)));
        let firsts: Vec<u32> = repeats
            .in_order()
            .iter()
            .map(|one| one.first.test_idx)
            .collect();
        assert_eq!(firsts, [0, 1]);
        assert!(repeats.in_order().iter().all(|one| !one.is_flaky()));
    }

    #[test]
    fn groups_with_one_description_share_it() {
        let mut repeats = Repeats::default();
        for test_idx in 0..3 {
            let mut record = record(test_idx);
            record.test_case["description"] = "greets".into();
            record.repeat_group = Some(test_idx.to_string());
            repeats.add(&record);
        }
        let all = repeats.in_order();
        let first = all[0].description.as_ref().expect("it has one");
        let copies = |one: &&&TestRepeats| {
            !one.description
                .as_ref()
                .is_some_and(|it| Arc::ptr_eq(it, first))
        };
        assert_eq!((all.len(), all.iter().filter(copies).count()), (3, 0));
        assert_eq!(repeats.to_json()[2]["description"], "greets");
    }

    /// Work that grows with the square of the repeats would have no end here.
    #[test]
    fn so_many_repeats_are_told_in_linear_time() {
        let mut repeats = repeats(&[("a", 0, Outcome::Passed)]);
        let one = repeats.groups.values_mut().next().expect("there is one");
        (one.ran, one.passed) = (1_000_000, 999_999);
        let json = repeats.to_json();
        let hats = json[0]["pass^k"].as_array().expect("a list");
        assert_eq!((hats.len(), hats[999_999].as_f64()), (1_000_000, Some(0.0)));
    }

    #[test]
    fn pass_hat_of_more_than_there_are_is_unknown() {
        let repeats = repeats(&[("a", 0, Outcome::Passed)]);
        let one = repeats.in_order()[0];
        assert_eq!(one.pass_hat(1), Some(1.0));
        assert_eq!(one.pass_hat(2), None);
    }
}
