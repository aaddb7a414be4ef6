//! Runs a case's assertions.
//!
//! A few at once, results in the order written. An assertion that can't be graded (a crash, a
//! limit, a value that makes no sense) is a component that says so; the others go on. Those with a
//! `when` come after the others, one by one. Where a
//! type is a language, its value is code, which the host runs by the plugin of the language.

use std::borrow::Cow;
use std::sync::OnceLock;

use futures_util::stream::{self, StreamExt};
use runner_config::plan::{Assertion, Case, Check, Script};
use runner_config::redacted_provider;
use runner_sandbox::abi::{Argument, CallContext, Input, Inputs, ReadGrade, Request};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::answer::Answer;
use crate::around::{provider, transform, transform_context};
use crate::call::CallScope;
use crate::failure::{CallFailure, FailureCode};
use crate::grading::{Graded, LARGEST_SCORE, LONGEST_METRIC, MOST_NAMED_SCORES, beyond, overnamed};
use crate::human;
use crate::memory::of_filled;
use crate::plugins::Grader;
use crate::private_door;
use crate::record::{ComponentRecord, GraderUsage, PartRecord, ResponseRecord, TestCase};
use crate::request::{json, text};
use crate::script::verdict::{self, Rules};
use crate::script::{self, Cause, Fault, argument, made};

mod cascade;
mod foreign;
mod kept_grades;

use cascade::Cascade;
use foreign::{MOST_STATED, clamped, held, shown};
use kept_grades::KeptGrades;

/// Where the time to the first token stands in an input's `extra-json`, in milliseconds.
const TTFT: &str = "ttftMs";

/// What the assertions of a case came to, in the order written, members of sets in place.
pub(crate) struct Grades {
    pub(crate) graded: Vec<Graded>,
    /// What models used that graders asked.
    pub(crate) used: GraderUsage,
}

/// What the assertions of a case are about.
#[derive(Clone, Copy)]
pub(crate) struct Subject<'a> {
    pub(crate) case: &'a Case,
    /// What was sent.
    pub(crate) request: &'a Request,
    pub(crate) answer: &'a Answer,
}

/// The assertions of a case, with what every one of them reads.
struct Assertions<'a> {
    scope: &'a CallScope,
    case: &'a Case,
    request: &'a Request,
    answer: &'a Answer,
    identity: &'a CallContext,
    /// The context of code as JSON, for assertions without a `config`.
    context: OnceLock<String>,
    kept: KeptGrades<'a>,
}

/// The `context` of code that is about an output. Written as JSON without a detour: every case
/// with code has one.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CodeContext<'a> {
    prompt: &'a str,
    vars: &'a Map<String, Value>,
    test: TestCase,
    provider: Value,
    provider_response: &'a ResponseRecord,
    // What there is none of is undefined to code, not null.
    #[serde(skip_serializing_if = "Option::is_none")]
    log_probs: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    config: Option<&'a Map<String, Value>>,
    metadata: &'a Map<String, Value>,
}

/// An output as one assertion sees it.
struct Output<'a> {
    value: Cow<'a, Value>,
    text: Cow<'a, str>,
}

/// What one assertion came to, and what models that it asked used.
type Attempt = Result<(ComponentRecord, GraderUsage), CallFailure>;

