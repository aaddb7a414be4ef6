//! The reference of a config's keys, made of the schema: a table for the config itself, and one for each
//! definition that it refers to.
//!
//! The schema is made of the readers' own lists of keys, so the page can't name what is not read. It says
//! what a key is for in a line; the other pages explain.

use std::fmt::Write as _;

use serde_json::Value;

use crate::step::Failure;

const HEAD: &str = "\
# Every key of a config

What the program reads, and what it says of it: this page is made of the schema that `runner config schema`
prints, which editors use, too. `[]` stands for each item of a list, `NAME` for a name of yours. A number or a
switch may be a text, so that a template can stand in its place.

## The config itself
";

/// The page.
pub(super) fn page(schema: &str) -> Result<String, Failure> {
    let wrong = |error| Failure::new(format!("the schema is not JSON: {error}"));
    let schema: Value = serde_json::from_str(schema).map_err(wrong)?;
    let mut page = HEAD.to_owned();
    section("", &schema, &mut page);
    for (name, schema) in schema["definitions"].as_object().into_iter().flatten() {
        let mut text = String::new();
        section(name, schema, &mut text);
        if !text.is_empty() {
            let _ = write!(page, "\n## {}\n", title(name));
            if let Some(gist) = schema["description"].as_str() {
                let _ = write!(page, "\n{gist}\n");
            }
            page.push_str(&text);
        }
    }
    Ok(page)
}

/// The heading of a definition. Its anchor is the definition's name.
fn title(name: &str) -> String {
    name.replace('-', " ")
}

/// The tables of a definition: its keys, and what those that take one of many texts may be.
fn section(name: &str, schema: &Value, page: &mut String) {
    let mut keys = Vec::new();
    collect("", name, schema, &mut keys);
    if !keys.is_empty() {
        page.push_str("\n| key | takes | what it is |\n|---|---|---|\n");
        for key in &keys {
            let Key { path, takes, gist } = key;
            let _ = writeln!(page, "| `{path}` | {takes} | {gist} |");
        }
    }
    let key = &schema["anyOf"][0]["properties"]["type"];
    if is_one_of_many(schema) {
        words(schema, page);
    } else if is_one_of_many(key) {
        let _ = write!(page, "\n### {} type\n", title(name));
        words(key, page);
    }
}

/// A row of a table.
struct Key {
    path: String,
    takes: String,
    gist: String,
}

/// Every key within `schema`, also of maps that have no definition of their own.
fn collect(path: &str, definition: &str, schema: &Value, keys: &mut Vec<Key>) {
    for part in ["anyOf", "allOf"] {
        for schema in schema[part].as_array().into_iter().flatten() {
            collect(path, definition, schema, keys);
        }
    }
    let properties = schema["properties"].as_object().into_iter().flatten();
    for (key, schema) in properties.filter(|(key, _)| *key != "$ref") {
        let path = match path {
            "" => key.clone(),
            path => format!("{path}.{key}"),
        };
        // One of them or a list of them: said once.
        let said = |key: &Key| key.path.replace("[]", "") == path.replace("[]", "");
        if keys.iter().any(said) {
            continue;
        }
        let takes = if is_one_of_many(schema) {
            format!("[a word](#{definition}-{key})")
        } else {
            takes(schema)
        };
        let gist = in_a_table(schema["description"].as_str().unwrap_or_default());
        keys.push(Key {
            path: path.clone(),
            takes,
            gist,
        });
        collect(&path, definition, schema, keys);
    }
    for (part, each) in [("items", "[]"), ("additionalProperties", ".NAME")] {
        if schema[part].is_object() {
            collect(&format!("{path}{each}"), definition, &schema[part], keys);
        }
    }
}

/// What may stand there, in words.
fn takes(schema: &Value) -> String {
    let mut forms = Vec::new();
    form(schema, &mut forms);
    let mut seen: Vec<String> = Vec::new();
    for form in forms {
        if !seen.contains(&form) {
            seen.push(form);
        }
    }
    seen.join(" or ")
}

fn form(schema: &Value, forms: &mut Vec<String>) {
    let parts = ["anyOf", "allOf"].map(|part| schema[part].as_array());
    if let Some(name) = schema["$ref"].as_str() {
        let name = name.rsplit('/').next().unwrap_or(name);
        forms.push(match name {
            "template" => "a template".to_owned(),
            name => format!("[{}](#{name})", title(name)),
        });
    } else if let Some(word) = schema.get("const") {
        forms.push(match word {
            Value::Null => "nothing".to_owned(),
            word => literal(word),
        });
    } else if let Some(words) = schema["enum"].as_array() {
        forms.extend(words.iter().map(literal));
    } else if let Some(parts) = parts.into_iter().flatten().next() {
        for part in parts {
            form(part, forms);
        }
    } else if let Some(name) = schema["type"].as_str() {
        forms.push(kind(name, schema));
    } else if let Some(names) = schema["type"].as_array() {
        let names = names.iter().filter_map(Value::as_str);
        forms.extend(names.map(|name| kind(name, schema)));
    } else {
        forms.push("anything".to_owned());
    }
}

