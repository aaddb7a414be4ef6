//! The plan: what a run will do, validated and ready to be walked.
//!
//! A [`Plan`] is small whatever it expands to: it holds the columns and the tests as written; the cases
//! (test × repeat × variable combination × column) are made one at a time by [`Plan::cases`]. These are
//! the data; how cases are made is in `cases`, how their text is made in `render`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::model::{DataFile, TrustRequest};
use crate::redacted::is_secret_variable;

mod alike;
mod cases;
mod chat;
mod check;
mod compared;
mod declared;
mod derived;
mod extension;
mod limit;
mod narrowing;
mod order;
mod output_path;
mod places;
mod price_list;
mod prices;
mod provider;
mod question;
mod render;
mod shard;
mod threshold;
mod variables;
pub(crate) mod weight;

pub use alike::Tests;
pub use cases::{CasePlace, Cases};
pub use check::{
    Assertion, Check, Earlier, JudgeId, Judges, MAX_WEIGHT_OF_DATA, SetRule, WhenCondition,
};
pub use compared::{Comparison, HUMAN, HighestScore, MAX_SCORE, Method, Winner};
pub use derived::{DerivedMetric, DerivedValue, Formula, FormulaError};
pub use extension::{Extension, Hook};
pub use limit::{DeclaredLimit, LimitCounts, TestTimeout};
pub use narrowing::Narrowing;
pub use order::{CONVERSATION, CaseResource, Needs, Order};
pub use output_path::OutputPath;
pub use places::Places;
pub use price_list::{ModelPrice, PriceList};
pub use prices::{ListedPrice, Prices};
pub use provider::{EnvRead, Provider, ProviderProgram};
pub use question::{PlannedTask, Question, QuestionBudget};
pub use shard::{Shard, ShardError, ShardRows};
pub use threshold::{MetricThreshold, Thresholds};
pub use variables::TooMuch;
pub(crate) use variables::{Axes, VarFiles};

pub use crate::model::{
    Code, CodeFile, CodeFiles, CodeNeeds, CodePlace, Engine, GIVEN_VARIABLES, Position, Process,
    ProviderCode, Script, WEBHOOK, is_given,
};
pub use crate::template::FilterCall;
use crate::template::{CompiledCache, Prepared, RenderError, Results, Template};

/// What a run will do. Made by [`Config::plan`](crate::Config::plan).
pub struct Plan {
    /// The config's `description`.
    pub description: Option<String>,
    /// The config's `tags`.
    pub tags: Map<String, Value>,
    /// prompt × provider, in the order of the results' `promptIdx`.
    pub columns: Vec<Arc<Column>>,
    /// Tests with `defaultTest` merged in, in the order written.
    pub tests: Tests,
    /// Every provider of the config, also those whose columns a filter leaves out: graders may
    /// be granted to ask them.
    pub providers: Vec<Arc<Provider>>,
    /// The models that assertions may ask, and the providers that tests name themselves, by
    /// [`JudgeId`].
    pub judges: Vec<Arc<Provider>>,
    /// What the names by which plugins ask models stand for, by the plugin's alias and that name.
    pub plugin_models: BTreeMap<(String, String), JudgeId>,
    /// What filters left out of it, in the order applied; empty without filters.
    pub narrowings: Vec<Narrowing>,
    /// The part of a run that it is, if it is one.
    pub shard: Option<Shard>,
    /// What ties cases together; `None` where no case has to wait for another.
    pub order: Option<Order>,
    /// What models cost.
    pub prices: Prices,
    /// How the run is carried out.
    pub options: RunOptions,
    /// `outputPath`, or the flags in its place.
    pub output_paths: Vec<OutputPath>,
    /// The config as one JSON value with environment templates *unrendered*, for the
    /// results file: it can't hold a secret that came from the environment. Values of `env`
    /// and of keys named like secrets are left out.
    pub config_json: Value,
    /// The config's `env`, templates rendered: the only names that templates see. May hold
    /// secrets: `Debug` shows the names only.
    pub env: Map<String, Value>,
    /// The languages that its code is in.
    pub languages: BTreeSet<String>,
    /// Code that is called as the run goes on, in the order written; without that for
    /// [`Hook::BeforeAll`], which was called when the plan was made.
    pub extensions: Vec<Extension>,
    /// Metrics of metrics, in the order in which they are worked out.
    pub derived_metrics: Vec<DerivedMetric>,
    /// What it has to come to.
    pub thresholds: Thresholds,
    /// Filters that the config adds to templates, by name.
    pub filters: Arc<BTreeMap<String, Arc<Script>>>,
    /// The variables of the process's environment that texts other than providers take in, so
    /// that any server which the run asks may see them.
    pub env_reads: Vec<EnvRead>,
    /// The variables of the process's environment that were filled into providers, each with its
    /// place: also of those that nobody asks.
    pub provider_reads: Vec<EnvRead>,
    /// The names of [`Plan::env`] whose values were taken from the process's environment, each
    /// with the variables that it took.
    pub env_sources: BTreeMap<String, BTreeSet<String>>,
    /// What runs on the person's machine, outside the sandbox; each once.
    pub processes: Vec<Arc<Process>>,
    /// Where its code runs; each piece once, but for commands.
    pub code_places: Vec<CodePlace>,
    /// What the config and its data need beyond their rights: to be settled before anything is
    /// sent, written or run.
    pub trust_requests: Vec<TrustRequest>,
    /// Secrets of the environment that were filled into providers.
    pub(crate) filled_in: BTreeSet<String>,
    /// The files that variables name, read once.
    pub(crate) var_files: Arc<VarFiles>,
    /// The templates of tests and assertions.
    pub(crate) templates: Arc<CompiledCache<Template>>,
}

