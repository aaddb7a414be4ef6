//! Moderation as an answer: the prompt in, the verdict out as a JSON value.
//!
//! The contract has no interface for classifiers. The output is the API's own result
//! (`flagged`, `categories`, `category_scores`), so that any grader that can ask a model can
//! ask this one.

use plugin_model_api::failure;
use plugin_model_api::knobs::Knobs;
use runner_plugin::json::{Map, Value, json};
use runner_plugin::{Completion, Error, Request};

/// Asks for the verdict on the prompt.
pub(crate) fn complete(knobs: &Knobs, model: &str, request: &Request) -> Result<Completion, Error> {
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(model));
    body.insert("input".to_owned(), json!(request.prompt));
    body.extend(knobs.body.clone());
    let body = Value::Object(body);
    let response = failure::check(&knobs.post("/moderations", &body, model).send()?)?;
    let verdict = &response["results"][0];
    let flagged = verdict["flagged"].as_bool().ok_or_else(|| {
        Error::bad_response("the response holds no verdict").detail(response.clone())
    })?;
    let text = if flagged { "flagged" } else { "not flagged" };
    let mut completion = Completion::text(text).output(verdict).raw(&response);
    completion.model = response["model"].as_str().map(str::to_owned);
    Ok(completion)
}
