//! Values of assertions that no answer could satisfy, beyond what schemas say: a regular expression
//! that can't be read, a JSON Schema that refers to nothing.
//!
//! The graders that came with the program say so themselves, of many values at once; others are not
//! asked. Equal values are asked about once, wherever they stand, and what templates and code make is
//! known only later.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use runner_config::plan::{Assertion, Plan};
use serde_json::{Value, json};

use crate::plugins::{BindError, Grader, LoadedPlugin, Place, Trust, place};
use crate::private_door::{Extras, VALUES};

/// JSON of values in one call, in bytes, unless a single one has more.
const MAX_PART: usize = 256 << 10;

/// JSON of values in all, likewise: a data file may have another one in each row. The others are
/// told by their rows.
const MAX_ASKED: usize = 8 << 20;

/// Values of one plugin that are asked about, with the places where they stand first.
struct Asked<'a> {
    plugin: &'a LoadedPlugin,
    known: HashSet<String>,
    /// Pairs of type and value as JSON, with what is said of them.
    part: Vec<(String, About)>,
    /// Bytes in the part, and in all.
    size: (usize, usize),
}

/// Where a value stands, and whose it is.
struct About {
    at: Place,
    kind: String,
}

/// Reports what graders say of values.
pub(super) async fn refused(
    plan: &Plan,
    graders: &HashMap<String, Arc<Grader>>,
    errors: &mut Vec<BindError>,
) {
    let mut asked: BTreeMap<&str, Asked<'_>> = BTreeMap::new();
    for test in plan.tests.iter() {
        for assertion in test.assertions() {
            let Some(plugin) = graders.get(&assertion.kind).map(|it| &*it.plugin) else {
                continue;
            };
            let Some(value) = known_value(assertion).filter(|_| checks_values(plugin)) else {
                continue;
            };
            let asked = asked
                .entry(&plugin.alias)
                .or_insert_with(|| Asked::of(plugin));
            let pair = json!([assertion.kind, value]).to_string();
            if !asked.has_room(&pair) {
                asked.ask(errors).await;
            }
            asked.add(pair, assertion);
        }
    }
    for asked in asked.values_mut() {
        asked.ask(errors).await;
    }
}

/// The value as it will be graded by; `None`: that is not known yet.
fn known_value(assertion: &Assertion) -> Option<&Value> {
    let value = assertion.value.as_ref()?;
    (assertion.script.is_none() && !has_template(value)).then_some(value)
}

fn has_template(value: &Value) -> bool {
    match value {
        Value::String(text) => ["{{", "{%", "{#"].iter().any(|tag| text.contains(tag)),
        Value::Array(items) => items.iter().any(has_template),
        Value::Object(fields) => fields.values().any(has_template),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

fn checks_values(plugin: &LoadedPlugin) -> bool {
    let is_bundled = matches!(plugin.trust, Trust::Bundled);
    is_bundled && Extras::of(plugin.component.info()).checks_values()
}

impl<'a> Asked<'a> {
    fn of(plugin: &'a LoadedPlugin) -> Self {
        Self {
            plugin,
            known: HashSet::new(),
            part: Vec::new(),
            size: (0, 0),
        }
    }

    fn has_room(&self, pair: &str) -> bool {
        self.part.is_empty() || self.size.0 + pair.len() <= MAX_PART
    }

    fn add(&mut self, pair: String, assertion: &Assertion) {
        if self.size.1 + pair.len() > MAX_ASKED || self.known.contains(&pair) {
            return;
        }
        self.known.insert(pair.clone());
        self.size.0 += pair.len();
        self.size.1 += pair.len();
        let about = About {
            at: place(&assertion.value_at),
            kind: assertion.kind.clone(),
        };
        self.part.push((pair, about));
    }

    /// Asks about the part.
    async fn ask(&mut self, errors: &mut Vec<BindError>) {
        self.size.0 = 0;
        let part = std::mem::take(&mut self.part);
        if part.is_empty() {
            return;
        }
        let pairs: Vec<&str> = part.iter().map(|(pair, _)| pair.as_str()).collect();
        let config = format!("{{\"{VALUES}\":[{}]}}", pairs.join(","));
        // Where it is too much for one call, rows say what is wrong with them.
        let said = self.plugin.component.check_config(&config).await;
        for (pointer, problem) in said.unwrap_or_default() {
            let index = pointer.strip_prefix('/').and_then(|it| it.parse().ok());
            let Some((_, About { at, kind })) = index.and_then(|index: usize| part.get(index))
            else {
                continue;
            };
            errors.push(BindError::Config {
                at: at.clone(),
                problem: format!("value of '{kind}' can't be used: {problem}"),
            });
        }
    }
}
