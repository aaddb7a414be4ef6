//! A finished case as it is stored and exported.
//!
//! The JSON shape is that of promptfoo's version 3 results (`results.results[]`), so that
//! existing scripts read it, plus fields of our own (`outcome`, `errorCode`, `repeatIndex`,
//! `provenance`). It is data only: how it came about is `case`'s business.

use std::sync::Arc;

use runner_config::plan::{Case, CaseId};
use runner_config::redacted_config;
pub use runner_store::Outcome;
use runner_store::{Annotation, Digest, Row};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::failure::FailureCode;

pub(crate) mod attempt;
mod conclusion;
mod cost;
mod people;
mod plugin;
mod question;
pub(crate) mod size;
mod test_case;

pub use attempt::AttemptRecord;
pub use conclusion::{Conclusion, NotPassed};
pub use cost::{CaseCost, GraderUsage};
pub use people::{ByPeople, PersonGrade};
pub use plugin::{LogRecord, PluginRecord, PluginUse};
pub use question::{ParseError, QuestionEnd, QuestionRecord, RunFault};
pub use test_case::TestCase;
use test_case::shared;

/// A finished case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CaseRecord {
    /// A UUID, new for each run of the case.
    pub id: String,
    /// Column of the results.
    pub prompt_idx: u32,
    /// Row of the results.
    pub test_idx: u32,
    /// Which repeat of the test this is, from 0.
    pub repeat_index: u32,
    /// What all repeats of a test with one set of variables share; absent where it runs once.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub repeat_group: Option<String>,
    /// sha256 of the prompt's label.
    pub prompt_id: String,
    /// The provider that was called.
    pub provider: ProviderRef,
    /// The prompt as it was sent.
    pub prompt: PromptRecord,
    /// The variables of this case.
    #[serde(with = "shared")]
    pub vars: Arc<Map<String, Value>>,
    /// The test, `defaultTest` merged in, with this case's variables.
    pub test_case: TestCase,
    /// The data file of which the test is a row, as messages call it; absent where it is of none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub data_file: Option<String>,
    /// What the provider answered; absent when it didn't.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response: Option<ResponseRecord>,
    /// What the assertions said; absent when none ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grading_result: Option<GradingRecord>,
    /// Scores by metric.
    pub named_scores: Map<String, Value>,
    /// How the case ended: `outcome`, `success`, `failureReason`, `score`, `error`, `errorCode`.
    #[serde(flatten)]
    pub conclusion: Conclusion,
    /// Time of the provider's call without queueing and backoff, in milliseconds.
    pub latency_ms: u64,
    /// US dollars of the answer, also of one out of the cache; absent where unknown. See [`CaseRecord::costs`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// Tokens of the provider's call.
    pub token_usage: TokenUsage,
    /// The test's `metadata`, and what the provider added.
    pub metadata: Map<String, Value>,
    /// What became of the question that it asked; absent where the test is of no question set.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub question: Option<QuestionRecord>,
    /// What produced this row; absent where no component ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provenance: Option<Provenance>,
    /// What plugins and code logged; the first lines, if there were many.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub log: Vec<LogRecord>,
    /// Its attempts and waits; empty where each request was answered at once, or none was sent.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub attempts: Vec<AttemptRecord>,
    /// What a person said of it. The store has it beside the row, and files have it here.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub annotation: Option<Annotation>,
}

impl CaseRecord {
    /// The test's description.
    pub fn description(&self) -> Option<&str> {
        self.test_case.get("description")?.as_str()
    }

    /// A record with everything that is known of a case before it is called.
    pub(crate) fn new(case: &Case, prompt: Option<String>, conclusion: Conclusion) -> Self {
        let column = &case.column;
        Self {
            id: uuid::Uuid::now_v7().to_string(),
            prompt_idx: case.id.prompt_idx,
            test_idx: case.id.test_idx,
            repeat_index: case.repeat_index,
            repeat_group: None,
            prompt_id: column.prompt.id.clone(),
            provider: ProviderRef {
                id: column.provider.shown_id(),
                label: column.provider.label.clone(),
            },
            prompt: PromptRecord {
                raw: prompt.unwrap_or_else(|| column.prompt.raw.clone()),
                label: column.prompt.label.clone(),
                config: column.prompt.config.as_ref().map(redacted_config),
            },
            vars: case.vars.clone(),
            test_case: TestCase::of(case),
            data_file: case
                .test
                .data
                .as_ref()
                .map(|file| file.shown.display().to_string()),
            response: None,
            grading_result: None,
            named_scores: Map::new(),
            conclusion,
            latency_ms: 0,
            cost: None,
            token_usage: TokenUsage::default(),
            metadata: case.test.metadata.clone(),
            question: None,
            provenance: None,
            log: Vec::new(),
            attempts: Vec::new(),
            annotation: None,
        }
    }

