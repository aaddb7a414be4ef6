//! What of an argument a piece of code reads, so that nothing else is made of it.
//!
//! An assertion gets the whole of its case (`context`: variables, test, answer, …), and nearly
//! every one reads a field of it or none. Making objects of all of it would be the larger part of
//! a call. Pure text: where the code may reach an argument in a way that a look at its words can't
//! follow, all of it is made.

use std::borrow::Cow;

/// What of an argument is read.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Reads<'a> {
    /// Only these fields; none if it isn't named at all.
    Fields(Vec<&'a str>),
    /// Perhaps all of it.
    All,
}

/// Words by which code reaches what it doesn't name.
const HIDDEN: [&str; 2] = ["eval", "arguments"];

/// The JSON text of the argument `name`, without the fields that `source` can't read; `None` if
/// it doesn't read the argument at all.
pub(crate) fn part<'a>(source: &str, name: &str, json: &'a str) -> Option<Cow<'a, str>> {
    match reads(source, name) {
        Reads::Fields(fields) if fields.is_empty() => None,
        Reads::Fields(fields) => Some(picked(json, &fields)),
        Reads::All => Some(Cow::Borrowed(json)),
    }
}

fn reads<'a>(source: &'a str, name: &str) -> Reads<'a> {
    // A name may be written with an escape.
    if source.contains("\\u")
        || HIDDEN
            .iter()
            .any(|word| words(source, word).next().is_some())
    {
        return Reads::All;
    }
    let mut fields = Vec::new();
    for at in words(source, name) {
        let rest = source[at + name.len()..].trim_start();
        let Some(rest) = rest.strip_prefix("?.").or_else(|| rest.strip_prefix('.')) else {
            return Reads::All;
        };
        let rest = rest.trim_start();
        let length = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        if length == 0 {
            return Reads::All;
        }
        fields.push(&rest[..length]);
    }
    Reads::Fields(fields)
}

/// Where `word` stands in a text, as a word.
fn words<'a>(text: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    let places = text.match_indices(word).map(|(at, _)| at);
    places.filter(move |at| {
        let before = text[..*at].chars().next_back();
        let after = text[at + word.len()..].chars().next();
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}

fn is_part(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

/// An object with those of its fields that are named; anything else as it is.
fn picked<'a>(json: &'a str, names: &[&str]) -> Cow<'a, str> {
    let Some(fields) = fields(json) else {
        return Cow::Borrowed(json);
    };
    let mut object = String::from("{");
    for (name, field) in fields {
        if names.contains(&name) {
            if object.len() > 1 {
                object.push(',');
            }
            object.push_str(field);
        }
    }
    object.push('}');
    Cow::Owned(object)
}

/// The fields of an object, each with its name: `("a", "\"a\":1")`. `None` if it isn't one, or has
/// a name with an escape.
fn fields(json: &str) -> Option<Vec<(&str, &str)>> {
    let inner = json.trim().strip_prefix('{')?.strip_suffix('}')?;
    let bytes = inner.as_bytes();
    let mut fields = Vec::new();
    let mut start = 0;
    let mut at = 0;
    let mut depth = 0_u32;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => at = end_of_text(bytes, at)?,
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.checked_sub(1)?,
            b',' if depth == 0 => {
                fields.push(field(&inner[start..at])?);
                start = at + 1;
            }
            _ => {}
        }
        at += 1;
    }
    if depth > 0 {
        return None;
    }
    if !(fields.is_empty() && inner.trim().is_empty()) {
        fields.push(field(&inner[start..])?);
    }
    Some(fields)
}

/// Where the text that begins at `at` has its second quote.
fn end_of_text(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        at += 1;
        match bytes.get(at)? {
            b'\\' => at += 1,
            b'"' => return Some(at),
            _ => {}
        }
    }
}

fn field(text: &str) -> Option<(&str, &str)> {
    let text = text.trim();
    let (name, rest) = text.strip_prefix('"')?.split_once('"')?;
    let is_plain = !name.contains('\\') && rest.trim_start().starts_with(':');
    is_plain.then_some((name, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    const JSON: &str = r#"{"vars":{"a":"},{","b":[1,"]"]},"prompt":"say \"vars\": 1","n":null}"#;

    fn part_of(source: &str) -> Option<String> {
        part(source, "context", JSON).map(Cow::into_owned)
    }

    #[test]
    fn only_what_is_named_is_handed_over() {
        let vars = r#"{"vars":{"a":"},{","b":[1,"]"]}}"#;
        let both = r#"{"vars":{"a":"},{","b":[1,"]"]},"n":null}"#;
        let cases = [
            ("output > 1", None),
            ("mycontext.vars, context_.vars, $context.vars", None),
            ("output == context.vars.a", Some(vars)),
            ("context?.vars?.a", Some(vars)),
            ("context\n  .vars.b[0]", Some(vars)),
            ("`${context.vars.a}` + context.n", Some(both)),
            ("context.nothing", Some("{}")),
            ("context.toString()", Some("{}")),
            ("x.context.vars", Some(vars)),
            // Whatever could be more.
            ("context['vars']", Some(JSON)),
            ("f(context)", Some(JSON)),
            ("const { vars } = context", Some(JSON)),
            ("context.vars.a && JSON.stringify(context)", Some(JSON)),
            ("context /* here */ .vars", Some(JSON)),
            ("eval('con' + 'text')", Some(JSON)),
            ("arguments[1].vars", Some(JSON)),
            (r"con\u0074ext.vars", Some(JSON)),
            (r"con\u{74}ext.vars", Some(JSON)),
        ];
        for (source, expected) in cases {
            assert_eq!(part_of(source).as_deref(), expected, "{source}");
        }
    }

    #[test]
    fn what_is_no_object_stays_as_it_is() {
        for json in [
            "\"text\"",
            "[1,{\"a\":2}]",
            "5",
            "{\"a\":1",
            "{\"\\u0061\":1}",
            "{1:2}",
        ] {
            assert_eq!(
                part("context.a", "context", json),
                Some(json.into()),
                "{json}"
            );
        }
        assert_eq!(part("context.a", "context", "{}"), Some("{}".into()));
    }

    /// The field that is handed over is that of the whole, whatever stands around it.
    #[test]
    fn fields_keep_their_values() {
        let values = ["\"", "\\", "},{", "[", "\\\"", "a\":1,\"b", "", "é\n"];
        let names = ["a", "b", "c"];
        for first in values {
            for second in values {
                for nested in [false, true] {
                    let second = serde_json::json!(second);
                    let second = if nested {
                        serde_json::json!({ "b": [second] })
                    } else {
                        second
                    };
                    let whole = serde_json::json!({ "a": first, "b": second, "c": 1 });
                    for name in names {
                        let json = whole.to_string();
                        let picked = part(&format!("context.{name}"), "context", &json);
                        let picked: serde_json::Value =
                            serde_json::from_str(&picked.expect("it is named"))
                                .expect("it is JSON");
                        assert_eq!(picked, serde_json::json!({ name: whole[name] }));
                    }
                }
            }
        }
    }
}
