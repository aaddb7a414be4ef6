//! Operators as in JavaScript: they work on any two values; only `in` refuses some.

use std::cmp::Ordering;

use crate::meter::{Meter, Outcome, refuse};
use crate::numbers::{is_kept, to_number};
use crate::value::Value;

/// An operator with two operands that doesn't short-circuit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operator {
    Equal,
    NotEqual,
    Same,
    NotSame,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Plus,
    Minus,
    Concat,
    Times,
    Divide,
    Remainder,
    FloorDivide,
    Power,
    In,
    NotIn,
}

impl Operator {
    /// Whether nunjucks writes it as a call: nothing can come between its operands.
    pub(crate) fn is_call(self) -> bool {
        matches!(
            self,
            Self::FloorDivide | Self::Power | Self::In | Self::NotIn
        )
    }

    /// Works it out.
    pub(crate) fn apply<'a>(
        self,
        meter: &mut Meter,
        left: &Value<'a>,
        right: &Value<'a>,
    ) -> Outcome<Value<'a>> {
        Ok(match self {
            Self::Equal => Value::Bool(equal(meter, left, right)?),
            Self::NotEqual => Value::Bool(!equal(meter, left, right)?),
            Self::Same => Value::Bool(same(meter, left, right)?),
            Self::NotSame => Value::Bool(!same(meter, left, right)?),
            Self::In => Value::Bool(contains(meter, right, left)?),
            Self::NotIn => Value::Bool(!contains(meter, right, left)?),
            Self::Less | Self::LessOrEqual | Self::Greater | Self::GreaterOrEqual => {
                let order = order(meter, left, right)?;
                Value::Bool(order.is_some_and(|order| self.holds(order)))
            }
            Self::Concat => return joined(meter, left, right),
            Self::Plus if joins(left) || joins(right) => return joined(meter, left, right),
            _ => self.math(left, right),
        })
    }

    fn holds(self, order: Ordering) -> bool {
        match self {
            Self::Less => order.is_lt(),
            Self::LessOrEqual => order.is_le(),
            Self::Greater => order.is_gt(),
            _ => order.is_ge(),
        }
    }

    fn math<'a>(self, left: &Value<'_>, right: &Value<'_>) -> Value<'a> {
        // Whole numbers keep all digits as long as they fit.
        if let (Value::Whole(left), Value::Whole(right)) = (left, right) {
            let exact = match self {
                Self::Plus => left.checked_add(*right),
                Self::Minus => left.checked_sub(*right),
                Self::Times => left.checked_mul(*right),
                _ => None,
            };
            if let Some(exact) = exact.filter(|exact| is_kept(*exact)) {
                return Value::Whole(exact);
            }
        }
        let (left, right) = (to_number(left), to_number(right));
        Value::number(match self {
            Self::Plus => left + right,
            Self::Minus => left - right,
            Self::Times => left * right,
            Self::Divide => left / right,
            Self::FloorDivide => (left / right).floor(),
            Self::Remainder => left % right,
            // In Rust one to the power of what is no number is one.
            Self::Power if right.is_nan() => f64::NAN,
            Self::Power => left.powf(right),
            _ => unreachable!("the others give no number"),
        })
    }
}

/// Whether `+` joins texts rather than adds.
fn joins(value: &Value<'_>) -> bool {
    value.as_text().is_some() || is_object(value)
}

fn is_object(value: &Value<'_>) -> bool {
    matches!(value, Value::Pending | Value::List(_) | Value::Map(_))
}

/// Two texts as one, counted before it is made.
fn joined<'a>(meter: &mut Meter, left: &Value<'a>, right: &Value<'a>) -> Outcome<Value<'a>> {
    let (left, right) = (meter.string(left)?, meter.string(right)?);
    meter.make(left.len().saturating_add(right.len()))?;
    Ok(Value::from([left, right].concat()))
}

/// Equal as JavaScript means it: every bit but the sign of zero.
#[expect(clippy::float_cmp, reason = "templates compare numbers exactly")]
pub(crate) fn exactly(left: f64, right: f64) -> bool {
    left == right
}

