//! The body of a request: the config's keys, the messages, and over both what this one request
//! sets.

use runner_plugin::json::{self, Map, Value, json};
use runner_plugin::{Error, Request};

use super::messages;
use crate::knobs::Knobs;

/// The longest answer, in tokens, where nobody says one. The API insists on a limit;
/// promptfoo's is the same.
const MAX_TOKENS: u64 = 1024;

/// Builds the body.
///
/// # Errors
/// `invalid-request` where an option is no JSON, `unsupported` where a part has no place here.
pub fn of(knobs: &Knobs, model: &str, request: &Request) -> Result<Value, Error> {
    let (system, messages) = messages::of(&request.messages)?;
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(model));
    body.insert("messages".to_owned(), messages);
    body.extend(knobs.body.clone());
    // What the prompt itself says to the model stands nearer to it than the config.
    if let Some(system) = system {
        body.insert("system".to_owned(), system);
    }
    if let Some(Value::Object(extra)) = knobs.own.get("extra_body") {
        body.extend(extra.clone());
    }
    if let Some(effort) = body.remove("effort") {
        output_config(&mut body, "effort", effort);
    }
    if let Some(format) = body.remove("output_format") {
        output_config(&mut body, "format", format);
    }
    options(&mut body, request)?;
    // Tokens that the model thinks with count against the limit, too.
    let thinks = body
        .get("thinking")
        .and_then(|t| t["budget_tokens"].as_u64());
    body.entry("max_tokens")
        .or_insert_with(|| json!(MAX_TOKENS + thinks.unwrap_or(0)));
    if let Some(Value::Array(tools)) = body.get_mut("tools") {
        for tool in tools {
            *tool = own_tool(tool);
        }
    }
    if let Some(choice) = body.get_mut("tool_choice") {
        *choice = own_choice(choice);
    }
    Ok(Value::Object(body))
}

/// Adds what the request sets for itself.
fn options(body: &mut Map<String, Value>, request: &Request) -> Result<(), Error> {
    let stop = (!request.stop.is_empty()).then(|| json!(request.stop));
    let options = [
        ("temperature", request.temperature.map(|t| json!(t))),
        ("top_p", request.top_p.map(|p| json!(p))),
        ("max_tokens", request.max_tokens.map(|limit| json!(limit))),
        ("stop_sequences", stop),
    ];
    for (key, value) in options {
        if let Some(value) = value {
            body.insert(key.to_owned(), value);
        }
    }
    if let Some(schema) = &request.response_schema_json {
        let schema: Value = json::read("response schema", schema)?;
        let format = json!({ "type": "json_schema", "schema": schema });
        output_config(body, "format", format);
    }
    if let Some(tools) = &request.tools_json {
        body.insert("tools".to_owned(), json::read("tools", tools)?);
    }
    Ok(())
}

/// Sets a key of `output_config` and leaves the others.
fn output_config(body: &mut Map<String, Value>, key: &str, value: Value) {
    let config = body.entry("output_config").or_insert_with(|| json!({}));
    if let Value::Object(config) = config {
        config.insert(key.to_owned(), value);
    }
}

/// Whether the request binds the answer to a JSON Schema.
pub fn wants_json(body: &Value) -> bool {
    body.pointer("/output_config/format/type")
        .is_some_and(|kind| kind == "json_schema")
}

/// A function as OpenAI has it, in Anthropic's form; other tools as they are.
fn own_tool(tool: &Value) -> Value {
    let function = &tool["function"];
    if tool["type"] != "function" || !function.is_object() {
        return tool.clone();
    }
    let mut own = Map::new();
    own.insert("name".to_owned(), function["name"].clone());
    if let Some(description) = function.get("description") {
        own.insert("description".to_owned(), description.clone());
    }
    let nothing = || json!({ "type": "object", "properties": {} });
    let schema = function.get("parameters").cloned().unwrap_or_else(nothing);
    own.insert("input_schema".to_owned(), schema);
    Value::Object(own)
}

/// Likewise for the choice among them.
fn own_choice(choice: &Value) -> Value {
    match (choice.as_str(), choice.pointer("/function/name")) {
        (Some("required"), _) => json!({ "type": "any" }),
        (Some(kind), _) => json!({ "type": kind }),
        (None, Some(name)) => json!({ "type": "tool", "name": name }),
        (None, None) => choice.clone(),
    }
}
