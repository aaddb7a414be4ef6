//! An answer that the API streams, put together to the response that it would have given whole.
//!
//! So that whoever reads answers reads one form. The events are looked at while they come for the first token alone,
//! whose time the host takes; what the model thinks counts as well. Errors within a stream, and streams that end
//! before the answer does, are errors.

use runner_plugin::http::{Piece, Request, Response};
use runner_plugin::json::{Map, Value};
use runner_plugin::{Error, http};

/// How an API streams.
#[derive(Debug, Clone, Copy)]
pub struct EventShape {
    /// Whether an event holds a token of the answer.
    pub has_token: fn(&Value) -> bool,
    /// Lays an event over what those before it made: the response, as far as it has come.
    pub add: fn(&mut Value, Value),
    /// Whether what they made is a whole response.
    pub is_whole: fn(&Value) -> bool,
}

/// Sends a request, which asks for a stream if `streams` says so; the whole response.
///
/// # Errors
/// What the host says; `transient` where the stream ends before the answer does.
pub fn send(exchange: Request, streams: bool, shape: &EventShape) -> Result<Response, Error> {
    if !streams {
        return exchange.send();
    }
    let mut stream = exchange.stream();
    watch(&mut stream, shape)?;
    let mut response = stream.finish()?;
    // A server that doesn't stream answers whole.
    let is_whole = serde_json::from_slice::<Map<String, Value>>(&response.body).is_ok();
    if response.is_success() && !is_whole {
        response.body = together(&response.body, shape)?.to_string().into_bytes();
    }
    Ok(response)
}

/// Reads until the first token.
fn watch(stream: &mut http::Stream, shape: &EventShape) -> Result<(), Error> {
    let mut has_begun = false;
    while let Some(piece) = stream.next_piece()? {
        match piece {
            Piece::Again => has_begun = false,
            Piece::Lines(lines)
                if !has_begun && events(&lines).any(|it| (shape.has_token)(&it)) =>
            {
                has_begun = true;
                stream.note_first_token();
            }
            Piece::Lines(_) => {}
        }
    }
    Ok(())
}

/// The events of some lines: the data of server-sent events, or an object on each line.
fn events(lines: &[u8]) -> impl Iterator<Item = Value> {
    lines.split(|byte| *byte == b'\n').filter_map(|line| {
        let data = line.strip_prefix(b"data:").unwrap_or(line).trim_ascii();
        serde_json::from_slice(data).ok().filter(Value::is_object)
    })
}

fn together(body: &[u8], shape: &EventShape) -> Result<Value, Error> {
    let mut whole = Value::Object(Map::new());
    for event in events(body) {
        if event["error"].is_object() || event["error"].is_string() {
            return Ok(event);
        }
        (shape.add)(&mut whole, event);
    }
    if (shape.is_whole)(&whole) {
        return Ok(whole);
    }
    let message = "the stream ended before the answer did";
    Err(Error::new(runner_plugin::ErrorCode::Transient, message))
}

/// Puts the members of an object over those of another: texts under the keys `appended` are continued, lists too
/// (by `index`, where their items have one), objects likewise; anything else takes the place of what was there.
pub fn lay_over(base: &mut Value, more: Value, appended: &[&str]) {
    let Value::Object(more) = more else { return };
    if !base.is_object() {
        *base = Value::Object(Map::new());
    }
    for (key, value) in more {
        let slot = &mut base[key.as_str()];
        match (&mut *slot, value) {
            (_, Value::Null) => {}
            (Value::String(text), Value::String(more)) if appended.contains(&key.as_str()) => {
                text.push_str(&more);
            }
            (Value::Array(list), Value::Array(more)) => continue_list(list, more, appended),
            (_, Value::Array(more)) => {
                let mut list = Vec::new();
                continue_list(&mut list, more, appended);
                *slot = Value::Array(list);
            }
            (Value::Object(_), more @ Value::Object(_)) => lay_over(slot, more, appended),
            (_, value) => *slot = value,
        }
    }
}

fn continue_list(list: &mut Vec<Value>, more: Vec<Value>, appended: &[&str]) {
    for item in more {
        let at = item["index"].as_u64();
        let known = list
            .iter_mut()
            .find(|it| at.is_some() && it["index"].as_u64() == at);
        match known {
            Some(known) => lay_over(known, item, appended),
            None => list.push(item),
        }
    }
}

/// Whether a text is there and has a letter.
pub fn has_text(value: &Value) -> bool {
    value.as_str().is_some_and(|text| !text.is_empty())
}

/// Whether a list is there and has an item.
pub fn has_items(value: &Value) -> bool {
    value.as_array().is_some_and(|list| !list.is_empty())
}
