//! A plugin as the interpreter of a language of configs.
//!
//! Code gets what is passed to it and nothing else, whatever its plugin was granted for other
//! work: an interpreter has no grants. Its limits are those of an assertion, tightened or
//! widened by the plugin's entry.

use std::sync::Arc;

use runner_sandbox::CallLimits;

use super::bounds::{call_limits, scheduling};
use super::{LoadedPlugin, PluginSet};
use crate::gateway::{Grants, Scheduling};

/// What runs the code of one language.
#[derive(Debug)]
pub(crate) struct Interpreter {
    pub(crate) plugin: Arc<LoadedPlugin>,
    pub(crate) grants: Arc<Grants>,
    pub(crate) limits: CallLimits,
    pub(crate) scheduling: Arc<Scheduling>,
}

impl PluginSet {
    /// Every language that a plugin runs, with its interpreter.
    pub(crate) fn interpreters(&self) -> impl Iterator<Item = (String, Arc<Interpreter>)> {
        self.languages.iter().map(|(language, index)| {
            let plugin = self.plugins[*index].clone();
            let interpreter = Interpreter {
                grants: Arc::new(Grants::none(plugin.alias.clone())),
                limits: call_limits(&plugin, CallLimits::assertion()),
                scheduling: Arc::new(scheduling(None, false)),
                plugin,
            };
            (language.clone(), Arc::new(interpreter))
        })
    }
}
