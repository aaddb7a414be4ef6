//! From the response of the API to a completion.
//!
//! Text is the output. Where the model calls functions, the output is the list of its parts as
//! the API wrote them, texts among them, as promptfoo has it. A prompt that was blocked is an
//! error, since no model has seen it; an answer that was cut off for safety is an answer with
//! finish reason `content-filter`.

use runner_plugin::json::Value;
use runner_plugin::{Completion, Error, FinishReason, Part, ToolCall, Usage};

/// Reads a whole response of status 2xx.
///
/// # Errors
/// `bad-response` where it holds no answer; `content-filter` where the prompt was blocked.
pub fn completion(response: &Value, wants_json: bool) -> Result<Completion, Error> {
    let candidate = &response["candidates"][0];
    if !candidate.is_object() {
        return Err(without_candidate(response));
    }
    let none = Vec::new();
    let parts = candidate
        .pointer("/content/parts")
        .and_then(Value::as_array);
    let mut content = Vec::new();
    let mut said = Vec::new();
    let mut calls = false;
    for (place, part) in parts.unwrap_or(&none).iter().enumerate() {
        let read = read(part, place)?;
        calls |= matches!(read, Part::ToolCall(_));
        if !matches!(read, Part::Reasoning(_)) {
            said.push(part.clone());
        }
        content.push(read);
    }
    if said.is_empty() {
        content.push(Part::Text(String::new()));
    }
    let mut completion = Completion::parts(content);
    if calls {
        completion = completion.output(&Value::Array(said));
    } else if wants_json {
        let text = completion.message.text();
        completion = completion.output_if_json(&text);
    }
    completion.finish_reason = finish(&candidate["finishReason"], calls);
    completion.usage = usage(&response["usageMetadata"]);
    completion.model = response["modelVersion"].as_str().map(str::to_owned);
    Ok(completion.raw(response))
}

/// Why there is no candidate: the prompt was blocked, or this is no answer.
fn without_candidate(response: &Value) -> Error {
    match response
        .pointer("/promptFeedback/blockReason")
        .and_then(Value::as_str)
    {
        Some(reason) => Error::new(
            runner_plugin::ErrorCode::ContentFilter,
            format!("the API blocked the prompt: {reason}"),
        )
        .detail(response["promptFeedback"].clone()),
        None => Error::bad_response("the response holds no candidate").detail(response.clone()),
    }
}

/// Reads one part. Calls have no id unless the API gives one; their place stands in for it.
fn read(part: &Value, place: usize) -> Result<Part, Error> {
    if let Some(text) = part["text"].as_str() {
        let text = text.to_owned();
        return Ok(if part["thought"] == true {
            Part::Reasoning(text)
        } else {
            Part::Text(text)
        });
    }
    let call = &part["functionCall"];
    if !call.is_object() {
        return Ok(Part::Other(part.to_string()));
    }
    let name = call["name"]
        .as_str()
        .ok_or_else(|| Error::bad_response("a function call has no name").detail(part.clone()))?;
    let arguments = call.get("args").filter(|args| !args.is_null());
    Ok(Part::ToolCall(ToolCall {
        id: call["id"]
            .as_str()
            .map_or_else(|| format!("call-{place}"), str::to_owned),
        name: name.to_owned(),
        arguments_json: arguments.map_or_else(|| "{}".to_owned(), Value::to_string),
    }))
}

fn finish(reason: &Value, calls: bool) -> Option<FinishReason> {
    Some(match reason.as_str()? {
        "STOP" if calls => FinishReason::ToolCalls,
        "STOP" => FinishReason::Stop,
        "MAX_TOKENS" => FinishReason::Length,
        "SAFETY"
        | "RECITATION"
        | "BLOCKLIST"
        | "PROHIBITED_CONTENT"
        | "SPII"
        | "IMAGE_SAFETY"
        | "IMAGE_PROHIBITED_CONTENT"
        | "IMAGE_RECITATION" => FinishReason::ContentFilter,
        other => FinishReason::Other(other.to_ascii_lowercase()),
    })
}

/// The API counts what it read of tools apart from the prompt, and what the model thought
/// apart from what it said; the contract counts both in.
fn usage(usage: &Value) -> Usage {
    let count = |key: &str| usage[key].as_u64();
    let sum = |one: Option<u64>, more: Option<u64>| match (one, more) {
        (None, None) => None,
        (one, more) => Some(one.unwrap_or(0).saturating_add(more.unwrap_or(0))),
    };
    Usage {
        input_tokens: sum(count("promptTokenCount"), count("toolUsePromptTokenCount")),
        output_tokens: sum(count("candidatesTokenCount"), count("thoughtsTokenCount")),
        total_tokens: count("totalTokenCount"),
        cache_read_tokens: count("cachedContentTokenCount"),
        cache_write_tokens: None,
        reasoning_tokens: count("thoughtsTokenCount"),
        other: Vec::new(),
    }
}
