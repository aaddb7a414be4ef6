//! What tells columns apart whose providers are called the same: what differs in their configs, or else a number.
//!
//! Compared and told is what a results file may say of a config, so that no secret stands in a name.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use runner_config::plan::{Column, Provider};
use runner_config::redacted_config;
use serde_json::{Map, Value};

/// Keys of a config that are told.
const MOST_KEYS: usize = 3;
/// Characters of a value.
const VALUE_CHARS: usize = 24;

/// For each column what its provider is beside its name, where another one has that, too.
pub(super) fn of(columns: &[Arc<Column>]) -> Vec<Option<String>> {
    let mut by_name: BTreeMap<&str, Vec<&Arc<Provider>>> = BTreeMap::new();
    for provider in columns.iter().map(|column| &column.provider) {
        let named = by_name.entry(provider.called()).or_default();
        if !named.iter().any(|it| Arc::ptr_eq(it, provider)) {
            named.push(provider);
        }
    }
    by_name.retain(|_, named| named.len() > 1);
    let told = by_name.into_values().flat_map(|named| {
        let configs = named.iter().map(|it| redacted_config(&it.config));
        let told = told(&configs.collect::<Vec<_>>());
        named.into_iter().map(Arc::as_ptr).zip(told)
    });
    let told: BTreeMap<*const Provider, String> = told.collect();
    let variant = |column: &Arc<Column>| told.get(&Arc::as_ptr(&column.provider)).cloned();
    columns.iter().map(variant).collect()
}

/// What each of these has that not all have.
fn told(configs: &[Map<String, Value>]) -> Vec<String> {
    let leaves: Vec<BTreeMap<String, String>> = configs.iter().map(leaves).collect();
    let keys: BTreeSet<&String> = leaves.iter().flat_map(BTreeMap::keys).collect();
    let differs = |key: &&&String| {
        leaves
            .iter()
            .any(|it| it.get(**key) != leaves[0].get(**key))
    };
    let keys: Vec<&String> = keys
        .iter()
        .filter(differs)
        .copied()
        .take(MOST_KEYS)
        .collect();
    let name = |leaves: &BTreeMap<String, String>| {
        let parts = keys.iter().map(|key| match leaves.get(*key) {
            Some(value) => format!("{key} {value}"),
            None => format!("no {key}"),
        });
        parts.collect::<Vec<_>>().join(", ")
    };
    let names: Vec<String> = leaves.iter().map(name).collect();
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    for name in &names {
        *seen.entry(name).or_default() += 1;
    }
    let numbered = |(at, name): (usize, &String)| {
        if seen[&**name] == 1 {
            return name.clone();
        }
        format!("{name} #{}", at + 1).trim_start().to_owned()
    };
    names.iter().enumerate().map(numbered).collect()
}

/// The values of a config by their paths, in short.
fn leaves(config: &Map<String, Value>) -> BTreeMap<String, String> {
    let mut leaves = BTreeMap::new();
    let mut left: Vec<(String, &Value)> =
        config.iter().map(|(key, it)| (key.clone(), it)).collect();
    while let Some((path, value)) = left.pop() {
        match value {
            Value::Object(inner) => {
                left.extend(inner.iter().map(|(key, it)| (format!("{path}.{key}"), it)));
            }
            value => {
                let text = value
                    .as_str()
                    .map_or_else(|| value.to_string(), str::to_owned);
                let mut short: String = text.chars().take(VALUE_CHARS).collect();
                if short.len() < text.len() {
                    short.push('…');
                }
                leaves.insert(path, short);
            }
        }
    }
    leaves
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_differs_is_told_and_else_a_number() {
        let of = |configs: Value| {
            let configs = configs.as_array().expect("configs").iter();
            told(
                &configs
                    .map(|it| it.as_object().expect("a map").clone())
                    .collect::<Vec<_>>(),
            )
        };
        assert_eq!(
            of(json!([{ "temperature": 0, "seed": 1 }, { "temperature": 0.7, "seed": 1 }])),
            ["temperature 0", "temperature 0.7"]
        );
        assert_eq!(
            of(json!([{ "reasoning": { "effort": "high" } }, {}])),
            ["reasoning.effort high", "no reasoning.effort"]
        );
        assert_eq!(of(json!([{ "a": 1 }, { "a": 1 }])), ["#1", "#2"]);
        assert_eq!(
            of(json!([{ "a": 1 }, { "a": 2 }, { "a": 2 }])),
            ["a 1", "a 2 #2", "a 2 #3"]
        );
        let long = "x".repeat(30);
        assert_eq!(
            of(json!([{ "a": long }, {}]))[0],
            format!("a {}…", "x".repeat(24))
        );
    }
}
