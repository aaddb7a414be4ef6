//! A grader: passes if the answer is in upper case.

use runner_plugin::{Assertion, CallContext, Error, Grade, Info, Input};

/// The assertion type `shouting`.
pub struct Shouting;

impl Assertion for Shouting {
    fn describe() -> Info {
        Info::new("shouting", "0.1.0", "Is the answer in upper case?").assertion("shouting")
    }

    fn evaluate(input: &Input, _: &CallContext) -> Result<Grade, Error> {
        let shouts = input.output == input.output.to_uppercase();
        Ok(input.judge(shouts, "be in upper case"))
    }
}

runner_plugin::export_assertion!(Shouting);
