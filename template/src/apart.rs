//! Filling in a text that is to be JSON or YAML so that no value can break it, or add to it.
//!
//! A chat with statements in it (`[{"role": "user", "content": "{{ q }}"}{% if more %}, …`) is no
//! JSON before it is filled in, and a quote in a variable makes it none afterwards, or other JSON. So
//! what it prints is set aside, a mark put in its place, and goes where its mark stands once it is clear
//! what that is: a part of a string, or a value that is JSON itself. Whether that counts, or the text as
//! rendered, which means what its author saw in promptfoo, is for who asks.
//!
//! Marks pass through macros, blocks and what filters make of these, as long as the text with its values put back is
//! the text as rendered. Where it is not (`{{ block | truncate }}`), what the tag printed is one mixed text:
//! good for a string, and an error where it may be more.

use std::cell::RefCell;
use std::fmt;

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value as Json};

use crate::MAX_TEXT;
use crate::render::{Escape, Level, Printed};

mod strings;

pub use strings::Strings;
use strings::{is_scalar, outside_of_strings, within_quotes};

/// A text with marks, and what was set aside.
#[derive(Debug)]
pub struct Apart {
    marked: String,
    aside: Aside,
    /// For each mark, whether it stands alone behind a key, or in a list, of a YAML text.
    bare: Vec<bool>,
    /// Whether a value that was printed is empty.
    has_empty: bool,
    /// How it begins, with the marks of words.
    begin: String,
}

/// A value can't be told from the words around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mixed;

impl fmt::Display for Mixed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "its values cannot be told from its own words, since it changes what a macro, a block or a `{% set %}` has \
             printed; apply filters to the values themselves, within the macro or the block",
        )
    }
}

impl std::error::Error for Mixed {}

/// Texts that were set aside, in the order of their marks.
#[derive(Debug)]
struct Aside {
    /// Before the number of each: between characters that Unicode leaves to anybody.
    start: String,
    texts: Vec<Kept>,
    bytes: usize,
    /// How many words and numbers were printed that were not set aside.
    plain: usize,
}

/// A text that was set aside.
#[derive(Debug)]
struct Kept {
    text: String,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Value,
    /// A value that the template says to be ready as it is.
    Safe,
    /// Values and words of the template in one, since the template changed them together.
    Mixed,
}

/// Words and numbers that are told from the template's own words, since they may begin a text.
const PLAIN: usize = 8;

/// Characters with which a text begins.
const BEGIN: usize = 16;

/// Behind the number.
const END: char = '\u{e001}';

