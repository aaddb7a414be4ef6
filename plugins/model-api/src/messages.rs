//! Messages in the form of the API.
//!
//! A message of one text is sent as a string, which every compatible server understands; a
//! list of parts only where there is more than text. Tool results are messages of their own
//! there, reasoning is not sent back.

use runner_plugin::json::{self, Value, json};
use runner_plugin::{Error, Media, Message, Part, Role, ToolCall};

/// All messages, in order. `developer` is what the server calls that role.
///
/// # Errors
/// `unsupported` where a part has no place in this shape.
pub fn of(messages: &[Message], developer: &str) -> Result<Value, Error> {
    let mut list = Vec::new();
    for message in messages {
        append(message, developer, &mut list)?;
    }
    Ok(Value::Array(list))
}

/// Appends one message of the contract, which may be several of the API's.
fn append(message: &Message, developer: &str, list: &mut Vec<Value>) -> Result<(), Error> {
    let mut content = Vec::new();
    let mut calls = Vec::new();
    let mut results = Vec::new();
    for part in &message.content {
        match part {
            Part::Text(text) => content.push(json!({ "type": "text", "text": text })),
            Part::Url(url) => content.push(image(url)),
            Part::Media(media) => content.push(inline(media)?),
            Part::Other(other) => content.push(json::read("message part", other)?),
            Part::ToolCall(call) => calls.push(tool_call(call)),
            Part::ToolResult(result) => results.push(json!({
                "role": "tool",
                "tool_call_id": result.id,
                "content": result.content,
            })),
            Part::Reasoning(_) => {}
        }
    }
    let only_results = !results.is_empty() && content.is_empty() && calls.is_empty();
    list.append(&mut results);
    if only_results {
        return Ok(());
    }
    let mut sent =
        json!({ "role": role(message.role, developer), "content": text_alone(content, &calls) });
    if let Some(name) = &message.name {
        sent["name"] = json!(name);
    }
    if !calls.is_empty() {
        sent["tool_calls"] = Value::Array(calls);
    }
    list.push(sent);
    Ok(())
}

/// Content as the API likes it best: null beside tool calls, a string for a single text, else
/// the list of parts.
fn text_alone(mut content: Vec<Value>, calls: &[Value]) -> Value {
    let one_text =
        content.len() == 1 && content[0]["type"] == "text" && content[0]["text"].is_string();
    match content.len() {
        0 if calls.is_empty() => json!(""),
        0 => Value::Null,
        1 if one_text => content[0]["text"].take(),
        _ => Value::Array(content),
    }
}

/// The word of a role; `developer` is what the API calls a developer.
pub fn role(role: Role, developer: &str) -> &str {
    match role {
        Role::Developer => developer,
        role => role.word(),
    }
}

fn image(url: &str) -> Value {
    json!({ "type": "image_url", "image_url": { "url": url } })
}

/// Bytes that travel within the message: pictures as a `data:` URL, sound as base64.
fn inline(media: &Media) -> Result<Value, Error> {
    let kind = media.mime_type.as_str();
    let sound = |format: &str| json!({ "type": "input_audio", "input_audio": { "data": media.base64(), "format": format } });
    match kind {
        _ if kind.starts_with("image/") => Ok(image(&media.data_url())),
        "audio/wav" | "audio/x-wav" | "audio/wave" => Ok(sound("wav")),
        "audio/mpeg" | "audio/mp3" => Ok(sound("mp3")),
        "application/pdf" => Ok(json!({
            "type": "file",
            "file": { "filename": "document.pdf", "file_data": media.data_url() }
        })),
        _ => Err(Error::unsupported(format!(
            "chat completions take no content of type `{kind}`"
        ))),
    }
}

fn tool_call(call: &ToolCall) -> Value {
    json!({
        "id": call.id,
        "type": "function",
        "function": { "name": call.name, "arguments": call.arguments_json },
    })
}
