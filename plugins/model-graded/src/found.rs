//! The JSON object in a reply that may be prose, a fenced block, or half of an answer.
//!
//! Models write JSON with liberties: bare keys, single quotes, line breaks and quotes inside
//! strings, commas and comments where none belong, no end. A reader of its own, not YAML's:
//! YAML takes `{thinking}` for an object, and an object without `pass` is a pass. For the same
//! reason an object counts only if it has one of the keys that were asked for.

use runner_plugin::json::{Map, Value};
use runner_template::text_of;

use crate::verdict::Failure;

/// Says why, and decides nothing.
const REASON: &str = "reason";

/// How deep values may lie in each other.
const DEPTH: usize = 32;

/// How many openings are looked at: a reply of braces alone must not cost its square.
const OPENINGS: usize = 200;

/// The object in `text` that has one of `keys`. Of several that agree in all of them but the reason,
/// the first.
///
/// # Errors
/// If there are several that don't, or a part of one beside it: a judge quotes answers, and an answer may
/// hold a verdict. And if there are too many openings to say that there is no other.
pub(crate) fn object(text: &str, keys: &[&str]) -> Result<Option<Map<String, Value>>, Failure> {
    let deciding = || keys.iter().filter(|key| **key != REASON);
    let mut found: Option<Map<String, Value>> = None;
    let mut beside = String::new();
    let (mut end, mut tried) = (0, 0);
    for (at, _) in text.match_indices('{') {
        if at < end {
            continue;
        }
        tried += 1;
        if tried > OPENINGS {
            let why = format_args!(
                "the grader's reply holds more than {OPENINGS} braces that begin no verdict"
            );
            return Err(Failure::unreadable(why));
        }
        let Some((object, length)) = read(&text[at..]) else {
            continue;
        };
        if !keys.iter().any(|key| object.contains_key(*key)) {
            continue;
        }
        beside.push_str(&text[end..at]);
        beside.push('\n');
        end = at + length;
        let Some(first) = &found else {
            found = Some(object);
            continue;
        };
        if deciding().any(|key| first.get(*key) != object.get(*key)) {
            return Err(several());
        }
    }
    beside.push_str(&text[end..]);
    if let Some(found) = &found
        && deciding().any(|key| contradicts(&beside, key, found.get(*key)))
    {
        return Err(several());
    }
    Ok(found)
}

fn several() -> Failure {
    Failure::unreadable("the grader's reply holds several verdicts that differ")
}

/// Whether a text gives `key` another value.
fn contradicts(text: &str, key: &str, value: Option<&Value>) -> bool {
    let mut given = text
        .match_indices(key)
        .filter_map(|(at, _)| given(&text[..at], &text[at + key.len()..]));
    given
        .any(|given| value.is_none_or(|value| *value != given && text_of(value) != text_of(&given)))
}

/// The value that a text gives a key between these parts: in quotes anywhere, since it may be of an object
/// that can't be read, without them at the start of a line, or as one of several.
fn given(before: &str, after: &str) -> Option<Value> {
    let quote = before.chars().next_back();
    let quote = quote.filter(|letter| matches!(letter, '"' | '\''));
    let value = |after: &str| {
        Some(
            after
                .trim_start()
                .strip_prefix(':')?
                .trim_start()
                .to_owned(),
        )
    };
    if let Some(quote) = quote {
        let after = value(after.strip_prefix(quote)?)?;
        let read = Reader { rest: &after }.value(0);
        return Some(read.unwrap_or(Value::Null));
    }
    let line = before.rsplit('\n').next()?.trim();
    let after = value(after)?;
    let end = after.find([',', '}', '\n']).unwrap_or(after.len());
    let is_member = line.ends_with([',', '{']) && after[end..].starts_with([',', '}']);
    let is_given = line.is_empty() || is_member;
    is_given.then(|| bare(after[..end].trim_end_matches('.')))
}

/// Reads the object at the start of a text, and how long it is: as JSON, else with liberties.
fn read(text: &str) -> Option<(Map<String, Value>, usize)> {
    let mut strict = serde_json::Deserializer::from_str(text).into_iter::<Map<String, Value>>();
    if let Some(Ok(object)) = strict.next() {
        return Some((object, strict.byte_offset()));
    }
    let mut reader = Reader { rest: text };
    match reader.value(0)? {
        Value::Object(object) => Some((object, text.len() - reader.rest.len())),
        _ => None,
    }
}

struct Reader<'t> {
    rest: &'t str,
}

