//! The loop's part in comparing the answers of a row: holding them, starting the comparison when
//! the last one is there, writing down what it said.
//!
//! A comparison runs in the slot of the case that ended last, which counts as in flight until it
//! is over: so it is bounded like everything else, and a run is not over before it is. In a run
//! that goes on, a row whose answers are all there already is compared in the slot of one of its
//! cases, which is not run again.

use std::collections::BTreeMap;
use std::sync::Arc;

use runner_config::plan::Case;
use runner_store::Digest;
use tokio::task::JoinError;

use super::{Done, Loop, Progress};
use crate::call::CallFailure;
use crate::case;
use crate::comparison::ask::{Answers, compare, verdict as said_of};
use crate::comparison::verdict::{self, Verdict};
use crate::dispatch::Signal;
use crate::event::Event;
use crate::masking::masked;
use crate::record::{CaseRecord, Outcome};
use crate::resume::Member;
use crate::summary::End;

/// An answer that waits, graded by itself.
pub(super) struct Held {
    pub(super) record: Arc<CaseRecord>,
    pub(super) identity: Digest,
}

/// A row that is being compared, by column.
pub(super) type Row = BTreeMap<u32, Held>;

impl Loop {
    /// Takes the record of a case whose answer is to be compared with others.
    pub(super) fn answered(
        &mut self,
        progress: &mut Progress,
        case: &Case,
        mut record: CaseRecord,
    ) {
        let identity = self.identities.of(case);
        if matches!(record.outcome, Outcome::Passed | Outcome::Failed) {
            verdict::open(&mut record);
        }
        let (record, _) = masked(record, &self.context.masker);
        if let Some(needs) = &case.needs {
            progress.strands.keep(case.id, needs, &record);
        }
        match record.outcome {
            Outcome::Passed | Outcome::Failed => {
                // On the disk it stands as what it is until it is compared: answered, not more.
                let stored = Arc::new(verdict::waiting(record.clone()));
                self.store(progress, &stored, identity);
                let record = Arc::new(record);
                let held = Held { record, identity };
                progress.waiting_rows.hold(case.id, progress.of(case), held);
            }
            Outcome::Error => {
                self.told(progress, record, identity);
                progress.waiting_rows.without(case.id, progress.of(case));
            }
            // It may get its answer when the run goes on.
            Outcome::BudgetExceeded | Outcome::Cancelled => self.told(progress, record, identity),
        }
    }

    /// Holds what a row of a kept run has already.
    pub(super) fn hold_again(&mut self, progress: &mut Progress, member: Member) {
        let Member { case, record, row } = member;
        let of = progress.of(&case);
        let Some(record) = record else {
            return progress.waiting_rows.without(case.id, of);
        };
        if let Some(needs) = &case.needs {
            progress.strands.keep(case.id, needs, &record);
        }
        let held = Held {
            record: Arc::new(record),
            identity: row.identity.unwrap_or_else(|| self.identities.of(&case)),
        };
        progress.waiting_rows.hold(case.id, of, held);
    }

    /// Compares the row of `case` if it is complete; `false` if it is not, or holds nothing.
    pub(super) fn compares(&mut self, progress: &mut Progress, case: &Case) -> bool {
        if case.test.comparisons.is_empty() {
            return false;
        }
        let Some(row) = progress.waiting_rows.complete(case.id.test_idx) else {
            return false;
        };
        if row.is_empty() {
            return false;
        }
        let (context, cancel) = (self.context.clone(), progress.cancel.child_token());
        let (task, answers) = (case.clone(), answers(&row));
        let run = async move { Done::Compared(compare(&context, &task, answers, &cancel).await) };
        let handle = progress.cases.spawn(run);
        progress.comparing.insert(handle.id(), (case.clone(), row));
        true
    }

    /// A comparison has ended, or was cut off.
    pub(super) fn compared(
        &mut self,
        progress: &mut Progress,
        (case, row): (Case, Row),
        ended: Result<Done, JoinError>,
    ) -> Signal {
        let said = match ended {
            Ok(Done::Compared(said)) => said,
            Ok(Done::Case(_)) => unreachable!("a comparison's task compares"),
            Err(error) => Some(bug(&case, &row, &error)),
        };
        for held in row.into_values() {
            match &said {
                Some(verdicts) => {
                    let record = verdict::settled((*held.record).clone(), verdicts);
                    self.told(progress, record, held.identity);
                }
                None => self.left(progress, &held),
            }
        }
        Signal::Ended(case.id)
    }

    /// What is still held when the run is over: the rest of its rows did not come.
    pub(super) fn leave_waiting(&mut self, progress: &mut Progress) {
        for held in progress.waiting_rows.rest() {
            self.left(progress, &held);
        }
    }

    fn left(&mut self, progress: &mut Progress, held: &Held) {
        let mut record = verdict::waiting((*held.record).clone());
        if progress.dispatch.end() == End::TimeLimit {
            record = case::cut_by_time(record, progress.run_timeout);
        }
        self.told(progress, record, held.identity);
    }

    /// Sums up, stores and tells of a record that is final, as far as this session goes.
    fn told(&mut self, progress: &mut Progress, record: CaseRecord, identity: Digest) {
        let (record, json) = masked(record, &self.context.masker);
        let record = Arc::new(record);
        progress.add(&record);
        if !self.recorder.record(&record, identity, json) {
            self.signal(progress, Signal::RecorderFailed);
        }
        self.emit(&Event::CaseFinished(record));
    }

    fn store(&mut self, progress: &mut Progress, record: &Arc<CaseRecord>, identity: Digest) {
        let json = serde_json::to_string(&**record).expect("a record has string keys only");
        if !self.recorder.record(record, identity, json) {
            self.signal(progress, Signal::RecorderFailed);
        }
    }
}

impl Progress {
    /// How many cases the row of this one has.
    pub(super) fn of(&self, case: &Case) -> usize {
        let columns = case.test.columns.as_ref();
        columns.map_or(self.columns.len(), Vec::len)
    }
}

fn answers(row: &Row) -> Answers {
    let one = |(column, held): (&u32, &Held)| (*column, held.record.clone());
    row.iter().map(one).collect()
}

/// The verdicts of a comparison whose task panicked: a bug of ours, which must not cost answers.
fn bug(case: &Case, row: &Row, error: &JoinError) -> Vec<Verdict> {
    let message = format!("a bug in runner, please report it: the comparison ended with {error}");
    let failure = CallFailure::new("internal", message);
    let comparisons = case.test.comparisons.iter().take(1);
    comparisons
        .map(|it| said_of(it, &answers(row), Err(failure.clone())))
        .collect()
}
