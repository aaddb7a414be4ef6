//! A question to a grader: as it is written, and as it is asked.
//!
//! A prompt is a text or JSON. In JSON each string is filled in by itself, so that a quote in
//! an answer can't break the chat, and keys stay as they are. A list of messages becomes the
//! request's messages; any other prompt is what one user says.

use runner_plugin::json::{Map, Value, json};
use runner_plugin::{Error, Message, Part, Request, Role};

use crate::template::{Filling, Names, render};

/// A question with its templates.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Prompt {
    text: Value,
    filling: Filling,
}

/// A question as it will be asked.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Rendered {
    /// The whole of it as text: a chat as compact JSON.
    pub(crate) prompt: String,
    messages: Vec<Message>,
}

impl Prompt {
    /// One of ours: what the model is told beforehand, and what it is asked.
    pub(crate) fn own(system: &str, user: &str) -> Self {
        let text = json!([
            { "role": "system", "content": system },
            { "role": "user", "content": user },
        ]);
        Self {
            text,
            filling: Filling::Guarded,
        }
    }

    /// The user's: a text, a text of JSON, or a chat.
    pub(crate) fn written(value: &Value) -> Result<Self, Error> {
        let text = match value {
            Value::String(text) if text.starts_with("file://") => {
                return Err(Error::invalid_request(format!(
                    "`rubricPrompt` names a file that was not loaded: {text}"
                )));
            }
            Value::String(text) => match serde_json::from_str(text) {
                Ok(json @ (Value::Array(_) | Value::Object(_))) => json,
                _ => value.clone(),
            },
            Value::Array(_) | Value::Object(_) => value.clone(),
            other => {
                return Err(Error::invalid_request(format!(
                    "`rubricPrompt` takes a text or a list of messages, not {other}"
                )));
            }
        };
        Ok(Self {
            text,
            filling: Filling::Verbatim,
        })
    }

    /// Fills in the names.
    pub(crate) fn render(&self, names: &Names) -> Result<Rendered, Error> {
        let filled = fill(&self.text, names, self.filling)?;
        let prompt = match &filled {
            Value::String(text) => text.clone(),
            json => json.to_string(),
        };
        let messages = chat(&filled).unwrap_or_else(|| vec![Message::user(prompt.clone())]);
        Ok(Rendered { prompt, messages })
    }
}

impl Rendered {
    pub(crate) fn request(&self) -> Request {
        let mut request = Request::new(self.prompt.clone());
        request.messages.clone_from(&self.messages);
        request
    }

    /// The question, told apart from its like: equal requests are answered once and for all by the
    /// run's cache, and several opinions were asked for. The first is left as it is, so that
    /// it shares its answer with a question that is asked once.
    pub(crate) fn attempts(&self, count: usize) -> Vec<Self> {
        let attempt = |index: usize| {
            let mut same = self.clone();
            if index > 0 {
                let note = format!("\n\n(Independent attempt {} of {count}.)", index + 1);
                same.prompt.push_str(&note);
                if let Some(last) = same.messages.last_mut() {
                    last.content.push(Part::Text(note));
                }
            }
            same
        };
        (0..count).map(attempt).collect()
    }
}

/// Fills in every string, but no keys.
fn fill(value: &Value, names: &Names, filling: Filling) -> Result<Value, Error> {
    Ok(match value {
        Value::String(text) => Value::String(render(text, names, filling)?),
        Value::Array(items) => {
            let items = items.iter().map(|item| fill(item, names, filling));
            Value::Array(items.collect::<Result<_, _>>()?)
        }
        Value::Object(fields) => {
            let fields = fields
                .iter()
                .map(|(key, value)| Ok((key.clone(), fill(value, names, filling)?)));
            Value::Object(fields.collect::<Result<Map<_, _>, Error>>()?)
        }
        other => other.clone(),
    })
}

/// The messages, if that is what the JSON is.
fn chat(json: &Value) -> Option<Vec<Message>> {
    let items = json.as_array().filter(|items| !items.is_empty())?;
    items.iter().map(message).collect()
}

fn message(json: &Value) -> Option<Message> {
    let role = match json.get("role")?.as_str()? {
        "system" => Role::System,
        "developer" => Role::Developer,
        "assistant" => Role::Assistant,
        _ => Role::User,
    };
    let mut message = Message::new(role, "");
    message.content = match json.get("content")? {
        Value::String(text) => vec![Part::Text(text.clone())],
        Value::Array(parts) => parts.iter().map(part).collect(),
        other => vec![Part::Text(other.to_string())],
    };
    Some(message)
}

fn part(json: &Value) -> Part {
    let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
    let known = match json.get("type").and_then(Value::as_str) {
        Some("text" | "input_text") => text(json.get("text")).map(Part::Text),
        Some("image_url") if json.pointer("/image_url/detail").is_none() => {
            text(json.pointer("/image_url/url")).map(Part::Url)
        }
        _ => json.as_str().map(|text| Part::Text(text.to_owned())),
    };
    known.unwrap_or_else(|| Part::Other(json.to_string()))
}
