//! A grader that asks a model: passes if the model calls the answer fine.

use runner_plugin::{Assertion, CallContext, Error, Grade, Info, Input, Request, llm};

/// The assertion type `agreed`.
pub struct Agreed;

impl Assertion for Agreed {
    fn describe() -> Info {
        Info::new("agreed", "0.1.0", "Does a model agree with the answer?")
            .assertion("agreed")
            .llm("judge", "to hear its opinion")
    }

    fn evaluate(input: &Input, _: &CallContext) -> Result<Grade, Error> {
        let question = format!("Is this fine? {}", input.output);
        let opinion = llm::complete("judge", &Request::new(question))?;
        let fine = opinion.completion.message.text().contains("fine");
        Ok(input.judge(fine, "be called fine"))
    }
}

runner_plugin::export_assertion!(Agreed);
