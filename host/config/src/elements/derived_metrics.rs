//! `derivedMetrics`: metrics that are worked out of the others, once the cases have ended.
//!
//! A text is a formula (`formula`), `file://fn.js` code that is called with the sums by name.
//! Formulas are read here, so that a mistake is known before anything is spent; whether the names
//! that they read exist is known only at the end, since metrics may be templates and grades name
//! their own.

use std::collections::HashSet;

use super::code;
use super::reading::Document;
use crate::plan::{DerivedMetric, DerivedValue, Formula};
use crate::read::entry::Entry;
use crate::read::files::names_file;

/// The number of cases, among the sums.
const COUNT: &str = "__count";

/// Metrics of a config, each worked out with all before it.
const MAX_METRICS: usize = 1_000;

/// Metrics times columns: each is a number with a name, in memory and in every results file.
const MAX_VALUES: usize = 100_000;

/// Keys of an entry.
const KNOWN: [&str; 2] = ["name", "value"];

/// Reads the key of every config; those of several add up. Each is worked out for every column.
pub(crate) fn read(documents: &[Document<'_>], columns: usize) -> Vec<DerivedMetric> {
    let mut metrics: Vec<DerivedMetric> = Vec::new();
    let mut names = HashSet::new();
    for document in documents {
        let findings = document.reading.findings;
        let Some(list) = document.root.get("derivedMetrics") else {
            continue;
        };
        for entry in list.want_items(findings, "a list of `{ name, value }`") {
            let Some(metric) = one(&entry, document) else {
                continue;
            };
            if !names.insert(metric.name.clone()) {
                let message = format!("there is a derived metric '{}' already", metric.name);
                findings.error(metric.at, message);
                continue;
            }
            let values = (metrics.len() + 1).saturating_mul(columns);
            if metrics.len() == MAX_METRICS || values > MAX_VALUES {
                let message = format!(
                    "there may be at most {MAX_METRICS} derived metrics, and {MAX_VALUES} in all columns together"
                );
                findings.error(metric.at, message);
                return metrics;
            }
            metrics.push(metric);
        }
    }
    metrics
}

fn one(entry: &Entry<'_>, document: &Document<'_>) -> Option<DerivedMetric> {
    let findings = document.reading.findings;
    if !entry.is_map() {
        entry.mismatch(findings, "a map with `name` and `value`");
        return None;
    }
    entry.report_unknown(findings, &KNOWN);
    let part = |key: &str| {
        let part = entry.get(key);
        if part.is_none() {
            let help = "for example: { name: f1, value: '2 * hits / (2 * hits + misses)' }";
            findings.error_help(entry.at(), format!("has no `{key}`"), help);
        }
        part
    };
    let name = part("name")?.want_text(findings)?;
    if name == COUNT {
        let message = "'__count' is the number of cases and can't be another metric";
        findings.error(entry.at(), message);
        return None;
    }
    let value = part("value")?;
    let text = value.want_text(findings)?;
    let worked_out = if names_file(&text) {
        DerivedValue::Code(code::file(
            &text,
            &value.at(),
            value.origin,
            document.reading.without_requests(),
        )?)
    } else {
        match Formula::new(&text) {
            Ok(formula) => DerivedValue::Formula(formula),
            Err(error) => {
                let message = format!("the formula can't be read: {error}");
                let help = "formulas have numbers, names of metrics, + - * / % ^, comparisons, \
                            a ? b : c and functions such as sqrt, max, round; file://x.js is code";
                findings.error_help(value.at(), message, help);
                return None;
            }
        }
    };
    Some(DerivedMetric {
        name,
        value: worked_out,
        at: entry.at(),
    })
}

#[cfg(test)]
mod tests {
    use crate::fixture::Folder;
    use crate::plan::DerivedValue;

    fn folder(metrics: &str) -> Folder {
        Folder::new(&format!(
            "prompts: [p]\nproviders: [echo]\nderivedMetrics: {metrics}"
        ))
    }

    #[test]
    fn formulas_and_code_are_read_in_their_order() {
        let folder = folder(
            "[{ name: mean, value: total / __count }, { name: own, value: 'file://f.js:own' }, { name: five, value: 5 }]",
        )
        .file("f.js", "exports.own = () => 1");
        let metrics = folder.plan().derived_metrics;
        let names: Vec<&str> = metrics.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["mean", "own", "five"]);
        assert!(matches!(metrics[0].value, DerivedValue::Formula(_)));
        assert!(matches!(metrics[1].value, DerivedValue::Code(_)));
    }

    #[test]
    fn more_than_can_be_worked_out_for_every_column_are_refused() {
        let metrics = |count: usize| {
            let list: Vec<String> = (0..count)
                .map(|n| format!("{{ name: m{n}, value: 1 }}, "))
                .collect();
            format!("[{}]", list.concat())
        };
        let refused =
            "there may be at most 1000 derived metrics, and 100000 in all columns together";
        assert_eq!(folder(&metrics(1_000)).plan().derived_metrics.len(), 1_000);
        let problems = folder(&metrics(1_001)).problems();
        assert!(problems[0].ends_with(refused), "{problems:?}");
        let providers: Vec<String> = (0..1_001)
            .map(|n| format!("{{ id: echo, label: c{n} }}, "))
            .collect();
        let providers = providers.concat();
        let many = |count: usize| {
            let metrics = metrics(count);
            Folder::new(&format!(
                "prompts: [p]\nproviders: [{providers}]\nderivedMetrics: {metrics}"
            ))
        };
        assert_eq!(many(99).plan().derived_metrics.len(), 99);
        let problems = many(100).problems();
        assert!(problems[0].ends_with(refused), "{problems:?}");
    }

    #[test]
    fn what_is_wrong_is_said_where_it_stands() {
        let cases = [
            ("{ a: 1 }", "must be a list of `{ name, value }`, not a map"),
            ("[{ name: a }]", "derivedMetrics[0]: has no `value`"),
            ("[{ value: '1' }]", "derivedMetrics[0]: has no `name`"),
            (
                "[{ name: a, value: '1 +' }]",
                "derivedMetrics[0].value: the formula can't be read: the formula ends too early (character 4)",
            ),
            (
                "[{ name: a, value: 'shout(x)' }]",
                "there is no function `shout` (character 1)",
            ),
            ("[{ name: __count, value: '1' }]", "'__count' is the number"),
            (
                "[{ name: a, value: '1' }, { name: a, value: '2' }]",
                "derivedMetrics[1]: there is a derived metric 'a' already",
            ),
        ];
        for (metrics, expected) in cases {
            let problems = folder(metrics).problems();
            assert_eq!(problems.len(), 1, "{metrics}: {problems:?}");
            assert!(problems[0].contains(expected), "{metrics}: {problems:?}");
        }
    }
}
