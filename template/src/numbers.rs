//! Numbers as in JavaScript: what counts as one, and how it is written.

use serde_json::{Number, Value as Json};

use crate::value::{Value, exact};

/// The longest text that can be a number: what is longer is none, and is not looked at.
const LONGEST: usize = 1024;

/// `Number(value)`
pub(crate) fn to_number(value: &Value<'_>) -> f64 {
    match value {
        Value::Null => 0.0,
        Value::Bool(value) => f64::from(u8::from(*value)),
        Value::Whole(number) => *number as f64,
        Value::Float(number) => *number,
        Value::Text(text) | Value::Safe(text) => text_number(text),
        // Of its text, which is that of its only item.
        Value::List(list) if list.len() < 2 => match list.get(0).unwrap_or_default() {
            Value::Undefined | Value::Null => 0.0,
            Value::Bool(_) => f64::NAN,
            item => to_number(&item),
        },
        Value::Undefined | Value::Pending | Value::List(_) | Value::Map(_) | Value::Function(_) => {
            f64::NAN
        }
    }
}

fn text_number(text: &str) -> f64 {
    if text.len() > LONGEST {
        return f64::NAN;
    }
    let text = text.trim();
    let based = |prefix: &str, base| {
        let digits = text.strip_prefix(prefix)?;
        u64::from_str_radix(digits, base).ok()
    };
    if text.is_empty() {
        return 0.0;
    }
    let whole = based("0x", 16).or_else(|| based("0o", 8));
    if let Some(whole) = whole.or_else(|| based("0b", 2)) {
        return whole as f64;
    }
    let is_word = |text: &str| text.starts_with(|c: char| c.is_ascii_alphabetic());
    match text {
        "Infinity" | "+Infinity" => f64::INFINITY,
        "-Infinity" => f64::NEG_INFINITY,
        // Rust has words of its own for what is no number.
        _ if is_word(text.trim_start_matches(['+', '-'])) => f64::NAN,
        _ => text.parse().unwrap_or(f64::NAN),
    }
}

/// How many; what is below zero or no number is none.
pub(crate) fn count(value: &Value<'_>) -> usize {
    to_number(value) as usize
}

/// A float the JavaScript way.
pub(crate) fn float_text(number: f64) -> String {
    if let Some(whole) = exact(number) {
        return whole.to_string();
    }
    if number.is_infinite() {
        let sign = if number < 0.0 { "-" } else { "" };
        return format!("{sign}Infinity");
    }
    if number.is_nan() || (1e-6..1e21).contains(&number.abs()) {
        return number.to_string();
    }
    let text = format!("{number:e}");
    // JavaScript writes the sign of every exponent.
    if text.contains("e-") {
        text
    } else {
        text.replace('e', "e+")
    }
}

/// So many digits after the point; a half goes away from zero, where Rust takes the even one.
pub(crate) fn fixed(number: f64, digits: usize) -> String {
    if !number.is_finite() || number.abs() >= 1e21 {
        return float_text(number);
    }
    // A half is seen in the digits after it: no float has zeros there by chance.
    let long = format!("{:.*}", digits + 30, number.abs());
    let cut = long.len() - 30;
    let half = long[cut..].starts_with('5') && long[cut + 1..].bytes().all(|byte| byte == b'0');
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

/// A number as JSON; `null` for what JSON has no number for.
pub(crate) fn json_number(value: &Value<'_>) -> Json {
    match value {
        Value::Whole(number) => match (i64::try_from(*number), u64::try_from(*number)) {
            (Ok(number), _) => Json::from(number),
            (_, Ok(number)) => Json::from(number),
            _ => Json::Null,
        },
        other => Number::from_f64(to_number(other)).map_or(Json::Null, Json::Number),
    }
}

/// Whether a whole number is one that is kept with all of its digits.
pub(crate) fn is_kept(number: i128) -> bool {
    (i128::from(i64::MIN)..=i128::from(u64::MAX)).contains(&number)
}
