//! Runs a case's assertions.
//!
//! A few at once, results in the order written. An assertion that can't be graded (a crash, a
//! limit, a value that makes no sense) is a component that says so; the others go on.

use futures_util::stream::{self, StreamExt};
use runner_config::plan::{Assertion, Case, Check};
use runner_sandbox::abi::{CallContext, Grade, Input, Inputs, Message};
use serde_json::{Map, Value};

use crate::answer::Answer;
use crate::call::{CallFailure, CallScope};
use crate::case::test_case;
use crate::grading::Graded;
use crate::record::{ComponentRecord, PartRecord, TokenUsage};

/// What the assertions of a case came to, in the order written, members of sets in place.
pub(crate) struct Judged {
    pub(crate) graded: Vec<Graded>,
    /// Tokens that graders used.
    pub(crate) tokens: TokenUsage,
}

/// What every assertion of a case reads.
struct Bench<'a> {
    scope: &'a CallScope,
    case: &'a Case,
    answer: &'a Answer,
    prompt: &'a [Message],
    identity: &'a CallContext,
}

/// Grades `answer` by the case's assertions.
pub(crate) async fn judge(
    scope: &CallScope,
    case: &Case,
    answer: &Answer,
    prompt: &[Message],
    identity: &CallContext,
) -> Judged {
    let bench = Bench {
        scope,
        case,
        answer,
        prompt,
        identity,
    };
    let assertions = case.test.assertions.iter().flat_map(Check::members);
    // Collected first: a stream that maps borrows lazily is not `Send` to the compiler.
    let grading: Vec<_> = assertions.map(|assertion| bench.grade(assertion)).collect();
    let graded: Vec<(Graded, TokenUsage)> = stream::iter(grading)
        .buffered(scope.context.assertion_concurrency)
        .collect()
        .await;
    let mut tokens = TokenUsage::default();
    let graded = graded
        .into_iter()
        .map(|(graded, used)| {
            tokens.add(&used);
            graded
        })
        .collect();
    Judged { graded, tokens }
}

impl Bench<'_> {
    async fn grade(&self, assertion: &Assertion) -> (Graded, TokenUsage) {
        let metric = assertion
            .metric
            .as_deref()
            .map(|metric| self.case.render_text(metric));
        let value = match assertion.render_value(&self.case.scope) {
            Ok(value) => value,
            Err(error) => {
                let failure = CallFailure::new("template", error.to_string());
                return (
                    Graded {
                        component: ungraded(assertion, failure),
                        metric,
                    },
                    TokenUsage::default(),
                );
            }
        };
        let rendered = value
            .as_ref()
            .filter(|value| Some(*value) != assertion.value.as_ref())
            .cloned();
        let grader = &self.scope.context.graders[&assertion.kind];
        let input = self.input(assertion, value.as_ref(), grader.reads);
        let (result, tokens) = self
            .scope
            .evaluate(grader, assertion.judges, input, self.identity.clone())
            .await;
        let mut component = match result {
            Ok(grade) => component(assertion, grade),
            Err(failure) => ungraded(assertion, failure),
        };
        if let Some(rendered) = rendered {
            component
                .metadata
                .insert("renderedAssertionValue".to_owned(), rendered);
        }
        (Graded { component, metric }, tokens)
    }

    /// The grader's own keys: those beside the type, and the test's `rubricPrompt`.
    fn knobs(&self, assertion: &Assertion) -> Option<String> {
        const RUBRIC_PROMPT: &str = "rubricPrompt";
        let mut knobs = assertion.knobs.clone();
        if let Some(prompt) = self.case.test.options.get(RUBRIC_PROMPT) {
            knobs.entry(RUBRIC_PROMPT).or_insert_with(|| prompt.clone());
        }
        (!knobs.is_empty()).then(|| Value::Object(knobs).to_string())
    }

    fn input(&self, assertion: &Assertion, value: Option<&Value>, reads: Inputs) -> Input {
        let output = &self.answer.record.output;
        Input {
            type_: assertion.kind.clone(),
            inverse: assertion.inverse,
            value_json: value.map(Value::to_string),
            threshold: assertion.threshold,
            config_json: assertion
                .config
                .as_ref()
                .map(|config| Value::Object(config.clone()).to_string()),
            output: self.answer.text.clone(),
            output_json: (!output.is_string()).then(|| output.to_string()),
            completion: reads
                .contains(Inputs::COMPLETION)
                .then(|| self.answer.completion.clone()),
            prompt: if reads.contains(Inputs::PROMPT) {
                self.prompt.to_vec()
            } else {
                Vec::new()
            },
            vars_json: reads
                .contains(Inputs::VARS)
                .then(|| Value::Object((*self.case.scope).clone()).to_string()),
            test_json: reads
                .contains(Inputs::TEST)
                .then(|| test_case(self.case).to_string()),
            latency_ms: Some(self.answer.latency.as_millis() as u64)
                .filter(|_| reads.contains(Inputs::LATENCY)),
            cost_usd: self
                .answer
                .record
                .cost
                .filter(|_| reads.contains(Inputs::COST)),
            extra_json: self.knobs(assertion),
        }
    }
}

fn component(assertion: &Assertion, grade: Grade) -> ComponentRecord {
    let mut component = ComponentRecord::plain(
        grade.pass,
        grade.score,
        grade.reason,
        assertion.json.clone(),
    );
    if let Some(Value::Object(metadata)) = grade
        .metadata_json
        .and_then(|json| serde_json::from_str(&json).ok())
    {
        component.metadata = metadata;
    }
    component.named_scores = grade
        .named_scores
        .into_iter()
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

fn ungraded(assertion: &Assertion, failure: CallFailure) -> ComponentRecord {
    let mut component = ComponentRecord::plain(false, 0.0, failure.message, assertion.json.clone());
    component.error_code = Some(failure.code);
    component
}
