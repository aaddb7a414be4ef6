//! The body of a request: the config's keys, the messages, and over both what this one request
//! sets.
//!
//! The API keeps what shapes the answer in `generationConfig`. A config may write those keys
//! there or at its top, as promptfoo has it, also by the names that other APIs have for them.

use runner_plugin::json::{self, Map, Value, json};
use runner_plugin::{Error, Request};

use super::messages;
use crate::knobs::Knobs;

/// Keys of `generationConfig`.
const GENERATION: [&str; 19] = [
    "candidateCount",
    "frequencyPenalty",
    "imageConfig",
    "logprobs",
    "maxOutputTokens",
    "mediaResolution",
    "presencePenalty",
    "responseJsonSchema",
    "responseLogprobs",
    "responseMimeType",
    "responseModalities",
    "responseSchema",
    "seed",
    "speechConfig",
    "stopSequences",
    "temperature",
    "thinkingConfig",
    "topK",
    "topP",
];

/// Names of other APIs for some of them.
const ALIASES: [(&str, &str); 7] = [
    ("max_tokens", "maxOutputTokens"),
    ("max_output_tokens", "maxOutputTokens"),
    ("top_p", "topP"),
    ("top_k", "topK"),
    ("stop", "stopSequences"),
    ("response_mime_type", "responseMimeType"),
    ("response_schema", "responseSchema"),
];

/// Builds the body.
///
/// # Errors
/// `invalid-request` where an option is no JSON.
pub fn of(knobs: &Knobs, request: &Request) -> Result<Value, Error> {
    let (system, contents) = messages::of(&request.messages)?;
    let mut body = Map::new();
    body.insert("contents".to_owned(), contents);
    let mut generation = Map::new();
    for (key, value) in &knobs.body {
        match (key.as_str(), value) {
            ("generationConfig", Value::Object(written)) => generation.extend(written.clone()),
            ("systemInstruction", Value::String(text)) => {
                body.insert(key.clone(), json!({ "parts": [{ "text": text }] }));
            }
            _ => match generation_key(key) {
                Some(own) => {
                    generation.insert(own.to_owned(), value.clone());
                }
                None => {
                    body.insert(key.clone(), value.clone());
                }
            },
        }
    }
    // What the prompt itself says to the model stands nearer to it than the config.
    if let Some(system) = system {
        body.insert("systemInstruction".to_owned(), system);
    }
    if let Some(one @ Value::String(_)) = generation.get("stopSequences") {
        let list = json!([one]);
        generation.insert("stopSequences".to_owned(), list);
    }
    options(&mut generation, request)?;
    let bound = ["responseSchema", "responseJsonSchema"];
    if bound.iter().any(|key| generation.contains_key(*key)) {
        generation
            .entry("responseMimeType")
            .or_insert_with(|| json!("application/json"));
    }
    if !generation.is_empty() {
        body.insert("generationConfig".to_owned(), Value::Object(generation));
    }
    if let Some(tools) = &request.tools_json {
        body.insert("tools".to_owned(), json::read("tools", tools)?);
    }
    match body.get_mut("tools") {
        Some(Value::Array(tools)) => *tools = own_tools(tools),
        Some(tool @ Value::Object(_)) => *tool = json!([tool.take()]),
        _ => {}
    }
    Ok(Value::Object(body))
}

fn generation_key(key: &str) -> Option<&'static str> {
    let alias = ALIASES.iter().find(|(alias, _)| *alias == key);
    let own = GENERATION.iter().find(|own| **own == key);
    alias.map(|(_, own)| *own).or(own.copied())
}

/// Adds what the request sets for itself.
fn options(generation: &mut Map<String, Value>, request: &Request) -> Result<(), Error> {
    let stop = (!request.stop.is_empty()).then(|| json!(request.stop));
    let options = [
        ("temperature", request.temperature.map(|t| json!(t))),
        ("topP", request.top_p.map(|p| json!(p))),
        (
            "maxOutputTokens",
            request.max_tokens.map(|limit| json!(limit)),
        ),
        ("seed", request.seed.map(|seed| json!(seed))),
        ("stopSequences", stop),
    ];
    for (key, value) in options {
        if let Some(value) = value {
            generation.insert(key.to_owned(), value);
        }
    }
    if let Some(schema) = &request.response_schema_json {
        generation.remove("responseSchema");
        let schema: Value = json::read("response schema", schema)?;
        generation.insert("responseJsonSchema".to_owned(), schema);
        let kind = json!("application/json");
        generation.insert("responseMimeType".to_owned(), kind);
    }
    Ok(())
}

/// Functions as OpenAI has them, gathered into one tool of Google's form; others as they are.
fn own_tools(tools: &[Value]) -> Vec<Value> {
    let is_function = |tool: &&Value| tool["type"] == "function" && tool["function"].is_object();
    let (functions, mut own): (Vec<&Value>, Vec<&Value>) = tools.iter().partition(is_function);
    let declarations: Vec<&Value> = functions.iter().map(|tool| &tool["function"]).collect();
    let gathered = json!({ "functionDeclarations": declarations });
    if !declarations.is_empty() {
        own.push(&gathered);
    }
    own.into_iter().cloned().collect()
}
