//! nunjucks' tests: `x is defined`, `x is divisibleby(3)`, `list | select('odd')`.

use minijinja::{Environment, Error, State, Value};

use super::effort::{self, refuse};
use super::filters::add_filter;
use super::operators::{exactly, same, to_number};
use super::values::{Seen, printed, see, size};

/// Adds `is` to an environment: a filter that translated templates use.
pub(crate) fn add(environment: &mut Environment<'static>) {
    add_filter(environment, "_is", |state, value, args| {
        let name = printed(&args.at(0));
        holds(state, &name, value, &args.at(1)).map(Value::from)
    });
}

/// The tests there are.
const NAMES: [&str; 28] = [
    "callable",
    "defined",
    "divisibleby",
    "eq",
    "equalto",
    "escaped",
    "even",
    "falsy",
    "ge",
    "greaterthan",
    "gt",
    "iterable",
    "le",
    "lessthan",
    "lower",
    "lt",
    "mapping",
    "ne",
    "none",
    "null",
    "number",
    "odd",
    "sameas",
    "string",
    "truthy",
    "undefined",
    "upper",
    "boolean",
];

/// Whether there is such a test.
pub(crate) fn is_known(name: &str) -> bool {
    NAMES.contains(&name)
}

/// Whether `value` passes a test.
///
/// # Errors
/// When there is no such test, or there was too much to look at.
pub(crate) fn holds(
    state: &mut State<'_, '_>,
    name: &str,
    value: &Value,
    other: &Value,
) -> Result<bool, Error> {
    effort::read(state, size(value))?;
    let rest = |by: f64| to_number(value) % by;
    let (left, right) = (to_number(value), to_number(other));
    Ok(match name {
        "defined" => !value.is_undefined(),
        "undefined" => value.is_undefined(),
        "none" | "null" => value.is_none(),
        "truthy" => value.is_true(),
        "falsy" => !value.is_true(),
        "odd" => exactly(rest(2.0), 1.0),
        "even" => exactly(rest(2.0), 0.0),
        "divisibleby" => exactly(rest(right), 0.0),
        "eq" | "equalto" | "sameas" => same(value, other),
        "ne" => !same(value, other),
        "gt" | "greaterthan" => left > right,
        "lt" | "lessthan" => left < right,
        "ge" => left >= right,
        "le" => left <= right,
        "string" => matches!(see(value), Seen::Text(_)),
        "number" => matches!(see(value), Seen::Number(_)),
        "boolean" => matches!(see(value), Seen::Bool(_)),
        "mapping" => matches!(see(value), Seen::Map(_)),
        "iterable" => matches!(see(value), Seen::List(_) | Seen::Text(_)),
        "lower" => value
            .as_str()
            .is_some_and(|text| text.to_lowercase() == text),
        "upper" => value
            .as_str()
            .is_some_and(|text| text.to_uppercase() == text),
        // There are no functions, and nothing is escaped by itself.
        "callable" | "escaped" => false,
        other => return Err(refuse(format!("there is no test '{other}'"))),
    })
}
