//! Thresholds of metrics that nothing gives: told before the run, and not when it is paid for.
//!
//! Names are known unless they are templates, or code, tasks or somebody else's plugin may make more of them. All tests
//! count, also those that a filter leaves out or another shard has.

use std::collections::BTreeSet;

use crate::catalog::Catalog;
use crate::elements::reading::Document;
use crate::model::{COMMAND_LINE, Findings, Position};
use crate::plan::{Assertion, Check, Plan, Tests};

/// Metrics that are named where one is refused.
const NAMED: usize = 10;

/// The metrics that assertions give; `None` where others may come.
pub(super) fn of(tests: &Tests, catalog: &Catalog) -> Option<BTreeSet<String>> {
    let mut known = BTreeSet::new();
    for test in tests.with_own_checks() {
        if test.assertions().any(|it| may_name(it, catalog)) {
            return None;
        }
        let own = test.assertions().filter_map(|it| it.metric.as_deref());
        let names = own.chain(test.assertions.iter().filter_map(Check::metric));
        for name in names {
            if name.contains("{{") || name.contains("{%") {
                return None;
            }
            if !known.contains(name) {
                known.insert(name.to_owned());
            }
        }
    }
    Some(known)
}

/// Whether what grades may give scores names of its own: code, and plugins that are not the program's.
fn may_name(assertion: &Assertion, catalog: &Catalog) -> bool {
    let kind = &assertion.kind;
    let is_code = assertion.script.is_some() || catalog.script_languages.contains_key(kind);
    let of_another = |it: &String| it.split_once('/').is_some_and(|(_, name)| name == kind);
    is_code || kind.contains('/') || catalog.assertion_types.keys().any(of_another)
}

/// Refuses thresholds of a plan whose metrics nothing gives.
pub(super) fn check(
    plan: &Plan,
    assertions: Option<BTreeSet<String>>,
    documents: &[Document<'_>],
    findings: &Findings,
) {
    // A hook may change every score.
    let Some(mut known) = assertions.filter(|_| plan.extensions.is_empty()) else {
        return;
    };
    known.extend(plan.derived_metrics.iter().map(|it| it.name.clone()));
    let asked = plan.thresholds.metrics.iter();
    for name in asked.map(|it| &it.name).filter(|it| !known.contains(*it)) {
        let shown: Vec<&str> = known.iter().map(String::as_str).take(NAMED).collect();
        let more = if shown.len() < known.len() {
            ", …"
        } else {
            ""
        };
        let help = match &shown[..] {
            [] => "give an assertion a `metric`".to_owned(),
            shown => format!("its metrics: {}{more}", shown.join(", ")),
        };
        let message = format!("nothing in the config gives the metric '{name}'");
        findings.error_help(place(documents, name), message, help);
    }
}

/// Where the threshold of a metric stands.
fn place(documents: &[Document<'_>], name: &str) -> Position {
    let written = documents.iter().find_map(|document| {
        let metrics = document.root.get("thresholds")?.get("metrics")?;
        Some(metrics.get(name)?.at())
    });
    written.unwrap_or_else(|| Position {
        file: COMMAND_LINE.into(),
        key: "--min-metric".to_owned(),
        ..Position::default()
    })
}

#[cfg(test)]
mod tests {
    use crate::fixture::Folder;

    fn problems(tests: &str, name: &str) -> Vec<String> {
        let config = format!(
            "prompts: [p]\nproviders: [echo]\nthresholds: {{ metrics: {{ {name}: 1 }} }}\n{tests}"
        );
        Folder::new(&config).problems()
    }

    #[test]
    fn a_threshold_of_a_metric_that_nothing_gives_is_refused() {
        let tests = "tests: [{ assert: [{ type: equals, value: a, metric: tone }, \
                     { type: assert-set, metric: both, assert: [{ type: equals, value: b }] }] }]\n\
                     derivedMetrics: [{ name: twice, value: 'tone * 2' }]";
        for name in ["tone", "both", "twice"] {
            assert_eq!(problems(tests, name), [""; 0], "{name}");
        }
        let expected = "promptfooconfig.yaml:3:32: thresholds.metrics.tune: nothing in the config gives the metric 'tune'\n\
                        help: its metrics: both, tone, twice";
        assert_eq!(problems(tests, "tune"), [expected]);
    }

    #[test]
    fn names_that_only_the_run_knows_are_left_to_it() {
        for tests in [
            "tests: [{ assert: [{ type: equals, value: a, metric: '{{ kind }}' }] }]",
            "tests: [{ assert: [{ type: javascript, value: '1' }] }]",
        ] {
            assert_eq!(problems(tests, "tune"), [""; 0], "{tests}");
        }
    }
}
