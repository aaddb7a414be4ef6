//! The responses of `streamGenerateContent`: each has what the answer says more.

use runner_plugin::json::{Value, json};

use crate::streaming::{EventShape, has_items, has_text, lay_over};

/// Parts of a candidate, one after the other.
pub const EVENTS: EventShape = EventShape {
    has_token: |event| {
        let parts = event.pointer("/candidates/0/content/parts");
        let mut parts = parts.and_then(Value::as_array).into_iter().flatten();
        parts.any(|part| has_text(&part["text"]) || part["functionCall"].is_object())
    },
    add,
    is_whole: |whole| {
        has_text(&whole["candidates"][0]["finishReason"])
            || whole["promptFeedback"]["blockReason"].is_string()
                && !has_items(&whole["candidates"])
    },
};

fn add(whole: &mut Value, mut event: Value) {
    let candidates = event.as_object_mut().and_then(|it| it.remove("candidates"));
    lay_over(whole, event, &[]);
    let Some(mut candidate) = candidates.and_then(|mut all| all.get_mut(0).map(Value::take)) else {
        return;
    };
    let parts = candidate.pointer_mut("/content/parts").map(Value::take);
    if !whole["candidates"].is_array() {
        whole["candidates"] = json!([{}]);
    }
    let base = &mut whole["candidates"][0];
    let mut said = match base.pointer_mut("/content/parts").map(Value::take) {
        Some(Value::Array(said)) => said,
        _ => Vec::new(),
    };
    for part in parts
        .as_ref()
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        continue_parts(&mut said, part);
    }
    lay_over(base, candidate, &[]);
    base["content"]["parts"] = Value::Array(said);
}

/// Adds a part; text after text of its kind continues it.
fn continue_parts(said: &mut Vec<Value>, part: &Value) {
    if let (Some(Value::Object(last)), Some(more)) = (said.last_mut(), part["text"].as_str())
        && last.get("thought") == part.get("thought")
        && let Some(Value::String(text)) = last.get_mut("text")
    {
        text.push_str(more);
        if let Some(signature) = part.get("thoughtSignature") {
            last.insert("thoughtSignature".to_owned(), signature.clone());
        }
        return;
    }
    said.push(part.clone());
}