    /// Tokens a second of an answer that was streamed, from the first to the last; `None` where that is not known.
    pub fn tokens_per_second(&self) -> Option<f64> {
        let ttft = self.response.as_ref()?.ttft_ms?;
        rate(
            self.token_usage.completion,
            self.latency_ms.saturating_sub(ttft),
        )
    }

    /// Whether an assertion said anything of it.
    pub(crate) fn is_graded(&self) -> bool {
        let grading = self.grading_result.as_ref();
        grading.is_some_and(|grading| !grading.component_results.is_empty())
    }

    /// In the words of the store, with its JSON.
    pub fn to_row(&self, identity: Option<Digest>, record_json: String) -> Row {
        let response = self.response.as_ref();
        let costs = self.costs();
        Row {
            test_idx: self.test_idx,
            prompt_idx: self.prompt_idx,
            row_id: self.id.clone(),
            identity,
            outcome: self.conclusion.outcome(),
            score: self.conclusion.score(),
            latency_ms: response.map(|_| self.latency_ms),
            cost_usd: costs.paid,
            grading_usd: costs.grading,
            saved_usd: costs.saved,
            input_tokens: Some(self.token_usage.prompt),
            output_tokens: Some(self.token_usage.completion),
            cached: response.is_some_and(|response| response.cached),
            record_json,
        }
    }

    /// Its place in the results.
    pub(crate) fn case_id(&self) -> CaseId {
        CaseId {
            test_idx: self.test_idx,
            prompt_idx: self.prompt_idx,
        }
    }
}

/// So many in so many milliseconds, by the second.
pub(crate) fn rate(count: u64, ms: u64) -> Option<f64> {
    (count > 0 && ms > 0).then(|| count as f64 * 1000.0 / ms as f64)
}

/// A provider in the results.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProviderRef {
    /// As the config names it.
    pub id: String,
    /// The user's name for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}

impl ProviderRef {
    /// The label, or else the id.
    pub fn name(&self) -> &str {
        self.label.as_deref().unwrap_or(&self.id)
    }
}

/// A rendered prompt in the results.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PromptRecord {
    /// The rendered text.
    pub raw: String,
    /// The prompt's name.
    pub label: String,
    /// Options that went to the provider with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config: Option<Map<String, Value>>,
}

/// A provider's answer in the results.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResponseRecord {
    /// The answer: text, or a JSON value.
    pub output: Value,
    /// The API's own response, as the plugin handed it over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw: Option<Value>,
    /// Nothing left the machine for it.
    pub cached: bool,
    /// Time to the first token, in milliseconds; absent where the answer was not streamed, or comes out of the cache.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ttft_ms: Option<u64>,
    /// US dollars; absent where unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// Tokens of the call.
    pub token_usage: TokenUsage,
    /// `stop`, `length`, `tool_calls`, `content_filter`, `refusal`, or the API's own word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finish_reason: Option<String>,
    /// Model that really answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Reasoning text, where the API gives it apart from the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
    /// What else the plugin said.
    #[serde(skip_serializing_if = "Map::is_empty", default)]
    pub metadata: Map<String, Value>,
}

impl ResponseRecord {
    /// Returns its values that are more than a text.
    pub(crate) fn values(&self) -> impl Iterator<Item = &Value> {
        let own = [Some(&self.output), self.raw.as_ref()]
            .into_iter()
            .flatten();
        own.filter(|value| !value.is_string())
            .chain(self.metadata.values())
    }
}

/// Token counts; zero where nothing was reported, as in promptfoo.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TokenUsage {
    /// Prompt and completion together.
    pub total: u64,
    /// Tokens of the prompt.
    pub prompt: u64,
    /// Tokens of the answer.
    pub completion: u64,
    /// Tokens that came from a cache of ours instead of the API.
    pub cached: u64,
    /// Calls that left the machine.
    pub num_requests: u64,
    /// Reasoning tokens, included in `completion`.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub reasoning: u64,
}

