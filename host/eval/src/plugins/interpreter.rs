//! A plugin as the interpreter of a language of configs.
//!
//! Code gets what is passed to it and nothing else; what the config grants it is sent for it
//! (`call::requests`). Its limits are those of an assertion, tightened or
//! widened by the plugin's entry.
//!
//! Code waits for nothing but the processor. So a few calls at once are enough to keep every
//! core busy, and the others take turns: 256 of Python at once would hold two gigabytes.

use std::collections::BTreeMap;
use std::sync::Arc;

use runner_sandbox::limits::ASSERTION_FUEL;
use runner_sandbox::{CallLimits, Sandbox};
use tokio::sync::Semaphore;

use super::bounds::call_limits;
use super::bundle::UnloadedPlugin;
use super::code_access::CodeAccess;
use super::loaded::{LoadedPlugin, Trust};
use super::set::PluginSet;

/// What all code may cost that runs before a run, in fuel: each call has a bound of its own, and a
/// config of a few kilobytes can have thousands. Half a minute, or less.
pub(crate) const FUEL_BEFORE_A_RUN: u64 = 30 * ASSERTION_FUEL;

/// What runs the code of one language.
#[derive(Debug)]
pub(crate) struct Interpreter {
    pub(crate) plugin: Arc<LoadedPlugin>,
    pub(crate) limits: CallLimits,
    /// What code in its language may send; `None`: nothing.
    pub(crate) access: Option<CodeAccess>,
    /// One permit for each call at once.
    pub(crate) turns: Semaphore,
}

impl Interpreter {
    fn new(plugin: Arc<LoadedPlugin>) -> Self {
        Self {
            limits: call_limits(&plugin, CallLimits::assertion()),
            access: None,
            turns: turns(),
            plugin,
        }
    }
}

/// Calls at once for each core: one that works, and one that is ready when it ends.
const CALLS_A_CORE: usize = 2;

/// Calls at once.
fn turns() -> Semaphore {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    Semaphore::new(cores * CALLS_A_CORE)
}

impl PluginSet {
    /// Every language that a plugin runs, with its interpreter, which has the access of its language.
    pub(crate) fn interpreters(
        &self,
        access: &BTreeMap<String, CodeAccess>,
    ) -> impl Iterator<Item = (String, Arc<Interpreter>)> {
        self.languages.iter().map(|(language, index)| {
            let interpreter = Interpreter {
                access: access.get(language).cloned(),
                ..Interpreter::new(self.plugins[*index].clone())
            };
            (language.clone(), Arc::new(interpreter))
        })
    }

    /// What runs `language`, where its component is loaded.
    pub(crate) fn loaded(&self, language: &str) -> Option<Interpreter> {
        let index = self.languages.get(language)?;
        Some(Interpreter::new(self.plugins[*index].clone()))
    }

    /// What runs `language`, also where its component still waits for a plan that needs it;
    /// then it is loaded for the caller alone.
    ///
    /// # Errors
    /// When no component runs it, or the one that does can't be loaded.
    pub(crate) fn interpreter(
        &self,
        language: &str,
        sandbox: &Sandbox,
    ) -> Result<Interpreter, String> {
        if let Some(interpreter) = self.loaded(language) {
            return Ok(interpreter);
        }
        let speaks = |one: &&UnloadedPlugin| {
            one.served
                .languages
                .iter()
                .any(|(name, _)| name == language)
        };
        let waiting = self.waiting.iter().find(speaks);
        let waiting = waiting.ok_or_else(|| format!("no plugin runs {language}"))?;
        let component = waiting.load(sandbox).map_err(|error| error.to_string())?;
        let alias = component.info().name.clone();
        let plugin = LoadedPlugin {
            component,
            alias,
            trust: Trust::Bundled,
        };
        Ok(Interpreter::new(Arc::new(plugin)))
    }
}
