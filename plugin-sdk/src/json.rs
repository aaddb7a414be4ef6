//! JSON texts of the contract, read and written with errors in the contract's own words.
//!
//! The contract hands JSON over as text (`…-json`), so that guests in any language read only
//! what they need. These few functions spare a plugin the mapping of `serde_json` errors.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::Error;

pub use serde_json::{Map, Value, json};

/// Reads a JSON text. `what` names it in the error, for example "config".
///
/// # Errors
/// `invalid-request` if the text is not JSON of the wanted shape.
pub fn read<T: DeserializeOwned>(what: &str, text: &str) -> Result<T, Error> {
    serde_json::from_str(text)
        .map_err(|error| Error::invalid_request(format!("{what} cannot be read: {error}")))
}

/// Reads a JSON text that is an object; where there is none, an object of nothing. `what` is as in
/// [`read`].
///
/// # Errors
/// As [`read`].
pub fn object(what: &str, text: Option<&str>) -> Result<Map<String, Value>, Error> {
    text.map_or_else(|| Ok(Map::new()), |text| read(what, text))
}

/// Writes a value as compact JSON.
///
/// # Errors
/// `other` if the value has no JSON form: a map whose keys are not strings.
pub fn write<T: Serialize + ?Sized>(what: &str, value: &T) -> Result<String, Error> {
    serde_json::to_string(value)
        .map_err(|error| Error::other(format!("{what} has no JSON form: {error}")))
}

/// Whether two values mean the same: `1` and `1.0` do, and the keys of an object have no order.
/// Whole numbers are compared exactly.
pub fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(a), Value::Number(b)) => {
            a == b || ((a.is_f64() || b.is_f64()) && a.as_f64() == b.as_f64())
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            let found = |(key, a): (&String, &Value)| b.get(key).is_some_and(|b| same(a, b));
            a.len() == b.len() && a.iter().all(found)
        }
        _ => left == right,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_compared_by_meaning() {
        for (left, right, expected) in [
            (
                json!({"a": 1, "b": [1.0]}),
                json!({"b": [1], "a": 1.0}),
                true,
            ),
            (json!({"a": 1}), json!({"a": 1, "b": null}), false),
            (json!([1, 2]), json!([2, 1]), false),
            (json!("1"), json!(1), false),
            (json!(null), json!(false), false),
            (
                json!(9_007_199_254_740_993_u64),
                json!(9_007_199_254_740_992_u64),
                false,
            ),
        ] {
            assert_eq!(same(&left, &right), expected, "{left} and {right}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        let error = read::<u8>("config", "\"x\"").expect_err("no number");
        assert_eq!(error.code, crate::ErrorCode::InvalidRequest);
        assert!(error.message.starts_with("config cannot be read: "));
    }
}
