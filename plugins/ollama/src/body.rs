//! The bodies of requests.
//!
//! The API keeps sampling in `options` and the rest at the top. A config writes both at its
//! top, as promptfoo has it; what is not known to belong to the top goes into `options`.

use plugin_model_api::knobs::Knobs;
use plugin_model_api::messages::role;
use runner_plugin::json::{self, Map, Value, json};
use runner_plugin::{Error, Media, Message, Part, Request};

/// Keys of the top.
const TOP: [&str; 13] = [
    "context",
    "dimensions",
    "format",
    "keep_alive",
    "logprobs",
    "raw",
    "suffix",
    "system",
    "template",
    "think",
    "tools",
    "top_logprobs",
    "truncate",
];

/// Names of other APIs for options.
const ALIASES: [(&str, &str); 2] = [
    ("max_tokens", "num_predict"),
    ("max_completion_tokens", "num_predict"),
];

/// The body of a chat.
pub(crate) fn chat(knobs: &Knobs, model: &str, request: &Request) -> Result<Value, Error> {
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(model));
    let mut messages = Vec::new();
    for message in &request.messages {
        append(message, &mut messages)?;
    }
    body.insert("messages".to_owned(), Value::Array(messages));
    rest(&mut body, knobs, request)?;
    if let Some(tools) = &request.tools_json {
        body.insert("tools".to_owned(), json::read("tools", tools)?);
    }
    Ok(Value::Object(body))
}

/// The body of a completion: the prompt as it stands in the results. Pictures go along.
pub(crate) fn generate(knobs: &Knobs, model: &str, request: &Request) -> Result<Value, Error> {
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(model));
    body.insert("prompt".to_owned(), json!(request.prompt));
    let mut images = Vec::new();
    for part in request.messages.iter().flat_map(|message| &message.content) {
        images.extend(image(part)?);
    }
    if !images.is_empty() {
        body.insert("images".to_owned(), json!(images));
    }
    rest(&mut body, knobs, request)?;
    Ok(Value::Object(body))
}

/// The body of a request for vectors.
pub(crate) fn embed(knobs: &Knobs, model: &str, inputs: &[String]) -> Value {
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(model));
    body.insert("input".to_owned(), json!(inputs));
    sort(&mut body, knobs);
    Value::Object(body)
}

/// Adds config and options of the request, and whether the answer shall be streamed.
fn rest(body: &mut Map<String, Value>, knobs: &Knobs, request: &Request) -> Result<(), Error> {
    body.insert("stream".to_owned(), json!(knobs.streams()));
    sort(body, knobs);
    let stop = (!request.stop.is_empty()).then(|| json!(request.stop));
    for (key, value) in [
        ("temperature", request.temperature.map(|t| json!(t))),
        ("top_p", request.top_p.map(|p| json!(p))),
        ("num_predict", request.max_tokens.map(|limit| json!(limit))),
        ("seed", request.seed.map(|seed| json!(seed))),
        ("stop", stop),
    ] {
        if let Some(value) = value {
            option(body, key, value);
        }
    }
    if let Some(schema) = &request.response_schema_json {
        body.insert("format".to_owned(), json::read("response schema", schema)?);
    }
    Ok(())
}

/// Puts each key of the config where it belongs. What `passthrough` names goes to the top.
fn sort(body: &mut Map<String, Value>, knobs: &Knobs) {
    let through = knobs.own.get("passthrough");
    for (key, value) in &knobs.body {
        let to_the_top = through.is_some_and(|through| through.get(key).is_some());
        match (key.as_str(), value) {
            ("options", Value::Object(options)) => {
                for (key, value) in options {
                    option(body, key, value.clone());
                }
            }
            _ if to_the_top || TOP.contains(&key.as_str()) => {
                body.insert(key.clone(), value.clone());
            }
            ("stream", _) => {}
            _ => {
                let alias = ALIASES.iter().find(|(alias, _)| alias == key);
                option(body, alias.map_or(key, |(_, own)| own), value.clone());
            }
        }
    }
}

fn option(body: &mut Map<String, Value>, key: &str, value: Value) {
    let options = body.entry("options").or_insert_with(|| json!({}));
    if let Value::Object(options) = options {
        // The API wants a list.
        let value = match value {
            Value::String(one) if key == "stop" => json!([one]),
            value => value,
        };
        options.insert(key.to_owned(), value);
    }
}

/// Appends one message of the contract, which may be several of the API's.
fn append(message: &Message, list: &mut Vec<Value>) -> Result<(), Error> {
    let mut text = String::new();
    let mut images = Vec::new();
    let mut calls = Vec::new();
    let mut results = Vec::new();
    for part in &message.content {
        match part {
            Part::Text(piece) => text.push_str(piece),
            Part::ToolCall(call) => {
                let arguments: Value = json::read("tool call's arguments", &call.arguments_json)?;
                calls.push(json!({ "function": { "name": call.name, "arguments": arguments } }));
            }
            Part::ToolResult(result) => {
                results.push(json!({ "role": "tool", "content": result.content }));
            }
            _ => images.extend(image(part)?),
        }
    }
    let only_results = !results.is_empty() && text.is_empty() && images.is_empty();
    list.append(&mut results);
    if only_results && calls.is_empty() {
        return Ok(());
    }
    let mut sent = json!({ "role": role(message.role, "system"), "content": text });
    if !images.is_empty() {
        sent["images"] = json!(images);
    }
    if !calls.is_empty() {
        sent["tool_calls"] = Value::Array(calls);
    }
    list.push(sent);
    Ok(())
}

/// The picture in a part, in base64. The API takes no addresses and no other media.
fn image(part: &Part) -> Result<Option<String>, Error> {
    match part {
        Part::Media(Media { mime_type, .. }) if !mime_type.starts_with("image/") => Err(
            Error::unsupported(format!("Ollama takes no content of type `{mime_type}`")),
        ),
        Part::Media(media) => Ok(Some(media.base64())),
        Part::Url(url) => match url.split_once(";base64,") {
            Some((head, data)) if head.starts_with("data:image/") => Ok(Some(data.to_owned())),
            _ => Err(Error::unsupported(
                "Ollama takes pictures as bytes, not by address",
            )),
        },
        Part::Other(_) => Err(Error::unsupported(
            "Ollama takes no content but texts, pictures and calls of tools",
        )),
        _ => Ok(None),
    }
}
