//! What a stranger's grader may say of a case: its own score, and metrics of its own.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use runner_config::plan::{Assertion, Case, Check, Plan};
use runner_sandbox::abi::Grade;

use super::Bench;
use crate::plugins::{Grader, Trust};

impl Grader {
    fn is_foreign(&self) -> bool {
        matches!(self.plugin.trust, Trust::Foreign(_))
    }
}

/// Names of metrics of the config's assertions, if one of the `graders` is a stranger's.
pub(crate) fn metrics_of_config(
    plan: &Plan,
    graders: &HashMap<String, Arc<Grader>>,
) -> HashSet<String> {
    if !graders.values().any(|grader| grader.is_foreign()) {
        return HashSet::new();
    }
    let metrics = plan.assertion_metrics();
    metrics.into_iter().map(str::to_owned).collect()
}

impl Bench<'_> {
    /// Holds a stranger's grader to what is its own. A score beyond 1 would outvote the others whatever
    /// their weights, and a named score under another assertion's metric would be taken for that one's.
    pub(super) fn held(&self, grader: &Grader, assertion: &Assertion, mut grade: Grade) -> Grade {
        if !grader.is_foreign() {
            return grade;
        }
        let of_test = other_metrics(self.case, assertion);
        let of_config = &self.scope.context.metrics;
        let own = |(name, _): &(String, f64)| !of_test.contains(name) && !of_config.contains(name);
        grade.named_scores.retain(own);
        if !(0.0..=1.0).contains(&grade.score) {
            grade.reason = format!(
                "the grader of plugin '{}' gave the score {:e}; a plugin's score is from 0 to 1",
                grader.plugin.alias, grade.score
            );
            (grade.pass, grade.score) = (false, 0.0);
        }
        grade
    }
}

/// Metrics of the other assertions of a case. They may be templates, which mean a name only here.
fn other_metrics(case: &Case, assertion: &Assertion) -> HashSet<String> {
    let checks = &*case.test.assertions;
    let members = checks.iter().flat_map(Check::members);
    let metrics = members.filter_map(|it| it.metric.as_deref());
    let metrics = metrics.chain(checks.iter().filter_map(Check::metric));
    let others = metrics.filter(|name| assertion.metric.as_deref() != Some(*name));
    others.map(|metric| case.render_text(metric)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn metrics_of_others_are_known_by_the_names_that_they_have_in_the_case() {
        let case = fixture::case(
            "prompts: [p]
providers: [echo]
tests:
  - vars: { m: made }
    assert:
      - { type: equals, value: p, metric: own }
      - { type: equals, value: p, metric: '{{ m }}' }
      - { type: assert-set, metric: 'all {{ m }}', assert: [{ type: equals, value: p, metric: inner }] }",
        );
        let own = &case.test.assertions[0].members()[0];
        let others = other_metrics(&case, own);
        let expected = ["made", "all made", "inner"].map(str::to_owned);
        assert_eq!(others, HashSet::from(expected));
    }
}