/// A type of JSON as the documents call it.
fn kind(name: &str, schema: &Value) -> String {
    let of = |part: &str| {
        let part = schema.get(part).filter(|part| part.is_object());
        part.map(|part| format!(" of ({})", takes(part)))
            .unwrap_or_default()
    };
    match name {
        "string" => "text".to_owned(),
        "boolean" => "true or false".to_owned(),
        "integer" => "whole number".to_owned(),
        "array" => format!("list{}", of("items")),
        "object" => format!("map{}", of("additionalProperties")),
        other => other.to_owned(),
    }
}

fn literal(value: &Value) -> String {
    match value.as_str() {
        Some(text) => format!("`{text}`"),
        None => format!("`{value}`"),
    }
}

/// Whether it says of each of many texts what it means.
fn is_one_of_many(schema: &Value) -> bool {
    schema["anyOf"][0]["description"].is_string()
}

/// The table of such texts. An opposite stands beside what it is the opposite of.
fn words(schema: &Value, page: &mut String) {
    page.push_str("\n| text | what it means |\n|---|---|\n");
    let all = schema["anyOf"].as_array();
    let all: Vec<&Value> = all.into_iter().flatten().collect();
    let is_there = |word: &str| all.iter().any(|one| one["const"] == *word);
    for one in &all {
        let gist = in_a_table(one["description"].as_str().unwrap_or_default());
        let texts: Vec<String> = match (one["const"].as_str(), one["pattern"].as_str()) {
            (Some(word), _) if word.strip_prefix("not-").is_some_and(is_there) => continue,
            (Some(word), _) => {
                let opposite = format!("not-{word}");
                let both = [word.to_owned(), opposite].into_iter();
                both.filter(|word| is_there(word)).collect()
            }
            (_, Some(pattern)) => beginnings(pattern),
            _ => continue,
        };
        let texts: Vec<String> = texts.iter().map(|text| format!("`{text}`")).collect();
        let _ = writeln!(page, "| {} | {gist} |", texts.join(", "));
    }
}

/// What a pattern of the form `^(a|b)(:|$)` lets an id begin with.
fn beginnings(pattern: &str) -> Vec<String> {
    let words = pattern.trim_start_matches('^').trim_end_matches("(:|$)");
    let words = words.trim_start_matches('(').trim_end_matches(')');
    words.split('|').map(str::to_owned).collect()
}

/// A text that ends no cell and opens no tag.
fn in_a_table(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &str = r##"{
        "properties": {
            "budget": { "allOf": [{ "$ref": "#/definitions/a-budget" }], "description": "a | b" },
            "env": { "type": "object", "additionalProperties": {
                "type": "object", "properties": { "from": { "enum": ["x", "y"] } } } },
            "old": { "const": null },
            "tests": { "anyOf": [{ "properties": { "path": { "type": "string" } }, "type": "object" },
                { "type": "array", "items": { "properties": { "path": { "type": "string" } }, "type": "object" } }] }
        },
        "definitions": {
            "a-budget": { "properties": { "cost": { "type": ["number", "string"] } } },
            "check": { "anyOf": [{ "properties": { "type": { "anyOf": [
                { "const": "is", "description": "it is" },
                { "const": "not-is", "description": "it is not" },
                { "type": "string", "description": "another" }
            ] } } }] },
            "id": { "anyOf": [{ "pattern": "^(a|b)(:|$)", "description": "A and B" }] },
            "template": { "type": "string" }
        }
    }"##;

    const PAGE: &str = "
| key | takes | what it is |
|---|---|---|
| `budget` | [a budget](#a-budget) | a \\| b |
| `env` | map of (map) |  |
| `env.NAME.from` | `x` or `y` |  |
| `old` | nothing |  |
| `tests` | map or list of (map) |  |
| `tests.path` | text |  |

## a budget

| key | takes | what it is |
|---|---|---|
| `cost` | number or text |  |

## check

| key | takes | what it is |
|---|---|---|
| `type` | [a word](#check-type) |  |

### check type

| text | what it means |
|---|---|
| `is`, `not-is` | it is |

## id

| text | what it means |
|---|---|
| `a`, `b` | A and B |
";

    #[test]
    fn each_definition_has_its_table() {
        let whole = page(SMALL).unwrap_or_default();
        assert_eq!(whole.strip_prefix(HEAD), Some(PAGE));
        assert!(page("[").is_err());
    }
}
