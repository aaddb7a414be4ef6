//! The life of one case: render, call, transform, grade.
//!
//! Everything that can happen to a case is data: a failed template, a provider's error, a
//! crashed grader, a passed limit all end in a [`CaseRecord`]. Nothing here returns `Err`.
//!
//! A case can be **cut off**: by the end of the run, or because a run that drains lets its next
//! request no longer go. What it had is dropped, guests and sockets with it, but for an answer of
//! its provider: that may be paid for, so it becomes a row of its own ([`Outcome::Cancelled`]).
//! The case is run again when the run goes on, from the cache if there is one. Requests that are
//! on the wire when a run begins to drain may end within its grace, and so may a grade that needs
//! no others.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use runner_config::plan::{Case, Check, Rendered};
use runner_gateway::WorkClock;
use runner_sandbox::abi;
use serde_json::{Map, Value};
use tokio::sync::SemaphorePermit;
use tokio_util::sync::CancellationToken;

use crate::answer::Answer;
use crate::call::{CallFailure, CallScope, Meter, WorkLimit};
use crate::context::RunContext;
use crate::event::{Event, Stage};
use crate::failure::FailureCode;
use crate::grading::{CaseGrade, aggregate};
use crate::identity::call_id;
use crate::judge::{Judged, Matter, judge};
use crate::memory;
use crate::plugins::Target;
use crate::record::{CaseRecord, Outcome, PromptRecord, Provenance, ProviderRef, TokenUsage};
use crate::request::request;
use crate::script::{around, hooks};

/// Runs a case to its end; `None` when `cut` cut it off before it had an answer.
pub(crate) async fn run(
    context: &Arc<RunContext>,
    case: &Case,
    cut: &CancellationToken,
) -> Option<CaseRecord> {
    let making = tokio::select! {
        biased;
        () = cut.cancelled() => return None,
        turn = context.memory.making() => turn,
    };
    let scope = CallScope {
        context: context.clone(),
        case: case.id,
        clock: WorkClock::start(),
        meter: Arc::new(Meter::default()),
        memory: context.memory.open(),
        cut: cut.clone(),
        limit: WorkLimit::new(
            context.timeout(case),
            case.test.question.as_ref().and_then(|it| it.budget.time),
        ),
        depth: 0,
        repeat_index: case.repeat_index,
    };
    let limit = scope.limit.time();
    let identity = abi::CallContext {
        call_id: call_id(case, &context.masker),
        attempt: 1,
        deadline_ms: limit.map(|limit| limit.as_millis() as u64),
        test_index: case.id.test_idx,
        repeat_index: case.repeat_index,
        labels: Vec::new(),
    };
    let changed = match within(&scope, hooks::before_each(&scope, case, &identity)).await {
        Part::Done(Ok(changed)) => changed,
        Part::Done(Err(failure)) | Part::OutOfTime(failure) => {
            let record = failed(case, None, &failure);
            return Some(hooks::after_each(&scope, case, record, &identity).await);
        }
        Part::CutOff => return None,
    };
    let case = changed.as_ref().unwrap_or(case);
    let record = Box::pin(made(&scope, case, &identity, making)).await?;
    Some(hooks::after_each(&scope, case, record, &identity).await)
}

