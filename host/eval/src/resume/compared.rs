//! Rows of a kept run whose answers are compared with each other.
//!
//! A comparison is good as long as its answers are all there are. When a case of a row is run, or
//! one has gone, or one was answered and never compared, the answers that are in the store are
//! held again, as they were before they were compared, and the row is compared anew. No provider
//! is asked twice for that: only who has no answer is run. Which rows these are is found out before
//! the run goes on; their answers are read when the first case of the row comes, so that no more of
//! them are in memory than of a new run's.

use std::collections::{BTreeMap, HashSet};
use std::iter::Peekable;

use runner_config::plan::{Case, CaseId, Plan};
use runner_store::{Digest, Outcome, Row, StoreError};

use super::put_right;
use crate::beginning::ResumeScope;
use crate::comparison::verdict::reopened;
use crate::error::RunError;
use crate::record::CaseRecord;
use crate::state::CarriedOutputs;

/// What becomes of the rows that are compared.
#[derive(Debug, Default)]
pub(crate) struct Compared {
    /// Cases that are not run, since their answers are held.
    pub(super) held: HashSet<CaseId>,
    /// Of those, one for each row that only has to be compared: it gets a slot for that.
    pub(super) settle: HashSet<CaseId>,
    /// The rows whose answers nobody has asked for yet, by test; of each the columns that are not
    /// run.
    pub(super) members: BTreeMap<u32, Vec<u32>>,
    /// What their answers leave to later cases.
    pub(super) left: Vec<(CaseId, CarriedOutputs)>,
}

/// A case of a row that is compared anew, and is not run.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) id: CaseId,
    /// As it was before it was compared; `None`: it ended as an error, which stays.
    pub(crate) record: Option<CaseRecord>,
    pub(crate) identity: Option<Digest>,
    /// What the store has of it, in bytes.
    pub(crate) bytes: usize,
}

impl Member {
    /// Of what the store has of it.
    pub(super) fn new(row: Row, is_held: bool) -> Result<Self, serde_json::Error> {
        let (row, record, _) = put_right(row)?;
        Ok(Self {
            id: record.case_id(),
            record: reopened(record).filter(|_| is_held),
            identity: row.identity,
            bytes: row.record_json.len(),
        })
    }
}

/// How a case stands by its row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CaseStanding {
    /// It is run.
    Runs,
    /// It has no answer, and is not run now.
    Absent,
    /// It has an answer that was not compared.
    Open,
    /// It has one that was compared among so many.
    Compared(usize),
    /// It has one, the comparison failed, and that is not tried again for its own sake.
    Failed,
    /// It ended as an error without an answer to compare, which stays.
    Error,
}

/// What becomes of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// Nothing.
    Stays,
    /// Its answers are held, for the cases that are run.
    Reopens,
    /// Its answers are held, and nobody is run.
    Settles,
}

fn fate(row: &[CaseStanding]) -> Fate {
    let has = |wanted: CaseStanding| row.contains(&wanted);
    let is_answer = |one: &&CaseStanding| {
        matches!(
            one,
            CaseStanding::Open | CaseStanding::Compared(_) | CaseStanding::Failed
        )
    };
    let answers = row.iter().filter(is_answer).count();
    let is_outdated =
        |one: &CaseStanding| matches!(one, CaseStanding::Compared(among) if *among != answers);
    // Without an answer that does not come now there is nothing to compare.
    let can_be_complete = !has(CaseStanding::Absent);
    if can_be_complete && has(CaseStanding::Runs) {
        Fate::Reopens
    } else if can_be_complete && (has(CaseStanding::Open) || row.iter().any(is_outdated)) {
        Fate::Settles
    } else {
        Fate::Stays
    }
}

impl Compared {
    /// For a plan and the rows that there are. Without comparisons this looks at nothing. `again`:
    /// cases that are run whatever their rows say.
    pub(super) fn new(
        plan: &Plan,
        rows: impl Iterator<Item = Result<Row, StoreError>>,
        which: ResumeScope,
        again: &HashSet<CaseId>,
    ) -> Result<Self, RunError> {
        let mut compared = Self::default();
        if !plan.compares() {
            return Ok(compared);
        }
        let mut rows = rows.peekable();
        let mut cases = plan.cases().peekable();
        while let Some(first) = cases.next() {
            let test_idx = first.id.test_idx;
            let mut row = vec![first];
            while let Some(next) = cases.next_if(|case| case.id.test_idx == test_idx) {
                row.push(next);
            }
            let stored = of_test(&mut rows, test_idx)?;
            if !row[0].test.comparisons.is_empty() {
                compared.take(row, &stored, which, again)?;
            }
        }
        Ok(compared)
    }

