//! Rows of cases that follow others, such as the later turns of a conversation.
//!
//! Such a row is good only as long as the cases before it are not run again: its prompt held
//! what they had answered. So a case that is run takes every later case that reads one of its
//! strands with it, and those take theirs.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use runner_config::plan::{Case, CaseId, CaseResource, Needs, Plan};
use runner_store::{Digest, StoreError, StoredCase};

use crate::beginning::ResumeScope;
use crate::identity::Identities;

/// What became of the cases that are tied to others.
#[derive(Debug, Default)]
pub(crate) struct Tied {
    /// Cases that have a row of their own, and are run again since one that they follow is.
    pub(crate) again: HashSet<CaseId>,
    /// Cases that keep their row, and left something to later ones.
    pub(crate) kept: HashMap<CaseId, Arc<Needs>>,
}

impl Tied {
    /// For a plan and the rows that there are. Only where something is tied does this look at
    /// anything.
    pub(super) fn new(
        plan: &Plan,
        identities: &Identities,
        rows: impl Iterator<Item = Result<StoredCase, StoreError>>,
        which: ResumeScope,
    ) -> Result<Self, StoreError> {
        if plan.order.is_none() {
            return Ok(Self::default());
        }
        // Of equal cases one that is run again stands for all: their rows may change places.
        let mut kept: HashMap<Digest, bool> = HashMap::new();
        for row in rows {
            let StoredCase {
                identity, outcome, ..
            } = row?;
            if let Some(identity) = identity {
                *kept.entry(identity).or_insert(true) &= !which.runs(Some(outcome));
            }
        }
        let stands = |case: &Case| match kept.get(&identities.of(case)) {
            Some(true) => RowStands::Kept,
            Some(false) => RowStands::Again,
            None if which.runs(None) => RowStands::Again,
            None => RowStands::Absent,
        };
        let cases = plan.cases_alone().chain(plan.cases_beside());
        Ok(Self::follow(cases.filter_map(|case| {
            let needs = case.needs.clone()?;
            Some((case.id, needs, stands(&case)))
        })))
    }

    /// The rule itself, for cases in the order of a sequential run.
    fn follow(cases: impl Iterator<Item = (CaseId, Arc<Needs>, RowStands)>) -> Self {
        let mut tied = Self::default();
        let mut renewed: HashSet<CaseResource> = HashSet::new();
        for (id, needs, stands) in cases {
            let follows = needs.reads.iter().any(|strand| renewed.contains(strand));
            match stands {
                RowStands::Absent => continue,
                RowStands::Kept if !follows => {
                    if !needs.writes.is_empty() {
                        tied.kept.insert(id, needs);
                    }
                    continue;
                }
                RowStands::Kept => {
                    tied.again.insert(id);
                }
                RowStands::Again => {}
            }
            renewed.extend(needs.writes.iter().filter(|it| it.carries()).cloned());
        }
        tied
    }
}

/// How a case stands by its own row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RowStands {
    /// It has a row that stays.
    Kept,
    /// It is run.
    Again,
    /// It has no row, and is not run.
    Absent,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(
        number: u32,
        reads: &[&str],
        writes: &[&str],
        stands: RowStands,
    ) -> (CaseId, Arc<Needs>, RowStands) {
        let registers = |names: &[&str]| -> Vec<CaseResource> {
            names
                .iter()
                .map(|name| CaseResource::Register((*name).into()))
                .collect()
        };
        let needs = Needs {
            alone: false,
            reads: registers(reads),
            writes: registers(writes),
        };
        (id(number), Arc::new(needs), stands)
    }

    fn id(number: u32) -> CaseId {
        CaseId {
            test_idx: number,
            prompt_idx: 0,
        }
    }

    #[test]
    fn a_case_that_is_run_takes_all_that_follow_it_along() {
        use RowStands::{Absent, Again, Kept};
        let tied = Tied::follow(
            [
                case(0, &[], &["a"], Kept),
                case(1, &["a"], &["a"], Again),
                case(2, &["a"], &["b"], Kept),
                case(3, &["b"], &[], Kept),
                case(4, &["c"], &["c"], Kept),
                case(5, &["c"], &[], Kept),
                case(6, &["c"], &["c"], Absent),
                case(7, &["c"], &["c"], Kept),
            ]
            .into_iter(),
        );
        assert_eq!(tied.again, HashSet::from([id(2), id(3)]));
        let kept: HashSet<CaseId> = tied.kept.into_keys().collect();
        assert_eq!(kept, HashSet::from([id(0), id(4), id(7)]));
    }
}
