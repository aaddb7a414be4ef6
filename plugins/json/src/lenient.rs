//! JSON as people and models write it: comments, bare keys, single quotes, commas at the end.
//!
//! YAML accepts nearly all of that, so what is not JSON is read as YAML. Only comments with
//! `//` have to go first.

use runner_plugin::json::{Map, Value};
use saphyr_parser::{Event, Parser, ScalarStyle};

/// How deep values may lie in each other; what serde_json reads, too.
pub(crate) const DEPTH: usize = 128;

/// Reads one YAML document; `None` if it is not YAML, or has no form in JSON. Aliases have
/// none here: a few lines of them can stand for gigabytes.
pub(crate) fn yaml(text: &str) -> Option<Value> {
    let mut document = Document::default();
    for event in Parser::new_from_str(text) {
        document.take(event.ok()?.0)?;
    }
    document.root
}

/// Reads JSON with liberties.
pub(crate) fn json(text: &str) -> Option<Value> {
    yaml(&without_comments(text))
}

/// A document that is being read.
#[derive(Default)]
struct Document {
    root: Option<Value>,
    /// The collections that are open, the outermost first.
    open: Vec<Open>,
}

enum Open {
    List(Vec<Value>),
    /// An object, and the key whose value comes next.
    Object(Map<String, Value>, Option<String>),
}

impl Document {
    fn take(&mut self, event: Event<'_>) -> Option<()> {
        match event {
            Event::Scalar(text, style, _, tag) => {
                let plain = style == ScalarStyle::Plain && tag.is_none();
                self.put(if plain {
                    scalar(&text)?
                } else {
                    Value::from(&*text)
                });
            }
            Event::SequenceStart(..) => self.enter(Open::List(Vec::new()))?,
            Event::MappingStart(..) => self.enter(Open::Object(Map::new(), None))?,
            Event::SequenceEnd | Event::MappingEnd => {
                let closed = match self.open.pop()? {
                    Open::List(items) => Value::Array(items),
                    Open::Object(entries, _) => Value::Object(entries),
                };
                self.put(closed);
            }
            Event::Alias(_) => return None,
            Event::DocumentStart(_) if self.root.is_some() => return None,
            _ => {}
        }
        Some(())
    }

    fn enter(&mut self, collection: Open) -> Option<()> {
        let is_key = matches!(self.open.last(), Some(Open::Object(_, None)));
        if is_key || self.open.len() >= DEPTH {
            return None;
        }
        self.open.push(collection);
        Some(())
    }

    fn put(&mut self, value: Value) {
        match self.open.last_mut() {
            None => self.root = Some(value),
            Some(Open::List(items)) => items.push(value),
            Some(Open::Object(entries, key)) => match key.take() {
                Some(key) => {
                    entries.insert(key, value);
                }
                None => {
                    *key = Some(match value {
                        Value::String(text) => text,
                        scalar => scalar.to_string(),
                    });
                }
            },
        }
    }
}

/// A bare scalar by the core schema; `None` for infinities and `.nan`.
fn scalar(text: &str) -> Option<Value> {
    let digits = text.trim_start_matches(['+', '-']);
    Some(match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        _ if [".inf", ".nan"].contains(&&*digits.to_ascii_lowercase()) => return None,
        _ if digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') => number(text),
        _ => Value::from(text),
    })
}

/// A number if it is one, else the text.
fn number(text: &str) -> Value {
    let decimal = text.strip_prefix('+').unwrap_or(text);
    if let Ok(whole) = decimal.parse::<i64>() {
        return Value::from(whole);
    }
    let radix = |prefix: &str, radix| i64::from_str_radix(text.strip_prefix(prefix)?, radix).ok();
    if let Some(whole) = radix("0x", 16).or_else(|| radix("0o", 8)) {
        return Value::from(whole);
    }
    match decimal.parse::<f64>() {
        Ok(number) if number.is_finite() => Value::from(number),
        _ => Value::from(text),
    }
}

/// Drops `//` to the end of the line, outside quotes and not within a bare URL.
fn without_comments(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut quote = None;
    let mut escaped = false;
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match quote {
            Some(_) if escaped => escaped = false,
            Some('"') if character == '\\' => escaped = true,
            Some(open) if character == open => quote = None,
            None if character == '/' && characters.peek() == Some(&'/') && !kept.ends_with(':') => {
                while characters.peek().is_some_and(|&next| next != '\n') {
                    characters.next();
                }
                continue;
            }
            None if matches!(character, '"' | '\'') && opens(&kept) => quote = Some(character),
            _ => {}
        }
        kept.push(character);
    }
    kept
}

/// Whether a quote after this text opens a string: an apostrophe within a bare word does not.
fn opens(before: &str) -> bool {
    before
        .trim_end()
        .chars()
        .next_back()
        .is_none_or(|last| matches!(last, '{' | '[' | ',' | ':'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use runner_plugin::json::json as value_of;

    #[test]
    fn liberties_are_read() {
        for (text, expected) in [
            (r#"{"a": 1}"#, value_of!({ "a": 1 })),
            ("{a: 1, b: 'x', }", value_of!({ "a": 1, "b": "x" })),
            ("{\n  // why\n  \"a\": 1 // here\n}", value_of!({ "a": 1 })),
            (
                r#"{"url": "https://x.test//y"}"#,
                value_of!({ "url": "https://x.test//y" }),
            ),
            (
                r#"{"quoted": "a \" // b"}"#,
                value_of!({ "quoted": "a \" // b" }),
            ),
            ("{1: true, ~: 1.5}", value_of!({ "1": true, "null": 1.5 })),
            (
                "{a: [x, {b: null}]}",
                value_of!({ "a": ["x", { "b": null }] }),
            ),
            (
                "{a: 0x1f, b: 1e3, c: -2, d: 1.2.3}",
                value_of!({ "a": 31, "b": 1e3, "c": -2, "d": "1.2.3" }),
            ),
            (
                "{a: '1', b: yes, c: }",
                value_of!({ "a": "1", "b": "yes", "c": null }),
            ),
        ] {
            assert_eq!(json(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_has_no_form_is_nothing() {
        for text in [
            "{a: .nan}",
            "{[a]: 1}",
            "{a",
            "a: b: c",
            "---\na\n---\nb",
            "",
            "[&a x, *a]",
        ] {
            assert_eq!(json(text), None, "{text}");
        }
        assert_eq!(json(&"[".repeat(5_000)), None);
    }
}