impl TokenUsage {
    /// Adds another call's counts. They are a server's, so a sum ends where numbers do.
    pub fn add(&mut self, other: &Self) {
        let add = |sum: &mut u64, more: u64| *sum = sum.saturating_add(more);
        add(&mut self.total, other.total);
        add(&mut self.prompt, other.prompt);
        add(&mut self.completion, other.completion);
        add(&mut self.cached, other.cached);
        add(&mut self.num_requests, other.num_requests);
        add(&mut self.reasoning, other.reasoning);
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands over a reference"
)]
fn is_zero(n: &u64) -> bool {
    *n == 0
}

/// What the assertions of a case came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GradingRecord {
    /// Whether the case is good enough.
    pub pass: bool,
    /// Weighted mean of the components.
    pub score: f64,
    /// One line.
    pub reason: String,
    /// Weighted means by metric.
    pub named_scores: Map<String, Value>,
    /// Sums of the weights behind `named_scores`.
    pub named_score_weights: Map<String, Value>,
    /// Metrics whose figure counts an assertion as 0 that could not be graded, as promptfoo's does.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub not_graded: Vec<String>,
    /// What models used that its graders asked.
    #[serde(flatten)]
    pub used: GraderUsage,
    /// One per assertion; a set is followed by its members. Comparisons with the answers of other
    /// columns come last.
    pub component_results: Vec<ComponentRecord>,
    /// What the grade was before the answer was compared with those of other columns; absent where
    /// nothing is compared.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub before_comparison: Option<BeforeComparison>,
    /// What it will be when a person has given a verdict; absent where no assertion is of the type `human`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub by_people: Option<ByPeople>,
}

/// In the metadata of a grade: the judge gave none that can be read. promptfoo's name.
pub const GRADER_ERROR: &str = "graderError";

/// A grade without its comparisons, so that they can be made, or made again, when the other
/// answers are there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BeforeComparison {
    /// Whether the answer alone is good enough.
    pub pass: bool,
    /// Its score.
    pub score: f64,
    /// One line.
    pub reason: String,
    /// Weighted means by metric.
    pub named_scores: Map<String, Value>,
    /// Sums of the weights behind them.
    pub named_score_weights: Map<String, Value>,
    /// What models used that its graders asked.
    #[serde(flatten)]
    pub used: GraderUsage,
    /// How many components there were.
    pub components: usize,
    /// How many answers it was compared with, itself included; 0: not yet.
    pub among: usize,
}

/// What one assertion, or one set, said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ComponentRecord {
    /// Whether it passed.
    pub pass: bool,
    /// Its score.
    pub score: f64,
    /// One line.
    pub reason: String,
    /// It was not graded, and counts for nothing: its `when` did not hold, and then `pass` is true; or it waits
    /// for a person.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub skipped: bool,
    /// It could not be graded: a crash, a limit, bad input. Then `pass` is false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_code: Option<FailureCode>,
    /// The assertion as the config has it.
    #[serde(with = "shared")]
    pub assertion: Arc<Value>,
    /// What the grader added, and `renderedAssertionValue`.
    #[serde(skip_serializing_if = "Map::is_empty", default)]
    pub metadata: Map<String, Value>,
    /// Named scores that the grader gave.
    #[serde(skip_serializing_if = "Map::is_empty", default)]
    pub named_scores: Map<String, Value>,
    /// Parts of the grade.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub parts: Vec<PartRecord>,
}

/// A part of one assertion's grade, as the grader reported it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PartRecord {
    /// The grader's name for it.
    pub name: String,
    /// Whether it passed.
    pub pass: bool,
    /// Its score.
    pub score: f64,
    /// Its weight within the grade.
    pub weight: f64,
    /// One line.
    pub reason: String,
}

/// What produced a row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Provenance {
    /// Name of the provider's plugin.
    pub plugin: String,
    /// Its version.
    pub version: String,
    /// sha256 (hex) of the component.
    pub sha256: String,
    /// sha256 (hex) of what the user granted it.
    pub grants_digest: String,
    /// What its calls used.
    #[serde(flatten)]
    pub used: PluginUse,
    /// The other plugins of the case, which grade or run code, in the order of their first calls.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub graders: Vec<PluginRecord>,
}

#[cfg(test)]
pub(crate) mod samples;