impl Plan {
    /// The providers that tests name themselves, by their place in [`Plan::judges`]; some may
    /// come twice.
    pub fn own_providers(&self) -> impl Iterator<Item = JudgeId> {
        self.tests.models().filter_map(|test| test.provider)
    }

    /// Values of variables that were filled into providers, as secrets.
    pub fn filled_in(&self) -> impl Iterator<Item = &str> {
        self.filled_in.iter().map(String::as_str)
    }

    /// Values of the config's `env` that are secrets by the names of the variables that they were
    /// taken from, or by their own where the config says them itself, and secrets that were
    /// filled into providers, stand in headers of a provider, a prompt or a test, or in the config of a program: templates may
    /// use them, results must not show them.
    pub fn secrets(&self) -> impl Iterator<Item = &str> {
        // A setting is no secret for being called one: what is masked tells who guesses it.
        let is_secret = |name: &String| match self.env_sources.get(name) {
            None => is_secret_variable(name),
            Some(sources) => sources.iter().any(|source| is_secret_variable(source)),
        };
        let secret = self.env.iter();
        let secret = secret.filter(move |(name, _)| is_secret(name));
        let declared = secret.filter_map(|(_, value)| value.as_str());
        let declared = declared.filter(|value| !self.filled_in.contains(*value));
        let providers = self.providers.iter().chain(&self.judges);
        let of_prompts = self
            .columns
            .iter()
            .filter_map(|it| it.prompt.config.as_ref());
        let tests = self.tests.models().filter(|test| test.data.is_none());
        let of_tests = tests.map(|test| &test.options);
        let programs = providers
            .clone()
            .flat_map(|it| provider::secrets_of_program(it));
        let configs = providers.map(|it| &it.config);
        let configs = configs.chain(of_prompts).chain(of_tests);
        let written = configs.flat_map(provider::secret_headers);
        let filled_in = self.filled_in.iter().map(String::as_str);
        declared.chain(filled_in).chain(written).chain(programs)
    }
}

impl fmt::Debug for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plan")
            .field("description", &self.description)
            .field("columns", &self.columns)
            .field("tests", &self.tests.len())
            .field("options", &self.options)
            .field("output_paths", &self.output_paths)
            .field("env", &self.env.keys().collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

/// What is done about limits of servers that nobody declared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerLimits {
    /// They are learnt from what servers answer, and kept.
    Learnt,
    /// Nothing: only what the user declared holds.
    Ignored,
}

/// Options of the run itself, each already resolved (flag > config > environment > default).
#[derive(Debug, Clone, PartialEq)]
pub struct RunOptions {
    /// Cases in flight at once; ≥ 1, by default 256 while lanes learn, else 4.
    pub max_concurrency: usize,
    /// What the user asked for, where somebody did: so many requests at once are welcome at every
    /// server.
    pub asked_concurrency: Option<u32>,
    /// What is done about limits of servers that nobody declared.
    pub server_limits: ServerLimits,
    /// Assertions in flight at once per case; ≥ 1, 3 by default.
    pub assertion_concurrency: usize,
    /// How often each test is run; ≥ 1.
    pub repeat: u32,
    /// Pause after each call that left the machine, inside the case's slot.
    pub delay: Option<Duration>,
    /// Time a case may work; `None`: no limit.
    pub case_timeout: Option<Duration>,
    /// Time the whole run may take; `None`: no limit.
    pub run_timeout: Option<Duration>,
    /// Time one request may spend on the wire; `None`: what the gateway's default is.
    pub exchange_timeout: Option<Duration>,
    /// The longest wait that a server may ask for; `None`: no limit.
    pub max_retry_after: Option<Duration>,
    /// Whether a request that ran out of time is sent again.
    pub retry_timeouts: bool,
    /// Whether answers may come from the cache and go into it; true by default.
    pub cache: bool,
    /// What the whole run may spend.
    pub budget: Budget,
}

