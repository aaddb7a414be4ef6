//! `when` of an assertion: grade it only if others before it passed, or failed.
//!
//! `when: passed`, `when: failed` look at everything before it in the same list;
//! `when: { type: contains, is: failed }` and `when: { metric: tone, is: passed }` at some of it.
//! Only what stands before counts, so nothing can wait for itself, and the order of the list is
//! the order of the cascade: cheap ones first.

use std::collections::HashSet;

use crate::model::Findings;
use crate::plan::{Assertion, Check, Earlier, WhenCondition};
use crate::read::entry::Entry;

const KEYS: [&str; 3] = ["type", "metric", "is"];
const FORMS: &str = "when: failed (one before it did), when: passed (all before it did), or when: { type: contains, is: failed } and { metric: …, is: … }";

/// Reads the key; what is wrong is reported.
pub(super) fn read(entry: &Entry<'_>, findings: &Findings) -> Option<WhenCondition> {
    let (verdict, of) = if entry.is_map() {
        entry.report_unknown(findings, &KEYS);
        let text = |key| entry.get(key).and_then(|value| value.want_text(findings));
        let of = match (text("type"), text("metric")) {
            (Some(kind), None) => Earlier::Kind(kind),
            (None, Some(metric)) => Earlier::Metric(metric),
            (None, None) => Earlier::All,
            (Some(_), Some(_)) => {
                findings.error_help(entry.at(), "takes `type` or `metric`, not both", FORMS);
                return None;
            }
        };
        (entry.get("is"), of)
    } else {
        (Some(entry.clone()), Earlier::All)
    };
    let passed = match verdict.as_ref().and_then(Entry::text) {
        Some("passed") => true,
        Some("failed") => false,
        _ => {
            let at = verdict.map_or_else(|| entry.at(), |verdict| verdict.at());
            findings.error_help(at, "must say `passed` or `failed`", FORMS);
            return None;
        }
    };
    Some(WhenCondition { passed, of })
}

/// Reports conditions of members of a set that look at nothing.
pub(super) fn check_members(members: &[Assertion], findings: &Findings) {
    let mut seen = ChecksBefore::default();
    for assertion in members {
        seen.check(assertion, findings);
        seen.add(assertion.written_kind(), assertion.metric.as_deref());
    }
}

/// Reports conditions in the list of a test that look at nothing.
pub(crate) fn check(checks: &[Check], findings: &Findings) {
    let mut seen = ChecksBefore::default();
    for check in checks {
        if let Check::One(assertion) = check {
            seen.check(assertion, findings);
        }
        seen.add(check.written_kind(), check.metric());
    }
}

/// What stands before an assertion in its list.
#[derive(Default)]
struct ChecksBefore<'a> {
    kinds: HashSet<String>,
    metrics: HashSet<&'a str>,
}

impl<'a> ChecksBefore<'a> {
    fn add(&mut self, kind: String, metric: Option<&'a str>) {
        self.kinds.insert(kind);
        self.metrics.extend(metric);
    }

    fn check(&self, assertion: &Assertion, findings: &Findings) {
        let Some(when) = &assertion.when else { return };
        let what = match &when.of {
            Earlier::All if self.kinds.is_empty() => "there is none".to_owned(),
            Earlier::Kind(kind) if !self.kinds.contains(kind) => {
                format!("none is of the type '{kind}'")
            }
            Earlier::Metric(metric) if !self.metrics.contains(metric.as_str()) => {
                format!("none has the metric '{metric}'")
            }
            Earlier::All | Earlier::Kind(_) | Earlier::Metric(_) => return,
        };
        let message = format!("`when` looks at the assertions before it in the list, and {what}");
        findings.error_help(assertion.at.clone(), message, FORMS);
    }
}
