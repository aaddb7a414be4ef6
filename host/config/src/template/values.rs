//! JSON values as templates see them.
//!
//! Templates were written for nunjucks, where values print the JavaScript way: `1.0` as `1`, a
//! list as its items with commas, `null` as nothing; and where lists and maps are always true.
//! One difference, on purpose: a map prints as JSON, not as `[object Object]`, which no prompt
//! ever wanted; so does a list that holds maps. Whole numbers keep all their digits.

use std::collections::HashMap;
use std::fmt::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use minijinja::Value;
use minijinja::value::{Enumerator, Object, ObjectRepr, ValueKind};
use serde_json::{Map, Number, Value as Json};

use super::custom::{RESULTS, Results, Shared};

/// How deep lists and maps that a template makes may nest: as deep as those of a config.
pub(crate) const MAX_NESTING: u32 = 64;

/// Variables of a case: the root of a template's names.
#[derive(Debug)]
pub(crate) struct Scope {
    vars: Arc<Map<String, Json>>,
    /// What filters of the config gave.
    results: Option<Value>,
    /// Lists and maps that were asked for already.
    made: Mutex<HashMap<String, Value>>,
}

impl Scope {
    pub(crate) fn new(vars: Arc<Map<String, Json>>, results: Option<&Arc<Results>>) -> Self {
        let results = results.map(|results| Value::from_object(Shared(results.clone())));
        Self {
            vars,
            results,
            made: Mutex::default(),
        }
    }
}

impl Object for Scope {
    fn get_value_by_str(self: &Arc<Self>, key: &str) -> Option<Value> {
        if key == RESULTS {
            return self.results.clone();
        }
        let json = self.vars.get(key)?;
        if !(json.is_array() || json.is_object() || json.is_string()) {
            return Some(value(json));
        }
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(value) = made.get(key) {
            return Some(value.clone());
        }
        let value = value(json);
        made.insert(key.to_owned(), value.clone());
        Some(value)
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.get_value_by_str(key.as_str()?)
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Values(
            self.vars
                .keys()
                .map(|key| Value::from(key.as_str()))
                .collect(),
        )
    }
}

/// A list: always true.
#[derive(Debug)]
pub(crate) struct List {
    pub(crate) items: Vec<Value>,
    nesting: u32,
}

impl Object for List {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Seq
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.items.get(key.as_usize()?).cloned()
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Seq(self.items.len())
    }

    fn is_true(self: &Arc<Self>) -> bool {
        true
    }
}

/// A map in the order of its keys' first writing: always true.
#[derive(Debug)]
pub(crate) struct Dict {
    pub(crate) fields: Vec<(String, Value)>,
    places: HashMap<String, usize>,
    nesting: u32,
}

impl Dict {
    pub(crate) fn get(&self, key: &str) -> Option<&Value> {
        self.places.get(key).map(|place| &self.fields[*place].1)
    }
}

impl Object for Dict {
    fn get_value_by_str(self: &Arc<Self>, key: &str) -> Option<Value> {
        self.get(key).cloned()
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.get_value_by_str(key.as_str()?)
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        let keys = self.fields.iter().map(|(key, _)| Value::from(key.as_str()));
        Enumerator::Values(keys.collect())
    }

    fn is_true(self: &Arc<Self>) -> bool {
        true
    }
}

/// The number that is none: never true.
#[derive(Debug)]
struct NotANumber;

impl Object for NotANumber {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn is_true(self: &Arc<Self>) -> bool {
        false
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NaN")
    }
}

