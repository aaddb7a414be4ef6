//! nunjucks' tests: `x is defined`, `x is divisibleby(3)`, `list | select('odd')`.

use crate::meter::{Meter, Outcome};
use crate::numbers::to_number;
use crate::operators::{exactly, same};
use crate::value::{Text, Value};

/// A test: the value, and what it is compared with.
pub(crate) type Condition = fn(&mut Meter, &Value<'_>, &Value<'_>) -> Outcome<bool>;

/// Finds the test of this name.
pub(crate) fn find(name: &str) -> Option<Condition> {
    let found = CONDITIONS.iter().find(|(known, _)| *known == name);
    found.map(|(_, condition)| *condition)
}

const CONDITIONS: &[(&str, Condition)] = &[
    ("boolean", |_, value, _| Ok(matches!(value, Value::Bool(_)))),
    ("callable", |_, value, _| {
        Ok(matches!(value, Value::Function(_)))
    }),
    // Nothing is escaped by itself.
    ("escaped", |_, _, _| Ok(false)),
    ("defined", |_, value, _| {
        Ok(!matches!(value, Value::Undefined))
    }),
    ("undefined", |_, value, _| {
        Ok(matches!(value, Value::Undefined))
    }),
    ("none", |_, value, _| Ok(matches!(value, Value::Null))),
    ("null", |_, value, _| Ok(matches!(value, Value::Null))),
    ("truthy", |_, value, _| Ok(value.is_true())),
    ("falsy", |_, value, _| Ok(!value.is_true())),
    ("odd", |_, value, _| {
        Ok(exactly(to_number(value) % 2.0, 1.0))
    }),
    ("even", |_, value, _| {
        Ok(exactly(to_number(value) % 2.0, 0.0))
    }),
    ("divisibleby", |_, value, by| {
        Ok(exactly(to_number(value) % to_number(by), 0.0))
    }),
    ("eq", same),
    ("equalto", same),
    ("sameas", same),
    ("ne", |meter, value, other| Ok(!same(meter, value, other)?)),
    ("gt", |_, value, other| {
        Ok(to_number(value) > to_number(other))
    }),
    ("greaterthan", |_, value, other| {
        Ok(to_number(value) > to_number(other))
    }),
    ("lt", |_, value, other| {
        Ok(to_number(value) < to_number(other))
    }),
    ("lessthan", |_, value, other| {
        Ok(to_number(value) < to_number(other))
    }),
    ("ge", |_, value, other| {
        Ok(to_number(value) >= to_number(other))
    }),
    ("le", |_, value, other| {
        Ok(to_number(value) <= to_number(other))
    }),
    ("string", |_, value, _| Ok(value.as_text().is_some())),
    ("number", |_, value, _| {
        Ok(matches!(value, Value::Whole(_) | Value::Float(_)))
    }),
    ("mapping", |_, value, _| Ok(matches!(value, Value::Map(_)))),
    ("iterable", |_, value, _| {
        Ok(matches!(value, Value::List(_)) || value.as_text().is_some())
    }),
    ("lower", |meter, value, _| {
        is_unchanged(meter, value.as_text(), str::to_lowercase)
    }),
    ("upper", |meter, value, _| {
        is_unchanged(meter, value.as_text(), str::to_uppercase)
    }),
];

fn is_unchanged(
    meter: &mut Meter,
    text: Option<&Text<'_>>,
    change: fn(&str) -> String,
) -> Outcome<bool> {
    let Some(text) = text else {
        return Ok(false);
    };
    meter.make(text.len())?;
    Ok(change(text) == **text)
}
