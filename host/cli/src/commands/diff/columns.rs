//! Which columns of two runs belong together, and what is different about them.
//!
//! A column is a provider and a prompt. First the columns pair that have the same names; of the
//! others those with the same provider (its prompt was edited: an unnamed prompt is called by
//! its text), then those with the same prompt (another model); each in order. What is then left
//! is in one run only.

use serde_json::{Value, json};

use crate::output::ColumnRecord;

/// For each column of the later run its partner in the earlier.
pub(super) fn pairs(before: &[ColumnRecord], after: &[ColumnRecord]) -> Vec<Option<usize>> {
    type Same = fn(&ColumnRecord, &ColumnRecord) -> bool;
    let rules: [Same; 4] = [
        |a, b| a.provider == b.provider && a.label == b.label && a.raw == b.raw,
        |a, b| a.provider == b.provider && a.label == b.label,
        |a, b| a.provider == b.provider,
        |a, b| a.label == b.label,
    ];
    let mut partners = vec![None; after.len()];
    let mut taken = vec![false; before.len()];
    for same in rules {
        for (later, partner) in after.iter().zip(&mut partners) {
            if partner.is_none() {
                let free = (0..before.len()).find(|idx| !taken[*idx] && same(&before[*idx], later));
                *partner = free;
                if let Some(idx) = free {
                    taken[idx] = true;
                }
            }
        }
    }
    partners
}

/// Something that is not the same in both runs.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Change {
    /// `column`, `prompt`, `provider`, `plugin`, `grader`.
    pub(super) of: &'static str,
    /// Whose.
    pub(super) name: String,
    /// What it was; nothing if it was not there.
    pub(super) before: Value,
    /// What it is.
    pub(super) after: Value,
}

impl Change {
    fn new(of: &'static str, name: impl Into<String>, before: &Value, after: &Value) -> Self {
        Self {
            of,
            name: name.into(),
            before: before.clone(),
            after: after.clone(),
        }
    }

    /// For `--json`.
    pub(super) fn json(&self) -> Value {
        let Self {
            of,
            name,
            before,
            after,
        } = self;
        json!({ "of": of, "name": name, "before": before, "after": after })
    }
}

/// A run, as far as it decides what its cases are.
#[derive(Debug)]
pub(super) struct Head<'a> {
    pub(super) columns: &'a [ColumnRecord],
    pub(super) config: &'a Value,
    /// `[{ name, version, sha256 }]`.
    pub(super) plugins: &'a Value,
}

/// What changed in prompts, providers, plugins and the model that grades.
pub(super) fn changes(
    before: &Head<'_>,
    after: &Head<'_>,
    partners: &[Option<usize>],
) -> Vec<Change> {
    let mut changes = Vec::new();
    let mut add = |change: Change| {
        if !changes.contains(&change) {
            changes.push(change);
        }
    };
    for (later, partner) in after.columns.iter().zip(partners) {
        if let Some(earlier) = partner.map(|idx| &before.columns[idx]) {
            let (old, new) = ((earlier, before.config), (later, after.config));
            changes_of_column(old, new).into_iter().for_each(&mut add);
        } else {
            let is = json!(name(later));
            add(Change::new("column", name(later), &Value::Null, &is));
        }
    }
    for (idx, earlier) in before.columns.iter().enumerate() {
        if !partners.contains(&Some(idx)) {
            let was = json!(name(earlier));
            add(Change::new("column", name(earlier), &was, &Value::Null));
        }
    }
    for (name, was, is) in plugins(before.plugins, after.plugins) {
        add(Change::new("plugin", name, &was, &is));
    }
    for pointer in ["/defaultTest/options/provider", "/defaultTest/provider"] {
        let at = |head: &Head<'_>| head.config.pointer(pointer).cloned().unwrap_or_default();
        let (was, is) = (at(before), at(after));
        if was != is {
            let name = pointer[1..].replace('/', ".");
            add(Change::new("grader", name, &was, &is));
        }
    }
    changes
}

/// What changed in a column; each side with the config that it is from.
fn changes_of_column(
    (earlier, old): (&ColumnRecord, &Value),
    (later, new): (&ColumnRecord, &Value),
) -> Vec<Change> {
    let mut changes = Vec::new();
    if earlier.raw != later.raw {
        let (was, is) = (json!(earlier.raw), json!(later.raw));
        changes.push(Change::new("prompt", &later.label, &was, &is));
    }
    if earlier.config != later.config {
        let name = format!("{} config", later.label);
        let (was, is) = (json!(earlier.config), json!(later.config));
        changes.push(Change::new("prompt", name, &was, &is));
    }
    if earlier.provider != later.provider {
        let (was, is) = (json!(earlier.provider), json!(later.provider));
        changes.push(Change::new("provider", &later.label, &was, &is));
    }
    let (old, new) = (
        provider(old, &earlier.provider),
        provider(new, &later.provider),
    );
    differences(&old, &new, &later.provider, &mut |path, was, is| {
        changes.push(Change::new("provider", path, was, is));
    });
    changes
}

fn name(column: &ColumnRecord) -> String {
    format!("{} · {}", column.provider, column.label)
}

