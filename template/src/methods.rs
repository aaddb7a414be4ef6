//! Methods of JavaScript's values that templates call: `name.toUpperCase()`, `csv.split(',')`.
//!
//! Those that give a new value and take no function. Positions count characters, where
//! JavaScript counts units of UTF-16; so no emoji is ever cut in two.

use std::borrow::Cow;

use crate::filters::{Args, joined, replaced};
use crate::meter::{ITEM, Meter, Outcome, refuse};
use crate::numbers::{count, fixed, to_number};
use crate::operators::place_of;
use crate::value::{List, Value};

/// Calls the method of this name.
pub(crate) fn call<'a>(
    meter: &mut Meter,
    of: &Value<'a>,
    name: &str,
    args: &Args<'a>,
) -> Outcome<Value<'a>> {
    let called = match of {
        Value::Text(text) | Value::Safe(text) => on_text(meter, text, name, args)?,
        Value::List(list) => on_list(meter, list, name, args)?,
        Value::Whole(_) | Value::Float(_) if name == "toFixed" => {
            let digits = position(&args.at(0), 100, 0);
            Some(meter.made(fixed(to_number(of), digits))?)
        }
        Value::Function(function) => function.method(name),
        Value::Undefined | Value::Null => {
            return refuse(format!("'{name}' is called on nothing"));
        }
        _ => None,
    };
    match called {
        Some(value) => Ok(value),
        None if name == "toString" => {
            let text = meter.text(of)?.into_owned();
            meter.made(text)
        }
        None => refuse(format!("there is no method '{name}' on {}", kind(of))),
    }
}

fn kind(value: &Value<'_>) -> &'static str {
    match value {
        Value::Text(_) | Value::Safe(_) => "a text",
        Value::List(_) => "a list",
        Value::Map(_) => "a map",
        Value::Whole(_) | Value::Float(_) => "a number",
        Value::Function(_) => "a function",
        _ => "this value",
    }
}

/// A position as JavaScript takes it: from the end if negative, within `0..=length`.
fn position(value: &Value<'_>, length: usize, otherwise: usize) -> usize {
    if matches!(value, Value::Undefined) {
        return otherwise;
    }
    let number = to_number(value).trunc();
    let from_start = if number < 0.0 {
        number + length as f64
    } else {
        number
    };
    // What is below zero or no number becomes zero.
    (from_start as usize).min(length)
}

fn on_text<'a>(
    meter: &mut Meter,
    text: &str,
    name: &str,
    args: &Args<'a>,
) -> Outcome<Option<Value<'a>>> {
    meter.read(text.len())?;
    let (first, second) = (args.at(0), args.at(1));
    let found = match name {
        "includes" | "startsWith" | "endsWith" | "indexOf" | "lastIndexOf" => {
            search(text, name, &meter.string(&first)?)
        }
        "slice" | "substring" | "substr" | "at" | "charAt" => {
            meter.made(between(text, name, &first, &second).to_owned())?
        }
        "trim" => meter.made(text.trim().to_owned())?,
        "trimStart" => meter.made(text.trim_start().to_owned())?,
        "trimEnd" => meter.made(text.trim_end().to_owned())?,
        "toUpperCase" | "toLocaleUpperCase" => meter.made(text.to_uppercase())?,
        "toLowerCase" | "toLocaleLowerCase" => meter.made(text.to_lowercase())?,
        "concat" => {
            let mut whole = text.to_owned();
            for part in &args.positional {
                let part = meter.string(part)?;
                meter.make(part.len())?;
                whole.push_str(&part);
            }
            meter.made(whole)?
        }
        "replace" => replaced(meter, text, &first, &second, 1)?,
        "replaceAll" => replaced(meter, text, &first, &second, usize::MAX)?,
        "repeat" => {
            let times = count(&first);
            meter.make(text.len().saturating_mul(times))?;
            Value::from(text.repeat(times))
        }
        "padStart" => {
            let padding = padding(meter, text, &first, &second)?;
            meter.made(padding + text)?
        }
        "padEnd" => {
            let padding = padding(meter, text, &first, &second)?;
            meter.made(text.to_owned() + &padding)?
        }
        "split" => split(meter, text, &first, &second)?,
        _ => return Ok(None),
    };
    Ok(Some(found))
}

