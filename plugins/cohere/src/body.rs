//! The body of a chat. Messages have OpenAI's shape; sampling has names of Cohere's own.
//!
//! What configs of version 1 say is put where version 2 has it: the preamble is the system's
//! message, the history stands before the prompt's messages, a document's fields are its `data`.

use plugin_model_api::body::sampling;
use plugin_model_api::knobs::Knobs;
use plugin_model_api::messages;
use runner_plugin::json::{self, Map, Value, json};
use runner_plugin::{Error, Request};

/// Names of other APIs.
const ALIASES: [(&str, &str); 3] = [("stop", "stop_sequences"), ("top_k", "k"), ("top_p", "p")];

/// A key, what it may be all the same, and why it may be nothing else.
type Gone = (&'static str, fn(&Value) -> bool, &'static str);

/// Keys of version 1 that version 2 has nothing for.
const GONE: [Gone; 3] = [
    (
        "connectors",
        |value| value.as_array().is_some_and(Vec::is_empty),
        "is not supported: version 2 of the API has no connectors; describe a tool instead",
    ),
    (
        "search_queries_only",
        |value| value == &Value::Bool(false),
        "is not supported: version 2 of the API writes no search queries; describe a tool instead",
    ),
    (
        "showSearchQueries",
        |value| value == &Value::Bool(false),
        "is not supported: version 2 of the API writes no search queries",
    ),
];

/// What is said of a config that wants prompts shortened. It is no mistake: version 2 shortens none, and one
/// that is too long is an error instead of another question than was asked.
pub(crate) fn warning(config: &Map<String, Value>) -> Option<&'static str> {
    let wanted = config.get("prompt_truncation")?;
    let is_idle = wanted.is_null() || wanted == "OFF";
    (!is_idle).then_some(
        "`prompt_truncation` does nothing: version 2 of the API does not shorten prompts, and one that is too long is an error",
    )
}

/// The keys of version 1 that cannot be honoured.
pub(crate) fn problems(config: &Value) -> Vec<(String, String)> {
    let meant = |(key, is_idle, _): &&Gone| {
        config
            .get(*key)
            .is_some_and(|value| !value.is_null() && !is_idle(value))
    };
    GONE.iter()
        .filter(meant)
        .map(|(key, _, why)| (format!("/{key}"), format!("`{key}` {why}")))
        .collect()
}

/// Builds the body.
pub(crate) fn of(knobs: &Knobs, model: &str, request: &Request) -> Result<Value, Error> {
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(model));
    body.insert("messages".to_owned(), said(knobs, request)?);
    body.extend(knobs.body.clone());
    sampling(&mut body, "seed", "max_tokens", request);
    for (theirs, own) in ALIASES {
        if let Some(value) = body.remove(theirs) {
            let list = own == "stop_sequences" && value.is_string();
            body.insert(own.to_owned(), if list { json!([value]) } else { value });
        }
    }
    documents(&mut body);
    if let Some(schema) = &request.response_schema_json {
        let schema: Value = json::read("response schema", schema)?;
        let format = json!({ "type": "json_object", "json_schema": schema });
        body.insert("response_format".to_owned(), format);
    }
    if let Some(tools) = &request.tools_json {
        body.insert("tools".to_owned(), json::read("tools", tools)?);
    }
    Ok(Value::Object(body))
}

/// What stands before the prompt, and the prompt's messages.
fn said(knobs: &Knobs, request: &Request) -> Result<Value, Error> {
    let mut list = Vec::new();
    if let Some(preamble) = knobs.text("preamble").or(knobs.text("preamble_override")) {
        list.push(json!({ "role": "system", "content": preamble }));
    }
    let history = knobs
        .own
        .get("chat_history")
        .or(knobs.own.get("chatHistory"));
    for entry in history.and_then(Value::as_array).into_iter().flatten() {
        list.push(past(entry)?);
    }
    if let Value::Array(mut messages) = messages::of(&request.messages, "system")? {
        for message in &mut messages {
            // Here content that is not there is left out.
            if let Some(fields) = message.as_object_mut()
                && fields.get("content").is_some_and(Value::is_null)
            {
                fields.remove("content");
            }
        }
        list.append(&mut messages);
    }
    Ok(Value::Array(list))
}

/// An entry of a history as version 1 writes it.
fn past(entry: &Value) -> Result<Value, Error> {
    let (Some(role), Some(text)) = (entry["role"].as_str(), entry["message"].as_str()) else {
        return Err(Error::invalid_request(
            "an entry of `chat_history` has no `role` or no `message`",
        ));
    };
    let role = match role.to_ascii_lowercase() {
        role if role == "chatbot" => "assistant".to_owned(),
        role => role,
    };
    Ok(json!({ "role": role, "content": text }))
}

/// Brings documents into the form of version 2, and what they say of citations to its place.
fn documents(body: &mut Map<String, Value>) {
    let mut citations = None;
    if let Some(Value::Array(documents)) = body.get_mut("documents") {
        for document in documents {
            let Value::Object(fields) = document else {
                continue;
            };
            let quality = fields.remove("citation_quality");
            citations = citations.or(quality);
            let id = fields.remove("id");
            let data = match fields.remove("data") {
                Some(Value::String(text)) => json!({ "text": text }),
                Some(data) => data,
                None => Value::Object(std::mem::take(fields)),
            };
            *document = match id {
                Some(id) => json!({ "id": id, "data": data }),
                None => json!({ "data": data }),
            };
        }
    }
    if let Some(mode) = citations.as_ref().and_then(Value::as_str) {
        let mode = json!({ "mode": mode.to_ascii_uppercase() });
        body.entry("citation_options").or_insert(mode);
    }
}
