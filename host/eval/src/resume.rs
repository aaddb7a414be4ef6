//! Going on with a run: which rows stay, which cases are run.
//!
//! The store finds each row's place in the plan as it is now ([`runner_store::ReopenedRun`]);
//! here is decided whether that is what the user can have meant, and which of the cases are
//! left. A row that is kept is told to the consumers like one of this session, so that table,
//! sums and files are those of the whole run. Nothing is held in memory: plan and rows are
//! walked side by side.

use std::collections::HashSet;
use std::iter::Peekable;

use runner_config::plan::{Case, CaseId, Cases as PlanCases, Plan};
use runner_store::{
    Cases, NewRun, Outcome, Placement, Row, RowsByKey, RunHead, RunWriter, Store, StoreError,
    StoredCase,
};

mod compared;
mod tied;

use crate::beginning::{ResumeRequest, ResumeScope, Resumption};
use crate::error::RunError;
use crate::identity::Identities;
use crate::record::CaseRecord;
use crate::state::CarriedOutputs;
use compared::Compared;
pub(crate) use compared::Member;
pub(crate) use tied::Tied;

/// A row that stays, with its record; and whether that states a place from before, so that the
/// store's copy has to be written anew.
pub(crate) type KeptRow = (Row, CaseRecord, bool);

/// A kept run that goes on.
pub(crate) struct Resumed {
    store: Store,
    pub(crate) resumption: Resumption,
    /// The run's seed, which stays.
    pub(crate) seed: u64,
    /// What became of the cases that are tied to others.
    pub(crate) tied: Tied,
    /// Which cases are not run, but compared anew.
    compared: Compared,
}

/// Takes hold of the run and puts its rows into the places of `plan`. `run` is what a new run
/// would begin with; its seed gives way to the kept one.
pub(crate) fn reopen(
    store: &Store,
    again: &ResumeRequest,
    plan: &Plan,
    identities: &Identities,
    run: NewRun,
) -> Result<(RunWriter, Resumed), RunError> {
    let mut reopened = store.reopen_run(&again.run_id)?;
    let rows = store.cases(&again.run_id)?;
    let tied = Tied::new(plan, identities, rows, again.which)?;
    let planned = plan.cases().map(|case| {
        // A row that must not stay finds no case that is like it.
        let follows = tied.again.contains(&case.id);
        identities.planned(&case, follows)
    });
    let placement = reopened.place(planned)?;
    let resumption = became(again, &placement, &tied);
    if resumption.is_doubtful() && !again.force {
        return Err(RunError::WouldDrop(Box::new(resumption)));
    }
    let head = RunHead {
        seed: reopened.head().seed,
        config_json: run.config_json,
        columns_json: run.columns_json,
        plugins_json: run.plugins_json,
        options_json: run.options_json,
    };
    let writer = reopened.start(&head)?;
    let resumed = Resumed {
        store: store.clone(),
        resumption,
        seed: head.seed,
        tied,
        compared: Compared::default(),
    };
    Ok((writer, resumed))
}

/// What becomes of the rows.
fn became(again: &ResumeRequest, placement: &Placement, tied: &Tied) -> Resumption {
    let follow = tied.again.len() as u64;
    Resumption {
        run_id: again.run_id.clone(),
        which: again.which,
        kept: placement.kept,
        moved: placement.moved,
        new: placement.missing.saturating_sub(follow),
        dropped: placement.dropped.saturating_sub(follow),
        follow,
    }
}

impl Resumed {
    /// Finds the cases whose answers are to be compared anew with others; from now on they are
    /// neither kept nor run. Gives what they leave to later cases.
    pub(crate) fn compared(
        &mut self,
        plan: &Plan,
    ) -> Result<Vec<(CaseId, CarriedOutputs)>, RunError> {
        let rows = self.store.rows(&self.resumption.run_id)?;
        self.compared = Compared::new(plan, rows, self.resumption.which, &self.tied.again)?;
        Ok(std::mem::take(&mut self.compared.left))
    }

    /// The rows that stay as they are, in the order of the plan.
    pub(crate) fn kept(&self) -> Result<impl Iterator<Item = Result<KeptRow, RunError>>, RunError> {
        let which = self.resumption.which;
        let rows = self.store.rows(&self.resumption.run_id)?;
        let held = &self.compared.held;
        let stays = move |row: &Result<Row, StoreError>| {
            let stays = |row: &Row| {
                let id = CaseId {
                    test_idx: row.test_idx,
                    prompt_idx: row.prompt_idx,
                };
                !which.runs(Some(row.outcome)) && !held.contains(&id)
            };
            row.as_ref().map_or(true, stays)
        };
        Ok(rows.filter(stays).map(|row| Ok(put_right(row?)?)))
    }

