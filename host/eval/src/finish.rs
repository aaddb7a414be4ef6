//! The end of a case, in its own task: from the record to what the loop hands on.
//!
//! Everything that takes time is done here (the digest that says which case it is, masking, the
//! JSON that is stored), so that the loop only passes things on. A task that ends knows of the
//! run what its row depends on: when its first request went out, and whether the run's time was
//! up.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use runner_config::plan::{Case, CaseId, Plan};
use runner_gateway::Masker;
use runner_store::{Digest, Row};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::case;
use crate::comparison::ask::{ComparedAnswers, compare, verdict as said_of};
use crate::comparison::verdict::{self, Verdict};
use crate::context::RunContext;
use crate::event::{Event, Stage};
use crate::failure::{CallFailure, FailureCode};
use crate::identity::Identities;
use crate::masking::{masked, masked_question};
use crate::memory::{Account, MAX_CARRIED, MAX_ROW, Memory, of_waiting};
use crate::planned::PlannedCase;
use crate::question;
use crate::record::{CaseRecord, Conclusion, Outcome, ResponseRecord};
use crate::state::{Ended, Given, Left};
use crate::summary::End;

/// A row that nothing is left to be worked out for.
#[derive(Debug, Clone)]
pub(crate) struct Finished {
    /// Without secrets.
    pub(crate) record: Arc<CaseRecord>,
    /// What the store keeps of it.
    pub(crate) row: Row,
}

/// An answer that waits to be compared with others, graded by itself.
#[derive(Debug, Clone)]
pub(crate) struct Held {
    pub(crate) record: Arc<CaseRecord>,
    pub(crate) identity: Option<Digest>,
}

/// Answers of a row that are compared, by column.
pub(crate) type HeldRow = BTreeMap<u32, Held>;

/// How the task of a case ended.
#[derive(Debug)]
pub(crate) struct CaseEnd {
    /// Its row, if it has one: of an answer that waits, the row that stands for it meanwhile.
    pub(crate) finished: Option<Finished>,
    pub(crate) how: Ended<Held>,
    pub(crate) left: Option<Left>,
    /// What it holds of the memory, until its row is with the store.
    pub(crate) memory: Option<Arc<Account>>,
    /// It asks a question, has no row, and so can't say what became of it.
    pub(crate) leaves_question: bool,
}

/// What decides how a case ends, of all that the cases of a run share.
struct EndRules<'a> {
    masker: &'a Masker,
    memory: &'a Memory,
    identities: &'a Identities,
    /// How long the run might take, if that time is up.
    time_up: Option<Duration>,
}

impl Finished {
    fn new(masker: &Masker, record: CaseRecord, identity: Option<Digest>) -> Self {
        let (record, json) = masked(record, masker);
        Self {
            row: record.to_row(identity, json),
            record: Arc::new(record),
        }
    }
}

/// Runs a case to its end.
pub(crate) async fn run_case(
    context: &Arc<RunContext>,
    plan: &Plan,
    planned: PlannedCase,
    given: Given,
    cut: &CancellationToken,
) -> (CaseId, CaseEnd) {
    let begun = Instant::now();
    let (holder, vars) = match &planned {
        PlannedCase::Made(case) => {
            announce(context, case);
            (context.holder(case), 0)
        }
        PlannedCase::Unmade(unmade) => (unmade.holder, unmade.bytes),
    };
    let room = case::begin(context, holder, vars, &given, cut).await;
    let is_late = matches!(planned, PlannedCase::Unmade(_));
    let case = planned.made(plan);
    if is_late {
        announce(context, &case);
    }
    let carried = match room {
        Some(room) => case::carry_through(context, &case, room, given, cut).await,
        None => None,
    };
    let (record, memory) = carried.unzip();
    let end = conclude(context, &case, record, begun);
    (case.id, CaseEnd { memory, ..end })
}

/// Tells that a question waits for its turn.
fn announce(context: &RunContext, case: &Case) {
    if let Some(question) = &case.test.question {
        context.asking.begin(case.id);
        let stage = Stage::Queued(masked_question(question, &context.masker));
        context.emit(Event::Question { id: case.id, stage });
    }
}

/// What becomes of a case that came to this record; `None`: it was cut off.
pub(crate) fn conclude(
    context: &RunContext,
    case: &Case,
    record: Option<CaseRecord>,
    begun: Instant,
) -> CaseEnd {
    let sent = context.asking.end(case.id);
    let wall = sent.unwrap_or(begun).elapsed();
    EndRules::of(context).end(case, record, wall)
}

impl<'a> EndRules<'a> {
    fn of(context: &'a RunContext) -> Self {
        let is_up = context.stopped_by.get() == Some(&End::TimeLimit);
        Self {
            masker: &context.masker,
            memory: &context.memory,
            identities: &context.identities,
            time_up: is_up.then(|| context.run_timeout.unwrap_or_default()),
        }
    }

    /// What becomes of a case that came to this record; `wall` is what its question took.
    fn end(&self, case: &Case, record: Option<CaseRecord>, wall: Duration) -> CaseEnd {
        let record = match self.time_up {
            Some(limit) => Some(case::out_of_time(record, case, limit)),
            // After an interrupt a case without a row is one that can be run later.
            None => record,
        };
        let Some(mut record) = record else {
            return CaseEnd {
                finished: None,
                how: Ended::Open,
                left: None,
                memory: None,
                leaves_question: case.test.question.is_some(),
            };
        };
        if let Some(question) = &case.test.question {
            question::settle(&mut record, question, wall);
        }
        let (identity, group) = self.identities.with_group(case);
        record.repeat_group = group;
        let file = case.test.data.as_ref().map(|data| &*data.real);
        let carried = carried_over(case, &record);
        let is_carried = carried.is_none_or(|left| self.memory.carry(file, left.values()));
        if !is_carried {
            record.conclusion = Conclusion::failure(FailureCode::TooLarge, too_large_to_carry());
        }
        let end = self.end_or_hold(case, record, identity);
        let left = if is_carried {
            end.left
        } else {
            end.left.map(Left::lost)
        };
        CaseEnd { left, ..end }
    }

