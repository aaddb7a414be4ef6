//! The body of a request: the config's keys, the messages, and over both what this one request
//! sets.

use runner_plugin::json::{self, Map, Value, json};
use runner_plugin::{Error, Request};

use crate::knobs::Knobs;
use crate::messages;

/// Builds the body.
pub(crate) fn of(knobs: &Knobs, request: &Request) -> Result<Value, Error> {
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(knobs.model));
    body.insert("messages".to_owned(), messages::of(&request.messages)?);
    body.extend(knobs.body.clone());
    if request.max_tokens.is_some() {
        body.retain(|key, _| key != "max_tokens" && key != "max_completion_tokens");
    }
    let mut set = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            body.insert(key.to_owned(), value);
        }
    };
    set("temperature", request.temperature.map(|t| json!(t)));
    set("top_p", request.top_p.map(|p| json!(p)));
    set("seed", request.seed.map(|seed| json!(seed)));
    set(
        "stop",
        (!request.stop.is_empty()).then(|| json!(request.stop)),
    );
    set(
        token_limit(knobs),
        request.max_tokens.map(|limit| json!(limit)),
    );
    if let Some(schema) = &request.response_schema_json {
        let schema: Value = json::read("response schema", schema)?;
        let format = json!({ "name": "answer", "schema": schema });
        set(
            "response_format",
            Some(json!({ "type": "json_schema", "json_schema": format })),
        );
    }
    if let Some(tools) = &request.tools_json {
        set("tools", Some(json::read("tools", tools)?));
    }
    Ok(Value::Object(body))
}

/// The key that limits the answer: reasoning models know `max_completion_tokens` alone.
fn token_limit(knobs: &Knobs) -> &'static str {
    let mut letters = knobs.model.chars();
    let o_series =
        letters.next() == Some('o') && letters.next().is_some_and(|c| c.is_ascii_digit());
    let reasons = o_series || knobs.model.starts_with("gpt-5");
    if reasons || knobs.body.contains_key("max_completion_tokens") {
        "max_completion_tokens"
    } else {
        "max_tokens"
    }
}
