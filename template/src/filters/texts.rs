//! Filters on texts.

use std::borrow::Cow;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::{Args, Filter};
use crate::meter::{Meter, Outcome, refuse};
use crate::numbers::to_number;
use crate::operators::get;
use crate::value::{Text, Value};

pub(super) const FILTERS: &[(&str, Filter)] = &[
    ("capitalize", |meter, value, _| {
        changed(meter, value, capitalized)
    }),
    ("center", center),
    ("e", escape),
    ("escape", escape),
    ("forceescape", |meter, value, _| force_escaped(meter, value)),
    ("indent", indent),
    ("lower", |meter, value, _| {
        changed(meter, value, str::to_lowercase)
    }),
    ("nl2br", |meter, value, _| {
        let text = given(meter, value)?;
        let more = "<br />".len() * text.matches('\n').count();
        longer(meter, &text, more, |text| {
            text.replace("\r\n", "\n").replace('\n', "<br />\n")
        })
    }),
    ("replace", replace),
    ("safe", |meter, value, _| {
        changed(meter, value, str::to_owned).map(safe)
    }),
    ("string", |meter, value, _| {
        changed(meter, value, str::to_owned)
    }),
    ("striptags", striptags),
    ("title", |meter, value, _| {
        changed(meter, value, |text| {
            let words: Vec<String> = text.split(' ').map(capitalized).collect();
            words.join(" ")
        })
    }),
    ("trim", |meter, value, _| {
        changed(meter, value, |text| text.trim().to_owned())
    }),
    ("truncate", truncate),
    ("upper", |meter, value, _| {
        changed(meter, value, str::to_uppercase)
    }),
    ("urlencode", urlencode),
    ("urlize", urlize),
    ("wordcount", wordcount),
];

/// The text that a filter works on: what is printed, but nothing for `false`.
fn given<'v>(meter: &mut Meter, value: &'v Value<'_>) -> Outcome<Cow<'v, str>> {
    let text = match value {
        Value::Bool(false) => Cow::Borrowed(""),
        _ => meter.text(value)?,
    };
    meter.read(text.len())?;
    Ok(text)
}

/// What is made of a value's text.
fn changed<'a>(
    meter: &mut Meter,
    value: &Value<'_>,
    change: impl FnOnce(&str) -> String,
) -> Outcome<Value<'a>> {
    let text = given(meter, value)?;
    longer(meter, &text, 0, change)
}

/// What is made of a text, and has about as many bytes as the text and `more`: those are counted
/// before it is made.
fn longer<'a>(
    meter: &mut Meter,
    text: &str,
    more: usize,
    change: impl FnOnce(&str) -> String,
) -> Outcome<Value<'a>> {
    let about = text.len().saturating_add(more);
    meter.make(about)?;
    let made = change(text);
    meter.make(made.len().saturating_sub(about))?;
    Ok(Value::from(made))
}

/// What needs no more escaping.
fn safe(value: Value<'_>) -> Value<'_> {
    match value {
        Value::Text(text) => Value::Safe(text),
        other => other,
    }
}

/// Escapes HTML; what is marked as safe stays.
fn escape<'a>(meter: &mut Meter, value: &Value<'a>, _: &Args<'a>) -> Outcome<Value<'a>> {
    match value {
        Value::Safe(_) => Ok(value.clone()),
        _ => force_escaped(meter, value),
    }
}

fn force_escaped<'a>(meter: &mut Meter, value: &Value<'_>) -> Outcome<Value<'a>> {
    let text = given(meter, value)?;
    let more = text.bytes().filter_map(|byte| entity(byte.into()));
    let more = more.map(|entity| entity.len() - 1).sum();
    longer(meter, &text, more, escaped).map(safe)
}

fn entity(c: char) -> Option<&'static str> {
    Some(match c {
        '&' => "&amp;",
        '"' => "&quot;",
        '\'' => "&#39;",
        '<' => "&lt;",
        '>' => "&gt;",
        '\\' => "&#92;",
        _ => return None,
    })
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
        match entity(c) {
            Some(entity) => escaped.push_str(entity),
            None => escaped.push(c),
        }
    }
    escaped
}

/// Spaces on both sides up to a width.
fn center<'a>(meter: &mut Meter, value: &Value<'a>, args: &Args<'a>) -> Outcome<Value<'a>> {
    let (text, width) = (given(meter, value)?, args.count(0, "width", 80));
    let spaces = width.saturating_sub(text.chars().count());
    meter.make(spaces)?;
    let left = " ".repeat(spaces / 2);
    let right = " ".repeat(spaces - spaces / 2);
    meter.made(format!("{left}{text}{right}"))
}

