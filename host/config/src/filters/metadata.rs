//! `--filter-metadata KEY=VALUE`: tests whose metadata has the value in it.
//!
//! As in promptfoo: part of the value is enough, of a list any item counts, and several flags
//! must all match. The metadata are those of the test with `defaultTest` merged in. A key with
//! dots goes into maps where no key has that name as a whole.

use std::fmt;
use std::str::FromStr;

use serde_json::{Map, Value};

use crate::plan::Test;

/// One flag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetadataFilter {
    key: String,
    value: String,
}

/// Why a text is no such filter.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not of the form KEY=VALUE")]
pub struct MetadataError;

impl FromStr for MetadataFilter {
    type Err = MetadataError;

    fn from_str(text: &str) -> Result<Self, MetadataError> {
        match text.split_once('=') {
            Some((key, value)) if !key.is_empty() && !value.is_empty() => Ok(Self {
                key: key.to_owned(),
                value: value.to_owned(),
            }),
            _ => Err(MetadataError),
        }
    }
}

/// As on the command line.
impl fmt::Display for MetadataFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "--filter-metadata {}={}", self.key, self.value)
    }
}

impl MetadataFilter {
    /// Whether a test is meant.
    pub(super) fn matches(&self, test: &Test) -> bool {
        found(&test.metadata, &self.key).is_some_and(|value| self.is_in(value))
    }

    fn is_in(&self, value: &Value) -> bool {
        match value {
            Value::Null => false,
            Value::String(text) => text.contains(&self.value),
            Value::Array(items) => items.iter().any(|item| self.is_in(item)),
            other => other.to_string().contains(&self.value),
        }
    }

    pub(super) fn help(&self) -> String {
        format!(
            "a test is meant when its `metadata` have '{}' and '{}' is in the value",
            self.key, self.value
        )
    }
}

fn found<'a>(metadata: &'a Map<String, Value>, key: &str) -> Option<&'a Value> {
    if let Some(value) = metadata.get(key) {
        return Some(value);
    }
    let (first, rest) = key.split_once('.')?;
    found(metadata.get(first)?.as_object()?, rest)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn part_of_a_value_or_of_an_item_is_enough() {
        let metadata = json!({
            "area": "billing", "tags": ["slow", "eu-west"], "level": 12, "no": null,
            "owner": { "team": "core" }, "a.b": "dotted",
        });
        let metadata = metadata.as_object().expect("a map");
        let cases = [
            ("area=billing", true),
            ("area=bill", true),
            ("area=Bill", false),
            ("tags=eu", true),
            ("tags=us", false),
            ("level=12", true),
            ("owner.team=core", true),
            ("owner=core", true),
            ("a.b=dot", true),
            ("no=null", false),
            ("none=x", false),
        ];
        for (flag, expected) in cases {
            let filter: MetadataFilter = flag.parse().expect("a filter");
            let matches = found(metadata, &filter.key).is_some_and(|value| filter.is_in(value));
            assert_eq!(matches, expected, "{flag}");
        }
    }

    #[test]
    fn a_filter_has_a_key_and_a_value() {
        for text in ["", "a", "=b", "a="] {
            assert_eq!(text.parse::<MetadataFilter>(), Err(MetadataError), "{text}");
        }
        let filter: MetadataFilter = "a=b=c".parse().expect("a filter");
        assert_eq!(filter.to_string(), "--filter-metadata a=b=c");
    }
}
