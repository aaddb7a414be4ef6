//! Methods of JavaScript's values that templates call: `name.toUpperCase()`, `csv.split(',')`.
//!
//! Those that give a new value and take no function. Positions count characters, where
//! JavaScript counts units of UTF-16; so no emoji is ever cut in two.

use minijinja::{Environment, Error, State, Value};

use super::effort::{self, ITEM, refuse};
use super::filters::{Args, add_filter, replaced};
use super::operators::{list, made, same, to_number, to_text};
use super::values::{List, Seen, float_text, printed, see};

/// Adds calls to an environment: a filter that translated templates use.
pub(crate) fn add(environment: &mut Environment<'static>) {
    add_filter(environment, "_call", |state, of, args| {
        let name = printed(&args.at(0));
        let called = match see(of) {
            Seen::Text(text) => on_text(state, text, &name, args)?,
            Seen::List(items) => on_list(state, items, &name, args)?,
            Seen::Number(number) => on_number(state, number, &name, args)?,
            Seen::Undefined | Seen::Null => {
                return Err(refuse(format!("'{name}' is called on nothing")));
            }
            _ => None,
        };
        match called {
            Some(value) => Ok(value),
            None if name == "toString" => made(state, printed(of)),
            None => Err(refuse(format!(
                "there is no method '{name}' on {}",
                kind(of)
            ))),
        }
    });
}

fn kind(value: &Value) -> &'static str {
    match see(value) {
        Seen::Text(_) => "a text",
        Seen::List(_) => "a list",
        Seen::Map(_) => "a map",
        Seen::Number(_) => "a number",
        _ => "this value",
    }
}

/// A position as JavaScript takes it: from the end if negative, within `0..=length`.
fn position(value: &Value, length: usize, otherwise: usize) -> usize {
    let number = match see(value) {
        Seen::Undefined => return otherwise,
        _ => to_number(value).trunc(),
    };
    let number = if number < 0.0 {
        number + length as f64
    } else {
        number
    };
    // What is below zero or no number becomes zero.
    (number as usize).min(length)
}

/// How many; what is below zero or no number is none.
fn count(value: &Value) -> usize {
    to_number(value) as usize
}

fn on_text(
    state: &mut State<'_, '_>,
    text: &str,
    name: &str,
    args: &Args,
) -> Result<Option<Value>, Error> {
    effort::read(state, text.len())?;
    let (first, second) = (args.at(1), args.at(2));
    let part = |text: &str| Value::from(text);
    let found = match name {
        "includes" => Value::from(text.contains(&to_text(&first))),
        "startsWith" => Value::from(text.starts_with(&to_text(&first))),
        "endsWith" => Value::from(text.ends_with(&to_text(&first))),
        "indexOf" => place(text, text.find(&to_text(&first))),
        "lastIndexOf" => place(text, text.rfind(&to_text(&first))),
        "slice" | "substring" | "substr" | "at" | "charAt" => {
            effort::make(state, text.len())?;
            part(between(text, name, &first, &second))
        }
        "trim" | "trimStart" | "trimEnd" => {
            effort::make(state, text.len())?;
            part(match name {
                "trim" => text.trim(),
                "trimStart" => text.trim_start(),
                _ => text.trim_end(),
            })
        }
        "toUpperCase" | "toLocaleUpperCase" => made(state, text.to_uppercase())?,
        "toLowerCase" | "toLocaleLowerCase" => made(state, text.to_lowercase())?,
        "concat" => made(
            state,
            format!("{text}{}{}", to_text(&first), printed(&second)),
        )?,
        "replace" => replaced(state, text, &to_text(&first), &to_text(&second), 1)?,
        "replaceAll" => replaced(state, text, &to_text(&first), &to_text(&second), usize::MAX)?,
        "repeat" => {
            let times = count(&first);
            effort::make(state, text.len().saturating_mul(times))?;
            Value::from(text.repeat(times))
        }
        "padStart" | "padEnd" => padded(state, text, args, name == "padStart")?,
        "split" => split(state, text, &first, &second)?,
        _ => return Ok(None),
    };
    Ok(Some(found))
}

/// Where something was found, in characters; -1 if nowhere.
fn place(text: &str, byte: Option<usize>) -> Value {
    byte.map_or(Value::from(-1), |byte| {
        Value::from(text[..byte].chars().count())
    })
}

fn between<'a>(text: &'a str, name: &str, first: &Value, second: &Value) -> &'a str {
    let length = text.chars().count();
    let at_least_zero = |value: &Value, otherwise| {
        let is_negative = to_number(value) < 0.0;
        if is_negative {
            0
        } else {
            position(value, length, otherwise)
        }
    };
    let (start, end) = match name {
        "slice" => (position(first, length, 0), position(second, length, length)),
        "substring" => {
            let (a, b) = (at_least_zero(first, 0), at_least_zero(second, length));
            (a.min(b), a.max(b))
        }
        "substr" => {
            let start = position(first, length, 0);
            (
                start,
                start
                    .saturating_add(at_least_zero(second, length))
                    .min(length),
            )
        }
        "at" => (position(first, length, 0), position(first, length, 0) + 1),
        _ => (at_least_zero(first, 0), at_least_zero(first, 0) + 1),
    };
    let byte = |place: usize| {
        text.char_indices()
            .nth(place)
            .map_or(text.len(), |(byte, _)| byte)
    };
    if start < end {
        &text[byte(start)..byte(end)]
    } else {
        ""
    }
}

