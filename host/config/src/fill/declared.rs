//! What the `env` of configs declares, and where its values come from.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Map, Value};

use super::{Declared, is_computed, is_variable, may_keep, reads};
use crate::environment;
use crate::model::{ANY_VARIABLE, Findings, Position, TrustRequest};
use crate::read::entry::Entry;
use crate::read::node::Kind;
use crate::redacted::is_secret_variable;
use crate::template::{Template, is_plain};

impl Declared {
    /// Reads the config's `env`.
    pub(crate) fn read(
        root: &Entry<'_>,
        process: &BTreeMap<String, String>,
        findings: &Findings,
    ) -> Self {
        let visible: Map<String, Value> = process
            .iter()
            .map(|(name, value)| (name.clone(), Value::from(value.as_str())))
            .collect();
        let process = Self {
            names: [ANY_VARIABLE.to_owned()].into(),
            values: Arc::new(visible),
            ..Self::default()
        };
        let mut declared = Self {
            outside: process.values.clone(),
            steps: process.steps.clone(),
            ..Self::default()
        };
        let Some(entry) = root.get("env") else {
            return declared;
        };
        if !entry.is_map() {
            entry.mismatch(findings, "a map of names to values");
            return declared;
        }
        let mut values = Map::new();
        for (name, entry) in entry.fields() {
            environment::check_name(name, entry.at(), findings);
            let sources = sources(name, &entry, &process);
            let is_computed = entry.text().is_some_and(is_computed);
            declared.names.insert(name.to_owned());
            if let Some(written) = entry.value_as_written() {
                declared.written.insert(name.to_owned(), written);
            }
            if is_computed {
                declared.computed.insert(name.to_owned());
                // Whether it can be worked out says something of what it is worked out of.
                if !may_keep(&reads(&sources, &entry.at()), findings) {
                    continue;
                }
            }
            if let Some(value) = value(name, &entry, (&process, &sources), findings) {
                values.insert(name.to_owned(), value);
            }
            declared.hide_sources(&sources, &process.values);
            let passes = sources.iter().all(|source| source == name)
                && entry.text().is_none_or(|text| is_variable(text.trim()));
            if !passes && !sources.is_empty() {
                let reads = reads(&sources, &entry.at());
                declared.borrowed.insert(name.to_owned(), reads);
            }
            if !sources.is_empty() {
                declared.sources.insert(name.to_owned(), sources);
            }
        }
        declared.values = Arc::new(values);
        declared
    }

    /// Remembers the secrets that go into a declared value: with words around them they are not the
    /// value itself.
    fn hide_sources(&self, sources: &BTreeSet<String>, process: &Map<String, Value>) {
        let secrets = sources.iter().filter(|source| is_secret_variable(source));
        let values = secrets.filter_map(|source| process.get(source)?.as_str());
        let values = values.filter(|value| !value.is_empty()).map(str::to_owned);
        self.filled_in().secrets.extend(values);
    }

    /// What both declare; of a name that both give a value, the one of `later`. Whose variable that
    /// is shows which are set, so such a name stands for those of both.
    pub(crate) fn and(mut self, later: Self) -> Self {
        let secrets = std::mem::take(&mut later.filled_in().secrets);
        self.filled_in().secrets.extend(secrets);
        let own = later.values.keys();
        for name in own.filter(|name| !later.sources.contains_key(*name)) {
            self.sources.remove(name);
            self.computed.remove(name);
            self.borrowed.remove(name);
        }
        for (name, sources) in later.sources {
            self.sources.entry(name).or_default().extend(sources);
        }
        for (name, reads) in later.borrowed {
            self.borrowed.entry(name).or_default().extend(reads);
        }
        self.computed.extend(later.computed);
        // Which of two is meant may show whether a variable is set.
        for (name, text) in later.written {
            let both = self
                .written
                .remove(&name)
                .filter(|earlier| *earlier != text);
            let both = both.map(|earlier| format!("{earlier} or {text}"));
            self.written.insert(name, both.unwrap_or(text));
        }
        let values = Arc::make_mut(&mut self.values);
        values.extend(Arc::unwrap_or_clone(later.values));
        self.names.extend(later.names);
        self
    }

    /// Decides which values may stand anywhere.
    #[must_use]
    pub(crate) fn opened(mut self, findings: &Findings) -> Self {
        let is_open = |(name, _): &(&String, &Value)| {
            let mut sources = self.sources.get(*name).into_iter().flatten();
            sources.all(|source| {
                let keep = TrustRequest::keep(source, &Position::default());
                findings.agreements().cover(&keep)
            })
        };
        let open = self.values.iter().filter(is_open);
        let open = open.map(|(name, value)| (name.clone(), value.clone()));
        let open: Map<String, Value> = open.collect();
        let own = self.values.iter().filter(|(name, _)| {
            let mut sources = self.sources.get(*name).into_iter().flatten();
            sources.all(|source| source == *name)
        });
        let own = own.map(|(name, value)| (name.clone(), value.clone()));
        self.typed = Arc::new(open.clone().into_iter().chain(own).collect());
        self.open = Arc::new(open);
        self
    }
}

/// The variables of the process's environment that one entry of an `env` map takes, set or not: that
/// is not known to everybody who reads what follows from it.
fn sources(name: &str, entry: &Entry<'_>, process: &Declared) -> BTreeSet<String> {
    if entry.node.kind == Kind::Null {
        return [name.to_owned()].into();
    }
    let text = entry.text().filter(|text| !is_plain(text));
    let template = text.and_then(|text| Template::new(text, Some(&process.values)).ok());
    let names = template.map(|template| process.env_names(&template).collect());
    names.unwrap_or_default()
}

/// The value of one entry of an `env` map; `None`: declared, but not set.
fn value(
    name: &str,
    entry: &Entry<'_>,
    (process, sources): (&Declared, &BTreeSet<String>),
    findings: &Findings,
) -> Option<Value> {
    if entry.node.kind == Kind::Null {
        return process.values.get(name).cloned();
    }
    let text = entry.want_text(findings)?;
    if is_plain(&text) {
        return Some(Value::String(text));
    }
    let is_source = |name: &String| sources.contains(name) || sources.contains(ANY_VARIABLE);
    let seen = process.values.iter().filter(|(name, _)| is_source(name));
    let seen: Map<String, Value> = seen
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    let rendered = Template::new(&text, Some(&Arc::new(seen)))
        .and_then(|template| template.render_at_load(&process.steps));
    match rendered {
        Ok(value) if value.is_empty() => None,
        Ok(value) => Some(Value::String(value)),
        Err(error) => {
            findings.error(entry.at(), error.to_string());
            None
        }
    }
}
