//! Keys beside `type` that are the grader's own, and for which types.
//!
//! A key that its type doesn't read would be passed over in silence, and the answer graded otherwise
//! than it says.

use serde_json::{Map, Value};

use crate::model::Findings;
use crate::read::entry::Entry;

const KNOBS: [&str; 5] = [
    "rubricPrompt",
    "votes",
    "measure",
    "factuality",
    "windowSize",
];

/// Whether a grader of this type reads the key. What it makes of it is the grader's business.
fn is_for(kind: &str, key: &str) -> bool {
    match key {
        "measure" => kind.starts_with("similar"),
        "factuality" => kind.ends_with("factuality"),
        "windowSize" => kind == "conversation-relevance",
        _ => true,
    }
}

/// Reads the knobs of an assertion of a type, each made a value by `read`.
pub(super) fn read(
    kind: &str,
    entry: &Entry<'_>,
    findings: &Findings,
    read: impl Fn(&Entry<'_>) -> Option<Value>,
) -> Map<String, Value> {
    let written = KNOBS.iter().filter_map(|key| Some((*key, entry.get(key)?)));
    let knob = |(key, value): (&str, Entry<'_>)| {
        if is_for(kind, key) {
            return Some((key.to_owned(), read(&value)?));
        }
        findings.unknown(value.at(), "key", key, &["type", "value", "threshold"]);
        None
    };
    written.filter_map(knob).collect()
}
