//! `--filter-pattern`: tests whose description matches.
//!
//! A test without a description never does, as in promptfoo. Rows of CSV files have one
//! (`Row #3`) unless they say their own.

use super::Pattern;
use crate::plan::{Test, Tests};

/// Whether a test is meant.
pub(super) fn matches(test: &Test, pattern: &Pattern) -> bool {
    let description = test.description.as_deref();
    description.is_some_and(|description| pattern.is_in(description))
}

/// What to say when none is.
pub(super) fn help(tests: &Tests) -> String {
    let described = tests.models().filter(|test| test.description.is_some());
    let first = tests.iter().find_map(|test| test.description.clone());
    match first {
        None => {
            "no test has a `description`, which is what the pattern is looked for in".to_owned()
        }
        Some(first) => format!(
            "{} of the tests have a `description`; the first is '{first}'",
            described.count()
        ),
    }
}
