//! Filters that turn values into JSON, numbers and other values.

use serde::Serialize as _;
use serde_json::Value as Json;

use super::{Args, Filter, load};
use crate::meter::{Meter, Outcome};
use crate::numbers::to_number;
use crate::value::{Value, exact};

pub(super) const FILTERS: &[(&str, Filter)] = &[
    ("abs", |_, value, _| {
        Ok(Value::number(to_number(value).abs()))
    }),
    ("d", |_, value, args| Ok(default(value, args))),
    ("default", |_, value, args| Ok(default(value, args))),
    ("dump", dump),
    ("float", float),
    ("int", int),
    ("load", load::load),
    ("round", round),
];

/// What is undefined; with `true`, also what counts as false.
fn default<'a>(value: &Value<'a>, args: &Args<'a>) -> Value<'a> {
    let missing = if args.get(1, "boolean").is_true() {
        !value.is_true()
    } else {
        matches!(value, Value::Undefined)
    };
    if missing {
        args.get(0, "default_value")
    } else {
        value.clone()
    }
}

/// `JSON.stringify`: compact, or indented by a number of spaces.
fn dump<'a>(meter: &mut Meter, value: &Value<'a>, args: &Args<'a>) -> Outcome<Value<'a>> {
    let width = args.count(0, "indent", 0).min(10);
    let text = meter.json_text(value, width)?;
    Ok(text.map_or(Value::Undefined, Value::from))
}

/// Floats without a fraction as JavaScript writes them: `1.0` as `1`.
pub fn plain_numbers(json: Json) -> Json {
    match json {
        Json::Number(number) => {
            let float = number.as_f64().filter(|_| number.is_f64());
            float
                .and_then(exact)
                .map_or(Json::Number(number), Json::from)
        }
        Json::Array(items) => items.into_iter().map(plain_numbers).collect(),
        Json::Object(fields) => {
            let field = |(key, value)| (key, plain_numbers(value));
            Json::Object(fields.into_iter().map(field).collect())
        }
        other => other,
    }
}

/// JSON indented by `width` spaces a level.
pub fn indented(json: &Json, width: usize) -> String {
    let indent = " ".repeat(width);
    let formatter = serde_json::ser::PrettyFormatter::with_indent(indent.as_bytes());
    let mut bytes = Vec::new();
    let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, formatter);
    json.serialize(&mut serializer)
        .expect("a JSON value has a text");
    String::from_utf8(bytes).expect("JSON text is UTF-8")
}

/// The number that a text begins with, or a default.
fn float<'a>(meter: &mut Meter, value: &Value<'a>, args: &Args<'a>) -> Outcome<Value<'a>> {
    let text = meter.text(value)?;
    let text = beginning(&text);
    // The longest beginning that is one; a word such as `inf` is none.
    let ends = (1..=text.len()).rev().filter(|end| {
        let head = text.get(..*end).unwrap_or_default();
        head.ends_with(|c: char| c.is_ascii_digit() || c == '.')
    });
    let number = ends.map(|end| text[..end].parse()).find_map(Result::ok);
    Ok(number.map_or_else(|| args.get(0, "default"), Value::number))
}

/// As much of a text as a number needs, without white space before it.
fn beginning(text: &str) -> &str {
    const ENOUGH: usize = 400;
    let text = text.trim_start();
    let end = text.char_indices().nth(ENOUGH);
    end.map_or(text, |(end, _)| &text[..end])
}

/// The whole number that a text begins with, or a default.
fn int<'a>(meter: &mut Meter, value: &Value<'a>, args: &Args<'a>) -> Outcome<Value<'a>> {
    let base = match args.count(1, "base", 10) {
        base @ 2..=36 => base as u32,
        _ => return Ok(args.get(0, "default")),
    };
    let text = meter.text(value)?;
    let text = beginning(&text);
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => (-1.0, rest),
        None => (1.0, text.strip_prefix('+').unwrap_or(text)),
    };
    let mut digits = digits.chars().map_while(|c| c.to_digit(base)).peekable();
    if digits.peek().is_none() {
        return Ok(args.get(0, "default"));
    }
    let fold = |sum: f64, digit: u32| sum * f64::from(base) + f64::from(digit);
    Ok(Value::number(sign * digits.fold(0.0, fold)))
}

/// To so many digits after the point: nearest, `ceil` or `floor`.
fn round<'a>(meter: &mut Meter, value: &Value<'a>, args: &Args<'a>) -> Outcome<Value<'a>> {
    let digits = to_number(&args.get(0, "precision"));
    let factor = 10_f64.powf(if digits.is_nan() { 0.0 } else { digits });
    let scaled = to_number(value) * factor;
    let rounded = match &*meter.text(&args.get(1, "method"))? {
        "ceil" => scaled.ceil(),
        "floor" => scaled.floor(),
        // Halves go up, also below zero.
        _ => (scaled + 0.5).floor(),
    };
    Ok(Value::number(rounded / factor))
}