    /// The cases that are run, in the order of a sequential run.
    pub(crate) fn rest(self, plan: &Plan) -> Result<RemainingCases<'_>, StoreError> {
        let run_id = self.resumption.run_id;
        let stored = || Ok(self.store.cases(&run_id)?.peekable());
        Ok(RemainingCases {
            passes: [
                (plan.cases_alone(), stored()?),
                (plan.cases_beside(), stored()?),
            ],
            which: self.resumption.which,
            again: self.tied.again,
            compared: self.compared,
            kept: self.store.rows_by_key(&run_id)?,
        })
    }
}

fn put_right(mut row: Row) -> Result<KeptRow, serde_json::Error> {
    let mut record: CaseRecord = serde_json::from_str(&row.record_json)?;
    let place = (row.test_idx, row.prompt_idx);
    let moved = (record.test_idx, record.prompt_idx) != place;
    if moved {
        (record.test_idx, record.prompt_idx) = place;
        row.record_json = serde_json::to_string(&record)?;
    }
    Ok((row, record, moved))
}

/// The rows that there are, in the order of the plan.
type StoredCases = Peekable<Cases>;

/// The cases of a plan that are to be run: those that run alone first.
pub(crate) struct RemainingCases<'a> {
    passes: [(PlanCases<'a>, StoredCases); 2],
    which: ResumeScope,
    /// Run whatever their rows say.
    again: HashSet<CaseId>,
    compared: Compared,
    /// Where the answers of rows are that are compared anew.
    kept: RowsByKey,
}

impl RemainingCases<'_> {
    /// Returns the answers that there are of a row that is compared anew, the first time that it is asked
    /// for; none otherwise.
    pub(crate) fn members(&mut self, test_idx: u32) -> Result<Vec<Member>, StoreError> {
        let columns = self.compared.members.remove(&test_idx).unwrap_or_default();
        let mut members = Vec::with_capacity(columns.len());
        for prompt_idx in columns {
            let id = CaseId {
                test_idx,
                prompt_idx,
            };
            if let Some(row) = self.row(id)? {
                let member = Member::new(row, self.compared.held.contains(&id));
                members.push(member.map_err(|error| self.damaged(&error))?);
            }
        }
        Ok(members)
    }

    /// The rows that nobody asked for, in the order of the plan: they stay as they are in the
    /// store.
    pub(crate) fn untouched(&self) -> impl Iterator<Item = Result<KeptRow, RunError>> {
        let ids = self.compared.members.iter().flat_map(|(test, columns)| {
            columns.iter().map(|column| CaseId {
                test_idx: *test,
                prompt_idx: *column,
            })
        });
        ids.filter(|id| self.compared.held.contains(id))
            .filter_map(|id| self.row(id).transpose())
            .map(|row| Ok(put_right(row?)?))
    }

    /// The record was read before the run went on.
    fn damaged(&self, error: &serde_json::Error) -> StoreError {
        StoreError::Unreadable {
            path: self.kept.path().to_owned(),
            what: "record",
            value: error.to_string(),
        }
    }

    fn row(&self, id: CaseId) -> Result<Option<Row>, StoreError> {
        self.kept.row(id.test_idx, id.prompt_idx)
    }
}

impl Iterator for RemainingCases<'_> {
    type Item = Result<Case, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        for (cases, stored) in &mut self.passes {
            for case in cases {
                let row = row_at(stored, case.id);
                let Compared { held, settle, .. } = &self.compared;
                match row {
                    Ok(_) if settle.contains(&case.id) => return Some(Ok(case)),
                    Ok(_) if held.contains(&case.id) => {}
                    Ok(row) if self.which.runs(row) || self.again.contains(&case.id) => {
                        return Some(Ok(case));
                    }
                    Ok(_) => {}
                    Err(error) => return Some(Err(error)),
                }
            }
        }
        None
    }
}

/// How the row at this place ended; goes past those before it.
fn row_at(
    stored: &mut Peekable<impl Iterator<Item = Result<StoredCase, StoreError>>>,
    id: CaseId,
) -> Result<Option<Outcome>, StoreError> {
    let place = |case: &StoredCase| (case.test_idx, case.prompt_idx);
    let wanted = (id.test_idx, id.prompt_idx);
    let is_past = |case: &StoredCase| place(case) < wanted;
    loop {
        let passed = stored.next_if(|case| case.as_ref().map_or(true, is_past));
        if passed.transpose()?.is_none() {
            break;
        }
    }
    match stored.peek() {
        Some(Ok(case)) if place(case) == wanted => Ok(Some(case.outcome)),
        _ => Ok(None),
    }
}

#[cfg(test)]
mod tests;
