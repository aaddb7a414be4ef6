//! How far judges agree with people: for every metric, and for the verdict, the cases that a person
//! gave a thumb. What a person judged, whom a `human` assertion asked, is no judge's word, and is left out.

use std::collections::BTreeMap;

use runner_store::{Outcome, Store, StoreError};

use crate::record::{Component, Record};
use crate::significance::Pairs;

/// Cases that are read: nobody grades more by hand.
const MOST_CASES: usize = 20_000;

/// What was judged, and how often judge and person said yes: `worse` is where only the judge did,
/// `better` where only the person did.
pub(crate) type Agreement = BTreeMap<String, Pairs>;

/// The name of the verdict among the metrics.
pub(crate) const VERDICT: &str = "verdict of the case";

/// Reads the cases of a run that have a thumb.
pub(crate) fn of(store: &Store, id: &str) -> Result<Agreement, StoreError> {
    let mut all = Agreement::new();
    let rows = store.rows_by_key(id)?;
    for case in store.annotations(id)?.into_iter().take(MOST_CASES) {
        let Some(thumb) = case.annotation.thumb else {
            continue;
        };
        let Some(row) = rows.row(case.test_idx, case.prompt_idx)? else {
            continue;
        };
        let record = Record::read(&row.record_json);
        if let Some(passed) = verdict(row.outcome, &record) {
            let pairs = all.entry(VERDICT.to_owned()).or_default();
            pairs.add(passed, thumb);
        }
        for component in record.components() {
            if !component.skipped && !component.is_people_s() && component.error_code.is_none() {
                let pairs = all.entry(component.name().to_owned()).or_default();
                pairs.add(component.pass, thumb);
            }
        }
    }
    Ok(all)
}

/// Whether a case passed, people aside; `None` where nobody else judged it.
fn verdict(outcome: Outcome, record: &Record) -> Option<bool> {
    if !record.components().iter().any(Component::is_people_s) {
        return Some(outcome == Outcome::Passed);
    }
    let mut others = record
        .components()
        .iter()
        .filter(|it| !it.is_people_s())
        .peekable();
    others.peek()?;
    Some(others.all(|it| !it.is_bad()))
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
        assert_eq!(of(Outcome::Failed, &both), Some(true));
        assert_eq!(of(Outcome::Failed, human), None);
        assert_eq!(of(Outcome::Failed, judge), Some(false));
    }
}