fn padded(
    state: &mut State<'_, '_>,
    text: &str,
    args: &Args,
    before: bool,
) -> Result<Value, Error> {
    let width = count(&args.at(1));
    let fill = match see(&args.at(2)) {
        Seen::Undefined => " ".to_owned(),
        _ => to_text(&args.at(2)),
    };
    let missing = width.saturating_sub(text.chars().count());
    effort::make(state, text.len().saturating_add(missing.saturating_mul(4)))?;
    let fill: String = fill.chars().cycle().take(missing).collect();
    Ok(Value::from(if before {
        format!("{fill}{text}")
    } else {
        format!("{text}{fill}")
    }))
}

fn split(state: &mut State<'_, '_>, text: &str, by: &Value, limit: &Value) -> Result<Value, Error> {
    let limit = match see(limit) {
        Seen::Undefined => usize::MAX,
        _ => count(limit),
    };
    let by = match see(by) {
        Seen::Undefined => None,
        _ => Some(to_text(by)),
    };
    let parts = match by.as_deref() {
        None => 1,
        Some("") => text.len(),
        Some(by) => 1 + text.matches(by).count(),
    };
    effort::make(state, text.len() + parts.saturating_mul(ITEM))?;
    let parts = match by.as_deref() {
        None => vec![Value::from(text)],
        Some("") => text
            .chars()
            .take(limit)
            .map(|c| Value::from(c.to_string()))
            .collect(),
        Some(by) => text.split(by).take(limit).map(Value::from).collect(),
    };
    list(state, parts)
}

fn on_list(
    state: &mut State<'_, '_>,
    of: &List,
    name: &str,
    args: &Args,
) -> Result<Option<Value>, Error> {
    let (first, items) = (args.at(1), &of.items);
    effort::read(state, items.len() * ITEM)?;
    let place = |found: Option<usize>| found.map_or(Value::from(-1), Value::from);
    let is_first = |item: &Value| same(item, &first);
    let found = match name {
        "includes" => Value::from(items.iter().any(is_first)),
        "indexOf" => place(items.iter().position(is_first)),
        "lastIndexOf" => place(items.iter().rposition(is_first)),
        "at" => items
            .get(position(&first, items.len(), 0))
            .cloned()
            .unwrap_or_default(),
        "slice" => {
            let start = position(&first, items.len(), 0);
            let end = position(&args.at(2), items.len(), items.len()).max(start);
            list(state, items[start..end].to_vec())?
        }
        "concat" => {
            let mut items = items.clone();
            match see(&first) {
                Seen::List(more) => items.extend(more.items.iter().cloned()),
                _ => items.push(first),
            }
            list(state, items)?
        }
        "reverse" => list(state, items.iter().rev().cloned().collect())?,
        "join" => {
            let by = if first.is_undefined() {
                ",".to_owned()
            } else {
                to_text(&first)
            };
            let mut text = String::new();
            for (index, item) in items.iter().enumerate() {
                let start = text.len();
                text.push_str(if index > 0 { &by } else { "" });
                text.push_str(&printed(item));
                effort::make(state, text.len() - start)?;
            }
            Value::from(text)
        }
        _ => return Ok(None),
    };
    Ok(Some(found))
}

fn on_number(
    state: &mut State<'_, '_>,
    number: f64,
    name: &str,
    args: &Args,
) -> Result<Option<Value>, Error> {
    Ok(match name {
        "toFixed" => {
            let digits = position(&args.at(1), 100, 0);
            Some(made(state, fixed(number, digits))?)
        }
        _ => None,
    })
}

/// So many digits after the point; a half goes away from zero, where Rust takes the even one.
fn fixed(number: f64, digits: usize) -> String {
    if !number.is_finite() || number.abs() >= 1e21 {
        return float_text(number);
    }
    // A half is seen in the digits after it: no float has zeros there by chance.
    let exact = format!("{:.*}", digits + 30, number.abs());
    let cut = exact.len() - 30;
    let half = exact[cut..].starts_with('5') && exact[cut + 1..].bytes().all(|byte| byte == b'0');
    let nudge = if half {
        10_f64.powi(-(digits as i32) - 2)
    } else {
        0.0
    };
    let text = format!("{:.*}", digits, number.abs() + nudge);
    let is_zero = text.bytes().all(|byte| matches!(byte, b'0' | b'.'));
    if number < 0.0 && !is_zero {
        format!("-{text}")
    } else {
        text
    }
}
