//! Filters on texts.

use std::fmt::Write as _;

use minijinja::{Error, State, Value};

use super::{Args, Filter};
use crate::template::effort::{self, refuse};
use crate::template::operators::{made, to_number, to_text};
use crate::template::values::{Seen, printed, see, size};

pub(super) const FILTERS: &[(&str, Filter)] = &[
    ("capitalize", |state, value, _| {
        on_text(state, value, capitalized)
    }),
    ("center", center),
    ("e", escape),
    ("escape", escape),
    ("forceescape", |state, value, _| {
        on_text(state, value, escaped)
    }),
    ("indent", indent),
    ("lower", |state, value, _| {
        on_text(state, value, str::to_lowercase)
    }),
    ("nl2br", |state, value, _| {
        on_text(state, value, |text| {
            text.replace("\r\n", "\n").replace('\n', "<br />\n")
        })
    }),
    ("replace", replace),
    ("safe", |state, value, _| {
        on_text(state, value, str::to_owned).map(|text| marked_safe(&text))
    }),
    ("string", |state, value, _| {
        on_text(state, value, str::to_owned)
    }),
    ("striptags", striptags),
    ("title", |state, value, _| {
        on_text(state, value, |text| {
            let words: Vec<String> = text.split(' ').map(capitalized).collect();
            words.join(" ")
        })
    }),
    ("trim", |state, value, _| {
        on_text(state, value, |text| text.trim().to_owned())
    }),
    ("truncate", truncate),
    ("upper", |state, value, _| {
        on_text(state, value, str::to_uppercase)
    }),
    ("urlencode", urlencode),
    ("wordcount", wordcount),
];

/// What is made of a value's text, counted.
fn on_text(
    state: &mut State<'_, '_>,
    value: &Value,
    make: impl FnOnce(&str) -> String,
) -> Result<Value, Error> {
    effort::read(state, size(value))?;
    let text = match see(value) {
        Seen::Bool(false) => String::new(),
        Seen::Text(text) => make(text),
        _ => make(&printed(value)),
    };
    made(state, text)
}

/// Escapes HTML; what is marked as safe stays.
fn escape(state: &mut State<'_, '_>, value: &Value, _: &Args) -> Result<Value, Error> {
    if value.is_safe() {
        return Ok(value.clone());
    }
    on_text(state, value, escaped).map(|text| marked_safe(&text))
}

fn marked_safe(text: &Value) -> Value {
    Value::from_safe_string(printed(text))
}

fn capitalized(word: &str) -> String {
    let lower = word.to_lowercase();
    let mut chars = lower.chars();
    match chars.next() {
        Some(first) => first.to_uppercase().chain(chars).collect(),
        None => lower,
    }
}

fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '\\' => escaped.push_str("&#92;"),
            _ => escaped.push(c),
        }
    }
    escaped
}

/// Spaces on both sides up to a width.
fn center(state: &mut State<'_, '_>, value: &Value, args: &Args) -> Result<Value, Error> {
    let (text, width) = (printed(value), args.count(0, "width", 80));
    let Some(spaces) = width
        .checked_sub(text.chars().count())
        .filter(|spaces| *spaces > 0)
    else {
        return Ok(Value::from(text));
    };
    effort::make(state, spaces)?;
    let left = " ".repeat(spaces / 2);
    let right = " ".repeat(spaces - spaces / 2);
    made(state, format!("{left}{text}{right}"))
}

/// Spaces before every line; before the first one only if asked.
fn indent(state: &mut State<'_, '_>, value: &Value, args: &Args) -> Result<Value, Error> {
    let (text, width) = (printed(value), args.count(0, "width", 4));
    let lines = 1 + text.matches('\n').count();
    effort::make(
        state,
        text.len().saturating_add(lines.saturating_mul(width)),
    )?;
    if text.is_empty() {
        return Ok(Value::from(text));
    }
    let spaces = " ".repeat(width);
    let first = if args.get(1, "indentfirst").is_true() {
        spaces.as_str()
    } else {
        ""
    };
    let text = text.replace('\n', &format!("\n{spaces}"));
    Ok(Value::from(format!("{first}{text}")))
}

/// Every `old`, or the first so many, by `new`; an empty `old` stands between letters.
fn replace(state: &mut State<'_, '_>, value: &Value, args: &Args) -> Result<Value, Error> {
    let (old, new) = (args.at(0), to_text(&args.get(1, "new")));
    let replaceable = matches!(see(value), Seen::Text(_) | Seen::Number(_));
    if !replaceable || !matches!(see(&old), Seen::Text(_) | Seen::Number(_)) {
        return Ok(value.clone());
    }
    let (text, old) = (printed(value), printed(&old));
    effort::read(state, text.len())?;
    let limit = match to_number(&args.get(2, "count")) {
        limit if limit >= 0.0 => limit as usize,
        _ => usize::MAX,
    };
    replaced(state, &text, &old, &new, limit)
}

/// `text` with so many `old` replaced, counted before it is made.
pub(crate) fn replaced(
    state: &mut State<'_, '_>,
    text: &str,
    old: &str,
    new: &str,
    limit: usize,
) -> Result<Value, Error> {
    let found = if old.is_empty() {
        text.chars().count() + 1
    } else {
        text.matches(old).count()
    };
    let added = found.min(limit).saturating_mul(new.len());
    if added.saturating_add(text.len()) > crate::template::MAX_RENDERED {
        return Err(refuse("replace: the result is too long"));
    }
    let replaced = if limit == usize::MAX {
        text.replace(old, new)
    } else {
        text.replacen(old, new, limit)
    };
    made(state, replaced)
}

