//! One value of a config while it is being read: the value, its file, the path of its key, and
//! who wrote it, which goes with it into every value within.
//!
//! The typed getters report what is wrong to [`Findings`] and give `None`, so that a reader can
//! go on. An absent key and an explicit `null` mean the same.

use std::path::Path;

use serde_json::{Map, Value, json};

use crate::model::{Findings, Position, TextOrigin};
use crate::read::node::{Key, Kind, Node};

/// How much is said of the way to a value, in bytes: each value has its own, and a key on the way may
/// be as long as a file. Beyond it a value is known by its line.
const MAX_WAY: usize = 512;

/// The way to a value, cut to size.
pub(crate) fn shortened(mut key: String) -> String {
    if key.len() > MAX_WAY {
        key.truncate(key.floor_char_boundary(MAX_WAY));
        key.push('…');
    }
    key
}

/// A value in its place.
#[derive(Debug, Clone)]
pub(crate) struct Entry<'a> {
    pub(crate) node: &'a Node,
    pub(crate) file: &'a Path,
    /// Path of the key, for example `tests[3].vars.name`; empty at the root.
    pub(crate) key: String,
    /// Who wrote it.
    pub(crate) origin: &'a TextOrigin,
}

impl<'a> Entry<'a> {
    /// The whole of `file`.
    pub(crate) fn root(node: &'a Node, file: &'a Path, origin: &'a TextOrigin) -> Self {
        Self {
            node,
            file,
            key: String::new(),
            origin,
        }
    }

    /// Where it stands.
    pub(crate) fn at(&self) -> Position {
        let mark = self.node.mark;
        Position {
            file: self.file.to_owned(),
            line: mark.line,
            column: mark.column,
            key: self.key.clone(),
        }
    }

    /// Where its key `key` stands.
    fn at_key(&self, key: &Key) -> Position {
        Position {
            file: self.file.to_owned(),
            line: key.mark.line,
            column: key.mark.column,
            key: self.path(&key.name),
        }
    }

