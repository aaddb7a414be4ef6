//! Keywords for numbers and texts.

use std::cmp::Ordering;

use runner_plugin::json::{Map, Value};

use super::{Failure, Spot, Walk, counted, quoted};

/// How far a quotient may be from a whole number, relative to its size: 0.3 is a multiple of
/// 0.1, although doubles say otherwise.
const QUOTIENT_ERROR: f64 = 1e-9;

pub(super) fn number(
    keywords: &Map<String, Value>,
    spot: Spot<'_>,
    value: &Value,
) -> Result<(), Failure> {
    for (keyword, refused, what) in [
        ("minimum", &[Ordering::Less][..], "less than"),
        ("maximum", &[Ordering::Greater], "more than"),
        (
            "exclusiveMinimum",
            &[Ordering::Less, Ordering::Equal],
            "not more than",
        ),
        (
            "exclusiveMaximum",
            &[Ordering::Greater, Ordering::Equal],
            "not less than",
        ),
    ] {
        let Some(limit) = keywords.get(keyword) else {
            continue;
        };
        if compared(value, limit).is_some_and(|order| refused.contains(&order)) {
            return spot.broken(format!("{value} is {what} {limit}"));
        }
    }
    if let Some(unit) = keywords.get("multipleOf")
        && !is_multiple(value, unit)
    {
        return spot.broken(format!("{value} is no multiple of {unit}"));
    }
    Ok(())
}

/// Whole numbers are compared exactly, others as doubles.
fn compared(left: &Value, right: &Value) -> Option<Ordering> {
    if let (Some(left), Some(right)) = (left.as_i64(), right.as_i64()) {
        return Some(left.cmp(&right));
    }
    if let (Some(left), Some(right)) = (left.as_u64(), right.as_u64()) {
        return Some(left.cmp(&right));
    }
    left.as_f64()?.partial_cmp(&right.as_f64()?)
}

fn is_multiple(value: &Value, unit: &Value) -> bool {
    if let (Some(value), Some(unit)) = (value.as_i64(), unit.as_i64()) {
        return value % unit == 0;
    }
    let (Some(value), Some(unit)) = (value.as_f64(), unit.as_f64()) else {
        return false;
    };
    let quotient = value / unit;
    (quotient - quotient.round()).abs() <= QUOTIENT_ERROR * quotient.abs().max(1.0)
}

impl Walk<'_> {
    pub(super) fn text(
        &self,
        keywords: &Map<String, Value>,
        spot: Spot<'_>,
        text: &str,
    ) -> Result<(), Failure> {
        if keywords.contains_key("minLength") || keywords.contains_key("maxLength") {
            let length = text.chars().count();
            counted(
                keywords,
                ("minLength", "maxLength"),
                spot,
                length,
                "characters",
            )?;
        }
        if let Some(Value::String(pattern)) = keywords.get("pattern")
            && !self.matches(pattern, text)
        {
            let text = quoted(&Value::from(text));
            return spot.broken(format!("{text} does not match /{pattern}/"));
        }
        Ok(())
    }

    pub(super) fn matches(&self, pattern: &str, text: &str) -> bool {
        let regex = self.schema.patterns.get(pattern);
        regex.is_some_and(|regex| regex.find(text).is_some())
    }
}