/// What a value is in JavaScript's eyes.
pub(crate) enum Seen<'a> {
    Undefined,
    Null,
    Bool(bool),
    Number(f64),
    Text(&'a str),
    List(&'a List),
    Map(&'a Dict),
    /// The engine's own, like `loop`.
    Other,
}

/// Looks at a value.
pub(crate) fn see(value: &Value) -> Seen<'_> {
    if let Some(text) = value.as_str() {
        return Seen::Text(text);
    }
    if let Some(list) = value.downcast_object_ref::<List>() {
        return Seen::List(list);
    }
    if let Some(dict) = value.downcast_object_ref::<Dict>() {
        return Seen::Map(dict);
    }
    if value.downcast_object_ref::<NotANumber>().is_some() {
        return Seen::Number(f64::NAN);
    }
    match value.kind() {
        ValueKind::Undefined => Seen::Undefined,
        ValueKind::None => Seen::Null,
        ValueKind::Bool => Seen::Bool(value.is_true()),
        ValueKind::Number => Seen::Number(f64::try_from(value.clone()).unwrap_or(f64::NAN)),
        _ => Seen::Other,
    }
}

/// How deep a value nests.
fn nesting(value: &Value) -> u32 {
    match see(value) {
        Seen::List(list) => list.nesting,
        Seen::Map(dict) => dict.nesting,
        _ => 0,
    }
}

/// A list of values; `None` if it would nest too deep.
pub(crate) fn list(items: Vec<Value>) -> Option<Value> {
    let nesting = items.iter().map(nesting).max().unwrap_or_default() + 1;
    (nesting <= MAX_NESTING).then(|| Value::from_object(List { items, nesting }))
}

/// A map of values; `None` if it would nest too deep.
pub(crate) fn dict(fields: impl IntoIterator<Item = (String, Value)>) -> Option<Value> {
    let mut dict = Dict {
        fields: Vec::new(),
        places: HashMap::new(),
        nesting: 1,
    };
    for (key, value) in fields {
        dict.nesting = dict.nesting.max(nesting(&value) + 1);
        if let Some(place) = dict.places.get(&key) {
            dict.fields[*place].1 = value;
        } else {
            dict.places.insert(key.clone(), dict.fields.len());
            dict.fields.push((key, value));
        }
    }
    (dict.nesting <= MAX_NESTING).then(|| Value::from_object(dict))
}

/// A number, whole if it has no fraction and fits.
pub(crate) fn number(number: f64) -> Value {
    if number.is_nan() {
        return Value::from_object(NotANumber);
    }
    whole(number).map_or(Value::from(number), Value::from)
}

/// A JSON value for a template.
pub(crate) fn value(json: &Json) -> Value {
    match json {
        Json::Null => Value::from(()),
        Json::Bool(value) => Value::from(*value),
        Json::Number(given) => match (given.as_i64(), given.as_u64(), given.as_f64()) {
            (Some(whole), ..) => Value::from(whole),
            (_, Some(whole), _) => Value::from(whole),
            (.., float) => number(float.unwrap_or_default()),
        },
        Json::String(text) => Value::from(text.as_str()),
        // What is nested deeper than a template may make was nested so by its reader.
        Json::Array(items) => Value::from_object(List {
            items: items.iter().map(value).collect(),
            nesting: 1 + depth(json),
        }),
        Json::Object(fields) => {
            let fields: Vec<(String, Value)> = fields
                .iter()
                .map(|(key, json)| (key.clone(), value(json)))
                .collect();
            let places = fields.iter().enumerate();
            Value::from_object(Dict {
                places: places
                    .map(|(place, (key, _))| (key.clone(), place))
                    .collect(),
                nesting: 1 + depth(json),
                fields,
            })
        }
    }
}

/// How deep JSON nests below its first level; deeper than allowed counts as one more than that.
fn depth(json: &Json) -> u32 {
    fn below(json: &Json, left: u32) -> u32 {
        if left == 0 {
            return 1;
        }
        let inner = |json: &Json| {
            if json.is_array() || json.is_object() {
                1 + below(json, left - 1)
            } else {
                0
            }
        };
        match json {
            Json::Array(items) => items.iter().map(inner).max().unwrap_or_default(),
            Json::Object(fields) => fields.values().map(inner).max().unwrap_or_default(),
            _ => 0,
        }
    }
    below(json, MAX_NESTING)
}

/// A template's value as JSON; what is undefined is `None`, as is what isn't data.
pub(crate) fn json(value: &Value) -> Option<Json> {
    Some(match see(value) {
        Seen::Undefined | Seen::Other => return None,
        Seen::Null => Json::Null,
        Seen::Bool(value) => Json::Bool(value),
        Seen::Number(float) => {
            let exact = value.is_integer().then(|| serde_json::to_value(value).ok());
            exact.flatten().unwrap_or_else(|| match whole(float) {
                Some(whole) => Json::from(whole),
                None => Number::from_f64(float).map_or(Json::Null, Json::Number),
            })
        }
        Seen::Text(text) => Json::from(text),
        Seen::List(list) => list
            .items
            .iter()
            .map(|item| json(item).unwrap_or_default())
            .collect(),
        Seen::Map(dict) => {
            let field = |(key, value): &(String, Value)| Some((key.clone(), json(value)?));
            Json::Object(dict.fields.iter().filter_map(field).collect())
        }
    })
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
    if items.iter().any(holds_maps) {
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

fn holds_maps(json: &Json) -> bool {
    match json {
        Json::Object(_) => true,
        Json::Array(items) => items.iter().any(holds_maps),
        _ => false,
    }
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
    match see(value) {
        Seen::Undefined | Seen::Null => Ok(()),
        Seen::Text(text) => out.write_str(text),
        Seen::Bool(value) => out.write_str(if value { "true" } else { "false" }),
        Seen::Number(float) if !value.is_integer() => out.write_str(&float_text(float)),
        Seen::List(_) | Seen::Map(_) => out.write_str(&text(&json(value).unwrap_or_default())),
        Seen::Number(_) | Seen::Other => write!(out, "{value}"),
    }
}

/// What `{{ … }}` prints for a value.
pub(crate) fn printed(value: &Value) -> String {
    let mut text = String::new();
    print(&mut text, value).expect("a string takes everything");
    text
}

/// How large a value is: the bytes of its text, about.
pub(crate) fn size(value: &Value) -> usize {
    match see(value) {
        Seen::Text(text) => text.len(),
        Seen::List(list) => list.items.iter().map(|item| 1 + size(item)).sum(),
        Seen::Map(dict) => {
            let field = |(key, value): &(String, Value)| key.len() + 6 + size(value);
            dict.fields.iter().map(field).sum()
        }
        _ => 8,
    }
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
            (json!([[{}]]), "[[{}]]"),
            (json!([[1, 2], [3]]), "1,2,3"),
        ];
        for (json, expected) in cases {
            assert_eq!(printed(&value(&json)), expected, "{json}");
            assert_eq!(text(&json), expected, "{json}");
        }
    }
}
