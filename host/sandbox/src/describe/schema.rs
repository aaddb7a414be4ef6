//! The JSON Schemas of a plugin, compiled, and values held against them.
//!
//! This is the one place where a stranger's words decide how long the host itself computes, so
//! everything is bounded before the library sees it: the schema's text, parts, references and
//! patterns when it is read, and the work that a value makes of it each time ([`super::bounds`]).
//! Patterns run in linear time, which costs them backreferences and look-around.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{Draft, JsonType, PatternOptions, ValidationError, Validator};
use serde_json::Value;

use super::bounds::{self, Work};
use crate::abi::Info;
use crate::limits::{
    MAX_PATTERN_PROGRAM_BYTES, MAX_SCHEMA_BYTES, MAX_SCHEMAS_BYTES, MAX_SCHEMAS_PATTERNS,
};
use crate::notice::{Finding, MessageCode, bytes, one_line};

/// A place in a JSON value, as a JSON Pointer (RFC 6901; empty: the whole), and what is wrong
/// there. The value itself is not quoted: it may be a secret.
pub type Problem = (String, String);

/// Problems of one value that are told; nobody reads more.
const MOST_PROBLEMS: usize = 16;

/// Characters of the library's words that a message repeats: it quotes the schema.
const MOST_WORDS: usize = 200;

/// The compiled schemas of a plugin.
#[derive(Debug, Default)]
pub(crate) struct Schemas {
    config: Option<Schema>,
    values: BTreeMap<String, Schema>,
}

/// A schema within its bounds. It is compiled when it is first needed: a plugin has one for each of its
/// assertions, and a config uses few of them.
#[derive(Debug)]
struct Schema {
    /// What the plugin calls it.
    field: String,
    text: Value,
    validator: OnceLock<Result<Validator, Finding>>,
}

impl Schemas {
    /// Reads what a plugin brings. `P012`.
    pub(super) fn read(info: &Info) -> Result<Self, Finding> {
        let mut schemas = Self::default();
        let mut room = Room::default();
        let mut schema = |field: &str, text: &str| Schema::read(field, text, &mut room);
        if let Some(text) = &info.config_schema_json {
            schemas.config = Some(schema("config-schema-json", text)?);
        }
        for assertion in &info.assertion_types {
            if let Some(text) = &assertion.value_schema_json {
                let field = format!("value-schema-json of `{}`", assertion.name);
                let read = schema(&field, text)?;
                schemas.values.insert(assertion.name.clone(), read);
            }
        }
        Ok(schemas)
    }

    /// Compiles all of them, and says what is wrong with the first that is no schema. `P012`.
    pub(crate) fn compile(&self) -> Result<(), Finding> {
        let mut all = self.config.iter().chain(self.values.values());
        all.try_for_each(|schema| schema.validator().map(|_| ()))
    }

    /// Problems of a provider's config.
    pub(crate) fn config(&self, config: &Value) -> Vec<Problem> {
        self.config
            .as_ref()
            .map_or_else(Vec::new, |schema| schema.problems(config))
    }

    /// Problems of an assertion's value.
    pub(crate) fn value(&self, assertion_type: &str, value: &Value) -> Vec<Problem> {
        self.values
            .get(assertion_type)
            .map_or_else(Vec::new, |schema| schema.problems(value))
    }
}

/// Problems of a value by a JSON Schema that a plugin could bring, within the same bounds.
///
/// # Errors
/// Why the schema is none.
pub fn problems_of(schema: &str, value: &Value) -> Result<Vec<Problem>, String> {
    let schema = Schema::read("schema", schema, &mut Room::default());
    let compiled = schema.and_then(|schema| schema.validator().map(|_| ()).map(|()| schema));
    Ok(compiled.map_err(|finding| finding.message)?.problems(value))
}

/// What the schemas of a plugin may still take.
struct Room {
    bytes: usize,
    patterns: usize,
}

impl Default for Room {
    fn default() -> Self {
        Self {
            bytes: MAX_SCHEMAS_BYTES,
            patterns: MAX_SCHEMAS_PATTERNS,
        }
    }
}

