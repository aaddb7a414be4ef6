//! What changed between two runs but for single cases: prompts, providers, plugins, and the model that grades.
//!
//! Which columns belong together is said in [`pairing`].

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher as _, RandomState};
use std::ops::ControlFlow;
use std::sync::LazyLock;

use runner_telling::visible;
use serde_json::{Map, Value, json};

use crate::pairing::{self, ColumnNames};

/// Changes that are kept and told.
pub const MOST_CHANGES: usize = 1_000;
/// Characters of a key in the name of a change.
const KEY_CHARS: usize = 200;
/// Characters of such a name.
const PATH_CHARS: usize = 1_000;

/// What a column was asked.
#[derive(Debug, Clone, Copy)]
pub struct ComparedColumn<'a> {
    /// What it is called.
    pub names: ColumnNames<'a>,
    /// Options that go to the provider with the prompt.
    pub config: Option<&'a Map<String, Value>>,
}

/// Something that is not the same in both runs.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Change<'a> {
    /// `column`, `prompt`, `provider`, `plugin`, `grader`; `assertion`, `test`.
    pub of: &'static str,
    /// Whose.
    pub name: String,
    /// What it was; nothing if it was not there.
    pub before: Cow<'a, Value>,
    /// What it is.
    pub after: Cow<'a, Value>,
}

impl<'a> Change<'a> {
    pub(crate) fn new(
        of: &'static str,
        name: impl Into<String>,
        before: Value,
        after: Value,
    ) -> Self {
        Self {
            of,
            name: name.into(),
            before: Cow::Owned(before),
            after: Cow::Owned(after),
        }
    }

    fn at(of: &'static str, path: &[&str], before: &'a Value, after: &'a Value) -> Self {
        let keys: Vec<_> = path
            .iter()
            .map(|key| visible::cut(key, KEY_CHARS))
            .collect();
        Self {
            of,
            name: visible::cut_middle(&keys.join(" "), PATH_CHARS).into_owned(),
            before: Cow::Borrowed(before),
            after: Cow::Borrowed(after),
        }
    }

    /// As an object: `of`, `name`, `before`, `after`.
    pub fn json(&self) -> Value {
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
pub struct ComparedRun<'a> {
    /// Its columns.
    pub columns: Vec<ComparedColumn<'a>>,
    /// Its config.
    pub config: &'a Value,
    /// `[{ name, version, sha256 }]`.
    pub plugins: Value,
}

/// What changed in prompts, providers, plugins and the model that grades, each thing once.
#[derive(Debug, Default)]
pub struct Changes<'a> {
    /// The first [`MOST_CHANGES`].
    pub told: Vec<Change<'a>>,
    /// There are others, which nobody looked for.
    pub are_more: bool,
    /// Hashes of those that are told.
    seen: HashSet<u64>,
    hasher: RandomState,
    /// What was compared, so that no provider is walked for every column: with itself once, and
    /// with one other.
    compared: HashSet<(Pairing, &'a str)>,
}

/// Where a provider stands, and whether it was compared with itself.
#[derive(Debug, PartialEq, Eq, Hash)]
enum Pairing {
    Itself,
    Before,
    After,
}

impl<'a> Changes<'a> {
    /// Of two runs whose columns belong together so.
    pub fn between(
        before: &ComparedRun<'a>,
        after: &ComparedRun<'a>,
        partners: &[Option<usize>],
    ) -> Self {
        let mut changes = Self::default();
        // That the search ended early stands in `are_more`.
        let _ = changes.find(before, after, partners);
        changes
    }

    fn add(&mut self, change: Change<'a>) -> ControlFlow<()> {
        if !self.seen.insert(self.hasher.hash_one(&change)) {
            return ControlFlow::Continue(());
        }
        if self.told.len() >= MOST_CHANGES {
            self.are_more = true;
            return ControlFlow::Break(());
        }
        self.told.push(change);
        ControlFlow::Continue(())
    }

