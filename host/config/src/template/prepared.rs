//! A prompt's text, ready to be filled in many times.
//!
//! A text that is JSON is not filled in as text: each of its strings is rendered by itself and
//! the whole is written again with two spaces, so that a quote in a variable can't break it.
//! Keys are never rendered. As in promptfoo, `1.0` becomes `1`; unlike there, whole numbers too
//! large for a float keep their digits. A text that becomes JSON, or a chat in YAML, only when it
//! is filled in is rendered as text, and once more with its values kept apart; that counts if they broke it, or
//! added what is no value (a member, a message).

use std::sync::Arc;

use runner_template::{indented, plain_numbers};
use serde::de::IgnoredAny;
use serde_json::{Map, Value as Json};

use super::apart::{self, Apart, Strings};
use super::{MAX_TEXT, RenderError, Results, Sum, Template, is_plain};
use crate::read::yaml;

/// A text, cut up and compiled.
#[derive(Debug)]
pub(crate) enum Prepared {
    /// No template.
    Plain(String),
    Text(Box<Template>, Shape),
    Json(JsonPart),
}

/// What a text that is filled in as text may become.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Shape {
    Text,
    Json,
    /// A chat: `- role: …`
    Yaml,
}

impl Shape {
    fn of(text: &str) -> Self {
        let start = text.trim_start();
        let is_tag = ["{{", "{%", "{#"]
            .iter()
            .any(|open| start.starts_with(open));
        match start {
            _ if start.starts_with(['{', '[']) && !is_tag => Self::Json,
            _ if start.starts_with("- role:") => Self::Yaml,
            _ => Self::Text,
        }
    }

    /// What a rendered text should have said, if a value broke it or added to it.
    fn mended(self, text: &str, apart: impl FnOnce() -> Option<Apart>) -> Option<Json> {
        match self {
            Self::Text => None,
            Self::Json => {
                let meant = apart()?.json();
                let json = serde_json::from_str(&meant).ok()?;
                let is_json = serde_json::from_str::<IgnoredAny>(text).is_ok();
                let is_equal = is_json && outside_of_strings(text).eq(outside_of_strings(&meant));
                (!is_equal).then_some(json)
            }
            Self::Yaml => {
                let json = apart()?.yaml()?;
                // A value may be a list or a map that somebody meant so: parts of a content.
                let read = yaml::parse(text).ok().map(|read| read.json());
                let is_equal = read.is_some_and(|read| messages(&read).eq(messages(&json)));
                (!is_equal).then_some(json)
            }
        }
    }
}

/// What is no string's, of a text that is JSON.
fn outside_of_strings(json: &str) -> impl Iterator<Item = char> {
    let mut strings = Strings::default();
    json.chars()
        .filter(move |sign| strings.step(*sign) && !sign.is_whitespace())
}

/// Of the messages of a chat, whose they are and what they have.
fn messages(chat: &Json) -> impl Iterator<Item = (Option<&Json>, Vec<&String>)> {
    let all = chat.as_array().into_iter().flatten();
    all.map(|message| {
        let members = message.as_object().into_iter().flat_map(Map::keys);
        (message.get("role"), members.collect())
    })
}

/// A value of a JSON prompt.
#[derive(Debug)]
pub(crate) enum JsonPart {
    /// No template anywhere in it.
    Fixed(Json),
    Text(Box<Template>),
    List(Vec<JsonPart>),
    Map(Vec<(String, JsonPart)>),
}

type Vars = Map<String, Json>;

impl Prepared {
    /// Compiles `text` without regard to what it is: values go into it as they are.
    pub(crate) fn unescaped(
        text: &str,
        env: Option<&Arc<Map<String, Json>>>,
    ) -> Result<Self, RenderError> {
        if is_plain(text) {
            return Ok(Self::Plain(text.to_owned()));
        }
        let template = Box::new(Template::new(text, env)?);
        Ok(Self::Text(template, Shape::Text))
    }

    /// Compiles `text`; `env` is what `env.X` reads.
    pub(crate) fn new(
        text: &str,
        env: Option<&Arc<Map<String, Json>>>,
    ) -> Result<Self, RenderError> {
        if text.len() <= MAX_TEXT
            && text.trim_start().starts_with(['{', '['])
            && let Ok(json) = serde_json::from_str::<Json>(text)
        {
            return Ok(Self::Json(JsonPart::new(plain_numbers(json), env)?));
        }
        if is_plain(text) {
            return Ok(Self::Plain(text.to_owned()));
        }
        Ok(Self::Text(
            Box::new(Template::new(text, env)?),
            Shape::of(text),
        ))
    }

    /// Renders the text with `vars` filled in, and its value where it is JSON. Where filters of the
    /// config have not given what they are asked for, it is not the last word.
    pub(crate) fn render(
        &self,
        vars: &Vars,
        results: Option<&Arc<Results>>,
    ) -> Result<(String, Option<Json>), RenderError> {
        match self {
            Self::Plain(text) => Ok((text.clone(), None)),
            Self::Text(template, shape) => {
                let text = template.render_with(vars, results)?;
                let apart = || apart::render(template, vars, results);
                Ok(match shape.mended(&text, apart) {
                    Some(json) => (indented(&json, 2), Some(json)),
                    None => (text, None),
                })
            }
            Self::Json(part) => {
                let json = part.render(vars, results, &mut Sum::default())?;
                Ok((indented(&json, 2), Some(json)))
            }
        }
    }

    /// Every template in it.
    pub(crate) fn templates(&self) -> Vec<&Template> {
        let mut templates: Vec<&Template> = Vec::new();
        match self {
            Self::Plain(_) => {}
            Self::Text(template, _) => templates.push(template),
            Self::Json(part) => part.collect(&mut templates),
        }
        templates
    }
}

impl JsonPart {
    fn new(json: Json, env: Option<&Arc<Map<String, Json>>>) -> Result<Self, RenderError> {
        let part = match json {
            Json::String(text) if !is_plain(&text) => {
                Self::Text(Box::new(Template::new(&text, env)?))
            }
            Json::Array(items) => Self::List(
                items
                    .into_iter()
                    .map(|item| Self::new(item, env))
                    .collect::<Result<_, _>>()?,
            ),
            Json::Object(fields) => {
                let field = |(key, value)| Ok((key, Self::new(value, env)?));
                Self::Map(fields.into_iter().map(field).collect::<Result<_, _>>()?)
            }
            fixed => Self::Fixed(fixed),
        };
        Ok(part)
    }

    fn render(
        &self,
        vars: &Vars,
        results: Option<&Arc<Results>>,
        sum: &mut Sum,
    ) -> Result<Json, RenderError> {
        match self {
            Self::Fixed(json) => Ok(json.clone()),
            Self::Text(template) => sum
                .add(template.render_with(vars, results)?)
                .map(Json::String),
            Self::List(items) => items
                .iter()
                .map(|item| item.render(vars, results, sum))
                .collect(),
            Self::Map(fields) => {
                let mut json = Map::new();
                for (key, part) in fields {
                    json.insert(key.clone(), part.render(vars, results, sum)?);
                }
                Ok(Json::Object(json))
            }
        }
    }

    fn collect<'a>(&'a self, templates: &mut Vec<&'a Template>) {
        match self {
            Self::Fixed(_) => {}
            Self::Text(template) => templates.push(template),
            Self::List(items) => items.iter().for_each(|item| item.collect(templates)),
            Self::Map(fields) => fields.iter().for_each(|(_, part)| part.collect(templates)),
        }
    }
}
