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

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use runner_config::plan::{Case, Check, TooMuch};
use runner_gateway::WorkClock;
use runner_sandbox::abi;
use tokio_util::sync::CancellationToken;

use crate::answer::Answer;
use crate::around::{self, hooks};
use crate::assertions::{Grades, Subject, grade_all};
use crate::call::{CallScope, Meter, WorkLimit, input_of};
use crate::context::RunContext;
use crate::failure::{CallFailure, FailureCode};
use crate::grading::{CaseGrade, Graded, aggregate};
use crate::human;
use crate::identity::call_id;
use crate::memory::{self, Account, MakingTurn};
use crate::plugins::Target;
use crate::providers::ProviderNumber;
use crate::record::{CaseRecord, Conclusion, GraderUsage, Outcome, Provenance, attempt};
use crate::request::request;
use crate::state::CarriedInputs;
use crate::stop::{Stop, unless_stopped};

/// A turn to make what a case consists of, and its account.
pub(crate) struct RoomToBegin<'a> {
    making: MakingTurn<'a>,
    memory: Arc<Account>,
}

/// Waits until a case can be made whose variables take so many bytes yet; `None`: it was cut off.
pub(crate) async fn begin<'a>(
    context: &'a RunContext,
    holder: ProviderNumber,
    vars: u64,
    given: &CarriedInputs,
    cut: &CancellationToken,
) -> Option<RoomToBegin<'a>> {
    let begin = async {
        let making = context.memory.making(holder).await;
        let memory = context.memory.open(Some(holder));
        let given = if refusal(given).is_none() {
            memory::of_given(given.values())
        } else {
            0
        };
        let needs = given + memory::of_vars(vars);
        if needs > 0 {
            memory.reserve(needs).await;
        }
        RoomToBegin { making, memory }
    };
    cut.run_until_cancelled(begin).await
}

/// Runs a case to its end; `None` when `cut` cut it off before it had an answer. What the case holds
/// of the memory comes with its record.
pub(crate) async fn carry_through(
    context: &Arc<RunContext>,
    case: &Case,
    room: RoomToBegin<'_>,
    given: CarriedInputs,
    cut: &CancellationToken,
) -> Option<(CaseRecord, Arc<Account>)> {
    let RoomToBegin { making, memory } = room;
    let case = &*following(case, &given, context.data_rows.refusal(case));
    drop(given);
    let scope = CallScope {
        context: context.clone(),
        case: case.id,
        clock: WorkClock::start(),
        meter: Arc::new(Meter::default()),
        memory,
        cut: cut.clone(),
        limit: WorkLimit::new(
            context.timeout(case),
            case.test.question.as_ref().and_then(|it| it.budget.time),
        ),
        depth: 0,
        repeat_index: case.repeat_index,
        input: input_of(case),
    };
    let limit = scope.limit.time();
    let identity = abi::CallContext {
        deadline_ms: limit.map(|limit| limit.as_millis() as u64),
        test_index: case.id.test_idx,
        repeat_index: case.repeat_index,
        ..abi::CallContext::new(call_id(case, &context.masker))
    };
    let changed = unless_stopped(&scope, hooks::before_each(&scope, case, &identity)).await;
    let changed = changed.map(|changed| changed.map_or(Cow::Borrowed(case), Cow::Owned));
    let (case, record) = match changed {
        Ok(changed) => {
            let record = Box::pin(row_of(&scope, &changed, &identity, making)).await?;
            (changed, record)
        }
        Err(stop) => (Cow::Borrowed(case), Draft::of(case).end(&scope, Err(stop))?),
    };
    let record = hooks::after_each(&scope, &case, record, &identity).await;
    Some((record, scope.memory))
}

/// A case with what earlier ones left to it. One that is `refused` keeps nothing of its variables.
fn following<'a>(case: &'a Case, given: &CarriedInputs, refused: Option<TooMuch>) -> Cow<'a, Case> {
    if given.is_empty() && refused.is_none() {
        return Cow::Borrowed(case);
    }
    let mut own = case.clone();
    if refused.is_some() {
        own.vars = Arc::default();
        own.refused = refused;
        return Cow::Owned(own);
    }
    match refusal(given) {
        Some(why) => own.refused = Some(why),
        None => own.follow(&given.to_vars()),
    }
    Cow::Owned(own)
}

