//! What the program's own plugins serve, as parts of the schema: types of assertions with their values,
//! prefixes of providers with their `config`.
//!
//! The config knows no plugin when it reads; this is for editors alone. `served.json` beside this file is what
//! the components say of themselves: a test of `runner-eval` holds it against them and writes it anew. What people
//! want to be told of a type or key is in [`super::words`] and [`super::knobs`].

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{about, keys, knobs, reference, words};

/// What a plugin serves.
#[derive(Debug, Deserialize)]
struct ServedPlugin {
    name: String,
    description: String,
    prefixes: Vec<String>,
    /// The schema of a provider's `config`.
    #[serde(default)]
    config: Option<Value>,
    /// By type, the schema of its `value`.
    types: BTreeMap<String, Value>,
}

impl ServedPlugin {
    /// What matches the ids of its providers.
    fn ids(&self) -> String {
        // A whole address is the id of a provider of `http`.
        format!("^({})(:|$)", self.prefixes.join("|"))
    }

    fn definition(&self) -> String {
        format!("config-of-{}", self.name)
    }
}

fn served() -> Vec<ServedPlugin> {
    serde_json::from_str(include_str!("served.json")).expect("a test reads it")
}

fn providers() -> impl Iterator<Item = ServedPlugin> {
    let all = served().into_iter();
    all.filter(|plugin| !plugin.prefixes.is_empty())
}

/// The definitions that the other parts refer to.
pub(super) fn definitions() -> Map<String, Value> {
    let mut all = Map::new();
    all.insert("template".to_owned(), template());
    all.insert("provider-id".to_owned(), provider_id());
    for plugin in providers() {
        if let Some(schema) = &plugin.config {
            all.insert(plugin.definition(), config(&plugin, schema));
        }
    }
    all
}

/// What may stand in the place of any value: it is not known before it is filled in.
fn template() -> Value {
    json!({ "type": "string", "pattern": "\\{\\{|\\{%|^file://" })
}

/// Ids of providers. An editor offers the examples; nothing is refused, since others' plugins have prefixes,
/// too.
fn provider_id() -> Value {
    let known = providers().map(|plugin| {
        let id = json!({ "pattern": plugin.ids() });
        about(id, &plugin.description)
    });
    let code = words::CODE.map(|(pattern, gist)| about(json!({ "pattern": pattern }), gist));
    let anything = json!({});
    let any_of: Vec<Value> = known.chain(code).chain([anything]).collect();
    json!({
        "type": "string",
        "description": "prefix:model, for example openai:gpt-4o-mini; or code of yours: file://x.py",
        "anyOf": any_of,
        "examples": examples(),
    })
}

/// How ids of providers begin.
fn examples() -> Vec<String> {
    let bare = |prefix: &String| words::BARE.contains(&prefix.as_str());
    let mut examples: Vec<String> = Vec::new();
    for plugin in providers() {
        let with_model = |prefix: String| if bare(&prefix) { prefix } else { prefix + ":" };
        examples.extend(plugin.prefixes.into_iter().map(with_model));
    }
    examples.extend(words::CODE_EXAMPLES.map(str::to_owned));
    examples
}

/// Examples as an editor takes them for items of a list, where it looks for none behind a `$ref`.
pub(super) fn snippets() -> Value {
    // A colon before a space would make a map of it.
    let body = |id: &str| {
        if id.ends_with(' ') {
            format!("\"{id}$1\"")
        } else {
            id.to_owned()
        }
    };
    let snippets = examples().into_iter();
    snippets
        .map(|id| json!({ "label": id, "body": body(&id) }))
        .collect()
}

/// A provider's `config`: what the plugin says of each key, or a template.
fn config(plugin: &ServedPlugin, schema: &Value) -> Value {
    let properties = schema["properties"].as_object();
    let properties = properties.into_iter().flatten().map(|(key, value)| {
        let is_any_text = value["type"] == "string" && value.get("pattern").is_none();
        let mut value = if is_any_text {
            value.clone()
        } else {
            json!({ "anyOf": [value, reference("template")] })
        };
        if let Some(gist) = knobs::of_knob(key) {
            value = about(value, gist);
        }
        (key.clone(), value)
    });
    let mut properties: Map<String, Value> = properties.collect();
    for key in ["apiKey", "cost"] {
        if let Some(gist) = knobs::of_knob(key)
            && !properties.contains_key(key)
        {
            properties.insert(key.to_owned(), about(json!({}), gist));
        }
    }
    let said = format!(
        "{} What else is written here goes to the API. `runner plugin docs {}` says more.",
        plugin.description, plugin.name
    );
    let mut whole = json!({ "type": "object", "properties": properties });
    for key in ["required", "additionalProperties"] {
        if let Some(value) = schema.get(key) {
            whole[key] = value.clone();
        }
    }
    about(whole, &said)
}

