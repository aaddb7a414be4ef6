//! nunjucks' filters, and promptfoo's `load`.
//!
//! Exactly those: a template that another engine's filter would make work here fails in
//! promptfoo, and the other way round it would be a surprise. `random` and `urlize` are left
//! out: a run must be repeatable, and prompts have no links to make. Where nunjucks throws on a
//! number or on nothing at all (`{{ n | upper }}`), the value's text is taken.

use minijinja::value::{Kwargs, Rest, ValueOrKwargs};
use minijinja::{Environment, Error, State, Value};

use super::operators::to_number;
use super::values;

mod data;
mod lists;
mod texts;

pub(crate) use data::{indented, plain_numbers};
pub(crate) use texts::replaced;

/// A filter: the engine, what it is given, its arguments.
type Filter = fn(&mut State<'_, '_>, &Value, &Args) -> Result<Value, Error>;

/// The filters that templates may name.
fn all() -> impl Iterator<Item = (&'static str, Filter)> {
    [data::FILTERS, lists::FILTERS, texts::FILTERS]
        .into_iter()
        .flatten()
        .copied()
}

/// Whether there is such a filter.
pub(crate) fn is_known(name: &str) -> bool {
    all().any(|(known, _)| known == name)
}

/// Adds them to an environment.
pub(crate) fn add(environment: &mut Environment<'static>) {
    for (name, filter) in all() {
        add_filter(environment, name, filter);
    }
}

/// Adds one filter.
pub(crate) fn add_filter(
    environment: &mut Environment<'static>,
    name: &'static str,
    filter: Filter,
) {
    environment.add_filter(
        name,
        move |state: &mut State<'_, '_>, value: Value, rest: Rest<ValueOrKwargs>| {
            filter(state, &value, &Args::new(rest.into_values()))
        },
    );
}

/// What a filter is given besides its value.
pub(crate) struct Args {
    positional: Vec<Value>,
    named: Option<Kwargs>,
}

impl Args {
    fn new(mut positional: Vec<Value>) -> Self {
        let named = positional
            .last()
            .filter(|last| last.is_kwargs())
            .and_then(|last| Kwargs::try_from(last.clone()).ok());
        if named.is_some() {
            positional.pop();
        }
        Self { positional, named }
    }

    /// Those that have a name, as one map; `None` if there are none.
    pub(crate) fn keywords(&self) -> Option<serde_json::Value> {
        let named = self.named.as_ref()?;
        let field = |name: &str| {
            let value = named.get::<Value>(name).ok()?;
            Some((name.to_owned(), values::json(&value)?))
        };
        Some(serde_json::Value::Object(
            named.args().filter_map(field).collect(),
        ))
    }

    /// How many there are without a name.
    pub(crate) fn len(&self) -> usize {
        self.positional.len()
    }

    /// The argument at `index`; undefined if there is none.
    pub(crate) fn at(&self, index: usize) -> Value {
        self.positional.get(index).cloned().unwrap_or_default()
    }

    /// The argument at `index`, or the one of that name.
    pub(crate) fn get(&self, index: usize, name: &str) -> Value {
        let named = || self.named.as_ref()?.get::<Value>(name).ok();
        self.positional
            .get(index)
            .cloned()
            .or_else(named)
            .unwrap_or_default()
    }

    /// A count; `otherwise` where it is missing or none.
    fn count(&self, index: usize, name: &str, otherwise: usize) -> usize {
        match to_number(&self.get(index, name)) {
            // A number below zero becomes zero.
            number if number.is_finite() && number != 0.0 => number as usize,
            _ => otherwise,
        }
    }
}
