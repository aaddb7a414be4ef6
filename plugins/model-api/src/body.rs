//! The body of a request: the config's keys, the messages, and over both what this one request
//! sets.

use runner_plugin::json::{self, Map, Value, json};
use runner_plugin::{Error, Request};

use crate::chat::Dialect;
use crate::knobs::Knobs;
use crate::messages;

/// Builds the body.
///
/// # Errors
/// `unsupported` where a message has content that this shape has no place for.
pub fn of(
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
    sampling(&mut body, dialect.seed, limit, request);
    if let Some(schema) = &request.response_schema_json {
        let schema: Value = json::read("response schema", schema)?;
        let format = json!({ "name": "answer", "schema": schema });
        let format = json!({ "type": "json_schema", "json_schema": format });
        body.insert("response_format".to_owned(), format);
    }
    if let Some(tools) = &request.tools_json {
        body.insert("tools".to_owned(), json::read("tools", tools)?);
    }
    Ok(Value::Object(body))
}

/// Lays the request's sampling options over the body. `seed` and `limit` are the API's names
/// of those two; the others have one name everywhere in this shape.
pub fn sampling(body: &mut Map<String, Value>, seed: &str, limit: &str, request: &Request) {
    let stop = (!request.stop.is_empty()).then(|| json!(request.stop));
    let options = [
        ("temperature", request.temperature.map(|t| json!(t))),
        ("top_p", request.top_p.map(|p| json!(p))),
        (seed, request.seed.map(|seed| json!(seed))),
        ("stop", stop),
        (limit, request.max_tokens.map(|limit| json!(limit))),
    ];
    for (key, value) in options {
        if let Some(value) = value {
            body.insert(key.to_owned(), value);
        }
    }
}
