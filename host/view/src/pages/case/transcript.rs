//! Messages as a conversation: who said what, which tools were called and what they gave back.
//!
//! A prompt that is a list of messages (with roles, as chat APIs take it) is one; every other prompt
//! is a text. What is not known of a message is shown as JSON, not left out.

use maud::{Markup, html};
use serde_json::Value;

use super::super::{block, line};
use super::content::{is_sound, json, rendered};
use crate::markdown::is_picture;
use crate::record::{shown, text_of};

/// A prompt.
pub(super) fn prompt(raw: &str) -> Markup {
    match messages(raw) {
        Some(messages) => html! { ol.talk { @for message in &messages { (turn(message)) } } },
        None => rendered(raw),
    }
}

/// An answer: text, a message, calls of tools, or any JSON; what a model says beside its calls is the answer, and
/// they are in the raw response.
pub(super) fn answer(output: &Value, raw: Option<&Value>) -> Markup {
    let calls = calls(output);
    if let (Value::String(text), Some(raw)) = (output, raw)
        && calls_in(text).is_none()
        && let beside @ [_, ..] = &calls_of(raw)[..]
    {
        return html! { ol.talk { li.turn.assistant { (rendered(text)) (called(beside)) } } };
    }
    match output {
        Value::String(text) if is_picture(text) => {
            html! { img src=(text) alt="the answer is a picture"; }
        }
        Value::String(text) if is_sound(text) => html! { audio controls src=(text) {} },
        Value::String(text) => match calls_in(text) {
            Some(calls) => html! { ol.talk { li.turn.assistant { (called(&calls)) } } },
            None => rendered(text),
        },
        _ if !calls.is_empty() => html! { ol.talk { li.turn.assistant {
            @if let Some(content) = output.get("content") { (parts(content)) }
            (called(&calls))
        } } },
        Value::Null => html! { p.hint { "It is empty." } },
        other => json(other),
    }
}

/// The messages of a prompt, if it has the form of a conversation.
fn messages(raw: &str) -> Option<Vec<Value>> {
    if !raw.trim_start().starts_with(['[', '{']) {
        return None;
    }
    let messages = match shown(raw)? {
        Value::Array(messages) => messages,
        Value::Object(mut map) => match map.remove("messages")? {
            Value::Array(messages) => messages,
            _ => return None,
        },
        _ => return None,
    };
    let is_message = |it: &Value| it.get("role").is_some_and(Value::is_string);
    (!messages.is_empty() && messages.iter().all(is_message)).then_some(messages)
}

fn turn(message: &Value) -> Markup {
    let role = message["role"].as_str().unwrap_or_default();
    let class = match role {
        "system" | "developer" => "system",
        "assistant" | "model" => "assistant",
        "tool" | "function" => "tool",
        _ => "user",
    };
    let calls = calls(message);
    html! {
        li class={ "turn " (class) } {
            p.role { (line(role)) @if let Some(name) = message.get("name").and_then(Value::as_str) { " " code { (line(name)) } } }
            @if let Some(content) = message.get("content").or_else(|| message.get("parts")) { (parts(content)) }
            (called(&calls))
        }
    }
}

/// The content of a message: a text, or a list of parts.
fn parts(content: &Value) -> Markup {
    let Value::Array(parts) = content else {
        return html! { @if !content.is_null() { (rendered(&text_of(content))) } };
    };
    html! {
        @for part in parts {
            @let picture = part.pointer("/image_url/url").or_else(|| part.get("image_url")).and_then(Value::as_str);
            @if let Some(text) = part.as_str().or_else(|| part.get("text").and_then(Value::as_str)) { (rendered(text)) }
            @else if let Some(url) = picture.filter(|url| is_picture(url)) { img src=(url) alt="a picture in the message"; }
            @else { (json(part)) }
        }
    }
}

