//! The schema against the readers, and against the configs of the repository.

use std::fs;
use std::path::{Path, PathBuf};

use super::*;

/// Written by `runner config schema`.
const FILE: &str = include_str!("../../config.schema.json");

#[test]
fn the_file_for_editors_is_what_is_generated() {
    let file: Value = serde_json::from_str(FILE).expect("it is JSON");
    assert!(
        file == schema(),
        "write it anew: runner config schema --write host/config/config.schema.json"
    );
}

#[test]
fn every_key_that_is_read_is_in_it() {
    let schema = schema();
    let sections: [(&str, &[&str]); 10] = [
        ("/properties", &planning::KNOWN),
        ("/definitions/test/properties", &test_case::KNOWN),
        ("/definitions/options/properties", &options::KNOWN),
        ("/definitions/budget/properties", &budget::KNOWN),
        ("/definitions/limits/properties", &limits::KNOWN),
        (
            "/definitions/assertion/anyOf/0/properties",
            &assertions::KNOWN,
        ),
        (
            "/definitions/assertion/anyOf/1/properties",
            &assertions::KNOWN_IN_SET,
        ),
        (
            "/definitions/provider/anyOf/0/properties",
            &providers::KNOWN,
        ),
        ("/properties/tasks/items/properties", &tasks::KNOWN),
        (
            "/properties/scenarios/anyOf/0/anyOf/1/properties",
            &scenarios::KNOWN,
        ),
    ];
    for (place, known) in sections {
        let properties = schema.pointer(place).and_then(Value::as_object);
        let properties = properties.unwrap_or_else(|| panic!("there is no {place}"));
        let named: Vec<&str> = properties.keys().map(String::as_str).collect();
        assert_eq!(named, known, "{place}");
    }
}

#[test]
fn what_refers_to_a_definition_finds_it() {
    fn walk(value: &Value, schema: &Value) {
        if let Some(Value::String(name)) = value.get("$ref") {
            let pointer = name.trim_start_matches('#');
            assert!(schema.pointer(pointer).is_some(), "{name}");
        }
        let inner = value.as_object().into_iter().flat_map(Map::values);
        let items = value.as_array().into_iter().flatten();
        inner.chain(items).for_each(|value| walk(value, schema));
    }
    let schema = schema();
    walk(&schema, &schema);
}

/// What the schema says of a config.
fn problems(text: &str) -> Vec<String> {
    let config = crate::document(text, false).expect("it is YAML");
    let schema = jsonschema::validator_for(&schema()).expect("it is a schema");
    let errors = schema.iter_errors(&config);
    errors
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect()
}

/// The configs below a folder.
fn configs(folder: &Path, found: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(folder).expect("a folder of the repository");
    for path in entries.map(|entry| entry.expect("read").path()) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() {
            configs(&path, found);
        } else if name.starts_with("promptfooconfig") && name.ends_with(".yaml") {
            found.push(path);
        }
    }
}

#[test]
fn configs_that_run_are_right_by_it() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = Vec::new();
    configs(&root.join("examples"), &mut found);
    configs(&root.join("host/cli/src/commands/init"), &mut found);
    assert!(found.len() > 2, "{found:?}");
    for path in found {
        let text = fs::read_to_string(&path).expect("read");
        assert_eq!(problems(&text), Vec::<String>::new(), "{}", path.display());
    }
}

