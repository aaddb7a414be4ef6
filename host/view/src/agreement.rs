//! How far judges agree with people: for every metric, and for the verdict, the cases of which a person
//! said whether they are good, with a thumb or a score. What a person judged, whom a `human` assertion asked, is no
//! judge's word, and is left out; so is what a judge failed to grade, which is counted apart.

use std::collections::BTreeMap;

use runner_store::{Outcome, Store, StoreError};

use crate::people;
use crate::record::Record;
use crate::significance::Pairs;

/// Cases that are read: nobody grades more by hand.
const MOST_CASES: usize = 20_000;

/// By what was judged.
pub(crate) type Agreement = BTreeMap<String, Agreed>;

/// How often judge and person said yes.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Agreed {
    /// `worse` is where only the judge did, `better` where only the person did.
    pub(crate) pairs: Pairs,
    /// Cases that the judge failed to grade.
    pub(crate) not_graded: u64,
}

impl Agreed {
    fn add(&mut self, judge: Option<bool>, person: bool) {
        match judge {
            Some(judge) => self.pairs.add(judge, person),
            None => self.not_graded += 1,
        }
    }
}

/// The name of the verdict among the metrics.
pub(crate) const VERDICT: &str = "verdict of the case";

/// Reads the cases of a run of which a person said so.
pub(crate) fn of(store: &Store, id: &str) -> Result<Agreement, StoreError> {
    let mut all = Agreement::new();
    let rows = store.rows_by_key(id)?;
    for case in store.annotations(id)?.into_iter().take(MOST_CASES) {
        let Some(good) = people::says_yes(&case.annotation) else {
            continue;
        };
        let Some(row) = rows.row(case.test_idx, case.prompt_idx)? else {
            continue;
        };
        let record = Record::read(&row.record_json);
        let verdict = verdict(row.outcome, &record);
        if verdict != OtherVerdict::Nobodys {
            let agreed = all.entry(VERDICT.to_owned()).or_default();
            let passed = matches!(verdict, OtherVerdict::Passed(true));
            agreed.add((verdict != OtherVerdict::Failed).then_some(passed), good);
        }
        for component in record.components() {
            if !component.skipped && !component.is_people_s() {
                let agreed = all.entry(component.name().to_owned()).or_default();
                let pass = component.is_graded().then_some(component.pass);
                agreed.add(pass, good);
            }
        }
    }
    Ok(all)
}

/// What those say of a case who are no people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OtherVerdict {
    /// Nobody else judged it.
    Nobodys,
    /// A judge failed.
    Failed,
    /// Whether it passed.
    Passed(bool),
}

fn verdict(outcome: Outcome, record: &Record) -> OtherVerdict {
    let components = record.components();
    let others = || components.iter().filter(|it| !it.is_people_s());
    match outcome {
        Outcome::Error | Outcome::BudgetExceeded | Outcome::Cancelled => OtherVerdict::Failed,
        Outcome::Failed | Outcome::Waiting if others().any(|it| !it.is_graded()) => {
            OtherVerdict::Failed
        }
        _ if others().count() == components.len() => {
            OtherVerdict::Passed(outcome == Outcome::Passed)
        }
        _ => {
            if others().next().is_none() {
                return OtherVerdict::Nobodys;
            }
            OtherVerdict::Passed(others().all(|it| !it.is_bad()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_that_people_gave_is_no_judge_s() {
        let of = |outcome, components: &str| {
            let json = format!(r#"{{"gradingResult":{{"componentResults":[{components}]}}}}"#);
            verdict(outcome, &Record::read(&json))
        };
        let human = r#"{"pass":false,"assertion":{"type":"human","metric":"sendable"}}"#;
        let judge = r#"{"pass":true,"assertion":{"type":"llm-rubric"}}"#;
        let both = format!("{human},{judge}");
        assert_eq!(of(Outcome::Failed, &both), OtherVerdict::Passed(true));
        assert_eq!(of(Outcome::Failed, human), OtherVerdict::Nobodys);
        assert_eq!(of(Outcome::Failed, judge), OtherVerdict::Passed(false));
    }

    #[test]
    fn a_judge_that_failed_said_neither_yes_nor_no() {
        assert_eq!(
            verdict(Outcome::Error, &Record::default()),
            OtherVerdict::Failed
        );
        let json = r#"{"gradingResult":{"componentResults":[{"pass":false,"metadata":{"graderError":true}}]}}"#;
        assert_eq!(
            verdict(Outcome::Failed, &Record::read(json)),
            OtherVerdict::Failed
        );
        let mut agreed = Agreed::default();
        for judge in [None, Some(true)] {
            agreed.add(judge, true);
        }
        assert_eq!(
            (agreed.pairs.both, agreed.pairs.total(), agreed.not_graded),
            (1, 1, 1)
        );
    }
}
