//! The events of a message that is streamed.

use runner_plugin::json::{Value, json};

use crate::streaming::{EventShape, has_text, lay_over};

/// A message that begins, its blocks one after the other, and its end.
pub const EVENTS: EventShape = EventShape {
    has_token: |event| {
        let delta = &event["delta"];
        let texts = ["text", "thinking", "partial_json"];
        event["type"] == "content_block_delta" && texts.iter().any(|key| has_text(&delta[key]))
    },
    add,
    is_whole: |whole| has_text(&whole["stop_reason"]),
};

/// Where the arguments of a call are gathered, which come as pieces of a JSON text.
const ARGUMENTS: &str = "partial_json";

fn add(whole: &mut Value, mut event: Value) {
    let block = event["index"]
        .as_u64()
        .and_then(|at| usize::try_from(at).ok());
    match event["type"].as_str() {
        Some("message_start") => *whole = event["message"].take(),
        Some("message_delta") => {
            lay_over(whole, event["delta"].take(), &[]);
            lay_over(&mut whole["usage"], event["usage"].take(), &[]);
        }
        Some("content_block_start") => {
            if let Value::Array(blocks) = &mut whole["content"] {
                blocks.push(event["content_block"].take());
            }
        }
        Some("content_block_delta") => {
            let Some(block) = block.and_then(|at| whole["content"].get_mut(at)) else {
                return;
            };
            let mut delta = event["delta"].take();
            if let Some(citation) = delta.as_object_mut().and_then(|it| it.remove("citation")) {
                lay_over(block, json!({ "citations": [citation] }), &[]);
            }
            if let Value::Object(delta) = &mut delta {
                delta.remove("type");
            }
            lay_over(block, delta, &["text", "thinking", "signature", ARGUMENTS]);
        }
        Some("content_block_stop") => {
            if let Some(block) = block.and_then(|at| whole["content"].get_mut(at)) {
                read_arguments(block);
            }
        }
        _ => {}
    }
}

/// Puts the arguments of a call in their place; what is no JSON stays a text.
fn read_arguments(block: &mut Value) {
    let Some(gathered) = block.as_object_mut().and_then(|it| it.remove(ARGUMENTS)) else {
        return;
    };
    let text = gathered.as_str().unwrap_or_default();
    if !text.is_empty() {
        block["input"] = serde_json::from_str(text).unwrap_or_else(|_| json!(text));
    }
}
