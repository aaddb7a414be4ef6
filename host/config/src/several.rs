//! Several configs in one run (`-c a.yaml -c b.yaml`): how they become one.
//!
//! As in promptfoo: `prompts`, `providers` and `tests` add up, and what stands in two configs is
//! used once; `defaultTest`, `env`, `tags`, `metadata`, `limits` and `plugins` merge key by key,
//! assertions of `defaultTest` add up; of everything else the later config's counts. Unlike
//! there, every path is relative to the config that names it, and not to the first one.
//!
//! Each config is read by itself with its own file and folder, so that messages name the right
//! place; here is only what they need from each other.

use serde_json::{Map, Value};

use crate::plan::Position;
use crate::problem::Findings;

/// Something that two configs may both have.
pub(crate) trait Repeated {
    /// Whether `other` says the same, wherever it stands.
    fn is_same(&self, other: &Self) -> bool;
    /// With its article, for a message.
    fn name(&self) -> String;
    /// Where it stands.
    fn at(&self) -> &Position;
}

/// Adds what one config has to what the configs before it have. Repetitions within `more` stay:
/// which of them are meant is for the caller to know.
pub(crate) fn add<T: Repeated>(all: &mut Vec<T>, more: Vec<T>, findings: &Findings) {
    let before = all.len();
    for item in more {
        match all[..before].iter().find(|known| known.is_same(&item)) {
            Some(known) => {
                let message = format!(
                    "{} stands in {} already: it is used once",
                    item.name(),
                    known.at()
                );
                findings.warn(item.at().clone(), message, None);
            }
            None => all.push(item),
        }
    }
}

/// Keys whose values add up.
const ADDED: [&str; 5] = ["prompts", "providers", "scenarios", "tasks", "tests"];

/// The configs as one JSON value, for the results file.
pub(crate) fn merged_json(configs: impl IntoIterator<Item = Value>) -> Value {
    let mut configs = configs.into_iter();
    let first = configs.next().unwrap_or_default();
    configs.fold(first, |all, config| match (all, config) {
        (Value::Object(mut all), Value::Object(config)) => {
            for (key, value) in config {
                let key = if key == "targets" && all.contains_key("providers") {
                    "providers".to_owned()
                } else {
                    key
                };
                let before = all.get_mut(&key).map(Value::take);
                let value = match before {
                    Some(before) if ADDED.contains(&key.as_str()) => added(before, value),
                    Some(Value::Object(before)) => merged(before, value),
                    _ => value,
                };
                all.insert(key, value);
            }
            Value::Object(all)
        }
        (all, _) => all,
    })
}

fn added(before: Value, value: Value) -> Value {
    let list = |value| match value {
        Value::Array(items) => items,
        Value::Null => Vec::new(),
        one => vec![one],
    };
    let mut items = list(before);
    for item in list(value) {
        if !items.contains(&item) {
            items.push(item);
        }
    }
    Value::Array(items)
}

/// Maps key by key, and the maps in them; of anything else the later one.
fn merged(mut before: Map<String, Value>, value: Value) -> Value {
    let Value::Object(value) = value else {
        return value;
    };
    for (key, value) in value {
        let value = match before.get_mut(&key).map(Value::take) {
            Some(Value::Object(before)) => merged(before, value),
            Some(Value::Array(mut before)) if key == "assert" => match value {
                Value::Array(more) => {
                    before.extend(more);
                    Value::Array(before)
                }
                other => other,
            },
            _ => value,
        };
        before.insert(key, value);
    }
    Value::Object(before)
}

#[cfg(test)]
mod tests;
