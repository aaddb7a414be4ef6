//! Messages in the form of Converse.
//!
//! What the model is told beforehand is not a message there but `system`. Results of tools belong to
//! the user; messages of one role that follow each other are one, since the API wants the roles to
//! take turns. Reasoning is not sent back: without its signature the API refuses it.

use runner_plugin::json::{self, Value, json};
use runner_plugin::{Error, Media, Message, Part, Role};

/// `system`, if there is any, and the messages, in order.
pub(crate) fn of(messages: &[Message]) -> Result<(Option<Value>, Value), Error> {
    let mut system = Vec::new();
    let mut turns: Vec<(&str, Vec<Value>)> = Vec::new();
    for message in messages {
        let blocks = message.content.iter().map(block);
        let blocks: Vec<Option<Value>> = blocks.collect::<Result<_, _>>()?;
        let blocks = blocks.into_iter().flatten();
        let role = match message.role {
            Role::System | Role::Developer => {
                system.extend(blocks);
                continue;
            }
            Role::Assistant => "assistant",
            Role::User | Role::Tool => "user",
        };
        match turns.last_mut() {
            Some((last, content)) if *last == role => content.extend(blocks),
            _ => turns.push((role, blocks.collect())),
        }
    }
    let system = (!system.is_empty()).then_some(Value::Array(system));
    let turns = turns.into_iter();
    let turns = turns.map(|(role, content)| json!({ "role": role, "content": content }));
    Ok((system, turns.collect()))
}

fn block(part: &Part) -> Result<Option<Value>, Error> {
    Ok(Some(match part {
        Part::Text(text) => json!({ "text": text }),
        Part::Url(url) => by_address(url)?,
        Part::Media(media) => inline(media)?,
        Part::Other(other) => own(json::read("message part", other)?)?,
        Part::ToolCall(call) => {
            let input: Value = json::read("tool call's arguments", &call.arguments_json)?;
            json!({ "toolUse": { "toolUseId": call.id, "name": call.name, "input": input } })
        }
        Part::ToolResult(result) => {
            let mut answered = json!({
                "toolUseId": result.id,
                "content": [{ "text": result.content }],
            });
            if result.is_error {
                answered["status"] = json!("error");
            }
            json!({ "toolResult": answered })
        }
        Part::Reasoning(_) => return Ok(None),
    }))
}

/// A block in the form of Anthropic's messages, in Converse's; others as they are.
fn own(block: Value) -> Result<Value, Error> {
    let source = &block["source"];
    match (source["media_type"].as_str(), source["data"].as_str()) {
        (Some(mime_type), Some(data)) => of_base64(mime_type, data),
        _ => Ok(block),
    }
}

/// A file within a `data:` address, or in a bucket; the API fetches no other.
fn by_address(url: &str) -> Result<Value, Error> {
    let within = url
        .strip_prefix("data:")
        .and_then(|rest| rest.split_once(";base64,"));
    if let Some((mime_type, data)) = within {
        return of_base64(mime_type, data);
    }
    let format = url.rsplit('.').next().unwrap_or_default();
    let (kind, format) = kind(format)
        .filter(|_| url.starts_with("s3://"))
        .ok_or_else(|| {
            Error::unsupported(
                "Bedrock takes files as bytes or from a bucket (s3://…), not from other addresses",
            )
        })?;
    Ok(file(kind, format, &json!({ "s3Location": { "uri": url } })))
}

fn inline(media: &Media) -> Result<Value, Error> {
    of_base64(&media.mime_type, &media.base64())
}

fn of_base64(mime_type: &str, data: &str) -> Result<Value, Error> {
    let format = mime_type.rsplit('/').next().unwrap_or_default();
    let (kind, format) = kind(format).ok_or_else(|| {
        Error::unsupported(format!("Bedrock takes no content of type `{mime_type}`"))
    })?;
    Ok(file(kind, format, &json!({ "bytes": data })))
}

fn file(kind: &str, format: &str, source: &Value) -> Value {
    let mut file = json!({ "format": format, "source": source });
    if kind == "document" {
        file["name"] = json!("document");
    }
    json!({ kind: file })
}

/// What a format is to the API, and its name there.
fn kind(format: &str) -> Option<(&'static str, &'static str)> {
    Some(match format {
        "png" => ("image", "png"),
        "jpeg" | "jpg" => ("image", "jpeg"),
        "gif" => ("image", "gif"),
        "webp" => ("image", "webp"),
        "pdf" => ("document", "pdf"),
        "csv" => ("document", "csv"),
        "html" => ("document", "html"),
        "plain" | "txt" => ("document", "txt"),
        "markdown" | "md" => ("document", "md"),
        "mp4" => ("video", "mp4"),
        "webm" => ("video", "webm"),
        "quicktime" | "mov" => ("video", "mov"),
        _ => return None,
    })
}
