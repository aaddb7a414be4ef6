//! What a provider's config says: where the API is, with which headers and key; and what is
//! left for the body of a request.
//!
//! A few keys are the plugin's or the host's and never reach the API ([`OURS`]). All others
//! do. Options of a single request come last and win, in the order that the contract gives
//! them: config, then the request's `options-json`, then its own fields, which are the
//! business of whoever writes the body.

use std::fmt::Write as _;
use std::time::Duration;

use runner_plugin::json::{self, Map, Value};
use runner_plugin::{Error, Request, Target, http};

/// Where the host lists wanted credentials that have no value and may be missing.
const WITHOUT: &str = "$without";

/// Where the API is: what a user agrees to for a whole run, so that no request says another.
const ADDRESS: &str = "apiBaseUrl";

/// Keys that are not for any API: those read here, those that the host acts on, and those by
/// which promptfoo steers itself.
pub const OURS: [&str; 27] = [
    WITHOUT,
    ADDRESS,
    "apiHost",
    "apiKey",
    "apiKeyEnvar",
    "apiKeyRequired",
    "basePath",
    "cache",
    "cost",
    "delay",
    "functionToolCallbacks",
    "headers",
    "includeDebugMetrics",
    "inputCost",
    "label",
    "maxConcurrency",
    "maxRetries",
    "max_retries",
    "mcp",
    "omitDefaults",
    "outputCost",
    "passthrough",
    "retries",
    "showThinking",
    // See `Knobs::streams`.
    "stream",
    "timeout",
    "timeoutMs",
];

/// A key that cannot be honoured, and what to do instead.
pub type Refused = (&'static str, &'static str);

/// A bare host name instead of an address.
pub const API_HOST: Refused = (
    "apiHost",
    "is not supported; write the whole address as `apiBaseUrl`",
);

/// Tools that the runner would call.
pub const CALLBACKS: Refused = (
    "functionToolCallbacks",
    "is not supported; tools are not called, their calls are the answer",
);

/// Servers of tools that the runner would start.
pub const MCP: Refused = (
    "mcp",
    "is not supported; servers of tools are not started, a provider of your own (`file://agent.mjs`) can use them",
);

/// What most providers refuse.
pub const REFUSED: [Refused; 3] = [API_HOST, CALLBACKS, MCP];

/// An API as far as its config goes.
#[derive(Debug, Clone, Copy)]
pub struct Api {
    /// Its address if the config names none, without a slash at the end.
    pub base_url: &'static str,
    /// The name of its key, as the plugin's wants have it; `None` where it takes none.
    pub key: Option<&'static str>,
    /// Keys beyond [`OURS`] that are not for the body.
    pub ours: &'static [&'static str],
}

/// A config, read for one request.
#[derive(Debug, Clone)]
pub struct Knobs {
    /// The API's address without a slash at the end.
    pub base_url: String,
    /// Headers beside those that every request has.
    pub headers: Vec<(String, String)>,
    /// What goes into the body as it is.
    pub body: Map<String, Value>,
    /// The keys that are the plugin's.
    pub own: Map<String, Value>,
    /// The key that the host adds, if any.
    pub key: Option<&'static str>,
    /// Upper bound of the exchange.
    timeout: Option<Duration>,
}

impl Knobs {
    /// Reads the target's config and lays the request's options over it.
    ///
    /// # Errors
    /// `invalid-request` where a key has another type than it must have.
    pub fn read(api: &Api, target: &Target, request: &Request) -> Result<Self, Error> {
        let mut config: Map<String, Value> = target.config()?;
        if let Some(options) = &request.options_json {
            let options: Map<String, Value> = json::read("options", options)?;
            refuse_address(&options, ADDRESS)?;
            config.extend(options);
        }
        let mut knobs = Self::of(api, config)?;
        knobs.timeout = request.timeout_ms.map(Duration::from_millis);
        Ok(knobs)
    }

    /// As [`Self::read`], of an API whose address has a key of its own, beside [`Api::ours`].
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn read_at(
        api: &Api,
        address: &str,
        target: &Target,
        request: &Request,
    ) -> Result<Self, Error> {
        if let Some(options) = &request.options_json {
            refuse_address(&json::read("options", options)?, address)?;
        }
        Self::read(api, target, request)
    }

