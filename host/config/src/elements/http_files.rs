//! Files in the `config` of the provider `http` that are named by a plain path: certificates and keys.
//!
//! Their text takes the place of their path, under the key that the config would have it under.

use serde_json::{Map, Value};

use super::http_code::PREFIXES;
use super::reading::Reading;
use crate::read::entry::Entry;
use crate::read::files::without_scheme;

/// A key of the config, and its keys that hold a path, each with the one for the text itself.
const NAMED: [(&str, &[(&str, &str)]); 2] = [
    (
        "tls",
        &[("caPath", "ca"), ("certPath", "cert"), ("keyPath", "key")],
    ),
    (
        "signatureAuth",
        &[("privateKeyPath", "privateKey"), ("keyPath", "privateKey")],
    ),
];

/// Reads the files that the `config` of `provider` names so, if it has the id of one that may.
pub(crate) fn read(
    id: &str,
    provider: &Entry<'_>,
    config: &mut Map<String, Value>,
    reading: Reading<'_>,
) {
    let prefix = id.split(':').next().unwrap_or(id);
    let Some(written) = provider
        .get("config")
        .filter(|_| PREFIXES.contains(&prefix))
    else {
        return;
    };
    for (key, paths) in NAMED {
        let fields = config.get_mut(key).and_then(Value::as_object_mut);
        let (Some(entry), Some(fields)) = (written.get(key), fields) else {
            continue;
        };
        for (path, text) in paths {
            let Some(named) = entry.get(path).filter(|named| named.text().is_some()) else {
                continue;
            };
            fields.remove(*path);
            if let Some(content) = content(&named, reading) {
                fields.entry(*text).or_insert(content);
            }
        }
    }
}

/// The text of the file that a value names; what is wrong with it is reported.
fn content(named: &Entry<'_>, reading: Reading<'_>) -> Option<Value> {
    let path = reading.files.shown(without_scheme(named.text()?));
    let (at, findings) = (named.at(), reading.findings);
    let text = reading
        .files
        .read_named(&path, &at, named.origin, findings)?;
    // Its plugin's part of the config is a copy.
    match reading.files.take(2 * text.len()) {
        Ok(()) => Some(Value::from(text)),
        Err(reason) => {
            findings.error(at, format!("'{}': {reason}", path.display()));
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::fixture::Folder;

    fn folder(config: &str) -> Folder {
        let mut folder = Folder::new(&format!(
            "prompts: [p]\nproviders: [{{ id: 'https://api.test', config: {config} }}]"
        ))
        .file("keys/ca.pem", "authority")
        .file("keys/own.pem", "own");
        let prefixes = &mut folder.catalog.provider_prefixes;
        prefixes.insert("https".to_owned(), "http".to_owned());
        folder
    }

    #[test]
    fn the_text_of_a_file_takes_the_place_of_its_path() {
        let plan = folder(
            "{ tls: { caPath: keys/ca.pem, certPath: 'file://keys/own.pem', key: inline }, \
             signatureAuth: { privateKeyPath: ./keys/own.pem } }",
        )
        .plan();
        let config = &plan.columns[0].provider.config;
        let expected = json!({ "ca": "authority", "cert": "own", "key": "inline" });
        assert_eq!(config["tls"], expected);
        assert_eq!(config["signatureAuth"], json!({ "privateKey": "own" }));
    }

    #[test]
    fn a_file_that_is_not_there_is_said_where_it_is_named() {
        let problems = folder("{ tls: { caPath: keys/none.pem } }").problems();
        assert!(problems[0].contains("keys/none.pem"), "{problems:?}");
        assert!(problems[0].contains("caPath"), "{problems:?}");
    }
}