impl Apart {
    /// Renders a template with marks, of which `text` is what it gives without. `None` if too much would be set aside.
    /// `secret` is a number that no value can know.
    ///
    /// # Errors
    /// If it can't be rendered so: marks are longer than what they stand for, and all of it may be too much.
    pub fn of<E>(
        secret: u128,
        text: &str,
        render: impl Fn(&Escape<'_>) -> Result<String, E>,
    ) -> Result<Option<Self>, E> {
        let aside = RefCell::new(Aside::new(secret));
        // What tags outside of blocks print of blocks, with marks.
        let outer = RefCell::new(Vec::new());
        let mut marked = render(&|printed: &Printed<'_>| {
            let mut aside = aside.borrow_mut();
            let has_marks = printed.text.contains(&aside.start);
            if printed.level == Level::Outer {
                let text = has_marks.then(|| printed.text.to_owned());
                outer.borrow_mut().push(text);
            }
            match printed.level {
                _ if has_marks => None,
                Level::Block => Some(aside.block() + printed.text),
                Level::Outer | Level::Inner => aside.keep_unless_plain(printed),
            }
        })?;
        if !aside.borrow().tells(&marked, text) {
            // A filter has seen marks where a value was. What it made is told from the rest all the same,
            // by what it prints without them.
            aside.borrow_mut().bytes = 0;
            let mut outer = outer.into_inner().into_iter();
            let again = RefCell::new(&mut outer);
            marked = render(&|printed: &Printed<'_>| {
                if printed.level != Level::Outer {
                    return None;
                }
                let mut aside = aside.borrow_mut();
                match again.borrow_mut().next().flatten() {
                    Some(marked) if aside.tells(&marked, printed.text) => Some(marked),
                    Some(_) => Some(aside.keep(printed.text, Kind::Mixed)),
                    None => aside.keep_unless_plain(printed),
                }
            })?;
        }
        let aside = aside.into_inner();
        let has_empty = marked.contains(&aside.empty());
        let marked = marked
            .replace(&aside.empty(), "")
            .replace(&aside.block(), "");
        let begin = marked.trim_start();
        let begin = begin.chars().take(BEGIN).collect();
        let marked = marked.replace(&aside.plain(), "");
        Ok((aside.bytes <= MAX_TEXT).then(|| Self {
            bare: aside.bare(&marked),
            has_empty,
            begin,
            marked,
            aside,
        }))
    }

    /// Whether one value is all of the text.
    pub fn is_one_value(&self) -> bool {
        let mut parts = self.aside.parts(self.marked.trim());
        let is_value = |kept: Option<&Kept>| kept.is_some_and(|it| it.kind != Kind::Mixed);
        let begins = parts
            .next()
            .is_some_and(|(before, kept)| before.is_empty() && is_value(kept));
        let ends = parts
            .next()
            .is_some_and(|(behind, kept)| behind.is_empty() && kept.is_none());
        begins && ends && !self.has_empty
    }

    /// Whether something in it is neither a value nor the template's own words, so that where it
    /// adds something can't be said.
    pub fn is_mixed(&self) -> bool {
        self.aside.texts.iter().any(|it| it.kind == Kind::Mixed)
    }

    /// What `text`, the text as rendered, should have said as JSON; `None` if it says that, or that is no JSON.
    /// `is_json` says what JSON is: one value, or one on each line.
    ///
    /// # Errors
    /// Where a value may have added to it.
    pub fn json(
        &self,
        text: &str,
        is_json: impl Fn(&str) -> bool,
    ) -> Result<Option<String>, Mixed> {
        let meant = self.escaped().filter(|meant| is_json(meant));
        match (meant, is_json(text)) {
            (None, true) => Err(Mixed),
            (None, false) => Ok(None),
            (Some(meant), true) if outside_of_strings(text).eq(outside_of_strings(&meant)) => {
                Ok(None)
            }
            (Some(meant), _) => Ok(Some(meant)),
        }
    }

    /// The text as a form: no value adds a field, nor a member to JSON that stands in one. `None` where that can't be
    /// said.
    pub fn form(&self) -> Option<String> {
        let mut filled = String::new();
        let mut field = Field::default();
        for (before, kept) in self.aside.parts(&self.marked) {
            field.pass(before);
            filled.push_str(before);
            let Some(kept) = kept else { continue };
            let ends = kept.text.contains(['&', ';']);
            match kept.kind {
                Kind::Mixed if ends || field.is_json => return None,
                Kind::Value if field.is_json && field.strings.is_inside() => {
                    let text = within_quotes(&kept.text);
                    filled.extend(utf8_percent_encode(&text, NON_ALPHANUMERIC));
                }
                Kind::Mixed | Kind::Value if ends => {
                    let one = kept.text.replace('&', "%26").replace(';', "%3B");
                    filled.push_str(&one);
                }
                Kind::Mixed | Kind::Safe | Kind::Value => filled.push_str(&kept.text),
            }
        }
        Some(filled)
    }

    /// Whether the template itself begins the text so, and no value of it.
    pub fn begins(&self, start: &str) -> bool {
        self.begin.starts_with(start)
    }

    /// The text with its marks.
    pub fn marked(&self) -> &str {
        &self.marked
    }

    /// Puts the values where their marks stand in what was read of a YAML text. One that is all of what stands
    /// behind a key, or in a list, may be a list or an object, or a text as `dump` writes it.
    pub fn put_back(&self, json: Json) -> Json {
        match json {
            Json::String(text) => {
                let part = self
                    .bare(&text)
                    .and_then(|it| serde_json::from_str(it).ok());
                part.unwrap_or_else(|| Json::String(self.filled(&text)))
            }
            Json::Array(items) => items.into_iter().map(|item| self.put_back(item)).collect(),
            Json::Object(fields) => {
                let field =
                    |(key, value): (String, Json)| (self.filled(&key), self.put_back(value));
                Json::Object(fields.into_iter().map(field).collect::<Map<_, _>>())
            }
            other => other,
        }
    }

    /// The text with the values in its strings escaped; they stay as they are elsewhere. `None` if what stands
    /// elsewhere may be more than the value of one.
    fn escaped(&self) -> Option<String> {
        let mut filled = String::new();
        let mut strings = Strings::default();
        for (before, kept) in self.aside.parts(&self.marked) {
            strings.pass(before);
            filled.push_str(before);
            let Some(kept) = kept else { continue };
            if strings.is_inside() {
                filled.push_str(&within_quotes(&kept.text));
            } else if kept.kind == Kind::Mixed && !is_scalar(&kept.text) {
                return None;
            } else {
                filled.push_str(&kept.text);
                strings.pass(&kept.text);
            }
        }
        Some(filled)
    }

    /// The value of a mark that stands alone, without quotes around it, if it looks like JSON of its own.
    fn bare(&self, text: &str) -> Option<&str> {
        let number = text.strip_prefix(&self.aside.start)?.strip_suffix(END)?;
        let at: usize = number.parse().ok()?;
        let kept = self.aside.texts.get(at)?;
        let is_json = kept.text.trim_start().starts_with(['[', '{', '"']);
        let is_bare = self.bare.get(at) == Some(&true) && kept.kind != Kind::Mixed;
        (is_json && is_bare).then_some(&kept.text)
    }

    fn filled(&self, text: &str) -> String {
        self.aside
            .parts(text)
            .flat_map(|(before, kept)| [before, kept.map_or("", |it| &it.text)])
            .collect()
    }
}

