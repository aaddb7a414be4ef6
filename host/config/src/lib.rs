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
//! Not here: what a provider's `config` means (its plugin's schema says), who may use which
//! address or credential (the run decides from [`PluginEntry`]), and running anything.

pub mod bounds;
mod catalog;
mod csv_rows;
mod elements;
mod entry;
mod environment;
mod files;
mod fill;
mod filters;
#[cfg(test)]
mod fixture;
mod formula;
mod json;
mod load;
mod model;
mod node;
mod overrides;
pub mod plan;
mod planning;
mod redacted;
mod references;
mod schema;
mod scripts;
mod several;
mod template;
mod yaml;

pub use catalog::{AbsentLanguage, Catalog};
pub use elements::budget::microusd;
pub use elements::plugins::{PluginEntry, PluginLimits};
pub use environment::{VARIABLES, Variable};
pub use files::{FilesRead, FilesState};
pub use filters::{
    Filters, FormerCase, FormerCases, MetadataError, MetadataFilter, Pattern, PatternError,
    RangeError, Sample, TestRange,
};
pub use load::{Config, DEFAULT_NAMES, LoadRequest, load};
pub use model::{
    Agreed, Agreements, Author, ConfigError, CredentialGrant, DataFile, Level, LoadError, Origin,
    Permissions, Problem, Role, TrustRequest, TrustSubject, Warning,
};
pub use overrides::{Given, Overrides};
pub use plan::{ListedPrice, ModelPrice, Narrowing, Prices};
pub use redacted::is_secret_variable;
pub use schema::schema;
pub use scripts::Scripts;
pub use template::RenderError;
