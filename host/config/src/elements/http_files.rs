//! Files in the `config` of the provider `http` that are named by a plain path: certificates, keys, and
//! what is sent as a part of a form.
//!
//! The text of a certificate or key takes the place of its path, under the key that the config would have
//! it under. Of a part the bytes do, in base64, and the file's name.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use super::http_code::PREFIXES;
use super::reading::Reading;
use crate::model::Position;
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

/// The largest file in a form: its base64 goes with each case to the plugin.
const MAX_PART: u64 = 2 << 20;

/// Reads the files that the `config` of `provider` names so, if it has the id of one that may.
pub(crate) fn read(
    id: &str,
    provider: &Entry<'_>,
    config: &mut Map<String, Value>,
    reading: Reading<'_>,
) {
    let prefix = id.split(':').next().unwrap_or(id);
    // Somebody else's plugin may be called so, and would see them.
    let served = reading.catalog.provider_prefixes.get(prefix);
    let is_http = PREFIXES.contains(&prefix) && served.is_some_and(|plugin| plugin == "http");
    let Some(written) = provider.get("config").filter(|_| is_http) else {
        return;
    };
    parts(&written, config, reading);
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

/// Reads the files of the parts of a form.
fn parts(written: &Entry<'_>, config: &mut Map<String, Value>, reading: Reading<'_>) {
    let entries = written.get("multipart").and_then(|it| it.get("parts"));
    let parts = config
        .get_mut("multipart")
        .and_then(|it| it.get_mut("parts"));
    let (Some(entries), Some(Value::Array(parts))) = (entries, parts) else {
        return;
    };
    for (entry, part) in entries.items().zip(parts) {
        let named = entry.get("source").and_then(|source| source.get("path"));
        let source = part.get_mut("source").and_then(Value::as_object_mut);
        if let (Some(named), Some(source)) = (named, source)
            && let Some((name, data)) = bytes(&named, reading)
        {
            source.insert("name".to_owned(), name);
            source.insert("data".to_owned(), data);
        }
    }
}

/// The name of the file that a value names, and its bytes; what is wrong with it is reported.
fn bytes(named: &Entry<'_>, reading: Reading<'_>) -> Option<(Value, Value)> {
    let (at, findings) = (named.at(), reading.findings);
    let written = named.text()?;
    if written.contains("{{") {
        let message = "the path of a part can't have variables: its file is read before the run";
        let help = "name one file; or send the value of a variable, `kind: field`";
        findings.error_help(at, message, help);
        return None;
    }
    let path = reading.files.shown(without_scheme(written));
    let file = reading.files.permit(&path, &at, named.origin, findings)?;
    let read = reading.files.read_bytes(&file, MAX_PART);
    let data = read.map(|bytes| STANDARD.encode(bytes));
    let data = kept(data, &path, at, reading)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    Some((Value::from(name), data))
}

/// The text of the file that a value names; what is wrong with it is reported.
fn content(named: &Entry<'_>, reading: Reading<'_>) -> Option<Value> {
    let path = reading.files.shown(without_scheme(named.text()?));
    let (at, findings) = (named.at(), reading.findings);
    let text = reading
        .files
        .read_named(&path, &at, named.origin, findings)?;
    kept(Ok(text), &path, at, reading)
}

/// A text of a file, as a part of the config.
fn kept(
    text: Result<String, String>,
    path: &Path,
    at: Position,
    reading: Reading<'_>,
) -> Option<Value> {
    // Its plugin's part of the config is a copy.
    let taken = text.and_then(|text| reading.files.take(2 * text.len()).map(|()| text));
    let refused = |reason| {
        let message = format!("'{}': {reason}", path.display());
        reading.findings.error(at, message);
    };
    taken.map_err(refused).ok().map(Value::from)
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
    fn the_bytes_of_a_part_stand_beside_its_path() {
        let parts = "{ multipart: { parts: [{ kind: field, name: q, value: x }, \
                     { kind: file, name: f, source: { type: path, path: keys/own.pem } }] } }";
        let plan = folder(parts).plan();
        let source = &plan.columns[0].provider.config["multipart"]["parts"][1]["source"];
        assert_eq!(source["name"], "own.pem");
        assert_eq!(source["data"], "b3du");
        for (path, why) in [
            ("keys/none.pem", "there is no such file"),
            ("'{{f}}'", "can't have variables"),
        ] {
            let problems = folder(&parts.replace("keys/own.pem", path)).problems();
            assert!(problems[0].contains(why), "{problems:?}");
            assert!(problems[0].contains("source.path"), "{problems:?}");
        }
    }

    #[test]
    fn a_file_that_is_not_there_is_said_where_it_is_named() {
        let problems = folder("{ tls: { caPath: keys/none.pem } }").problems();
        assert!(problems[0].contains("keys/none.pem"), "{problems:?}");
        assert!(problems[0].contains("caPath"), "{problems:?}");
    }
}