    /// Takes one row: its cases, and what the store has of them.
    fn take(
        &mut self,
        cases: Vec<Case>,
        stored: &[Row],
        which: ResumeScope,
        again: &HashSet<CaseId>,
    ) -> Result<(), RunError> {
        let mut members = Vec::new();
        let mut held = Vec::new();
        let mut left = Vec::new();
        let mut standing = Vec::new();
        for Case { id, needs, .. } in cases {
            let row = stored.iter().find(|row| row.prompt_idx == id.prompt_idx);
            let record = match row {
                Some(row) => Some(put_right(row.clone())?.1),
                None => None,
            };
            let stands = if again.contains(&id) {
                CaseStanding::Runs
            } else {
                stands(record.as_ref(), row.map(|row| row.outcome), which)
            };
            standing.push(stands);
            let Some(record) = record.filter(|_| stands != CaseStanding::Runs) else {
                continue;
            };
            members.push(id.prompt_idx);
            if let Some(record) = reopened(record).filter(|_| stands != CaseStanding::Error) {
                held.push(id);
                let leaves = needs.and_then(|needs| CarriedOutputs::of(&needs, &record));
                left.extend(leaves.map(|leaves| (id, leaves)));
            }
        }
        let fate = fate(&standing);
        let test_idx = stored.first().map(|row| row.test_idx);
        let Some(test_idx) = test_idx.filter(|_| fate != Fate::Stays) else {
            return Ok(());
        };
        if fate == Fate::Settles {
            self.settle.extend(held.first());
        }
        self.held.extend(held);
        self.left.extend(left);
        self.members.insert(test_idx, members);
        Ok(())
    }
}

fn stands(
    record: Option<&CaseRecord>,
    outcome: Option<Outcome>,
    which: ResumeScope,
) -> CaseStanding {
    let grading = record.and_then(|record| record.grading_result.as_ref());
    let before = grading.and_then(|grading| grading.before_comparison.as_ref());
    match (outcome, before) {
        (Some(Outcome::Passed | Outcome::Failed | Outcome::Waiting), Some(before)) => {
            CaseStanding::Compared(before.among)
        }
        // A question that used too much, or a row that is a person's to judge: its verdict stays.
        (Some(Outcome::Failed | Outcome::Waiting), None)
            if record.is_some_and(|it| !it.conclusion.is_graded()) =>
        {
            CaseStanding::Error
        }
        // A row of a run that was not compared then, for example an imported one.
        (Some(Outcome::Passed | Outcome::Failed | Outcome::Waiting), None) => CaseStanding::Absent,
        (Some(Outcome::Error), Some(_)) if which.runs(outcome) => CaseStanding::Open,
        (Some(Outcome::Error), Some(_)) => CaseStanding::Failed,
        (Some(Outcome::Cancelled | Outcome::BudgetExceeded), Some(_)) => CaseStanding::Open,
        _ if which.runs(outcome) => CaseStanding::Runs,
        (Some(Outcome::Error), _) => CaseStanding::Error,
        _ => CaseStanding::Absent,
    }
}

/// The rows of one test; goes past those before it.
fn of_test(
    rows: &mut Peekable<impl Iterator<Item = Result<Row, StoreError>>>,
    test_idx: u32,
) -> Result<Vec<Row>, StoreError> {
    let mut found = Vec::new();
    while let Some(row) =
        rows.next_if(|row| row.as_ref().map_or(true, |it| it.test_idx <= test_idx))
    {
        let row = row?;
        if row.test_idx == test_idx {
            found.push(row);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_compared_again_only_when_its_answers_are_others() {
        use CaseStanding::{Absent, Compared, Error, Failed, Open, Runs};
        use Fate::{Reopens, Settles, Stays};
        let table: [(&[CaseStanding], Fate); 13] = [
            (&[Compared(2), Compared(2)], Stays),
            (&[Compared(2), Compared(2), Error], Stays),
            (&[Compared(3), Compared(3)], Settles), // one is gone
            (&[Compared(2), Open], Settles),
            (&[Open, Open, Error], Settles),
            (&[Compared(2), Compared(2), Runs], Reopens),
            (&[Open, Runs], Reopens),
            (&[Runs, Runs], Reopens),
            (&[Error, Runs], Reopens), // who runs must not wait for the error
            (&[Failed, Failed], Stays),
            (&[Failed, Open], Settles),
            (&[Open, Absent], Stays), // it can't be completed now
            (&[Compared(2), Runs, Absent], Stays),
        ];
        for (row, expected) in table {
            assert_eq!(fate(row), expected, "{row:?}");
        }
    }
}