/// Takes tags and comments of HTML away, and white space that is too much.
fn striptags(state: &mut State<'_, '_>, value: &Value, args: &Args) -> Result<Value, Error> {
    let keeps_lines = args.get(0, "preserve_linebreaks").is_true();
    on_text(state, value, |text| {
        let text = without_tags(text);
        let text = text.trim();
        if !keeps_lines {
            return squashed(text, char::is_whitespace);
        }
        let lines = text
            .lines()
            .map(|line| squashed(line.trim_matches(' '), |c| c == ' '));
        let mut kept: Vec<String> = Vec::new();
        for line in lines {
            // At most one empty line in a row.
            if !(line.is_empty() && kept.last().is_some_and(String::is_empty)) {
                kept.push(line);
            }
        }
        kept.join("\n")
    })
}

/// `text` with each run of such characters as one space.
fn squashed(text: &str, is_space: impl Fn(char) -> bool) -> String {
    let mut squashed = String::with_capacity(text.len());
    let mut spaced = false;
    for c in text.chars() {
        if !is_space(c) {
            squashed.push(c);
        } else if !spaced {
            squashed.push(' ');
        }
        spaced = is_space(c);
    }
    squashed
}

fn without_tags(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    // Ends that were looked for in vain, so that a text of openings costs one pass.
    let (mut no_close, mut no_comment) = (false, false);
    while let Some(at) = rest.find('<') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let end = if rest.starts_with("<!--") && !no_comment {
            let end = rest[4..].find("-->").map(|end| end + 7);
            no_comment = end.is_none();
            end
        } else if is_tag_name(&rest[1..]) && !no_close {
            let end = rest.find('>').map(|end| end + 1);
            no_close = end.is_none();
            end
        } else {
            None
        };
        let len = end.unwrap_or_else(|| {
            out.push('<');
            1
        });
        rest = &rest[len..];
    }
    out.push_str(rest);
    out
}

/// Whether a tag's name follows its `<`.
fn is_tag_name(rest: &str) -> bool {
    let rest = rest.strip_prefix('/').unwrap_or(rest);
    let name = rest.trim_start_matches(|c: char| c.is_ascii_alphanumeric());
    rest.starts_with(|c: char| c.is_ascii_alphabetic()) && !name.starts_with('_')
}

/// Cuts at a word, or anywhere with `killwords`; adds `end` (`...`) where it cut.
fn truncate(state: &mut State<'_, '_>, value: &Value, args: &Args) -> Result<Value, Error> {
    let (length, killwords) = (args.count(0, "length", 255), args.get(1, "killwords"));
    let end = args.get(2, "end");
    let end = match see(&end) {
        Seen::Undefined | Seen::Null => "...".to_owned(),
        _ => printed(&end),
    };
    on_text(state, value, |text| {
        let Some((cut, next)) = text.char_indices().nth(length) else {
            return text.to_owned();
        };
        let head = &text[..cut];
        let head = match (killwords.is_true(), next) {
            // A word that ends just here stays whole.
            (true, _) | (false, ' ') => head,
            _ => head.rfind(' ').map_or(head, |space| &head[..space]),
        };
        format!("{head}{end}")
    })
}

/// `encodeURIComponent`; of a map, or a list of pairs, a query.
fn urlencode(state: &mut State<'_, '_>, value: &Value, _: &Args) -> Result<Value, Error> {
    effort::make(state, size(value).saturating_mul(3))?;
    let pair = |key: &Value, value: &Value| {
        format!("{}={}", encoded(&to_text(key)), encoded(&to_text(value)))
    };
    let text = match see(value) {
        Seen::Map(map) => {
            let field = |(key, value): &(String, Value)| pair(&Value::from(key.as_str()), value);
            map.fields.iter().map(field).collect::<Vec<_>>().join("&")
        }
        Seen::List(list) => {
            let at = |item: &Value, place: usize| match see(item) {
                Seen::List(pair) => pair.items.get(place).cloned().unwrap_or_default(),
                _ => Value::UNDEFINED,
            };
            let item = |item: &Value| pair(&at(item, 0), &at(item, 1));
            list.items.iter().map(item).collect::<Vec<_>>().join("&")
        }
        _ => encoded(&printed(value)),
    };
    Ok(Value::from(text))
}

fn encoded(text: &str) -> String {
    let unreserved = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.!~*'()".contains(&byte);
    let mut encoded = String::new();
    for byte in text.bytes() {
        if unreserved(byte) {
            encoded.push(char::from(byte));
        } else {
            write!(encoded, "%{byte:02X}").expect("a string takes everything");
        }
    }
    encoded
}

/// Runs of letters, digits and `_`. Letters of all languages count, unlike in nunjucks.
fn wordcount(state: &mut State<'_, '_>, value: &Value, _: &Args) -> Result<Value, Error> {
    effort::read(state, size(value))?;
    let text = printed(value);
    let words = text
        .split(|c: char| !(c.is_alphanumeric() || c == '_'))
        .filter(|word| !word.is_empty())
        .count();
    // nunjucks has nothing where there is no word, and none in 0.
    Ok(if words == 0 || !value.is_true() {
        Value::from(())
    } else {
        Value::from(words)
    })
}