/// Grades an answer by the case's assertions.
pub(crate) async fn grade_all(
    scope: &CallScope,
    Subject {
        case,
        request,
        answer,
    }: Subject<'_>,
    identity: &CallContext,
) -> Grades {
    let all = Assertions {
        scope,
        case,
        request,
        answer,
        identity,
        context: OnceLock::new(),
        kept: KeptGrades::new(&scope.context.masker, &scope.memory),
    };
    let checks = &*case.test.assertions;
    let assertions: Vec<&Assertion> = checks.iter().flat_map(Check::members).collect();
    let mut used = GraderUsage::default();
    // Those without a condition depend on nothing, so they run side by side and before all others: the others
    // look at some of them, and may be spared by what they say.
    // Collected first: a stream that maps borrows lazily is not `Send` to the compiler.
    let unconditional = assertions.iter().filter(|it| it.when.is_none());
    let grading: Vec<_> = unconditional.map(|it| all.grade(it)).collect();
    let done: Vec<(Graded, GraderUsage)> = stream::iter(grading)
        .buffered(scope.context.assertion_concurrency)
        .collect()
        .await;
    // In the order written, as `buffered` gives them, not in that of their ends: below they are taken out one
    // by one where each belongs.
    let mut done = done.into_iter();
    let mut graded: Vec<Graded> = Vec::with_capacity(assertions.len());
    // Most tests have no conditions, and then nobody asks what became of the assertions so far.
    let has_conditions = assertions.iter().any(|it| it.when.is_some());
    let mut cascade = has_conditions.then(Cascade::default);
    for check in checks {
        let start = graded.len();
        for assertion in check.members() {
            let asked = assertion.when.as_ref().zip(cascade.as_ref());
            // What it looks at stands before it, and has a grade by now.
            let (one, took) = match asked.map(|(when, cascade)| cascade.skips(check, when)) {
                None => done.next().expect("all without a condition are graded"),
                // One by one: the next may look at this one.
                Some(None) => all.grade(assertion).await,
                Some(Some(reason)) => all.skip(assertion, reason).await,
            };
            if let Some(cascade) = &mut cascade {
                cascade.graded(assertion, &one);
            }
            used.add(&took);
            graded.push(one);
        }
        // Only now: from outside, a set is looked at as a whole, which it is with its last member.
        if let Some(cascade) = &mut cascade {
            cascade.ended(check, &graded[start..]);
        }
    }
    Grades { graded, used }
}

