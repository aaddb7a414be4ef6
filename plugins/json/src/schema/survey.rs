//! The first walk over a schema: is it well-formed, what are its parts called, what does it
//! refer to.
//!
//! It goes where keywords hold schemas and nowhere else, so that an `enum` or a `default` may
//! contain what looks like a keyword. Keywords that no draft knows are left alone.

use std::collections::HashMap;

use regress::{Flags, Regex};
use runner_plugin::json::{Map, Value, json};

use super::{Schema, join};

/// What a keyword must hold.
#[derive(Clone, Copy)]
enum Shape {
    Schema,
    /// One schema, or a list of them.
    SchemaOrList,
    /// A list of at least one schema.
    Schemas,
    /// An object of schemas.
    SchemaMap,
    /// An object of schemas whose keys are patterns.
    PatternMap,
    /// An object of schemas or lists of keys.
    Dependencies,
    /// An object of lists of keys.
    KeyLists,
    Keys,
    Number,
    Positive,
    Count,
    Text,
    Pattern,
    Flag,
    List,
    Type,
}

/// What the keywords hold. Not here: keywords that say nothing about a value.
const KEYWORDS: [(&str, Shape); 49] = [
    ("$anchor", Shape::Text),
    ("$defs", Shape::SchemaMap),
    ("$dynamicAnchor", Shape::Text),
    ("$dynamicRef", Shape::Text),
    ("$id", Shape::Text),
    ("$recursiveRef", Shape::Text),
    ("$ref", Shape::Text),
    ("$schema", Shape::Text),
    ("additionalItems", Shape::Schema),
    ("additionalProperties", Shape::Schema),
    ("allOf", Shape::Schemas),
    ("anyOf", Shape::Schemas),
    ("contains", Shape::Schema),
    ("definitions", Shape::SchemaMap),
    ("dependencies", Shape::Dependencies),
    ("dependentRequired", Shape::KeyLists),
    ("dependentSchemas", Shape::SchemaMap),
    ("else", Shape::Schema),
    ("enum", Shape::List),
    ("exclusiveMaximum", Shape::Number),
    ("exclusiveMinimum", Shape::Number),
    ("format", Shape::Text),
    ("if", Shape::Schema),
    ("items", Shape::SchemaOrList),
    ("maxContains", Shape::Count),
    ("maxItems", Shape::Count),
    ("maxLength", Shape::Count),
    ("maxProperties", Shape::Count),
    ("maximum", Shape::Number),
    ("minContains", Shape::Count),
    ("minItems", Shape::Count),
    ("minLength", Shape::Count),
    ("minProperties", Shape::Count),
    ("minimum", Shape::Number),
    ("multipleOf", Shape::Positive),
    ("not", Shape::Schema),
    ("nullable", Shape::Flag),
    ("oneOf", Shape::Schemas),
    ("pattern", Shape::Pattern),
    ("patternProperties", Shape::PatternMap),
    ("prefixItems", Shape::Schemas),
    ("properties", Shape::SchemaMap),
    ("propertyNames", Shape::Schema),
    ("required", Shape::Keys),
    ("then", Shape::Schema),
    ("type", Shape::Type),
    ("unevaluatedItems", Shape::Schema),
    ("unevaluatedProperties", Shape::Schema),
    ("uniqueItems", Shape::Flag),
];

/// The drafts that are read, by the end of their `$schema`.
const DRAFTS: [&str; 4] = [
    "json-schema.org/draft-06/schema",
    "json-schema.org/draft-07/schema",
    "json-schema.org/draft/2019-09/schema",
    "json-schema.org/draft/2020-12/schema",
];

const TYPES: [&str; 7] = [
    "array", "boolean", "integer", "null", "number", "object", "string",
];

/// Reads a schema and finds all that it refers to.
pub(super) fn survey(root: &Value) -> Result<Schema<'_>, String> {
    let mut schema = Schema {
        root,
        resources: HashMap::from([(String::new(), root)]),
        names: HashMap::new(),
        anchors: HashMap::new(),
        patterns: HashMap::new(),
        tracks: false,
    };
    let mut references = Vec::new();
    SurveyWalk {
        schema: &mut schema,
        references: &mut references,
    }
    .schema(root, "", "")?;
    for (base, reference, at) in references {
        if schema.resolve(&base, reference).is_none() {
            return Err(format!(
                "`{at}` refers to `{reference}`, which is not in the schema"
            ));
        }
    }
    Ok(schema)
}