/// The row of a case: variables, prompt, call and grade. It has the turn to make the first two, and
/// passes it on.
async fn made(
    scope: &CallScope,
    case: &Case,
    identity: &abi::CallContext,
    making: SemaphorePermit<'_>,
) -> Option<CaseRecord> {
    let with_vars = match within(scope, around::with_vars(scope, case, identity)).await {
        Part::Done(Ok(made)) => made,
        Part::Done(Err(failure)) | Part::OutOfTime(failure) => {
            return Some(failed(case, None, &failure));
        }
        Part::CutOff => return None,
    };
    let case = with_vars.as_ref().unwrap_or(case);
    if let Some(refused) = &case.refused {
        let message = format!("{}: the case is too large: {refused}", case.test.at);
        let failure = CallFailure::new(FailureCode::TooLarge, message);
        return Some(failed(case, None, &failure));
    }
    let rendered = match within(scope, around::rendered(scope, case, identity)).await {
        Part::Done(Ok(rendered)) => rendered,
        Part::Done(Err(failure)) | Part::OutOfTime(failure) => {
            return Some(failed(case, None, &failure));
        }
        Part::CutOff => return None,
    };
    let needs = memory::of_case(&case.vars, &rendered.text);
    if needs > 0 {
        let _clock = scope.clock.pause();
        match within(scope, scope.memory.reserve(needs)).await {
            Part::Done(()) => {}
            Part::OutOfTime(failure) => return Some(failed(case, Some(&rendered.text), &failure)),
            Part::CutOff => return None,
        }
    }
    drop(making);
    let mut record = Box::pin(work(scope, case, rendered, identity.clone())).await?;
    if case.test.output.is_none() {
        let target = scope.context.target(case);
        record.provenance = Some(provenance(target, &scope.meter));
    }
    Some(record)
}

/// Calls and grades. The time that the case may work bounds each part by itself, so that an
/// answer outlives the grader that hangs over it.
async fn work(
    scope: &CallScope,
    case: &Case,
    rendered: Rendered,
    identity: abi::CallContext,
) -> Option<CaseRecord> {
    let prompt = rendered.text.clone();
    let request = request(case, rendered, scope.context.target(case).reads_vars);
    let messages = request.messages.clone();
    let mut answer = match Box::pin(answer(scope, case, request, &identity)).await {
        Part::Done(Ok(answer)) => answer,
        Part::Done(Err(failure)) | Part::OutOfTime(failure) => {
            return Some(failed(case, Some(&prompt), &failure));
        }
        Part::CutOff => return None,
    };
    scope.memory.add(memory::of_answer(&answer.text));
    if let Some(failure) = answer.unread.take() {
        return Some(answered(failed(case, Some(&prompt), &failure), answer));
    }
    if !answer.says_something() {
        let failure = CallFailure::new(FailureCode::BAD_RESPONSE, "the provider gave no output");
        return Some(answered(failed(case, Some(&prompt), &failure), answer));
    }
    let transforming = around::output(scope, case, &answer, &identity);
    let output = match within(scope, transforming).await {
        Part::Done(Ok(output)) => output,
        Part::Done(Err(failure)) | Part::OutOfTime(failure) => {
            return Some(answered(failed(case, Some(&prompt), &failure), answer));
        }
        Part::CutOff => return Some(answered(ungraded(case, &prompt), answer)),
    };
    if let Some(output) = output {
        answer.replace_output(output);
    }
    if scope.context.asking.read(case.id) {
        let (id, stage) = (case.id, Stage::Parsing);
        scope.context.emit(Event::Question { id, stage });
    }
    let matter = Matter {
        case,
        text: &prompt,
        messages: &messages,
        answer: &answer,
    };
    let record = match within(scope, grade(scope, matter, &identity)).await {
        Part::Done(Ok(grade)) => graded_record(case, &prompt, grade),
        Part::Done(Err(failure)) | Part::OutOfTime(failure) => {
            failed(case, Some(&prompt), &failure)
        }
        Part::CutOff => ungraded(case, &prompt),
    };
    Some(answered(record, answer))
}

/// The answer that the test brings with it, or the provider's.
async fn answer(
    scope: &CallScope,
    case: &Case,
    request: abi::Request,
    identity: &abi::CallContext,
) -> Part<Result<Answer, CallFailure>> {
    if let Some(saved) = &case.test.output {
        return Part::Done(Ok(Answer::saved(saved)));
    }
    let target = scope.context.target(case);
    let call = scope.complete(target, request, identity.clone());
    match within(scope, call).await {
        Part::Done(completed) => Part::Done(completed.map(Answer::new)),
        Part::OutOfTime(failure) => Part::OutOfTime(failure),
        Part::CutOff => Part::CutOff,
    }
}

