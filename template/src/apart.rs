//! Filling in a text that is to be JSON or YAML so that no value can break it, or add to it.
//!
//! A chat with statements in it (`[{"role": "user", "content": "{{ q }}"}{% if more %}, …`) is no
//! JSON before it is filled in, and a quote in a variable makes it none afterwards, or other JSON. So
//! what it prints is set aside, a mark put in its place, and goes where its mark stands once it is clear
//! what that is: a part of a string, or a value that is JSON itself. Whether that counts, or the text as
//! rendered, which means what its author saw in promptfoo, is for who asks.

use std::cell::RefCell;

use serde::de::IgnoredAny;
use serde_json::{Map, Value as Json};

use crate::MAX_TEXT;
use crate::render::{Escape, Printed};

/// A text with marks, and what was set aside.
#[derive(Debug)]
pub struct Apart {
    marked: String,
    aside: Aside,
    /// For each mark, whether it stands alone behind a key, or in a list, of a YAML text.
    bare: Vec<bool>,
}

/// Texts that were set aside, in the order of their marks.
#[derive(Debug)]
struct Aside {
    /// Before the number of each: between characters that Unicode leaves to anybody.
    start: String,
    texts: Vec<String>,
    bytes: usize,
}

/// Behind the number.
const END: char = '\u{e001}';

impl Apart {
    /// Renders a template with marks. `None` if the template changes what it printed, or prints it twice.
    /// `secret` is a number that no value can know.
    ///
    /// # Errors
    /// If it can't be rendered so: marks are longer than what they stand for, and all of it may be too much.
    pub fn of<E>(
        secret: u64,
        render: impl FnOnce(&Escape<'_>) -> Result<String, E>,
    ) -> Result<Option<Self>, E> {
        let start = format!("\u{e000}{secret:x}\u{e000}");
        let aside = RefCell::new(Aside {
            start: start.clone(),
            texts: Vec::new(),
            bytes: 0,
        });
        let marked = render(&|printed: &Printed<'_>| {
            // A macro or a block gives what was printed within: that has its marks.
            if printed.is_safe && printed.text.contains(&start) {
                return None;
            }
            aside.borrow_mut().keep(printed.text)
        })?;
        let aside = aside.into_inner();
        let is_whole = marked.matches(&start).count() == aside.texts.len();
        Ok((is_whole && aside.bytes <= MAX_TEXT).then(|| Self {
            bare: aside.bare(&marked),
            marked,
            aside,
        }))
    }

    /// Whether one value is all of the text.
    pub fn is_one_value(&self) -> bool {
        let mut parts = self.aside.parts(self.marked.trim());
        let begins = parts.next().is_some_and(|(before, _)| before.is_empty());
        begins && parts.next() == Some(("", ""))
    }

    /// What `text`, the text as rendered, should have said as JSON; `None` if it says that, or that is no JSON.
    pub fn json(&self, text: &str) -> Option<Json> {
        let start = text.trim_start().chars().next()?;
        if !matches!(start, '{' | '[') || !self.begins(start.encode_utf8(&mut [0; 4])) {
            return None;
        }
        let meant = self.escaped();
        let json = serde_json::from_str(&meant).ok()?;
        let is_json = serde_json::from_str::<IgnoredAny>(text).is_ok();
        let is_equal = is_json && outside_of_strings(text).eq(outside_of_strings(&meant));
        (!is_equal).then_some(json)
    }

    /// Whether the template itself begins the text so, and no value of it.
    pub fn begins(&self, start: &str) -> bool {
        self.marked.trim_start().starts_with(start)
    }

    /// The text with its marks.
    pub fn marked(&self) -> &str {
        &self.marked
    }

    /// Puts the values where their marks stand in what was read of a YAML text. One that is all of what stands
    /// behind a key, or in a list, may be a list or an object.
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

    /// The text with the values in its strings escaped; they stay as they are elsewhere.
    fn escaped(&self) -> String {
        let mut filled = String::new();
        let mut strings = Strings::default();
        for (before, aside) in self.aside.parts(&self.marked) {
            strings.pass(before);
            filled.push_str(before);
            if strings.inside {
                let escaped = Json::from(aside).to_string();
                filled.push_str(&escaped[1..escaped.len() - 1]);
            } else {
                filled.push_str(aside);
            }
        }
        filled
    }

    /// The value of a mark that stands alone, without quotes around it, if it is a list or an object.
    fn bare(&self, text: &str) -> Option<&str> {
        let number = text.strip_prefix(&self.aside.start)?.strip_suffix(END)?;
        let at: usize = number.parse().ok()?;
        let aside = self.aside.texts.get(at)?;
        let is_structure = aside.trim_start().starts_with(['[', '{']);
        (is_structure && self.bare.get(at) == Some(&true)).then_some(aside)
    }

    fn filled(&self, text: &str) -> String {
        self.aside
            .parts(text)
            .flat_map(|(before, aside)| [before, aside])
            .collect()
    }
}

impl Aside {
    /// Sets a text aside and gives its mark; of a word or a number there is no need.
    fn keep(&mut self, text: &str) -> Option<String> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
        if text.bytes().all(is_plain) {
            return None;
        }
        let number = self.texts.len();
        self.bytes += text.len();
        if self.bytes <= MAX_TEXT {
            self.texts.push(text.to_owned());
        }
        Some(format!("{}{number}{END}", self.start))
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
    fn parts<'a>(&'a self, text: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        let mut rest = Some(text);
        std::iter::from_fn(move || {
            let text = rest.take()?;
            let Some((before, marked)) = text.split_once(&self.start) else {
                return Some((text, ""));
            };
            let (number, behind) = marked.split_once(END).unwrap_or(("", marked));
            rest = Some(behind);
            let aside = number.parse().ok().and_then(|at: usize| self.texts.get(at));
            Some((before, aside.map_or("", String::as_str)))
        })
    }
}

/// What is no string's, of a text that is JSON.
fn outside_of_strings(json: &str) -> impl Iterator<Item = char> {
    let mut strings = Strings::default();
    json.chars()
        .filter(move |sign| strings.step(*sign) && !sign.is_whitespace())
}

/// Where the strings of a JSON text are.
#[derive(Default)]
struct Strings {
    inside: bool,
    escaped: bool,
}

impl Strings {
    /// Passes a part of it.
    fn pass(&mut self, part: &str) {
        for sign in part.chars() {
            self.step(sign);
        }
    }

    /// Passes a character, and says whether it belongs to no string; their quotes do not.
    fn step(&mut self, sign: char) -> bool {
        let was_inside = self.inside;
        match sign {
            _ if self.escaped => self.escaped = false,
            '\\' => self.escaped = self.inside,
            '"' => self.inside = !self.inside,
            _ => {}
        }
        !was_inside || !self.inside
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
        };
        let apart = Apart::of(7, |escape| {
            let mark = |at: usize| escape(&printed(if at == 0 { "[1]" } else { "a b" }));
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
