//! The extensions of a run: which there are for which hook. `around::hooks` calls them.

use std::sync::atomic::AtomicBool;

use runner_config::plan::{Extension, Hook};

/// The extensions of a run.
#[derive(Debug, Default)]
pub(crate) struct Hooks {
    extensions: Vec<Extension>,
    /// A failing `afterEach` was told.
    pub(crate) told: AtomicBool,
}

impl Hooks {
    pub(crate) fn new(extensions: Vec<Extension>) -> Self {
        Self {
            extensions,
            told: AtomicBool::new(false),
        }
    }

    /// Those that are called for a hook, in the order written.
    pub(crate) fn of(&self, hook: Hook) -> impl Iterator<Item = &Extension> {
        self.extensions.iter().filter(move |one| one.is_for(hook))
    }

    /// Whether any is called for a hook.
    pub(crate) fn has(&self, hook: Hook) -> bool {
        self.of(hook).next().is_some()
    }
}