    fn path(&self, name: &str) -> String {
        let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '$');
        shortened(if name.is_empty() || !name.chars().all(plain) {
            format!("{}[{name:?}]", self.key)
        } else if self.key.is_empty() {
            name.to_owned()
        } else {
            format!("{}.{name}", self.key)
        })
    }

    /// The fields of a map; none of anything else.
    pub(crate) fn fields(&self) -> impl Iterator<Item = (&'a str, Entry<'a>)> + use<'a, '_> {
        let fields: &'a [(Key, Node)] = match &self.node.kind {
            Kind::Map(fields) => fields,
            _ => &[],
        };
        fields.iter().map(|(key, node)| {
            (
                &*key.name,
                Entry {
                    node,
                    file: self.file,
                    key: self.path(&key.name),
                    origin: self.origin,
                },
            )
        })
    }

    /// The items of a list; none of anything else.
    pub(crate) fn items(&self) -> impl Iterator<Item = Entry<'a>> + use<'a, '_> {
        let items: &'a [Node] = match &self.node.kind {
            Kind::List(items) => items,
            _ => &[],
        };
        items.iter().enumerate().map(|(index, node)| Entry {
            node,
            file: self.file,
            key: shortened(format!("{}[{index}]", self.key)),
            origin: self.origin,
        })
    }

    /// A field that is there and not `null`.
    pub(crate) fn get(&self, name: &str) -> Option<Entry<'a>> {
        let Kind::Map(fields) = &self.node.kind else {
            return None;
        };
        let (_, node) = fields.iter().find(|(key, _)| *key.name == *name)?;
        (node.kind != Kind::Null).then(|| Entry {
            node,
            file: self.file,
            key: self.path(name),
            origin: self.origin,
        })
    }

    pub(crate) fn is_map(&self) -> bool {
        matches!(self.node.kind, Kind::Map(_))
    }

    pub(crate) fn is_list(&self) -> bool {
        matches!(self.node.kind, Kind::List(_))
    }

    /// A string with environment templates filled in.
    pub(crate) fn text(&self) -> Option<&'a str> {
        match &self.node.kind {
            Kind::Text(text) => Some(text.get()),
            _ => None,
        }
    }

    /// A string as it was written.
    pub(crate) fn text_as_written(&self) -> Option<&'a str> {
        match &self.node.kind {
            Kind::Text(text) => Some(&text.written),
            _ => None,
        }
    }

    /// A value as it was written, in JSON where it is no text; `None` where there is none.
    pub(crate) fn value_as_written(&self) -> Option<String> {
        match &self.node.kind {
            Kind::Null => None,
            Kind::Text(text) => Some(text.written.to_string()),
            _ => Some(self.node.json_as_written().to_string()),
        }
    }

    /// Whether it is a credential into which a variable was filled in. It is for its plugin alone:
    /// nothing may depend on what it says.
    pub(crate) fn is_filled_credential(&self) -> bool {
        matches!(&self.node.kind, Kind::Text(text) if text.is_filled_credential())
    }

    /// What tells it apart from others without a variable of the environment: as it was written, and
    /// with its file where something was filled in. That two are the same shows in what is run.
    pub(crate) fn as_written(&self) -> Value {
        let mut is_filled = false;
        self.node.each_filled(&mut |_| is_filled = true);
        let file = is_filled.then(|| self.file.to_string_lossy());
        json!([self.node.json_as_written(), file])
    }

    /// What it is, with its article.
    pub(crate) fn what(&self) -> &'static str {
        match self.node.kind {
            Kind::Null => "nothing",
            Kind::Bool(_) => "true or false",
            Kind::Number(_) => "a number",
            Kind::Text(_) => "text",
            Kind::List(_) => "a list",
            Kind::Map(_) => "a map",
        }
    }

    /// Reports that `wanted` was needed here.
    pub(crate) fn mismatch(&self, findings: &Findings, wanted: &str) {
        findings.error(self.at(), format!("must be {wanted}, not {}", self.what()));
    }

    /// Text; numbers and booleans count as they are written.
    pub(crate) fn want_text(&self, findings: &Findings) -> Option<String> {
        match &self.node.kind {
            Kind::Text(text) => Some(text.get().to_owned()),
            Kind::Number(number) => Some(number.to_string()),
            Kind::Bool(value) => Some(value.to_string()),
            _ => {
                self.mismatch(findings, "text");
                None
            }
        }
    }

    pub(crate) fn want_bool(&self, findings: &Findings) -> Option<bool> {
        if let Kind::Bool(value) = &self.node.kind {
            return Some(*value);
        }
        self.mismatch(findings, "true or false");
        None
    }

    /// A number, also one in quotes (as environment templates give them).
    pub(crate) fn number(&self) -> Option<f64> {
        match &self.node.kind {
            Kind::Number(number) => number.as_f64(),
            Kind::Text(text) => text
                .get()
                .trim()
                .parse()
                .ok()
                .filter(|number: &f64| number.is_finite()),
            _ => None,
        }
    }

    pub(crate) fn want_number(&self, findings: &Findings) -> Option<f64> {
        let number = self.number();
        if number.is_none() {
            self.mismatch(findings, "a number");
        }
        number
    }

    /// A whole number between the bounds.
    pub(crate) fn want_count(&self, findings: &Findings, min: u64, max: u64) -> Option<u64> {
        let number = self.number().filter(|number| number.fract() == 0.0);
        let count = number.filter(|number| *number >= min as f64 && *number <= max as f64);
        if count.is_none() {
            let wanted = format!("a whole number from {min} to {max}");
            match self.number() {
                Some(number) => {
                    findings.error(self.at(), format!("must be {wanted}, not {number}"));
                }
                None => self.mismatch(findings, &wanted),
            }
        }
        count.map(|count| count as u64)
    }

    /// A map as JSON, environment templates filled in.
    pub(crate) fn want_map(&self, findings: &Findings) -> Option<Map<String, Value>> {
        if let Value::Object(map) = self.node.json() {
            return Some(map);
        }
        self.mismatch(findings, "a map");
        None
    }

    /// The items of a list; of anything else none, and that it is not `wanted` is reported.
    pub(crate) fn want_items(
        &self,
        findings: &Findings,
        wanted: &str,
    ) -> impl Iterator<Item = Entry<'a>> + use<'a, '_> {
        if !self.is_list() {
            self.mismatch(findings, wanted);
        }
        self.items()
    }

    /// A list of texts, or one text.
    pub(crate) fn want_texts(&self, findings: &Findings) -> Vec<String> {
        if self.is_list() {
            self.items()
                .filter_map(|item| item.want_text(findings))
                .collect()
        } else {
            self.want_text(findings).into_iter().collect()
        }
    }

    /// Reports keys that nothing reads.
    pub(crate) fn report_unknown(&self, findings: &Findings, known: &[&str]) {
        let Kind::Map(fields) = &self.node.kind else {
            return;
        };
        for (key, _) in fields {
            if !known.contains(&&*key.name) {
                findings.unknown(self.at_key(key), "key", &key.name, known);
            }
        }
    }

    /// Reports keys that are promptfoo's but not ours yet; `(key, what to do)`.
    pub(crate) fn refuse(&self, findings: &Findings, unsupported: &[(&str, &str)]) {
        for (at, name, help) in self.unsupported(unsupported) {
            findings.error_help(at, format!("'{name}' is not supported yet"), help);
        }
    }

    /// Reports keys that are promptfoo's but not ours yet, by a warning alone where one of `others` is
    /// there: that works without them.
    pub(crate) fn refuse_unless(
        &self,
        others: &[&str],
        findings: &Findings,
        unsupported: &[(&str, &str)],
    ) {
        if others.iter().all(|key| self.get(key).is_none()) {
            return self.refuse(findings, unsupported);
        }
        for (at, name, _) in self.unsupported(unsupported) {
            let message = format!("'{name}' is not supported yet; the rest runs without it");
            findings.warn(at, message, None);
        }
    }

    fn unsupported<'k>(
        &self,
        unsupported: &[(&'k str, &'k str)],
    ) -> Vec<(Position, &'k str, &'k str)> {
        let Kind::Map(fields) = &self.node.kind else {
            return Vec::new();
        };
        let set = fields.iter().filter(|(_, value)| value.kind != Kind::Null);
        let known = set.filter_map(|(key, _)| {
            let (name, help) = unsupported.iter().find(|(name, _)| **name == *key.name)?;
            Some((self.at_key(key), *name, *help))
        });
        known.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::json;

    #[test]
    fn the_way_to_a_value_is_cut_to_size() {
        let long = "ä".repeat(10_000);
        let node = json::parse(&format!(r#"{{"{long}": [[1], {{"a b": 2}}]}}"#), 1);
        let node = node.unwrap_or_else(|_| panic!("it is JSON"));
        let root = Entry::root(&node, Path::new("c.json"), &TextOrigin::Config);
        let (_, list) = root.fields().next().expect("a field");
        let inner: Vec<Entry<'_>> = list.items().collect();
        let deep: Vec<Entry<'_>> = inner.iter().flat_map(Entry::items).collect();
        for entry in [&list].into_iter().chain(&inner).chain(&deep) {
            assert_eq!(entry.key, format!("{}…", "ä".repeat(MAX_WAY / 2)));
        }
    }
}
