//! Filling in a text that is to be JSON or YAML so that no value can break it, or add to it.
//!
//! A chat with statements in it (`[{"role": "user", "content": "{{ q }}"}{% if more %}, …`) is no
//! JSON before it is filled in, and a quote in a variable makes it none afterwards, or other JSON. So
//! what it prints is set aside, a mark put in its place, and goes where its mark stands once it is clear
//! what that is: a part of a string, or a value that is JSON itself. Whether that counts, or the text as
//! rendered, which means what its author saw in promptfoo, is for who asks (`prepared`).

use std::cell::RefCell;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, LazyLock};

use runner_template::Printed;
use serde_json::{Map, Value as Json};

use super::{MAX_TEXT, Results, Template};
use crate::read::yaml;

/// Before the number of a text that was set aside: what no value can know, between characters that Unicode
/// leaves to anybody.
static START: LazyLock<String> =
    LazyLock::new(|| format!("\u{e000}{:x}\u{e000}", RandomState::new().hash_one(())));
/// Behind it.
const END: char = '\u{e001}';

/// A text with marks, and what was set aside.
pub(crate) struct Apart {
    marked: String,
    aside: Aside,
}

/// Texts that were set aside, in the order of their marks.
#[derive(Default)]
struct Aside {
    texts: Vec<String>,
    bytes: usize,
}

/// Renders a template with marks. `None` if that can't be done, or the template changes what it printed.
pub(crate) fn render(
    template: &Template,
    vars: &Map<String, Json>,
    results: Option<&Arc<Results>>,
) -> Option<Apart> {
    let aside = RefCell::new(Aside::default());
    let escape = |printed: &Printed<'_>| aside.borrow_mut().keep(printed.text);
    let marked = template.render_escaped(vars, results, Some(&escape)).ok()?;
    let aside = aside.into_inner();
    let is_whole = marked.matches(&**START).count() == aside.texts.len();
    (is_whole && aside.bytes <= MAX_TEXT).then_some(Apart { marked, aside })
}

impl Apart {
    /// The text with the values in its strings escaped; they stay as they are elsewhere.
    pub(crate) fn json(&self) -> String {
        let mut filled = String::new();
        let mut strings = Strings::default();
        for (before, aside) in self.parts() {
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

    /// The value of the text, its values put back; `None` if it is no YAML.
    pub(crate) fn yaml(&self) -> Option<Json> {
        let json = yaml::parse(&self.marked).ok()?.json();
        Some(self.put_back(json))
    }

    fn put_back(&self, json: Json) -> Json {
        match json {
            Json::String(text) => Json::String(self.filled(&text)),
            Json::Array(items) => items.into_iter().map(|item| self.put_back(item)).collect(),
            Json::Object(fields) => {
                let field =
                    |(key, value): (String, Json)| (self.filled(&key), self.put_back(value));
                Json::Object(fields.into_iter().map(field).collect())
            }
            other => other,
        }
    }

    fn filled(&self, text: &str) -> String {
        self.aside
            .parts(text)
            .flat_map(|(before, aside)| [before, aside])
            .collect()
    }

    fn parts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.aside.parts(&self.marked)
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
        Some(format!("{}{number}{END}", *START))
    }

    /// What stands before each mark, and what belongs there; at last what is behind all, and nothing.
    fn parts<'a>(&'a self, text: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        let mut rest = Some(text);
        std::iter::from_fn(move || {
            let text = rest.take()?;
            let Some((before, marked)) = text.split_once(&**START) else {
                return Some((text, ""));
            };
            let (number, behind) = marked.split_once(END).unwrap_or(("", marked));
            rest = Some(behind);
            let aside = number.parse().ok().and_then(|at: usize| self.texts.get(at));
            Some((before, aside.map_or("", String::as_str)))
        })
    }
}

/// Where the strings of a JSON text are.
#[derive(Default)]
pub(super) struct Strings {
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
    pub(super) fn step(&mut self, sign: char) -> bool {
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
