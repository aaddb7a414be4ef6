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
use crate::failure::{CallFailure, FailureCode};
use crate::identity::Identities;
use crate::masking::{masked, masked_question};
use crate::memory::{Account, MAX_CARRIED, MAX_ROW, Memory, of_waiting};
use crate::planned::PlannedCase;
use crate::question;
use crate::record::{CaseRecord, Conclusion, Outcome, ResponseRecord};
use crate::state::{CarriedInputs, CarriedOutputs, EndStatus};
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
pub(crate) struct Uncompared {
    pub(crate) record: Arc<CaseRecord>,
    pub(crate) identity: Option<Digest>,
}

/// Answers of a row that are compared, by column.
pub(crate) type ComparedRow = BTreeMap<u32, Uncompared>;

/// How the task of a case ended.
#[derive(Debug)]
pub(crate) struct CaseEnd {
    /// Its row, if it has one: of an answer that waits, the row that stands for it meanwhile.
    pub(crate) finished: Option<Finished>,
    pub(crate) how: EndStatus<Uncompared>,
    pub(crate) left: Option<CarriedOutputs>,
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

impl CaseEnd {
    fn new(finished: Finished, how: EndStatus<Uncompared>, left: Option<CarriedOutputs>) -> Self {
        Self {
            finished: Some(finished),
            how,
            left,
            memory: None,
            leaves_question: false,
        }
    }
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
    given: CarriedInputs,
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
    if let Some(finished) = &end.finished {
        context.data_rows.add(&case, finished.row.record_json.len());
    }
    (case.id, CaseEnd { memory, ..end })
}

/// Tells that a question waits for its turn.
fn announce(context: &RunContext, case: &Case) {
    if let Some(question) = &case.test.question {
        let question = masked_question(question, &context.masker);
        context.asking.begin(case.id, question);
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
                how: EndStatus::Open,
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
        self.end_or_hold(case, record, Some(identity))
    }

    /// The end of a case, whose answer may wait to be compared with others.
    fn end_or_hold(
        &self,
        case: &Case,
        mut record: CaseRecord,
        identity: Option<Digest>,
    ) -> CaseEnd {
        // A question that used too much has its verdict, which no comparison changes.
        let is_compared = !case.test.comparisons.is_empty() && record.conclusion.is_graded();
        if is_compared {
            // On the disk it stands as what it is until it is compared: answered, not more.
            verdict::open(&mut record);
            record = verdict::waiting(record);
        }
        let finished = Finished::new(self.masker, record, identity);
        // One that is too large to be kept has no grade any more.
        let graded = || verdict::reopened(CaseRecord::clone(&finished.record));
        let answer = is_compared.then(graded).flatten();
        let left = carried_over(case, &finished.record);
        let is_carried = self.carries(case, left.as_ref());
        let why = if !is_carried {
            too_large_to_carry()
        } else if answer.is_some() && !self.keeps(case, &finished) {
            too_large_to_compare()
        } else {
            let how = match answer.map(Arc::new) {
                Some(record) => EndStatus::Answered(Uncompared { record, identity }),
                None => how(&finished.record),
            };
            return CaseEnd::new(finished, how, left);
        };
        let mut record = answer.unwrap_or_else(|| Arc::unwrap_or_clone(finished.record));
        verdict::leave_out(&mut record);
        record.conclusion = Conclusion::failure(FailureCode::TooLarge, why);
        let finished = Finished::new(self.masker, record, identity);
        let left = left.map(|left| if is_carried { left } else { left.lost() });
        CaseEnd::new(finished, EndStatus::Done, left)
    }

    /// Whether there is room for what the case leaves to later ones.
    fn carries(&self, case: &Case, left: Option<&CarriedOutputs>) -> bool {
        let file = case.test.data.as_ref().map(|data| &*data.root);
        left.is_none_or(|left| self.memory.carry(file, left.values()))
    }

    /// Whether there is room for an answer that waits for the others of its row.
    fn keeps(&self, case: &Case, Finished { record, row }: &Finished) -> bool {
        let values = record.response.iter().flat_map(ResponseRecord::values);
        let bytes = of_waiting(row.record_json.len(), values);
        self.memory.keep_answer(case.id.test_idx, bytes)
    }

    /// The rows of answers that nothing will be compared with any more.
    fn uncompared(&self, answers: impl IntoIterator<Item = Uncompared>) -> Vec<Finished> {
        let leave = |Uncompared { record, identity }| {
            let mut record = verdict::waiting(Arc::unwrap_or_clone(record));
            if let Some(limit) = self.time_up {
                record = case::cut_by_time(record, limit);
            }
            Finished::new(self.masker, record, identity)
        };
        answers.into_iter().map(leave).collect()
    }
}

/// How a case ended that is compared with no others.
fn how(record: &CaseRecord) -> EndStatus<Uncompared> {
    match record.conclusion.outcome() {
        Outcome::Passed | Outcome::Failed | Outcome::Waiting | Outcome::Error => EndStatus::Done,
        Outcome::BudgetExceeded | Outcome::Cancelled => EndStatus::Open,
    }
}

fn carried_over(case: &Case, record: &CaseRecord) -> Option<CarriedOutputs> {
    CarriedOutputs::of(case.needs.as_deref()?, record)
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
    row: ComparedRow,
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
    row: ComparedRow,
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

fn settled(context: &RunContext, row: ComparedRow, verdicts: &[Verdict]) -> Vec<Finished> {
    let settle = |Uncompared { record, identity }| {
        let record = verdict::settled(Arc::unwrap_or_clone(record), verdicts);
        Finished::new(&context.masker, record, identity)
    };
    row.into_values().map(settle).collect()
}

/// The rows of answers that nothing will be compared with any more.
pub(crate) fn uncompared(
    context: &RunContext,
    answers: impl IntoIterator<Item = Uncompared>,
) -> Vec<Finished> {
    EndRules::of(context).uncompared(answers)
}

fn answers(row: &ComparedRow) -> ComparedAnswers {
    let one = |(column, held): (&u32, &Uncompared)| (*column, held.record.clone());
    row.iter().map(one).collect()
}

#[cfg(test)]
mod tests;