impl Aside {
    fn new(secret: u128) -> Self {
        Self {
            // Digits, which no filter for letters changes.
            start: format!("\u{e000}{secret}\u{e000}"),
            texts: Vec::new(),
            bytes: 0,
            plain: 0,
        }
    }

    /// What tells that a block was printed that holds no value.
    fn block(&self) -> String {
        format!("{}{END}", self.start)
    }

    /// What tells that an empty value was printed.
    fn empty(&self) -> String {
        format!("{}e{END}", self.start)
    }

    /// What tells that a word or a number comes that was printed.
    fn plain(&self) -> String {
        format!("{}p{END}", self.start)
    }

    /// Sets a value aside and gives its mark; of a word or a number there is no need.
    fn keep_unless_plain(&mut self, printed: &Printed<'_>) -> Option<String> {
        if printed.text.is_empty() {
            return Some(self.empty());
        }
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
        let kind = if printed.is_safe {
            Kind::Safe
        } else {
            Kind::Value
        };
        if printed.text.bytes().all(is_plain) {
            self.plain += 1;
            return (self.plain <= PLAIN).then(|| self.plain() + printed.text);
        }
        Some(self.keep(printed.text, kind))
    }

    fn keep(&mut self, text: &str, kind: Kind) -> String {
        let number = self.texts.len();
        self.bytes += text.len();
        if self.bytes <= MAX_TEXT {
            let text = text.to_owned();
            self.texts.push(Kept { text, kind });
        }
        format!("{}{number}{END}", self.start)
    }

    /// Whether a text with marks is `text`, if each value stands for its mark: as it is, or as `dump` writes it.
    fn tells(&self, marked: &str, text: &str) -> bool {
        let mut rest = text;
        for (before, kept) in self.parts(marked) {
            let kept = kept.map_or("", |it| &it.text);
            let behind = rest.strip_prefix(before);
            let behind = behind.and_then(|it| {
                let dumped = it.strip_prefix(&*within_quotes(kept));
                dumped.or_else(|| it.strip_prefix(kept))
            });
            let Some(behind) = behind else { return false };
            rest = behind;
        }
        rest.is_empty()
    }

