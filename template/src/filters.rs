//! nunjucks' filters, and promptfoo's `load`.
//!
//! Exactly those: a template that another engine's filter would make work here fails in
//! promptfoo, and the other way round it would be a surprise. Where nunjucks throws on a number or
//! on nothing at all (`{{ n | upper }}`), the value's text is taken. `random` is the renderer's.

use crate::meter::{Meter, Outcome};
use crate::numbers::to_number;
use crate::value::Value;

mod data;
mod lists;
mod load;
mod texts;

pub use data::{indented, plain_numbers};
pub(crate) use lists::joined;
pub(crate) use load::json;
pub(crate) use texts::replaced;

/// A filter: what it is given, and its arguments.
pub(crate) type Filter = for<'a> fn(&mut Meter, &Value<'a>, &Args<'a>) -> Outcome<Value<'a>>;

/// Finds the filter of this name.
pub(crate) fn find(name: &str) -> Option<Filter> {
    let all = [data::FILTERS, lists::FILTERS, texts::FILTERS];
    let found = all.into_iter().flatten().find(|(known, _)| *known == name);
    found.map(|(_, filter)| *filter)
}

/// The filter that chooses an item of a list.
pub(crate) const RANDOM: &str = "random";

/// Whether nunjucks has such a filter.
pub fn is_filter(name: &str) -> bool {
    name == RANDOM || find(name).is_some()
}

/// What a filter or a method is given besides its value.
#[derive(Debug, Default)]
pub(crate) struct Args<'a> {
    pub(crate) positional: Vec<Value<'a>>,
    pub(crate) named: Vec<(&'a str, Value<'a>)>,
}

impl<'a> Args<'a> {
    /// The argument at `index`; undefined if there is none.
    pub(crate) fn at(&self, index: usize) -> Value<'a> {
        self.positional.get(index).cloned().unwrap_or_default()
    }

    /// The argument at `index`, or the one of that name.
    pub(crate) fn get(&self, index: usize, name: &str) -> Value<'a> {
        if let Some(value) = self.positional.get(index) {
            return value.clone();
        }
        let named = self.named.iter().rfind(|(known, _)| *known == name);
        named.map(|(_, value)| value.clone()).unwrap_or_default()
    }

    /// A count; `otherwise` where it is missing or none.
    pub(crate) fn count(&self, index: usize, name: &str, otherwise: usize) -> usize {
        match to_number(&self.get(index, name)) {
            // A number below zero becomes zero.
            number if number.is_finite() && number != 0.0 => number as usize,
            _ => otherwise,
        }
    }
}