/// The grade of an answer; an error if its scoring function broke a limit.
async fn grade(
    scope: &CallScope,
    matter: Matter<'_>,
    identity: &abi::CallContext,
) -> Result<CaseGrade, CallFailure> {
    let case = matter.case;
    let Judged { graded, tokens } = judge(scope, matter, identity).await;
    for check in &case.test.assertions {
        if let Check::Set {
            metric: Some(metric),
            ..
        } = check
        {
            // What its filters give is known to the case from then on.
            scope.metric(case, metric, identity).await;
        }
    }
    let grade = aggregate(
        &case.test.assertions,
        case.test.threshold,
        graded,
        tokens,
        |metric| case.render_text(metric),
    );
    around::scored(scope, case, grade, identity).await
}

/// How a part of a case's life ended.
pub(crate) enum Part<T> {
    /// By itself.
    Done(T),
    /// The case had worked for as long as it may.
    OutOfTime(CallFailure),
    /// The case was cut off.
    CutOff,
}

/// A part of a case's life. Who is done is asked first: an answer that has come is never lost to
/// a limit that passes, or an end that comes, at the same moment.
pub(crate) async fn within<T>(scope: &CallScope, part: impl Future<Output = T>) -> Part<T> {
    let out_of_time = async {
        match scope.limit.time() {
            Some(limit) => scope.clock.spent(limit).await,
            None => pending().await,
        }
    };
    tokio::select! {
        biased;
        done = part => Part::Done(done),
        () = scope.cut.cancelled() => Part::CutOff,
        () = out_of_time => Part::OutOfTime(scope.limit.passed()),
    }
}

fn provenance(target: &Target, meter: &Meter) -> Provenance {
    let component = &target.plugin.component;
    Provenance {
        plugin: component.info().name.clone(),
        version: component.info().version.clone(),
        sha256: component.sha256().to_owned(),
        grants_digest: target.grants_digest.clone(),
        guest_cpu_us: meter.guest_cpu().as_micros() as u64,
        peak_memory: meter.peak_memory(),
    }
}

/// A record with everything that is known of a case before it is called.
fn blank(case: &Case, prompt: Option<&str>) -> CaseRecord {
    let column = &case.column;
    CaseRecord {
        id: uuid::Uuid::now_v7().to_string(),
        prompt_idx: case.id.prompt_idx,
        test_idx: case.id.test_idx,
        repeat_index: case.repeat_index,
        repeat_group: None,
        prompt_id: column.prompt.id.clone(),
        provider: ProviderRef {
            id: column.provider.id.clone(),
            label: column.provider.label.clone(),
        },
        prompt: PromptRecord {
            raw: prompt.unwrap_or(&column.prompt.raw).to_owned(),
            label: column.prompt.label.clone(),
            config: column.prompt.config.clone(),
        },
        vars: (*case.vars).clone(),
        test_case: test_case(case),
        response: None,
        grading_result: None,
        named_scores: Map::new(),
        score: 0.0,
        success: false,
        error: None,
        error_code: None,
        failure_reason: Outcome::Error.failure_reason(),
        outcome: Outcome::Error,
        latency_ms: 0,
        cost: None,
        token_usage: TokenUsage::default(),
        metadata: case.test.metadata.clone(),
        question: None,
        provenance: None,
    }
}

/// The test with the variables of this one case.
pub(crate) fn test_case(case: &Case) -> Value {
    let mut test = case.test.json.clone();
    if let Value::Object(test) = &mut test {
        test.insert("vars".to_owned(), Value::Object((*case.vars).clone()));
    }
    test
}