impl Room {
    /// Takes what one of them has; else, says what they have together.
    fn take(&mut self, text: &str, patterns: usize) -> Result<(), String> {
        let all = |what: String| format!("has, with those before it, more than {what}");
        let left = self.bytes.checked_sub(text.len());
        self.bytes = left.ok_or_else(|| all(bytes(MAX_SCHEMAS_BYTES as u64)))?;
        let left = self.patterns.checked_sub(patterns);
        self.patterns = left.ok_or_else(|| all(format!("{MAX_SCHEMAS_PATTERNS} patterns")))?;
        Ok(())
    }
}

impl Schema {
    fn read(field: &str, text: &str, room: &mut Room) -> Result<Self, Finding> {
        if text.len() > MAX_SCHEMA_BYTES {
            let limit = bytes(MAX_SCHEMA_BYTES as u64);
            return Err(too_much(field, &format!("is larger than {limit}")));
        }
        let schema: Value = serde_json::from_str(text).map_err(|error| {
            let (line, column) = (error.line(), error.column());
            no_schema(field, &format!("not JSON at line {line}, column {column}"))
        })?;
        // Before it is compiled, which is what takes memory.
        bounds::admit(&schema)
            .and_then(|patterns| room.take(text, patterns))
            .map_err(|what| too_much(field, &what))?;
        Ok(Self {
            field: field.to_owned(),
            text: schema,
            validator: OnceLock::new(),
        })
    }

    fn validator(&self) -> Result<&Validator, Finding> {
        let compiled = self.validator.get_or_init(|| self.compile());
        compiled.as_ref().map_err(Clone::clone)
    }

    fn compile(&self) -> Result<Validator, Finding> {
        // Nothing is fetched: a reference to elsewhere is an error here, not a request.
        let patterns = PatternOptions::regex()
            .size_limit(MAX_PATTERN_PROGRAM_BYTES)
            .dfa_size_limit(MAX_PATTERN_PROGRAM_BYTES);
        jsonschema::options()
            .with_draft(Draft::Draft202012)
            .with_pattern_options(patterns)
            .offline()
            .build(&self.text)
            .map_err(|error| {
                let said = one_line(&error.to_string(), MOST_WORDS);
                let at = one_line(&error.instance_path().to_string(), MOST_WORDS);
                no_schema(&self.field, &format!("{said} (at `{at}`)"))
            })
    }

    fn problems(&self, value: &Value) -> Vec<Problem> {
        let whole = |what: &str| vec![(String::new(), what.to_owned())];
        let work = bounds::work(&self.text, value);
        if work == Work::TooMuch {
            return whole("is too large to be held against the plugin's schema");
        }
        let validator = match self.validator() {
            Ok(validator) => validator,
            Err(finding) => return whole(&finding.message),
        };
        if validator.is_valid(value) {
            return Vec::new();
        }
        // All errors of a value are collected at once, and each takes memory.
        if work == Work::Much {
            return whole("does not fit the plugin's schema");
        }
        let errors = validator.iter_errors(value).take(MOST_PROBLEMS);
        errors
            .map(|error| (error.instance_path().to_string(), said(&error)))
            .collect()
    }
}

fn no_schema(field: &str, what: &str) -> Finding {
    Finding::new(
        MessageCode::P012,
        format!("its {field} is no JSON Schema: {what}"),
        "report this to the plugin's author",
    )
}

fn too_much(field: &str, what: &str) -> Finding {
    Finding::new(
        MessageCode::P012,
        format!("its {field} {what}"),
        "a schema is for people's mistakes; the plugin can check the rest itself",
    )
}

/// What is wrong with a value, which is not quoted. The most frequent mistake is said in the words
/// of somebody who writes YAML.
fn said(error: &ValidationError<'_>) -> String {
    let ValidationErrorKind::Type { kind } = error.kind() else {
        return one_line(&error.masked().to_string(), MOST_WORDS);
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
