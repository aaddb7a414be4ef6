//! From the response of the API to a completion.
//!
//! The output of a run is what promptfoo makes of it: the texts and, as JSON texts, the
//! `tool_use` blocks, an empty line between two of them. So it is a string also where there
//! are calls, and a grader that reads the text works on both. The calls themselves stand in
//! the message, in the contract's form.

use runner_plugin::json::Value;
use runner_plugin::{Completion, Error, FinishReason, Part, ToolCall, Usage};

/// Reads a whole response of status 2xx.
///
/// # Errors
/// `bad-response` where it holds no answer.
pub fn completion(response: &Value, wants_json: bool) -> Result<Completion, Error> {
    let blocks = response["content"].as_array().ok_or_else(|| {
        Error::bad_response("the response holds no `content`").detail(response.clone())
    })?;
    let mut content = Vec::new();
    let mut output = Vec::new();
    let mut calls = false;
    for block in blocks {
        let part = part(block)?;
        match &part {
            Part::Text(text) => output.push(text.clone()),
            Part::ToolCall(_) => {
                calls = true;
                output.push(block.to_string());
            }
            _ => {}
        }
        content.push(part);
    }
    let refused = response["stop_reason"] == "refusal";
    if output.is_empty() {
        content.push(Part::Text(String::new()));
    }
    let mut completion = Completion::parts(content);
    if calls || output.len() > 1 {
        completion = completion.output(&Value::String(output.join("\n\n")));
    } else if wants_json && !refused {
        completion = completion.output_if_json(&output.concat());
    }
    completion.finish_reason = finish(&response["stop_reason"]);
    completion.usage = usage(&response["usage"]);
    completion.model = response["model"].as_str().map(str::to_owned);
    Ok(completion.raw(response))
}

fn part(block: &Value) -> Result<Part, Error> {
    let text = |key: &str| block[key].as_str().map(str::to_owned);
    let known = match block["type"].as_str() {
        Some("text") => text("text").map(Part::Text),
        Some("thinking") => text("thinking").map(Part::Reasoning),
        Some("tool_use") => {
            let name = text("name").ok_or_else(|| {
                Error::bad_response("a tool call cannot be read").detail(block.clone())
            })?;
            Some(Part::ToolCall(ToolCall {
                id: text("id").unwrap_or_default(),
                name,
                arguments_json: block["input"].to_string(),
            }))
        }
        _ => None,
    };
    Ok(known.unwrap_or_else(|| Part::Other(block.to_string())))
}

fn finish(reason: &Value) -> Option<FinishReason> {
    Some(match reason.as_str()? {
        "end_turn" | "stop_sequence" => FinishReason::Stop,
        "max_tokens" | "model_context_window_exceeded" => FinishReason::Length,
        "tool_use" => FinishReason::ToolCalls,
        "refusal" => FinishReason::Refusal,
        other => FinishReason::Other(other.to_owned()),
    })
}

/// The API counts what it read from and wrote to its prompt cache apart from the input; the
/// contract counts it in.
fn usage(usage: &Value) -> Usage {
    let count = |pointer: &str| usage.pointer(pointer).and_then(Value::as_u64);
    let read = count("/cache_read_input_tokens");
    let written = count("/cache_creation_input_tokens");
    let cached = read.unwrap_or(0) + written.unwrap_or(0);
    let other = ["web_search_requests", "web_fetch_requests"]
        .into_iter()
        .filter_map(|meter| {
            let times = count(&format!("/server_tool_use/{meter}"))?;
            Some((meter.to_owned(), times)).filter(|_| times > 0)
        });
    Usage {
        input_tokens: count("/input_tokens").map(|input| input.saturating_add(cached)),
        output_tokens: count("/output_tokens"),
        total_tokens: None,
        cache_read_tokens: read,
        cache_write_tokens: written,
        reasoning_tokens: None,
        other: other.collect(),
    }
}
