//! Filters that a config adds to templates (`nunjucksFilters`).
//!
//! Such a filter is code, and code runs in a sandbox, where the engine can't wait for it. So a
//! rendering looks its results up and never calls: what it does not find it notes, goes on with
//! a stand-in that prints nothing, and whoever asked for the rendering runs the code and renders
//! once more. What a filter makes of a stand-in is a stand-in, so no code is called with one.
//! Calls that follow from each other take a rendering each, all others are found in the first.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use runner_template::Allowance;
use serde_json::Value as Json;

use super::{CompiledCache, Template};
use crate::model::Script;

/// Calls of filters that one case may make. Each is a call of a guest.
const MAX_CALLS: usize = 1_000;

/// Bytes of arguments and results that one case may hold, as JSON.
const MAX_BYTES: usize = 32 << 20;

/// Steps that the templates of one case may take together, from its prompt to the last of its
/// assertions: some seconds of a processor.
const MAX_STEPS: u64 = 200_000_000;

/// Filters by their names.
pub(crate) type FilterScripts = BTreeMap<String, Arc<Script>>;

/// Those that texts of data may call.
pub(crate) fn for_data(filters: &Arc<FilterScripts>) -> Arc<FilterScripts> {
    let is_sandboxed = |script: &Script| script.process.is_none();
    if filters.values().all(|script| is_sandboxed(script)) {
        return filters.clone();
    }
    let sandboxed = filters.iter().filter(|(_, script)| is_sandboxed(script));
    let sandboxed = sandboxed.map(|(name, script)| (name.clone(), script.clone()));
    Arc::new(sandboxed.collect())
}

/// A call of a filter that a rendering waits for.
#[derive(Debug, Clone, PartialEq)]
pub struct FilterCall {
    /// The filter's name.
    pub name: String,
    /// Its code.
    pub script: Arc<Script>,
    /// The value that it filters, and its arguments.
    pub arguments: Vec<Json>,
}

/// What the filters of one case gave so far, what is wanted of them, and what the case's templates
/// may still cost.
pub(crate) struct Results {
    filters: Arc<FilterScripts>,
    /// Whether texts of data are filled in by it, which call nothing outside the sandbox: its arguments
    /// would be theirs.
    is_for_data: bool,
    pub(super) templates: Arc<CompiledCache<Template>>,
    pub(super) allowance: Allowance,
    state: Mutex<Answered>,
}

#[derive(Default)]
struct Answered {
    known: HashMap<String, Result<Json, String>>,
    wanted: Vec<(String, FilterCall)>,
    calls: usize,
    bytes: usize,
}

impl fmt::Debug for Results {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&String> = self.filters.keys().collect();
        f.debug_tuple("Results").field(&names).finish()
    }
}

impl Results {
    /// `templates` are those of the plan, which its cases share.
    pub(crate) fn new(
        filters: Arc<FilterScripts>,
        templates: Arc<CompiledCache<Template>>,
    ) -> Self {
        Self {
            filters,
            is_for_data: false,
            templates,
            allowance: Allowance::new(MAX_STEPS),
            state: Mutex::default(),
        }
    }

    /// Those of texts of data, which may call `filters` ([`for_data`]).
    pub(crate) fn for_data(
        filters: Arc<FilterScripts>,
        templates: Arc<CompiledCache<Template>>,
    ) -> Self {
        Self {
            is_for_data: true,
            ..Self::new(filters, templates)
        }
    }

    /// Whether there is a filter of this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.filters.contains_key(name)
    }

    /// The calls that renderings waited for since this was asked last.
    pub(crate) fn take_wanted(&self) -> Vec<FilterCall> {
        let wanted = std::mem::take(&mut self.held().wanted);
        wanted.into_iter().map(|(_, call)| call).collect()
    }

    /// Keeps what a call came to: a value, or why there is none.
    pub(crate) fn keep(&self, call: &FilterCall, result: Result<Json, String>) {
        let mut held = self.held();
        held.bytes += result.as_ref().map_or(0, |json| json.to_string().len());
        held.known.insert(key(&call.name, &call.arguments), result);
    }

    fn held(&self) -> MutexGuard<'_, Answered> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl runner_template::Filters for Results {
    fn call(&self, name: &str, arguments: Vec<Json>) -> Result<Option<Json>, String> {
        let Some(script) = self.filters.get(name) else {
            let whose = if self.is_for_data {
                " that data files may use (they may use only filters that run in the sandbox)"
            } else {
                ""
            };
            return Err(format!("there is no filter '{name}'{whose}"));
        };
        let key = key(name, &arguments);
        let mut held = self.held();
        match held.known.get(&key) {
            Some(Ok(json)) => return Ok(Some(json.clone())),
            Some(Err(reason)) => return Err(format!("the filter '{name}': {reason}")),
            None if held.wanted.iter().any(|(wanted, _)| *wanted == key) => return Ok(None),
            None => {}
        }
        held.calls += 1;
        held.bytes += 2 * key.len();
        if held.calls > MAX_CALLS {
            return Err(format!(
                "calls filters of the config more than {MAX_CALLS} times"
            ));
        }
        if held.bytes > MAX_BYTES {
            let limit = MAX_BYTES >> 20;
            return Err(format!(
                "hands more than {limit} MiB to filters of the config"
            ));
        }
        let call = FilterCall {
            name: name.to_owned(),
            script: script.clone(),
            arguments,
        };
        held.wanted.push((key, call));
        Ok(None)
    }
}

fn key(name: &str, arguments: &[Json]) -> String {
    serde_json::json!([name, arguments]).to_string()
}

#[cfg(test)]
mod tests;