/// `===`. Lists and maps are the same if they are one and the same, as in JavaScript.
pub(crate) fn same(meter: &mut Meter, left: &Value<'_>, right: &Value<'_>) -> Outcome<bool> {
    if let (Some(left), Some(right)) = (left.as_text(), right.as_text()) {
        meter.read(left.len().min(right.len()))?;
        return Ok(left == right);
    }
    Ok(match (left, right) {
        (Value::Undefined, Value::Undefined) | (Value::Null, Value::Null) => true,
        (Value::Bool(left), Value::Bool(right)) => left == right,
        (Value::Whole(left), Value::Whole(right)) => left == right,
        (Value::Whole(_) | Value::Float(_), Value::Whole(_) | Value::Float(_)) => {
            exactly(to_number(left), to_number(right))
        }
        (Value::List(left), Value::List(right)) => left.is(right),
        (Value::Map(left), Value::Map(right)) => left.is(right),
        _ => false,
    })
}

/// `==`
fn equal(meter: &mut Meter, left: &Value<'_>, right: &Value<'_>) -> Outcome<bool> {
    let is_nothing = |value: &Value<'_>| matches!(value, Value::Undefined | Value::Null);
    let is_number = |value: &Value<'_>| matches!(value, Value::Whole(_) | Value::Float(_));
    if is_nothing(left) || is_nothing(right) {
        return Ok(is_nothing(left) && is_nothing(right));
    }
    let (text, object) = match (left.as_text(), right.as_text()) {
        (Some(_), Some(_)) => return same(meter, left, right),
        (Some(text), None) => (Some(text), right),
        (None, Some(text)) => (Some(text), left),
        (None, None) => (None, left),
    };
    match text {
        Some(text) if is_object(object) => Ok(*meter.text(object)? == **text),
        None if is_object(left) && is_object(right) || is_number(left) && is_number(right) => {
            same(meter, left, right)
        }
        _ => Ok(exactly(to_number(left), to_number(right))),
    }
}

/// Which of two values is less: by number if one of them is something like one, else by text.
fn order(meter: &mut Meter, left: &Value<'_>, right: &Value<'_>) -> Outcome<Option<Ordering>> {
    let is_text = |value: &Value<'_>| joins(value);
    if !is_text(left) || !is_text(right) {
        return Ok(to_number(left).partial_cmp(&to_number(right)));
    }
    let (left, right) = (meter.text(left)?, meter.text(right)?);
    meter.read(left.len().min(right.len()))?;
    Ok(Some(left.cmp(&right)))
}

/// `key in of`: an item of a list, a part of a text, a key of a map.
fn contains(meter: &mut Meter, of: &Value<'_>, key: &Value<'_>) -> Outcome<bool> {
    match of {
        Value::List(list) => place_of(meter, list.iter(), key).map(|place| place.is_some()),
        Value::Text(text) | Value::Safe(text) => {
            meter.read(text.len())?;
            Ok(text.contains(&*meter.string(key)?))
        }
        Value::Map(map) => Ok(map.get(&meter.string(key)?).is_some()),
        _ => refuse("`in` wants a list, a map or a text on its right"),
    }
}

/// The first place of what is the same as `wanted`.
pub(crate) fn place_of<'a>(
    meter: &mut Meter,
    items: impl Iterator<Item = Value<'a>>,
    wanted: &Value<'_>,
) -> Outcome<Option<usize>> {
    for (place, item) in items.enumerate() {
        meter.read(8)?;
        if same(meter, &item, wanted)? {
            return Ok(Some(place));
        }
    }
    Ok(None)
}

/// `of[key]`
pub(crate) fn get<'a>(meter: &mut Meter, of: &Value<'a>, key: &Value<'_>) -> Outcome<Value<'a>> {
    let place = match key {
        Value::Whole(place) => usize::try_from(*place).ok(),
        _ => key.as_text().and_then(|text| text.parse().ok()),
    };
    let is_length = key.as_text().is_some_and(|key| &**key == "length");
    Ok(match (of, place) {
        (Value::List(list), _) if is_length => Value::count(list.len()),
        (Value::List(list), Some(place)) => list.get(place).unwrap_or_default(),
        (Value::Map(map), _) => map.get(&meter.string(key)?).unwrap_or_default(),
        (Value::Function(function), _) => {
            let name = key.as_text().map_or("", |name| name);
            function.attribute(name)
        }
        (Value::Text(text) | Value::Safe(text), _) if is_length => {
            meter.read(text.len())?;
            Value::count(text.encode_utf16().count())
        }
        (Value::Text(text) | Value::Safe(text), Some(place)) => {
            meter.read(text.len())?;
            let letter = text.chars().nth(place);
            letter.map_or(Value::Undefined, Value::from)
        }
        _ => Value::Undefined,
    })
}
