//! `defaultTest`, with what else lies under every test: `metadata` of the config, `--var`.

use serde_json::{Map, Value};

use super::test_case::{Draft, TestReader};
use super::vars::Origin;
use crate::entry::Entry;
use crate::files::without_scheme;
use crate::plan::Position;

/// Reads the key; a text is the path of a YAML or JSON file.
pub(crate) fn read(root: &Entry<'_>, tests: &TestReader<'_>, flags: &Map<String, Value>) -> Draft {
    let reading = tests.reading;
    let mut default = match root.get("defaultTest") {
        None => Draft::default(),
        Some(entry) => match entry.text() {
            None => tests.read(&entry, Origin::Config, true).unwrap_or_default(),
            Some(path) => {
                let shown = reading.files.shown(without_scheme(path));
                let tree = reading.files.tree(&shown, &entry.at(), reading.findings);
                let draft = tree.and_then(|mut node| {
                    reading.declared.fill(&mut node, &shown, reading.findings);
                    tests.read(&Entry::root(&node, &shown), Origin::Config, true)
                });
                draft.unwrap_or_default()
            }
        },
    };
    if let Some(metadata) = root.get("metadata") {
        match metadata.node.json_as_written() {
            Value::Object(mut common) => {
                common.extend(std::mem::take(&mut default.metadata));
                default.metadata = common;
            }
            _ => metadata.mismatch(reading.findings, "a map"),
        }
    }
    for (name, value) in flags {
        if let Some(text) = value.as_str() {
            let at = Position {
                key: format!("--var {name}"),
                ..Position::default()
            };
            tests.vars.value(text, &at, Origin::Config, true);
        }
        default.vars.insert(name.clone(), value.clone());
    }
    default
}