/// Why a case can't have what it is given.
fn refusal(given: &CarriedInputs) -> Option<TooMuch> {
    if given.is_lost() {
        return Some(TooMuch::Lost);
    }
    (!Case::can_follow(given.values())).then_some(TooMuch::Left)
}

/// What is known of a case so far.
struct Draft<'a> {
    /// With the variables that are made for it.
    case: Cow<'a, Case>,
    /// As it is sent; `None` before there is one.
    request: Option<abi::Request>,
    answer: Option<Answer>,
}

impl<'a> Draft<'a> {
    fn of(case: &'a Case) -> Self {
        Self {
            case: Cow::Borrowed(case),
            request: None,
            answer: None,
        }
    }

    /// The row of the case, which ended so; `None` if it was cut off before it had an answer.
    fn end(self, scope: &CallScope, ended: Result<CaseGrade, Stop>) -> Option<CaseRecord> {
        let Self {
            case,
            request,
            answer,
        } = self;
        let prompt = request.map(|request| request.prompt);
        let has_prompt = prompt.is_some();
        let mut record = match ended {
            Ok(grade) => graded(&case, prompt, grade),
            Err(Stop::Failed(failure)) => failed(&case, prompt, &failure),
            Err(Stop::CutOff) => {
                answer.as_ref()?;
                let message = "stopped before it was graded; the run can be resumed";
                let failure = CallFailure::new(FailureCode::Cancelled, message);
                failed(&case, prompt, &failure)
            }
        };
        if has_prompt && case.test.output.is_none() {
            record.provenance = Some(provenance(scope.context.target(&case), &scope.meter));
        }
        record.attempts = attempt::of(&scope.meter.attempts);
        record.log = scope.meter.logged();
        if let Some(answer) = answer {
            record.latency_ms = answer.latency.as_millis() as u64;
            record.token_usage = answer.record.token_usage;
            record.cost = answer.record.cost;
            record.response = Some(answer.record);
        }
        Some(record)
    }
}

/// Makes the row of a case, from its variables to its grade.
async fn row_of(
    scope: &CallScope,
    case: &Case,
    identity: &abi::CallContext,
    making: MakingTurn<'_>,
) -> Option<CaseRecord> {
    let mut draft = Draft::of(case);
    let ended = Box::pin(render_call_grade(scope, &mut draft, identity, making)).await;
    draft.end(scope, ended)
}

/// Makes variables and prompt, for which it has the turn, calls, and grades. The time that the case
/// may work bounds each part by itself, so that an answer outlives the grader that hangs over it.
async fn render_call_grade(
    scope: &CallScope,
    draft: &mut Draft<'_>,
    identity: &abi::CallContext,
    making: MakingTurn<'_>,
) -> Result<CaseGrade, Stop> {
    if let Some(changed) =
        unless_stopped(scope, around::with_vars(scope, &draft.case, identity)).await?
    {
        draft.case = Cow::Owned(changed);
    }
    let case = &*draft.case;
    if let Some(refused) = &case.refused {
        let message = format!("{}: the case is too large: {refused}", case.test.at);
        return Err(CallFailure::new(FailureCode::TooLarge, message).into());
    }
    let rendered = unless_stopped(scope, around::rendered(scope, case, identity)).await?;
    let needs = memory::of_case(&case.test, &case.vars, &rendered.text);
    if needs > 0 {
        let _clock = scope.clock.pause();
        let reserve = async {
            scope.memory.reserve(needs).await;
            Ok(())
        };
        unless_stopped(scope, reserve).await?;
    }
    drop(making);
    let request = request(case, rendered, scope.context.target(case).reads_vars());
    let request = &*draft.request.insert(request);
    let answer = answer(scope, case, request, identity).await?;
    let answer = draft.answer.insert(answer);
    scope.memory.add(memory::of_answer(&answer.text));
    scope.memory.add(memory::of_values(answer.record.values()));
    if let Some(failure) = answer.unread.take() {
        return Err(failure.into());
    }
    if !answer.says_something() {
        let message = "the provider gave no output";
        return Err(CallFailure::new(FailureCode::BAD_RESPONSE, message).into());
    }
    let output = unless_stopped(scope, around::output(scope, case, answer, identity)).await?;
    if let Some(output) = output {
        scope.memory.add(memory::of_values([&output]));
        answer.replace_output(output);
    }
    scope.context.asking.read(case.id);
    let subject = Subject {
        case,
        request,
        answer,
    };
    unless_stopped(scope, grade(scope, subject, identity)).await
}

