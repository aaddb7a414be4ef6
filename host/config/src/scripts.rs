//! Code that runs while a plan is made: generators of tests, and `beforeAll`.
//!
//! What they give decides what the plan is, so they can't wait for the run. This crate knows no
//! sandbox: whoever makes a plan hands in something that runs code, as it hands in the
//! environment and the catalog. The same code with the same arguments must give the same every
//! time, or a run that goes on would not find its rows again.

use serde_json::Value;

use crate::model::{Script, TrustRequest};

/// Runs code for whoever makes a plan.
pub trait Scripts {
    /// What `script` gives when it is called with `arguments`, by name and in order; `None`: no
    /// value (JavaScript's `undefined`).
    ///
    /// # Errors
    /// One line: the code failed, broke a limit, or can't be run here.
    fn run(&self, script: &Script, arguments: &[(&str, Value)]) -> Result<Option<Value>, String>;

    /// What has to be agreed to before code of this language is run: what runs it may be somebody
    /// else's.
    fn needs(&self, _language: &str) -> Option<TrustRequest> {
        None
    }
}

/// Runs nothing.
pub(crate) struct NoScripts;

impl Scripts for NoScripts {
    fn run(&self, _: &Script, _: &[(&str, Value)]) -> Result<Option<Value>, String> {
        Err("no code is run here".to_owned())
    }
}
