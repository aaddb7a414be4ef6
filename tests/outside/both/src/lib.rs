//! A provider and a grader in one: `twin:NAME` asks with a key, `twin-short` asks nobody, `twin-fine` asks a model.

use runner_plugin::{
    Assertion, CallContext, Completion, CredentialWant, Error, Grade, Info, Input, Provider,
    Request, Target, http, llm,
};

/// The plugin `twin`.
pub struct Twin;

fn info() -> Info {
    Info::new("twin", "0.1.0", "Answers, and grades.")
}

impl Provider for Twin {
    fn describe() -> Info {
        let key = CredentialWant::bearer("twin-key", "TWIN_API_KEY", "to be let in");
        info()
            .prefix("twin")
            .host("https://api.twin.example")
            .credential(key)
    }

    fn complete(_: &Target, request: &Request, _: &CallContext) -> Result<Completion, Error> {
        let reply = http::post("https://api.twin.example/ask")
            .body(request.prompt.clone().into_bytes())
            .credential("twin-key")
            .send()?;
        Ok(Completion::text(&reply.ok()?.text()))
    }
}

impl Assertion for Twin {
    fn describe() -> Info {
        info()
            .assertion("twin-short")
            .assertion("twin-fine")
            .llm("judge", "to hear its opinion")
            .wants_of_type("twin-short", &[], &[], &[])
    }

    fn evaluate(input: &Input, _: &CallContext) -> Result<Grade, Error> {
        if input.type_.ends_with("short") {
            return Ok(input.judge(input.output.len() < 10, "be short"));
        }
        let opinion = llm::complete("judge", &Request::new(&input.output))?;
        let is_fine = opinion.completion.message.text().contains("fine");
        Ok(input.judge(is_fine, "be called fine"))
    }
}

runner_plugin::export_both!(Twin, Twin);
