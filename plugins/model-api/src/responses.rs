//! The Responses API: a list of typed items in, a list of typed items out.
//!
//! Messages become items: texts and files in the API's own part types, calls of tools and
//! their results as items beside the messages. Of the answer, messages are the text, reasoning
//! is kept apart, calls of functions are calls; whatever else the API did on its side
//! (searches, code) stays as it is in the raw response.

use runner_plugin::json::{self, Map, Value, json};
use runner_plugin::{
    Completion, Error, FinishReason, Media, Message, Part, Request, Role, ToolCall, Usage,
};

use crate::knobs::Knobs;
use crate::streaming::{EventShape, has_text};
use crate::{answer, body, failure, streaming};

/// Asks `model` for a response.
///
/// # Errors
/// What the API reports; `bad-response` where it answers with nothing that can be read.
pub fn complete(knobs: &Knobs, model: &str, request: &Request) -> Result<Completion, Error> {
    complete_by(knobs, "/responses", ("model", json!(model)), model, request)
}

/// As [`complete`], at `path`, where a key of the body says who is asked. `bucket` is what shares a rate
/// limit.
///
/// # Errors
/// As [`complete`].
pub fn complete_by(
    knobs: &Knobs,
    path: &str,
    asked: (&str, Value),
    bucket: &str,
    request: &Request,
) -> Result<Completion, Error> {
    let mut body = body_of(knobs, asked, request)?;
    if knobs.streams() {
        body["stream"] = json!(true);
    }
    let exchange = knobs.post(path, &body, bucket);
    let response = failure::check(&streaming::send(exchange, knobs.streams(), &EVENTS)?)?;
    let wants_json = body
        .pointer("/text/format/type")
        .is_some_and(|kind| kind == "json_schema");
    read(&response, wants_json)
}

/// Its last event has the whole response.
const EVENTS: EventShape = EventShape {
    has_token: |event| {
        let kind = event["type"].as_str().unwrap_or_default();
        let is_more = kind.rsplit('.').next() == Some("delta");
        is_more && has_text(&event["delta"])
    },
    add: |whole, mut event| match event["type"].as_str() {
        Some("response.completed" | "response.incomplete" | "response.failed") => {
            *whole = event["response"].take();
        }
        Some("error") => *whole = json!({ "error": event }),
        _ => {}
    },
    is_whole: |whole| whole.as_object().is_some_and(|it| !it.is_empty()),
};

fn body_of(knobs: &Knobs, asked: (&str, Value), request: &Request) -> Result<Value, Error> {
    let mut body = Map::new();
    body.insert(asked.0.to_owned(), asked.1);
    body.insert("input".to_owned(), items(&request.messages)?);
    body.extend(knobs.body.clone());
    in_own_words(&mut body);
    body::sampling(&mut body, "seed", "max_output_tokens", request);
    if let Some(schema) = &request.response_schema_json {
        let schema: Value = json::read("response schema", schema)?;
        let format = json!({ "type": "json_schema", "name": "answer", "schema": schema });
        text_format(&mut body, format);
    }
    if let Some(tools) = &request.tools_json {
        body.insert("tools".to_owned(), json::read("tools", tools)?);
    }
    if let Some(Value::Array(tools)) = body.get_mut("tools") {
        for tool in tools {
            *tool = flat_tool(tool);
        }
    }
    Ok(Value::Object(body))
}

/// Gives keys that chat completions have the names and places that they have here.
fn in_own_words(body: &mut Map<String, Value>) {
    for key in ["max_tokens", "max_completion_tokens"] {
        if let Some(limit) = body.remove(key) {
            body.insert("max_output_tokens".to_owned(), limit);
        }
    }
    if let Some(effort) = body.remove("reasoning_effort") {
        body.insert("reasoning".to_owned(), json!({ "effort": effort }));
    }
    if let Some(format) = body.remove("response_format") {
        text_format(body, flat_format(&format));
    }
}

/// Sets `text.format` and leaves what else `text` says.
fn text_format(body: &mut Map<String, Value>, format: Value) {
    let text = body.entry("text").or_insert_with(|| json!({}));
    if let Value::Object(text) = text {
        text.insert("format".to_owned(), format);
    }
}

/// A format as chat completions have it, in the flat form that is wanted here.
fn flat_format(format: &Value) -> Value {
    match &format["json_schema"] {
        Value::Object(schema) => {
            let mut flat = schema.clone();
            flat.insert("type".to_owned(), json!("json_schema"));
            flat.entry("name").or_insert_with(|| json!("answer"));
            Value::Object(flat)
        }
        _ => format.clone(),
    }
}

/// A function as chat completions have it, likewise; other tools as they are.
fn flat_tool(tool: &Value) -> Value {
    match &tool["function"] {
        Value::Object(function) if tool["type"] == "function" => {
            let mut flat = function.clone();
            flat.insert("type".to_owned(), json!("function"));
            Value::Object(flat)
        }
        _ => tool.clone(),
    }
}

