//! Messages in the form of the API.
//!
//! What the model is told beforehand is not a message there but `system`. A message of one
//! text is sent as a string; a list of blocks only where there is more. Results of tools
//! belong to the user. Reasoning is not sent back: without its signature the API refuses it.

use runner_plugin::json::{self, Value, json};
use runner_plugin::{Error, Media, Message, Part, Role};

/// `system`, if there is any, and the messages, in order.
pub(super) fn of(messages: &[Message]) -> Result<(Option<Value>, Value), Error> {
    let mut system = Vec::new();
    let mut list = Vec::new();
    for message in messages {
        let mut blocks = Vec::new();
        for part in &message.content {
            blocks.extend(block(part)?);
        }
        match message.role {
            Role::System | Role::Developer => system.append(&mut blocks),
            Role::Assistant => list.push(json!({ "role": "assistant", "content": alone(blocks) })),
            Role::User | Role::Tool => {
                list.push(json!({ "role": "user", "content": alone(blocks) }));
            }
        }
    }
    let system = (!system.is_empty()).then(|| alone(system));
    Ok((system, Value::Array(list)))
}

/// A single text as a string, else the list.
fn alone(mut blocks: Vec<Value>) -> Value {
    let plain = |block: &Value| {
        block["type"] == "text" && block.as_object().is_some_and(|fields| fields.len() == 2)
    };
    match blocks.len() {
        0 => json!(""),
        1 if plain(&blocks[0]) => blocks[0]["text"].take(),
        _ => Value::Array(blocks),
    }
}

fn block(part: &Part) -> Result<Option<Value>, Error> {
    Ok(Some(match part {
        Part::Text(text) => json!({ "type": "text", "text": text }),
        Part::Url(url) => image(url),
        Part::Media(media) => inline(media)?,
        Part::Other(other) => json::read("message part", other)?,
        Part::ToolCall(call) => {
            let input: Value = json::read("tool call's arguments", &call.arguments_json)?;
            json!({ "type": "tool_use", "id": call.id, "name": call.name, "input": input })
        }
        Part::ToolResult(result) => {
            let mut block = json!({
                "type": "tool_result",
                "tool_use_id": result.id,
                "content": result.content,
            });
            if result.is_error {
                block["is_error"] = json!(true);
            }
            block
        }
        Part::Reasoning(_) => return Ok(None),
    }))
}

/// A picture by its address; one within a `data:` address is taken out of it.
fn image(url: &str) -> Value {
    let inline = url
        .strip_prefix("data:")
        .and_then(|rest| rest.split_once(";base64,"));
    match inline {
        Some((mime_type, data)) => source(kind(mime_type), mime_type, data),
        None => json!({ "type": "image", "source": { "type": "url", "url": url } }),
    }
}

fn inline(media: &Media) -> Result<Value, Error> {
    let mime_type = media.mime_type.as_str();
    if !mime_type.starts_with("image/") && mime_type != "application/pdf" {
        return Err(Error::unsupported(format!(
            "Anthropic's messages take no content of type `{mime_type}`"
        )));
    }
    Ok(source(kind(mime_type), mime_type, &media.base64()))
}

fn kind(mime_type: &str) -> &'static str {
    if mime_type == "application/pdf" {
        "document"
    } else {
        "image"
    }
}

fn source(kind: &str, mime_type: &str, data: &str) -> Value {
    let source = json!({ "type": "base64", "media_type": mime_type, "data": data });
    json!({ "type": kind, "source": source })
}
