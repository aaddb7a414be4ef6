//! Whether an assertion's `when` holds: what became of those before it. Pure.
//!
//! A set is looked at as a whole from outside, and its members look at each other from within.
//! What was skipped says nothing; where nothing is left that says something, the condition does
//! not hold. An assertion that could not be graded has failed; one that weighs nothing is taken
//! at its own word.

use runner_config::plan::{Assertion, Check, When};
use serde_json::Value;

use crate::grading::{Graded, passed};
use crate::record::ComponentRecord;

/// Says of the assertion at `index`, counted with the members of sets in their place, why it is
/// skipped; `None` if it is to be graded. `before` is what the assertions before it came to.
pub(super) fn skips(checks: &[Check], index: usize, before: &[Graded]) -> Option<String> {
    let mut start = 0;
    for (place, check) in checks.iter().enumerate() {
        let members = check.members();
        if index >= start + members.len() {
            start += members.len();
            continue;
        }
        let assertion = &members[index - start];
        let when = assertion.when.as_ref()?;
        let said = match check {
            Check::One(_) => outside(&checks[..place], when, before),
            Check::Set { .. } => within(&members[..index - start], when, &before[start..]),
        };
        return (!holds(when, &said)).then(|| reason(when));
    }
    None
}

/// What the checks before one said that its `when` means.
fn outside(checks: &[Check], when: &When, before: &[Graded]) -> Vec<bool> {
    let mut start = 0;
    let mut said = Vec::new();
    for check in checks {
        let end = start + check.members().len();
        if when.of.means(&check.written_kind(), check.metric()) {
            said.extend(passed(check, &before[start..end]));
        }
        start = end;
    }
    said
}

/// The same for the members of a set.
fn within(members: &[Assertion], when: &When, before: &[Graded]) -> Vec<bool> {
    let means = |it: &Assertion| when.of.means(&it.written_kind(), it.metric.as_deref());
    let pairs = members.iter().zip(before).filter(|(it, _)| means(it));
    pairs
        .filter(|(_, graded)| !graded.component.skipped)
        .map(|(_, graded)| graded.component.pass)
        .collect()
}

fn holds(when: &When, said: &[bool]) -> bool {
    let all_passed = said.iter().all(|pass| *pass);
    !said.is_empty() && all_passed == when.passed
}

fn reason(when: &When) -> String {
    if when.passed {
        "Skipped: not all passed that it waits for".to_owned()
    } else {
        "Skipped: nothing failed that it waits for".to_owned()
    }
}

/// The component of an assertion that was not graded.
pub(super) fn skipped(reason: String, assertion: Value) -> ComponentRecord {
    ComponentRecord {
        skipped: true,
        ..ComponentRecord::plain(true, 0.0, reason, assertion)
    }
}

#[cfg(test)]
mod tests {
    use runner_config::plan::{Earlier, SetRule};
    use serde_json::json;

    use super::*;
    use crate::grading::tests::{assertion, graded};

    fn when(passed: bool, of: Earlier) -> Assertion {
        Assertion {
            when: Some(When { passed, of }),
            ..assertion(1.0)
        }
    }

    fn results(letters: &str) -> Vec<Graded> {
        let one = |letter| match letter {
            'p' => graded(true, 1.0, ""),
            'f' => graded(false, 0.0, ""),
            _ => Graded {
                component: skipped(String::new(), json!({})),
                metric: None,
            },
        };
        letters.chars().map(one).collect()
    }

    fn runs(checks: &[Check], before: &str) -> bool {
        skips(checks, before.len(), &results(before)).is_none()
    }

    #[test]
    fn all_must_have_passed_or_one_must_have_failed() {
        let list = |passed| {
            let plain = || Check::One(assertion(1.0));
            [plain(), plain(), Check::One(when(passed, Earlier::All))]
        };
        for (before, if_passed, if_failed) in [
            ("pp", true, false),
            ("pf", false, true),
            ("ff", false, true),
            ("ps", true, false),
            ("fs", false, true),
            ("ss", false, false),
        ] {
            assert_eq!(runs(&list(true), before), if_passed, "{before}");
            assert_eq!(runs(&list(false), before), if_failed, "{before}");
        }
    }

    #[test]
    fn a_type_or_a_metric_narrows_what_counts() {
        let other = Assertion {
            kind: "regex".to_owned(),
            inverse: true,
            metric: Some("m".to_owned()),
            ..assertion(1.0)
        };
        let list = |of| {
            [
                Check::One(assertion(1.0)),
                Check::One(other.clone()),
                Check::One(when(false, of)),
            ]
        };
        let kind = |kind: &str| Earlier::Kind(kind.to_owned());
        assert!(runs(&list(kind("equals")), "fp"));
        assert!(!runs(&list(kind("not-regex")), "fp"));
        assert!(!runs(&list(kind("regex")), "ff"), "that is another type");
        assert!(runs(&list(Earlier::Metric("m".to_owned())), "pf"));
    }

    #[test]
    fn a_set_counts_as_a_whole_and_its_members_among_themselves() {
        let set = |rule, assertions| Check::Set {
            rule,
            assertions,
            weight: 1.0,
            threshold: None,
            metric: None,
            json: json!({}),
        };
        let pair = || vec![assertion(1.0), assertion(1.0)];
        let after = |rule| [set(rule, pair()), Check::One(when(true, Earlier::All))];
        assert!(runs(&after(SetRule::Any), "pf"));
        assert!(!runs(&after(SetRule::All), "pf"));
        let inner = [
            Check::One(assertion(1.0)),
            set(
                SetRule::All,
                vec![assertion(1.0), when(false, Earlier::All)],
            ),
        ];
        assert!(!runs(&inner, "fp"), "the one outside is not looked at");
        assert!(runs(&inner, "pf"));
    }
}
