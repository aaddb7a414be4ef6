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

use minijinja::value::{Object, ObjectRepr, Value};
use minijinja::{Environment, Error, State};
use serde_json::Value as Json;

use super::effort::{self, refuse};
use super::filters::{self, Args};
use super::values;
use crate::plan::Script;

/// The variable that holds the results; no template can name it.
pub(super) const RESULTS: &str = "__own_results";

/// The engine's filter that stands for all of these; the first argument is the name.
pub(super) const FILTER: &str = "_custom";

/// Calls of filters that one case may make. Each is a call of a guest.
const MAX_CALLS: usize = 1_000;

/// Bytes of arguments and results that one case may hold, as JSON.
const MAX_BYTES: usize = 32 << 20;

/// Filters by their names.
pub(crate) type Filters = BTreeMap<String, Arc<Script>>;

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

/// What the filters of one case gave so far, and what is wanted of them.
pub(crate) struct Results {
    filters: Arc<Filters>,
    state: Mutex<Held>,
}

#[derive(Default)]
struct Held {
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
    pub(crate) fn new(filters: Arc<Filters>) -> Self {
        Self {
            filters,
            state: Mutex::default(),
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

    fn held(&self) -> MutexGuard<'_, Held> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a filter makes of its arguments, or the stand-in if that is not known yet.
    fn look_up(&self, name: &str, arguments: Vec<Json>) -> Result<Value, Error> {
        let Some(script) = self.filters.get(name) else {
            return Err(unknown(name));
        };
        let key = key(name, &arguments);
        let mut held = self.held();
        match held.known.get(&key) {
            Some(Ok(json)) => return Ok(values::value(json)),
            Some(Err(reason)) => return Err(refuse(format!("the filter '{name}': {reason}"))),
            None if held.wanted.iter().any(|(wanted, _)| *wanted == key) => {
                return Ok(Value::from_object(StandIn));
            }
            None => {}
        }
        held.calls += 1;
        held.bytes += 2 * key.len();
        if held.calls > MAX_CALLS {
            return Err(refuse(format!(
                "calls filters of the config more than {MAX_CALLS} times"
            )));
        }
        if held.bytes > MAX_BYTES {
            let limit = MAX_BYTES >> 20;
            return Err(refuse(format!(
                "hands more than {limit} MiB to filters of the config"
            )));
        }
        let call = FilterCall {
            name: name.to_owned(),
            script: script.clone(),
            arguments,
        };
        held.wanted.push((key, call));
        Ok(Value::from_object(StandIn))
    }
}

fn key(name: &str, arguments: &[Json]) -> String {
    serde_json::json!([name, arguments]).to_string()
}

fn unknown(name: &str) -> Error {
    refuse(format!("there is no filter '{name}'"))
}

/// [`Results`] as a value of the engine.
#[derive(Debug)]
pub(super) struct Shared(pub(super) Arc<Results>);

impl Object for Shared {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }
}

/// In place of a value that is not known yet.
#[derive(Debug)]
struct StandIn;

impl Object for StandIn {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn render(self: &Arc<Self>, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ok(())
    }
}

/// Adds the engine's side.
pub(super) fn add(environment: &mut Environment<'static>) {
    filters::add_filter(environment, FILTER, filter);
}

fn filter(state: &mut State<'_, '_>, value: &Value, args: &Args) -> Result<Value, Error> {
    let name = args.at(0);
    let name = name.as_str().unwrap_or_default();
    let results = state.lookup(RESULTS);
    let results = results
        .as_ref()
        .and_then(Value::downcast_object_ref::<Shared>);
    let Some(Shared(results)) = results else {
        return Err(unknown(name));
    };
    let given =
        || std::iter::once(value.clone()).chain((1..args.len()).map(|index| args.at(index)));
    if given().any(|value| value.downcast_object_ref::<StandIn>().is_some()) {
        return Ok(Value::from_object(StandIn));
    }
    for value in given() {
        effort::read(state, values::size(&value))?;
    }
    // What is undefined has no JSON form; code sees `null`.
    let mut arguments: Vec<Json> = given()
        .map(|value| values::json(&value).unwrap_or_default())
        .collect();
    arguments.extend(args.keywords());
    results.look_up(name, arguments)
}

#[cfg(test)]
mod tests;
