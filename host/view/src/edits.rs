//! What was edited in how a case is tested: its assertions, key by key, so that one sees the words of a rubric that changed.
//!
//! Assertions have no names. Those that are the same pair first, then those of one type and metric, then those of one type,
//! each in order; a set and its members stand beside each other.

use serde_json::{Value, json};

use crate::changes::Change;
use crate::pairing;

/// Beside its assertions what decides how a test is judged.
const OF_TEST: [&str; 3] = ["/threshold", "/options/provider", "/options/rubricPrompt"];

/// What of type, metric and the whole of an assertion two of them are paired by.
type Rule = fn(&[String; 3]) -> [String; 3];

/// The changes between two versions of a test as it was written.
pub fn of_test(before: &Value, after: &Value) -> Vec<Change<'static>> {
    let (old, new) = (assertions(before), assertions(after));
    let keys = |all: &[&Value]| -> Vec<[String; 3]> {
        let key = |it: &&Value| [text(it, "type"), text(it, "metric"), it.to_string()];
        all.iter().map(key).collect()
    };
    let rules: [Rule; 3] = [
        Clone::clone,
        |[kind, metric, _]| [kind.clone(), metric.clone(), String::new()],
        |[kind, ..]| [kind.clone(), String::new(), String::new()],
    ];
    let partners = pairing::paired(&keys(&old), &keys(&new), &rules);
    let mut changes = Vec::new();
    let mut is_left = vec![true; old.len()];
    for (is, partner) in new.iter().zip(partners) {
        match partner {
            Some(at) => {
                is_left[at] = false;
                keys_of(old[at], is, &mut changes);
            }
            None => changes.push(change(is, "", Value::Null, whole(is))),
        }
    }
    for (was, _) in old.iter().zip(is_left).filter(|it| it.1) {
        changes.push(change(was, "", whole(was), Value::Null));
    }
    for path in OF_TEST {
        let [was, is] = [before, after].map(|it| it.pointer(path).cloned().unwrap_or_default());
        if was != is {
            let name = path.trim_start_matches('/').replace('/', " ");
            changes.push(Change::new("test", name, was, is));
        }
    }
    changes
}

fn text(assertion: &Value, key: &str) -> String {
    assertion[key].as_str().unwrap_or_default().to_owned()
}

/// The assertions of a test, each set before its members.
fn assertions(test: &Value) -> Vec<&Value> {
    let mut all = Vec::new();
    let mut left: Vec<&Value> = test["assert"]
        .as_array()
        .into_iter()
        .flatten()
        .rev()
        .collect();
    while let Some(it) = left.pop() {
        all.push(it);
        left.extend(it["assert"].as_array().into_iter().flatten().rev());
    }
    all
}

/// What differs of two assertions that are the same one; members of sets stand by themselves.
fn keys_of(was: &Value, is: &Value, changes: &mut Vec<Change<'static>>) {
    let keys = |it: &Value| -> Vec<String> {
        let keys = it.as_object().into_iter().flatten().map(|it| it.0.clone());
        keys.filter(|key| key != "assert").collect()
    };
    let old = keys(was);
    let added = keys(is).into_iter().filter(|key| !old.contains(key));
    for key in old.iter().cloned().chain(added) {
        if was[&*key] != is[&*key] {
            changes.push(change(is, &key, was[&*key].clone(), is[&*key].clone()));
        }
    }
}

/// What stands for an assertion that only one of the two has.
fn whole(assertion: &Value) -> Value {
    match &assertion["value"] {
        Value::Null => json!(assertion["type"]),
        value => value.clone(),
    }
}

/// The change of a key of an assertion; of the value the key is not named.
fn change(assertion: &Value, key: &str, was: Value, is: Value) -> Change<'static> {
    let mut name = text(assertion, "type");
    if let Some(metric) = assertion["metric"].as_str() {
        name = format!("{name} ({metric})");
    }
    if !["", "value"].contains(&key) {
        name = format!("{name} {key}");
    }
    Change::new("assertion", name, was, is)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_edit_is_told_by_what_it_is_of() {
        let rubric = |value: &str, threshold: f64| json!({ "type": "llm-rubric", "metric": "tone", "value": value, "threshold": threshold });
        let was = json!({ "assert": [
            { "type": "contains", "value": "a" },
            { "type": "assert-set", "assert": [rubric("is kind", 0.5)] },
            { "type": "is-json" },
        ] });
        let is = json!({ "threshold": 0.8, "assert": [
            { "type": "contains", "value": "b" },
            { "type": "contains", "value": "a" },
            { "type": "assert-set", "assert": [rubric("is very kind", 0.75)] },
        ] });
        let told: Vec<_> = of_test(&was, &is)
            .iter()
            .map(|it| format!("{} {}: {} → {}", it.of, it.name, it.before, it.after))
            .collect();
        assert_eq!(
            told,
            [
                "assertion contains: null → \"b\"",
                "assertion llm-rubric (tone): \"is kind\" → \"is very kind\"",
                "assertion llm-rubric (tone) threshold: 0.5 → 0.75",
                "assertion is-json: \"is-json\" → null",
                "test threshold: null → 0.8",
            ]
        );
        assert_eq!(of_test(&was, &was), []);
    }
}