/// Gets the answer that the test brings with it, or the provider's.
async fn answer(
    scope: &CallScope,
    case: &Case,
    request: &abi::Request,
    identity: &abi::CallContext,
) -> Result<Answer, Stop> {
    if let Some(saved) = &case.test.output {
        return Ok(Answer::saved(saved));
    }
    let target = scope.context.target(case);
    let call = scope.complete(target, request, (case, identity));
    Ok(Answer::new(unless_stopped(scope, call).await?))
}

/// Grades an answer; an error if its scoring function broke a limit.
async fn grade(
    scope: &CallScope,
    subject: Subject<'_>,
    identity: &abi::CallContext,
) -> Result<CaseGrade, CallFailure> {
    let case = subject.case;
    let Grades { graded, used } = grade_all(scope, subject, identity).await;
    for check in case.test.assertions.iter() {
        if let Check::Set {
            metric: Some(metric),
            ..
        } = check
        {
            // What its filters give is known to the case from then on.
            scope.metric(case, metric, identity).await;
        }
    }
    let answered = human::answered(&graded);
    let grade = added_up(scope, case, (graded, used), identity).await?;
    match answered {
        None => Ok(grade),
        Some(answered) => {
            Box::pin(async {
                let [up, down] = answered;
                let up = added_up(scope, case, (up, used), identity).await?;
                let down = added_up(scope, case, (down, used), identity).await?;
                Ok(human::open(grade, [up, down]))
            })
            .await
        }
    }
}

/// The grade of a case whose assertions came to this.
async fn added_up(
    scope: &CallScope,
    case: &Case,
    (graded, used): (Vec<Graded>, GraderUsage),
    identity: &abi::CallContext,
) -> Result<CaseGrade, CallFailure> {
    let grade = aggregate(
        &case.test.assertions,
        case.test.threshold,
        graded,
        used,
        |metric| case.render_text(metric),
    );
    around::scored(scope, case, grade, identity).await
}

fn provenance(target: &Target, meter: &Meter) -> Provenance {
    let (plugin, version, sha256) = target.provenance();
    // Code of the config has no version; what runs it has its name.
    let (used, graders) = meter.used(&plugin, &version);
    Provenance {
        plugin,
        version,
        sha256,
        grants_digest: target.grants_digest.clone(),
        used,
        graders,
    }
}

fn graded(case: &Case, prompt: Option<String>, grade: CaseGrade) -> CaseRecord {
    let mut record = CaseRecord::new(case, prompt, grade.conclusion());
    record.named_scores.clone_from(&grade.record.named_scores);
    record.grading_result = Some(grade.record);
    record
}

fn failed(case: &Case, prompt: Option<String>, failure: &CallFailure) -> CaseRecord {
    let conclusion = Conclusion::failure(failure.code.clone(), &*failure.message);
    let mut record = CaseRecord::new(case, prompt, conclusion);
    record.latency_ms = failure.latency.as_millis() as u64;
    if let Some(status) = failure.status {
        let http = serde_json::json!({ "status": status });
        record.metadata.insert("http".to_owned(), http);
    }
    record
}

/// The row of a case that ended, or was at work, when the run's time was up.
pub(crate) fn out_of_time(record: Option<CaseRecord>, case: &Case, limit: Duration) -> CaseRecord {
    match record {
        None => failed(case, None, &time_is_up(limit)),
        Some(ended) => cut_by_time(ended, limit),
    }
}

