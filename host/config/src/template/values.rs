//! JSON values as templates see them.
//!
//! Templates were written for nunjucks, where values print the JavaScript way: `1.0` as `1`, a
//! list as its items with commas, `null` as nothing; and where lists and maps are always true.
//! One difference, on purpose: a map prints as JSON, not as `[object Object]`, which no prompt
//! ever wanted; so does a list that holds maps or lists.

use std::fmt::{self, Write};
use std::sync::Arc;

use minijinja::Value;
use minijinja::value::{Enumerator, Object, ObjectRepr, ValueKind};
use serde_json::{Map, Number, Value as Json};

/// Variables of a case: the root of a template's names.
#[derive(Debug)]
pub(crate) struct Scope(pub(crate) Arc<Map<String, Json>>);

impl Object for Scope {
    fn get_value_by_str(self: &Arc<Self>, key: &str) -> Option<Value> {
        self.0.get(key).map(value)
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.get_value_by_str(key.as_str()?)
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Values(self.0.keys().map(|key| Value::from(key.as_str())).collect())
    }
}

#[derive(Debug)]
struct List(Vec<Json>);

impl Object for List {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Seq
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        if key.as_str() == Some("length") {
            return Some(Value::from(self.0.len()));
        }
        self.0.get(key.as_usize()?).map(value)
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Seq(self.0.len())
    }

    fn is_true(self: &Arc<Self>) -> bool {
        true
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&list_text(&self.0))
    }
}

#[derive(Debug)]
struct Dict(Map<String, Json>);

impl Object for Dict {
    fn get_value_by_str(self: &Arc<Self>, key: &str) -> Option<Value> {
        self.0.get(key).map(value)
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        match key.as_str() {
            Some(key) => self.get_value_by_str(key),
            None => self.get_value_by_str(&key.to_string()),
        }
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Values(self.0.keys().map(|key| Value::from(key.as_str())).collect())
    }

    fn is_true(self: &Arc<Self>) -> bool {
        true
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&Json::Object(self.0.clone()).to_string())
    }
}

/// A JSON value for a template.
pub(crate) fn value(json: &Json) -> Value {
    match json {
        Json::Null => Value::from(()),
        Json::Bool(value) => Value::from(*value),
        Json::Number(number) => match (number.as_i64(), number.as_u64(), number.as_f64()) {
            (Some(number), ..) => Value::from(number),
            (_, Some(number), _) => Value::from(number),
            (.., number) => {
                whole(number.unwrap_or_default()).map_or(Value::from(number), Value::from)
            }
        },
        Json::String(text) => Value::from(text.as_str()),
        Json::Array(items) => Value::from_object(List(items.clone())),
        Json::Object(fields) => Value::from_object(Dict(fields.clone())),
    }
}

/// The text of a JSON value, as `{{ … }}` prints it.
pub(crate) fn text(json: &Json) -> String {
    match json {
        Json::Null => String::new(),
        Json::String(text) => text.clone(),
        Json::Bool(value) => value.to_string(),
        Json::Number(number) => number_text(number),
        Json::Array(items) => list_text(items),
        Json::Object(_) => json.to_string(),
    }
}

fn list_text(items: &[Json]) -> String {
    if items.iter().any(|item| item.is_array() || item.is_object()) {
        return Json::Array(items.to_vec()).to_string();
    }
    let mut joined = String::new();
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            joined.push(',');
        }
        joined.push_str(&text(item));
    }
    joined
}

fn number_text(number: &Number) -> String {
    match number.as_f64().filter(|_| number.is_f64()) {
        Some(float) => float_text(float),
        None => number.to_string(),
    }
}

/// A number without a fraction that fits.
fn whole(number: f64) -> Option<i64> {
    (number.fract() == 0.0 && number.abs() < 1e15).then_some(number as i64)
}

/// A float the JavaScript way.
pub(crate) fn float_text(number: f64) -> String {
    if let Some(whole) = whole(number) {
        return whole.to_string();
    }
    if number.is_nan() {
        return "NaN".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 {
            "Infinity"
        } else {
            "-Infinity"
        }
        .to_owned();
    }
    if (1e-6..1e21).contains(&number.abs()) {
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

/// Writes what `{{ … }}` prints for a value.
pub(crate) fn print(out: &mut impl Write, value: &Value) -> fmt::Result {
    if value.is_undefined() || value.is_none() {
        return Ok(());
    }
    if let Some(text) = value.as_str() {
        return out.write_str(text);
    }
    if value.is_number() && !value.is_integer() {
        let float = f64::try_from(value.clone()).unwrap_or_default();
        return out.write_str(&float_text(float));
    }
    match value.kind() {
        ValueKind::Bool => out.write_str(if value.is_true() { "true" } else { "false" }),
        // Lists and maps that the template made itself would print as in Python.
        ValueKind::Seq | ValueKind::Iterable | ValueKind::Map if !is_json(value) => {
            match serde_json::to_value(value) {
                Ok(json) => out.write_str(&text(&json)),
                Err(_) => write!(out, "{value}"),
            }
        }
        _ => write!(out, "{value}"),
    }
}

/// Whether a list or map came out of JSON.
fn is_json(value: &Value) -> bool {
    value.downcast_object_ref::<List>().is_some() || value.downcast_object_ref::<Dict>().is_some()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_print_as_in_javascript_but_maps_as_json() {
        let cases = [
            (json!(null), ""),
            (json!(true), "true"),
            (json!(1.0), "1"),
            (json!(-0.5), "-0.5"),
            (json!(0.1), "0.1"),
            (json!(1e21), "1e+21"),
            (json!(1.5e-7), "1.5e-7"),
            (json!(9_007_199_254_740_993_i64), "9007199254740993"),
            (json!([1, 2]), "1,2"),
            (json!([1.0, null, "a"]), "1,,a"),
            (json!([]), ""),
            (json!({"a": [1]}), r#"{"a":[1]}"#),
            (json!([{"a": 1}]), r#"[{"a":1}]"#),
        ];
        for (json, expected) in cases {
            let mut printed = String::new();
            print(&mut printed, &value(&json)).expect("a string takes everything");
            assert_eq!(printed, expected, "{json}");
            assert_eq!(text(&json), expected, "{json}");
        }
    }
}
