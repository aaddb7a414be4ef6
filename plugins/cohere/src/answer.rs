//! From the response of the API to a completion.
//!
//! Text is the output; where the model called tools and said nothing, the list of its calls is.
//! Citations are metadata, in the form that promptfoo gives them.

use plugin_model_api::answer::arguments;
use runner_plugin::json::{Value, json};
use runner_plugin::{Completion, Error, FinishReason, Part, ToolCall, Usage};

/// Reads a whole response of status 2xx.
pub(crate) fn completion(
    response: &Value,
    wants_json: bool,
    shows_documents: bool,
) -> Result<Completion, Error> {
    let message = &response["message"];
    let failed = |error: Error| Err(error.detail(response.clone()));
    match response["finish_reason"].as_str() {
        Some("ERROR") => return failed(Error::transient("the API gave up in mid-answer")),
        Some("TIMEOUT") => return failed(Error::timeout("the model took too long")),
        _ if !message.is_object() => {
            return failed(Error::bad_response("the response holds no message"));
        }
        _ => {}
    }
    let (text, reasoning) = content(message);
    let none = Vec::new();
    let calls = message["tool_calls"].as_array().unwrap_or(&none);
    let mut parts = Vec::new();
    if !reasoning.is_empty() {
        parts.push(Part::Reasoning(reasoning));
    }
    let documents = documents(message).filter(|_| shows_documents);
    let shown = documents.map_or_else(|| text.clone(), |list| format!("{text}{list}"));
    if !text.is_empty() || calls.is_empty() {
        parts.push(Part::Text(shown));
    }
    for call in calls {
        parts.push(tool_call(call)?);
    }
    let mut completion = Completion::parts(parts);
    if text.is_empty() && !calls.is_empty() {
        completion = completion.output(&message["tool_calls"]);
    } else if wants_json {
        completion = completion.output_if_json(&text);
    }
    completion.finish_reason = finish(&response["finish_reason"]);
    completion.usage = usage(&response["usage"]);
    completion.metadata_json =
        citations(message).map(|list| json!({ "citations": list }).to_string());
    Ok(completion.raw(response))
}

/// What the model said, and what it thought or planned.
fn content(message: &Value) -> (String, String) {
    let mut text = String::new();
    let mut reasoning = message["tool_plan"].as_str().unwrap_or_default().to_owned();
    if let Some(whole) = message["content"].as_str() {
        text.push_str(whole);
    }
    for part in message["content"].as_array().into_iter().flatten() {
        text.push_str(part["text"].as_str().or(part.as_str()).unwrap_or_default());
        reasoning.push_str(part["thinking"].as_str().unwrap_or_default());
    }
    (text, reasoning)
}

fn tool_call(call: &Value) -> Result<Part, Error> {
    let function = &call["function"];
    let name = function["name"]
        .as_str()
        .ok_or_else(|| Error::bad_response("a tool call cannot be read").detail(call.clone()))?;
    Ok(Part::ToolCall(ToolCall {
        id: call["id"].as_str().unwrap_or_default().to_owned(),
        name: name.to_owned(),
        arguments_json: arguments(&function["arguments"]),
    }))
}

fn finish(reason: &Value) -> Option<FinishReason> {
    Some(match reason.as_str()? {
        "COMPLETE" | "STOP_SEQUENCE" => FinishReason::Stop,
        "MAX_TOKENS" => FinishReason::Length,
        "TOOL_CALL" => FinishReason::ToolCalls,
        other => FinishReason::Other(other.to_ascii_lowercase()),
    })
}

/// The tokens that the model read and wrote; else those that are billed, which leave out what
/// the API itself adds to a prompt.
fn usage(usage: &Value) -> Usage {
    let counted = if usage["tokens"].is_object() {
        &usage["tokens"]
    } else {
        &usage["billed_units"]
    };
    // The API writes whole numbers with a fraction: `71.0`.
    let count = |value: &Value| value.as_f64().map(|count| count as u64);
    Usage {
        input_tokens: count(&counted["input_tokens"]),
        output_tokens: count(&counted["output_tokens"]),
        cache_read_tokens: count(&usage["cached_tokens"]),
        ..Usage::default()
    }
}

/// Every citation with each of its sources: what is cited, and from where.
fn citations(message: &Value) -> Option<Vec<Value>> {
    let cited = message["citations"].as_array()?.iter();
    let list: Vec<Value> = cited
        .flat_map(|citation| {
            let content = &citation["text"];
            let sources = citation["sources"].as_array().into_iter().flatten();
            sources.map(move |source| from(source, content))
        })
        .collect();
    (!list.is_empty()).then_some(list)
}

fn from(source: &Value, content: &Value) -> Value {
    let document = &source["document"];
    let address = [&document["url"], &source["url"]]
        .into_iter()
        .find(|url| url.as_str().is_some_and(|url| url.starts_with("http")));
    if let Some(url) = address {
        return json!({ "url": url, "content": content });
    }
    let named = [&document["title"], &source["id"]]
        .into_iter()
        .find(|name| name.is_string());
    json!({ "source": named, "content": content })
}

/// The cited documents, each once, as promptfoo writes them below an answer.
fn documents(message: &Value) -> Option<String> {
    let citations = message["citations"].as_array()?.iter();
    let sources = citations.filter_map(|citation| citation["sources"].as_array());
    let mut documents: Vec<String> = Vec::new();
    for source in sources.flatten() {
        let document = source["document"].to_string();
        if source["document"].is_object() && !documents.contains(&document) {
            documents.push(document);
        }
    }
    (!documents.is_empty()).then(|| format!("\n\nDocuments:\n{}", documents.join("\n")))
}
