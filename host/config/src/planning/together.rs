//! What no part of a plan is wrong by itself in: columns and tests, looked at together.

use std::sync::Arc;

use serde_json::Value;

use super::unset;
use crate::filters::Chosen;
use crate::model::Findings;
use crate::plan::{Assertion, Check, Column, Test, Tests};

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

/// Checks that every comparison has answers to choose from.
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

/// Checks that every test has something that says what a good answer is.
fn check_assertions(tests: &Tests, findings: &Findings) {
    let lacks = |test: &Test| {
        let decides = test.assertions.iter().any(can_fail) && test.threshold != Some(0.0);
        !decides && test.comparisons.is_empty() && test.scoring.is_none()
    };
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

/// Whether some answer fails a check: one of weight 0 counts for nothing, and a list of nothing is in
/// every text.
fn can_fail(check: &Check) -> bool {
    match check {
        Check::One(assertion) => assertion.weight > 0.0 && !holds_always(assertion),
        Check::Set {
            assertions, weight, ..
        } => {
            *weight > 0.0
                && assertions
                    .iter()
                    .any(|it| it.weight > 0.0 && !holds_always(it))
        }
    }
}

fn holds_always(assertion: &Assertion) -> bool {
    let is_nothing = match &assertion.value {
        Some(Value::String(text)) => text.is_empty(),
        Some(Value::Array(items)) => items.is_empty(),
        _ => false,
    };
    let of_nothing = matches!(
        (&*assertion.kind, assertion.inverse),
        (
            "contains" | "icontains" | "starts-with" | "regex" | "contains-all" | "icontains-all",
            false
        ) | ("contains-any" | "icontains-any", true)
    );
    is_nothing && of_nothing
}

/// Checks that there are no more rows than results can count.
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

#[cfg(test)]
mod tests {
    use crate::fixture::Folder;

    fn lacking(test: &str) -> usize {
        let config = format!("providers: [echo]\nprompts: [hi]\ntests: [{test}]\n");
        let mut folder = Folder::new(&config);
        folder.overrides.requires_assertions = true;
        let problems = folder.problems();
        assert!(
            problems.iter().all(|it| it.contains("no assertion says")),
            "{problems:?}"
        );
        problems.len()
    }

    #[test]
    fn an_assertion_that_no_answer_fails_says_nothing() {
        for nothing in [
            "{ vars: { a: 1 } }",
            "{ assert: [{ type: equals, value: a, weight: 0 }] }",
            "{ assert: [{ type: not-contains-any, value: [] }] }",
            "{ assert: [{ type: contains, value: '' }] }",
            "{ assert: [{ type: equals, value: a }], threshold: 0 }",
            "{ assert: [{ type: assert-set, assert: [] }] }",
            "{ assert: [{ type: assert-set, weight: 0, assert: [{ type: equals, value: a }] }] }",
            "{ assert: [{ type: assert-set, assert: [{ type: equals, value: a, weight: 0 }] }] }",
        ] {
            assert_eq!(lacking(nothing), 1, "{nothing}");
        }
        for something in [
            "{ assert: [{ type: equals, value: '' }] }",
            "{ assert: [{ type: contains, value: a }] }",
            "{ assert: [{ type: not-contains, value: '' }] }",
            "{ assert: [{ type: contains-any, value: [] }] }",
            "{ assert: [{ type: assert-set, assert: [{ type: equals, value: a }] }] }",
        ] {
            assert_eq!(lacking(something), 0, "{something}");
        }
    }
}