fn search<'a>(text: &str, name: &str, wanted: &str) -> Value<'a> {
    match name {
        "includes" => Value::Bool(text.contains(wanted)),
        "startsWith" => Value::Bool(text.starts_with(wanted)),
        "endsWith" => Value::Bool(text.ends_with(wanted)),
        "indexOf" => place(text.find(wanted).map(|byte| text[..byte].chars().count())),
        _ => place(text.rfind(wanted).map(|byte| text[..byte].chars().count())),
    }
}

/// Where something was found; -1 if nowhere.
fn place<'a>(place: Option<usize>) -> Value<'a> {
    place.map_or(Value::Whole(-1), Value::count)
}

fn between<'a>(text: &'a str, name: &str, first: &Value<'_>, second: &Value<'_>) -> &'a str {
    let length = text.chars().count();
    let at_least_zero = |value: &Value<'_>, otherwise| {
        if to_number(value) < 0.0 {
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
            (start, start + at_least_zero(second, length))
        }
        "at" => (position(first, length, 0), position(first, length, 0) + 1),
        _ => (at_least_zero(first, 0), at_least_zero(first, 0) + 1),
    };
    let byte = |place: usize| {
        let letter = text.char_indices().nth(place);
        letter.map_or(text.len(), |(byte, _)| byte)
    };
    if start < end {
        &text[byte(start)..byte(end)]
    } else {
        ""
    }
}

/// What a text lacks to a width.
fn padding(meter: &mut Meter, text: &str, width: &Value<'_>, fill: &Value<'_>) -> Outcome<String> {
    let fill = match fill {
        Value::Undefined => Cow::Borrowed(" "),
        _ => meter.string(fill)?,
    };
    let missing = count(width).saturating_sub(text.chars().count());
    meter.make(missing.saturating_mul(4))?;
    Ok(fill.chars().cycle().take(missing).collect())
}

fn split<'a>(
    meter: &mut Meter,
    text: &str,
    by: &Value<'_>,
    limit: &Value<'_>,
) -> Outcome<Value<'a>> {
    let limit = match limit {
        Value::Undefined => usize::MAX,
        _ => count(limit),
    };
    if matches!(by, Value::Undefined) {
        let whole = meter.made(text.to_owned())?;
        return meter.list(vec![whole]);
    }
    let by = meter.string(by)?;
    let parts = if by.is_empty() {
        text.len()
    } else {
        1 + text.matches(&*by).count()
    };
    meter.make(text.len() + parts.saturating_mul(ITEM))?;
    let part = |part: &str| Value::from(part.to_owned());
    let parts = if by.is_empty() {
        let letters = text.chars().take(limit);
        letters.map(Value::from).collect()
    } else {
        text.split(&*by).take(limit).map(part).collect()
    };
    meter.list(parts)
}

fn on_list<'a>(
    meter: &mut Meter,
    list: &List<'a>,
    name: &str,
    args: &Args<'a>,
) -> Outcome<Option<Value<'a>>> {
    let first = args.at(0);
    let found = match name {
        "includes" => Value::Bool(place_of(meter, list.iter(), &first)?.is_some()),
        "indexOf" => place(place_of(meter, list.iter(), &first)?),
        "lastIndexOf" => {
            let from_end = place_of(meter, list.iter().rev(), &first)?;
            place(from_end.map(|place| list.len() - 1 - place))
        }
        "at" => {
            let item = list.get(position(&first, list.len(), 0));
            item.unwrap_or_default()
        }
        "slice" => {
            let start = position(&first, list.len(), 0);
            let end = position(&args.at(1), list.len(), list.len());
            let items = (start..end).map(|place| list.get(place).unwrap_or_default());
            meter.list(items.collect())?
        }
        "concat" => {
            meter.read(list.len() * ITEM)?;
            let mut items: Vec<Value<'a>> = list.iter().collect();
            for more in &args.positional {
                match more {
                    Value::List(_) => items.extend(meter.items(more)?),
                    _ => items.push(more.clone()),
                }
            }
            meter.list(items)?
        }
        "reverse" => {
            meter.read(list.len() * ITEM)?;
            meter.list(list.iter().rev().collect())?
        }
        "join" => {
            let by = match &first {
                Value::Undefined => Cow::Borrowed(","),
                _ => meter.string(&first)?,
            };
            meter.read(list.len() * ITEM)?;
            let parts: Vec<Value<'a>> = list.iter().collect();
            Value::from(joined(meter, &parts, &by)?)
        }
        _ => return Ok(None),
    };
    Ok(Some(found))
}
