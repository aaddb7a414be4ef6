//! Operators, items and loops as in JavaScript.
//!
//! What `a + b`, `a == b` and `a[b]` become when a template is translated (`nunjucks`): filters
//! whose names begin with `_`, which no template can name itself. They work on any two values,
//! as JavaScript's operators do; only `in` refuses some.

use std::sync::{Mutex, PoisonError};

use minijinja::value::Object;
use minijinja::{Environment, Error, State, Value};

use super::effort::{self, ITEM, refuse};
use super::filters::{Args, add_filter};
use super::values::{self, Seen, number, printed, see, size};

/// The longest list that `range` makes.
const MAX_RANGE: f64 = 100_000.0;

/// Adds them to an environment.
pub(crate) fn add(environment: &mut Environment<'static>) {
    add_filter(environment, "_math", math);
    add_filter(environment, "_compare", compare);
    add_filter(environment, "_concat", |state, left, args| {
        joined(state, left, &args.at(1))
    });
    add_filter(environment, "_negative", |_, value, _| {
        Ok(number(-to_number(value)))
    });
    add_filter(environment, "_number", |_, value, _| {
        Ok(number(to_number(value)))
    });
    add_filter(environment, "_in", contains);
    add_filter(environment, "_get", |state, of, args| {
        get(state, of, &args.at(0))
    });
    add_filter(environment, "_list", |state, value, _| {
        list(state, value.try_iter()?.collect())
    });
    add_filter(environment, "_map", map);
    add_filter(environment, "_range", range);
    add_filter(environment, "_items", |state, value, _| match see(value) {
        Seen::List(_) => Ok(value.clone()),
        _ => list(state, items(value)),
    });
    add_filter(environment, "_pairs", pairs);
    add_filter(environment, "_variable", |state, _, args| {
        Ok(state.lookup(&printed(&args.at(0))).unwrap_or_default())
    });
    add_filter(environment, "_cell", |state, name, _| {
        let value = state.lookup(&printed(name)).unwrap_or_default();
        Ok(Value::from_object(Cell(Mutex::new(value))))
    });
    add_filter(environment, "_read", |_, cell, _| {
        Ok(cell_of(cell).map_or(Value::UNDEFINED, Cell::read))
    });
    add_filter(environment, "_write", |_, cell, args| {
        if let Some(cell) = cell_of(cell) {
            *cell.0.lock().unwrap_or_else(PoisonError::into_inner) = args.at(0);
        }
        Ok(Value::UNDEFINED)
    });
}

/// A variable that every `set` of its name writes.
#[derive(Debug)]
struct Cell(Mutex<Value>);

