//! The completions of old: a prompt in, its continuation out.
//!
//! Servers of base models still speak it. The prompt goes as it stands in the results; a chat
//! has no other form here.

use runner_plugin::json::{Map, Value, json};
use runner_plugin::{Completion, Error, Request};

use crate::knobs::Knobs;
use crate::{answer, body, chat, failure, streaming};

/// Asks `model` for a continuation.
///
/// # Errors
/// What the API reports; `bad-response` where it answers without a text.
pub fn complete(knobs: &Knobs, model: &str, request: &Request) -> Result<Completion, Error> {
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(model));
    body.insert("prompt".to_owned(), json!(request.prompt));
    body.extend(knobs.body.clone());
    body::sampling(&mut body, "seed", "max_tokens", request);
    if knobs.streams() {
        body.insert("stream".to_owned(), json!(true));
        body.entry("stream_options")
            .or_insert_with(|| json!({ "include_usage": true }));
    }
    let exchange = knobs.post("/completions", &Value::Object(body), model);
    let response = failure::check(&streaming::send(exchange, knobs.streams(), &chat::EVENTS)?)?;
    read(&response)
}

fn read(response: &Value) -> Result<Completion, Error> {
    let choice = &response["choices"][0];
    let text = choice["text"].as_str().ok_or_else(|| {
        Error::bad_response("the response holds no text").detail(response.clone())
    })?;
    let mut completion = Completion::text(text)
        .usage(answer::usage(&response["usage"]))
        .raw(response);
    completion.finish_reason = answer::finish(&choice["finish_reason"]);
    completion.model = response["model"].as_str().map(str::to_owned);
    Ok(completion)
}
