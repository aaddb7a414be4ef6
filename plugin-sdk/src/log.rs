//! Lines for the run's log, attributed by the host to plugin, version and call.
//!
//! `log::info("started")` for a plain line, `log::line(Level::Warn, "odd").field("n", 3).emit()`
//! for one with fields. A grader that calls any of this imports a function and is no longer
//! provably pure.
//!
//! The first line of a component also installs its panic hook (see [`crate::export`]).

#[cfg(not(target_arch = "wasm32"))]
use std::cell::Cell;
use std::fmt::Display;

use crate::wire::hands::runner::plugin::log as wire;

pub use wire::Level;

#[cfg(not(target_arch = "wasm32"))]
thread_local! {
    /// What keeps the lines where there is no host: the script that plays, which sets it.
    pub(crate) static SCRIPT: Cell<Option<fn(Line)>> = const { Cell::new(None) };
}

/// A line that is being made. Nothing is sent before [`Line::emit`].
#[derive(Debug, Clone, PartialEq)]
#[must_use = "a line is sent by `emit`"]
pub struct Line {
    /// How much it matters.
    pub level: Level,
    /// The text. The host cuts a line at 8 KiB.
    pub message: String,
    /// Named values, in order.
    pub fields: Vec<(String, String)>,
}

/// Begins a line with fields.
pub fn line(level: Level, message: impl Into<String>) -> Line {
    Line {
        level,
        message: message.into(),
        fields: Vec::new(),
    }
}

impl Line {
    /// Adds a named value.
    pub fn field(mut self, name: &str, value: impl Display) -> Self {
        self.fields.push((name.to_owned(), value.to_string()));
        self
    }

    /// Sends the line.
    pub fn emit(self) {
        #[cfg(target_arch = "wasm32")]
        {
            crate::export::hook_panics();
            wire::emit(self.level, &self.message, &self.fields);
        }
        #[cfg(not(target_arch = "wasm32"))]
        match SCRIPT.get() {
            Some(keep) => keep(self),
            // Where a test shows it.
            None => eprintln!("{:?}: {}", self.level, self.message),
        }
    }
}

/// Logs a line of level `trace`.
pub fn trace(message: impl Into<String>) {
    line(Level::Trace, message).emit();
}

/// Logs a line of level `debug`.
pub fn debug(message: impl Into<String>) {
    line(Level::Debug, message).emit();
}

/// Logs a line of level `info`.
pub fn info(message: impl Into<String>) {
    line(Level::Info, message).emit();
}

/// Logs a line of level `warn`.
pub fn warn(message: impl Into<String>) {
    line(Level::Warn, message).emit();
}

/// Logs a line of level `error`.
pub fn error(message: impl Into<String>) {
    line(Level::Error, message).emit();
}
