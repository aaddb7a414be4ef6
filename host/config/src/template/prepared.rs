//! A prompt's text, ready to be filled in many times.
//!
//! A text that is JSON is not filled in as text: each of its strings is rendered by itself and
//! the whole is written again with two spaces, so that a quote in a variable can't break it.
//! Keys are never rendered. As in promptfoo, `1.0` becomes `1`; unlike there, whole numbers too
//! large for a float keep their digits. A text that becomes JSON, or a chat in YAML, only when it
//! is filled in is rendered as text, and once more with its values kept apart; that counts if they broke it, or
//! added what is no value (a member, a message). One that a value begins is a text, unless the value is all of it.

use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, LazyLock};

use runner_template::{Apart, Escape, Mixed, indented, plain_numbers};
use serde::de::IgnoredAny;
use serde_json::{Map, Value as Json};

use super::{FilledSize, MAX_TEXT, RenderError, Results, Template, is_plain};
use crate::read::yaml;

/// A text, cut up and compiled.
#[derive(Debug)]
pub(crate) enum Prepared {
    /// No template.
    Plain(String),
    Text(Box<Template>, Values),
    Json(JsonPart),
}

/// What the values may do to a text that is filled in as text and becomes JSON, or a chat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Values {
    /// They are part of it.
    Within,
    /// They break nothing and add nothing.
    KeptApart,
}

/// What a filled-in text is.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum PromptContent {
    /// What its text says, which may be a chat.
    Open,
    /// This.
    Json(Json),
    /// A text, though it may look like a chat: a value begins it.
    Text,
}

/// What a text that was filled in as text was to be: a value breaks no JSON and no chat, adds nothing, and makes
/// none of what its author wrote around it.
fn meant(text: &str, template: &Printing<'_>) -> Result<PromptContent, RenderError> {
    let start = text.trim_start();
    let starts = ["{", "[", YAML_CHAT];
    let Some(begin) = starts.into_iter().find(|it| start.starts_with(it)) else {
        return Ok(PromptContent::Open);
    };
    let apart = Apart::of((*SECRET).into(), text, template)?.ok_or(Mixed)?;
    if apart.is_one_value() {
        return Ok(PromptContent::Open);
    }
    if !apart.begins(begin) {
        let is_text = !apart.is_mixed() || read_chat(text).is_none();
        return is_text.then_some(PromptContent::Text).ok_or(Mixed.into());
    }
    let json = if begin == YAML_CHAT {
        yaml_meant(text, &apart)?
    } else {
        let json = apart.json(text, |text| {
            serde_json::from_str::<IgnoredAny>(text).is_ok()
        })?;
        json.and_then(|json| serde_json::from_str(&json).ok())
    };
    Ok(json.map_or(PromptContent::Open, PromptContent::Json))
}

/// What a text should have said as a chat in YAML; `None` if it says that, or that is no YAML.
fn yaml_meant(text: &str, apart: &Apart) -> Result<Option<Json>, Mixed> {
    let read = read_chat(text);
    let meant = yaml::parse(apart.marked()).ok();
    let meant = meant.map(|meant| apart.put_back(meant.json()));
    match (meant, read) {
        (None, None) => Ok(None),
        (None, Some(_)) => Err(Mixed),
        (Some(meant), Some(read)) if apart.is_mixed() => {
            is_alike(&meant, &read).then_some(None).ok_or(Mixed)
        }
        (Some(meant), read) => Ok(Some(meant).filter(|meant| read.as_ref() != Some(meant))),
    }
}

/// A text that may be a chat.
pub(crate) fn read_chat(text: &str) -> Option<Json> {
    let read = if text.trim_start().starts_with('-') {
        yaml::parse(text).ok().map(|read| read.json())
    } else {
        serde_json::from_str(text).ok()
    };
    read.filter(Json::is_array)
}

/// Whether two values have the same parts, whatever their texts say.
fn is_alike(one: &Json, other: &Json) -> bool {
    match (one, other) {
        (Json::Array(one), Json::Array(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .zip(other)
                    .all(|(one, other)| is_alike(one, other))
        }
        (Json::Object(one), Json::Object(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .zip(other)
                    .all(|((key, one), (other_key, other))| {
                        key == other_key && is_alike(one, other)
                    })
        }
        (one, other) => {
            let has_parts = |it: &Json| it.is_array() || it.is_object();
            !has_parts(one) && !has_parts(other)
        }
    }
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

/// How a chat in YAML begins.
pub(crate) const YAML_CHAT: &str = "- role:";

/// What no value can know.
static SECRET: LazyLock<u64> = LazyLock::new(|| RandomState::new().hash_one(()));

type Vars = Map<String, Json>;

/// Renders with something in place of what is printed.
type Printing<'a> = dyn Fn(&Escape<'_>) -> Result<String, RenderError> + 'a;

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
        Ok(Self::Text(template, Values::Within))
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
        let template = Box::new(Template::new(text, env)?);
        Ok(Self::Text(template, Values::KeptApart))
    }

    /// Renders the text with `vars` filled in, and says what it is. Where filters of the
    /// config have not given what they are asked for, it is not the last word.
    pub(crate) fn render(
        &self,
        vars: &Vars,
        results: Option<&Arc<Results>>,
    ) -> Result<(String, PromptContent), RenderError> {
        match self {
            Self::Plain(text) => Ok((text.clone(), PromptContent::Open)),
            Self::Text(template, values) => {
                let text = template.render_with(vars, results)?;
                if *values == Values::Within {
                    return Ok((text, PromptContent::Open));
                }
                let printing =
                    |escape: &Escape<'_>| template.render_escaped(vars, results, Some(escape));
                Ok(match meant(&text, &printing)? {
                    PromptContent::Json(json) => (indented(&json, 2), PromptContent::Json(json)),
                    content => (text, content),
                })
            }
            Self::Json(part) => {
                let json = part.render(vars, results, &mut FilledSize::default())?;
                Ok((indented(&json, 2), PromptContent::Json(json)))
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
                let field = |(key, value)| Ok::<_, RenderError>((key, Self::new(value, env)?));
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
        sum: &mut FilledSize,
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