    fn find(
        &mut self,
        before: &ComparedRun<'a>,
        after: &ComparedRun<'a>,
        partners: &[Option<usize>],
    ) -> ControlFlow<()> {
        let (old, new) = (providers(before.config), providers(after.config));
        let mut is_left = vec![true; before.columns.len()];
        for (later, partner) in after.columns.iter().zip(partners) {
            if let Some(idx) = *partner {
                let earlier = &before.columns[idx];
                is_left[idx] = false;
                self.of_column(earlier, later)?;
                self.of_providers((&old, earlier.names[0]), (&new, later.names[0]))?;
            } else {
                let is = json!(name(later));
                self.add(Change::new("column", name(later), Value::Null, is))?;
            }
        }
        for (earlier, _) in before.columns.iter().zip(is_left).filter(|(_, left)| *left) {
            let was = json!(name(earlier));
            self.add(Change::new("column", name(earlier), was, Value::Null))?;
        }
        for (name, was, is) in plugins(&before.plugins, &after.plugins) {
            self.add(Change::new("plugin", name, was, is))?;
        }
        for path in [
            &["defaultTest", "options", "provider"][..],
            &["defaultTest", "provider"],
        ] {
            let at = |head: &ComparedRun<'a>| {
                let found = path
                    .iter()
                    .try_fold(head.config, |value, key| value.get(key));
                found.unwrap_or(&Value::Null)
            };
            let (was, is) = (at(before), at(after));
            if was != is {
                let name = path.join(".");
                self.add(Change::at("grader", &[&name], was, is))?;
            }
        }
        ControlFlow::Continue(())
    }

    /// Visits what changed in a column but for the config of its provider.
    fn of_column(
        &mut self,
        earlier: &ComparedColumn<'_>,
        later: &ComparedColumn<'_>,
    ) -> ControlFlow<()> {
        let [from, _, _, was] = earlier.names;
        let [to, _, label, is] = later.names;
        if was != is {
            self.add(Change::new("prompt", label, json!(was), json!(is)))?;
        }
        if earlier.config != later.config {
            let name = format!("{label} config");
            let (was, is) = (json!(earlier.config), json!(later.config));
            self.add(Change::new("prompt", name, was, is))?;
        }
        if from != to {
            self.add(Change::new("provider", label, json!(from), json!(to)))?;
        }
        ControlFlow::Continue(())
    }

    /// Visits what changed in the config of a provider.
    fn of_providers(
        &mut self,
        (old, earlier): (&Providers<'a>, &'a str),
        (new, later): (&Providers<'a>, &'a str),
    ) -> ControlFlow<()> {
        let is_new = if earlier == later {
            self.compared.insert((Pairing::Itself, later))
        } else {
            let is_new = self.compared.insert((Pairing::Before, earlier));
            self.compared.insert((Pairing::After, later)) && is_new
        };
        if !is_new {
            return ControlFlow::Continue(());
        }
        let of = |list: &Providers<'a>, name: &str| list.get(name).cloned().unwrap_or_default();
        let (old, new) = (of(old, earlier), of(new, later));
        // Of several of one name those that did not change pair first.
        let texts = |all: &[&Map<String, Value>]| -> Vec<String> {
            all.iter().map(|it| json!(it).to_string()).collect()
        };
        let rules: [fn(&String) -> String; 2] = [Clone::clone, |_| String::new()];
        let partners = pairing::paired(&texts(&old), &texts(&new), &rules);
        let pairs = new.iter().zip(&partners);
        let pairs = pairs.map(|(is, at)| (at.map_or(&*NOTHING, |at| old[at]), *is));
        let gone = (0..old.len()).filter(|at| !partners.contains(&Some(*at)));
        let gone = gone.map(|at| (old[at], &*NOTHING));
        for (was, is) in pairs.chain(gone) {
            differences(was, is, &mut vec![later], &mut |change| self.add(change))?;
        }
        ControlFlow::Continue(())
    }
}

fn name(column: &ComparedColumn<'_>) -> String {
    let [provider, variant, label, _] = column.names;
    match variant {
        "" => format!("{provider} · {label}"),
        variant => format!("{provider} ({variant}) · {label}"),
    }
}