#[test]
fn what_may_stand_somewhere_is_right_by_it_and_mistakes_are_not() {
    let right = [
        "providers: [openai:gpt-4o, { id: 'anthropic:claude', config: { temperature: 0 } }]",
        "providers: [{ id: openai:gpt-4o, config: { temperature: '{{ env.T }}', own_key: [1] } }]",
        "providers: [{ openai:gpt-4o: { config: { max_tokens: 10 } } }, { id: acme:x, config: { temperature: cold } }]",
        "providers: [{ id: file://x.py, config: { workers: 4, runtime: process, own: 1 } }]",
        "tests: [{ options: { repeat: 3, temperature: 0 } }]",
        "providers: [file://x.py, 'exec: ./x.sh', { id: 'https://a.example/x', config: { method: POST } }]",
        "tests: [{ assert: [{ type: contains, value: x }, { type: not-is-json }, { type: shouting, value: 7 }] }]",
        "tests: [{ assert: [{ type: contains, value: '{{ x }}' }, { type: word-count, value: { min: 1 } }] }]",
        "tests: [{ assert: [{ type: latency, threshold: 10 }, { type: 'similar:cosine', value: [a, b] }] }]",
    ];
    for config in right {
        assert_eq!(problems(config), Vec::<String>::new(), "{config}");
    }
    let wrong = [
        "providers: [{ id: openai:gpt-4o, config: { temperature: cold } }]",
        "providers: [{ openai:gpt-4o: { config: { max_tokens: many } } }]",
        "providers: [{ id: 'anthropic:x', config: { tools: all } }]",
        "tests: [{ assert: [{ type: contains, value: [x] }] }]",
        "tests: [{ assert: [{ type: not-regex, value: 7 }] }]",
        "tests: [{ asserts: [] }]",
        "providers: [{ id: file://x.py, config: { workers: [4] } }]",
        "tests: [{ options: { repeat: [3] } }]",
    ];
    for config in wrong {
        assert!(!problems(config).is_empty(), "{config}");
    }
}

/// Keys below a part of the schema that are not explained, each with its place.
fn mute(part: &Value, place: &str, schema: &Value, found: &mut Vec<String>) {
    // Of these the plugins say what there is to say, and conditions repeat keys.
    let is_plugins = place.contains("/config-of-") && !place.contains("/config-of-code");
    if is_plugins || place.contains("/allOf/") {
        return;
    }
    let words = |value: &Value| {
        let target = value["$ref"]
            .as_str()
            .map(|name| name.trim_start_matches('#'));
        let target = target.and_then(|place| schema.pointer(place));
        target.unwrap_or(value).get("description").is_some()
    };
    for (key, value) in part.as_object().into_iter().flatten() {
        if key == "properties" && part["type"] == "object" {
            let keys = value.as_object().into_iter().flatten();
            let keys = keys.filter(|(_, value)| !words(value));
            found.extend(keys.map(|(key, _)| format!("{place}/{key}")));
        }
        mute(value, &format!("{place}/{key}"), schema, found);
    }
    for (number, value) in part.as_array().into_iter().flatten().enumerate() {
        mute(value, &format!("{place}/{number}"), schema, found);
    }
}

#[test]
fn an_editor_explains_every_key() {
    let schema = schema();
    let mut found = Vec::new();
    mute(&schema, "", &schema, &mut found);
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn an_editor_is_offered_types_and_prefixes_with_what_they_mean() {
    let schema = schema();
    let one_of = |place: &str, key: &str| {
        let all = schema.pointer(place).and_then(Value::as_array);
        let found = all.into_iter().flatten().find(|it| it["const"] == key);
        found.map(|it| it["description"].clone())
    };
    let types = "/definitions/assertion/anyOf/0/properties/type/anyOf";
    for (name, gist) in [
        (
            "icontains",
            "the answer contains this text, in capitals or not",
        ),
        (
            "not-latency",
            "the opposite of: the response took at most `threshold` milliseconds",
        ),
    ] {
        assert_eq!(one_of(types, name), Some(json!(gist)), "{name}");
    }
    assert_eq!(one_of(types, "not-select-best"), None);
    let ids = &schema["definitions"]["provider-id"]["examples"];
    let ids = ids.as_array().expect("a list");
    for id in ["openai:", "echo", "groq:", "file://provider.py"] {
        assert!(ids.contains(&json!(id)), "{id}");
    }
    let offered = &schema["properties"]["providers"]["anyOf"][1]["items"]["defaultSnippets"];
    assert_eq!(offered[0], json!({ "label": ids[0], "body": ids[0] }));
}
