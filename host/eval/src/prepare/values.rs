//! Values of assertions that no answer could satisfy, beyond what schemas say: a regular expression
//! that can't be read, a JSON Schema that refers to nothing.
//!
//! The graders that came with the program say so themselves, of many values at once; others are not
//! asked. Equal values are asked about once, wherever they stand, and what templates and code make is
//! known only later.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use runner_config::plan::{Assertion, Plan};
use serde_json::{Value, json};

use crate::plugins::{BindError, Grader, LoadedPlugin, StatedPlace, Trust, place};
use crate::private_door::{Extras, VALUES};

/// JSON of values in one call, in bytes, unless a single one has more.
const MAX_PART: usize = 256 << 10;

/// JSON of values in all, likewise: a data file may have another one in each row. The others are
/// told by their rows.
const MAX_ASKED: usize = 8 << 20;

/// Values that are told; each with so many of its places.
const MAX_TOLD: usize = 50;
const MAX_PLACES: usize = 8;

/// Values of one plugin that are asked about.
struct AskedValues<'a> {
    plugin: &'a LoadedPlugin,
    /// Pairs of type and value as JSON, in the order of the tests.
    pairs: Vec<(String, About)>,
    /// Where each pair stands in the list.
    known: HashMap<String, usize>,
    bytes: usize,
}

/// Where a value stands first, and whose it is.
struct About {
    places: Vec<StatedPlace>,
    kind: String,
}

/// Reports what graders say of values.
pub(super) async fn refused(
    plan: &Plan,
    graders: &HashMap<String, Arc<Grader>>,
    errors: &mut Vec<BindError>,
) {
    let plugins = graders.iter().map(|(kind, it)| (&**kind, &*it.plugin));
    let checking: HashMap<&str, &LoadedPlugin> = plugins
        .filter(|(_, plugin)| checks_values(plugin))
        .collect();
    if checking.is_empty() {
        return;
    }
    let mut asked: BTreeMap<&str, AskedValues<'_>> = BTreeMap::new();
    for test in plan.tests.with_own_checks() {
        for assertion in test.assertions() {
            let Some(plugin) = checking.get(&*assertion.kind).copied() else {
                continue;
            };
            let Some(value) = known_value(assertion) else {
                continue;
            };
            let asked = asked
                .entry(&plugin.alias)
                .or_insert_with(|| AskedValues::of(plugin));
            asked.add(json!([assertion.kind, value]).to_string(), assertion);
        }
    }
    let mut told = 0;
    for asked in asked.values() {
        for (About { places, kind }, problem) in asked.refused().await {
            told += 1;
            if told > MAX_TOLD {
                continue;
            }
            errors.extend(places.iter().map(|at| BindError::Config {
                at: at.clone(),
                problem: format!("no value for '{kind}': {problem}"),
            }));
        }
    }
    if told > MAX_TOLD {
        errors.push(BindError::Config {
            at: "assertions".to_owned().into(),
            problem: format!("{} more values can't be used", told - MAX_TOLD),
        });
    }
}

/// The value as it will be graded by; `None`: that is not known yet.
fn known_value(assertion: &Assertion) -> Option<&Value> {
    let value = assertion.value.as_ref()?;
    (assertion.script.is_none() && !has_template(value)).then_some(value)
}

/// Whether an assertion's value may be another one in each case. Templates stand in a text and in the texts of a
/// list; what stands in an object is taken as it is.
pub(super) fn has_template(value: &Value) -> bool {
    let is_template = |text: &str| ["{{", "{%", "{#"].iter().any(|tag| text.contains(tag));
    match value {
        Value::Array(items) => items.iter().filter_map(Value::as_str).any(is_template),
        value => value.as_str().is_some_and(is_template),
    }
}

fn checks_values(plugin: &LoadedPlugin) -> bool {
    let is_bundled = matches!(plugin.trust, Trust::Bundled);
    is_bundled && Extras::of(plugin.component.info()).checks_values()
}

impl<'a> AskedValues<'a> {
    fn of(plugin: &'a LoadedPlugin) -> Self {
        Self {
            plugin,
            pairs: Vec::new(),
            known: HashMap::new(),
            bytes: 0,
        }
    }

    fn add(&mut self, pair: String, assertion: &Assertion) {
        let at = || place(&assertion.value_at);
        if let Some(index) = self.known.get(&pair) {
            let (_, About { places, .. }) = &mut self.pairs[*index];
            if places.len() < MAX_PLACES {
                places.push(at());
            }
            return;
        }
        if self.bytes + pair.len() > MAX_ASKED {
            return;
        }
        self.bytes += pair.len();
        self.known.insert(pair.clone(), self.pairs.len());
        let about = About {
            places: vec![at()],
            kind: assertion.kind.clone(),
        };
        self.pairs.push((pair, about));
    }

    /// The pairs for one call each.
    fn parts(&self) -> Vec<&[(String, About)]> {
        let mut parts = Vec::new();
        let (mut from, mut bytes) = (0, 0);
        for (index, (pair, _)) in self.pairs.iter().enumerate() {
            if index > from && bytes + pair.len() > MAX_PART {
                parts.push(&self.pairs[from..index]);
                (from, bytes) = (index, 0);
            }
            bytes += pair.len();
        }
        parts.push(&self.pairs[from..]);
        parts
    }

    /// Returns the values that can't be used, with what is wrong with each.
    async fn refused(&self) -> Vec<(&About, String)> {
        let mut found = Vec::new();
        for part in self.parts() {
            let pairs: Vec<&str> = part.iter().map(|(pair, _)| pair.as_str()).collect();
            let config = format!("{{\"{VALUES}\":[{}]}}", pairs.join(","));
            // Where it is too much for one call, rows say what is wrong with them.
            let said = self.plugin.component.check_config(&config).await;
            let said = said.unwrap_or_default().into_iter();
            found.extend(said.filter_map(|(pointer, problem)| {
                let index: usize = pointer.strip_prefix('/')?.parse().ok()?;
                let (_, about) = part.get(index)?;
                Some((about, problem))
            }));
        }
        found
    }
}
