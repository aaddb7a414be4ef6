//! The body of a request to Converse: the config's keys, the messages, and over both what this one
//! request sets.
//!
//! Converse has few keys of its own, the same for every model. promptfoo's configs have those of
//! each family of models instead, under names and in objects of their own; those for the length of
//! an answer and for sampling are read here wherever they stand. What is left is the model's own and
//! goes into `additionalModelRequestFields`, so that an option which a model learns tomorrow works.

use plugin_model_api::knobs::Knobs;
use runner_plugin::json::{self, Map, Value, json};
use runner_plugin::{Error, Request};

use crate::messages;

/// Keys of the body that are sent as they are.
const OWN: [&str; 8] = [
    "additionalModelResponseFieldPaths",
    "guardrailConfig",
    "outputConfig",
    "performanceConfig",
    "promptVariables",
    "requestMetadata",
    "serviceTier",
    "toolConfig",
];

/// The objects that hold the next ones, at the top or within one of these.
const GROUPS: [&str; 3] = ["inferenceConfig", "interfaceConfig", "textGenerationConfig"];

/// Keys of `inferenceConfig`, each with the names that families of models have for it.
const INFERENCE: [(&str, &[&str]); 4] = [
    (
        "maxTokens",
        &[
            "max_tokens",
            "max_new_tokens",
            "max_gen_len",
            "max_tokens_to_sample",
            "max_completion_tokens",
            "maxTokenCount",
        ],
    ),
    ("temperature", &[]),
    ("topP", &["top_p", "p"]),
    ("stopSequences", &["stop", "stop_sequences"]),
];

/// Builds the body.
pub(crate) fn of(knobs: &Knobs, system: Option<String>, request: &Request) -> Result<Value, Error> {
    let (said, messages) = messages::of(&request.messages)?;
    let mut body = Map::new();
    body.insert("messages".to_owned(), messages);
    // What the prompt itself says to the model stands nearer to it than the config.
    let system = said.or_else(|| system.map(|text| json!([{ "text": text }])));
    body.extend(system.map(|system| ("system".to_owned(), system)));

    let mut rest = knobs.body.clone();
    let mut inference = Map::new();
    for group in GROUPS {
        if let Some(Value::Object(mut within)) = rest.remove(group) {
            take_inference(&mut within, &mut inference);
            rest.extend(within);
        }
    }
    take_inference(&mut rest, &mut inference);
    options(&mut inference, request);
    if let Some(one @ Value::String(_)) = inference.get("stopSequences") {
        let list = json!([one]);
        inference.insert("stopSequences".to_owned(), list);
    }
    if !inference.is_empty() {
        body.insert("inferenceConfig".to_owned(), Value::Object(inference));
    }
    for key in OWN {
        body.extend(rest.remove(key).map(|value| (key.to_owned(), value)));
    }
    guardrail(&mut rest, &mut body);
    tools(&mut rest, &mut body, request)?;
    if let Some(schema) = &request.response_schema_json {
        let schema: Value = json::read("response schema", schema)?;
        body.insert("outputConfig".to_owned(), bound(&schema));
    }
    if let Some(Value::Object(fields)) = rest.remove("additionalModelRequestFields") {
        rest.extend(fields);
    }
    if !rest.is_empty() {
        let key = "additionalModelRequestFields".to_owned();
        body.insert(key, Value::Object(rest));
    }
    Ok(Value::Object(body))
}

/// Moves what Converse has a name for.
fn take_inference(from: &mut Map<String, Value>, to: &mut Map<String, Value>) {
    for (own, others) in INFERENCE {
        for name in others.iter().copied().chain([own]) {
            if let Some(value) = from.remove(name).filter(|value| !value.is_null()) {
                to.insert(own.to_owned(), value);
            }
        }
    }
}

/// Adds what the request sets for itself.
fn options(inference: &mut Map<String, Value>, request: &Request) {
    let stop = (!request.stop.is_empty()).then(|| json!(request.stop));
    let options = [
        ("temperature", request.temperature.map(|t| json!(t))),
        ("topP", request.top_p.map(|p| json!(p))),
        ("maxTokens", request.max_tokens.map(|limit| json!(limit))),
        ("stopSequences", stop),
    ];
    for (key, value) in options {
        inference.extend(value.map(|value| (key.to_owned(), value)));
    }
}

/// An answer that is bound to a JSON Schema, which the API wants as a text.
fn bound(schema: &Value) -> Value {
    let structure = json!({ "jsonSchema": { "name": "answer", "schema": schema.to_string() } });
    json!({ "textFormat": { "type": "json_schema", "structure": structure } })
}

/// Adds a guardrail, which promptfoo names by keys at the top.
fn guardrail(rest: &mut Map<String, Value>, body: &mut Map<String, Value>) {
    let version = rest.remove("guardrailVersion");
    let trace = rest.remove("trace");
    let Some(identifier) = rest.remove("guardrailIdentifier") else {
        return;
    };
    let version = version.map_or_else(|| "DRAFT".to_owned(), |version| text(&version));
    let mut config = json!({ "guardrailIdentifier": identifier, "guardrailVersion": version });
    match trace {
        Some(Value::Bool(true)) => config["trace"] = json!("enabled"),
        Some(Value::String(trace)) => config["trace"] = json!(trace.to_ascii_lowercase()),
        _ => {}
    }
    body.insert("guardrailConfig".to_owned(), config);
}

fn text(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

/// Tools and the choice among them, in the form of Converse.
fn tools(
    rest: &mut Map<String, Value>,
    body: &mut Map<String, Value>,
    request: &Request,
) -> Result<(), Error> {
    let written = rest.remove("tools");
    let tools = match &request.tools_json {
        Some(tools) => Some(json::read("tools", tools)?),
        None => written,
    };
    let choice = rest.remove("tool_choice").or(rest.remove("toolChoice"));
    let Some(Value::Array(tools)) = tools else {
        return Ok(());
    };
    if tools.is_empty() {
        return Ok(());
    }
    let config = body.entry("toolConfig").or_insert_with(|| json!({}));
    config["tools"] = tools.iter().map(own_tool).collect();
    if let Some(choice) = choice.as_ref().and_then(own_choice) {
        config["toolChoice"] = choice;
    }
    Ok(())
}

/// A function as Anthropic or OpenAI has it; others as they are.
fn own_tool(tool: &Value) -> Value {
    let function = if tool["function"].is_object() {
        &tool["function"]
    } else {
        tool
    };
    let schema = ["input_schema", "parameters"]
        .iter()
        .find_map(|key| function.get(key));
    let is_function = function["name"].is_string() && tool.get("toolSpec").is_none();
    if !is_function {
        return tool.clone();
    }
    let nothing = json!({ "type": "object", "properties": {} });
    let mut spec = json!({ "name": function["name"] });
    if let Some(description) = function.get("description") {
        spec["description"] = description.clone();
    }
    spec["inputSchema"] = json!({ "json": schema.unwrap_or(&nothing) });
    json!({ "toolSpec": spec })
}

/// Likewise for the choice; none is to say nothing.
fn own_choice(choice: &Value) -> Option<Value> {
    let kind = choice.as_str().or(choice["type"].as_str());
    let name = choice.pointer("/function/name").or(choice.get("name"));
    match (kind, name) {
        (_, Some(name)) => Some(json!({ "tool": { "name": name } })),
        (Some("none"), _) => None,
        (Some("any" | "required"), _) => Some(json!({ "any": {} })),
        (Some(_), _) => Some(json!({ "auto": {} })),
        (None, None) => Some(choice.clone()),
    }
}