    /// The end of a case, which may be compared with others.
    fn end_or_hold(&self, case: &Case, mut record: CaseRecord, identity: Digest) -> CaseEnd {
        // A question that used too much has its verdict, which no comparison changes.
        let is_graded = |record: &CaseRecord| record.conclusion.is_graded();
        if case.test.comparisons.is_empty() || !is_graded(&record) {
            return self.done(case, record, identity);
        }
        verdict::open(&mut record);
        let (mut record, json) = masked(record, self.masker);
        let values = record.response.iter().flat_map(ResponseRecord::values);
        let bytes = of_waiting(json.len(), values);
        drop(json);
        // Masked it may have become too large to be kept.
        if is_graded(&record) && !self.memory.keep_answer(case.id.test_idx, bytes) {
            verdict::leave_out(&mut record);
            let why = too_large_to_compare();
            record.conclusion = Conclusion::failure(FailureCode::TooLarge, why);
        }
        if !is_graded(&record) {
            return self.done(case, record, identity);
        }
        // On the disk it stands as what it is until it is compared: answered, not more.
        let waiting = verdict::waiting(record.clone());
        let stored = Finished::new(self.masker, waiting, Some(identity));
        let left = carried_over(case, &record);
        let (record, identity) = (Arc::new(record), Some(identity));
        CaseEnd {
            finished: Some(stored),
            how: Ended::Answered(Held { record, identity }),
            left,
            memory: None,
            leaves_question: false,
        }
    }

    /// The end of a case that is compared with no others.
    fn done(&self, case: &Case, record: CaseRecord, identity: Digest) -> CaseEnd {
        let how = match record.conclusion.outcome() {
            Outcome::Passed | Outcome::Failed | Outcome::Error => Ended::Done,
            Outcome::BudgetExceeded | Outcome::Cancelled => Ended::Open,
        };
        let finished = Finished::new(self.masker, record, Some(identity));
        CaseEnd {
            left: carried_over(case, &finished.record),
            finished: Some(finished),
            how,
            memory: None,
            leaves_question: false,
        }
    }

    /// The rows of answers that nothing will be compared with any more.
    fn uncompared(&self, answers: impl IntoIterator<Item = Held>) -> Vec<Finished> {
        let leave = |Held { record, identity }| {
            let mut record = verdict::waiting(Arc::unwrap_or_clone(record));
            if let Some(limit) = self.time_up {
                record = case::cut_by_time(record, limit);
            }
            Finished::new(self.masker, record, identity)
        };
        answers.into_iter().map(leave).collect()
    }
}

fn carried_over(case: &Case, record: &CaseRecord) -> Option<Left> {
    Left::of(case.needs.as_deref()?, record)
}

/// Why an answer is not compared.
fn too_large_to_compare() -> String {
    let max = MAX_ROW >> 20;
    format!(
        "the answers of the row take more than {max} MiB of memory, which is the most that answers may take \
         that are compared; this one is not among them"
    )
}

/// Why an answer that later cases read is an error.
fn too_large_to_carry() -> String {
    let max = MAX_CARRIED >> 20;
    format!(
        "what conversations and `storeOutputAs` keep for later cases takes more than {max} MiB of memory, which is \
         the most; this answer is not kept for them"
    )
}

/// Compares the answers of a row; the rows of all of them, also if it was cut off.
pub(crate) async fn compared(
    context: &Arc<RunContext>,
    case: &Case,
    row: HeldRow,
    cut: &CancellationToken,
) -> Vec<Finished> {
    match compare(context, case, answers(&row), cut).await {
        Some(verdicts) => settled(context, row, &verdicts),
        None => uncompared(context, row.into_values()),
    }
}

/// The rows of a comparison whose task panicked: a bug of ours, which must not cost answers.
pub(crate) fn compared_in_vain(
    context: &RunContext,
    case: &Case,
    row: HeldRow,
    why: &str,
) -> Vec<Finished> {
    let message = format!("a bug in runner, please report it: the comparison ended with {why}");
    let failure = CallFailure::new(FailureCode::Internal, message);
    let comparisons = case.test.comparisons.iter().take(1);
    let verdicts: Vec<Verdict> = comparisons
        .map(|it| said_of(it, &answers(&row), Err(failure.clone())))
        .collect();
    settled(context, row, &verdicts)
}

fn settled(context: &RunContext, row: HeldRow, verdicts: &[Verdict]) -> Vec<Finished> {
    let settle = |Held { record, identity }| {
        let record = verdict::settled(Arc::unwrap_or_clone(record), verdicts);
        Finished::new(&context.masker, record, identity)
    };
    row.into_values().map(settle).collect()
}

/// The rows of answers that nothing will be compared with any more.
pub(crate) fn uncompared(
    context: &RunContext,
    answers: impl IntoIterator<Item = Held>,
) -> Vec<Finished> {
    EndRules::of(context).uncompared(answers)
}

fn answers(row: &HeldRow) -> ComparedAnswers {
    let one = |(column, held): (&u32, &Held)| (*column, held.record.clone());
    row.iter().map(one).collect()
}

#[cfg(test)]
mod tests;
