//! The assertions about the response rather than its text: how long it took, what it cost, why
//! it ended, whether the model refused or was filtered, how sure it was, which skills it used.
//!
//! What a model API says about an answer reaches a grader in the completion's fields or, where
//! the contract has none, in its `metadata-json` under keys that the README lists
//! (`logProbs`, `guardrails`, `skillCalls`). A provider that leaves them out makes the
//! assertion "could not grade", never pass. All are pure: the component imports no function.

mod limits;
mod refusal;
mod reported;
mod skills;
mod surprise;

use runner_plugin::json::{Value, json};
use runner_plugin::{Assertion, AssertionType, CallContext, Error, Grade, Info, Input, Inputs};

/// The grader.
pub struct Response;

impl Assertion for Response {
    fn describe() -> Info {
        let info = runner_plugin::package_info!(
            "response",
            "Checks a response's latency, time to the first token, cost, finish reason, refusals, filters and perplexity."
        );
        let nothing = json!({ "type": ["null", "string", "number"] });
        let skill = json!({ "type": "string", "minLength": 1 });
        let skills = json!({
            "type": ["string", "array", "object"],
            "minLength": 1, "minItems": 1,
            "items": skill,
            "properties": {
                "name": skill, "pattern": skill,
                "min": { "type": "integer", "minimum": 0 },
                "max": { "type": "integer", "minimum": 0 },
            },
            "additionalProperties": false,
            "if": { "type": "object" },
            "then": { "anyOf": [{ "required": ["name"] }, { "required": ["pattern"] }] },
        });
        let types: [(&str, Value, Inputs); 9] = [
            ("latency", nothing.clone(), Inputs::LATENCY),
            ("ttft", nothing.clone(), Inputs::LATENCY),
            ("cost", nothing.clone(), Inputs::COST),
            (
                "finish-reason",
                json!({ "type": "string", "minLength": 1 }),
                Inputs::COMPLETION,
            ),
            ("guardrails", json!({}), Inputs::COMPLETION),
            ("is-refusal", json!({}), Inputs::COMPLETION),
            ("perplexity", nothing.clone(), Inputs::COMPLETION),
            ("perplexity-score", nothing, Inputs::COMPLETION),
            ("skill-used", skills, Inputs::COMPLETION),
        ];
        types.into_iter().fold(info, |info, (name, value, reads)| {
            info.assertion_type(AssertionType::new(name).value_schema(&value).reads(reads))
        })
    }

    fn evaluate(input: &Input, _context: &CallContext) -> Result<Grade, Error> {
        match input.type_.as_str() {
            "latency" => limits::latency(input),
            "ttft" => limits::first_token(input),
            "cost" => limits::cost(input),
            "finish-reason" => reported::finish_reason(input),
            "guardrails" => reported::guardrails(input),
            "is-refusal" => Ok(refusal::is_refusal(input)),
            "perplexity" => surprise::perplexity(input),
            "perplexity-score" => surprise::score(input),
            "skill-used" => skills::skill_used(input),
            other => Err(Error::no_type("response", other)),
        }
    }
}

runner_plugin::export_assertion!(Response);
