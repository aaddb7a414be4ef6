//! The host as the code of a config sees it, through its interpreter: it takes memory, and what it
//! prints goes to the log. It can ask for nothing, also where it may send requests (`requests`).

use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use runner_sandbox::{Host, abi};

use super::CallScope;
use super::words::level;
use crate::event::{Event, LogLine};
use crate::plugins::LoadedPlugin;
use crate::record::LogRecord;

/// The host as one call of an interpreter sees it.
pub(super) struct CodeHost {
    pub(super) scope: CallScope,
    pub(super) plugin: Arc<LoadedPlugin>,
    /// What is printed by code that may be run again; of other code it is told at once.
    pub(super) kept: Option<Mutex<Vec<abi::LogLine>>>,
}

#[async_trait]
impl Host for CodeHost {
    async fn goes_first(&self) {
        self.scope.memory.first().await;
    }

    /// Adds the memory and never waits: it is one of the few calls that an interpreter has at once, and
    /// others wait for it.
    async fn take_memory(&self, bytes: u64) {
        self.scope.memory.add(bytes);
    }

    fn free_memory(&self, bytes: u64) {
        self.scope.memory.give_back(bytes);
    }

    fn log(&self, line: abi::LogLine) {
        match &self.kept {
            Some(kept) => {
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                kept.push(line);
            }
            None => self.scope.log(&self.plugin, line),
        }
    }
}

impl CallScope {
    /// Tells a guest's line, masked, unless the run has too many of them.
    pub(super) fn log(&self, plugin: &LoadedPlugin, line: abi::LogLine) {
        let mut message = line.message;
        for (key, value) in &line.fields {
            write!(message, " {key}={value}").expect("a string takes everything");
        }
        let message = self.context.masker.mask(&message).into_owned();
        let (plugin, level) = (&plugin.alias, level(line.level));
        self.meter.log(LogRecord {
            plugin: plugin.clone(),
            level: level.as_str().to_ascii_lowercase(),
            message: message.clone(),
        });
        let Some(dropped) = self.context.log_room.take(&message) else {
            return;
        };
        if dropped > 0 {
            let message = format!("{dropped} log lines of plugins came too fast and were dropped");
            self.context.emit(Event::Notice { message });
        }
        self.context.emit(Event::Log(LogLine {
            plugin: plugin.clone(),
            case: self.case,
            level,
            message,
        }));
    }
}