/// The entry of the config that has this label or id; its label and id left out, which name it.
fn provider(config: &Value, wanted: &str) -> Value {
    let listed = config.get("providers").or_else(|| config.get("targets"));
    let entries = match listed {
        Some(Value::Array(entries)) => entries.as_slice(),
        Some(one) => std::slice::from_ref(one),
        None => &[],
    };
    entries
        .iter()
        .find_map(|entry| {
            let map = entry.as_object()?;
            // `{ id: … }`, or `{ openai:gpt-4o: { … } }`.
            let (id, knobs) = match map.get("id") {
                Some(id) => (id.as_str()?, map),
                None => map
                    .iter()
                    .next()
                    .and_then(|(id, knobs)| Some((id.as_str(), knobs.as_object()?)))?,
            };
            let label = knobs.get("label").and_then(Value::as_str);
            (label.unwrap_or(id) == wanted).then(|| {
                let mut knobs = knobs.clone();
                knobs.remove("label");
                Value::Object(knobs)
            })
        })
        .unwrap_or_else(|| json!({}))
}

/// Tells each place where two values differ, by its path.
fn differences(
    before: &Value,
    after: &Value,
    path: &str,
    tell: &mut dyn FnMut(&str, &Value, &Value),
) {
    let (Value::Object(old), Value::Object(new)) = (before, after) else {
        if before != after {
            tell(path, before, after);
        }
        return;
    };
    let added = new.keys().filter(|name| !old.contains_key(*name));
    for name in old.keys().chain(added) {
        let of = |map: &serde_json::Map<String, Value>| map.get(name).cloned().unwrap_or_default();
        differences(&of(old), &of(new), &format!("{path} {name}"), tell);
    }
}

/// Plugins that are not the same: name, version with sha256 before and after.
fn plugins(before: &Value, after: &Value) -> Vec<(String, Value, Value)> {
    let listed = |list: &Value| -> Vec<(String, Value)> {
        let plugin = |plugin: &Value| {
            let name = plugin["alias"].as_str().or(plugin["name"].as_str())?;
            let what = json!({ "version": plugin["version"], "sha256": plugin["sha256"] });
            Some((name.to_owned(), what))
        };
        list.as_array()
            .into_iter()
            .flatten()
            .filter_map(plugin)
            .collect()
    };
    let (old, new) = (listed(before), listed(after));
    // An imported run does not know its plugins; that is no change of all of them.
    if old.is_empty() || new.is_empty() {
        return Vec::new();
    }
    let of = |list: &[(String, Value)], wanted: &str| {
        let found = list.iter().find(|(name, _)| name == wanted);
        found.map_or(Value::Null, |(_, what)| what.clone())
    };
    let added = new.iter().filter(|(name, _)| of(&old, name).is_null());
    old.iter()
        .chain(added)
        .map(|(name, _)| (name.clone(), of(&old, name), of(&new, name)))
        .filter(|(_, was, is)| was != is)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(provider: &str, label: &str, raw: &str) -> ColumnRecord {
        ColumnRecord {
            id: String::new(),
            raw: raw.to_owned(),
            label: label.to_owned(),
            provider: provider.to_owned(),
            config: None,
        }
    }

    #[test]
    fn columns_pair_by_names_then_by_what_is_left_of_them() {
        let before = [
            column("a", "p", "p"),
            column("a", "q", "q"),
            column("b", "p", "p"),
            column("gone", "old", "old"),
        ];
        let after = [
            column("c", "p", "p"),
            column("a", "q2", "q2"),
            column("a", "p", "p"),
            column("new", "fresh", "fresh"),
        ];
        assert_eq!(pairs(&before, &after), [Some(2), Some(1), Some(0), None]);
        assert_eq!(pairs(&[], &after), [None; 4]);
        let twice = [column("a", "p", "p"), column("a", "p", "p")];
        assert_eq!(pairs(&twice, &twice), [Some(0), Some(1)]);
    }

    #[test]
    fn what_decides_the_answers_is_compared() {
        let (old, new) = ([column("m", "p", "Hi")], [column("m", "p", "Hello")]);
        let config = |temperature: u64| {
            json!({ "providers": [{ "id": "openai:m", "label": "m", "config": { "temperature": temperature, "seed": 1 } }],
            "defaultTest": { "options": { "provider": format!("judge-{temperature}") } } })
        };
        let (was, is) = (config(0), config(1));
        let plugin = |version: &str| json!([{ "alias": "openai", "version": version, "sha256": version }, { "alias": "text", "version": "1", "sha256": "1" }]);
        let (plugins, newer) = (plugin("1"), plugin("2"));
        let before = Head {
            columns: &old,
            config: &was,
            plugins: &plugins,
        };
        let after = Head {
            columns: &new,
            config: &is,
            plugins: &newer,
        };
        let found = changes(&before, &after, &[Some(0)]);
        let told: Vec<(&str, &str)> = found.iter().map(|c| (c.of, c.name.as_str())).collect();
        let expected = [
            ("prompt", "p"),
            ("provider", "m config temperature"),
            ("plugin", "openai"),
            ("grader", "defaultTest.options.provider"),
        ];
        assert_eq!(told, expected);
        assert_eq!((&found[1].before, &found[1].after), (&json!(0), &json!(1)));
        assert_eq!(changes(&before, &before, &[Some(0)]), []);
    }

    #[test]
    fn an_imported_run_has_no_plugins_to_compare() {
        assert_eq!(plugins(&json!([]), &json!([{ "alias": "x" }])), []);
    }
}
