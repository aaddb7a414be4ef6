//! Filling in a text that is to be JSON or YAML so that no value can break it.
//!
//! A chat with statements in it (`[{"role": "user", "content": "{{ q }}"}{% if more %}, …`) is no
//! JSON before it is filled in, and a quote in a variable makes it none afterwards. So where the
//! text as rendered can't be read, each text that it prints is set aside, a mark put in its place,
//! and the text goes where its mark stands once the rest was read. Only then: what can be read as
//! rendered means what its author saw in promptfoo.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Map, Value as Json};

use super::{MAX_RENDERED, Results, Template, values};

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

/// What `read` makes of the template filled in with marks, its texts put back. `None` if that
/// can't be read either.
pub(crate) fn render(
    template: &Template,
    vars: &Arc<Map<String, Json>>,
    results: Option<&Arc<Results>>,
    read: impl FnOnce(&str) -> Option<Json>,
) -> Option<Json> {
    let aside = Arc::new(Mutex::new(Aside::default()));
    let writer = Arc::clone(&aside);
    let mut engine = template.engine.clone();
    engine.set_formatter(move |out, state, value| {
        super::effort::make(state, values::size(value))?;
        let mut aside = writer.lock().unwrap_or_else(PoisonError::into_inner);
        let written = match value.as_str() {
            Some(text) => {
                let number = aside.texts.len();
                aside.keep(text);
                write!(out, "{START}{number}{END}")
            }
            None => values::print(out, value),
        };
        written.map_err(|_| minijinja::ErrorKind::WriteFailure.into())
    });
    let text = template.render_in(&engine, vars, results).ok()?;
    let aside = aside.lock().unwrap_or_else(PoisonError::into_inner);
    let is_whole = text.matches(START).count() == aside.texts.len();
    if aside.marked || aside.bytes > MAX_RENDERED || !is_whole {
        return None;
    }
    read(&text).map(|json| aside.put_back(json))
}

impl Aside {
    fn keep(&mut self, text: &str) {
        self.marked |= text.contains([START, END]);
        self.bytes += text.len();
        if self.bytes <= MAX_RENDERED {
            self.texts.push(text.to_owned());
        }
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
