//! What to run: files, environment and flags in; a validated, lazily expanded plan out.
//!
//! The format is promptfoo's `promptfooconfig.yaml`. [`load`] reads the config far enough to
//! know its plugins; [`Config::plan`] reads the rest against the [`Catalog`] of what those
//! plugins serve. What can't run is said there, with file, line, column and key, all problems
//! together, before anything is spent. The [`Plan`](plan::Plan) then yields one
//! [`Case`](plan::Case) at a time and renders its prompt.
//!
//! Pure on purpose: no clock, no network, no global state. The environment, the current folder
//! and what runs the config's code ([`Scripts`]) are arguments; the only effect is reading the
//! files that the config names. So the same input always gives the same plan, and every rule here
//! has a table test.
//!
//! From below: `model` is plain data that everything may know; `read` makes trees and rows of
//! files; `plan` is what is to be run; `elements` read one key each; `load` and `planning` put
//! them in order. Each knows those before it and none after it.
//!
//! | beside them | what it holds |
//! |---|---|
//! | [`bounds`] | how much memory a reader may take |
//! | `catalog` | what the loaded plugins serve |
//! | `environment` | every environment variable that this crate reads |
//! | `overrides` | what flags say of a run |
//! | `scripts` | code that runs while a plan is made; whoever makes one hands in what runs it |
//! | `template`, `fill` | templates of a config; `env` and `{{ env.X }}` |
//! | `filters` | the `--filter-…` flags: which tests and cases are run (filters *of templates* are in `template`) |
//! | `formula` | formulas over named numbers (`derivedMetrics`) |
//! | `several` | how several configs become one |
//! | `redacted` | the config as it stands in the results file |
//! | `schema` | the JSON Schema of a config, for editors |
//!
//! Not here: what a provider's `config` means (its plugin's schema says), who may use which
//! address or credential (the run decides from [`PluginEntry`]), and running anything.

pub mod bounds;
mod catalog;
mod datasets;
mod elements;
mod environment;
mod fill;
mod filters;
#[cfg(test)]
mod fixture;
mod formula;
mod load;
mod model;
mod overrides;
pub mod plan;
mod planning;
mod read;
mod redacted;
mod schema;
mod scripts;
mod several;
mod template;

pub use catalog::{AbsentLanguage, Catalog};
pub use datasets::Dataset;
pub use elements::budget::microusd;
pub use elements::limits::quota::span;
pub use elements::plugins::{PluginEntry, PluginLimits, added_name};
pub use elements::test_options::is_of_the_answer;
pub use elements::thresholds::pass_rate;
pub use environment::{VARIABLES, Variable};
pub use filters::{
    Filters, FormerCase, FormerCases, MetadataError, MetadataFilter, Pattern, PatternError,
    RangeError, Sample, TestRange,
};
pub use load::{Config, DEFAULT_NAMES, Interpreters, LoadRequest, load, load_with};
pub use model::{
    Agreements, Author, ConfigError, CredentialGrant, DataFile, Level, LoadError, Permissions,
    Problem, Role, Strictness, Terms, TextOrigin, TrustAgreement, TrustRequest, TrustSubject,
    Warning, misspelt, named_path, on_one_line,
};
pub use overrides::{KeyOverrides, MadeConfig, Overrides};
pub use plan::{ListedPrice, ModelPrice, Narrowing, Prices};
pub use read::document;
pub use read::files::{FilesRead, FilesState, relative};
pub use redacted::{is_secret_variable, redacted_config, redacted_provider, written_secrets};
pub use schema::schema;
pub use scripts::{CodeForm, CodeText, Mistake, Scripts};
pub use template::RenderError;
