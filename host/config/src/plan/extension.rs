//! Code that is called around the run and its cases (`extensions`).

use std::sync::Arc;

use super::{Position, Script};

/// When an extension is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hook {
    /// Once, before the plan is made: it may change prompts and tests.
    BeforeAll,
    /// Before each case, whose test it may change.
    BeforeEach,
    /// After each case, whose named scores and metadata it may add to.
    AfterEach,
    /// Once, with all results.
    AfterAll,
}

impl Hook {
    /// All of them, in the order in which they come.
    pub const ALL: [Self; 4] = [
        Self::BeforeAll,
        Self::BeforeEach,
        Self::AfterEach,
        Self::AfterAll,
    ];

    /// As configs and code name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::BeforeAll => "beforeAll",
            Self::BeforeEach => "beforeEach",
            Self::AfterEach => "afterEach",
            Self::AfterAll => "afterAll",
        }
    }
}

/// One entry of `extensions`.
#[derive(Debug, Clone)]
pub struct Extension {
    /// Its code.
    pub script: Arc<Script>,
    /// The one hook that it is for, called with `(context, { hookName })`; `None`: it is called
    /// for every hook, with `(hookName, context)`.
    pub hook: Option<Hook>,
    /// Where it stands.
    pub at: Position,
}

impl Extension {
    /// Whether it is called for `hook`.
    pub fn is_for(&self, hook: Hook) -> bool {
        self.hook.is_none_or(|own| own == hook)
    }
}
