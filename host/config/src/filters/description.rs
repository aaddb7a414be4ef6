//! `--filter-pattern`: tests whose description matches.
//!
//! A test without a description never does, as in promptfoo. Rows of CSV files have one
//! (`Row #3`) unless they say their own.

use std::sync::Arc;

use super::Pattern;
use crate::plan::Test;

/// Whether a test is meant.
pub(super) fn matches(test: &Test, pattern: &Pattern) -> bool {
    let description = test.description.as_deref();
    description.is_some_and(|description| pattern.is_in(description))
}

/// What to say when none is.
pub(super) fn help(tests: &[Arc<Test>]) -> String {
    let described: Vec<&str> = tests
        .iter()
        .filter_map(|test| test.description.as_deref())
        .collect();
    match described.first() {
        None => {
            "no test has a `description`, which is what the pattern is looked for in".to_owned()
        }
        Some(first) => format!(
            "{} of the tests have a `description`; the first is '{first}'",
            described.len()
        ),
    }
}
