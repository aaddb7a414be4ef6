//! Filters that turn values into JSON, numbers and other values.

use minijinja::{Error, State, Value};
use serde_json::Value as Json;

use super::{Args, Filter};
use crate::template::effort::{self, refuse};
use crate::template::operators::{made, to_number};
use crate::template::values::{self, number, printed, size};

pub(super) const FILTERS: &[(&str, Filter)] = &[
    ("abs", |_, value, _| Ok(number(to_number(value).abs()))),
    ("d", |_, value, args| Ok(default(value, args))),
    ("default", |_, value, args| Ok(default(value, args))),
    ("dump", dump),
    ("float", |_, value, args| Ok(float(value, args))),
    ("int", |_, value, args| Ok(int(value, args))),
    ("load", load),
    ("round", |_, value, args| Ok(round(value, args))),
];

/// What is undefined; with `true`, also what counts as false.
fn default(value: &Value, args: &Args) -> Value {
    let missing = if args.get(1, "boolean").is_true() {
        !value.is_true()
    } else {
        value.is_undefined()
    };
    if missing {
        args.get(0, "default_value")
    } else {
        value.clone()
    }
}

/// `JSON.stringify`: compact, or indented by a number of spaces.
fn dump(state: &mut State<'_, '_>, value: &Value, args: &Args) -> Result<Value, Error> {
    effort::make(state, size(value))?;
    let Some(json) = values::json(value) else {
        return Ok(Value::UNDEFINED);
    };
    let json = plain_numbers(json);
    let text = match args.count(0, "indent", 0).min(10) {
        0 => json.to_string(),
        width => indented(&json, width),
    };
    made(state, text)
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
fn load(state: &mut State<'_, '_>, value: &Value, _: &Args) -> Result<Value, Error> {
    let Some(text) = value.as_str() else {
        return Ok(value.clone());
    };
    effort::make(state, 4 * text.len())?;
    serde_json::from_str::<Json>(text)
        .map(|json| values::value(&json))
        .map_err(|error| refuse(format!("load: not JSON: {error}")))
}

/// The number that a text begins with, or a default.
fn float(value: &Value, args: &Args) -> Value {
    let text = printed(value);
    let text = text.trim_start();
    let mut best = None;
    // The longest beginning that is a number: no float needs more than some hundred characters.
    for (end, _) in text
        .char_indices()
        .skip(1)
        .chain([(text.len(), ' ')])
        .take(400)
    {
        let is_number = text[..end].ends_with(|c: char| c.is_ascii_digit() || c == '.');
        best = is_number
            .then(|| text[..end].parse().ok())
            .flatten()
            .or(best);
    }
    best.map_or_else(|| args.get(0, "default"), number)
}

/// The whole number that a text begins with, or a default.
fn int(value: &Value, args: &Args) -> Value {
    let base = match args.count(1, "base", 10) {
        base @ 2..=36 => base as u32,
        _ => return args.get(0, "default"),
    };
    let text = printed(value);
    let text = text.trim_start();
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => (-1.0, rest),
        None => (1.0, text.strip_prefix('+').unwrap_or(text)),
    };
    let digits: Vec<u32> = digits
        .chars()
        .map_while(|c| c.to_digit(base))
        .take(400)
        .collect();
    if digits.is_empty() {
        return args.get(0, "default");
    }
    let fold = |sum: f64, digit: &u32| sum * f64::from(base) + f64::from(*digit);
    number(sign * digits.iter().fold(0.0, fold))
}

/// To so many digits after the point: nearest, `ceil` or `floor`.
fn round(value: &Value, args: &Args) -> Value {
    let digits = to_number(&args.get(0, "precision"));
    let factor = 10_f64.powf(if digits.is_nan() { 0.0 } else { digits });
    let scaled = to_number(value) * factor;
    let rounded = match printed(&args.get(1, "method")).as_str() {
        "ceil" => scaled.ceil(),
        "floor" => scaled.floor(),
        // Halves go up, also below zero.
        _ => (scaled + 0.5).floor(),
    };
    number(rounded / factor)
}