/// Spaces before every line; before the first one only if asked.
fn indent<'a>(meter: &mut Meter, value: &Value<'a>, args: &Args<'a>) -> Outcome<Value<'a>> {
    let (text, width) = (given(meter, value)?, args.count(0, "width", 4));
    if text.is_empty() {
        return Ok(Value::from(""));
    }
    let lines = 1 + text.matches('\n').count();
    meter.make(lines.saturating_mul(width))?;
    let spaces = " ".repeat(width);
    let first = if args.get(1, "indentfirst").is_true() {
        spaces.as_str()
    } else {
        ""
    };
    let text = text.replace('\n', &format!("\n{spaces}"));
    meter.made(format!("{first}{text}"))
}

/// Every `old`, or the first so many, by `new`; an empty `old` stands between letters.
fn replace<'a>(meter: &mut Meter, value: &Value<'a>, args: &Args<'a>) -> Outcome<Value<'a>> {
    let (old, new) = (args.at(0), args.get(1, "new"));
    let is_replaceable = |value: &Value<'_>| {
        value.as_text().is_some() || matches!(value, Value::Whole(_) | Value::Float(_))
    };
    if !is_replaceable(value) || !is_replaceable(&old) {
        return Ok(value.clone());
    }
    let limit = match to_number(&args.get(2, "count")) {
        limit if limit >= 0.0 => limit as usize,
        _ => usize::MAX,
    };
    let text = meter.text(value)?;
    replaced(meter, &text, &old, &new, limit)
}

/// `text` with so many `old` replaced, counted before it is made.
pub(crate) fn replaced<'a>(
    meter: &mut Meter,
    text: &str,
    old: &Value<'_>,
    new: &Value<'_>,
    limit: usize,
) -> Outcome<Value<'a>> {
    let (old, new) = (meter.string(old)?, meter.string(new)?);
    meter.read(text.len())?;
    let found = if old.is_empty() {
        text.chars().count() + 1
    } else {
        text.matches(&*old).count()
    };
    let added = found.min(limit).saturating_mul(new.len());
    if added.saturating_add(text.len()) > crate::MAX_TEXT {
        return refuse("replace: the result is too long");
    }
    meter.made(text.replacen(&*old, &new, limit))
}