/// For a provider that is written as a map: by its `id`, what its `config` takes.
pub(super) fn by_id() -> Vec<Value> {
    let with_config = providers().filter(|plugin| plugin.config.is_some());
    let rule = |plugin: ServedPlugin| {
        json!({
            "if": { "required": ["id"], "properties": { "id": { "pattern": plugin.ids() } } },
            "then": { "properties": { "config": reference(&plugin.definition()) } },
        })
    };
    let code = json!({
        "if": { "required": ["id"], "properties": { "id": { "pattern": keys::CODE } } },
        "then": { "properties": { "config": reference("config-of-code") } },
    });
    with_config.map(rule).chain([code]).collect()
}

/// For a provider that is written as one key: by that key, what its `config` takes.
pub(super) fn by_key() -> Map<String, Value> {
    let with_config = providers().filter(|plugin| plugin.config.is_some());
    let rule = |plugin: ServedPlugin| {
        let config = json!({ "properties": { "config": reference(&plugin.definition()) } });
        (plugin.ids(), config)
    };
    let code = json!({ "properties": { "config": reference("config-of-code") } });
    let code = (keys::CODE.to_owned(), code);
    with_config.map(rule).chain([code]).collect()
}

/// The types of assertions, each with what it means; and any other, since others' plugins have types, too.
pub(super) fn types() -> Value {
    let plain = words::KINDS.iter().map(|kind| {
        let one = json!({ "const": kind.name });
        about(one, kind.gist)
    });
    let opposite = words::KINDS.iter().filter(|kind| kind.has_opposite);
    let opposite = opposite.map(|kind| {
        let one = json!({ "const": format!("not-{}", kind.name) });
        about(one, &format!("the opposite of: {}", kind.gist))
    });
    let other = about(
        json!({ "type": "string" }),
        "a type of another plugin; `not-` before it inverts",
    );
    let any_of: Vec<Value> = plain.chain(opposite).chain([other]).collect();
    about(
        json!({ "type": "string", "anyOf": any_of }),
        "what is checked; `not-` before it inverts",
    )
}

/// By an assertion's `type`, what its `value` takes. Types that take the same share a rule.
pub(super) fn values() -> Vec<Value> {
    let mut by_schema: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for plugin in served() {
        for (name, schema) in plugin.types {
            // One that refers to its own parts can't stand inside another, and `{}` says nothing.
            let text = schema.to_string();
            if !text.contains("$ref") && text != "{}" {
                let named = [format!("not-{name}"), name];
                by_schema.entry(text).or_default().extend(named);
            }
        }
    }
    let rule = |(text, mut names): (String, Vec<String>)| {
        names.sort();
        let schema: Value = serde_json::from_str(&text).expect("it was written from a value");
        json!({
            "if": { "required": ["type", "value"], "properties": { "type": { "enum": names } } },
            "then": { "properties": { "value": { "anyOf": [schema, reference("template")] } } },
        })
    };
    by_schema.into_iter().map(rule).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::words::TypeWords;
    use super::*;

    #[test]
    fn every_type_that_is_served_has_a_gist_and_no_other_has() {
        let plugins = served();
        let served = plugins.iter().flat_map(|plugin| plugin.types.keys());
        let mut served: BTreeSet<&str> = served.map(String::as_str).collect();
        // Languages, and what the program grades itself.
        served.extend(["javascript", "python", "max-score", "human"]);
        let told: BTreeSet<&str> = words::KINDS
            .iter()
            .map(|TypeWords { name, .. }| *name)
            .collect();
        assert_eq!(told, served);
    }

    #[test]
    fn every_key_of_a_config_has_a_gist_and_no_other_has() {
        let mut keys: BTreeSet<String> = BTreeSet::new();
        for plugin in providers() {
            let schema = plugin.config.unwrap_or_default();
            let properties = schema["properties"].as_object().cloned();
            keys.extend(
                properties
                    .unwrap_or_default()
                    .into_iter()
                    .map(|(key, _)| key),
            );
        }
        keys.extend(["apiKey".to_owned(), "cost".to_owned()]);
        let told: BTreeSet<String> = knobs::KNOBS
            .iter()
            .map(|(key, _)| (*key).to_owned())
            .collect();
        assert_eq!(told, keys);
    }
}