impl Assertions<'_> {
    /// Skips an assertion whose `when` does not hold.
    async fn skip(&self, assertion: &Assertion, reason: String) -> (Graded, GraderUsage) {
        let component = cascade::skipped(reason, assertion.json.clone());
        let metric = self.metric(assertion).await;
        (Graded { component, metric }, GraderUsage::default())
    }

    async fn metric(&self, assertion: &Assertion) -> Option<String> {
        match &assertion.metric {
            Some(metric) => Some(self.scope.metric(self.case, metric, self.identity).await),
            None => None,
        }
    }

    async fn grade(&self, assertion: &Assertion) -> (Graded, GraderUsage) {
        let (component, used) = match self.attempt(assertion).await {
            Ok(done) => done,
            Err(failure) => (ungraded(assertion, failure), GraderUsage::default()),
        };
        let component = self.kept.take(assertion, component);
        let metric = self.metric(assertion).await;
        (Graded { component, metric }, used)
    }

    /// Takes the steps from output to value to grade; an error is an assertion that can't be graded.
    async fn attempt(&self, assertion: &Assertion) -> Attempt {
        let output = self.output(assertion).await?;
        let is_code = !self.scope.context.graders.contains_key(&assertion.kind);
        let value = match &assertion.script {
            Some(script) if !is_code => {
                let arguments = self.arguments(assertion, &output);
                let made = self.scope.make(script, &arguments, self.identity).await?;
                let made = made::value(made).map_err(|why| script::failure(script, &why))?;
                Some(made)
            }
            _ => self.filled(assertion).await?,
        };
        let (mut component, used) = if let Some(waiting) = human::waiting(assertion) {
            (waiting, GraderUsage::default())
        } else if is_code {
            let mut grade = self.run(assertion, value.as_ref(), &output).await?;
            if self.case.has_others_words && value != assertion.value {
                // The words that were filled in may be code.
                grade = clamped(grade, 0.0, 1.0);
            }
            (component(assertion, grade), GraderUsage::default())
        } else {
            self.ask(assertion, value.as_ref(), &output).await?
        };
        if let Some(rendered) = value.filter(|value| Some(value) != assertion.value.as_ref()) {
            component
                .metadata
                .insert("renderedAssertionValue".to_owned(), rendered);
        }
        Ok((component, used))
    }

    /// Returns the assertion's value, filled in. A few characters can become megabytes, so it is made while
    /// there is room, and what it takes is waited for.
    async fn filled(&self, assertion: &Assertion) -> Result<Option<Value>, CallFailure> {
        let render = |case: &Case| case.render_value(assertion);
        let CallScope { memory, clock, .. } = self.scope;
        if !memory.has_room() {
            let _clock = clock.pause();
            memory.room().await;
        }
        let filled = self.scope.filled(self.case, self.identity, render).await?;
        let filled =
            filled.map_err(|error| CallFailure::new(FailureCode::Template, error.to_string()))?;
        let made = filled
            .as_ref()
            .filter(|it| Some(*it) != assertion.value.as_ref());
        let bytes = made.map_or(0, of_filled);
        if bytes > 0 {
            let _clock = clock.pause();
            memory.take(bytes).await;
        }
        Ok(filled)
    }

    /// Returns the answer's output, or what the assertion's `transform` makes of it.
    async fn output(&self, assertion: &Assertion) -> Result<Output<'_>, CallFailure> {
        let Some(script) = &assertion.transform else {
            return Ok(Output {
                value: Cow::Borrowed(&self.answer.record.output),
                text: Cow::Borrowed(&self.answer.text),
            });
        };
        let output = &self.answer.record.output;
        let value = self.transformed(script, output).await?;
        Ok(Output {
            text: Cow::Owned(text(&value)),
            value: Cow::Owned(value),
        })
    }

    /// Returns what a `transform` or `contextTransform` makes of an output.
    async fn transformed(&self, script: &Script, output: &Value) -> Result<Value, CallFailure> {
        let metadata = &self.answer.record.metadata;
        transform(
            self.scope,
            script,
            output,
            transform_context(self.case, &self.request.prompt, metadata),
            self.identity,
        )
        .await
    }

    /// Grades by code.
    async fn run(
        &self,
        assertion: &Assertion,
        value: Option<&Value>,
        output: &Output<'_>,
    ) -> Result<ReadGrade, CallFailure> {
        let code = value.and_then(Value::as_str).unwrap_or_default();
        let runnable = script::of_assertion(assertion, code);
        let name = runnable.program.name.clone();
        let language = runnable.program.language.clone();
        let runs_outside = runnable.outside.is_some();
        let rules = Rules {
            inverse: assertion.inverse,
            threshold: assertion.threshold,
            code: if assertion.script.is_some() {
                &name
            } else {
                code
            },
            language: &language,
        };
        let arguments = self.arguments(assertion, output);
        let scope = self.scope;
        let given = scope.run_code(runnable, &arguments, self.identity).await?;
        // Code that lacks a package says nothing of the answer.
        if let Err(Fault(message, Cause::Setup)) = given {
            let message = format!("the code could not run: {message}");
            return Err(CallFailure::new(FailureCode::Script, message));
        }
        let grade = verdict::grade(&given, rules);
        // A stranger's interpreter gives the verdict itself, but where a program of the person's ran.
        let interpreter = self.scope.context.interpreters.get(&language);
        Ok(match interpreter.filter(|_| !runs_outside) {
            Some(interpreter) => held(&interpreter.plugin, grade),
            None => grade,
        })
    }

    /// What code about an assertion gets: `output` and `context`.
    fn arguments(&self, assertion: &Assertion, output: &Output<'_>) -> [Argument; 2] {
        let context = match &assertion.config {
            None => self.context.get_or_init(|| self.code_context(None)).clone(),
            Some(config) => self.code_context(Some(config)),
        };
        [
            argument("output", output.value.to_string()),
            argument("context", context),
        ]
    }

    fn code_context(&self, config: Option<&Map<String, Value>>) -> String {
        let record = &self.answer.record;
        let context = CodeContext {
            prompt: &self.request.prompt,
            vars: &self.case.scope,
            test: TestCase::of(self.case),
            provider: provider(self.case),
            provider_response: record,
            log_probs: record.metadata.get("logProbs"),
            config,
            metadata: &record.metadata,
        };
        json(&context)
    }

    /// Grades by a plugin.
    async fn ask(
        &self,
        assertion: &Assertion,
        value: Option<&Value>,
        output: &Output<'_>,
    ) -> Attempt {
        let grader = &self.scope.context.graders[&assertion.kind];
        let context = match &assertion.context_transform {
            Some(script) => Some(self.transformed(script, &output.value).await?),
            None => None,
        };
        let input = self.input(assertion, value, output, context, grader);
        let (result, used) = self
            .scope
            .evaluate(grader, assertion.judges, &input, self.identity)
            .await;
        let component = match result {
            Ok(grade) => {
                let grade = held(&grader.plugin, grade);
                // A judge's scale may end at 10 or 100; what a server says beyond that says no more.
                component(assertion, clamped(grade, -MOST_STATED, MOST_STATED))
            }
            Err(failure) => ungraded(assertion, failure),
        };
        Ok((component, used))
    }

    fn input(
        &self,
        assertion: &Assertion,
        value: Option<&Value>,
        output: &Output<'_>,
        context: Option<Value>,
        grader: &Grader,
    ) -> Input {
        let reads = grader.reads;
        let context = context.map(|context| (private_door::CONTEXT, context));
        let tools = offered(self.case).map(Value::Object);
        let first_token = self.answer.record.ttft_ms;
        let first_token = first_token.filter(|_| reads.contains(Inputs::LATENCY));
        let made = context
            .into_iter()
            .chain(tools.map(|tools| (private_door::PROVIDER_CONFIG, tools)))
            .chain(first_token.map(|ms| (TTFT, ms.into())));
        Input {
            type_: grader.kind.clone(),
            inverse: assertion.inverse,
            value_json: value.map(Value::to_string),
            threshold: assertion.threshold,
            config_json: assertion.config.as_ref().map(json),
            output: output.text.clone().into_owned(),
            output_json: (!output.value.is_string()).then(|| output.value.to_string()),
            completion: reads
                .contains(Inputs::COMPLETION)
                .then(|| self.answer.completion.clone()),
            prompt: if reads.contains(Inputs::PROMPT) {
                self.request.messages.clone()
            } else {
                Vec::new()
            },
            vars_json: reads
                .contains(Inputs::VARS)
                .then(|| json(&*self.case.scope)),
            test_json: reads
                .contains(Inputs::TEST)
                .then(|| shown(&grader.plugin, &TestCase::of(self.case))),
            latency_ms: Some(self.answer.latency.as_millis() as u64)
                .filter(|_| reads.contains(Inputs::LATENCY)),
            cost_usd: self
                .answer
                .record
                .cost
                .filter(|_| reads.contains(Inputs::COST)),
            extra_json: private_door::extra(assertion, &self.case.test.options, made),
        }
    }
}

