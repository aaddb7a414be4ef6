//! The trait of a grader: it scores one answer.

use std::fmt::Display;

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::wire::assertion::exports::runner::plugin::assertion as wire;
use crate::{CallContext, Error, Info};

pub use wire::{Component, Grade, Input};

/// A grader. Functions instead of methods: the host may run every call in a fresh instance,
/// so there is no state to hold.
///
/// Export the type with [`export_assertion!`](crate::export_assertion). A grader that calls
/// nothing of [`log`](crate::log), [`http`](crate::http) and [`llm`](crate::llm) imports no
/// function; the host sees that and may remember its grades.
pub trait Assertion {
    /// What the plugin is and which assertion types it serves. Called once per file, with
    /// nothing granted.
    fn describe() -> Info;

    /// Grades one answer; `input.type_` says which of the types is meant. The grader inverts
    /// where `input.inverse` is set, since what that means differs by type: [`Input::judge`]
    /// does it for a plain yes or no.
    ///
    /// # Errors
    /// "Could not grade", which is reported apart from a failing grade.
    fn evaluate(input: &Input, context: &CallContext) -> Result<Grade, Error>;

    /// Says what no answer could make up for in the value of an assertion, beyond what its schema
    /// says: a regular expression that can't be read. Asked before the run where
    /// [`Info::checks_values`] is set, of values without templates; null is a value that isn't there.
    ///
    /// # Errors
    /// What is wrong, a sentence without a full stop.
    fn check_value(_type: &str, _value: &Value) -> Result<(), String> {
        Ok(())
    }
}

/// The member of a config that is checked by which the host asks for values, each a pair
/// `[type, value]`.
const VALUES: &str = "$values";

/// What [`Assertion::check_value`] says of each value, by its place in the list (`/3`).
pub(crate) fn check_values<A: Assertion>(config_json: &str) -> Vec<(String, String)> {
    let config: Value = serde_json::from_str(config_json).unwrap_or_default();
    let values = config[VALUES].as_array().into_iter().flatten();
    let said = values.enumerate().filter_map(|(index, value)| {
        let problem = A::check_value(value[0].as_str()?, &value[1]).err()?;
        Some((format!("/{index}"), problem))
    });
    said.collect()
}

impl Input {
    /// A plain yes or no as a grade of 1 or 0, inverted for `not-…`. `what` completes the
    /// sentence "Expected output to …".
    pub fn judge(&self, holds: bool, what: impl Display) -> Grade {
        match (holds != self.inverse, self.inverse) {
            (true, _) => Grade::pass("Assertion passed"),
            (false, false) => Grade::fail(format!("Expected output to {what}")),
            (false, true) => Grade::fail(format!("Expected output not to {what}")),
        }
    }

    /// Reads the assertion's `value`; `None` where it has none.
    ///
    /// # Errors
    /// `invalid-request` if it does not fit.
    pub fn value<T: DeserializeOwned>(&self) -> Result<Option<T>, Error> {
        let read = |text: &String| {
            serde_json::from_str(text).map_err(|error| {
                let kind = &self.type_;
                Error::invalid_request(format!(
                    "the value of `{kind}` is not what it takes: {error}"
                ))
            })
        };
        self.value_json.as_ref().map(read).transpose()
    }
}

impl Grade {
    /// Passed with score 1.
    pub fn pass(reason: impl Into<String>) -> Self {
        Self::new(true, 1.0, reason)
    }

    /// Failed with score 0.
    pub fn fail(reason: impl Into<String>) -> Self {
        Self::new(false, 0.0, reason)
    }

    /// Any verdict and any finite score.
    pub fn new(pass: bool, score: f64, reason: impl Into<String>) -> Self {
        Self {
            pass,
            score,
            reason: reason.into(),
            named_scores: Vec::new(),
            components: Vec::new(),
            metadata_json: None,
        }
    }

    /// Adds a score with a name of its own. Names are unique within a grade.
    #[must_use]
    pub fn named(mut self, name: &str, score: f64) -> Self {
        self.named_scores.push((name.to_owned(), score));
        self
    }
}