/// The tool calls in a message, or in an answer that is a list of them.
fn calls(value: &Value) -> Vec<Value> {
    let is_call = |it: &Value| {
        it.get("function").is_some() || it["type"] == "tool_use" || it["type"] == "function_call"
    };
    match value {
        Value::Array(calls) if !calls.is_empty() && calls.iter().all(is_call) => calls.clone(),
        Value::Object(map) => match map.get("tool_calls") {
            Some(Value::Array(calls)) => calls.clone(),
            _ if is_call(value) => vec![value.clone()],
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

/// The calls in a provider's response, whose message or list of parts has them.
fn calls_of(raw: &Value) -> Vec<Value> {
    if let Some(raw) = raw.as_str().and_then(shown) {
        return calls_of(&raw);
    }
    let message = raw
        .pointer("/choices/0/message")
        .map(calls)
        .unwrap_or_default();
    let parts = [raw.get("content"), raw.get("output")];
    let parts = parts
        .into_iter()
        .flatten()
        .filter_map(Value::as_array)
        .flatten();
    message.into_iter().chain(parts.flat_map(calls)).collect()
}

/// Calls in an answer that is JSON in a text.
fn calls_in(text: &str) -> Option<Vec<Value>> {
    if !text.trim_start().starts_with(['[', '{']) {
        return None;
    }
    let calls = calls(&shown(text)?);
    (!calls.is_empty()).then_some(calls)
}

fn called(calls: &[Value]) -> Markup {
    html! {
        @for call in calls {
            @let function = call.get("function").unwrap_or(call);
            @let name = function.get("name").and_then(Value::as_str).unwrap_or("tool");
            @let arguments = function.get("arguments").or_else(|| function.get("input"));
            div.call {
                p { "calls " code { (line(name)) } }
                @match arguments {
                    Some(Value::String(text)) => @match shown(text) {
                        Some(value) => (json(&value)),
                        None => pre { (block(text)) },
                    },
                    Some(value) => (json(value)),
                    None => (json(call)),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn calls_beside_a_text_are_shown_below_it() {
        let text = json!("Let me add.");
        for raw in [
            json!({ "choices": [{ "message": { "content": "Let me add.", "tool_calls": [{ "function": { "name": "add<b>", "arguments": "{}" } }] } }] }),
            json!({ "content": [{ "type": "text", "text": "Let me add." }, { "type": "tool_use", "name": "add<b>", "input": {} }] }),
            Value::String(
                json!({ "content": [{ "type": "tool_use", "name": "add<b>" }] }).to_string(),
            ),
            json!({ "output": [{ "type": "function_call", "name": "add<b>", "arguments": "{}" }] }),
        ] {
            let shown = answer(&text, Some(&raw)).0;
            assert!(
                shown.contains("Let me add.") && shown.contains("calls <code>add&lt;b&gt;</code>"),
                "{shown}"
            );
        }
        for raw in [
            Value::Null,
            json!({ "choices": [{ "message": { "content": "x" } }] }),
        ] {
            assert_eq!(answer(&text, Some(&raw)).0, answer(&text, None).0);
        }
    }

    #[test]
    fn a_conversation_is_shown_as_one() {
        let raw = r#"[{"role":"system","content":"Be <b>"},{"role":"user","content":[{"type":"text","text":"Hi *you*"},{"type":"odd","x":1}]},
            {"role":"assistant","content":null,"tool_calls":[{"id":"1","function":{"name":"find","arguments":"{\"q\":1}"}}]},
            {"role":"tool","content":"found"}]"#;
        let shown = prompt(raw).0;
        for part in [
            "turn system",
            "Be &lt;b&gt;",
            "<em>you</em>",
            "&quot;x&quot;: 1",
            "calls <code>find</code>",
            "&quot;q&quot;: 1",
            "turn tool",
            "found",
        ] {
            assert!(shown.contains(part), "{part} in {shown}");
        }
    }

    #[test]
    fn what_is_no_conversation_is_a_text() {
        for raw in [
            "plain",
            "[1, 2]",
            "[]",
            "{\"messages\": 3}",
            "[{\"content\":\"x\"}]",
            "{",
        ] {
            assert!(!prompt(raw).0.contains("class=\"talk\""), "{raw}");
        }
        assert!(
            answer(&json!({ "a": 1 }), None)
                .0
                .contains("class=\"json\"")
        );
        assert!(
            answer(
                &json!([{ "type": "function_call", "name": "f", "arguments": "{}" }]),
                None
            )
            .0
            .contains("calls <code>f</code>")
        );
    }
}