fn graded_record(case: &Case, prompt: &str, grade: CaseGrade) -> CaseRecord {
    let mut record = blank(case, Some(prompt));
    record.outcome = grade.outcome;
    record.success = grade.outcome == Outcome::Passed;
    record.failure_reason = grade.outcome.failure_reason();
    record.score = grade.record.score;
    record.named_scores.clone_from(&grade.record.named_scores);
    if grade.outcome == Outcome::Error {
        let components = &grade.record.component_results;
        // A budget comes first: with a larger one the case can be graded.
        let over = components
            .iter()
            .find(|c| c.error_code == Some(FailureCode::Budget));
        if over.is_some() {
            record.outcome = Outcome::BudgetExceeded;
            record.failure_reason = record.outcome.failure_reason();
        }
        let ungraded = over.or_else(|| components.iter().find(|c| c.error_code.is_some()));
        record.error = ungraded.map(|component| component.reason.clone());
        record.error_code = ungraded.and_then(|component| component.error_code.clone());
    } else if !record.success {
        record.error = Some(grade.record.reason.clone());
    }
    record.grading_result = Some(grade.record);
    record
}

/// The record with the provider's answer, whatever came of it.
fn answered(mut record: CaseRecord, answer: Answer) -> CaseRecord {
    record.latency_ms = answer.latency.as_millis() as u64;
    record.token_usage = answer.record.token_usage;
    record.cost = answer.record.cost;
    record.response = Some(answer.record);
    record
}

fn failed(case: &Case, prompt: Option<&str>, failure: &CallFailure) -> CaseRecord {
    let mut record = blank(case, prompt);
    match failure.code {
        FailureCode::Budget => record.outcome = Outcome::BudgetExceeded,
        // A verdict on the question, which running it again would not change.
        FailureCode::QuestionBudget => record.outcome = Outcome::Failed,
        _ => {}
    }
    record.failure_reason = record.outcome.failure_reason();
    record.error = Some(failure.message.clone());
    record.error_code = Some(failure.code.clone());
    record.latency_ms = failure.latency.as_millis() as u64;
    if let Some(status) = failure.status {
        record
            .metadata
            .insert("http".to_owned(), serde_json::json!({ "status": status }));
    }
    record
}

/// The row of a case that was stopped between its answer and its grade.
fn ungraded(case: &Case, prompt: &str) -> CaseRecord {
    let message = "stopped before it was graded; the run can be resumed";
    let mut record = failed(
        case,
        Some(prompt),
        &CallFailure::new(FailureCode::Cancelled, message),
    );
    record.outcome = Outcome::Cancelled;
    record
}

/// The row of a case that ended, or was at work, when the run's time was up.
pub(crate) fn out_of_time(
    record: Option<CaseRecord>,
    case: &Case,
    limit: Option<Duration>,
) -> CaseRecord {
    match record {
        None => failed(
            case,
            None,
            &CallFailure::new(FailureCode::TIMEOUT, time_is_up(limit)),
        ),
        Some(ended) => cut_by_time(ended, limit),
    }
}

/// The row of a case that may have been stopped after its answer, when the run's time was up.
pub(crate) fn cut_by_time(record: CaseRecord, limit: Option<Duration>) -> CaseRecord {
    if record.outcome != Outcome::Cancelled {
        return record;
    }
    CaseRecord {
        outcome: Outcome::Error,
        error: Some(time_is_up(limit)),
        error_code: Some(FailureCode::TIMEOUT),
        ..record
    }
}

fn time_is_up(limit: Option<Duration>) -> String {
    let ms = limit.unwrap_or_default().as_millis();
    format!("cut off: the run took longer than {ms} ms (maxEvalTimeMs)")
}

/// The row of a case whose task panicked: a bug of ours, which must not cost the run.
pub(crate) fn panicked(case: &Case, why: &str) -> CaseRecord {
    let message = format!("a bug in runner, please report it: the case's task ended with {why}");
    failed(
        case,
        None,
        &CallFailure::new(FailureCode::Internal, message),
    )
}
