//! What a plugin says of itself: checked, and its schemas compiled.
//!
//! A plugin's word is trusted for nothing but words. What it exports is known from the binary;
//! here both must agree, and what the rest of the program relies on (names, prefixes, schemas)
//! must be well-formed, so that nobody further on needs to check it again.

use std::collections::{BTreeMap, HashSet};

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{Draft, JsonType, ValidationError, Validator};
use serde_json::Value;

use crate::abi::Info;
use crate::notice::{Code, Finding};

/// Longest name, prefix or type: they are columns in tables.
const MAX_NAME: usize = 64;

/// A place in a JSON value, as a JSON Pointer (RFC 6901; empty: the whole), and what is wrong
/// there. The value itself is not quoted: it may be a secret.
pub type Problem = (String, String);

/// The compiled schemas of a plugin.
#[derive(Debug, Default)]
pub(crate) struct Schemas {
    config: Option<Validator>,
    values: BTreeMap<String, Validator>,
}

impl Schemas {
    /// Problems of a provider's config.
    pub(crate) fn config(&self, config: &Value) -> Vec<Problem> {
        problems(self.config.as_ref(), config)
    }

    /// Problems of an assertion's value.
    pub(crate) fn value(&self, assertion_type: &str, value: &Value) -> Vec<Problem> {
        problems(self.values.get(assertion_type), value)
    }
}

fn problems(schema: Option<&Validator>, value: &Value) -> Vec<Problem> {
    let Some(schema) = schema else {
        return Vec::new();
    };
    schema
        .iter_errors(value)
        .map(|error| (error.instance_path().to_string(), said(&error)))
        .collect()
}

/// What is wrong with a value, which is not quoted. The most frequent mistake is said in the words
/// of somebody who writes YAML.
fn said(error: &ValidationError<'_>) -> String {
    let ValidationErrorKind::Type { kind } = error.kind() else {
        return error.masked().to_string();
    };
    let wanted = match kind {
        TypeKind::Single(wanted) => type_word(*wanted).to_owned(),
        TypeKind::Multiple(wanted) => {
            let words: Vec<&str> = wanted.iter().map(type_word).collect();
            words.join(" or ")
        }
    };
    let given = match error.instance().as_ref() {
        Value::Null => "nothing",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a map",
    };
    format!("must be {wanted}, not {given}")
}

fn type_word(wanted: JsonType) -> &'static str {
    match wanted {
        JsonType::Null => "nothing",
        JsonType::Boolean => "true or false",
        JsonType::Integer => "a whole number",
        JsonType::Number => "a number",
        JsonType::String => "a text",
        JsonType::Array => "a list",
        JsonType::Object => "a map",
    }
}

/// What the binary exports; `describe` must claim neither more nor less.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Exported {
    pub(crate) provider: bool,
    pub(crate) assertion: bool,
}

/// `P011` and `P012`.
pub(crate) fn check(info: &Info, exported: Exported) -> Result<Schemas, Finding> {
    words(info, exported).map_err(|what| {
        Finding::new(
            Code::P011,
            format!("its `describe` answers nonsense: {what}"),
            "report this to the plugin's author",
        )
    })?;
    let mut schemas = Schemas::default();
    if let Some(text) = &info.config_schema_json {
        schemas.config = Some(compile("config-schema-json", text)?);
    }
    for assertion in &info.assertion_types {
        if let Some(text) = &assertion.value_schema_json {
            let field = format!("value-schema-json of `{}`", assertion.name);
            schemas
                .values
                .insert(assertion.name.clone(), compile(&field, text)?);
        }
    }
    Ok(schemas)
}

fn words(info: &Info, exported: Exported) -> Result<(), String> {
    name("name", &info.name)?;
    if info.version.is_empty() || info.version.len() > MAX_NAME {
        return Err("`version` is empty or too long".into());
    }
    claims(
        exported.provider,
        "provider",
        "provider-prefixes",
        info.provider_prefixes.len(),
    )?;
    claims(
        exported.assertion,
        "assertion",
        "assertion-types",
        info.assertion_types.len(),
    )?;
    let mut seen = HashSet::new();
    for prefix in &info.provider_prefixes {
        name("a provider prefix", prefix)?;
        if !seen.insert(prefix) {
            return Err(format!("provider prefix `{prefix}` is there twice"));
        }
    }
    let mut seen = HashSet::new();
    for assertion in &info.assertion_types {
        // Kinds of one type are told apart by a colon: `similar:dot`.
        for word in assertion.name.split(':') {
            name("an assertion type", word)?;
        }
        if assertion.name.starts_with("not-") {
            return Err(format!(
                "assertion type `{}`: `not-` is added by the host",
                assertion.name
            ));
        }
        if !seen.insert(&assertion.name) {
            return Err(format!(
                "assertion type `{}` is there twice",
                assertion.name
            ));
        }
    }
    let mut seen = HashSet::new();
    for credential in &info.wants.credentials {
        if !seen.insert(&credential.name) {
            return Err(format!("credential `{}` is wanted twice", credential.name));
        }
        scheme(&credential.scheme)?;
    }
    if let Some(text) = &info.metadata_json {
        serde_json::from_str::<serde_json::Map<String, Value>>(text)
            .map_err(|_| "`metadata-json` is not a JSON object".to_owned())?;
    }
    Ok(())
}

fn claims(exported: bool, interface: &str, field: &str, count: usize) -> Result<(), String> {
    match (exported, count) {
        (true, 0) => Err(format!("it exports `{interface}` but `{field}` is empty")),
        (false, 1..) => Err(format!(
            "`{field}` has entries but it exports no `{interface}`"
        )),
        _ => Ok(()),
    }
}

/// Lower-case kebab: `a-z`, digits and hyphens, beginning with a letter.
fn name(what: &str, text: &str) -> Result<(), String> {
    let kebab = text.starts_with(|first: char| first.is_ascii_lowercase())
        && text.len() <= MAX_NAME
        && !text.ends_with('-')
        && text
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
    if kebab {
        return Ok(());
    }
    let shown: String = text.chars().take(MAX_NAME).collect();
    Err(format!(
        "{what} `{}` is not a lower-case kebab name of at most {MAX_NAME} characters",
        shown.escape_debug()
    ))
}

fn scheme(text: &str) -> Result<(), String> {
    let named = ["header:", "query:"]
        .iter()
        .any(|kind| text.strip_prefix(kind).is_some_and(|name| !name.is_empty()));
    if named || text == "bearer" || text == "basic" {
        return Ok(());
    }
    Err(format!(
        "credential scheme `{}` is none of bearer, basic, header:<name>, query:<name>",
        text.escape_debug()
    ))
}

fn compile(field: &str, text: &str) -> Result<Validator, Finding> {
    let bad = |what: String| {
        Finding::new(
            Code::P012,
            format!("its {field} is no JSON Schema: {what}"),
            "report this to the plugin's author",
        )
    };
    let schema: Value = serde_json::from_str(text).map_err(|error| {
        bad(format!(
            "not JSON at line {}, column {}",
            error.line(),
            error.column()
        ))
    })?;
    // Nothing is fetched: a reference to elsewhere is an error here, not a request.
    jsonschema::options()
        .with_draft(Draft::Draft202012)
        .offline()
        .build(&schema)
        .map_err(|error| bad(format!("{error} (at `{}`)", error.instance_path())))
}

#[cfg(test)]
mod tests;
