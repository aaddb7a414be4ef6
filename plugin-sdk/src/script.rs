//! The trait of a script plugin: it runs the code that configs hold.
//!
//! The records are the contract's own. What the code may see is decided by the contract (its
//! arguments and nothing else); how a language keeps to it is the plugin's part.

use serde_json::Value;

use crate::wire::script::exports::runner::plugin::script as wire;
use crate::{CallContext, Info};

pub use crate::wire::hands::runner::plugin::log::Level;
pub use wire::{Argument, Failure, FailureKind, Form, Line, Module, Outcome, Position, Program};

/// Runs code in one or several languages. Functions instead of methods: the host may run every
/// call in a fresh instance, and nothing may pass from one call to the next.
///
/// Export the type with [`export_script!`](crate::export_script). Use nothing of
/// [`log`](crate::log), [`http`](crate::http) and [`llm`](crate::llm), so that running code is a
/// pure function; what the code prints goes into [`Outcome`].
pub trait Script {
    /// What the plugin is and which languages it runs ([`Info::script_language`]). Called once
    /// per file.
    fn describe() -> Info;

    /// Runs one program. A program that fails is an outcome, not a panic.
    fn run(program: &Program, arguments: &[Argument], context: &CallContext) -> Outcome;
}

impl Outcome {
    /// The code gave a value.
    pub fn value(value: &Value) -> Self {
        Self {
            result: Ok(Some(value.to_string())),
            console: Vec::new(),
        }
    }

    /// The code gave no value.
    pub fn nothing() -> Self {
        Self {
            result: Ok(None),
            console: Vec::new(),
        }
    }

    /// The code failed.
    pub fn failed(failure: Failure) -> Self {
        Self {
            result: Err(failure),
            console: Vec::new(),
        }
    }
}

impl Failure {
    /// A failure without a place.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            position: None,
            stack: None,
        }
    }
}
