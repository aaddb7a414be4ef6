//! Which component serves which provider prefix and assertion type.
//!
//! Components come from three places: those named by `--plugin`, those under the config's
//! `plugins:`, and those bundled beside the program. None of them may claim a name, a prefix
//! or a type that another has: a config must mean the same whatever else is installed, so
//! there is no order of precedence. What the config itself calls by a name of the program's (`as:`) takes its place.
//!
//! Who there is stands in `set`, which `loading` fills; what a plugin may do is decided in `binding`. From the bottom
//! up: `loaded`, `sources`, `bundle`, errors, `set`, then `claims`, `loading` and `catalog`, which are about the whole
//! set; and `binder`, `google`, `credentials`, `foreign`, `binding`, which bind one use of a plugin after the other.

mod auth;
mod aws;
mod bind_error;
mod binder;
mod binding;
mod bounds;
mod budgets;
mod bundle;
mod catalog;
mod certificates;
mod claims;
mod code_access;
mod config_key;
mod configured;
mod credentials;
mod extensions;
mod foreign;
mod google;
mod held_keys;
mod interpreter;
mod loaded;
mod loading;
mod pasted;
mod plugin_error;
mod price;
mod said;
mod set;
mod signature_auth;
mod slips;
mod sources;
mod target;
mod ways;

pub(crate) use bind_error::place;
pub use bind_error::{BindError, StatedPlace};
pub(crate) use binder::Binder;
pub(crate) use binding::Grader;
pub(crate) use bounds::AllLanes;
pub(crate) use budgets::Budgets;
pub use bundle::{OptionalPlugin, PluginServices, bundle, optional};
pub(crate) use code_access::CodeAccess;
pub use foreign::{ThirdParty, asked_for, entry_yaml};
pub(crate) use foreign::{interpreter, interpreters};
pub(crate) use interpreter::{FUEL_BEFORE_A_RUN, Interpreter};
pub(crate) use loaded::{LoadedPlugin, Trust};
pub use plugin_error::PluginError;
pub(crate) use price::price;
pub use set::PluginSet;
pub use sources::{BundleProof, BundleSource, PluginSources};
pub(crate) use target::{ByPlugin, ConfigProvider, ExecutionMode, ProviderBackend, Target};
pub(crate) use ways::{Noted, ReachableOrigins};
