//! From the response of the API to a completion.
//!
//! The answer of a run is text where the model wrote text. It is a JSON value where it wrote
//! none but called tools (the list of calls, in the API's own form), and where the request
//! bound it to a JSON Schema and it kept to JSON.

use runner_plugin::json::{Value, json};
use runner_plugin::{Completion, Error, FinishReason, Part, ToolCall, Usage};

use crate::failure;

/// Whether the request binds the answer to a JSON Schema.
pub fn wants_json(body: &Value) -> bool {
    body.pointer("/response_format/type")
        .is_some_and(|kind| kind == "json_schema")
}

/// Reads a whole response of status 2xx.
///
/// # Errors
/// `bad-response` where it holds no answer; what a gateway reports within it.
pub fn completion(response: Value, wants_json: bool) -> Result<Completion, Error> {
    let choice = &response["choices"][0];
    let message = &choice["message"];
    if choice["error"].is_object() {
        return Err(failure::of(200, &choice["error"]));
    }
    if !message.is_object() {
        return Err(Error::bad_response("the response holds no message").detail(response));
    }
    let refusal = message["refusal"].as_str().filter(|text| !text.is_empty());
    let text = refusal.map_or_else(|| content_text(&message["content"]), str::to_owned);
    let calls = called(message);
    let content = &message["content"];
    if !(content.is_string() || content.is_array() || calls.is_some() || refusal.is_some()) {
        let message = "the answer holds neither text nor tool calls nor a refusal";
        return Err(Error::bad_response(message).detail(response));
    }
    let completion = Completion::parts(parts(message, &text, calls)?);
    let mut completion = completion.usage(usage(&response["usage"])).raw(&response);
    completion.finish_reason = match refusal {
        Some(_) => Some(FinishReason::Refusal),
        None => finish(&choice["finish_reason"]),
    };
    completion.model = response["model"].as_str().map(str::to_owned);
    completion.metadata_json =
        guardrails(&response, choice).map(|found| json!({ "guardrails": found }).to_string());
    if text.is_empty() {
        completion.output_json = calls.map(Value::to_string);
    } else if wants_json && refusal.is_none() {
        completion = completion.output_if_json(&text);
    }
    Ok(completion)
}

/// What filters of the API found in prompt and answer, where it says so (Azure does in every
/// response). `None` where it says nothing: then the finish reason is all there is.
fn guardrails(response: &Value, choice: &Value) -> Option<Value> {
    let answer = &choice["content_filter_results"];
    let prompts = response["prompt_filter_results"].as_array();
    let prompts = prompts.map_or(&[][..], Vec::as_slice);
    if !answer.is_object() && prompts.is_empty() {
        return None;
    }
    let output = filtered(answer);
    let results = prompts.iter().map(|one| &one["content_filter_results"]);
    let input: Vec<&str> = results.flat_map(filtered).collect();
    let stopped = choice["finish_reason"] == "content_filter";
    let flagged_output = stopped || !output.is_empty();
    let categories: Vec<&str> = input.iter().chain(&output).copied().collect();
    let reason = match (categories.is_empty(), stopped) {
        (false, _) => format!("The content filter objected: {}", categories.join(", ")),
        (true, true) => "The content filter stopped the answer".to_owned(),
        (true, false) => String::new(),
    };
    Some(json!({
        "flagged": flagged_output || !input.is_empty(),
        "flaggedInput": !input.is_empty(),
        "flaggedOutput": flagged_output,
        "reason": reason,
    }))
}

/// The categories that a filter objected to.
fn filtered(results: &Value) -> Vec<&str> {
    let categories = results.as_object().into_iter().flatten();
    categories
        .filter(|(_, found)| found["filtered"] == true)
        .map(|(name, _)| name.as_str())
        .collect()
}

/// The tool calls as the API wrote them; the one `function_call` of older models counts too.
fn called(message: &Value) -> Option<&Value> {
    let calls = &message["tool_calls"];
    if calls.as_array().is_some_and(|calls| !calls.is_empty()) {
        return Some(calls);
    }
    Some(&message["function_call"]).filter(|call| call.is_object())
}

/// Text as it is; of a list of parts, the texts joined.
fn content_text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts
            .iter()
            .filter_map(|part| part["text"].as_str())
            .collect(),
        _ => String::new(),
    }
}

fn parts(message: &Value, text: &str, calls: Option<&Value>) -> Result<Vec<Part>, Error> {
    let mut parts = Vec::new();
    let reasoning = reasoning(message);
    if !reasoning.is_empty() {
        parts.push(Part::Reasoning(reasoning));
    }
    // An empty text is an answer, too, where there is nothing else.
    if !text.is_empty() || calls.is_none() {
        parts.push(Part::Text(text.to_owned()));
    }
    match calls {
        Some(Value::Array(calls)) => {
            for call in calls {
                parts.push(tool_call(call, &call["function"])?);
            }
        }
        Some(call) => parts.push(tool_call(call, call)?),
        None => {}
    }
    Ok(parts)
}

/// What the model thought, which servers state beside the content or as parts of it.
fn reasoning(message: &Value) -> String {
    for key in ["reasoning_content", "reasoning"] {
        if let Some(text) = message[key].as_str() {
            return text.to_owned();
        }
    }
    let parts = message["content"].as_array().into_iter().flatten();
    parts.map(|part| content_text(&part["thinking"])).collect()
}

/// A call of a tool. Models do write arguments that are no JSON: those are handed on as a
/// JSON string, so that a grader can see what was written.
fn tool_call(call: &Value, function: &Value) -> Result<Part, Error> {
    let unreadable = || Error::bad_response("a tool call cannot be read").detail(call.clone());
    if call.get("type").is_some_and(|kind| kind != "function") {
        return Ok(Part::Other(call.to_string()));
    }
    let name = function["name"].as_str().ok_or_else(unreadable)?;
    let arguments = arguments(&function["arguments"]);
    Ok(Part::ToolCall(ToolCall {
        id: call["id"].as_str().unwrap_or_default().to_owned(),
        name: name.to_owned(),
        arguments_json: arguments,
    }))
}

/// The arguments of a call as one JSON text, however the model wrote them.
pub fn arguments(written: &Value) -> String {
    match written {
        Value::String(text) if text.is_empty() => "{}".to_owned(),
        Value::String(text) if serde_json::from_str::<Value>(text).is_ok() => text.clone(),
        other => other.to_string(),
    }
}

/// Why the model stopped, by the name that chat completions have for it.
pub fn finish(reason: &Value) -> Option<FinishReason> {
    Some(match reason.as_str()? {
        "stop" => FinishReason::Stop,
        "length" | "model_length" => FinishReason::Length,
        "tool_calls" | "function_call" => FinishReason::ToolCalls,
        "content_filter" => FinishReason::ContentFilter,
        other => FinishReason::Other(other.to_owned()),
    })
}

/// The token counts of a `usage` object, each if reported.
pub fn usage(usage: &Value) -> Usage {
    let count = |pointer: &str| usage.pointer(pointer).and_then(Value::as_u64);
    Usage {
        input_tokens: count("/prompt_tokens"),
        output_tokens: count("/completion_tokens"),
        total_tokens: count("/total_tokens"),
        cache_read_tokens: count("/prompt_tokens_details/cached_tokens")
            .or(count("/prompt_cache_hit_tokens")),
        cache_write_tokens: count("/prompt_tokens_details/cache_write_tokens"),
        reasoning_tokens: count("/completion_tokens_details/reasoning_tokens"),
        other: Vec::new(),
    }
}
