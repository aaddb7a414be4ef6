//! Filling in a text that is to be JSON or YAML so that no value can break it.
//!
//! A chat with statements in it (`[{"role": "user", "content": "{{ q }}"}{% if more %}, …`) is no
//! JSON before it is filled in, and a quote in a variable makes it none afterwards. So where the
//! text as rendered can't be read, each text that it prints is set aside, a mark put in its place,
//! and the text goes where its mark stands once the rest was read. Only then: what can be read as
//! rendered means what its author saw in promptfoo.

use std::cell::RefCell;
use std::sync::Arc;

use runner_template::Printed;
use serde_json::{Map, Value as Json};

use super::{MAX_TEXT, Results, Template};

/// Around the number of a text that was set aside: characters that Unicode leaves to anybody.
const START: char = '\u{e000}';
const END: char = '\u{e001}';

/// Texts that were set aside, in the order of their marks.
#[derive(Default)]
struct Aside {
    texts: Vec<String>,
    bytes: usize,
    /// A value has a mark in it, so that marks mean nothing.
    marked: bool,
}

/// Renders what `read` makes of the template filled in with marks, its texts put back. `None` if that
/// can't be read either.
pub(crate) fn render(
    template: &Template,
    vars: &Map<String, Json>,
    results: Option<&Arc<Results>>,
    read: impl FnOnce(&str) -> Option<Json>,
) -> Option<Json> {
    let aside = RefCell::new(Aside::default());
    let escape = |printed: &Printed<'_>| {
        printed
            .is_text
            .then(|| aside.borrow_mut().keep(printed.text))
    };
    let text = template.render_escaped(vars, results, Some(&escape)).ok()?;
    let aside = aside.into_inner();
    let is_whole = text.matches(START).count() == aside.texts.len();
    if aside.marked || aside.bytes > MAX_TEXT || !is_whole {
        return None;
    }
    read(&text).map(|json| aside.put_back(json))
}

impl Aside {
    /// Sets a text aside; gives the mark.
    fn keep(&mut self, text: &str) -> String {
        let number = self.texts.len();
        self.marked |= text.contains([START, END]);
        self.bytes += text.len();
        if self.bytes <= MAX_TEXT {
            self.texts.push(text.to_owned());
        }
        format!("{START}{number}{END}")
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
        let mut parts = text.split(START);
        let mut filled = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let (number, rest) = part.split_once(END).unwrap_or(("", part));
            let aside = number
                .parse()
                .ok()
                .and_then(|number: usize| self.texts.get(number));
            filled.push_str(aside.map_or("", String::as_str));
            filled.push_str(rest);
        }
        filled
    }
}