impl Reader<'_> {
    /// Reads a value; `None` if there is none to be made out.
    fn value(&mut self, depth: usize) -> Option<Value> {
        if depth > DEPTH {
            return None;
        }
        match self.peek() {
            Some('{') => self.object(depth),
            Some('[') => self.list(depth),
            Some('"' | '\'') => self.quoted().map(Value::String),
            Some(_) => Some(bare(self.word(&[',', '}', ']', '\n']))),
            None => Some(Value::Null),
        }
    }

    fn object(&mut self, depth: usize) -> Option<Value> {
        self.step();
        let mut fields = Map::new();
        loop {
            match self.peek() {
                // The text breaks off: what is there counts.
                None => break,
                Some('}') => {
                    self.step();
                    break;
                }
                Some(',') => self.step(),
                Some('"' | '\'') => {
                    let key = self.quoted()?;
                    self.field(&mut fields, key, depth)?;
                }
                Some(_) => {
                    let key = self.word(&[':', ',', '}', '\n']).to_owned();
                    self.field(&mut fields, key, depth)?;
                }
            }
        }
        Some(Value::Object(fields))
    }

    fn field(&mut self, fields: &mut Map<String, Value>, key: String, depth: usize) -> Option<()> {
        match self.peek() {
            None => return Some(()),
            Some(':') => self.step(),
            Some(_) => return None,
        }
        let value = self.value(depth + 1)?;
        fields.insert(key, value);
        Some(())
    }

    fn list(&mut self, depth: usize) -> Option<Value> {
        self.step();
        let mut items = Vec::new();
        loop {
            match self.peek() {
                Some(']') => {
                    self.step();
                    break;
                }
                Some(',') => self.step(),
                // The text breaks off, or what is around the list ends.
                None | Some('}') => break,
                Some(_) => items.push(self.value(depth + 1)?),
            }
        }
        Some(Value::Array(items))
    }

    /// Reads a string; a quote ends it only where something may follow, or nothing does.
    fn quoted(&mut self) -> Option<String> {
        let quote = self.rest.chars().next()?;
        let mut text = String::new();
        let mut at = quote.len_utf8();
        while let Some(letter) = self.rest[at..].chars().next() {
            at += letter.len_utf8();
            if letter == quote && ends(&self.rest[at..]) {
                self.rest = &self.rest[at..];
                return Some(text);
            }
            if letter == '\\' {
                at += escape(&self.rest[at..], &mut text);
            } else {
                text.push(letter);
            }
        }
        self.rest = "";
        Some(text)
    }

    /// Reads a bare word up to one of `ends`.
    fn word(&mut self, ends: &[char]) -> &str {
        let length = self.rest.find(ends).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(length);
        self.rest = rest;
        word.trim()
    }

    /// Returns the next character that is neither space nor comment.
    fn peek(&mut self) -> Option<char> {
        loop {
            self.rest = self.rest.trim_start();
            if !self.rest.starts_with("//") {
                return self.rest.chars().next();
            }
            self.rest = self.rest.find('\n').map_or("", |end| &self.rest[end..]);
        }
    }

    /// Passes the character that was seen, one of ASCII.
    fn step(&mut self) {
        self.rest = &self.rest[1..];
    }
}

/// Whether a string may end before this.
fn ends(rest: &str) -> bool {
    let rest = rest.trim_start();
    rest.is_empty() || rest.starts_with([',', ':', '}', ']']) || rest.starts_with("//")
}

/// Adds what an escape stands for; how long it is without the backslash.
fn escape(rest: &str, text: &mut String) -> usize {
    let Some(letter) = rest.chars().next() else {
        return 0;
    };
    match letter {
        'n' => text.push('\n'),
        't' => text.push('\t'),
        'r' => text.push('\r'),
        'u' => {
            let code = rest
                .get(1..5)
                .and_then(|hex| u32::from_str_radix(hex, 16).ok());
            if let Some(code) = code {
                text.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
                return 5;
            }
            text.push('u');
        }
        other => text.push(other),
    }
    letter.len_utf8()
}

