//! How far judges agree with people: for every metric, and for the verdict, the cases that a person
//! gave a thumb.

use std::collections::BTreeMap;

use runner_store::{Store, StoreError};

use crate::record::Record;
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
        let passed = row.outcome == runner_store::Outcome::Passed;
        all.entry(VERDICT.to_owned())
            .or_default()
            .add(passed, thumb);
        let record = Record::read(&row.record_json);
        for component in record.components() {
            if !component.skipped && component.error_code.is_none() {
                let pairs = all.entry(component.name().to_owned()).or_default();
                pairs.add(component.pass, thumb);
            }
        }
    }
    Ok(all)
}
