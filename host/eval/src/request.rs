//! From a rendered prompt to the request that a provider component takes.
//!
//! `config` knows chats as people write them; the contract knows messages made of parts. This
//! is the translation, and the only place that reads the API forms of message content
//! (`{"type": "text"}`, `{"type": "image_url"}`, `tool_calls`). What it does not know it keeps
//! verbatim as `part.other`, so that a newer API feature is the plugin's business, not ours.

use runner_config::plan::{Case, ChatMessage, RUN_OPTIONS, Rendered};
use runner_sandbox::abi::{Message, Part, Request, Role, ToolCall, ToolResult};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::private_door;

/// The request for a case's prompt; `reads_vars`: whether the provider fills in templates itself.
pub(crate) fn request(case: &Case, rendered: Rendered, reads_vars: bool) -> Request {
    let mut options = options(case, rendered.config);
    if reads_vars {
        options.insert("vars".to_owned(), Value::Object((*case.scope).clone()));
    }
    let messages = rendered.messages.into_iter().map(message).collect();
    Request {
        options_json: (!options.is_empty()).then(|| json(&options)),
        ..Request::new(messages, rendered.text)
    }
}

/// What goes to the provider besides its own config: the prompt's `config`, what its function
/// `made`, the unknown keys of the test's `options`, the later winning.
fn options(case: &Case, made: Map<String, Value>) -> Map<String, Value> {
    let mut options = case.column.prompt.config.clone().unwrap_or_default();
    options.extend(made);
    for (key, value) in &case.test.options {
        if !RUN_OPTIONS.contains(&key.as_str()) {
            options.insert(key.clone(), value.clone());
        }
    }
    private_door::close(&mut options);
    options
}

/// One message of the contract.
pub(crate) fn message(chat: ChatMessage) -> Message {
    let role = match chat.role.as_str() {
        "system" => Role::System,
        "developer" => Role::Developer,
        "assistant" | "model" | "ai" => Role::Assistant,
        "tool" | "function" => Role::Tool,
        _ => Role::User,
    };
    let mut content = Vec::new();
    if let (Role::Tool, Some(id)) = (role, chat.rest.get("tool_call_id").and_then(Value::as_str)) {
        content.push(Part::ToolResult(ToolResult {
            id: id.to_owned(),
            content: text(&chat.content),
            is_error: false,
        }));
    } else {
        match chat.content {
            Value::Null => {}
            Value::Array(parts) => content.extend(parts.iter().map(part)),
            other => content.push(Part::Text(text(&other))),
        }
        if let Some(Value::Array(calls)) = chat.rest.get("tool_calls") {
            content.extend(calls.iter().map(tool_call));
        }
    }
    Message {
        role,
        name: chat.name,
        content,
    }
}

/// Something as compact JSON, without a copy of it as a value.
pub(crate) fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("maps have string keys only")
}

/// A string as it is, anything else as compact JSON.
pub fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn part(value: &Value) -> Part {
    let field = |path: &str| {
        value
            .pointer(path)
            .and_then(Value::as_str)
            .map(str::to_owned)
    };
    let known = match value.get("type").and_then(Value::as_str) {
        Some("text" | "input_text") => field("/text").map(Part::Text),
        // With a `detail` beside the URL the part says more than a URL can.
        Some("image_url") if value.pointer("/image_url/detail").is_none() => {
            field("/image_url/url")
                .or_else(|| field("/image_url"))
                .map(Part::Url)
        }
        _ => value.as_str().map(|text| Part::Text(text.to_owned())),
    };
    known.unwrap_or_else(|| Part::Other(value.to_string()))
}

fn tool_call(call: &Value) -> Part {
    let field = |path: &str| call.pointer(path).and_then(Value::as_str);
    match (
        field("/id"),
        field("/function/name"),
        field("/function/arguments"),
    ) {
        (Some(id), Some(name), Some(arguments)) => Part::ToolCall(ToolCall {
            id: id.to_owned(),
            name: name.to_owned(),
            arguments_json: arguments.to_owned(),
        }),
        _ => Part::Other(json!({ "tool_calls": [call] }).to_string()),
    }
}
