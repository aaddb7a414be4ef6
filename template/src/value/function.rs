//! What can be called.

use std::cell::Cell;
use std::rc::Rc;

use super::{List, Value};

/// What can be called.
#[derive(Debug, Clone)]
pub enum Function<'a> {
    /// A macro, by its number in the rendering. It sees what it is given and what the text around
    /// all blocks has set.
    Macro(usize),
    /// A `call` block, by its number, and the calls that it stands within: it sees the names there.
    Caller(usize, usize),
    /// `cycler(a, b, …)`
    Cycler(Rc<Turns<'a>>),
    /// `joiner(separator)`
    Joiner(Rc<Turns<'a>>),
}

/// Items that are given one after the other.
#[derive(Debug)]
pub struct Turns<'a> {
    items: List<'a>,
    /// How many were given since the beginning, or the last `reset`.
    given: Cell<usize>,
}

impl<'a> Function<'a> {
    /// The value of an attribute.
    pub(crate) fn attribute(&self, name: &str) -> Value<'a> {
        match self {
            Self::Cycler(turns) if name == "current" => turns.current(),
            _ => Value::Undefined,
        }
    }

    /// Calls a method; `None` if there is none of this name.
    pub(crate) fn method(&self, name: &str) -> Option<Value<'a>> {
        match (self, name) {
            (Self::Cycler(turns), "next") => {
                turns.given.set(turns.given.get() + 1);
                Some(match turns.items.len() {
                    0 => Value::Undefined,
                    _ => turns.current(),
                })
            }
            (Self::Cycler(turns), "reset") => {
                turns.given.set(0);
                Some(Value::Undefined)
            }
            _ => None,
        }
    }

    /// How deep what it holds nests.
    pub(super) fn nesting(&self) -> u32 {
        match self {
            Self::Cycler(turns) | Self::Joiner(turns) => turns.items.nesting(),
            Self::Macro(_) | Self::Caller(..) => 0,
        }
    }
}

impl<'a> Turns<'a> {
    /// None of these was given yet.
    pub(crate) fn new(items: List<'a>) -> Rc<Self> {
        let given = Cell::new(0);
        Rc::new(Self { items, given })
    }

    /// What a `cycler` gave last.
    fn current(&self) -> Value<'a> {
        let last = self.given.get().checked_sub(1);
        last.and_then(|last| self.items.get(last % self.items.len().max(1)))
            .unwrap_or(Value::Null)
    }

    /// What a `joiner` gives: nothing the first time, and then its separator.
    pub(crate) fn join(&self) -> Value<'a> {
        match self.given.replace(1) {
            0 => Value::from(""),
            _ => self.items.get(0).unwrap_or_default(),
        }
    }
}
