//! Templates in the config: `{{prompt}}`, the variables of `vars`, filters.
//!
//! What is filled in is a stranger's, so it never becomes structure by accident: a JSON body
//! is taken apart first and its strings are filled one by one, and what goes into an address is
//! encoded as it goes, unless the template says `safe`. Only a body that is no JSON before it is
//! filled is read after it.

use std::fmt::Write as _;

use minijinja::syntax::SyntaxConfig;
use minijinja::{AutoEscape, Environment, UndefinedBehavior};
use runner_plugin::Error;
use runner_plugin::json::{Map, Value, json};

/// Instructions of one template; loops over large variables stay far below.
const FUEL: u64 = 1_000_000;

/// The template that is an address.
const ADDRESS: &str = "url";

/// What templates see.
pub(crate) struct Filler<'a> {
    engine: Environment<'a>,
    vars: Map<String, Value>,
}

impl Filler<'_> {
    /// A filler of these variables.
    pub(crate) fn new(vars: Map<String, Value>) -> Self {
        let mut engine = Environment::new();
        let syntax = SyntaxConfig::builder().keep_trailing_newline(true).build();
        engine.set_syntax(syntax.expect("the default delimiters differ from each other"));
        engine.set_undefined_behavior(UndefinedBehavior::Chainable);
        engine.set_auto_escape_callback(|what| match what {
            ADDRESS => AutoEscape::Custom(ADDRESS.into()),
            _ => AutoEscape::None,
        });
        engine.set_formatter(|out, state, value| match state.auto_escape() {
            AutoEscape::Custom(_) if value.is_safe() => Ok(write!(out, "{value}")?),
            AutoEscape::Custom(_) => {
                Ok(out.write_str(&encoded(&value.to_string(), is_unreserved))?)
            }
            _ => minijinja::escape_formatter(out, state, value),
        });
        engine.set_fuel(Some(FUEL));
        engine.add_filter("dump", |value: minijinja::Value| {
            serde_json::to_string(&value).unwrap_or_default()
        });
        engine.add_filter("urlencode", |text: String| {
            minijinja::Value::from_safe_string(encoded(&text, is_unreserved))
        });
        Self { engine, vars }
    }

    /// Gives `prompt` another value.
    pub(crate) fn set_prompt(&mut self, prompt: Value) {
        self.vars.insert("prompt".to_owned(), prompt);
    }

    /// A text with its templates filled. `what` names it in errors.
    pub(crate) fn text(&self, what: &str, template: &str) -> Result<String, Error> {
        self.with(what, template, &self.vars)
    }

    fn with(&self, what: &str, template: &str, vars: &Map<String, Value>) -> Result<String, Error> {
        if !template.contains('{') {
            return Ok(template.to_owned());
        }
        let vars = minijinja::Value::from(minijinja::value::Serde(vars));
        self.engine
            .render_named_str(what, template, vars)
            .map_err(|error| {
                Error::invalid_request(format!(
                    "the template in `{what}` cannot be filled: {error}"
                ))
            })
    }

    /// An address with its templates filled. What is filled in stays one segment of the path or
    /// one value of the query; of the rest, what no address may hold is encoded.
    pub(crate) fn url(&self, template: &str) -> Result<String, Error> {
        let url = self.text(ADDRESS, template)?;
        // These can't be encoded: `%2e%2e` is the same segment.
        if upward(&url) > upward(template) {
            return Err(Error::invalid_request(
                "a variable puts `.` or `..` into the path of `url`, which would lead elsewhere",
            ));
        }
        Ok(encoded(url.trim(), |byte| {
            byte.is_ascii_graphic() && !b"\"<>\\^`{|}".contains(&byte)
        }))
    }

    /// A JSON value with the templates in its strings filled. A string that becomes a JSON
    /// object, array or string is one: that is how a chat goes into a body.
    pub(crate) fn value(&self, what: &str, value: &Value) -> Result<Value, Error> {
        Ok(match value {
            Value::String(template) => {
                let text = self.text(what, template)?;
                let looks_like_json = text.trim_start().starts_with(['{', '[', '"']);
                let read = looks_like_json.then(|| serde_json::from_str(&text).ok());
                read.flatten().unwrap_or(Value::String(text))
            }
            Value::Array(items) => {
                let items = items.iter().map(|item| self.value(what, item));
                Value::Array(items.collect::<Result<_, _>>()?)
            }
            Value::Object(fields) => {
                let fields = fields
                    .iter()
                    .map(|(key, value)| Ok((key.clone(), self.value(what, value)?)));
                Value::Object(fields.collect::<Result<_, Error>>()?)
            }
            other => other.clone(),
        })
    }

    /// A text that may be JSON. JSON before it is filled: its strings are filled. JSON after:
    /// that. JSON once the variables are escaped for it: that. Else a text.
    pub(crate) fn loose(&self, what: &str, template: &str) -> Result<Value, Error> {
        if let Ok(value @ (Value::Object(_) | Value::Array(_))) = serde_json::from_str(template) {
            return self.value(what, &value);
        }
        let text = self.text(what, template)?;
        if !template.trim_start().starts_with(['{', '[']) {
            return Ok(Value::String(text));
        }
        if let Ok(value) = serde_json::from_str(&text) {
            return Ok(value);
        }
        let escaped = self.vars.iter().map(|(key, value)| match value {
            Value::String(text) => {
                let quoted = json!(text).to_string();
                (key.clone(), json!(quoted[1..quoted.len() - 1]))
            }
            other => (key.clone(), other.clone()),
        });
        let again = self.with(what, template, &escaped.collect())?;
        Ok(serde_json::from_str(&again).unwrap_or(Value::String(text)))
    }
}

/// How many segments of an address's path are `.` or `..`.
fn upward(url: &str) -> usize {
    let path = url.split(['?', '#']).next().unwrap_or_default();
    path.split(['/', '\\'])
        .map(|segment| segment.to_ascii_lowercase().replace("%2e", "."))
        .filter(|segment| matches!(segment.trim(), "." | ".."))
        .count()
}

/// Bytes that stand for themselves anywhere in an address.
fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte)
}

/// A text in which every byte but those that `plain` allows is percent-encoded.
fn encoded(text: &str, plain: impl Fn(u8) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if plain(byte) {
            out.push(char::from(byte));
        } else {
            write!(out, "%{byte:02X}").expect("a string takes everything");
        }
    }
    out
}

/// Names and values as a query.
pub(crate) fn query(pairs: &[(String, String)]) -> String {
    let pair = |(name, value): &(String, String)| {
        format!(
            "{}={}",
            encoded(name, is_unreserved),
            encoded(value, is_unreserved)
        )
    };
    pairs.iter().map(pair).collect::<Vec<_>>().join("&")
}
