//! What tells columns apart whose providers are called the same: what differs in their configs, or else a number.
//!
//! Compared and told is what a results file may say of a config: without its secrets, and with the names of variables
//! in place of what the environment filled in. Nothing is cut before what the run masks is out of it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use runner_config::plan::{Column, Places, Provider};
use runner_config::redacted_config;
use runner_gateway::Masker;
use serde_json::{Map, Value};

/// Keys of a config that are told.
const MOST_KEYS: usize = 3;
/// The last characters of a key's path.
const PATH_CHARS: usize = 40;
/// The first characters of a value.
const VALUE_CHARS: usize = 24;

/// For each column what its provider is beside its name, where another one has that, too.
pub(super) fn of(columns: &[Arc<Column>], masker: &Masker) -> Vec<Option<String>> {
    let mut by_name: BTreeMap<&str, Vec<&Arc<Provider>>> = BTreeMap::new();
    for provider in columns.iter().map(|column| &column.provider) {
        let named = by_name.entry(provider.called()).or_default();
        if !named.iter().any(|it| Arc::ptr_eq(it, provider)) {
            named.push(provider);
        }
    }
    by_name.retain(|_, named| named.len() > 1);
    let told = by_name.into_values().flat_map(|named| {
        let configs = named.iter().map(|it| unfilled(it));
        let told = told(&configs.collect::<Vec<_>>(), masker);
        named.into_iter().map(Arc::as_ptr).zip(told)
    });
    let told: BTreeMap<*const Provider, String> = told.collect();
    let variant = |column: &Arc<Column>| told.get(&Arc::as_ptr(&column.provider)).cloned();
    columns.iter().map(variant).collect()
}

/// The config with variables in place of their values.
fn unfilled(provider: &Provider) -> Map<String, Value> {
    let mut config = Value::Object(redacted_config(&provider.config));
    if !provider.env_reads.is_empty() {
        unfill(&mut config, "", provider);
    }
    match config {
        Value::Object(config) => config,
        _ => unreachable!("it was a map"),
    }
}

fn unfill(value: &mut Value, pointer: &str, provider: &Provider) {
    if let Value::Object(fields) = value {
        for (key, value) in fields {
            unfill(value, &Places::pointer(pointer, key), provider);
        }
        return;
    }
    let reads = provider.env_reads.iter();
    let reads = reads.filter(|read| provider.places.may_hold(pointer, &read.at));
    let names = reads.map(|read| format!("{{{{env.{}}}}}", read.name));
    let names: Vec<String> = names.collect();
    if !names.is_empty() {
        *value = names.join(" ").into();
    }
}

/// What each of these has that not all have.
fn told(configs: &[Map<String, Value>], masker: &Masker) -> Vec<String> {
    let leaves: Vec<BTreeMap<String, &Value>> = configs.iter().map(leaves).collect();
    let keys: BTreeSet<&String> = leaves.iter().flat_map(BTreeMap::keys).collect();
    let differs = |key: &&&String| {
        leaves
            .iter()
            .any(|it| it.get(**key) != leaves[0].get(**key))
    };
    let keys = keys.iter().filter(differs).copied().take(MOST_KEYS);
    let keys: Vec<(&String, String)> = keys.map(|key| (key, end(&masker.mask(key)))).collect();
    let name = |leaves: &BTreeMap<String, &Value>| {
        let parts = keys.iter().map(|(key, shown)| match leaves.get(*key) {
            Some(Value::String(text)) => format!("{shown} {}", begin(&masker.mask(text))),
            Some(value) => format!("{shown} {}", begin(&masker.mask(&value.to_string()))),
            None => format!("no {shown}"),
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

/// The values of a config by their paths.
fn leaves(config: &Map<String, Value>) -> BTreeMap<String, &Value> {
    let mut leaves = BTreeMap::new();
    let mut left: Vec<(String, &Value)> =
        config.iter().map(|(key, it)| (key.clone(), it)).collect();
    while let Some((path, value)) = left.pop() {
        match value {
            Value::Object(inner) => {
                left.extend(inner.iter().map(|(key, it)| (format!("{path}.{key}"), it)));
            }
            value => _ = leaves.insert(path, value),
        }
    }
    leaves
}

/// The beginning of a value.
fn begin(text: &str) -> String {
    match text.char_indices().nth(VALUE_CHARS) {
        Some((cut, _)) => format!("{}…", &text[..cut]),
        None => text.to_owned(),
    }
}

/// The end of a path.
fn end(path: &str) -> String {
    match path.char_indices().nth_back(PATH_CHARS) {
        Some((cut, sign)) => format!("…{}", &path[cut + sign.len_utf8()..]),
        None => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use runner_gateway::Secret;
    use serde_json::json;

    use super::*;

    #[test]
    fn what_differs_is_told_and_else_a_number() {
        let of = |configs: Value| {
            let configs: Vec<Map<_, _>> = serde_json::from_value(configs).expect("configs");
            told(&configs, &Masker::new([&Secret::new("a".repeat(30))]))
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
        let secret = |key: &str| json!([{ key: format!("it is {}", "a".repeat(30)) }, {}]);
        assert_eq!(of(secret("k"))[0], "k it is [masked]");
        let name = of(secret(&"a".repeat(30)))[1].clone();
        assert_eq!(name, "no [masked]");
        let name = of(json!([{ "x": { "k".repeat(1 << 20): 1 } }, {}]))[1].clone();
        assert_eq!(name, format!("no …{}", "k".repeat(40)));
    }
}