/// Takes tags and comments of HTML away, and white space that is too much.
fn striptags<'a>(meter: &mut Meter, value: &Value<'a>, args: &Args<'a>) -> Outcome<Value<'a>> {
    let keeps_lines = args.get(0, "preserve_linebreaks").is_true();
    changed(meter, value, |text| {
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
fn truncate<'a>(meter: &mut Meter, value: &Value<'a>, args: &Args<'a>) -> Outcome<Value<'a>> {
    let length = args.count(0, "length", 255);
    let kills_words = args.get(1, "killwords").is_true();
    let end = args.get(2, "end");
    let end = match end {
        Value::Undefined | Value::Null => Cow::Borrowed("..."),
        _ => meter.text(&end)?,
    };
    changed(meter, value, |text| {
        let Some((cut, next)) = text.char_indices().nth(length) else {
            return text.to_owned();
        };
        let mut head = &text[..cut];
        // A word that ends just here stays whole.
        if !kills_words && next != ' ' {
            head = head.rfind(' ').map_or(head, |space| &head[..space]);
        }
        format!("{head}{end}")
    })
}

/// `encodeURIComponent`; of a map, or a list of pairs, a query. It is escaped for an address, so
/// it is safe in one.
fn urlencode<'a>(meter: &mut Meter, value: &Value<'a>, _: &Args<'a>) -> Outcome<Value<'a>> {
    let pairs = match value {
        Value::Map(map) => {
            let pair = |(key, value)| (Value::Text(key), value);
            meter.fields(map)?.into_iter().map(pair).collect()
        }
        Value::List(_) => {
            let mut pairs = Vec::new();
            for item in meter.items(value)? {
                let at = |meter: &mut Meter, place| match &item {
                    Value::List(_) => get(meter, &item, &Value::Whole(place)),
                    _ => Ok(Value::Undefined),
                };
                pairs.push((at(meter, 0)?, at(meter, 1)?));
            }
            pairs
        }
        _ => {
            let text = meter.text(value)?;
            let encoded = encoded(meter, &text)?;
            return Ok(Value::Safe(Text::from(encoded)));
        }
    };
    let mut query = String::new();
    for (key, value) in pairs {
        let (key, value) = (meter.string(&key)?, meter.string(&value)?);
        query.push_str(if query.is_empty() { "" } else { "&" });
        query.push_str(&encoded(meter, &key)?);
        query.push('=');
        query.push_str(&encoded(meter, &value)?);
    }
    Ok(Value::Safe(Text::from(query)))
}

/// What JavaScript's `encodeURIComponent` encodes.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'!')
    .remove(b'~')
    .remove(b'*')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')');

fn encoded(meter: &mut Meter, text: &str) -> Outcome<String> {
    meter.make(2 + text.len().saturating_mul(3))?;
    Ok(utf8_percent_encode(text, RESERVED).to_string())
}

/// Links around what looks like an address. A word that was made is no longer than three of it and
/// its markup.
fn urlize<'a>(meter: &mut Meter, value: &Value<'a>, args: &Args<'a>) -> Outcome<Value<'a>> {
    const MARKUP: usize = 64;
    let length = match to_number(&args.get(0, "length")) {
        length if length.is_nan() => usize::MAX,
        // A number below zero becomes zero.
        length => length as usize,
    };
    let nofollow = match args.get(1, "nofollow") {
        Value::Bool(true) => " rel=\"nofollow\"",
        _ => "",
    };
    let text = given(meter, value)?;
    let words = text.split_whitespace().count();
    meter.make(text.len().saturating_mul(3).saturating_add(words * MARKUP))?;
    let mut linked = String::new();
    for piece in text.split_inclusive(char::is_whitespace) {
        let word = piece.trim_end();
        match link(word, length, nofollow) {
            Some(link) => linked.push_str(&link),
            None => linked.push_str(word),
        }
        linked.push_str(&piece[word.len()..]);
    }
    meter.made(linked)
}

/// The link that a word becomes, if it looks like an address.
fn link(word: &str, length: usize, nofollow: &str) -> Option<String> {
    let address = bare(word);
    let scheme = if address.starts_with("http://") || address.starts_with("https://") {
        ""
    } else if address.starts_with("www.") {
        "http://"
    } else if is_mail_address(address) {
        return Some(format!("<a href=\"mailto:{address}\">{address}</a>"));
    } else if names_known_domain(address) {
        "http://"
    } else {
        return None;
    };
    let shown = address.char_indices().nth(length);
    let shown = shown.map_or(address, |(end, _)| &address[..end]);
    Some(format!(
        "<a href=\"{scheme}{address}\"{nofollow}>{shown}</a>"
    ))
}

/// A word without a bracket before it and a sign after it.
fn bare(word: &str) -> &str {
    let openings = ["(", "<", "&lt;"];
    let word = openings
        .iter()
        .find_map(|it| word.strip_prefix(it))
        .unwrap_or(word);
    let closings = ["&gt;", ".", ",", ")"];
    closings
        .iter()
        .find_map(|it| word.strip_suffix(it))
        .unwrap_or(word)
}

fn is_mail_address(word: &str) -> bool {
    let is_local = |c: char| c.is_ascii_alphanumeric() || "_.!#$%&'*+-/=?^`{|}~".contains(c);
    let is_label = |label: &str| {
        !label.is_empty() && label.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
    };
    word.split_once('@').is_some_and(|(local, domain)| {
        let is_domain = domain.contains('.') && domain.split('.').all(is_label);
        !local.is_empty() && local.chars().all(is_local) && is_domain
    })
}

fn names_known_domain(word: &str) -> bool {
    [".org", ".net", ".com"].iter().any(|domain| {
        let mut ends = word
            .match_indices(domain)
            .map(|(at, _)| &word[at + domain.len()..]);
        ends.any(|rest| rest.is_empty() || rest.starts_with([':', '/']))
    })
}

/// Runs of letters, digits and `_`. Letters of all languages count, unlike in nunjucks.
fn wordcount<'a>(meter: &mut Meter, value: &Value<'a>, _: &Args<'a>) -> Outcome<Value<'a>> {
    let text = given(meter, value)?;
    let words = text.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    let count = words.filter(|word| !word.is_empty()).count();
    // nunjucks has nothing where there is no word, and none in 0.
    Ok(if count == 0 || !value.is_true() {
        Value::Null
    } else {
        Value::count(count)
    })
}