    /// Reads the target's config alone, where there is no request.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn read_target(api: &Api, target: &Target) -> Result<Self, Error> {
        Self::of(api, target.config()?)
    }

    fn of(api: &Api, config: Map<String, Value>) -> Result<Self, Error> {
        let is_ours = |key: &str| OURS.contains(&key) || api.ours.contains(&key);
        let (own, mut body): (Map<_, _>, Map<_, _>) =
            config.into_iter().partition(|(key, _)| is_ours(key));
        if let Some(Value::Object(passthrough)) = own.get("passthrough") {
            body.extend(passthrough.clone());
        }
        let base_url = own
            .get(ADDRESS)
            .and_then(Value::as_str)
            .unwrap_or(api.base_url)
            .trim_end_matches('/')
            .to_owned();
        let keyless = own.get("apiKeyRequired") == Some(&Value::Bool(false));
        let missing = own.get(WITHOUT).and_then(Value::as_array);
        let is_missing = |key: &str| missing.is_some_and(|names| names.iter().any(|n| n == key));
        let key = api.key.filter(|key| !keyless && !is_missing(key));
        Ok(Self {
            base_url,
            headers: headers(&own)?,
            body,
            key,
            own,
            timeout: None,
        })
    }

    /// A key of the plugin's, where it is a text.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.own.get(key).and_then(Value::as_str)
    }

    /// Whether the answer is to be streamed, by an API that can.
    pub fn streams(&self) -> bool {
        self.own.get("stream") == Some(&Value::Bool(true))
    }

    /// Checks whether a target's config and id name a model, for the check at load.
    ///
    /// # Errors
    /// `invalid-request` where they don't, or where the config can't be read.
    pub fn check_model(api: &Api, target: &Target, named: &str) -> Result<(), Error> {
        Self::read_target(api, target)?
            .model(target, named)
            .map(drop)
    }

    /// Takes the model: `model` in the config, else `named`, which is what the id says.
    ///
    /// # Errors
    /// `invalid-request` where neither names one.
    pub fn model(&mut self, target: &Target, named: &str) -> Result<String, Error> {
        if let Some(Value::String(model)) = self.body.remove("model") {
            return Ok(model);
        }
        if named.is_empty() {
            let id = &target.id;
            let prefix = id.split(':').next().unwrap_or(id);
            return Err(Error::invalid_request(format!(
                "`{id}` names no model; write `{prefix}:MODEL`"
            )));
        }
        Ok(named.to_owned())
    }

    /// Takes a key out of the body and makes it a header, in the place of one that has this name.
    pub fn header_from(&mut self, key: &str, name: &str) {
        let text = match self.body.remove(key) {
            None | Some(Value::Null) => return,
            Some(Value::String(text)) => text,
            Some(value) => ascii(&value),
        };
        self.headers
            .retain(|(written, _)| !written.eq_ignore_ascii_case(name));
        self.headers.push((name.to_owned(), text));
    }

    /// A request to `path` below the API's address, with headers, key and time limit.
    /// `bucket` is what shares a rate limit, usually the model.
    pub fn post(&self, path: &str, body: &Value, bucket: &str) -> http::Request {
        let mut exchange = http::post(format!("{}{path}", self.base_url)).json(body);
        for (name, value) in &self.headers {
            exchange = exchange.header(name, value);
        }
        if let Some(key) = self.key {
            exchange = exchange.credential(key);
        }
        if let Some(timeout) = self.timeout {
            exchange = exchange.timeout(timeout);
        }
        exchange.bucket(bucket)
    }
}

/// Refuses options of one request that say where it goes.
fn refuse_address(options: &Map<String, Value>, key: &str) -> Result<(), Error> {
    if options.contains_key(key) {
        return Err(Error::invalid_request(format!(
            "`{key}` says where requests go; it stands in the provider's `config`, not in options of a test or prompt"
        )));
    }
    Ok(())
}

fn headers(config: &Map<String, Value>) -> Result<Vec<(String, String)>, Error> {
    let written = config.get("headers").and_then(Value::as_object);
    written
        .into_iter()
        .flatten()
        .map(|(name, value)| {
            let text = value
                .as_str()
                .ok_or_else(|| Error::invalid_request(format!("header `{name}` is not a text")))?;
            Ok((name.clone(), text.to_owned()))
        })
        .collect()
}

/// The JSON of a value with nothing in it that a header can't hold.
fn ascii(value: &Value) -> String {
    let mut text = String::new();
    for sign in value.to_string().chars() {
        if matches!(sign, ' '..='~') {
            text.push(sign);
            continue;
        }
        for unit in sign.encode_utf16(&mut [0; 2]) {
            write!(text, "\\u{unit:04x}").expect("a text grows");
        }
    }
    text
}

/// The first part of a target's name if it is one of `kinds`, and the rest:
/// `chat:gpt-4o` is `chat` and `gpt-4o`, `gpt-4o` is nothing and `gpt-4o`.
pub fn kind<'a>(name: &'a str, kinds: &[&'static str]) -> (Option<&'static str>, &'a str) {
    let (first, rest) = name.split_once(':').unwrap_or((name, ""));
    match kinds.iter().find(|kind| **kind == first) {
        Some(kind) => (Some(kind), rest),
        None => (None, name),
    }
}

/// What a schema cannot say about a config: a JSON Pointer and a message for every key in it
/// that is refused. `false` counts as not there.
pub fn problems(config: &Value, refused: &[Refused]) -> Vec<(String, String)> {
    refused
        .iter()
        .filter(|(key, _)| {
            config
                .get(key)
                .is_some_and(|value| value != &Value::Bool(false))
        })
        .map(|(key, why)| (format!("/{key}"), format!("`{key}` {why}")))
        .collect()
}
