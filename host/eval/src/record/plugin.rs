//! What plugins did for a case: what each used, and what they logged.

use runner_sandbox::CallUsage;
use serde::{Deserialize, Serialize};

/// What the calls of a plugin in a case used together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PluginUse {
    /// CPU time inside it, in microseconds.
    pub guest_cpu_us: u64,
    /// Fuel, about a unit an instruction: the same on every machine.
    #[serde(default)]
    pub fuel: u64,
    /// Its largest linear memory, in bytes.
    pub peak_memory: u64,
}

impl PluginUse {
    /// Adds what a call used.
    pub(crate) fn add(&mut self, usage: &CallUsage) {
        self.guest_cpu_us += usage.guest_cpu.as_micros() as u64;
        self.fuel = self.fuel.saturating_add(usage.fuel);
        self.peak_memory = self.peak_memory.max(usage.peak_memory);
    }
}

/// A plugin in a case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PluginRecord {
    /// Its name.
    pub plugin: String,
    /// Its version.
    pub version: String,
    /// sha256 (hex) of the component.
    pub sha256: String,
    /// What its calls used.
    #[serde(flatten)]
    pub used: PluginUse,
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
