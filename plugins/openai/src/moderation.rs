//! Moderation as an answer: the prompt in, the verdict out as a JSON value.
//!
//! The contract has no interface for classifiers. The output is the API's own result
//! (`flagged`, `categories`, `category_scores`) and `flags`, the list that the assertion
//! `moderation` reads, so that any grader that can ask a model can ask this one. A grader shows
//! the answer as the assistant's message; what the user wrote is not moderated with it.

use plugin_model_api::failure;
use plugin_model_api::knobs::Knobs;
use runner_plugin::json::{Map, Value, json};
use runner_plugin::{Completion, Error, Request, Role};

/// Asks for the verdict on the prompt.
pub(crate) fn complete(knobs: &Knobs, model: &str, request: &Request) -> Result<Completion, Error> {
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(model));
    let answer = request
        .messages
        .last()
        .filter(|message| message.role == Role::Assistant);
    let input = answer.map_or_else(|| request.prompt.clone(), runner_plugin::Message::text);
    body.insert("input".to_owned(), json!(input));
    body.extend(knobs.body.clone());
    let body = Value::Object(body);
    let response = failure::check(&knobs.post("/moderations", &body, model).send()?)?;
    let mut verdict = response["results"][0].clone();
    let flagged = verdict["flagged"].as_bool().ok_or_else(|| {
        Error::bad_response("the response holds no verdict").detail(response.clone())
    })?;
    verdict["flags"] = flags(&verdict, flagged).map_err(|why| {
        Error::bad_response(format!("the response {why}")).detail(response.clone())
    })?;
    let text = if flagged { "flagged" } else { "not flagged" };
    let mut completion = Completion::text(text).output(&verdict).raw(&response);
    completion.model = response["model"].as_str().map(str::to_owned);
    Ok(completion)
}

/// The categories that apply, as the assertion `moderation` reads them. A verdict that names none has
/// the flag `flagged`; of one that can't be read nothing is made, since it would pass.
fn flags(verdict: &Value, flagged: bool) -> Result<Value, String> {
    let mut flags = Vec::new();
    for (name, applies) in verdict["categories"].as_object().into_iter().flatten() {
        match applies {
            Value::Bool(false) => {}
            Value::Bool(true) => {
                let score = &verdict["category_scores"][name];
                flags.push(json!({ "code": name, "description": name, "confidence": score }));
            }
            _ => {
                return Err(format!(
                    "says neither true nor false of the category `{name}`"
                ));
            }
        }
    }
    if flagged && flags.is_empty() {
        flags.push(json!({ "code": "flagged", "description": "flagged", "confidence": 1.0 }));
    }
    Ok(Value::Array(flags))
}
