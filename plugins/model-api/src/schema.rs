//! The JSON Schema of the knobs: only those with a shape of their own. Everything else is the
//! API's to check.

use runner_plugin::json::{Map, Value, json};

/// A schema of an object with the knobs of every provider and `more`, an object of properties.
pub fn config(more: &Value) -> Value {
    let mut properties = json!({
        "apiBaseUrl": { "type": "string", "pattern": "^https?://" },
        "apiKeyEnvar": { "type": "string" },
        "apiKeyRequired": { "type": "boolean" },
        "headers": { "type": "object", "additionalProperties": { "type": "string" } },
        "passthrough": { "type": "object" },
        "model": { "type": "string" },
        "temperature": { "type": "number" },
        "top_p": { "type": "number" }
    });
    join(&mut properties, more);
    json!({ "type": "object", "properties": properties })
}

/// As [`config`], with the knobs of chat completions.
pub fn chat(more: &Value) -> Value {
    let mut knobs = json!({
        "max_tokens": { "type": "integer", "minimum": 1 },
        "max_completion_tokens": { "type": "integer", "minimum": 1 },
        "stop": { "type": ["string", "array", "null"], "items": { "type": "string" } },
        "seed": { "type": "integer" },
        "stream": { "type": "boolean" },
        "response_format": { "type": "object" },
        "tools": { "type": "array", "items": { "type": "object" } },
        "tool_choice": { "type": ["string", "object"] }
    });
    join(&mut knobs, more);
    config(&knobs)
}

/// What `response_format` may be where pictures are made, too: the form of an answer, or the way in which a
/// picture comes.
pub fn format_or_kind() -> Value {
    json!({ "type": ["object", "string"], "pattern": "^(url|b64_json)$" })
}

fn join(to: &mut Value, more: &Value) {
    let none = Map::new();
    let more = more.as_object().unwrap_or(&none);
    if let Value::Object(to) = to {
        to.extend(more.clone());
    }
}
