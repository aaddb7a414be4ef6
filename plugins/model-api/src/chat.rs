//! One chat completion: request, exchange, answer.
//!
//! Servers that speak this shape differ in a handful of names. They are values of a
//! [`Dialect`], not branches in the code that writes and reads.

use runner_plugin::http::Response;
use runner_plugin::json::{Map, Value, json};
use runner_plugin::{Completion, Error, Request};

use crate::knobs::Knobs;
use crate::streaming::{self, EventShape, has_items, has_text, lay_over};
use crate::{answer, body, failure, messages};

/// In what a server differs from OpenAI's.
#[derive(Debug, Clone, Copy)]
pub struct Dialect {
    /// The key that seeds the sampling.
    pub seed: &'static str,
    /// The key that limits the answer, by model and the config's part of the body.
    pub token_limit: fn(model: &str, body: &Map<String, Value>) -> &'static str,
    /// What a developer is called; older servers know the system alone.
    pub developer: &'static str,
    /// Whether the body names the model. Azure has it in the address.
    pub names_model: bool,
    /// Whether `usage.cost` is the price of the call in US dollars.
    pub states_cost: bool,
    /// Whether a stream counts tokens only if `stream_options` asks for that; otherwise it does always, and
    /// may refuse the key.
    pub counts_if_asked: bool,
}

/// OpenAI's own.
pub const OPENAI: Dialect = Dialect {
    seed: "seed",
    token_limit,
    developer: "developer",
    names_model: true,
    states_cost: false,
    counts_if_asked: true,
};

/// What most others speak: no developer, and `max_tokens` for every model.
pub const PLAIN: Dialect = Dialect {
    seed: "seed",
    token_limit: max_tokens,
    developer: "system",
    names_model: true,
    states_cost: false,
    counts_if_asked: true,
};

/// The key that limits the answer at OpenAI: reasoning models know `max_completion_tokens`
/// alone. A gateway puts the company before the model's name: `openai/o3`.
pub fn token_limit(model: &str, body: &Map<String, Value>) -> &'static str {
    let model = model.rsplit('/').next().unwrap_or(model);
    let mut letters = model.chars();
    let o_series =
        letters.next() == Some('o') && letters.next().is_some_and(|c| c.is_ascii_digit());
    let reasons = o_series || model.starts_with("gpt-5");
    if reasons || body.contains_key("max_completion_tokens") {
        "max_completion_tokens"
    } else {
        "max_tokens"
    }
}

/// `max_tokens`, whatever the model.
pub fn max_tokens(_: &str, _: &Map<String, Value>) -> &'static str {
    "max_tokens"
}

/// `max_completion_tokens`, whatever the model.
pub fn max_completion_tokens(_: &str, _: &Map<String, Value>) -> &'static str {
    "max_completion_tokens"
}

/// Asks `model` at `path` below the API's address.
///
/// # Errors
/// Whatever kept the model from answering, by the API's own codes.
pub fn complete(
    dialect: &Dialect,
    knobs: &Knobs,
    path: &str,
    model: &str,
    request: &Request,
) -> Result<Completion, Error> {
    let mut body = body_of(dialect, knobs, model, request)?;
    if knobs.streams() {
        ask_for_stream(dialect, &mut body);
    }
    let exchange = knobs.post(path, &body, model);
    let response = streaming::send(exchange, knobs.streams(), &EVENTS)?;
    let by_gateway = cost_of_gateway(&response);
    let response = failure::check(&response)?;
    let cost = response.pointer("/usage/cost").and_then(Value::as_f64);
    let mut completion = answer::completion(response, answer::wants_json(&body))?;
    completion.cost_usd = cost.filter(|_| dialect.states_cost).or(by_gateway);
    Ok(completion)
}

/// Asks for events, and for the tokens that were used as the last of them.
fn ask_for_stream(dialect: &Dialect, body: &mut Value) {
    body["stream"] = json!(true);
    if dialect.counts_if_asked && body["stream_options"].is_null() {
        body["stream_options"] = json!({ "include_usage": true });
    }
}

/// Chunks of completions, new and old: what a choice says more is its `delta`, or its `text`.
pub const EVENTS: EventShape = EventShape {
    has_token,
    add,
    is_whole: |whole| {
        let mut choices = whole["choices"].as_array().into_iter().flatten();
        choices
            .next()
            .is_some_and(|first| !first["finish_reason"].is_null())
    },
};

/// The texts that a delta continues.
const APPENDED: [&str; 7] = [
    "content",
    "refusal",
    "reasoning_content",
    "reasoning",
    "arguments",
    "text",
    "thinking",
];

fn has_token(event: &Value) -> bool {
    let mut choices = event["choices"].as_array().into_iter().flatten();
    choices.any(|choice| {
        let delta = &choice["delta"];
        let texts = ["content", "refusal", "reasoning_content", "reasoning"];
        has_text(&choice["text"])
            || texts
                .iter()
                .any(|key| has_text(&delta[key]) || has_items(&delta[key]))
            || has_items(&delta["tool_calls"])
            || delta["function_call"].is_object()
    })
}

fn add(whole: &mut Value, mut event: Value) {
    for choice in event["choices"].as_array_mut().into_iter().flatten() {
        if let Some(delta) = choice.as_object_mut().and_then(|it| it.remove("delta")) {
            choice["message"] = delta;
        }
    }
    lay_over(whole, event, &APPENDED);
}

/// The config's keys, the messages, and over both what this one request sets. `unsupported` where a
/// message has content that this shape has no place for.
fn body_of(
    dialect: &Dialect,
    knobs: &Knobs,
    model: &str,
    request: &Request,
) -> Result<Value, Error> {
    let mut body = Map::new();
    if dialect.names_model {
        body.insert("model".to_owned(), json!(model));
    }
    let messages = messages::of(&request.messages, dialect.developer)?;
    body.insert("messages".to_owned(), messages);
    body.extend(knobs.body.clone());
    if request.max_tokens.is_some() {
        body.retain(|key, _| key != "max_tokens" && key != "max_completion_tokens");
    }
    let limit = (dialect.token_limit)(model, &knobs.body);
    body::sampling(&mut body, dialect.seed, limit, request);
    body::form_and_tools(&mut body, request)?;
    Ok(Value::Object(body))
}

/// What LiteLLM says that the call cost. It may stand before any server of this shape, so its
/// header is read whatever the dialect; what is no price there is none.
fn cost_of_gateway(response: &Response) -> Option<f64> {
    let dollars: f64 = response.header("x-litellm-response-cost")?.parse().ok()?;
    (dollars.is_finite() && dollars >= 0.0).then_some(dollars)
}
