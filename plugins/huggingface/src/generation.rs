//! Text generation: a text in, its continuation out.

use plugin_model_api::body::sampling;
use plugin_model_api::failure;
use plugin_model_api::knobs::Knobs;
use runner_plugin::json::{Map, Value, json};
use runner_plugin::{Completion, Error, FinishReason, Request};

use crate::body;

/// The API's name of the limit, and OpenAI's.
const LIMITS: [&str; 2] = ["max_new_tokens", "max_tokens"];

/// Asks for a continuation of the prompt as it stands in the results.
pub(crate) fn complete(knobs: &Knobs, model: &str, request: &Request) -> Result<Completion, Error> {
    let mut knobs = knobs.clone();
    let [own, theirs] = LIMITS;
    if let Some(limit) = knobs.body.remove(theirs) {
        knobs.body.entry(own).or_insert(limit);
    }
    sampling(&mut knobs.body, "seed", own, request);
    let mut parameters = Map::new();
    parameters.insert("return_full_text".to_owned(), json!(false));
    let body = body::of(&json!(request.prompt), parameters, &knobs);
    let response = failure::check(&knobs.post("", &body, model).send()?)?;
    read(&response)
}

/// Reads the answer, which most servers put into a list.
fn read(response: &Value) -> Result<Completion, Error> {
    let answer = if response.is_array() {
        &response[0]
    } else {
        response
    };
    let text = answer["generated_text"].as_str().ok_or_else(|| {
        Error::bad_response("the response holds no `generated_text`").detail(response.clone())
    })?;
    let mut completion = Completion::text(text).raw(response);
    // There where the config asks for `details: true`.
    let details = &answer["details"];
    completion.usage.output_tokens = details["generated_tokens"].as_u64();
    completion.finish_reason = details["finish_reason"]
        .as_str()
        .map(|reason| match reason {
            "length" => FinishReason::Length,
            "eos_token" | "stop_sequence" => FinishReason::Stop,
            other => FinishReason::Other(other.to_owned()),
        });
    Ok(completion)
}
