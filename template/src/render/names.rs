//! Names that a template gave values.

use std::collections::BTreeMap;

use crate::value::Value;

/// The names of the text, and of each call that is open.
pub(super) struct Names<'a>(Vec<Frames<'a>>);

impl<'a> Names<'a> {
    pub(super) fn new() -> Self {
        Self(vec![Frames::default()])
    }

    /// A name's value; a macro sees those that the text around all blocks has set, too.
    pub(super) fn get(&self, name: &str) -> Option<&Value<'a>> {
        let own = self.0.last().and_then(|frames| frames.get(name));
        own.or_else(|| self.0.first()?.outside_loops(name))
    }

    pub(super) fn set(&mut self, name: &'a str, value: Value<'a>) {
        self.innermost().set(name, value);
    }

    /// Makes a variable, whatever is around.
    pub(super) fn bind(&mut self, name: &'a str, value: Value<'a>) {
        self.innermost().bind(name, value);
    }

    /// Opens a level: what is bound from now on lives until [`Names::leave`].
    pub(super) fn enter(&mut self) {
        self.innermost().loops.push(Vec::new());
    }

    /// Opens a level apart: what is bound from now on lives until [`Names::leave`], and what is set
    /// until then leaves other names of its own as they are.
    pub(super) fn enter_apart(&mut self) {
        let frames = self.innermost();
        frames.apart.push(frames.loops.len());
        frames.loops.push(Vec::new());
    }

    pub(super) fn leave_apart(&mut self) {
        let frames = self.innermost();
        frames.apart.pop();
        frames.leave();
    }

    pub(super) fn leave(&mut self) {
        self.innermost().leave();
    }

    /// How many calls are open.
    pub(super) fn calls(&self) -> usize {
        self.0.len() - 1
    }

    /// Begins a call, which sees no names but its own and those of the text.
    pub(super) fn begin_call(&mut self) {
        self.0.push(Frames::default());
    }

    pub(super) fn end_call(&mut self) {
        self.0.pop();
    }

    /// Goes back to the names of the place within so many calls; gives those of the calls since.
    pub(super) fn back_to(&mut self, calls: usize) -> Vec<Frames<'a>> {
        self.0.split_off(calls + 1)
    }

    /// Takes back what [`Names::back_to`] gave.
    pub(super) fn forth(&mut self, since: Vec<Frames<'a>>) {
        self.0.extend(since);
    }

    fn innermost(&mut self) -> &mut Frames<'a> {
        self.0.last_mut().expect("the text's own are always there")
    }
}

/// Names that the template gave values. In nunjucks a `set` writes the variable of its name that
/// the text or a loop around has, and else makes one that lives as long as the innermost loop,
/// not as long as one round.
#[derive(Default)]
pub(super) struct Frames<'a> {
    /// The values of each name, the innermost last.
    values: BTreeMap<&'a str, Vec<Value<'a>>>,
    /// The names that each open loop has made.
    loops: Vec<Vec<&'a str>>,
    /// Those of them within which what is around can't be written.
    apart: Vec<usize>,
}

impl<'a> Frames<'a> {
    fn get(&self, name: &str) -> Option<&Value<'a>> {
        self.values.get(name)?.last()
    }

    /// The value that was given outside of all loops.
    fn outside_loops(&self, name: &str) -> Option<&Value<'a>> {
        let values = self.values.get(name)?;
        let names = self.loops.iter().flatten();
        let of_loops = names.filter(|known| **known == name).count();
        values.first().filter(|_| values.len() > of_loops)
    }

    fn set(&mut self, name: &'a str, value: Value<'a>) {
        let can_write = |of: &usize| self.loops[*of..].iter().flatten().any(|it| *it == name);
        let values = self.values.get_mut(name);
        let known = values.filter(|_| self.apart.last().is_none_or(can_write));
        match known.and_then(|values| values.last_mut()) {
            Some(known) => *known = value,
            None => self.bind(name, value),
        }
    }

    /// Makes a variable, whatever is around.
    fn bind(&mut self, name: &'a str, value: Value<'a>) {
        self.values.entry(name).or_default().push(value);
        if let Some(names) = self.loops.last_mut() {
            names.push(name);
        }
    }

    fn leave(&mut self) {
        for name in self.loops.pop().unwrap_or_default() {
            self.values.get_mut(name).and_then(Vec::pop);
        }
    }
}