fn items(messages: &[Message]) -> Result<Value, Error> {
    let mut items = Vec::new();
    for message in messages {
        let mut content = Vec::new();
        let mut beside = Vec::new();
        let said = message.role == Role::Assistant;
        for part in &message.content {
            match part {
                Part::Text(text) if said => {
                    content.push(json!({ "type": "output_text", "text": text }));
                }
                Part::Text(text) => content.push(json!({ "type": "input_text", "text": text })),
                Part::Url(url) => content.push(json!({ "type": "input_image", "image_url": url })),
                Part::Media(media) => content.push(inline(media)?),
                Part::Other(other) => content.push(json::read("message part", other)?),
                Part::ToolCall(call) => beside.push(json!({
                    "type": "function_call",
                    "call_id": call.id,
                    "name": call.name,
                    "arguments": call.arguments_json,
                })),
                Part::ToolResult(result) => beside.push(json!({
                    "type": "function_call_output",
                    "call_id": result.id,
                    "output": result.content,
                })),
                Part::Reasoning(_) => {}
            }
        }
        if !content.is_empty() || beside.is_empty() {
            items.push(json!({ "role": role(message.role), "content": alone(content) }));
        }
        items.append(&mut beside);
    }
    Ok(Value::Array(items))
}

/// A single text as a string, which is the same to the API and easier to read.
fn alone(mut content: Vec<Value>) -> Value {
    match content.len() {
        0 => json!(""),
        1 if content[0]["text"].is_string() => content[0]["text"].take(),
        _ => Value::Array(content),
    }
}

fn role(role: Role) -> &'static str {
    match role {
        Role::System => "system",
        Role::Developer => "developer",
        Role::Assistant => "assistant",
        Role::User | Role::Tool => "user",
    }
}

fn inline(media: &Media) -> Result<Value, Error> {
    let kind = media.mime_type.as_str();
    if kind.starts_with("image/") {
        return Ok(json!({ "type": "input_image", "image_url": media.data_url() }));
    }
    if kind == "application/pdf" {
        return Ok(json!({
            "type": "input_file", "filename": "document.pdf", "file_data": media.data_url()
        }));
    }
    Err(Error::unsupported(format!(
        "responses take no content of type `{kind}`"
    )))
}

fn read(response: &Value, wants_json: bool) -> Result<Completion, Error> {
    let output = response["output"].as_array().ok_or_else(|| {
        Error::bad_response("the response holds no `output`").detail(response.clone())
    })?;
    if response["status"] == "failed" {
        return Err(failure::of(200, &response["error"]));
    }
    let mut found = Found::default();
    for item in output {
        found.take(item)?;
    }
    let text = found.text();
    let mut completion = Completion::parts(found.parts);
    completion.finish_reason = finish(response, found.refused, !found.calls.is_empty());
    completion.usage = usage(&response["usage"]);
    completion.model = response["model"].as_str().map(str::to_owned);
    if text.is_empty() && !found.calls.is_empty() {
        completion = completion.output(&Value::Array(found.calls));
    } else if wants_json && !found.refused {
        completion = completion.output_if_json(&text);
    }
    Ok(completion.raw(response))
}

/// What the items of an answer hold.
#[derive(Default)]
struct Found {
    parts: Vec<Part>,
    /// Calls of functions, as the API wrote them.
    calls: Vec<Value>,
    refused: bool,
}

impl Found {
    fn take(&mut self, item: &Value) -> Result<(), Error> {
        match item["type"].as_str() {
            Some("message") => {
                for part in item["content"].as_array().into_iter().flatten() {
                    self.refused |= part["type"] == "refusal";
                    let text = part["text"].as_str().or(part["refusal"].as_str());
                    self.parts
                        .extend(text.map(|text| Part::Text(text.to_owned())));
                }
            }
            Some("reasoning") => {
                let summary = item["summary"].as_array().into_iter().flatten();
                let texts: Vec<&str> = summary.filter_map(|part| part["text"].as_str()).collect();
                if !texts.is_empty() {
                    self.parts.push(Part::Reasoning(texts.join("\n\n")));
                }
            }
            Some("function_call") => {
                let name = item["name"].as_str().ok_or_else(|| {
                    Error::bad_response("a function call has no name").detail(item.clone())
                })?;
                self.parts.push(Part::ToolCall(ToolCall {
                    id: item["call_id"].as_str().unwrap_or_default().to_owned(),
                    name: name.to_owned(),
                    arguments_json: answer::arguments(&item["arguments"]),
                }));
                self.calls.push(item.clone());
            }
            _ => self.parts.push(Part::Other(item.to_string())),
        }
        Ok(())
    }

    fn text(&self) -> String {
        let texts = self.parts.iter().filter_map(|part| match part {
            Part::Text(text) => Some(text.as_str()),
            _ => None,
        });
        texts.collect()
    }
}

fn finish(response: &Value, refused: bool, calls: bool) -> Option<FinishReason> {
    if refused {
        return Some(FinishReason::Refusal);
    }
    let incomplete = response.pointer("/incomplete_details/reason");
    Some(
        match (
            response["status"].as_str()?,
            incomplete.and_then(Value::as_str),
        ) {
            ("completed", _) if calls => FinishReason::ToolCalls,
            ("completed", _) => FinishReason::Stop,
            (_, Some("max_output_tokens")) => FinishReason::Length,
            (_, Some("content_filter")) => FinishReason::ContentFilter,
            (status, reason) => FinishReason::Other(reason.unwrap_or(status).to_owned()),
        },
    )
}

fn usage(usage: &Value) -> Usage {
    let count = |pointer: &str| usage.pointer(pointer).and_then(Value::as_u64);
    Usage {
        input_tokens: count("/input_tokens"),
        output_tokens: count("/output_tokens"),
        total_tokens: count("/total_tokens"),
        cache_read_tokens: count("/input_tokens_details/cached_tokens"),
        cache_write_tokens: None,
        reasoning_tokens: count("/output_tokens_details/reasoning_tokens"),
        other: Vec::new(),
    }
}