/// The tools of the provider's config, those of the prompt's first, without the keys that they hold for servers of
/// tools; `None` if there are none. The rest of the config stays with the host: it may hold what is not for graders.
fn offered(case: &Case) -> Option<Map<String, Value>> {
    let places = [
        case.column.prompt.config.as_ref(),
        Some(&case.column.provider.config),
    ];
    let of = |key: &str| {
        places
            .iter()
            .flatten()
            .find_map(|config| config.get(key))
            .map(|tools| redacted_provider(tools.clone()))
    };
    let tools = ["tools", "functions"].into_iter();
    let tools: Map<String, Value> = tools
        .filter_map(|key| Some((key.to_owned(), of(key)?)))
        .collect();
    (!tools.is_empty()).then_some(tools)
}

pub(crate) fn component(assertion: &Assertion, mut grade: ReadGrade) -> ComponentRecord {
    let named = grade.named_scores.iter().map(|(_, score)| *score);
    let reason = beyond(named.chain([grade.score])).or_else(|| overnamed(&grade.named_scores));
    if let Some(reason) = reason {
        grade = ReadGrade {
            pass: false,
            score: 0.0,
            reason,
            ..grade
        };
    }
    if assertion.of_data {
        // Beside scores of other rows a larger one would be all that counts. Whether the row passes is its own opinion.
        grade = clamped(grade, 0.0, 1.0);
    }
    let mut component = ComponentRecord::plain(
        grade.pass,
        grade.score,
        grade.reason,
        assertion.json.clone(),
    );
    component.metadata = grade.metadata;
    component.named_scores = grade
        .named_scores
        .into_iter()
        .filter(|(name, score)| score.abs() <= LARGEST_SCORE && name.len() <= LONGEST_METRIC)
        .take(MOST_NAMED_SCORES)
        .map(|(name, score)| (name, score.into()))
        .collect::<Map<_, _>>();
    component.parts = grade
        .components
        .into_iter()
        .map(|part| PartRecord {
            name: part.name,
            pass: part.pass,
            score: part.score,
            weight: part.weight,
            reason: part.reason,
        })
        .collect();
    component
}

pub(crate) fn ungraded(assertion: &Assertion, failure: CallFailure) -> ComponentRecord {
    let mut component = ComponentRecord::plain(false, 0.0, failure.message, assertion.json.clone());
    component.error_code = Some(failure.code);
    component
}

#[cfg(test)]
mod tests;