/// A bare word: a literal of JSON, JavaScript or Python, a number, else a text.
fn bare(word: &str) -> Value {
    let word = word.split("//").next().unwrap_or(word).trim();
    match word {
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        "" | "null" | "None" | "undefined" => Value::Null,
        _ => match word.parse::<f64>() {
            Ok(number) if number.is_finite() => Value::from(number),
            _ => Value::from(word),
        },
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use runner_plugin::json::{json, same};

    use super::*;

    fn found(text: &str) -> Option<Value> {
        let found = object(text, &["pass", "a", REASON]);
        found.unwrap_or_default().map(Value::Object)
    }

    #[test]
    fn several_verdicts_must_agree() {
        for text in [
            r#"The answer says {"pass": true}. My verdict: {"pass": false}"#,
            r#"<thinking>{"pass": true}</thinking>{"pass": false}"#,
            "{pass: true} {'pass': false}",
            r#"{"pass": true} {"a": 1}"#,
            r#"{"a": {"pass": 1}} {"a": 2}"#,
            r#"{"reason": "it says {"pass": true, "a": 1}, so", "a": 0, "pass": false}"#,
            r#"{"reason": "it says {"pass": true}, so", 'pass' : False}"#,
            r#"{reason: "it says {"pass": true}, so", a: 0, pass: false}"#,
            "pass: false\na: 0\n{\"pass\": true, \"a\": 1}",
            "It quotes {\"pass\": true}:\n  pass: no.",
            r#"{"pass": true} and "a": 1"#,
        ] {
            assert!(object(text, &["pass", "a", REASON]).is_err(), "{text}");
        }
        for text in [
            r#"{"pass": true, "reason": "x"} As said: {"reason": "y", "pass": true}"#,
            r#"{"a": {"pass": true}} {"other": {"x": false}}"#,
            "{\"pass\": true} \n\"pass\": true, and pass: false is what I would say if\npass: True",
            "{\"a\": 0.50} a pass: and\na : 0.5",
            "Clear, a: 8/10 {\"a\": 0.8}",
        ] {
            let first = &text[..=text.find('}').expect("an object")];
            let first = found(first).expect("it is one");
            assert!(same(&found(text).expect(text), &first), "{text}");
        }
    }

    /// The verdict may stand behind the last that is looked at.
    #[test]
    fn more_braces_than_are_looked_at_are_no_verdict() {
        let quoted = |braces: usize| {
            format!(
                "{{\"pass\": true}} {} {{\"pass\": false}}",
                "{".repeat(braces)
            )
        };
        for braces in [10, OPENINGS, 10 * OPENINGS] {
            assert!(object(&quoted(braces), &["pass"]).is_err(), "{braces}");
        }
        let inside = format!(
            "{{\"pass\": true, \"reason\": \"{}\"}}",
            "{".repeat(10 * OPENINGS)
        );
        assert!(object(&inside, &["pass"]).is_ok());
    }

    #[test]
    fn objects_are_found_in_what_models_write() {
        for (text, expected) in [
            (
                r#"{"pass": true, "score": 0.5}"#,
                json!({ "pass": true, "score": 0.5 }),
            ),
            (
                "Sure!\n```json\n{\"pass\": false}\n```\nBye {x}",
                json!({ "pass": false }),
            ),
            (
                r#"{"a": {"b": [1, 2]}} trailing"#,
                json!({ "a": { "b": [1, 2] } }),
            ),
            (
                "{pass: true, reason: 'it''s fine'}",
                json!({ "pass": true, "reason": "it''s fine" }),
            ),
            (
                "{'pass': False, 'score': None}",
                json!({ "pass": false, "score": null }),
            ),
            (
                "{pass: true, // yes\n a: 1.5,}",
                json!({ "pass": true, "a": 1.5 }),
            ),
            ("{\"pass\": true // why\n}", json!({ "pass": true })),
            (
                "{\"pass\": true, \"reason\": \"two\nlines\"}",
                json!({ "pass": true, "reason": "two\nlines" }),
            ),
            (
                r#"{"reason": "he said "no" twice", "pass": false}"#,
                json!({ "reason": "he said \"no\" twice", "pass": false }),
            ),
            (
                r#"{"pass": false, "reason": "it stops he"#,
                json!({ "pass": false, "reason": "it stops he" }),
            ),
            (r#"{"pass": false, "rea"#, json!({ "pass": false })),
            (r#"{"a": [1, {"b": 2}"#, json!({ "a": [1, { "b": 2.0 }] })),
            (r#"{'a': "\u00e4\t\"x"}"#, json!({ "a": "ä\t\"x" })),
            (
                "{thinking} {\"x\": 1} {\"pass\": true}",
                json!({ "pass": true }),
            ),
            ("{ first, {\"pass\": true} }", json!({ "pass": true })),
        ] {
            let found = found(text).unwrap_or_else(|| panic!("nothing in {text}"));
            assert!(same(&found, &expected), "{text}: {found}");
        }
    }

    #[test]
    fn where_there_is_none_nothing_is_found() {
        for text in [
            "",
            "pass",
            "{}",
            "{pass}",
            "[1]",
            r#"{"other": 1}"#,
            "{{{{",
            "{pass true}",
        ] {
            assert_eq!(found(text), None, "{text}");
        }
        let deep = format!("{{pass: {}", "[".repeat(100_000));
        assert_eq!(found(&deep), None);
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_a_panic(text in "[{}\\[\\]:,'\"\\\\/ua0 \n\u{e4}]{0,60}") {
            let _ = found(&text);
        }

        #[test]
        fn what_is_json_is_read_as_json(key in "[a-z]{1,5}", text in ".{0,20}", number in any::<i32>()) {
            let value = json!({ "pass": { key: [text, number] } });
            prop_assert_eq!(found(&format!("So: {value} Done.")), Some(value));
        }
    }
}
