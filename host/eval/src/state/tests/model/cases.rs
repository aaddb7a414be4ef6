//! What a run of the model is made of.

use std::collections::BTreeSet;

use proptest::prelude::*;
use runner_config::plan::CaseResource;

use super::*;
use crate::record::samples::record;

/// A case of the model.
#[derive(Debug, Clone)]
pub(super) struct ModelCase {
    pub(super) id: CaseId,
    pub(super) reads: BTreeSet<u8>,
    pub(super) writes: BTreeSet<u8>,
    pub(super) alone: bool,
    /// Cases in its row, where they are compared.
    pub(super) of: Option<usize>,
    /// It is there when the run goes on: with an answer, or without one.
    pub(super) kept: Option<bool>,
}

impl ModelCase {
    fn needs(&self) -> Needs {
        let strands = |numbers: &BTreeSet<u8>| -> Vec<CaseResource> {
            let names = numbers.iter().map(|number| number.to_string().into());
            names.map(CaseResource::Register).collect()
        };
        Needs {
            alone: self.alone,
            reads: strands(&self.reads),
            writes: strands(&self.writes),
        }
    }

    /// Its number, in each register that it writes.
    pub(super) fn left(&self, number: usize) -> Option<CarriedOutputs> {
        let mut record = record(0);
        record.response.as_mut()?.output = number.to_string().into();
        CarriedOutputs::of(&self.needs(), &record)
    }

    pub(super) fn planned(&self, number: usize) -> QueuedCase<u32> {
        QueuedCase {
            id: self.id,
            share: self.id.prompt_idx % 2,
            needs: Some(Arc::new(self.needs())),
            compared_among: self.of,
            case: number as u32,
        }
    }
}

/// Cases of up to eight tests, some of which run alone, first.
pub(super) fn any_cases() -> impl Strategy<Value = Vec<ModelCase>> {
    let strands = || prop::collection::btree_set(0u8..3, 0..3);
    let kept = prop::array::uniform4(prop::option::weighted(0.3, any::<bool>()));
    let test = (strands(), strands(), 1u32..4, any::<bool>(), kept);
    (prop::collection::vec(test, 0..8), 0usize..3).prop_map(|(tests, alone)| {
        let mut cases = Vec::new();
        for (test_idx, (reads, writes, columns, compared, kept)) in (0..).zip(tests) {
            for column in 0..columns {
                cases.push(ModelCase {
                    id: at(test_idx, column),
                    reads: reads.clone(),
                    writes: writes.clone(),
                    alone: (test_idx as usize) < alone,
                    of: compared.then_some(columns as usize),
                    // A row of which nothing is to be run is compared no more.
                    kept: kept[column as usize]
                        .filter(|_| !compared || column != test_idx % columns),
                });
            }
        }
        cases
    })
}
