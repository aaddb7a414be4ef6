//! What plugins did for a case: what each used, and what they logged.

use runner_sandbox::CallUsage;
use serde::{Deserialize, Serialize};

/// A plugin in a case, and what its calls there used together.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PluginRecord {
    /// Its name.
    pub plugin: String,
    /// Its version.
    pub version: String,
    /// sha256 (hex) of the component.
    pub sha256: String,
    /// CPU time inside it, in microseconds.
    pub guest_cpu_us: u64,
    /// Fuel, about a unit an instruction.
    pub fuel: u64,
    /// Its largest linear memory, in bytes.
    pub peak_memory: u64,
}

impl PluginRecord {
    /// One that was not called yet.
    pub(crate) fn of(plugin: &str, version: &str, sha256: &str) -> Self {
        Self {
            plugin: plugin.to_owned(),
            version: version.to_owned(),
            sha256: sha256.to_owned(),
            ..Self::default()
        }
    }

    /// Adds what a call used.
    pub(crate) fn add(&mut self, usage: &CallUsage) {
        self.guest_cpu_us += usage.guest_cpu.as_micros() as u64;
        self.fuel = self.fuel.saturating_add(usage.fuel);
        self.peak_memory = self.peak_memory.max(usage.peak_memory);
    }
}

/// A line that a plugin, or code, logged in a case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogRecord {
    /// By the name that the config has for it.
    pub plugin: String,
    /// `error`, `warn`, `info`, `debug` or `trace`.
    pub level: String,
    /// The text, with its fields, secrets masked.
    pub message: String,
}
