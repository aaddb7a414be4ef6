//! What no part of a plan is wrong by itself in: columns and tests, looked at together.

use std::sync::Arc;

use super::unset;
use crate::filters::Chosen;
use crate::model::Findings;
use crate::plan::{Column, Test, Tests};

/// Rows of a run: the results count them with 32 bits.
const MAX_ROWS: u64 = u32::MAX as u64;

/// Says what is wrong with what is going to run.
pub(super) fn check(chosen: &Chosen, requires_assertions: bool, findings: &Findings) {
    let Chosen { columns, tests, .. } = chosen;
    unset::warn(columns, tests, findings);
    check_comparisons(columns, tests, findings);
    if requires_assertions {
        check_assertions(tests, findings);
    }
}

/// A choice needs something to choose from.
fn check_comparisons(columns: &[Arc<Column>], tests: &Tests, findings: &Findings) {
    let runs_in = |test: &Test| test.columns.as_ref().map_or(columns.len(), |own| own.len());
    let lacks = |test: &Test| !test.comparisons.is_empty() && runs_in(test) < 2;
    let models = tests.models().enumerate();
    let lacking = models.filter(|(_, model)| lacks(model));
    for test in lacking.filter_map(|(index, _)| tests.get(index)) {
        if let Some(comparison) = test.comparisons.first() {
            let runs_in = runs_in(&test);
            let assertion = &comparison.assertion;
            let message = format!(
                "'{}' compares the answers of a test's columns, and the test at {} has {runs_in}",
                assertion.kind, test.at
            );
            let help = "give it a second prompt or provider, or take the assertion away";
            findings.error_help(assertion.at.clone(), message, help);
        }
    }
}

/// Tests that are named for what all of them lack.
const NAMED: usize = 10;

/// Something says what a good answer is.
fn check_assertions(tests: &Tests, findings: &Findings) {
    let lacks = |test: &Test| test.assertions.is_empty() && test.comparisons.is_empty();
    let models = tests.models().enumerate();
    let mut lacking = models.filter(|(_, model)| lacks(model));
    let help = "give it `assert`, or leave out --require-assertions";
    let named = lacking.by_ref().take(NAMED);
    for test in named.filter_map(|(index, _)| tests.get(index)) {
        let message = "no assertion says what a good answer is";
        findings.error_help(test.at.clone(), message, help);
    }
    if let Some((index, _)) = lacking.next() {
        let at = tests.get(index).map(|test| test.at.clone());
        let message = format!("{} more tests have no assertion", lacking.count() + 1);
        findings.error_help(at.unwrap_or_default(), message, help);
    }
}

/// As many rows as results can count.
pub(super) fn check_size(tests: &Tests, findings: &Findings) {
    let rows = |test: &Test| {
        test.axes
            .combinations()?
            .checked_mul(u64::from(test.repeat))
    };
    let mut sum = 0_u64;
    for (index, model) in tests.models().enumerate() {
        sum = match rows(model).and_then(|rows| sum.checked_add(rows)) {
            Some(sum) if sum <= MAX_ROWS => sum,
            _ => {
                let help = "`options: { disableVarExpansion: true }` keeps a list as one value";
                let message = format!("the variables and repeats make more than {MAX_ROWS} rows");
                let at = tests.get(index).map(|test| test.at.clone());
                return findings.error_help(at.unwrap_or_default(), message, help);
            }
        };
    }
}
