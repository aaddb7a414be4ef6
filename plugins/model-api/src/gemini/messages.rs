//! Messages in the form of the API: contents made of parts.
//!
//! What the model is told beforehand is not a message there but `systemInstruction`. A result
//! of a tool names the function and not the call, so the calls before it are remembered.

use runner_plugin::json::{self, Map, Value, json};
use runner_plugin::{Error, Message, Part, Role, ToolCall, ToolResult};

/// `systemInstruction`, if there is any, and the contents, in order.
pub(super) fn of(messages: &[Message]) -> Result<(Option<Value>, Value), Error> {
    let mut system = Vec::new();
    let mut contents = Vec::new();
    let mut called: Vec<&ToolCall> = Vec::new();
    for message in messages {
        let mut parts = Vec::new();
        for part in &message.content {
            if let Part::ToolCall(call) = part {
                called.push(call);
            }
            parts.extend(one(part, &called)?);
        }
        let role = match message.role {
            Role::System | Role::Developer => {
                system.append(&mut parts);
                continue;
            }
            Role::Assistant => "model",
            Role::User | Role::Tool => "user",
        };
        if parts.is_empty() {
            parts.push(json!({ "text": "" }));
        }
        contents.push(json!({ "role": role, "parts": parts }));
    }
    let system = (!system.is_empty()).then(|| json!({ "parts": system }));
    Ok((system, Value::Array(contents)))
}

fn one(part: &Part, called: &[&ToolCall]) -> Result<Option<Value>, Error> {
    Ok(Some(match part {
        Part::Text(text) => json!({ "text": text }),
        Part::Url(url) => file(url),
        Part::Media(media) => inline(&media.mime_type, &media.base64()),
        Part::Other(other) => json::read("message part", other)?,
        Part::ToolCall(call) => {
            let arguments: Value = json::read("tool call's arguments", &call.arguments_json)?;
            json!({ "functionCall": { "name": call.name, "args": arguments } })
        }
        Part::ToolResult(result) => answered(result, called),
        Part::Reasoning(_) => return Ok(None),
    }))
}

/// A file by its address; one within a `data:` address is taken out of it.
fn file(url: &str) -> Value {
    let within = url
        .strip_prefix("data:")
        .and_then(|rest| rest.split_once(";base64,"));
    match within {
        Some((mime_type, data)) => inline(mime_type, data),
        None => json!({ "fileData": { "fileUri": url } }),
    }
}

fn inline(mime_type: &str, data: &str) -> Value {
    json!({ "inlineData": { "mimeType": mime_type, "data": data } })
}

/// The API wants an object as a result; what is none is put into one.
fn answered(result: &ToolResult, called: &[&ToolCall]) -> Value {
    let call = called.iter().rev().find(|call| call.id == result.id);
    let name = call.map_or(result.id.as_str(), |call| call.name.as_str());
    let key = if result.is_error { "error" } else { "result" };
    let response = serde_json::from_str::<Map<String, Value>>(&result.content)
        .map_or_else(|_| json!({ key: result.content }), Value::Object);
    json!({ "functionResponse": { "name": name, "response": response } })
}
