//! The assertion type `brief`: is the answer short? Its value is the most words that it may have.

use runner_plugin::json::json;
use runner_plugin::{Assertion, AssertionType, CallContext, Error, Grade, Info, Input};

/// The assertion type `brief`.
pub struct Brief;

impl Assertion for Brief {
    fn describe() -> Info {
        // With the schema a bad `value` is found before anything is spent.
        let value = json!({ "title": "the most words", "type": "integer", "minimum": 1 });
        Info::new("brief", env!("CARGO_PKG_VERSION"), "Is the answer short?")
            .assertion_type(AssertionType::new("brief").value_schema(&value))
    }

    fn evaluate(input: &Input, _: &CallContext) -> Result<Grade, Error> {
        let most: usize = input.value()?.unwrap_or_default();
        let words = input.output.split_whitespace().count();
        let pass = (words <= most) != input.inverse;
        let reason = format!("it has {words} words, of at most {most}");
        Ok(Grade::new(pass, if pass { 1.0 } else { 0.0 }, reason))
    }
}

runner_plugin::export_assertion!(Brief);
