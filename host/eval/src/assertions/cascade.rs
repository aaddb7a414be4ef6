//! Whether an assertion's `when` holds: what became of those before it. Pure.
//!
//! A set is looked at as a whole from outside, and its members look at each other from within.
//! What was skipped says nothing; where nothing is left that says something, the condition does
//! not hold. An assertion that could not be graded has failed; one that weighs nothing is taken
//! at its own word.

use std::collections::HashMap;
use std::sync::Arc;

use runner_config::plan::{Assertion, Check, Earlier, WhenCondition};
use serde_json::Value;

use crate::grading::{Graded, passed};
use crate::record::ComponentRecord;

/// What became of the assertions so far, as those with a `when` ask for it.
#[derive(Debug, Default)]
pub(super) struct Cascade {
    /// Of the checks, sets as a whole.
    checks: LevelVerdicts,
    /// Of the members of the set that is being graded.
    members: LevelVerdicts,
}

/// What entries of one level said.
#[derive(Debug, Default)]
struct LevelVerdicts {
    all: JointVerdict,
    kinds: HashMap<String, JointVerdict>,
    metrics: HashMap<String, JointVerdict>,
}

/// What some of them said together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum JointVerdict {
    #[default]
    Nothing,
    AllPassed,
    OneFailed,
}

impl Cascade {
    /// Why an assertion of `check` is skipped; `None` if it is to be graded.
    pub(super) fn skips(&self, check: &Check, when: &WhenCondition) -> Option<String> {
        let said = match check {
            Check::One(_) => &self.checks,
            Check::Set { .. } => &self.members,
        };
        let wanted = if when.passed {
            JointVerdict::AllPassed
        } else {
            JointVerdict::OneFailed
        };
        (said.of(&when.of) != wanted).then(|| reason(when))
    }

    /// Takes what an assertion came to.
    pub(super) fn graded(&mut self, assertion: &Assertion, graded: &Graded) {
        if !graded.component.skipped {
            let (kind, metric) = (assertion.written_kind(), assertion.metric.as_deref());
            self.members.note(&kind, metric, graded.component.pass);
        }
    }

    /// Takes what all members of a check came to.
    pub(super) fn ended(&mut self, check: &Check, members: &[Graded]) {
        self.members = LevelVerdicts::default();
        if let Some(pass) = passed(check, members) {
            self.checks
                .note(&check.written_kind(), check.metric(), pass);
        }
    }
}

impl LevelVerdicts {
    fn note(&mut self, kind: &str, metric: Option<&str>, pass: bool) {
        self.all.note(pass);
        of(&mut self.kinds, kind).note(pass);
        if let Some(metric) = metric {
            of(&mut self.metrics, metric).note(pass);
        }
    }

    fn of(&self, earlier: &Earlier) -> JointVerdict {
        let found = match earlier {
            Earlier::All => Some(&self.all),
            Earlier::Kind(kind) => self.kinds.get(kind),
            Earlier::Metric(metric) => self.metrics.get(metric),
        };
        found.copied().unwrap_or_default()
    }
}

impl JointVerdict {
    fn note(&mut self, pass: bool) {
        *self = match (*self, pass) {
            (Self::OneFailed, _) | (_, false) => Self::OneFailed,
            (_, true) => Self::AllPassed,
        };
    }
}

fn of<'a>(verdicts: &'a mut HashMap<String, JointVerdict>, name: &str) -> &'a mut JointVerdict {
    if !verdicts.contains_key(name) {
        verdicts.insert(name.to_owned(), JointVerdict::default());
    }
    verdicts.get_mut(name).expect("it is there now")
}

fn reason(when: &WhenCondition) -> String {
    if when.passed {
        "Skipped: an assertion that it depends on did not pass".to_owned()
    } else {
        "Skipped: no assertion that it depends on has failed".to_owned()
    }
}

/// The component of an assertion that was not graded.
pub(super) fn skipped(reason: String, assertion: Arc<Value>) -> ComponentRecord {
    ComponentRecord {
        skipped: true,
        ..ComponentRecord::plain(true, 0.0, reason, assertion)
    }
}

#[cfg(test)]
mod tests {
    use runner_config::plan::SetRule;
    use serde_json::json;

    use super::*;
    use crate::grading::tests::{assertion, graded};

    fn when(passed: bool, of: Earlier) -> Assertion {
        Assertion {
            when: Some(WhenCondition { passed, of }),
            ..assertion(1.0)
        }
    }

    fn results(letters: &str) -> Vec<Graded> {
        let one = |letter| match letter {
            'p' => graded(true, 1.0, ""),
            'f' => graded(false, 0.0, ""),
            _ => Graded {
                component: skipped(String::new(), json!({}).into()),
                metric: None,
            },
        };
        letters.chars().map(one).collect()
    }

    /// Whether the assertion behind these is graded.
    fn runs(checks: &[Check], before: &str) -> bool {
        let results = results(before);
        let (mut cascade, mut start) = (Cascade::default(), 0);
        for check in checks {
            for (index, assertion) in check.members().iter().enumerate() {
                let Some(graded) = results.get(start + index) else {
                    let when = assertion.when.as_ref().expect("it has a condition");
                    return cascade.skips(check, when).is_none();
                };
                cascade.graded(assertion, graded);
            }
            let end = start + check.members().len();
            cascade.ended(check, &results[start..end]);
            start = end;
        }
        panic!("all are graded")
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
            json: Arc::default(),
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
