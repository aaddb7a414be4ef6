//! Templates inside variables, and what filling them in may take.
//!
//! Each template has bounds of its own; a row of a few kilobytes can have thousands that print each
//! other. So all variables of a case share one account, and a case that overdraws it is refused:
//! its variables stay as they are written.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::plan::weight;
use crate::template::{Piece, Results, Template, is_plain, pieces, text_of};

/// Rounds of replacing `{{ name }}` inside variables by other variables.
const ROUNDS: usize = 5;

/// How long a variable may become by replacements; beyond it stays as it is.
const MAX_VARIABLE: usize = 16 << 20;

/// Bytes of text that filling in the variables of a case may make: two of the largest ones.
const MAX_MADE: usize = 2 * MAX_VARIABLE;

/// Variables of a case that may be more than text and names of others: each may take all the steps
/// of a template.
const MAX_TEMPLATES: usize = 256;

/// Bytes within the tags of a variable that is filled in. A compiled template takes many times as
/// much, and replacements can make a large one of a small one.
const MAX_TAGS: usize = 1 << 20;

/// What the files take in memory that the variables of a case name.
const MAX_FILES: usize = 32 << 20;

/// What the values take in memory that earlier cases left to one: a conversation, registers.
pub(in crate::plan) const MAX_LEFT: usize = 64 << 20;

/// Why the variables of a case are not filled in.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TooMuch {
    /// They would make too much text.
    #[error(
        "its variables make more than {} MiB of text when they are filled in, the most that a case may have ('{name}' is the one beyond it)",
        MAX_MADE >> 20
    )]
    Text {
        /// The variable that went beyond.
        name: String,
    },
    /// They name files of too much.
    #[error(
        "the files of its variables take more than {} MiB, the most that a case may have ('{name}' is the one beyond it)",
        MAX_FILES >> 20
    )]
    Files {
        /// The variable that went beyond.
        name: String,
    },
    /// Earlier cases left too much to it.
    #[error(
        "what earlier cases left to it takes more than {} MiB, the most that a case may have",
        MAX_LEFT >> 20
    )]
    Left,
    /// What an earlier case left to it is gone.
    #[error(
        "the answer of an earlier case, which it reads, took too much memory to be kept for it"
    )]
    Lost,
    /// The rows of its data file, or those with documents, have taken their share of the results.
    #[error(
        "rows of one data file, or with documents in their variables, have taken more than {gib} GiB of the results in this column, the most that they may; run them in parts"
    )]
    Kept {
        /// That share, in GiB.
        gib: u64,
    },
    /// Too many of them are templates.
    #[error(
        "more than {MAX_TEMPLATES} of its variables are templates that do more than name other variables ('{name}' is the one beyond it)"
    )]
    Templates {
        /// The variable that went beyond.
        name: String,
    },
}

/// What filling in the variables of a case has used.
#[derive(Debug, Default)]
struct Account {
    bytes: usize,
    templates: usize,
}

impl Account {
    fn text(&mut self, bytes: usize, name: &str) -> Result<(), TooMuch> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > MAX_MADE {
            let name = name.to_owned();
            return Err(TooMuch::Text { name });
        }
        Ok(())
    }

    fn template(&mut self, name: &str) -> Result<(), TooMuch> {
        self.templates += 1;
        if self.templates > MAX_TEMPLATES {
            let name = name.to_owned();
            return Err(TooMuch::Templates { name });
        }
        Ok(())
    }
}

/// Checks that the files that variables name are no more than a case may have.
pub(super) fn fits(vars: &Map<String, Value>, contents: &[Option<&Value>]) -> Result<(), TooMuch> {
    let mut taken = 0;
    for (name, content) in vars.keys().zip(contents) {
        taken += content.map_or(0, weight::of_value);
        if taken > MAX_FILES {
            let name = name.to_owned();
            return Err(TooMuch::Files { name });
        }
    }
    Ok(())
}

/// Fills in templates inside variables: first simple references, up to [`ROUNDS`] deep, then each
/// text as a template. A text that reads something undefined, or isn't a template after all, stays,
/// and so does the `literal` one: no text of it becomes part of another's template.
///
/// Gives the names of those that stay: what became of the others is no template.
///
/// # Errors
/// When it takes too much; then all variables are as before.
pub(super) fn resolve(
    vars: &mut Map<String, Value>,
    literal: Option<&str>,
) -> Result<Vec<String>, TooMuch> {
    let nested = |value: &Value| value.as_str().is_some_and(|text| !is_plain(text));
    let others = vars.iter().filter(|(name, _)| literal != Some(name));
    let written = others.filter(|(_, value)| nested(value));
    let written: Vec<(String, Value)> = written
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    if written.is_empty() {
        return Ok(Vec::new());
    }
    let mut shared = Arc::new(std::mem::take(vars));
    let names = written.iter().map(|(name, _)| name.as_str());
    let filled = fill(&mut shared, names, literal);
    *vars = Arc::unwrap_or_clone(shared);
    if filled.is_err() {
        vars.extend(written);
    }
    filled
}

