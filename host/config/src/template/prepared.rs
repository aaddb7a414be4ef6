//! A prompt's text, ready to be filled in many times.
//!
//! A text that is JSON is not filled in as text: each of its strings is rendered by itself and
//! the whole is written again with two spaces, so that a quote in a variable can't break it.
//! Keys are never rendered. As in promptfoo, `1.0` becomes `1`; unlike there, whole numbers too
//! large for a float keep their digits.

use std::sync::Arc;

use serde_json::{Map, Value as Json};

use super::filters::{indented, plain_numbers};
use super::{RenderError, Template, is_plain};

/// A text, cut up and compiled.
#[derive(Debug)]
pub(crate) enum Prepared {
    /// No template.
    Plain(String),
    Text(Box<Template>),
    Json(Part),
}

/// A value of a JSON prompt.
#[derive(Debug)]
pub(crate) enum Part {
    /// No template anywhere in it.
    Fixed(Json),
    Text(Box<Template>),
    List(Vec<Part>),
    Map(Vec<(String, Part)>),
}

type Vars = Arc<Map<String, Json>>;

impl Prepared {
    /// Compiles `text`; `env` is what `env.X` reads.
    pub(crate) fn new(text: &str, env: Option<&Map<String, Json>>) -> Result<Self, RenderError> {
        if text.trim_start().starts_with(['{', '['])
            && let Ok(json) = serde_json::from_str::<Json>(text)
        {
            return Ok(Self::Json(Part::new(plain_numbers(json), env)?));
        }
        if is_plain(text) {
            return Ok(Self::Plain(text.to_owned()));
        }
        Ok(Self::Text(Box::new(Template::new(text, env)?)))
    }

    /// The text with `vars` filled in, and its value where it is JSON.
    pub(crate) fn render(&self, vars: &Vars) -> Result<(String, Option<Json>), RenderError> {
        match self {
            Self::Plain(text) => Ok((text.clone(), None)),
            Self::Text(template) => Ok((template.render(vars)?, None)),
            Self::Json(part) => {
                let json = part.render(vars)?;
                Ok((indented(&json, 2), Some(json)))
            }
        }
    }

    /// Every template in it.
    pub(crate) fn templates(&self) -> Vec<&Template> {
        let mut templates: Vec<&Template> = Vec::new();
        match self {
            Self::Plain(_) => {}
            Self::Text(template) => templates.push(template),
            Self::Json(part) => part.collect(&mut templates),
        }
        templates
    }
}

impl Part {
    fn new(json: Json, env: Option<&Map<String, Json>>) -> Result<Self, RenderError> {
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

    fn render(&self, vars: &Vars) -> Result<Json, RenderError> {
        match self {
            Self::Fixed(json) => Ok(json.clone()),
            Self::Text(template) => template.render(vars).map(Json::String),
            Self::List(items) => items.iter().map(|item| item.render(vars)).collect(),
            Self::Map(fields) => {
                let field = |(key, part): &(String, Self)| Ok((key.clone(), part.render(vars)?));
                fields
                    .iter()
                    .map(field)
                    .collect::<Result<Map<_, _>, _>>()
                    .map(Json::Object)
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