/// What may be spent; `None`: no limit. At 0 only what costs nothing runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Budget {
    /// Millionths of a US dollar.
    pub cost_microusd: Option<u64>,
    /// Tokens, in and out together.
    pub tokens: Option<u64>,
    /// Requests that leave the machine.
    pub requests: Option<u64>,
}

impl Budget {
    /// `self`, and `other` where it says nothing.
    pub(crate) fn or(self, other: Self) -> Self {
        Self {
            cost_microusd: self.cost_microusd.or(other.cost_microusd),
            tokens: self.tokens.or(other.tokens),
            requests: self.requests.or(other.requests),
        }
    }
}

/// One prompt × one provider.
#[derive(Debug)]
pub struct Column {
    /// Position among the columns, from 0.
    pub prompt_idx: u32,
    /// The prompt as written.
    pub prompt: Arc<Prompt>,
    /// The provider as configured.
    pub provider: Arc<Provider>,
}

/// A prompt template, compiled.
#[derive(Clone)]
pub struct Prompt {
    /// sha256 (hex) of the label.
    pub id: String,
    /// What the config calls it beside its label.
    pub(crate) own_id: Option<String>,
    /// The name that filters match and tables show.
    pub label: String,
    /// The template text.
    pub raw: String,
    /// The function that makes the text, with the variables of each case; `raw` is its file.
    pub code: Option<Arc<Script>>,
    /// Options that go to the provider with this prompt.
    pub config: Option<Map<String, Value>>,
    /// Where it stands.
    pub at: Position,
    /// `raw`, compiled once.
    pub(crate) prepared: Arc<Prepared>,
    /// `raw` with prefixes and suffixes, compiled, and as text for those of data.
    pub(crate) affixed: Arc<CompiledCache<Prepared>>,
    /// Whether values in a JSON prompt are escaped.
    pub(crate) escapes: bool,
    /// What `env.X` reads; may hold secrets.
    pub(crate) env: Arc<Map<String, Value>>,
    /// A hook made it of rows: it sees no `env`, and calls of the config's filters those that rows may.
    pub(crate) of_data: bool,
}

impl Prompt {
    /// The names by which a filter may mean it.
    pub(crate) fn names(&self) -> [&str; 2] {
        [&self.label, self.own_id.as_deref().unwrap_or(&self.id)]
    }

    /// What its templates see of `env`.
    pub fn env(&self) -> &Map<String, Value> {
        &self.env
    }

    /// Prepares a text that is longer than its own, compiled as that was.
    pub(crate) fn prepare(&self, text: &str) -> Result<Arc<Prepared>, RenderError> {
        let new = if self.escapes {
            Prepared::new
        } else {
            Prepared::unescaped
        };
        self.affixed.get(text, || new(text, Some(&self.env)))
    }

    /// Its own text without regard to what it is.
    pub(crate) fn unescaped(&self) -> Result<Arc<Prepared>, RenderError> {
        let unescaped = || Prepared::unescaped(&self.raw, Some(&self.env));
        self.affixed.get(&self.raw, unescaped)
    }
}

impl fmt::Debug for Prompt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prompt")
            .field("label", &self.label)
            .field("raw", &self.raw)
            .field("at", &self.at)
            .finish_non_exhaustive()
    }
}

/// A test with `defaultTest` merged in.
#[derive(Debug, Clone, PartialEq)]
pub struct Test {
    /// `description`.
    pub description: Option<String>,
    /// Variables before expansion, as written; a list of strings stands for one case each, and
    /// so does every file that a `file://` pattern matches.
    pub vars: Map<String, Value>,
    /// Assertions, those of `defaultTest` first; shared by tests that have the same.
    pub assertions: Arc<[Check]>,
    /// Assertions that choose among the answers of the test's columns.
    pub comparisons: Vec<Comparison>,
    /// `threshold` on the aggregate score.
    pub threshold: Option<f64>,
    /// `metadata`.
    pub metadata: Map<String, Value>,
    /// `options`; unknown keys go to the provider.
    pub options: Map<String, Value>,
    /// Whether templates in `options.prefix` and `suffix` see the config's `env`: they are the config's words.
    pub affixes_see_env: bool,
    /// The data file of which it is a row.
    pub data: Option<Arc<DataFile>>,
    /// That one, or a data file that variables of it come from: whose words are among its texts.
    pub words_of: Option<Arc<DataFile>>,
    /// `options.timeoutMs`: over [`RunOptions::case_timeout`].
    pub timeout: TestTimeout,
    /// `provider`: asked instead of the columns' providers.
    pub provider: Option<JudgeId>,
    /// `providerOutput`: the answer, so that nobody is asked.
    pub output: Option<Value>,
    /// `options.transform`: makes another output of the provider's.
    pub transform: Option<Arc<Script>>,
    /// `options.transformVars`: makes variables of a case's.
    pub transform_vars: Option<Arc<Script>>,
    /// `assertScoringFunction`: makes the grade of the named scores.
    pub scoring: Option<Arc<Script>>,
    /// How often this test is run (`options.repeat`, else the run's); ≥ 1.
    pub repeat: u32,
    /// The columns that it runs in (its filters `providers` and `prompts`); `None`: all.
    pub columns: Option<Arc<[u32]>>,
    /// The merged test as written, for the results file; its `vars` are empty, since each case
    /// has its own.
    pub json: Arc<Value>,
    /// What it is a question of, if it is one of a question set.
    pub question: Option<Arc<Question>>,
    /// Where it stands.
    pub at: Position,
    /// The columns in which combinations of `vars` differ.
    pub(crate) axes: Axes,
    /// The combinations that run, ascending; `None`: all.
    pub(crate) combinations: Option<Arc<[u64]>>,
}