impl Cell {
    fn read(&self) -> Value {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl Object for Cell {}

fn cell_of(value: &Value) -> Option<&Cell> {
    value.downcast_object_ref::<Cell>()
}

/// A text that was made, counted.
pub(crate) fn made(state: &mut State<'_, '_>, text: String) -> Result<Value, Error> {
    effort::make(state, text.len())?;
    Ok(Value::from(text))
}

/// A list that was made, counted.
pub(crate) fn list(state: &mut State<'_, '_>, items: Vec<Value>) -> Result<Value, Error> {
    effort::make(state, items.len() * ITEM)?;
    values::list(items).ok_or_else(too_deep)
}

/// A map that was made, counted.
pub(crate) fn dict(
    state: &mut State<'_, '_>,
    fields: Vec<(String, Value)>,
) -> Result<Value, Error> {
    effort::make(state, fields.len() * 2 * ITEM)?;
    values::dict(fields).ok_or_else(too_deep)
}

fn too_deep() -> Error {
    refuse(format!(
        "lists and maps nest more than {} deep",
        values::MAX_NESTING
    ))
}

/// `String(value)`: unlike what is printed, it has words for what is missing.
pub(crate) fn to_text(value: &Value) -> String {
    match see(value) {
        Seen::Undefined => "undefined".to_owned(),
        Seen::Null => "null".to_owned(),
        _ => printed(value),
    }
}

/// `Number(value)`.
pub(crate) fn to_number(value: &Value) -> f64 {
    match see(value) {
        Seen::Null => 0.0,
        Seen::Bool(value) => f64::from(u8::from(value)),
        Seen::Number(number) => number,
        Seen::Text(text) => text_number(text),
        Seen::List(list) if list.items.len() < 2 => text_number(&printed(value)),
        Seen::Undefined | Seen::List(_) | Seen::Map(_) | Seen::Other => f64::NAN,
    }
}

fn text_number(text: &str) -> f64 {
    let text = text.trim();
    let based = |prefix: &str, base| {
        let digits = text.strip_prefix(prefix)?;
        u64::from_str_radix(digits, base).ok()
    };
    if text.is_empty() {
        return 0.0;
    }
    if let Some(whole) = based("0x", 16)
        .or_else(|| based("0o", 8))
        .or_else(|| based("0b", 2))
    {
        return whole as f64;
    }
    match text.trim_start_matches(['+', '-']) {
        "Infinity" if text.len() <= 9 => {
            if text.starts_with('-') {
                f64::NEG_INFINITY
            } else {
                f64::INFINITY
            }
        }
        // Rust's own words for what is no number.
        word if word.starts_with(|c: char| c.is_ascii_alphabetic()) => f64::NAN,
        _ => text.parse().unwrap_or(f64::NAN),
    }
}

/// Two texts as one, counted before it is made.
fn joined(state: &mut State<'_, '_>, left: &Value, right: &Value) -> Result<Value, Error> {
    effort::make(state, size(left).saturating_add(size(right)))?;
    let mut text = to_text(left);
    text.push_str(&to_text(right));
    Ok(Value::from(text))
}

/// `+ - * / // % **`
fn math(state: &mut State<'_, '_>, left: &Value, args: &Args) -> Result<Value, Error> {
    let (operator, right) = (printed(&args.at(0)), args.at(1));
    if operator == "+" {
        let joins = |value: &Value| {
            matches!(
                see(value),
                Seen::Text(_) | Seen::List(_) | Seen::Map(_) | Seen::Other
            )
        };
        if joins(left) || joins(&right) {
            return joined(state, left, &right);
        }
    }
    // Whole numbers keep all digits as long as they fit.
    if let (Some(left), Some(right)) = (whole(left), whole(&right)) {
        let exact = match operator.as_str() {
            "+" => left.checked_add(right),
            "-" => left.checked_sub(right),
            "*" => left.checked_mul(right),
            _ => None,
        };
        if let Some(exact) = exact {
            return Ok(Value::from(exact));
        }
    }
    let (left, right) = (to_number(left), to_number(&right));
    Ok(number(match operator.as_str() {
        "+" => left + right,
        "-" => left - right,
        "*" => left * right,
        "/" => left / right,
        "//" => (left / right).floor(),
        "%" => left % right,
        "**" if right.is_nan() => f64::NAN,
        "**" => left.powf(right),
        other => unreachable!("the parser has no operator {other}"),
    }))
}

fn whole(value: &Value) -> Option<i64> {
    value.is_integer().then(|| value.as_i64()).flatten()
}

/// `== != === !== < > <= >=`
fn compare(state: &mut State<'_, '_>, left: &Value, args: &Args) -> Result<Value, Error> {
    let (operator, right) = (printed(&args.at(0)), args.at(1));
    effort::read(state, size(left).min(size(&right)))?;
    let order = || ordered(left, &right);
    Ok(Value::from(match operator.as_str() {
        "==" => equal(left, &right),
        "!=" => !equal(left, &right),
        "===" => same(left, &right),
        "!==" => !same(left, &right),
        "<" => order().is_some_and(std::cmp::Ordering::is_lt),
        "<=" => order().is_some_and(std::cmp::Ordering::is_le),
        ">" => order().is_some_and(std::cmp::Ordering::is_gt),
        _ => order().is_some_and(std::cmp::Ordering::is_ge),
    }))
}

/// Equal as JavaScript means it: every bit but the sign of zero.
#[expect(clippy::float_cmp, reason = "templates compare numbers exactly")]
pub(crate) fn exactly(left: f64, right: f64) -> bool {
    left == right
}

/// `===`. Lists and maps are the same if they are one and the same, as in JavaScript.
pub(crate) fn same(left: &Value, right: &Value) -> bool {
    match (see(left), see(right)) {
        (Seen::Undefined, Seen::Undefined) | (Seen::Null, Seen::Null) => true,
        (Seen::Bool(left), Seen::Bool(right)) => left == right,
        (Seen::Number(a), Seen::Number(b)) => match (whole(left), whole(right)) {
            (Some(left), Some(right)) => left == right,
            _ => exactly(a, b),
        },
        (Seen::Text(left), Seen::Text(right)) => left == right,
        (Seen::List(left), Seen::List(right)) => std::ptr::eq(left, right),
        (Seen::Map(left), Seen::Map(right)) => std::ptr::eq(left, right),
        _ => false,
    }
}

/// `==`
fn equal(left: &Value, right: &Value) -> bool {
    let is_object = |seen: &Seen<'_>| matches!(seen, Seen::List(_) | Seen::Map(_) | Seen::Other);
    match (see(left), see(right)) {
        (Seen::Undefined | Seen::Null, Seen::Undefined | Seen::Null) => true,
        (Seen::Undefined | Seen::Null, _) | (_, Seen::Undefined | Seen::Null) => false,
        (Seen::Text(text), other) | (other, Seen::Text(text)) if is_object(&other) => {
            let object = if matches!(see(left), Seen::Text(_)) {
                right
            } else {
                left
            };
            printed(object) == text
        }
        (a, b) if is_object(&a) && is_object(&b) => same(left, right),
        (Seen::Text(a), Seen::Text(b)) => a == b,
        (Seen::Number(_), Seen::Number(_)) => same(left, right),
        _ => exactly(to_number(left), to_number(right)),
    }
}

fn ordered(left: &Value, right: &Value) -> Option<std::cmp::Ordering> {
    let is_number = |value: &Value| {
        matches!(
            see(value),
            Seen::Number(_) | Seen::Bool(_) | Seen::Null | Seen::Undefined
        )
    };
    if is_number(left) || is_number(right) {
        return to_number(left).partial_cmp(&to_number(right));
    }
    Some(printed(left).cmp(&printed(right)))
}

/// `in`: an item of a list, a part of a text, a key of a map.
fn contains(state: &mut State<'_, '_>, key: &Value, args: &Args) -> Result<Value, Error> {
    let of = args.at(0);
    effort::read(state, size(&of))?;
    Ok(Value::from(match see(&of) {
        Seen::List(list) => list.items.iter().any(|item| same(item, key)),
        Seen::Text(text) => text.contains(&to_text(key)),
        Seen::Map(dict) => dict.get(&to_text(key)).is_some(),
        _ => return Err(refuse("`in` wants a list, a map or a text on its right")),
    }))
}

/// `of[key]`
pub(crate) fn get(state: &mut State<'_, '_>, of: &Value, key: &Value) -> Result<Value, Error> {
    let place = match see(key) {
        Seen::Number(_) => key.as_usize(),
        Seen::Text(text) => text.parse().ok(),
        _ => None,
    };
    let is_length = key.as_str() == Some("length");
    Ok(match see(of) {
        Seen::List(list) if is_length => Value::from(list.items.len()),
        Seen::List(list) => place
            .and_then(|place| list.items.get(place).cloned())
            .unwrap_or_default(),
        Seen::Map(dict) => dict.get(&to_text(key)).cloned().unwrap_or_default(),
        Seen::Text(text) if is_length || place.is_some() => {
            effort::read(state, text.len())?;
            match place {
                _ if is_length => Value::from(text.encode_utf16().count()),
                place => {
                    let c = text.chars().nth(place.unwrap_or_default());
                    c.map_or(Value::UNDEFINED, |c| Value::from(c.to_string()))
                }
            }
        }
        Seen::Other => of.get_item(key).unwrap_or_default(),
        _ => Value::UNDEFINED,
    })
}

fn map(state: &mut State<'_, '_>, value: &Value, _: &Args) -> Result<Value, Error> {
    let field = |key: Value| -> Result<(String, Value), Error> {
        Ok((printed(&key), value.get_item(&key)?))
    };
    let fields = value.try_iter()?.map(field).collect::<Result<_, _>>()?;
    dict(state, fields)
}

/// `range(stop)`, `range(start, stop)`, `range(start, stop, step)`
fn range(state: &mut State<'_, '_>, first: &Value, args: &Args) -> Result<Value, Error> {
    let (start, end) = match args.len() {
        0 => (0.0, to_number(first)),
        _ => (to_number(first), to_number(&args.at(0))),
    };
    let step = match to_number(&args.at(1)) {
        step if step.is_nan() || step == 0.0 => 1.0,
        step => step,
    };
    let count = ((end - start) / step).ceil();
    if count > MAX_RANGE {
        return Err(refuse(format!("range: more than {MAX_RANGE} numbers")));
    }
    // A count below one, and one that is no number, become none.
    let count = count as u32;
    let items = (0..count).map(|index| number(start + f64::from(index) * step));
    list(state, items.collect())
}

/// What a loop with one name goes over: the items of a list, the letters of a text. Of a map it
/// goes over nothing, as in nunjucks.
pub(crate) fn items(value: &Value) -> Vec<Value> {
    match see(value) {
        Seen::List(list) => list.items.clone(),
        Seen::Text(text) => text.chars().map(|c| Value::from(c.to_string())).collect(),
        _ => Vec::new(),
    }
}

/// What a loop with several names goes over: the items of a list, each a list of that length; a
/// map's keys and values.
fn pairs(state: &mut State<'_, '_>, value: &Value, args: &Args) -> Result<Value, Error> {
    let count = args.at(0).as_usize().unwrap_or(2);
    let fixed = |state: &mut State<'_, '_>, item: &Value| {
        let mut items = items(item);
        items.resize(count, Value::UNDEFINED);
        list(state, items)
    };
    let pairs = match see(value) {
        Seen::List(items) => items
            .items
            .iter()
            .map(|item| fixed(state, item))
            .collect::<Result<_, _>>()?,
        Seen::Map(dict) => {
            let pair = |(key, value): &(String, Value)| {
                let mut pair = vec![Value::from(key.as_str()), value.clone()];
                pair.resize(count, Value::UNDEFINED);
                list(state, pair)
            };
            dict.fields.iter().map(pair).collect::<Result<_, _>>()?
        }
        _ => Vec::new(),
    };
    list(state, pairs)
}
