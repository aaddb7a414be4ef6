//! `--fail-on`: whether a comparison is bad enough to end a job.
//!
//! What counts are cases, not the pass rate: one that broke is not made up for by another that passes
//! now. And it is never green for what did not run: neither where cases of the later run are missing,
//! nor where no case is in both. Tests that were taken out are no regression, since whoever edits a test takes one out
//! and puts another in; that they are gone is always said.

use serde_json::{Value, json};

use super::Totals;
use crate::arguments::Regression;
use crate::exit::USAGE;
use crate::figures;
use crate::verdict::Verdict;

/// What is asked of the later run.
pub(super) struct Gate {
    pub(super) allowed: Regression,
    /// Cases of the later run that have not ended.
    pub(super) not_run: u64,
    /// The exit code where it is not held.
    pub(super) code: u8,
}

impl Gate {
    /// The exit code of a comparison, and why it is not 0.
    pub(super) fn judge(&self, totals: &Totals) -> Verdict {
        let (broke, cases) = counted(totals);
        if cases == 0 {
            let why = if totals.columns.iter().any(|it| it.open > 0) {
                "no case that is in both runs has a verdict in both, so nothing was compared"
            } else {
                "no case is in both runs, so nothing was compared"
            };
            return Verdict::because(USAGE, why.to_owned());
        }
        if self.not_run > 0 {
            let missing = figures::counted(self.not_run, "case", "cases");
            let verb = if self.not_run == 1 { "was" } else { "were" };
            let why = format!("{missing} of the later run {verb} not run");
            return Verdict::because(self.code, why);
        }
        if broke as f64 * 100.0 > self.allowed.most * cases as f64 {
            let why = format!("{}, {}", regressed(totals), self.limit());
            return Verdict::because(self.code, why);
        }
        Verdict::GOOD
    }

    fn limit(&self) -> String {
        match self.allowed.most {
            0.0 => "none may".to_owned(),
            most => format!("at most {most} % may"),
        }
    }

    /// Below the comparison.
    pub(super) fn text(&self, totals: &Totals, verdict: &Verdict) -> String {
        let mut text = match &verdict.reason {
            Some(reason) => format!("\nExit code {}: {reason}\n", verdict.code),
            None => format!("\nNo regression: {}, {}\n", regressed(totals), self.limit()),
        };
        if let gone @ 1.. = totals.gone() {
            let gone = figures::counted(gone, "case", "cases");
            text = format!(
                "{text}Not compared, since the later run lacks them: {gone} of the earlier run\n"
            );
        }
        text
    }

    /// For `--json`.
    pub(super) fn json(&self, totals: &Totals, verdict: &Verdict) -> Value {
        let (broke, cases) = counted(totals);
        json!({
            "regression": { "mostPercent": self.allowed.most, "broke": broke, "flaky": totals.flaky, "cases": cases },
            "gone": totals.gone(),
            "notRun": self.not_run,
            "exitCode": verdict.code,
            "reason": verdict.reason,
        })
    }
}

/// Cases that broke, and those they are a share of: also of those without a verdict, since what has failed is
/// known at once and what may pass yet is not. None where nothing was compared.
fn counted(totals: &Totals) -> (u64, u64) {
    let columns = || totals.columns.iter();
    let broke = columns().map(|sums| sums.pairs.worse).sum();
    let compared = columns().any(|sums| sums.pairs.total() > 0);
    let cases = columns().map(|sums| sums.cases).sum();
    (broke, if compared { cases } else { 0 })
}

fn regressed(totals: &Totals) -> String {
    let (broke, cases) = counted(totals);
    let (share, of) = (
        figures::percent(broke, cases),
        figures::counted(cases, "case", "cases"),
    );
    let broke = figures::count(broke);
    let flaky = match totals.flaky {
        0 => String::new(),
        flaky => format!(" ({} of them flaky)", figures::count(flaky)),
    };
    format!("{broke} of {of} ({share}) passed before but not now{flaky}")
}

#[cfg(test)]
mod tests {
    use super::super::sums::PairTotals;
    use super::*;

    fn totals(columns: &[(u64, u64)]) -> Totals {
        let sums = |(worse, both): &(u64, u64)| {
            let mut sums = PairTotals::default();
            (sums.pairs.worse, sums.pairs.both) = (*worse, *both);
            sums.cases = worse + both;
            sums
        };
        Totals {
            columns: columns.iter().map(sums).collect(),
            only_after: 3,
            ..Totals::new(0)
        }
    }

    #[test]
    fn cases_that_broke_are_held_against_what_may() {
        let table = [
            (0.0, 0, &[(0, 4), (0, 4)][..], 0, ""),
            (
                0.0,
                0,
                &[(1, 99), (0, 100)],
                7,
                "1 of 200 cases (0.5 %) passed before but not now, none may",
            ),
            (0.5, 0, &[(1, 99), (0, 100)], 0, ""),
            (
                0.5,
                0,
                &[(1, 99), (1, 99)],
                7,
                "2 of 200 cases (1.0 %) passed before but not now, at most 0.5 % may",
            ),
            (100.0, 0, &[(4, 0)], 0, ""),
            (
                100.0,
                1,
                &[(0, 4)],
                7,
                "1 case of the later run was not run",
            ),
            (
                100.0,
                0,
                &[(0, 0)],
                2,
                "no case is in both runs, so nothing was compared",
            ),
        ];
        for (most, not_run, columns, code, reason) in table {
            let gate = Gate {
                allowed: Regression { most },
                not_run,
                code: 7,
            };
            let verdict = gate.judge(&totals(columns));
            let told = (verdict.code, verdict.reason.unwrap_or_default());
            assert_eq!(told, (code, reason.to_owned()), "{most} {columns:?}");
        }
        // What may pass yet is among those that two are a share of.
        let mut open = totals(&[(2, 2)]);
        open.columns[0].cases = 10;
        assert_eq!(counted(&open), (2, 10));
        open.flaky = 1;
        let told = "2 of 10 cases (20.0 %) passed before but not now (1 of them flaky)";
        assert_eq!(regressed(&open), told);
    }
}
