//! The assertion types, one function each: input in, grade out.

use regress::{Flags, Regex};
use runner_plugin::json::{Value, same};
use runner_plugin::{Error, Grade, Input};

use crate::{fields, scalar};

/// The greatest Levenshtein distance that passes where the config gives no threshold.
const DEFAULT_DISTANCE: f64 = 5.0;

/// How text is prepared before it is compared.
pub(crate) type Fold = fn(&str) -> String;

pub(crate) fn as_is(text: &str) -> String {
    text.to_owned()
}

pub(crate) fn lower_case(text: &str) -> String {
    text.to_lowercase()
}

/// A scalar equals the answer as text; a list or an object equals the answer read as JSON.
pub(crate) fn equals(input: &Input) -> Result<Grade, Error> {
    let value = value(input)?;
    let holds = match scalar::text(&value) {
        Some(text) => text == input.output,
        None => {
            serde_json::from_str(&input.output).is_ok_and(|output: Value| same(&value, &output))
        }
    };
    let shown = scalar::text(&value).map_or_else(|| value.to_string(), |text| quoted(&text));
    Ok(input.judge(holds, format_args!("equal {shown}")))
}

pub(crate) fn contains(input: &Input, fold: Fold) -> Result<Grade, Error> {
    let needle = match value(input)? {
        Value::String(text) if !text.is_empty() => text,
        number @ Value::Number(_) => scalar::text(&number).unwrap_or_default(),
        _ => return Err(takes(input, "a text that is not empty, or a number")),
    };
    let holds = fold(&input.output).contains(&fold(&needle));
    Ok(input.judge(holds, format_args!("contain {}", quoted(&needle))))
}

pub(crate) fn contains_any(input: &Input, fold: Fold) -> Result<Grade, Error> {
    let needles = needles(input)?;
    let output = fold(&input.output);
    let found = needles.iter().find(|needle| output.contains(&fold(needle)));
    let mut what = format!("contain any of {}", listed(&needles));
    if let (Some(found), true) = (found, input.inverse) {
        what = format!("{what}; it contains {}", quoted(found));
    }
    Ok(input.judge(found.is_some(), what))
}

pub(crate) fn contains_all(input: &Input, fold: Fold) -> Result<Grade, Error> {
    let needles = needles(input)?;
    let output = fold(&input.output);
    let missing: Vec<String> = needles
        .iter()
        .filter(|needle| !output.contains(&fold(needle)))
        .cloned()
        .collect();
    let mut what = format!("contain all of {}", listed(&needles));
    if !missing.is_empty() {
        what = format!("{what}; missing: {}", listed(&missing));
    }
    Ok(input.judge(missing.is_empty(), what))
}

pub(crate) fn starts_with(input: &Input) -> Result<Grade, Error> {
    let start = text_value(input)?;
    let holds = input.output.starts_with(&start);
    Ok(input.judge(holds, format_args!("start with {}", quoted(&start))))
}

/// Passes where the pattern matches anywhere. A pattern that cannot be read fails in both
/// directions: its opposite says nothing about the answer either.
pub(crate) fn regex(input: &Input) -> Result<Grade, Error> {
    let pattern = text_value(input)?;
    let regex = match self::pattern(&pattern) {
        Ok(regex) => regex,
        Err(problem) => return Ok(Grade::fail(format!("The {problem}"))),
    };
    let holds = regex.is_found_in(&input.output);
    let hint = match within_slashes(&pattern) {
        Some(inner) if !holds => format!(
            "; the slashes of {pattern}, and what follows them, are part of the pattern: write {inner}"
        ),
        _ => String::new(),
    };
    Ok(input.judge(holds, format_args!("match /{pattern}/{hint}")))
}

/// A pattern without flags. As in JavaScript its characters are the units of UTF-16, so that one beyond the
/// first plane of Unicode, such as an emoji, is two.
pub(crate) struct Pattern {
    regex: Regex,
    is_wide: bool,
}

impl Pattern {
    fn is_found_in(&self, text: &str) -> bool {
        if !self.is_wide && !is_wide(text) {
            return self.regex.find(text).is_some();
        }
        let units: Vec<u16> = text.encode_utf16().collect();
        self.regex.find_from_ucs2(&units, 0).next().is_some()
    }
}

/// Whether a character is two units.
fn is_wide(text: &str) -> bool {
    text.contains(|c: char| c.len_utf16() > 1)
}

/// A pattern, read; or why it can't be.
pub(crate) fn pattern(text: &str) -> Result<Pattern, String> {
    let units = text.encode_utf16().map(u32::from);
    let regex = Regex::from_unicode(units, Flags::default()).map_err(|error| {
        let hint = flags_before(text).map_or_else(String::new, |flags| {
            format!("; write (?{flags}:…) around what these flags are for")
        });
        format!("regular expression /{text}/ cannot be read: {error}{hint}")
    })?;
    let is_wide = is_wide(text);
    Ok(Pattern { regex, is_wide })
}

