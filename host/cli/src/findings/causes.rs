//! Why cases did not pass, counted by cause.
//!
//! A failed assertion is counted by what the config says (`contains "Paris"`), because its
//! reason usually quotes the answer and would be another one each time. An error is counted by
//! its code and message.

use std::collections::HashMap;

use runner_config::plan::{CaseId, SetRule};
use runner_eval::record::{CaseRecord, GRADER_ERROR};
use serde_json::Value;

use crate::findings::{error_text, text_of};
use crate::visible;

/// Distinct causes that are kept; later ones are only counted.
const MAX_CAUSES: usize = 256;
/// Characters of an assertion's value in its name.
const VALUE_CHARS: usize = 60;
/// Characters of a message.
const MESSAGE_CHARS: usize = 300;

/// Causes with their counts.
#[derive(Debug, Default)]
pub(crate) struct Causes {
    seen: HashMap<String, Cause>,
    others: u64,
}

/// One cause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cause {
    /// What failed, on one line, safe to show.
    pub(crate) name: String,
    /// How often.
    pub(crate) count: u64,
    /// The first case by index.
    pub(crate) first: CaseId,
    /// What was said there, safe to show; empty where the name says it all.
    pub(crate) example: String,
}

impl Causes {
    /// Counts each assertion of a failed case that failed.
    pub(super) fn add_failure(&mut self, record: &CaseRecord) {
        let mut found = false;
        let components = record
            .grading_result
            .iter()
            .flat_map(|grading| &grading.component_results);
        // A set's members follow it and say more.
        for component in components.filter(|component| {
            !component.pass
                && !component.skipped
                && SetRule::of(kind(&component.assertion)).is_none()
        }) {
            found = true;
            let name = assertion_name(&component.assertion);
            // A judge that is out of order says nothing of the answers.
            let is_judges = component.metadata.get(GRADER_ERROR) == Some(&Value::Bool(true));
            let name = if is_judges {
                format!("{name}, without a judge's grade")
            } else {
                name
            };
            self.count(record, &name, &component.reason);
        }
        if !found {
            let error = record.conclusion.error();
            self.count(record, "threshold", error.unwrap_or_default());
        }
    }

    /// Counts an error by its code and message.
    pub(super) fn add_error(&mut self, record: &CaseRecord) {
        self.count(record, &error_text(record), "");
    }

    fn count(&mut self, record: &CaseRecord, name: &str, example: &str) {
        let name = line(name);
        let case = CaseId {
            test_idx: record.test_idx,
            prompt_idx: record.prompt_idx,
        };
        if let Some(cause) = self.seen.get_mut(&name) {
            cause.count += 1;
            // The example is that of the first case, whatever finished first.
            if case < cause.first {
                cause.first = case;
                cause.example = line(example);
            }
        } else if self.seen.len() < MAX_CAUSES {
            let example = line(example);
            self.seen.insert(
                name.clone(),
                Cause {
                    name,
                    count: 1,
                    first: case,
                    example,
                },
            );
        } else {
            self.others += 1;
        }
    }

    /// The `n` most frequent causes, and how many failures have other causes.
    pub(crate) fn top(&self, n: usize) -> (Vec<&Cause>, u64) {
        let mut causes: Vec<&Cause> = self.seen.values().collect();
        causes.sort_by(|a, b| {
            b.count
                .cmp(&a.count)
                .then(a.first.cmp(&b.first))
                .then(a.name.cmp(&b.name))
        });
        let rest = causes.iter().skip(n).map(|cause| cause.count).sum::<u64>() + self.others;
        causes.truncate(n);
        (causes, rest)
    }
}

fn kind(assertion: &Value) -> &str {
    assertion
        .get("type")
        .and_then(Value::as_str)
        .unwrap_or("assertion")
}

/// Type and value as the config has them.
fn assertion_name(assertion: &Value) -> String {
    let kind = kind(assertion);
    match assertion.get("value") {
        None | Some(Value::Null) => kind.to_owned(),
        Some(value @ Value::String(_)) => {
            format!("{kind} \"{}\"", visible::cut(&text_of(value), VALUE_CHARS))
        }
        Some(value) => format!("{kind} {}", visible::cut(&value.to_string(), VALUE_CHARS)),
    }
}

fn line(text: &str) -> String {
    visible::line(&visible::cut(text, MESSAGE_CHARS)).into_owned()
}