fn fill<'a>(
    vars: &mut Arc<Map<String, Value>>,
    names: impl Iterator<Item = &'a str> + Clone,
    literal: Option<&str>,
) -> Result<Vec<String>, TooMuch> {
    let mut account = Account::default();
    for name in names.clone() {
        for _ in 0..ROUNDS {
            let text = vars[name].as_str().unwrap_or_default();
            let Some(text) = replaced(text, vars, literal) else {
                break;
            };
            account.text(text.len(), name)?;
            if text.len() > MAX_VARIABLE {
                break;
            }
            Arc::make_mut(vars)[name] = Value::String(text);
        }
    }
    let mut stay = Vec::new();
    for name in names {
        let text = vars[name].as_str().unwrap_or_default();
        match rendered(name, text, vars, &mut account)? {
            Some(text) => Arc::make_mut(vars)[name] = Value::String(text),
            None => stay.push(name.to_owned()),
        }
    }
    Ok(stay)
}

/// The variables whose text is a file's, or becomes one with such a text in it. `contents`: what the files of
/// each say.
pub(super) fn of_files(vars: &Map<String, Value>, contents: &[Option<&Value>]) -> BTreeSet<String> {
    let of_file = vars
        .keys()
        .zip(contents)
        .filter(|(_, content)| content.is_some());
    let mut reached: Vec<&str> = of_file.map(|(name, _)| name.as_str()).collect();
    if reached.is_empty() {
        return BTreeSet::new();
    }
    // A text goes as far as names lead, since each variable is filled in with what those before it have become.
    let mut readers: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, value) in vars {
        let text = value.as_str().filter(|text| !is_plain(text));
        for piece in text.map(pieces).into_iter().flatten() {
            if let Piece::Expression(tag) = piece {
                readers.entry(named(tag)).or_default().push(name);
            }
        }
    }
    let mut found = BTreeSet::new();
    while let Some(name) = reached.pop() {
        if found.insert(name.to_owned()) {
            reached.extend(readers.get(name).into_iter().flatten());
        }
    }
    found
}

/// `text` with `{{ name }}` replaced where `name` is a variable; `None` if nothing changes. Of a
/// text beyond [`MAX_VARIABLE`] it gives the beginning.
fn replaced(text: &str, vars: &Map<String, Value>, literal: Option<&str>) -> Option<String> {
    let value = |name| vars.get(name).filter(|_| literal != Some(name));
    let mut out = String::with_capacity(text.len());
    for piece in pieces(text) {
        match piece {
            Piece::Expression(tag) => match value(named(tag)) {
                Some(value) => out.push_str(&text_of(value)),
                None => out.push_str(tag),
            },
            Piece::Text(part)
            | Piece::Stray(part)
            | Piece::Statement(part)
            | Piece::Comment(part) => out.push_str(part),
        }
        if out.len() > MAX_VARIABLE {
            break;
        }
    }
    (out != text).then_some(out)
}

/// A text as a template; `None` if it stays as it is.
fn rendered(
    name: &str,
    text: &str,
    vars: &Arc<Map<String, Value>>,
    account: &mut Account,
) -> Result<Option<String>, TooMuch> {
    match compiled(text) {
        // One that calls a filter of the config fails here, and is filled in when the case runs.
        Some(template) if reads_defined(&template, vars) => {
            if !names_alone(text, vars) {
                account.template(name)?;
            }
            let text = template.render_with(vars, None).ok();
            account.text(text.as_ref().map_or(0, String::len), name)?;
            Ok(text)
        }
        Some(_) | None => Ok(None),
    }
}

/// Fills in variables whose templates had to wait, each once and none with what another one
/// becomes. What is no template is left out.
///
/// # Errors
/// When it takes too much.
pub(in crate::plan) fn fill_late<'a>(
    late: impl IntoIterator<Item = (&'a str, &'a str)>,
    vars: &Arc<Map<String, Value>>,
    results: Option<&Arc<Results>>,
) -> Result<Map<String, Value>, TooMuch> {
    let mut account = Account::default();
    let mut filled = Map::new();
    for (name, text) in late {
        let Some(template) = compiled(text) else {
            continue;
        };
        if !names_alone(text, vars) {
            account.template(name)?;
        }
        if let Ok(text) = template.render_with(vars, results) {
            account.text(text.len(), name)?;
            filled.insert(name.to_owned(), Value::String(text));
        }
    }
    Ok(filled)
}

/// A text as a template, if it is one.
fn compiled(text: &str) -> Option<Template> {
    let is_template = !is_plain(text) && in_tags(text) <= MAX_TAGS;
    is_template.then(|| Template::new(text, None).ok())?
}

/// Bytes of a text that are not as they are.
fn in_tags(text: &str) -> usize {
    let tag = |piece: Piece<'_>| match piece {
        Piece::Expression(tag) | Piece::Statement(tag) | Piece::Comment(tag) => tag.len(),
        Piece::Text(_) | Piece::Stray(_) => 0,
    };
    pieces(text).map(tag).sum()
}

/// Whether a text does no more than name variables.
fn names_alone(text: &str, vars: &Map<String, Value>) -> bool {
    pieces(text).into_iter().all(|piece| match piece {
        Piece::Expression(tag) => vars.contains_key(named(tag)),
        Piece::Statement(_) => false,
        Piece::Text(_) | Piece::Stray(_) | Piece::Comment(_) => true,
    })
}

/// What stands in `{{ … }}`.
fn named(tag: &str) -> &str {
    tag[2..tag.len() - 2].trim()
}

pub(super) fn reads_defined(template: &Template, vars: &Map<String, Value>) -> bool {
    let mut names = template.names();
    names.all(|name| vars.contains_key(&name) || name == "range")
}

#[cfg(test)]
mod tests;
