//! The body of a request, in the shape that the endpoint's container takes.

use plugin_model_api::knobs::Knobs;
use plugin_model_api::messages;
use runner_plugin::Request;
use runner_plugin::json::{Map, Value, json};

/// What promptfoo sends where nobody says otherwise.
const MAX_TOKENS: u64 = 1024;
const TEMPERATURE: f64 = 0.7;
const TOP_P: f64 = 1.0;

/// A shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    OpenAi,
    Llama,
    HuggingFace,
    JumpStart,
    Custom,
}

impl Kind {
    /// Their names.
    pub(crate) const NAMES: [&'static str; 5] =
        ["openai", "llama", "huggingface", "jumpstart", "custom"];

    /// The one of this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "openai" => Self::OpenAi,
            "llama" => Self::Llama,
            "huggingface" => Self::HuggingFace,
            "jumpstart" => Self::JumpStart,
            "custom" => Self::Custom,
            _ => return None,
        })
    }
}

/// Builds the body.
pub(crate) fn of(kind: Kind, knobs: &Knobs, request: &Request) -> Value {
    let own = |key: &str| knobs.own.get(key).filter(|value| !value.is_null()).cloned();
    let stop = (!request.stop.is_empty()).then(|| json!(request.stop));
    let stop = stop.or_else(|| own("stopSequences"));
    let stop = stop.filter(|stop| stop.as_array().is_none_or(|list| !list.is_empty()));
    let temperature = request.temperature.map(|it| json!(it));
    let temperature = temperature.or_else(|| own("temperature"));
    let temperature = temperature.unwrap_or(json!(TEMPERATURE));
    let most = request.max_tokens.map(|most| json!(most));
    let most = most
        .or_else(|| own("maxTokens"))
        .unwrap_or(json!(MAX_TOKENS));
    let top_p = request.top_p.map(|top_p| json!(top_p));
    let top_p = top_p.or_else(|| own("topP")).unwrap_or(json!(TOP_P));
    let samples = temperature.as_f64().is_some_and(|it| it > 0.0);
    let said = said(request);
    let mut parameters = json!({ "temperature": temperature, "top_p": top_p });
    let mut body = match kind {
        Kind::Custom => return with(custom(request), &knobs.body),
        Kind::OpenAi => {
            let key = if said.is_array() {
                "messages"
            } else {
                "prompt"
            };
            parameters[key] = said;
            parameters["max_tokens"] = most;
            parameters
        }
        Kind::Llama | Kind::HuggingFace | Kind::JumpStart => {
            parameters["max_new_tokens"] = most;
            if kind != Kind::Llama {
                parameters["do_sample"] = json!(samples);
            }
            if kind == Kind::HuggingFace {
                parameters["return_full_text"] = json!(false);
            }
            let inputs = if kind == Kind::Llama {
                said
            } else {
                json!(request.prompt)
            };
            json!({ "inputs": inputs, "parameters": parameters })
        }
    };
    match (kind, stop) {
        (Kind::OpenAi, Some(stop)) => body["stop"] = stop,
        (Kind::Llama, Some(stop)) => body["parameters"]["stop"] = stop,
        _ => {}
    }
    with(body, &knobs.body)
}

/// The messages where the prompt is written as such, else its text.
fn said(request: &Request) -> Value {
    let is_list = serde_json::from_str::<Vec<Value>>(&request.prompt).is_ok();
    let messages = messages::of(&request.messages, "system").ok();
    messages
        .filter(|_| is_list)
        .unwrap_or_else(|| json!(request.prompt))
}

/// The prompt's own JSON, else its text.
fn custom(request: &Request) -> Value {
    serde_json::from_str(&request.prompt).unwrap_or_else(|_| json!({ "prompt": request.prompt }))
}

/// Keys of the config that mean nothing here are the endpoint's.
fn with(mut body: Value, more: &Map<String, Value>) -> Value {
    if let Value::Object(fields) = &mut body {
        fields.extend(more.clone());
    }
    body
}