struct SurveyWalk<'w, 's> {
    schema: &'w mut Schema<'s>,
    /// Base, reference, and where it stands.
    references: &'w mut Vec<(String, &'s str, String)>,
}

impl<'s> SurveyWalk<'_, 's> {
    /// Surveys one schema called `base`, found at the JSON Pointer `at`.
    fn schema(&mut self, schema: &'s Value, base: &str, at: &str) -> Result<(), String> {
        let keywords = match schema {
            Value::Bool(_) => return Ok(()),
            Value::Object(keywords) => keywords,
            _ => return Err(format!("`{at}` is no schema but {schema}")),
        };
        let base = self.named(schema, base);
        for (keyword, value) in keywords {
            let here = format!("{at}/{}", keyword.replace('~', "~0").replace('/', "~1"));
            if let Some(shape) = shape_of(keyword) {
                self.keyword(shape, value, &base, &here)?;
            }
            self.meaning(keyword, value, schema, &base, &here)?;
        }
        Ok(())
    }

    /// Notes what the schema is called, and says what its parts are relative to.
    fn named(&mut self, schema: &'s Value, base: &str) -> String {
        let Some(id) = schema.get("$id").and_then(Value::as_str) else {
            return base.to_owned();
        };
        let full = join(base, id);
        if id.starts_with('#') {
            self.schema.anchors.insert(full, schema);
            return base.to_owned();
        }
        let name = full.trim_end_matches('#').to_owned();
        self.schema.resources.insert(name.clone(), schema);
        self.schema
            .names
            .insert(std::ptr::from_ref(schema), name.clone());
        name
    }

    /// Notes what a keyword means for the rest of the schema.
    fn meaning(
        &mut self,
        keyword: &str,
        value: &'s Value,
        schema: &'s Value,
        base: &str,
        at: &str,
    ) -> Result<(), String> {
        let text = value.as_str().unwrap_or_default();
        match keyword {
            "$ref" | "$dynamicRef" | "$recursiveRef" => {
                self.references.push((base.to_owned(), text, at.to_owned()));
            }
            "$anchor" | "$dynamicAnchor" => {
                self.schema.anchors.insert(format!("{base}#{text}"), schema);
            }
            "unevaluatedItems" | "unevaluatedProperties" => self.schema.tracks = true,
            "$schema" => {
                let name = text.trim_end_matches('#');
                if !DRAFTS.iter().any(|draft| name.ends_with(draft)) {
                    return Err(format!(
                        "`{at}` names `{text}`; draft-06, draft-07, 2019-09 and 2020-12 are known"
                    ));
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn keyword(
        &mut self,
        shape: Shape,
        value: &'s Value,
        base: &str,
        at: &str,
    ) -> Result<(), String> {
        let wrong = |what: &str| Err(format!("`{at}` must be {what}, not {value}"));
        match (shape, value) {
            (Shape::Schema | Shape::SchemaOrList, Value::Object(_) | Value::Bool(_)) => {
                self.schema(value, base, at)
            }
            (Shape::SchemaOrList, Value::Array(items)) => self.schemas(items, base, at),
            (Shape::Schemas, Value::Array(items)) if !items.is_empty() => {
                self.schemas(items, base, at)
            }
            (Shape::SchemaMap, Value::Object(_)) => self.map(value, base, at),
            (Shape::PatternMap, Value::Object(entries)) => {
                for pattern in entries.keys() {
                    self.pattern(pattern, at)?;
                }
                self.map(value, base, at)
            }
            (Shape::Dependencies, Value::Object(entries)) => {
                for (key, entry) in entries.iter().filter(|(_, entry)| !keys(entry)) {
                    self.schema(entry, base, &format!("{at}/{key}"))?;
                }
                Ok(())
            }
            (Shape::Pattern, Value::String(pattern)) => self.pattern(pattern, at),
            (Shape::Schema | Shape::SchemaOrList, _) => wrong("a schema"),
            (Shape::Schemas, _) => wrong("a list of schemas"),
            (Shape::SchemaMap | Shape::PatternMap | Shape::Dependencies, _) => {
                wrong("an object of schemas")
            }
            (Shape::Pattern, _) => wrong("a regular expression"),
            _ => plain(shape, value).or_else(wrong),
        }
    }

    fn schemas(&mut self, items: &'s [Value], base: &str, at: &str) -> Result<(), String> {
        for (index, item) in items.iter().enumerate() {
            self.schema(item, base, &format!("{at}/{index}"))?;
        }
        Ok(())
    }

    fn map(&mut self, value: &'s Value, base: &str, at: &str) -> Result<(), String> {
        for (key, entry) in value.as_object().into_iter().flatten() {
            self.schema(entry, base, &format!("{at}/{key}"))?;
        }
        Ok(())
    }

    /// Patterns are ECMAScript's in Unicode mode; those that only the older mode accepts, with
    /// needless backslashes, are read in that.
    fn pattern(&mut self, pattern: &'s str, at: &str) -> Result<(), String> {
        if self.schema.patterns.contains_key(pattern) {
            return Ok(());
        }
        let unicode = Flags {
            unicode: true,
            ..Flags::default()
        };
        let regex = Regex::with_flags(pattern, unicode)
            .or_else(|_| Regex::new(pattern))
            .map_err(|error| format!("`{at}`: the pattern /{pattern}/ cannot be read: {error}"))?;
        self.schema.patterns.insert(pattern, regex);
        Ok(())
    }
}

/// The schema of schemas: what [`survey`] finds, as far as JSON Schema can say it. Not the
/// drafts' own meta-schemas, which a validator would have to have at hand.
pub(crate) fn meta_schema() -> Value {
    let keywords = KEYWORDS
        .iter()
        .map(|(keyword, shape)| ((*keyword).to_owned(), shape.schema()));
    json!({
        "type": ["object", "boolean"],
        "properties": keywords.collect::<Map<String, Value>>(),
    })
}

impl Shape {
    /// What a keyword must hold, as a schema beside `$defs/schema`.
    fn schema(self) -> Value {
        let schema = json!({ "$ref": "#/$defs/schema" });
        let keys = json!({ "type": "array", "items": { "type": "string" } });
        match self {
            Self::Schema => schema,
            Self::SchemaOrList => {
                json!({ "if": { "type": "array" }, "then": { "items": schema }, "else": schema })
            }
            Self::Schemas => json!({ "type": "array", "minItems": 1, "items": schema }),
            Self::SchemaMap | Self::PatternMap => {
                json!({ "type": "object", "additionalProperties": schema })
            }
            Self::Dependencies => json!({
                "type": "object",
                "additionalProperties": { "if": { "type": "array" }, "then": keys, "else": schema },
            }),
            Self::KeyLists => json!({ "type": "object", "additionalProperties": keys }),
            Self::Keys => keys,
            Self::Number => json!({ "type": "number" }),
            Self::Positive => json!({ "type": "number", "exclusiveMinimum": 0 }),
            Self::Count => json!({ "type": "integer", "minimum": 0 }),
            Self::Text | Self::Pattern => json!({ "type": "string" }),
            Self::Flag => json!({ "type": "boolean" }),
            Self::List => json!({ "type": "array" }),
            Self::Type => json!({
                "if": { "type": "array" },
                "then": { "minItems": 1, "items": { "enum": TYPES } },
                "else": { "enum": TYPES },
            }),
        }
    }
}

fn shape_of(keyword: &str) -> Option<Shape> {
    let find = |(name, shape): &(&str, Shape)| (*name == keyword).then_some(*shape);
    KEYWORDS.iter().find_map(find)
}

/// Checks a keyword that holds no schema; the error says what it must be.
fn plain(shape: Shape, value: &Value) -> Result<(), &'static str> {
    let (fits, what) = match shape {
        Shape::Keys => (keys(value), "a list of keys"),
        Shape::KeyLists => (
            value.as_object().is_some_and(|map| map.values().all(keys)),
            "an object of lists of keys",
        ),
        Shape::Number => (value.is_number(), "a number"),
        Shape::Positive => (value.as_f64().is_some_and(|n| n > 0.0), "a number above 0"),
        Shape::Count => (
            value.as_f64().is_some_and(|n| n >= 0.0 && n.fract() == 0.0),
            "a whole number, 0 or more",
        ),
        Shape::Text => (value.is_string(), "a text"),
        Shape::Flag => (value.is_boolean(), "true or false"),
        Shape::List => (value.is_array(), "a list"),
        _ => (types(value), "a type, or a list of types"),
    };
    if fits { Ok(()) } else { Err(what) }
}

fn keys(value: &Value) -> bool {
    value
        .as_array()
        .is_some_and(|keys| keys.iter().all(Value::is_string))
}

fn types(value: &Value) -> bool {
    let known = |value: &Value| value.as_str().is_some_and(|name| TYPES.contains(&name));
    match value {
        Value::Array(names) => !names.is_empty() && names.iter().all(known),
        name => known(name),
    }
}
