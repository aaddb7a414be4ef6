//! What flags say of a run, as data: each wins over the config.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::filters::Filters;
use crate::model::Strictness;
use crate::plan::{Budget, PriceList};

/// What flags say; each wins over the config.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Overrides {
    /// `-j`: cases in flight at once, ≥ 1.
    pub max_concurrency: Option<usize>,
    /// Cases in flight that the machine has room for, whatever is asked for, ≥ 1.
    pub most_concurrency: Option<usize>,
    /// `--repeat`: how often each test is run, ≥ 1.
    pub repeat: Option<u32>,
    /// `--delay`: pause after each call, none if zero. The config's own wins over it.
    pub delay: Option<Duration>,
    /// `--timeout-ms`: time a case may work; no limit if zero.
    pub case_timeout: Option<Duration>,
    /// `--max-eval-time-ms`: time the run may take; no limit if zero.
    pub run_timeout: Option<Duration>,
    /// `--max-retry-after`: the longest wait that a server may ask for; no limit if zero.
    pub max_retry_after: Option<Duration>,
    /// `-o`: replaces the config's `outputPath`.
    pub output_paths: Vec<PathBuf>,
    /// `--description`.
    pub description: Option<String>,
    /// `--var key=value`: under the variables of every test, over those of `defaultTest`.
    pub vars: Map<String, Value>,
    /// `--prompt-prefix`: before every prompt, over that of `defaultTest`.
    pub prompt_prefix: Option<String>,
    /// `--prompt-suffix`: after it.
    pub prompt_suffix: Option<String>,
    /// `-x`: in place of the config's `extensions`.
    pub extensions: Vec<String>,
    /// `--grader`: who judges where no test and no assertion names somebody.
    pub grader: Option<String>,
    /// What takes the place of the config's own prompts, providers and tests.
    pub given: KeyOverrides,
    /// `--tag key=value`: over the config's `tags`.
    pub tags: Map<String, Value>,
    /// Which part of the config to run.
    pub filters: Filters,
    /// `--lenient`, `--strict`: over the config's `strict`.
    pub strictness: Option<Strictness>,
    /// `--require-assertions`: a test without one is wrong.
    pub requires_assertions: bool,
    /// What `runner prices import` took.
    pub prices: Arc<PriceList>,
    /// `--max-cost`, `--max-tokens`, `--max-requests`.
    pub budget: Budget,
    /// `--min-pass-rate`: percent, over `thresholds.passRate`.
    pub min_pass_rate: Option<f64>,
    /// `--min-metric`: what the means of metrics must be at least, over `thresholds.metrics`.
    pub min_metrics: Vec<(String, f64)>,
}

/// Flags that stand for keys of a config; each replaces the config's own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeyOverrides {
    /// `--prompts`: files, patterns or texts.
    pub prompts: Vec<String>,
    /// `--providers`: ids, files, or labels and ids of the config's providers.
    pub providers: Vec<String>,
    /// `--tests`, `--vars`: a file or pattern.
    pub tests: Option<String>,
    /// `--model-outputs`: a JSON list of outputs that are graded as they are; then there are
    /// no prompts, providers and tests but those made of it.
    pub model_outputs: Option<PathBuf>,
    /// `--assertions`: a list of assertions for every output.
    pub assertions: Option<PathBuf>,
    /// What takes the place of every config.
    pub made: Option<MadeConfig>,
}

/// A config that a command makes of its own flags, or of a file. No other is looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MadeConfig {
    /// The file that has its words, which have the rights of a config's; `None`: they are the person's.
    pub file: Option<PathBuf>,
    /// All of it but its tests.
    pub config: Value,
    /// Its tests, which are data: their texts are no templates.
    pub tests: Value,
}
