//! What a look at code tells without running it: what it imports, and what it wants that the sandbox
//! has not.

pub(crate) mod imports;
mod needs;
pub(crate) mod python;
mod type_imports;
mod variables;

pub(crate) use needs::of;
pub(crate) use variables::VariableNames;

/// The language of code that stands in the config, but for assertions, whose type says it.
pub(crate) const JAVASCRIPT: &str = "javascript";

/// The language whose imports are read by other rules than JavaScript's.
pub(crate) const PYTHON: &str = "python";

/// Files with types.
pub(crate) const TYPED: [&str; 3] = ["ts", "mts", "cts"];
