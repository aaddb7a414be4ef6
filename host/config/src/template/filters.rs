//! Filters that nunjucks has and the engine has not, or has otherwise.

use std::fmt::Write as _;

use minijinja::value::{Kwargs, ValueKind};
use minijinja::{Environment, Error, ErrorKind, Value};
use serde_json::Value as Json;

use super::values;

/// The longest text that a filter may make.
const MAX_FILTERED: usize = super::MAX_RENDERED;

/// Adds them to an environment.
pub(crate) fn add(environment: &mut Environment<'static>) {
    environment.add_filter("dump", dump);
    environment.add_filter("load", load);
    environment.add_filter("pairs", pairs);
    environment.add_filter("truncate", truncate);
    environment.add_filter("urlencode", urlencode);
    environment.add_filter("wordcount", wordcount);
    environment.add_filter("replace", replace);
    environment.add_filter("join", join);
    // What they make can be far larger than what they are given, and no prompt needs them.
    for name in ["batch", "format", "indent", "pprint", "slice"] {
        environment.remove_filter(name);
    }
}

fn refuse(what: impl Into<std::borrow::Cow<'static, str>>) -> Error {
    Error::new(ErrorKind::InvalidOperation, what)
}

fn text(value: &Value) -> String {
    let mut text = String::new();
    values::print(&mut text, value).expect("a string takes everything");
    text
}

/// `JSON.stringify`: compact, or indented by a number of spaces.
fn dump(value: &Value, indent: Option<usize>) -> Result<String, Error> {
    if value.is_undefined() {
        return Ok(String::new());
    }
    let json: Json = serde_json::to_value(value).map_err(|error| refuse(error.to_string()))?;
    let json = plain_numbers(json);
    Ok(match indent {
        None | Some(0) => json.to_string(),
        Some(width) => indented(&json, width.min(10)),
    })
}

/// Floats without a fraction as JavaScript writes them.
pub(crate) fn plain_numbers(json: Json) -> Json {
    match json {
        Json::Number(number) => match number.as_f64().filter(|_| number.is_f64()) {
            Some(float) if float.fract() == 0.0 && float.abs() < 1e15 => Json::from(float as i64),
            _ => Json::Number(number),
        },
        Json::Array(items) => items.into_iter().map(plain_numbers).collect(),
        Json::Object(fields) => Json::Object(
            fields
                .into_iter()
                .map(|(key, value)| (key, plain_numbers(value)))
                .collect(),
        ),
        other => other,
    }
}

/// JSON indented by `width` spaces a level.
pub(crate) fn indented(json: &Json, width: usize) -> String {
    let indent = " ".repeat(width);
    let formatter = serde_json::ser::PrettyFormatter::with_indent(indent.as_bytes());
    let mut bytes = Vec::new();
    let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, formatter);
    serde::Serialize::serialize(json, &mut serializer).expect("a JSON value has a text");
    String::from_utf8(bytes).expect("JSON text is UTF-8")
}

/// `JSON.parse`; what isn't text is passed on, since files of variables are values already.
fn load(value: &Value) -> Result<Value, Error> {
    match value.as_str() {
        Some(text) => serde_json::from_str::<Json>(text)
            .map(|json| values::value(&json))
            .map_err(|error| refuse(format!("load: not JSON: {error}"))),
        None => Ok(value.clone()),
    }
}

/// A map as a list of `[key, value]`; a list as it is.
fn pairs(value: &Value) -> Result<Value, Error> {
    if value.kind() != ValueKind::Map {
        return Ok(value.clone());
    }
    let pair = |key: Value| -> Result<Value, Error> {
        let item = value.get_item(&key)?;
        Ok(Value::from(vec![key, item]))
    };
    Ok(Value::from(
        value.try_iter()?.map(pair).collect::<Result<Vec<_>, _>>()?,
    ))
}

/// Cuts at a word, or anywhere with `killwords`; adds `end` (`...`) where it cut.
fn truncate(
    value: &Value,
    length: Option<usize>,
    killwords: Option<bool>,
    end: Option<&str>,
    _: Kwargs,
) -> String {
    let (text, length) = (text(value), length.unwrap_or(255));
    let Some((cut, _)) = text.char_indices().nth(length) else {
        return text;
    };
    let head = &text[..cut];
    let head = if killwords.unwrap_or(false) {
        head
    } else {
        head.rfind(' ').map_or(head, |space| &head[..space])
    };
    format!("{head}{}", end.unwrap_or("..."))
}

/// `encodeURIComponent`.
fn urlencode(value: &Value) -> String {
    let unreserved = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.!~*'()".contains(&byte);
    let mut encoded = String::new();
    for byte in text(value).bytes() {
        if unreserved(byte) {
            encoded.push(char::from(byte));
        } else {
            write!(encoded, "%{byte:02X}").expect("a string takes everything");
        }
    }
    encoded
}

fn wordcount(value: &Value) -> usize {
    text(value).split_whitespace().count()
}

fn replace(value: &Value, from: &Value, to: &Value) -> Result<String, Error> {
    let (text, from, to) = (text(value), text(from), text(to));
    let count = if from.is_empty() {
        text.chars().count() + 1
    } else {
        text.matches(&from).count()
    };
    if count.saturating_mul(to.len()) > MAX_FILTERED {
        return Err(refuse("replace: the result is too long"));
    }
    Ok(text.replace(&from, &to))
}

fn join(value: &Value, joiner: Option<&Value>, attribute: Option<&str>) -> Result<String, Error> {
    if value.is_undefined() || value.is_none() {
        return Ok(String::new());
    }
    let joiner = joiner.map(text).unwrap_or_default();
    let mut out = String::new();
    for (index, item) in value.try_iter()?.enumerate() {
        if index > 0 {
            out.push_str(&joiner);
        }
        let item = attribute.map_or(Ok(item.clone()), |attribute| item.get_attr(attribute))?;
        out.push_str(&text(&item));
        if out.len() > MAX_FILTERED {
            return Err(refuse("join: the result is too long"));
        }
    }
    Ok(out)
}