/// The flags that other languages have before the whole pattern: `(?i)hi`.
fn flags_before(pattern: &str) -> Option<&str> {
    let (flags, _) = pattern.strip_prefix("(?")?.split_once(')')?;
    let is_flags = !flags.is_empty() && flags.chars().all(|c| "ims".contains(c));
    is_flags.then_some(flags)
}

/// What stands between the slashes of a pattern that is written as JavaScript writes one in
/// code: `/hi/i`.
fn within_slashes(pattern: &str) -> Option<&str> {
    let (inner, flags) = pattern.strip_prefix('/')?.rsplit_once('/')?;
    let is_literal = !inner.is_empty() && flags.chars().all(|flag| "dgimsuvy".contains(flag));
    is_literal.then_some(inner)
}

/// Counts words between white space: exactly a number, or within `min` and `max`.
pub(crate) fn word_count(input: &Input) -> Result<Grade, Error> {
    let takes = || takes(input, "a number of words, or `min` and `max`");
    let (min, max) = match value(input)? {
        Value::Object(range) => {
            let side = |key: &str| match range.get(key) {
                None | Some(Value::Null) => Ok(None),
                Some(value) => count(value).map(Some).ok_or_else(takes),
            };
            (side("min")?, side("max")?)
        }
        value => {
            let exact = Some(count(&value).ok_or_else(takes)?);
            (exact, exact)
        }
    };
    let words = words(&input.output);
    let holds = min.is_none_or(|min| words >= min) && max.is_none_or(|max| words <= max);
    let wanted = match (min, max) {
        (Some(min), Some(max)) if min > max => return Err(takes()),
        (Some(min), Some(max)) if min == max => format!("have {min} words"),
        (Some(min), Some(max)) => format!("have {min} to {max} words"),
        (Some(min), None) => format!("have at least {min} words"),
        (None, Some(max)) => format!("have at most {max} words"),
        (None, None) => return Err(takes()),
    };
    Ok(input.judge(holds, format_args!("{wanted}; it has {words}")))
}

/// Counts the characters to add, drop or change.
pub(crate) fn levenshtein(input: &Input) -> Result<Grade, Error> {
    let Value::String(text) = value(input)? else {
        return Err(takes(input, "a text"));
    };
    let limit = input.threshold.unwrap_or(DEFAULT_DISTANCE);
    let distance = strsim::levenshtein(&input.output, &text);
    let what = format!(
        "be within a Levenshtein distance of {limit} from {}; it is {distance}",
        quoted(&text)
    );
    Ok(input.judge(distance as f64 <= limit, what))
}

/// Words as `split(/\s+/)` of ECMAScript finds them in trimmed text.
fn words(text: &str) -> u64 {
    let space = |c: char| (c.is_whitespace() && c != '\u{85}') || c == '\u{feff}';
    text.split(space).filter(|word| !word.is_empty()).count() as u64
}

/// A whole number that is not negative, also when it is written as text.
fn count(value: &Value) -> Option<u64> {
    let number = match value {
        Value::Number(number) => number.as_f64()?,
        Value::String(text) => text.trim().parse().ok()?,
        _ => return None,
    };
    (number >= 0.0 && number.fract() == 0.0 && number < 1e15).then_some(number as u64)
}

fn value(input: &Input) -> Result<Value, Error> {
    input.value()?.ok_or_else(|| takes(input, "a value"))
}

fn text_value(input: &Input) -> Result<String, Error> {
    match value(input)? {
        Value::String(text) if !text.is_empty() => Ok(text),
        _ => Err(takes(input, "a text that is not empty")),
    }
}

/// The texts to look for: a list of scalars, or a list written as one string.
fn needles(input: &Input) -> Result<Vec<String>, Error> {
    listed_needles(&value(input)?).map_err(|problem| {
        let kind = &input.type_;
        Error::invalid_request(format!("the value of `{kind}` cannot be read: {problem}"))
    })
}

/// What `needles` gives, of a value; or why it is none.
pub(crate) fn listed_needles(value: &Value) -> Result<Vec<String>, String> {
    let wrong = || "it is neither a list of texts nor texts separated by commas".to_owned();
    match value {
        Value::Array(items) => items
            .iter()
            .map(|item| scalar::text(item).ok_or_else(wrong))
            .collect(),
        Value::String(list) => fields::split(list),
        _ => Err(wrong()),
    }
}

fn takes(input: &Input, what: &str) -> Error {
    Error::invalid_request(format!("`{}` takes {what} as its value", input.type_))
}

fn quoted(text: &str) -> String {
    format!("\"{text}\"")
}

fn listed(texts: &[String]) -> String {
    let texts: Vec<String> = texts.iter().map(|text| quoted(text)).collect();
    format!("[{}]", texts.join(", "))
}
