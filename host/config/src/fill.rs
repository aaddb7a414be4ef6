//! `env`, and `{{ env.X }}` in a config.
//!
//! Templates see only the names that the config's `env` declares, never the whole environment:
//! a prompt from somebody else can't ask for `{{ env.AWS_SECRET_ACCESS_KEY }}`. Inside `env`
//! itself the process's environment is visible, since that is where a user takes a variable in:
//! `KEY: "{{ env.KEY }}"`, or just `KEY:`.
//!
//! In the rest of the config only tags that read nothing but `env` are filled in, when it is
//! loaded; all other tags belong to the cases. What stands in the results file is the text as
//! written. Data files (CSV, JSONL, files of variables) are not filled in: they are data.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::entry::Entry;
use crate::node::{Kind, Mark, Node};
use crate::plan::Position;
use crate::problem::{Findings, did_you_mean};
use crate::template::{Piece, Template, is_plain, pieces};

/// What a config declares.
#[derive(Clone, Default)]
pub(crate) struct Declared {
    /// Values of the names that have one.
    pub(crate) values: Arc<Map<String, Value>>,
    /// Every declared name.
    names: BTreeSet<String>,
}

impl Declared {
    /// Reads the config's `env`.
    pub(crate) fn read(
        root: &Entry<'_>,
        process: &BTreeMap<String, String>,
        findings: &Findings,
    ) -> Self {
        let mut declared = Self::default();
        let Some(entry) = root.get("env") else {
            return declared;
        };
        if !entry.is_map() {
            entry.mismatch(findings, "a map of names to values");
            return declared;
        }
        let visible: Map<String, Value> = process
            .iter()
            .map(|(name, value)| (name.clone(), Value::from(value.as_str())))
            .collect();
        let process = Self {
            names: visible.keys().cloned().collect(),
            values: Arc::new(visible),
        };
        let mut values = Map::new();
        for (name, entry) in entry.fields() {
            if let Some(value) = value(name, &entry, &process, findings) {
                values.insert(name.to_owned(), value);
            }
            declared.names.insert(name.to_owned());
        }
        declared.values = Arc::new(values);
        declared
    }

    /// What both declare; of a name that both give a value, the one of `later`.
    pub(crate) fn and(mut self, later: Self) -> Self {
        let values = Arc::make_mut(&mut self.values);
        values.extend(Arc::unwrap_or_clone(later.values));
        self.names.extend(later.names);
        self
    }

    /// Fills in every text of a tree but its `env`.
    pub(crate) fn fill(&self, node: &mut Node, file: &Path, findings: &Findings) {
        let mut visit = |text: &mut crate::node::Text, mark: Mark| {
            if is_plain(&text.written) {
                return;
            }
            let at = Position {
                file: file.to_owned(),
                line: mark.line,
                column: mark.column,
                key: String::new(),
            };
            text.filled = self.filled(&text.written, &at, findings);
        };
        match &mut node.kind {
            Kind::Map(fields) => {
                let fields = fields.iter_mut().filter(|(key, _)| key.name != "env");
                fields.for_each(|(_, value)| value.texts_mut(&mut visit));
            }
            _ => node.texts_mut(&mut visit),
        }
    }

    /// `text` with the tags that read only `env` filled in; `None` if there are none.
    pub(crate) fn filled(&self, text: &str, at: &Position, findings: &Findings) -> Option<String> {
        let mut out = String::with_capacity(text.len());
        let mut any = false;
        for piece in pieces(text) {
            let (Piece::Text(tag)
            | Piece::Stray(tag)
            | Piece::Expression(tag)
            | Piece::Statement(tag)
            | Piece::Comment(tag)) = piece;
            let filled = matches!(piece, Piece::Expression(_))
                .then(|| self.tag(tag, at, findings))
                .flatten();
            any |= filled.is_some();
            out.push_str(filled.as_deref().unwrap_or(tag));
        }
        any.then_some(out)
    }

    /// The value of a tag, if `env` is all it reads.
    fn tag(&self, tag: &str, at: &Position, findings: &Findings) -> Option<String> {
        if !tag.contains("env") {
            return None;
        }
        let template = Template::new(tag, Some(&self.values)).ok()?;
        let names: BTreeSet<String> = template.names().collect();
        if names.len() != 1 || !names.contains("env") {
            return None;
        }
        self.check(&template, at, findings);
        template.render(&Arc::default()).ok()
    }

    /// Reports names that a template reads from `env` and nobody declared.
    pub(crate) fn check(&self, template: &Template, at: &Position, findings: &Findings) {
        for path in template.paths() {
            let Some(name) = path.strip_prefix("env.") else {
                continue;
            };
            let name = name.split('.').next().unwrap_or(name);
            if self.values.contains_key(name) {
                continue;
            }
            if self.names.contains(name) {
                findings.warn(
                    at.clone(),
                    format!("env.{name} is declared, but not set: it is empty"),
                    None,
                );
                continue;
            }
            let meant = did_you_mean(name, self.names.iter().map(String::as_str));
            let help = match meant {
                Some(meant) => format!("did you mean env.{meant}?"),
                None => format!(
                    "templates see only what the config declares; add to the config: env: {{ {name}: \"{{{{ env.{name} }}}}\" }}"
                ),
            };
            findings.error_help(at.clone(), format!("env.{name} is not declared"), help);
        }
    }
}

/// The value of one entry of an `env` map; `None`: declared, but not set.
fn value(name: &str, entry: &Entry<'_>, process: &Declared, findings: &Findings) -> Option<Value> {
    if entry.node.kind == Kind::Null {
        return process.values.get(name).cloned();
    }
    let text = entry.want_text(findings)?;
    if is_plain(&text) {
        return Some(Value::String(text));
    }
    let rendered = Template::new(&text, Some(&process.values))
        .and_then(|template| template.render(&Arc::default()));
    match rendered {
        Ok(value) if value.is_empty() => None,
        Ok(value) => Some(Value::String(value)),
        Err(error) => {
            findings.error(entry.at(), error.to_string());
            None
        }
    }
}

#[cfg(test)]
mod tests;
