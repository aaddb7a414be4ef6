//! From the response of the API to a completion.
//!
//! Text is the output; where the model wrote none and called tools, the list of calls in
//! OpenAI's form (arguments as a JSON text), as promptfoo has it.

use plugin_model_api::answer::arguments;
use runner_plugin::json::{Value, json};
use runner_plugin::{Completion, Error, FinishReason, Part, ToolCall, Usage};

/// Reads the answer of a chat.
pub(crate) fn of_chat(response: &Value, wants_json: bool) -> Result<Completion, Error> {
    let message = &response["message"];
    let unreadable = |why: &str| Error::bad_response(why).detail(response.clone());
    if !message.is_object() {
        return Err(unreadable("the response holds no message"));
    }
    let text = message["content"].as_str().unwrap_or_default();
    let mut calls = Vec::new();
    let mut written = Vec::new();
    for (place, call) in message["tool_calls"]
        .as_array()
        .into_iter()
        .flatten()
        .enumerate()
    {
        let function = &call["function"];
        let name = function["name"]
            .as_str()
            .ok_or_else(|| unreadable("a tool call cannot be read"))?;
        let arguments = arguments(&function["arguments"]);
        written.push(json!({ "function": { "name": name, "arguments": arguments } }));
        calls.push(ToolCall {
            id: call["id"]
                .as_str()
                .map_or_else(|| format!("call-{place}"), str::to_owned),
            name: name.to_owned(),
            arguments_json: arguments,
        });
    }
    let mut completion = whole(response, text, &message["thinking"], wants_json);
    if !calls.is_empty() {
        if text.is_empty() {
            completion
                .message
                .content
                .retain(|part| !matches!(part, Part::Text(_)));
            completion = completion.output(&Value::Array(written));
        }
        completion.finish_reason = Some(FinishReason::ToolCalls);
    }
    let content = &mut completion.message.content;
    content.extend(calls.into_iter().map(Part::ToolCall));
    Ok(completion)
}

/// Reads the answer of a completion.
pub(crate) fn of_generate(response: &Value, wants_json: bool) -> Result<Completion, Error> {
    let text = response["response"].as_str().ok_or_else(|| {
        Error::bad_response("the response holds no text").detail(response.clone())
    })?;
    Ok(whole(response, text, &response["thinking"], wants_json))
}

/// What both have in common.
fn whole(response: &Value, text: &str, thinking: &Value, wants_json: bool) -> Completion {
    let thinking = thinking.as_str().filter(|text| !text.is_empty());
    let mut content: Vec<Part> = thinking
        .map(|text| Part::Reasoning(text.to_owned()))
        .into_iter()
        .collect();
    content.push(Part::Text(text.to_owned()));
    let mut completion = Completion::parts(content);
    if wants_json {
        completion = completion.output_if_json(text);
    }
    completion.finish_reason = response["done_reason"].as_str().map(|reason| match reason {
        "stop" => FinishReason::Stop,
        "length" => FinishReason::Length,
        other => FinishReason::Other(other.to_owned()),
    });
    completion.usage = Usage {
        input_tokens: response["prompt_eval_count"].as_u64(),
        output_tokens: response["eval_count"].as_u64(),
        cache_read_tokens: response["prompt_eval_cached_count"].as_u64(),
        ..Usage::default()
    };
    completion.model = response["model"].as_str().map(str::to_owned);
    completion.raw(response)
}
