//! What one call of a component used, for who asks for that: `plugin call` tells it, and a run of many
//! cases does not, since rows hold the sums.

use runner_sandbox::CallUsage;

/// A call of a component that has ended.
#[derive(Debug, Clone)]
pub struct CalledPlugin {
    /// The name by which the user knows it.
    pub plugin: String,
    /// Its version.
    pub version: String,
    /// sha256 (hex) of the component.
    pub sha256: String,
    /// What the call used, also one that failed.
    pub usage: CallUsage,
}
