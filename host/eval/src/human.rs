//! Assertions of the type `human`: the case waits for a person.
//!
//! Nobody is there to ask while a run goes on, so the grade is worked out as far as it goes, and twice more: as it
//! will be with a thumb up, and with one down. Both stand in the row. Whoever keeps the thumb only chooses, and
//! needs no rule of grading. Until then the assertion counts for nothing, and its case is not passed, unless what
//! the other assertions say can't be changed by it.

use runner_config::plan::{Assertion, HUMAN};
use serde_json::{Map, Value};

use crate::grading::{CaseGrade, Graded};
use crate::record::{ByPeople, ComponentRecord, PersonGrade};

const WAITS: &str = ByPeople::WAITS;

/// What such an assertion comes to while the run goes on; nothing of any other.
pub(crate) fn waiting(assertion: &Assertion) -> Option<ComponentRecord> {
    (assertion.kind == HUMAN).then(|| ComponentRecord {
        skipped: true,
        ..ComponentRecord::plain(false, 0.0, WAITS.to_owned(), assertion.json.clone())
    })
}

fn waits(component: &ComponentRecord) -> bool {
    component.skipped && component.assertion["type"] == HUMAN && component.reason == WAITS
}

/// The grades as they will be with a thumb up, and with one down; `None` where nothing waits.
pub(crate) fn answered(graded: &[Graded]) -> Option<[Vec<Graded>; 2]> {
    graded.iter().any(|it| waits(&it.component)).then(|| {
        [true, false].map(|up| {
            let mut graded = graded.to_vec();
            for Graded { component, .. } in graded.iter_mut().filter(|it| waits(&it.component)) {
                component.skipped = false;
                component.pass = up;
                component.score = f64::from(u8::from(up));
            }
            graded
        })
    })
}

/// The grade of a case of which these are the two that a person chooses from.
pub(crate) fn open(mut grade: CaseGrade, [up, down]: [CaseGrade; 2]) -> CaseGrade {
    let record = &mut grade.record;
    let components = record.component_results.iter().enumerate();
    let assertions = components.filter(|(_, it)| waits(it)).map(|(at, _)| at);
    let [up, down] = [up, down].map(|it| PersonGrade::of(&it.record));
    record.pass = down.pass;
    // Where nothing that a person says makes it pass, why that is.
    record.reason = match (up.pass, down.pass) {
        (true, false) => WAITS.to_owned(),
        (false, false) => up.reason.clone(),
        (_, true) => down.reason.clone(),
    };
    record.by_people = Some(ByPeople {
        assertions: assertions.collect(),
        open: PersonGrade::of(record),
        up,
        down,
    });
    grade
}

impl PersonGrade {
    fn of(record: &crate::record::GradingRecord) -> Self {
        let kept = |map: &Map<String, Value>| map.clone();
        Self {
            pass: record.pass,
            score: record.score,
            reason: record.reason.clone(),
            named_scores: kept(&record.named_scores),
            named_score_weights: kept(&record.named_score_weights),
        }
    }
}
