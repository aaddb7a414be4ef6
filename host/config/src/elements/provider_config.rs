//! A provider's `config`, with the files that it names by `file://`.
//!
//! They are read here, once, and not by a plugin, which sees no files; so the API gets them, and
//! so do the assertions that hold an answer against the tools that the model was offered. Files of
//! code are left for the plugin to judge.

use serde_json::{Map, Value};

use super::programs::program;
use super::reading::Reading;
use crate::model::Position;
use crate::plan::Places;
use crate::read::entry::Entry;
use crate::read::files::{has_extension, names_file, without_scheme};

/// Keys that hold what code might make, if it were run.
const MADE: [&str; 3] = ["tools", "functions", "response_format"];

/// Bytes that the places of one `config` take.
const MAX_PLACES: usize = 256 << 10;

/// Reads the `config` of a provider.
pub(crate) fn read(provider: &Entry<'_>, reading: Reading<'_>) -> Map<String, Value> {
    let Some(config) = provider.get("config") else {
        return Map::new();
    };
    for value in MADE.iter().filter_map(|key| config.get(key)) {
        if name(&value).and_then(program).is_some() {
            let help = "write the list into a JSON or YAML file";
            let message = "tools and formats come from JSON or YAML files";
            reading.findings.error_help(value.at(), message, help);
        }
    }
    if !config.is_map() {
        return config.want_map(reading.findings).unwrap_or_default();
    }
    fields(&config, reading)
}

/// Where the keys of the `config` stand, as far as the config itself has them.
pub(crate) fn places(provider: &Entry<'_>) -> Places {
    let config = provider.get("config");
    config.map(|config| places_in(&config)).unwrap_or_default()
}

/// Where everything in a value stands.
pub(crate) fn places_in(entry: &Entry<'_>) -> Places {
    let mut places = Places::default();
    note(entry, "", &mut places, &mut 0);
    places
}

/// Notes the places of values. Each place has its way as a text, which can be as long as all keys on
/// it. Beyond [`MAX_PLACES`] a value stands where its provider does.
fn note(entry: &Entry<'_>, pointer: &str, places: &mut Places, bytes: &mut usize) {
    let fields = entry.fields();
    let fields = fields.map(|(key, value)| (Places::pointer(pointer, key), value));
    let items = entry.items().enumerate();
    let items = items.map(|(index, item)| (format!("{pointer}/{index}"), item));
    for (pointer, inner) in fields.chain(items) {
        let at = inner.at();
        *bytes += size_of::<Position>() + pointer.len() + at.key.len();
        if *bytes > MAX_PLACES {
            places.leave_out();
            return;
        }
        note(&inner, &pointer, places, bytes);
        places.note(pointer, at);
    }
}

