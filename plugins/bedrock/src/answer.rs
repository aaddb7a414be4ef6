//! From the response of Converse to a completion.
//!
//! The output of a run is what promptfoo makes of an answer: the texts and, as JSON texts, the calls
//! of tools in Anthropic's form, an empty line between two of them. The calls themselves stand in
//! the message, in the contract's form.

use runner_plugin::json::{Value, json};
use runner_plugin::{Completion, Error, FinishReason, Part, ToolCall, Usage};

/// Reads a whole response of status 2xx.
pub(crate) fn completion(response: &Value, wants_json: bool) -> Result<Completion, Error> {
    let blocks = response.pointer("/output/message/content");
    let blocks = blocks.and_then(Value::as_array).ok_or_else(|| {
        Error::bad_response("the response holds no message").detail(response.clone())
    })?;
    let mut content: Vec<Part> = blocks.iter().map(part).collect::<Result<_, _>>()?;
    let output: Vec<String> = content.iter().filter_map(said).collect();
    let calls = content.iter().any(|it| matches!(it, Part::ToolCall(_)));
    if output.is_empty() {
        content.push(Part::Text(String::new()));
    }
    let mut completion = Completion::parts(content);
    if calls || output.len() > 1 {
        completion = completion.output(&Value::String(output.join("\n\n")));
    } else if wants_json {
        completion = completion.output_if_json(&output.concat());
    }
    let reason = response["stopReason"].as_str();
    completion.finish_reason = reason.map(finish);
    completion.usage = usage(&response["usage"]);
    completion.metadata_json = guardrails(response).map(|it| it.to_string());
    Ok(completion.raw(response))
}

fn part(block: &Value) -> Result<Part, Error> {
    if let Some(text) = block["text"].as_str() {
        return Ok(Part::Text(text.to_owned()));
    }
    let thought = block.pointer("/reasoningContent/reasoningText/text");
    if let Some(text) = thought.and_then(Value::as_str) {
        return Ok(Part::Reasoning(text.to_owned()));
    }
    let call = &block["toolUse"];
    if !call.is_object() {
        return Ok(Part::Other(block.to_string()));
    }
    let name = call["name"]
        .as_str()
        .ok_or_else(|| Error::bad_response("a tool call cannot be read").detail(block.clone()))?;
    Ok(Part::ToolCall(ToolCall {
        id: call["toolUseId"].as_str().unwrap_or_default().to_owned(),
        name: name.to_owned(),
        arguments_json: call["input"].to_string(),
    }))
}

/// What a part adds to the output.
fn said(part: &Part) -> Option<String> {
    match part {
        Part::Text(text) => Some(text.clone()),
        Part::ToolCall(call) => {
            let input: Value = serde_json::from_str(&call.arguments_json).unwrap_or_default();
            let call = json!({
                "type": "tool_use", "id": call.id, "name": call.name, "input": input,
            });
            Some(call.to_string())
        }
        _ => None,
    }
}

fn finish(reason: &str) -> FinishReason {
    match reason {
        "end_turn" | "stop_sequence" => FinishReason::Stop,
        "max_tokens" | "model_context_window_exceeded" => FinishReason::Length,
        "tool_use" => FinishReason::ToolCalls,
        "guardrail_intervened" | "content_filtered" => FinishReason::ContentFilter,
        other => FinishReason::Other(other.to_owned()),
    }
}

/// Whether a guardrail stepped in, as promptfoo says it.
fn guardrails(response: &Value) -> Option<Value> {
    let flagged = response["stopReason"] == "guardrail_intervened";
    let is_there = flagged || response.pointer("/trace/guardrail").is_some();
    is_there.then(|| json!({ "guardrails": { "flagged": flagged } }))
}

/// The API counts what it read from and wrote to its prompt cache apart from the input; the
/// contract counts it in.
fn usage(usage: &Value) -> Usage {
    let count = |key: &str| usage[key].as_u64();
    let read = count("cacheReadInputTokens");
    let written = count("cacheWriteInputTokens");
    let cached = read.unwrap_or(0) + written.unwrap_or(0);
    Usage {
        input_tokens: count("inputTokens").map(|input| input.saturating_add(cached)),
        output_tokens: count("outputTokens"),
        total_tokens: count("totalTokens"),
        cache_read_tokens: read,
        cache_write_tokens: written,
        reasoning_tokens: None,
        other: Vec::new(),
    }
}