/// The entries of a config by their labels, or else ids.
type Providers<'a> = HashMap<&'a str, Vec<&'a Map<String, Value>>>;

static NOTHING: LazyLock<Map<String, Value>> = LazyLock::new(Map::new);

fn providers(config: &Value) -> Providers<'_> {
    let listed = config.get("providers").or_else(|| config.get("targets"));
    let entries = match listed {
        Some(Value::Array(entries)) => entries.as_slice(),
        Some(one) => std::slice::from_ref(one),
        None => &[],
    };
    let entry = |entry| {
        let map = Value::as_object(entry)?;
        // `{ id: … }`, or `{ openai:gpt-4o: { … } }`.
        let (id, knobs) = match map.get("id") {
            Some(id) => (id.as_str()?, map),
            None => map
                .iter()
                .next()
                .and_then(|(id, knobs)| Some((id.as_str(), knobs.as_object()?)))?,
        };
        let label = knobs.get("label").and_then(Value::as_str);
        Some((label.unwrap_or(id), knobs))
    };
    let mut providers = Providers::new();
    for (name, knobs) in entries.iter().filter_map(entry) {
        providers.entry(name).or_default().push(knobs);
    }
    providers
}

/// Tells each place where two maps differ, by its path, which begins with the provider; its label,
/// which names it, left out.
fn differences<'a>(
    before: &'a Map<String, Value>,
    after: &'a Map<String, Value>,
    path: &mut Vec<&'a str>,
    tell: &mut dyn FnMut(Change<'a>) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let added = after.keys().filter(|name| !before.contains_key(*name));
    for name in before.keys().chain(added) {
        if path.len() == 1 && name == "label" {
            continue;
        }
        let of = |map: &'a Map<String, Value>| map.get(name).unwrap_or(&Value::Null);
        path.push(name);
        match (of(before), of(after)) {
            (Value::Object(old), Value::Object(new)) => differences(old, new, path, tell)?,
            (was, is) if was != is => tell(Change::at("provider", path, was, is))?,
            _ => {}
        }
        path.pop();
    }
    ControlFlow::Continue(())
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
    let by_name = |list: &[(String, Value)]| -> HashMap<String, Value> {
        list.iter().rev().cloned().collect()
    };
    let (was, is) = (by_name(&old), by_name(&new));
    let of = |list: &HashMap<String, Value>, name: &str| list.get(name).cloned();
    let added = new.iter().filter(|(name, _)| !was.contains_key(name));
    old.iter()
        .chain(added)
        .map(|(name, _)| (name.clone(), of(&was, name), of(&is, name)))
        .filter(|(_, was, is)| was != is)
        .map(|(name, was, is)| (name, was.unwrap_or_default(), is.unwrap_or_default()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column<'a>(provider: &'a str, label: &'a str, raw: &'a str) -> ComparedColumn<'a> {
        ComparedColumn {
            names: [provider, "", label, raw],
            config: None,
        }
    }

    #[test]
    fn what_decides_the_answers_is_compared() {
        let (old, new) = (
            vec![column("m", "p", "Hi")],
            vec![column("m", "p", "Hello")],
        );
        let config = |temperature: u64| {
            json!({ "providers": [{ "id": "openai:m", "label": "m", "config": { "temperature": temperature, "seed": 1 } }],
            "defaultTest": { "options": { "provider": format!("judge-{temperature}") } } })
        };
        let (was, is) = (config(0), config(1));
        let plugin = |version: &str| json!([{ "alias": "openai", "version": version, "sha256": version }, { "alias": "text", "version": "1", "sha256": "1" }]);
        let (plugins, newer) = (plugin("1"), plugin("2"));
        let before = ComparedRun {
            columns: old,
            config: &was,
            plugins,
        };
        let after = ComparedRun {
            columns: new,
            config: &is,
            plugins: newer,
        };
        let found = Changes::between(&before, &after, &[Some(0)]).told;
        let told: Vec<(&str, &str)> = found.iter().map(|c| (c.of, c.name.as_str())).collect();
        let expected = [
            ("prompt", "p"),
            ("provider", "m config temperature"),
            ("plugin", "openai"),
            ("grader", "defaultTest.options.provider"),
        ];
        assert_eq!(told, expected);
        assert_eq!(
            (&*found[1].before, &*found[1].after),
            (&json!(0), &json!(1))
        );
        assert_eq!(Changes::between(&before, &before, &[Some(0)]).told, []);
    }

    #[test]
    fn of_providers_of_one_name_those_that_stayed_are_no_change() {
        let config = |temperatures: &[u64]| {
            let of = |it: &u64| json!({ "id": "m", "config": { "temperature": it } });
            json!({ "providers": temperatures.iter().map(of).collect::<Value>() })
        };
        let told = |was: &[u64], is: &[u64]| {
            let (was, is) = (config(was), config(is));
            let head = |config| ComparedRun {
                columns: vec![column("m", "p", "Hi")],
                config,
                plugins: Value::Null,
            };
            let found = Changes::between(&head(&was), &head(&is), &[Some(0)]).told;
            let told = found.iter().map(|it| format!("{} {}", it.before, it.after));
            told.collect::<Vec<_>>()
        };
        assert_eq!(told(&[0, 1], &[1, 0]), [""; 0]);
        assert_eq!(told(&[0, 1], &[1, 2]), ["0 2"]);
    }

    #[test]
    fn so_many_changes_are_kept_and_no_path_is_longer_than_it_is_told() {
        let columns = vec![column("m", "p", "Hi")];
        let config = |seed: usize| {
            let knobs: Map<String, Value> = (0..2 * MOST_CHANGES)
                .map(|at| (format!("{at:06}"), json!(seed)))
                .collect();
            let long = "k".repeat(10_000);
            let deep = (0..30).fold(json!(knobs), |inner, _| json!({ &long: inner }));
            json!({ "providers": [{ "id": "m", "config": deep }] })
        };
        let (was, is) = (config(0), config(1));
        let head = |config| ComparedRun {
            columns: columns.clone(),
            config,
            plugins: Value::Null,
        };
        let found = Changes::between(&head(&was), &head(&is), &[Some(0)]);
        assert_eq!((found.told.len(), found.are_more), (MOST_CHANGES, true));
        let longest = found
            .told
            .iter()
            .map(|change| change.name.chars().count())
            .max();
        assert_eq!(longest, Some(PATH_CHARS));
        assert!(
            found.told[7].name.ends_with(" 000007"),
            "{}",
            found.told[7].name
        );
        let is_copied = |value: &Cow<'_, Value>| matches!(value, Cow::Owned(_));
        assert!(!found.told.iter().any(|change| is_copied(&change.after)));
    }

    #[test]
    fn a_provider_is_compared_once_for_all_its_columns() {
        let labels: Vec<String> = (0..1_000).map(|at| at.to_string()).collect();
        let of = |providers: [&'static str; 2]| -> Vec<ComparedColumn<'_>> {
            let labels = labels.iter().enumerate();
            labels
                .map(|(at, label)| column(providers[at % 2], label, ""))
                .collect()
        };
        let (columns, other) = (of(["a", "b"]), of(["c", "c"]));
        let config = json!({});
        let head = |columns| ComparedRun {
            columns,
            config: &config,
            plugins: Value::Null,
        };
        let partners: Vec<Option<usize>> = (0..1_000).map(Some).collect();
        let found = Changes::between(&head(columns.clone()), &head(columns.clone()), &partners);
        assert_eq!(found.compared.len(), 2);
        let found = Changes::between(&head(columns), &head(other), &partners);
        assert_eq!((found.compared.len(), found.told.len()), (3, 1_000));
    }

    #[test]
    fn an_imported_run_has_no_plugins_to_compare() {
        assert_eq!(plugins(&json!([]), &json!([{ "alias": "x" }])), []);
    }
}