fn fields(entry: &Entry<'_>, reading: Reading<'_>) -> Map<String, Value> {
    let field = |(key, value): (&str, Entry<'_>)| (key.to_owned(), loaded(&value, reading));
    entry.fields().map(field).collect()
}

/// The value with the content of files in their place.
fn loaded(entry: &Entry<'_>, reading: Reading<'_>) -> Value {
    if entry.is_map() {
        return Value::Object(fields(entry, reading));
    }
    if entry.is_list() {
        let mut items = Vec::new();
        for item in entry.items() {
            match (name(&item), loaded(&item, reading)) {
                // A list in a file is part of this one.
                (Some(_), Value::Array(more)) => items.extend(more),
                (_, value) => items.push(value),
            }
        }
        return Value::Array(items);
    }
    let written = entry.text_as_written();
    if entry.is_filled_credential() && written.is_some_and(names_file) {
        let message = "a variable in a credential can't be a part of the name of a file";
        let help = "write the name, or put the credential itself into the variable";
        reading.findings.error_help(entry.at(), message, help);
    }
    file(entry, reading).unwrap_or_else(|| entry.node.json())
}

/// What the file holds, a value of JSON and YAML, else text; `None` if none is named, it is code,
/// or it can't be read, which is reported.
fn file(entry: &Entry<'_>, reading: Reading<'_>) -> Option<Value> {
    let named = name(entry)?;
    if program(named).is_some() {
        return None;
    }
    let path = reading.files.shown(without_scheme(named));
    let (at, findings) = (entry.at(), reading.findings);
    if has_extension(&path, &["json", "yaml", "yml"]) {
        let tree = reading.files.tree(&path, &at, entry.origin, findings);
        return tree.map(|node| node.json());
    }
    let text = reading
        .files
        .read_named(&path, &at, entry.origin, findings)?;
    // Its plugin is given a copy, and another one as part of what it is asked with.
    if let Err(reason) = reading.files.take(2 * text.len()) {
        findings.error(at, format!("'{}': {reason}", path.display()));
        return None;
    }
    Some(Value::from(text))
}

/// The file that a value names, if it does. A credential with a variable in it names none: what
/// there is of files is said.
fn name<'a>(entry: &Entry<'a>) -> Option<&'a str> {
    let named = entry.text().filter(|text| names_file(text));
    named.filter(|_| !entry.is_filled_credential())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::fixture::Folder;

    fn folder(config: &str) -> Folder {
        Folder::new(&format!(
            "prompts: [p]\nproviders: [{{ id: 'openai:m', config: {config} }}]"
        ))
        .file("tools.json", r#"[{ "name": "a" }, { "name": "b" }]"#)
        .file("format.yaml", "type: json_object")
    }

    #[test]
    fn tools_in_files_are_loaded() {
        let plan =
            folder("{ tools: 'file://tools.json', response_format: 'file://format.yaml' }").plan();
        let config = &plan.columns[0].provider.config;
        assert_eq!(config["tools"], json!([{ "name": "a" }, { "name": "b" }]));
        assert_eq!(config["response_format"], json!({ "type": "json_object" }));
        let plan = folder("{ tools: ['file://tools.json', { name: c }] }").plan();
        let names: Vec<_> = plan.columns[0].provider.config["tools"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|tool| tool["name"].clone())
            .collect();
        assert_eq!(names, ["a", "b", "c"]);
    }

    #[test]
    fn variables_of_an_address_are_taken_at_its_place() {
        for config in [
            "{ apiBaseUrl: 'https://{{env.A}}.example', headers: { h: '{{env.B}}' } }",
            "{ headers: { h: '{{env.B}}' }, apiBaseUrl: 'https://x.example/{{ env.A | lower }}' }",
            "{ user: &a 'https://{{env.A}}.example', headers: { h: '{{env.B}}' }, apiBaseUrl: *a }",
        ] {
            let folder = folder(config).env("A", "a").env("B", "b");
            let provider = &folder.plan().columns[0].provider;
            let at = provider.places.of("/apiBaseUrl").expect("it is written");
            let here = provider.env_reads.iter();
            let here = here.filter(|read| (read.at.line, read.at.column) == (at.line, at.column));
            let names: Vec<&str> = here.map(|read| &*read.name).collect();
            assert_eq!(names, ["A"], "{config}");
            assert!(provider.env_reads.iter().any(|read| read.name == "B"));
        }
    }

    #[test]
    fn files_stand_anywhere_in_it_and_text_is_text() {
        let folder = folder("{ a: { b: ['file://note.md'] }, transform: 'file://x.js' }");
        let plan = folder.file("note.md", "{{ prompt }}\n").plan();
        let config = &plan.columns[0].provider.config;
        assert_eq!(config["a"]["b"], json!(["{{ prompt }}\n"]));
        assert_eq!(config["transform"], "file://x.js");
    }

    #[test]
    fn keys_know_their_places() {
        let plan = folder("{ a/b: [{ c: 1 }], d: 2 }").plan();
        let places = &plan.columns[0].provider.places;
        let key = |pointer: &str| places.of(pointer).map(|at| at.key.clone());
        assert_eq!(
            key("/a~1b/0/c").as_deref(),
            Some("providers[0].config[\"a/b\"][0].c")
        );
        assert_eq!(key("/d").as_deref(), Some("providers[0].config.d"));
        assert_eq!(key("/e"), None);
    }

    #[test]
    fn a_file_that_is_not_there_or_is_code_is_said() {
        let problems = folder("{ tools: 'file://none.json' }").problems();
        assert!(problems[0].contains("none.json"), "{problems:?}");
        let problems = folder("{ tools: 'file://tools.py:make' }").problems();
        assert!(problems[0].contains("JSON or YAML"), "{problems:?}");
    }
}
