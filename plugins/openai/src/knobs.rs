//! What the config says: which model, where, with which headers; and what is left for the body.
//!
//! A few keys are this plugin's or the host's and never reach the API ([`OURS`]). All others
//! do. Options of a single request come last and win, in the order that the contract gives
//! them: config, then the request's `options-json`, then its own fields (see `body`).

use runner_plugin::json::{self, Map, Value};
use runner_plugin::{Error, Request, Target};

/// Where the API lives if nobody says otherwise.
const BASE_URL: &str = "https://api.openai.com/v1";

/// Keys that are not for the API: those read here, those that the host acts on, and those by
/// which promptfoo steers itself.
const OURS: [&str; 16] = [
    "apiBaseUrl",
    "apiHost",
    "apiKey",
    "apiKeyEnvar",
    "apiKeyRequired",
    "basePath",
    "cost",
    "functionToolCallbacks",
    "headers",
    "inputCost",
    "maxRetries",
    "omitDefaults",
    "organization",
    "outputCost",
    "passthrough",
    "showThinking",
];

/// Keys that would change how the answer arrives or what it means, and cannot be honoured.
const REFUSED: [(&str, &str); 3] = [
    (
        "apiHost",
        "is not supported; write the whole address as `apiBaseUrl`",
    ),
    (
        "functionToolCallbacks",
        "is not supported; tools are not called, their calls are the answer",
    ),
    ("stream", "is not supported; the answer arrives as a whole"),
];

/// A config, read for one request.
#[derive(Debug)]
pub(crate) struct Knobs {
    /// The model that is asked.
    pub(crate) model: String,
    /// The API's address without a slash at the end.
    pub(crate) base_url: String,
    /// Headers beside those that every request has.
    pub(crate) headers: Vec<(String, String)>,
    /// Whether the host adds a key.
    pub(crate) needs_key: bool,
    /// What goes into the body as it is.
    pub(crate) body: Map<String, Value>,
}

impl Knobs {
    /// Reads the target's config and lays the request's options over it.
    pub(crate) fn read(target: &Target, request: &Request) -> Result<Self, Error> {
        let mut config: Map<String, Value> = target.config()?;
        if let Some(options) = &request.options_json {
            config.extend(json::read::<Map<String, Value>>("options", options)?);
        }
        let text = |key: &str| config.get(key).and_then(Value::as_str);
        let mut headers: Vec<(String, String)> = Vec::new();
        if let Some(organization) = text("organization") {
            headers.push(("OpenAI-Organization".to_owned(), organization.to_owned()));
        }
        for (name, value) in config
            .get("headers")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            let value = value
                .as_str()
                .ok_or_else(|| Error::invalid_request(format!("header `{name}` is not a text")))?;
            headers.push((name.clone(), value.to_owned()));
        }
        let base_url = text("apiBaseUrl")
            .unwrap_or(BASE_URL)
            .trim_end_matches('/')
            .to_owned();
        let needs_key = config.get("apiKeyRequired") != Some(&Value::Bool(false));
        let passthrough = config
            .get("passthrough")
            .and_then(Value::as_object)
            .cloned();
        let mut body: Map<String, Value> = config
            .into_iter()
            .filter(|(key, _)| !OURS.contains(&key.as_str()))
            .collect();
        body.extend(passthrough.unwrap_or_default());
        Ok(Self {
            model: model(target, &mut body)?,
            base_url,
            headers,
            needs_key,
            body,
        })
    }
}

/// The model: `model` in the config, else what the id says after `openai:` or `openai:chat:`.
fn model(target: &Target, body: &mut Map<String, Value>) -> Result<String, Error> {
    if let Some(Value::String(model)) = body.remove("model") {
        return Ok(model);
    }
    let name = match target.name.as_str() {
        "chat" => "",
        name => name.strip_prefix("chat:").unwrap_or(name),
    };
    for kind in [
        "assistant",
        "completion",
        "embedding",
        "embeddings",
        "image",
        "moderation",
        "realtime",
        "responses",
    ] {
        if name
            .strip_prefix(kind)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
        {
            let id = &target.id;
            return Err(Error::unsupported(format!(
                "`{id}` is not supported; chat completions are: `openai:chat:MODEL`"
            )));
        }
    }
    if name.is_empty() {
        let id = &target.id;
        return Err(Error::invalid_request(format!(
            "`{id}` names no model; write `openai:MODEL`"
        )));
    }
    Ok(name.to_owned())
}

/// What a schema cannot say about a config.
pub(crate) fn problems(config: &Value) -> Vec<(String, String)> {
    REFUSED
        .iter()
        .filter(|(key, _)| {
            config
                .get(key)
                .is_some_and(|value| value != &Value::Bool(false))
        })
        .map(|(key, why)| (format!("/{key}"), format!("`{key}` {why}")))
        .collect()
}
