//! The JSON objects in a text that is prose, or a fenced block, or half of an answer.
//!
//! Each `{` may begin one. It is read as JSON first, then as JSON with liberties
//! ([`crate::lenient`]), and closed if the text breaks off. Lists at the top do not count, the
//! objects in them do.

use runner_plugin::json::{Map, Value};

use crate::lenient;

/// The longest object that is read with liberties, in bytes.
const LENIENT_BYTES: usize = 100_000;

/// How many bytes are looked at in vain before the search ends. A text of a hundred thousand
/// braces would otherwise be read a hundred thousand times.
const VAIN_BYTES: usize = 4_000_000;

/// The objects, in the order in which they begin; none inside another.
pub(crate) fn objects(text: &str) -> Objects<'_> {
    Objects {
        rest: text,
        budget: VAIN_BYTES,
        missed: false,
    }
}

pub(crate) struct Objects<'t> {
    rest: &'t str,
    budget: usize,
    missed: bool,
}

impl Objects<'_> {
    /// Whether there may be more objects among what was looked at: it was too much, or too deep.
    pub(crate) fn missed(&self) -> bool {
        self.missed
    }
}

impl Iterator for Objects<'_> {
    type Item = Value;

    fn next(&mut self) -> Option<Value> {
        loop {
            self.rest = &self.rest[self.rest.find('{')?..];
            for read in [strict, liberal] {
                let Read {
                    found,
                    length,
                    deep,
                } = read(self.rest);
                if found.is_some() {
                    self.rest = &self.rest[length..];
                    return found;
                }
                let budget = self.budget.checked_sub(length);
                self.missed |= deep || budget.is_none();
                self.budget = budget?;
            }
            self.rest = &self.rest[1..];
        }
    }
}

/// What the start of a text was read as.
struct Read {
    /// The object, if there is one.
    found: Option<Value>,
    /// How long it is, or how much was looked at in vain.
    length: usize,
    /// Whether it is deeper than can be read.
    deep: bool,
}

/// How what begins with a brace ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Closed,
    /// Not within the text.
    Open,
    /// It is deeper than can be read.
    Deep,
}

/// An object of JSON, which ends where its braces are even outside quotes.
fn strict(text: &str) -> Read {
    let (length, end) = extent(text, true);
    let object = || serde_json::from_str::<Map<String, Value>>(&text[..length]).ok();
    let object = (end == End::Closed).then(object).flatten();
    Read {
        found: object.map(Value::Object),
        length,
        deep: end == End::Deep,
    }
}

/// An object with liberties, where quotes may be anything: its braces are counted as they
/// come, and added where the text breaks off.
fn liberal(text: &str) -> Read {
    let window = &text[..text.floor_char_boundary(text.len().min(LENIENT_BYTES))];
    let (length, end) = extent(window, false);
    let found = match end {
        End::Closed => object(&window[..length]),
        End::Open if length == text.len() => {
            let open = window.matches('{').count() - window.matches('}').count();
            object(&format!("{window}{}", "}".repeat(open)))
        }
        End::Open | End::Deep => None,
    };
    Read {
        found,
        length,
        deep: end == End::Deep,
    }
}

/// How far the object at the start of a text reaches, and how it ends there. What is deeper than
/// can be read ends at once: readers look far ahead in it.
fn extent(text: &str, quotes: bool) -> (usize, End) {
    let (mut objects, mut lists) = (0_usize, 0_usize);
    let (mut inside, mut escaped) = (false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = inside,
            b'"' if quotes => inside = !inside,
            _ if inside => {}
            b'{' => objects += 1,
            b'}' => objects -= 1,
            b'[' => lists += 1,
            b']' => lists = lists.saturating_sub(1),
            _ => {}
        }
        if objects == 0 {
            return (at + 1, End::Closed);
        }
        if objects + lists > lenient::DEPTH {
            return (at + 1, End::Deep);
        }
    }
    (text.len(), End::Open)
}

fn object(text: &str) -> Option<Value> {
    lenient::json(text).filter(Value::is_object)
}

#[cfg(test)]
mod tests {
    use super::objects;
    use runner_plugin::json::{Value, json};

    #[test]
    fn objects_are_found_in_prose() {
        for (text, expected) in [
            (r#"Sure: {"a": 1}. Done."#, vec![json!({ "a": 1 })]),
            (
                "```json\n{\"a\": {\"b\": 2}}\n```",
                vec![json!({ "a": { "b": 2 } })],
            ),
            (
                r#"{"a": 1} and {"b": 2}"#,
                vec![json!({ "a": 1 }), json!({ "b": 2 })],
            ),
            (
                r#"[{"a": 1}, {"b": 2}]"#,
                vec![json!({ "a": 1 }), json!({ "b": 2 })],
            ),
            (
                r#"{"text": "a } b"} tail"#,
                vec![json!({ "text": "a } b" })],
            ),
            ("{a: 1}", vec![json!({ "a": 1 })]),
            ("{a:1}", vec![json!({ "a:1": null })]),
            ("{'a': 1, // note\n}", vec![json!({ "a": 1 })]),
            (r#"{"a": {"b": 1"#, vec![json!({ "a": { "b": 1 } })]),
            (r#"{]: {"a": 1}}"#, vec![json!({ "a": 1 })]),
            ("[1, 2]", vec![]),
            ("}", vec![]),
            ("no braces", vec![]),
        ] {
            assert_eq!(objects(text).collect::<Vec<Value>>(), expected, "{text}");
        }
    }

    #[test]
    fn a_text_of_braces_ends() {
        for text in [
            "{".repeat(50_000),
            "{]".repeat(50_000),
            "{ä".repeat(40_000),
            r#"{"a":"#.repeat(20_000),
            "{a: [".repeat(20_000),
        ] {
            let mut all = objects(&text);
            assert_eq!((all.by_ref().count(), all.missed()), (0, true));
        }
    }
}
