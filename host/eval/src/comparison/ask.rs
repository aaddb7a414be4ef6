//! Compares the answers of a row: the shell that asks a model, where one has to be asked.
//!
//! A comparison is work like a case's own: it has a clock that starts anew, can be cut off by the
//! end of the run, and pays by the same budgets. What it is shown is what the rows hold, so that
//! it does not matter which of them ended last, nor in which session.

use std::collections::BTreeMap;
use std::sync::Arc;

use runner_config::plan::{Case, CaseId, Comparison, Winner};
use runner_gateway::WorkClock;
use runner_sandbox::abi::{CallContext, GradeComponent, Input, ReadGrade};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::verdict::{Verdict, highest};
use crate::assertions::{component, ungraded};
use crate::call::{CallScope, Meter, WorkLimit, input_of};
use crate::context::RunContext;
use crate::failure::{CallFailure, FailureCode};
use crate::identity::call_id;
use crate::private_door;
use crate::record::{CaseRecord, ComponentRecord, GraderUsage, GradingRecord};
use crate::request::{json, text};
use crate::stop::{Stop, unless_stopped};

/// The answers of a row that are compared, by column.
pub(crate) type ComparedAnswers = Vec<(u32, Arc<CaseRecord>)>;

/// Makes every comparison of the row that `case` is one of; `None` if it was cut off.
pub(crate) async fn compare(
    context: &Arc<RunContext>,
    case: &Case,
    answers: ComparedAnswers,
    cut: &CancellationToken,
) -> Option<Vec<Verdict>> {
    let first = answers.first().map_or(0, |(column, _)| *column);
    let scope = CallScope {
        context: context.clone(),
        case: CaseId {
            test_idx: case.id.test_idx,
            prompt_idx: first,
        },
        clock: WorkClock::start(),
        limit: WorkLimit::new(context.timeout(case), None),
        meter: Arc::new(Meter::default()),
        memory: context.memory.open(Some(context.holder(case))),
        cut: cut.clone(),
        depth: 0,
        repeat_index: case.repeat_index,
        input: input_of(case),
    };
    let mut verdicts = Vec::new();
    for comparison in &case.test.comparisons {
        let made = match unless_stopped(&scope, make(&scope, case, comparison, &answers)).await {
            Ok(made) => Ok(made),
            Err(Stop::Failed(failure)) => Err(failure),
            Err(Stop::CutOff) => return None,
        };
        verdicts.push(verdict(comparison, &answers, made));
    }
    Some(verdicts)
}

/// What each answer gets, and what asking used.
type AskedGrades = Result<(BTreeMap<u32, ComponentRecord>, GraderUsage), CallFailure>;

async fn make(
    scope: &CallScope,
    case: &Case,
    comparison: &Comparison,
    answers: &[(u32, Arc<CaseRecord>)],
) -> AskedGrades {
    if answers.len() < 2 {
        let message = "there is no other answer to compare it with: the other columns gave none";
        return Err(CallFailure::new(FailureCode::NothingToCompare, message));
    }
    let assertion = &comparison.assertion;
    match &comparison.winner {
        Winner::Highest(rule) => {
            let graded = |(column, record): &(u32, Arc<CaseRecord>)| {
                Some((*column, record.grading_result.clone()?))
            };
            let rows: Vec<(u32, GradingRecord)> = answers.iter().filter_map(graded).collect();
            Ok((
                highest(rule, &rows, &assertion.json),
                GraderUsage::default(),
            ))
        }
        Winner::Judged => judged(scope, case, comparison, answers).await,
    }
}

/// Asks the grader of the type which answer is best.
async fn judged(
    scope: &CallScope,
    case: &Case,
    comparison: &Comparison,
    answers: &[(u32, Arc<CaseRecord>)],
) -> AskedGrades {
    let assertion = &comparison.assertion;
    let grader = &scope.context.graders[&assertion.kind];
    let input = input(case, comparison, (&grader.kind, answers))?;
    let case_id = call_id(case, &scope.context.masker);
    let identity = CallContext {
        test_index: case.id.test_idx,
        repeat_index: case.repeat_index,
        ..CallContext::new(format!("{case_id}/{}", assertion.kind))
    };
    let (result, used) = scope
        .evaluate(grader, assertion.judges, &input, &identity)
        .await;
    let grade = result?;
    Ok((apart(comparison, grade, answers), used))
}

fn input(
    case: &Case,
    comparison: &Comparison,
    (kind, answers): (&str, &[(u32, Arc<CaseRecord>)]),
) -> Result<Input, CallFailure> {
    let assertion = &comparison.assertion;
    let (_, first) = &answers[0];
    let value = assertion
        .render_value(&first.vars)
        .map_err(|error| CallFailure::new(FailureCode::Template, error.to_string()))?;
    let outputs: Vec<Value> = answers
        .iter()
        .map(|(_, record)| record.response.as_ref().map(|it| it.output.clone()))
        .map(Option::unwrap_or_default)
        .collect();
    let output = text(&outputs[0]);
    let outputs = (private_door::OUTPUTS, outputs.iter().map(text).collect());
    let config = assertion.config.as_ref();
    Ok(Input {
        type_: kind.to_owned(),
        inverse: false,
        value_json: value.map(|value| value.to_string()),
        threshold: None,
        config_json: config.map(json),
        output,
        output_json: None,
        completion: None,
        prompt: Vec::new(),
        vars_json: Some(json(&*first.vars)),
        test_json: Some(json(&first.test_case)),
        latency_ms: None,
        cost_usd: None,
        extra_json: private_door::extra(assertion, &case.test.options, [outputs]),
    })
}

/// A grade has one part for each answer, in their order. One that has not says the same of all:
/// the model chose none.
fn apart(
    comparison: &Comparison,
    grade: ReadGrade,
    answers: &[(u32, Arc<CaseRecord>)],
) -> BTreeMap<u32, ComponentRecord> {
    let mut parts = grade.components.clone();
    let mut whole = component(&comparison.assertion, grade);
    whole.parts.clear();
    if parts.len() != answers.len() {
        whole.pass = false;
        whole.score = 0.0;
        return answers
            .iter()
            .map(|(column, _)| (*column, whole.clone()))
            .collect();
    }
    let one = |((column, _), part): (&(u32, Arc<CaseRecord>), GradeComponent)| {
        let component = ComponentRecord {
            pass: part.pass,
            score: part.score,
            reason: part.reason,
            ..whole.clone()
        };
        (*column, component)
    };
    answers.iter().zip(parts.drain(..)).map(one).collect()
}

/// The verdict of a comparison, also of one that could not be made.
pub(crate) fn verdict(
    comparison: &Comparison,
    answers: &[(u32, Arc<CaseRecord>)],
    made: AskedGrades,
) -> Verdict {
    let assertion = &comparison.assertion;
    let (components, used) = made.unwrap_or_else(|failure| {
        let component = ungraded(assertion, failure);
        let all = answers
            .iter()
            .map(|(column, _)| (*column, component.clone()));
        (all.collect(), GraderUsage::default())
    });
    let vars = answers.first().map(|(_, record)| &*record.vars);
    Verdict {
        components,
        weight: assertion.weight,
        metric: vars.and_then(|vars| assertion.render_metric(vars)),
        used,
    }
}
