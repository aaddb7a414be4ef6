//! Which languages of configs' code a plugin runs.
//!
//! A script plugin is a plugin like any other, with the limits of an assertion; it is called in
//! `plugin`. What the WIT has no place for is read here: the languages stand in the JSON of its
//! description, and so can be nonsense.

use std::collections::HashSet;

use serde_json::{Map, Value};

use crate::abi;
use crate::notice::{Finding, MessageCode};

/// Longest language or extension.
const MAX_NAME: usize = 32;

/// A language that a plugin runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptLanguage {
    /// As programs name it: `javascript`.
    pub name: String,
    /// Of files in it, without the dot: `js`, `mjs`.
    pub extensions: Vec<String>,
}

/// What `script-languages` in a description says. `P011` if it says nonsense, or anything where
/// the component does not export `script`.
pub(crate) fn languages(info: &abi::Info, exported: bool) -> Result<Vec<ScriptLanguage>, Finding> {
    let languages = read(info.metadata_json.as_deref()).and_then(|languages| {
        match (exported, languages.is_empty()) {
            (true, true) => {
                Err("it exports `script` but `metadata-json` names no `script-languages`".into())
            }
            (false, false) => {
                Err("`script-languages` has entries but it exports no `script`".into())
            }
            _ => Ok(languages),
        }
    });
    languages.map_err(|what: String| {
        Finding::new(
            MessageCode::P011,
            format!("its `describe` gives an answer that makes no sense: {what}"),
            "report this to the plugin's author",
        )
    })
}

fn read(metadata_json: Option<&str>) -> Result<Vec<ScriptLanguage>, String> {
    let metadata: Option<Map<String, Value>> =
        metadata_json.and_then(|text| serde_json::from_str(text).ok());
    let Some(list) = metadata.and_then(|mut metadata| metadata.remove("script-languages")) else {
        return Ok(Vec::new());
    };
    let form = || "`script-languages` is no list of names with extensions".to_owned();
    let mut seen = HashSet::new();
    let mut word = |value: &Value| {
        let text = value.as_str().ok_or_else(form)?;
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        if text.is_empty() || text.len() > MAX_NAME || !text.bytes().all(plain) {
            return Err(form());
        }
        Ok(text.to_owned())
    };
    let mut languages = Vec::new();
    for entry in list.as_array().ok_or_else(form)? {
        let extensions = entry["extensions"].as_array().ok_or_else(form)?;
        let language = ScriptLanguage {
            name: word(&entry["name"])?,
            extensions: extensions.iter().map(&mut word).collect::<Result<_, _>>()?,
        };
        for extension in &language.extensions {
            if !seen.insert(extension.clone()) {
                return Err(format!("the extension `{extension}` is listed twice"));
            }
        }
        if languages
            .iter()
            .any(|other: &ScriptLanguage| other.name == language.name)
        {
            return Err(format!("the language `{}` is listed twice", language.name));
        }
        languages.push(language);
    }
    Ok(languages)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(metadata: &str) -> Result<Vec<String>, String> {
        let languages = read(Some(metadata))?;
        Ok(languages
            .into_iter()
            .map(|language| language.name)
            .collect())
    }

    #[test]
    fn languages_are_read() {
        let two = r#"{"script-languages": [{"name": "a", "extensions": ["x", "y2"]},
            {"name": "b", "extensions": []}]}"#;
        assert_eq!(said(two), Ok(vec!["a".to_owned(), "b".to_owned()]));
        assert_eq!(said("{}"), Ok(Vec::new()));
        assert_eq!(read(None), Ok(Vec::new()));
    }

    #[test]
    fn nonsense_is_refused() {
        for list in [
            "1",
            "[1]",
            r#"[{"name": "a"}]"#,
            r#"[{"extensions": []}]"#,
            r#"[{"name": "A b", "extensions": []}]"#,
            r#"[{"name": "a", "extensions": [".x"]}]"#,
            r#"[{"name": "a", "extensions": ["x", "x"]}]"#,
            r#"[{"name": "a", "extensions": []}, {"name": "a", "extensions": []}]"#,
        ] {
            let metadata = format!("{{\"script-languages\": {list}}}");
            assert!(said(&metadata).is_err(), "{list}");
        }
    }
}
