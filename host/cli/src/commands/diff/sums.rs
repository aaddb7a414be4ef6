//! What a comparison comes to in one pair of columns.
//!
//! Cases are counted as they are; whether the change of the pass rate is more than chance is told by test
//! (`runner_view::significance`), since repeats are no cases of their own.

use std::collections::BTreeMap;

use runner_eval::record::Outcome;
use runner_view::significance::Pairs;
use runner_view::significance::rate::PassRate;
use serde_json::{Value, json};

use super::cases::{CaseSummary, are_open};

/// Sums over the cases of one pair of columns that are in both runs.
#[derive(Debug, Clone, Default)]
pub(super) struct PairTotals {
    /// How many they are.
    pub(super) cases: u64,
    /// How they ended before and after, but for those without a verdict.
    pub(super) pairs: Pairs,
    /// Those without a verdict in one of the two runs: they wait for a person, or were not carried out.
    pub(super) open: u64,
    /// Those whose answer came from the cache in one of the two runs.
    pub(super) cached: u64,
    /// Of tests that ran once; those of the others are in `repeats`.
    once: PassRate,
    /// Of tests that ran several times: how many of their cases passed, before and after, and how many there are.
    pub(super) repeats: BTreeMap<u64, [u32; 3]>,
    pub(super) score: [f64; 2],
    /// US dollars, where a case has a cost.
    pub(super) cost: [Option<f64>; 2],
    /// Sums of milliseconds, over the cases answered in both runs, and from the cache in none, so that they compare.
    latency_ms: [u64; 2],
    answered: u64,
}

impl PairTotals {
    pub(super) fn add(&mut self, before: &CaseSummary, after: &CaseSummary) {
        let passed = |ended: &CaseSummary| ended.outcome == Outcome::Passed;
        let [was, is] = [passed(before), passed(after)];
        self.cases += 1;
        self.cached += u64::from(before.is_cached || after.is_cached);
        if are_open(before, after) {
            self.open += 1;
            self.once.leave_out();
        } else {
            self.pairs.add(was, is);
            self.add_to_test(after.repeats, was, is);
        }
        for (side, ended) in [before, after].into_iter().enumerate() {
            self.score[side] += ended.score;
        }
        // What one of the two did not state would make the other the dearer.
        if let (Some(was), Some(is)) = (before.cost, after.cost) {
            for (side, cost) in [was, is].into_iter().enumerate() {
                *self.cost[side].get_or_insert_default() += cost;
            }
        }
        if let (Some(was), Some(is)) = (before.latency_ms, after.latency_ms) {
            self.answered += 1;
            self.latency_ms[0] += was;
            self.latency_ms[1] += is;
        }
    }

    /// Adds a case to its test's.
    fn add_to_test(&mut self, repeats: Option<u64>, was: bool, is: bool) {
        let Some(repeats) = repeats else {
            return self
                .once
                .add(f64::from(u8::from(was)), f64::from(u8::from(is)));
        };
        let counts = self.repeats.entry(repeats).or_default();
        for (count, more) in counts.iter_mut().zip([was, is, true]) {
            *count += u32::from(more);
        }
    }

    /// The pass rate by test.
    fn rate(&self) -> PassRate {
        let mut rate = self.once;
        for repeats in self.repeats.values() {
            let [was, is, of] = repeats.map(f64::from);
            rate.add(was / of, is / of);
        }
        rate
    }

    pub(super) fn mean_ms(&self, side: usize) -> Option<u64> {
        self.latency_ms[side].checked_div(self.answered)
    }

    /// Cases that passed, before and after.
    pub(super) fn passed(&self) -> [u64; 2] {
        let Pairs {
            both,
            worse,
            better,
            ..
        } = self.pairs;
        [both + worse, both + better]
    }

    /// For `--json`: each pair is before, after.
    pub(super) fn json(&self) -> Value {
        let cases = self.cases;
        let mean = |side: usize| (cases > 0).then(|| self.score[side] / cases as f64);
        let rate = self.rate();
        let (change, interval) = rate.change();
        json!({
            "cases": cases, "withoutVerdict": self.open, "cached": self.cached, "broke": self.pairs.worse, "fixed": self.pairs.better, "passed": self.passed(),
            "meanScore": [mean(0), mean(1)], "cost": self.cost,
            "meanLatencyMs": [self.mean_ms(0), self.mean_ms(1)],
            "passRateChange": { "tests": rate.tests(), "change": change, "interval": interval, "pValue": rate.p_value() },
        })
    }

    /// Whether the change of the pass rate says something; nothing where no test came out differently.
    pub(super) fn significance(&self) -> Option<String> {
        let rate = self.rate();
        let (change, interval) = rate.change();
        let points = |share: f64| format!("{:+.1}", share * 100.0);
        let within = |(low, high)| format!(" [{}, {}]", points(low), points(high));
        rate.differs().then(|| {
            let interval = interval.map(within).unwrap_or_default();
            format!("{} points{interval}, {}", points(change), rate.told())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::tests::record;

    #[test]
    fn a_test_counts_once_and_what_has_no_verdict_not_at_all() {
        use Outcome::{Failed, Passed, Waiting};
        let ended = |outcome, group: Option<&str>| {
            let mut record = record(0, 0, outcome, "a");
            record.repeat_group = group.map(str::to_owned);
            CaseSummary::of(&record, None)
        };
        let mut sums = PairTotals::default();
        for (was, is, group) in [
            (Passed, Failed, Some("a")),
            (Passed, Passed, Some("a")),
            (Failed, Passed, None),
        ] {
            sums.add(&ended(was, group), &ended(is, group));
        }
        let told = sums.significance().expect("two moved");
        assert_eq!(told, "+25.0 points, may be chance, p = 0.795");
        for open in [Waiting, Outcome::BudgetExceeded] {
            sums.add(&ended(Passed, None), &ended(open, None));
        }
        let rate = sums.rate();
        assert_eq!((sums.cases, sums.open, rate.tests()), (5, 2, 2));
        assert_eq!((sums.pairs.worse, sums.pairs.better), (1, 1));
        // By hand: half of one test lost, all of the other won.
        assert!((rate.change().0 - 0.25).abs() < 1e-12);
        let told = sums.significance().expect("two moved");
        assert_eq!(told, "+25.0 points, not told while 2 cases have no verdict");
    }

    #[test]
    fn cost_is_of_cases_that_both_runs_know_it_of() {
        let ended = |cost| {
            let mut record = record(0, 0, Outcome::Passed, "a");
            record.cost = cost;
            CaseSummary::of(&record, None)
        };
        let mut sums = PairTotals::default();
        for (was, is) in [(Some(1.0), Some(1.5)), (Some(2.0), None), (None, Some(4.0))] {
            sums.add(&ended(was), &ended(is));
        }
        assert_eq!(sums.cost, [Some(1.0), Some(1.5)]);
    }

    #[test]
    fn what_the_cache_had_says_nothing_of_latency() {
        let ended = |latency_ms, cached| {
            let mut record = record(0, 0, Outcome::Passed, "a");
            record.latency_ms = latency_ms;
            record.response.as_mut().expect("an answer").cached = cached;
            CaseSummary::of(&record, None)
        };
        let mut sums = PairTotals::default();
        sums.add(&ended(500, false), &ended(300, false));
        sums.add(&ended(500, false), &ended(9000, true));
        sums.add(&ended(9000, true), &ended(100, false));
        assert_eq!(
            (sums.cached, sums.mean_ms(0), sums.mean_ms(1)),
            (2, Some(500), Some(300))
        );
    }
}