/// Options that steer the run and are not for the provider.
pub const RUN_OPTIONS: [&str; 18] = [
    "prefix",
    "suffix",
    "repeat",
    "transform",
    "postprocess",
    "transformVars",
    "storeOutputAs",
    "provider",
    "rubricPrompt",
    "factuality",
    "disableVarExpansion",
    "disableConversationVar",
    "disableDefaultAsserts",
    "rawVars",
    "runSerially",
    "timeoutMs",
    "delay",
    "tools_json",
];

/// Identity of a case within its run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CaseId {
    /// Row of the results: test × repeat × variable combination.
    pub test_idx: u32,
    /// Column of the results.
    pub prompt_idx: u32,
}

/// Variables that code makes: names, and their code.
pub type CodeVars = Arc<[(String, Arc<Script>)]>;

/// One cell to run.
#[derive(Debug, Clone)]
pub struct Case {
    /// Its place in the results.
    pub id: CaseId,
    /// And in its plan.
    pub place: CasePlace,
    /// 0 for the first repeat.
    pub repeat_index: u32,
    /// The test it belongs to.
    pub test: Arc<Test>,
    /// One combination of the test's variables; nested templates resolved.
    pub vars: Arc<Map<String, Value>>,
    /// What templates and graders read: `vars`, and what earlier cases left to this one.
    pub scope: Arc<Map<String, Value>>,
    /// Whether words among its texts may be others': of data, of a file that a variable names, or of an earlier answer.
    pub has_others_words: bool,
    /// What earlier cases left to it, by name: answers of models.
    pub(crate) left: Option<Arc<Map<String, Value>>>,
    /// Why variables are not filled in; then the case must not run.
    pub refused: Option<TooMuch>,
    /// Variables whose values code makes, in the order of names; until then `vars` has the names
    /// of their files.
    pub code_vars: CodeVars,
    /// Variables that are filled in when the case runs, since they call filters of the config.
    pub(crate) late_vars: Arc<[String]>,
    /// What filters of the config gave so far, and what its templates may still cost.
    pub(crate) results: Arc<Results>,
    /// And of its other texts, which may be a row's: the same where they may call the same filters.
    pub(crate) text_results: Arc<Results>,
    /// And those for texts that code makes of the case: where there are others' words, such as rows may call.
    pub(crate) made_results: Arc<Results>,
    /// What ties it to other cases; `None` where nothing in the plan does.
    pub needs: Option<Arc<Needs>>,
    /// Prompt and provider.
    pub column: Arc<Column>,
}

/// What a function made of a prompt.
#[derive(Debug, Clone, PartialEq)]
pub struct MadePrompt {
    /// The text; of messages, or another value, its JSON.
    pub text: String,
    /// Whether it is a text that the function wrote.
    pub is_text: bool,
    /// Options for the provider.
    pub config: Map<String, Value>,
}

/// A prompt with its variables filled in.
#[derive(Debug, Clone, PartialEq)]
pub struct Rendered {
    /// The text, as it stands in the results.
    pub text: String,
    /// The text as chat messages: parsed where it is a chat in JSON or YAML, else one user
    /// message.
    pub messages: Vec<ChatMessage>,
    /// Options that a function made together with the text, for the provider.
    pub config: Map<String, Value>,
}

/// One message of a chat prompt.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatMessage {
    /// `system`, `user`, `assistant`, … as written.
    pub role: String,
    /// `name`, if given.
    pub name: Option<String>,
    /// A string, or a list of parts in the API's own form.
    pub content: Value,
    /// The other keys of the message (`tool_calls`, `tool_call_id`, …).
    pub rest: Map<String, Value>,
}