    /// Which of them stand behind a key, or in a list, with nothing else on their line. Looked for once: a text may
    /// have hundreds of thousands.
    fn bare(&self, marked: &str) -> Vec<bool> {
        let mut bare = vec![false; self.texts.len()];
        let mut pieces = marked.split(&self.start);
        let mut before = pieces.next().unwrap_or_default();
        let mut pieces = pieces.peekable();
        while let Some((number, behind)) = pieces.next().and_then(|it| it.split_once(END)) {
            let is_begun = before.trim_end_matches(' ').ends_with([':', '-']);
            let is_ended = match behind.trim_start_matches(' ').chars().next() {
                None => pieces.peek().is_none(),
                sign => matches!(sign, Some('\n' | '\r')),
            };
            let place = number.parse().ok().and_then(|at: usize| bare.get_mut(at));
            if let Some(place) = place {
                *place = is_begun && is_ended;
            }
            before = behind;
        }
        bare
    }

    /// What stands before each mark, and what belongs there; at last what is behind all, and nothing.
    fn parts<'a>(&'a self, text: &'a str) -> impl Iterator<Item = (&'a str, Option<&'a Kept>)> {
        let mut rest = Some(text);
        std::iter::from_fn(move || {
            let text = rest.take()?;
            let Some((before, marked)) = text.split_once(&self.start) else {
                return Some((text, None));
            };
            let (number, behind) = marked.split_once(END).unwrap_or(("", marked));
            rest = Some(behind);
            let kept = number.parse().ok().and_then(|at: usize| self.texts.get(at));
            Some((before, kept))
        })
    }
}

/// A field of a form, as far as it was read.
#[derive(Default)]
struct Field {
    has_name: bool,
    /// Whether its value begins like JSON.
    is_json: bool,
    strings: Strings,
}

impl Field {
    /// Passes a part of the template.
    fn pass(&mut self, part: &str) {
        let mut rest = part;
        while let Some(sign) = rest.chars().next() {
            let (sign, length) = match rest.get(..3).map(str::to_ascii_uppercase).as_deref() {
                Some("%22") => ('"', 3),
                Some("%5B") => ('[', 3),
                Some("%5C") => ('\\', 3),
                Some("%7B") => ('{', 3),
                _ => (sign, sign.len_utf8()),
            };
            rest = &rest[length..];
            match sign {
                '&' => *self = Self::default(),
                _ if self.is_json => drop(self.strings.step(sign)),
                '=' if !self.has_name => self.has_name = true,
                '[' | '{' => self.is_json = self.has_name,
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    /// Each of them was sought in all of the text: minutes for these.
    #[test]
    fn values_by_the_hundred_thousand_are_put_back() {
        const COUNT: usize = 300_000;
        let printed = |text| Printed {
            text,
            is_text: true,
            is_safe: false,
            level: Level::Outer,
        };
        let value = |at: usize| if at == 0 { "[1]" } else { "a b" };
        let lines: Vec<String> = (0..COUNT)
            .map(|at| {
                format!(
                    "- {}
",
                    value(at)
                )
            })
            .collect();
        let text = lines.concat();
        let apart = Apart::of(7, &text, |escape| {
            let mark = |at: usize| escape(&printed(value(at)));
            let line = |at| format!("- {}\n", mark(at).unwrap_or_default());
            Ok::<_, Infallible>((0..COUNT).map(line).collect())
        });
        let apart = apart.ok().flatten().expect("it prints each once");
        let read = apart.marked().lines().map(|line| Json::from(&line[2..]));
        let filled = apart.put_back(read.collect());
        let mut expected = vec![Json::from("a b"); COUNT];
        expected[0] = serde_json::json!([1]);
        assert_eq!(filled, Json::from(expected));
    }
}