/// The row of a case that may have been stopped after its answer, when the run's time was up.
pub(crate) fn cut_by_time(mut record: CaseRecord, limit: Duration) -> CaseRecord {
    if record.conclusion.outcome() == Outcome::Cancelled {
        let CallFailure { code, message, .. } = time_is_up(limit);
        record.conclusion = Conclusion::failure(code, message);
    }
    record
}

fn time_is_up(limit: Duration) -> CallFailure {
    let ms = limit.as_millis();
    let message = format!("cut off: the run took longer than {ms} ms (maxEvalTimeMs)");
    CallFailure::new(FailureCode::TIMEOUT, message)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    fn a_case() -> Case {
        fixture::case("prompts: [p]\nproviders: [echo]")
    }

    fn cut_off() -> CaseRecord {
        failed(
            &a_case(),
            Some("p".to_owned()),
            &CallFailure::new(FailureCode::Cancelled, "stopped before it was graded"),
        )
    }

    #[test]
    fn when_the_run_s_time_is_up_what_has_no_verdict_is_an_error_that_says_so() {
        let limit = Duration::from_millis(250);
        for record in [None, Some(cut_off())] {
            let record = out_of_time(record, &a_case(), limit);
            let told = "cut off: the run took longer than 250 ms (maxEvalTimeMs)";
            let expected = Conclusion::failure(FailureCode::TIMEOUT, told);
            assert_eq!(record.conclusion, expected);
        }
    }

    #[test]
    fn a_verdict_outlives_the_run_s_time() {
        let refused = CallFailure::new(FailureCode::Budget, "nothing is left");
        let ended = failed(&a_case(), None, &refused);
        let record = out_of_time(Some(ended.clone()), &a_case(), Duration::ZERO);
        assert_eq!(record.conclusion, ended.conclusion);
    }

    #[test]
    fn a_failure_s_status_and_latency_stand_in_the_row() {
        let failure = CallFailure {
            status: Some(503),
            latency: Duration::from_millis(7),
            ..CallFailure::new(FailureCode::BAD_RESPONSE, "no")
        };
        let record = failed(&a_case(), Some("p".to_owned()), &failure);
        assert_eq!(record.latency_ms, 7);
        assert_eq!(record.metadata["http"]["status"], 503);
        let without = failed(
            &a_case(),
            Some("p".to_owned()),
            &CallFailure::new(FailureCode::Budget, "no"),
        );
        assert!(without.metadata.is_empty());
    }

    #[test]
    fn a_bug_of_ours_is_said_to_be_one() {
        let record = panicked(&a_case(), "a panic");
        let told = "a bug in runner, please report it: the case's task ended with a panic";
        let expected = Conclusion::failure(FailureCode::Internal, told);
        assert_eq!(record.conclusion, expected);
    }

    #[test]
    fn who_follows_too_much_is_refused_and_copies_none_of_it() {
        let case = a_case();
        let large = serde_json::Value::from("x".repeat(65 << 20));
        let given =
            |value: &serde_json::Value| CarriedInputs::of_register("_register", value.clone());
        let followed = following(&case, &given(&large), None);
        assert!(followed.refused.is_some());
        assert!(!followed.scope.contains_key("_register"));
        let followed = following(&case, &given(&"small".into()), None);
        assert!(followed.refused.is_none());
        assert_eq!(followed.scope["_register"], "small");
        assert!(matches!(
            following(&case, &CarriedInputs::default(), None),
            Cow::Borrowed(_)
        ));
    }

    #[test]
    fn a_case_that_may_keep_no_more_keeps_no_variables() {
        let refused = Some(TooMuch::Kept { gib: 1 });
        let case = fixture::case("prompts: [p]\nproviders: [echo]\ntests: [{ vars: { a: b } }]");
        assert!(!case.vars.is_empty());
        let kept = following(&case, &CarriedInputs::default(), refused.clone());
        assert!(kept.vars.is_empty());
        assert_eq!(kept.refused, refused);
    }
}
