//! Several configs in one run (`-c a.yaml -c b.yaml`): how they become one.
//!
//! As in promptfoo: `prompts`, `providers` and `tests` add up, and what stands in two configs is
//! used once; `defaultTest`, `env`, `tags`, `metadata`, `limits` and `plugins` merge key by key,
//! assertions of `defaultTest` add up; of everything else the later config's counts. Unlike
//! there, every path is relative to the config that names it, and not to the first one.
//!
//! Each config is read by itself with its own file and folder, so that messages name the right
//! place; here is only what they need from each other.

use std::collections::{HashMap, HashSet};
use std::fmt::{self, Write as _};

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::model::{Findings, Position};

/// Something that two configs may both have.
pub(crate) trait Repeated {
    /// Says what it says: equal for two that say the same, wherever they stand.
    fn digest(&self) -> ContentDigest;
    /// With its article, for a message.
    fn name(&self) -> String;
    /// Where it stands.
    fn at(&self) -> &Position;
}

/// What something says, as a digest: a config may have a hundred thousand things, too many to hold
/// each against each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct ContentDigest([u8; 32]);

impl ContentDigest {
    /// Of parts whose `Debug` form tells them apart.
    pub(crate) fn of(parts: &impl fmt::Debug) -> Self {
        let mut written = Hashed(Sha256::new());
        write!(written, "{parts:?}").expect("a digest takes everything");
        Self(written.0.finalize().into())
    }

    /// Of a value, whatever the order of keys in it.
    pub(crate) fn of_value(value: &Value) -> Self {
        let mut value = value.clone();
        value.sort_all_objects();
        Self::of(&value)
    }
}

struct Hashed(Sha256);

impl fmt::Write for Hashed {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.update(text.as_bytes());
        Ok(())
    }
}

/// A map for [`ContentDigest`], whatever the order of its keys.
pub(crate) fn in_order(map: &Map<String, Value>) -> Value {
    let mut value = Value::Object(map.clone());
    value.sort_all_objects();
    value
}

/// What configs add up to, everything once.
pub(crate) struct MergedList<T> {
    all: Vec<T>,
    /// The first that says it.
    known: HashMap<ContentDigest, usize>,
}

impl<T: Repeated> MergedList<T> {
    pub(crate) fn new() -> Self {
        Self {
            all: Vec::new(),
            known: HashMap::new(),
        }
    }

    /// Adds what one config has to what the configs before it have. Repetitions within `more` stay:
    /// which of them are meant is for the caller to know.
    pub(crate) fn add(&mut self, more: Vec<T>, findings: &Findings) {
        let before = self.all.len();
        for item in more {
            let first = *self.known.entry(item.digest()).or_insert(self.all.len());
            if first < before {
                let message = format!(
                    "{} stands in {} already: it is used once",
                    item.name(),
                    self.all[first].at()
                );
                findings.warn(item.at().clone(), message, None);
            } else {
                self.all.push(item);
            }
        }
    }

    pub(crate) fn into_all(self) -> Vec<T> {
        self.all
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
    let mut known: HashSet<ContentDigest> = items.iter().map(ContentDigest::of_value).collect();
    items.extend(
        list(value)
            .into_iter()
            .filter(|item| known.insert(ContentDigest::of_value(item))),
    );
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
