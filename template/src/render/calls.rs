//! Calls of functions, and of the filter that is like one.

use std::rc::Rc;

use super::Renderer;
use super::chance::Chance;
use crate::error::Error;
use crate::filters::Args;
use crate::meter::{Outcome, Refusal, refuse};
use crate::numbers::to_number;
use crate::references::CALLER;
use crate::tree::{Calling, Macro};
use crate::value::{Function, Turns, Value};

/// The longest list that `range` makes.
const MAX_RANGE: f64 = 100_000.0;

/// How deep expressions and blocks may stand in each other where a macro is called: what it nests
/// itself is bounded as any template's.
const MAX_DEPTH: u32 = 200;

impl<'a> Renderer<'a> {
    /// Returns what a function gives.
    pub(super) fn call(
        &mut self,
        calling: &'a Calling,
        caller: Option<&'a Macro>,
    ) -> Outcome<Value<'a>> {
        let args = self.arguments(&calling.arguments)?;
        let name = &*calling.function;
        match self.names.get(name) {
            Some(Value::Function(function)) => {
                let function = function.clone();
                self.call_made(&function, args, caller)
            }
            Some(_) => refuse(format!("'{name}' is called and is no function")),
            None => match name {
                "range" => self.range(&args),
                "cycler" => {
                    let turns = self.turns(args.positional)?;
                    Ok(Value::Function(Function::Cycler(turns)))
                }
                "joiner" => {
                    let separator = Some(args.at(0)).filter(Value::is_true);
                    let turns = self.turns(vec![separator.unwrap_or_else(|| ",".into())])?;
                    Ok(Value::Function(Function::Joiner(turns)))
                }
                CALLER => refuse("there is no `call` block around what `caller` is called in"),
                _ => refuse(format!("'{name}' is called before it is made")),
            },
        }
    }

    fn call_made(
        &mut self,
        function: &Function<'a>,
        args: Args<'a>,
        caller: Option<&'a Macro>,
    ) -> Outcome<Value<'a>> {
        match *function {
            Function::Joiner(ref turns) => Ok(turns.join()),
            Function::Cycler(_) => refuse("a cycler is called by its method `next`"),
            Function::Macro(number) => {
                let calls = self.names.calls();
                self.names.begin_call();
                if let Some(block) = caller {
                    let caller = Function::Caller(self.macros.len(), calls);
                    self.macros.push(block);
                    self.names.bind(CALLER, Value::Function(caller));
                }
                let text = self.body(number, args)?;
                self.names.end_call();
                Ok(text)
            }
            Function::Caller(number, calls) => {
                let since = self.names.back_to(calls);
                self.names.enter_apart();
                let text = self.body(number, args)?;
                self.names.leave_apart();
                self.names.forth(since);
                Ok(text)
            }
        }
    }

    /// Returns what the body of a macro prints, which is not escaped again. Names must have been set aside
    /// for it; after a refusal nothing is rendered any more, so that nobody puts them back.
    fn body(&mut self, number: usize, args: Args<'a>) -> Outcome<Value<'a>> {
        let made = self.macros[number];
        if self.depth > MAX_DEPTH {
            return refuse("macros call each other too deep");
        }
        let mut positional = args.positional.into_iter();
        let mut given = |is_optional: bool| {
            let of_kind = made.parameters.iter();
            let of_kind = of_kind.filter(|it| it.default.is_some() == is_optional);
            let by_place = of_kind.zip(positional.by_ref());
            by_place.collect::<Vec<_>>()
        };
        // As in nunjucks: first those without a default, wherever they stand.
        let mut values = given(false);
        values.extend(given(true));
        for parameter in &made.parameters {
            let by_place = values.iter().find(|(it, _)| std::ptr::eq(*it, parameter));
            let by_name = || {
                args.named
                    .iter()
                    .rfind(|(name, _)| **name == *parameter.name)
            };
            let value = by_place
                .map(|(_, value)| value)
                .or_else(|| Some(&by_name()?.1));
            let value = match (value, &parameter.default) {
                (Some(value), _) => value.clone(),
                (None, Some(default)) => self.value(default)?,
                (None, None) => Value::Undefined,
            };
            self.names.bind(&parameter.name, value);
        }
        let text = self.printed(&made.body).map_err(Refusal::from)?;
        Ok(Value::Safe(text.into()))
    }

    /// Draws any item of a list.
    pub(super) fn random(&mut self, of: &Value<'a>) -> Outcome<Value<'a>> {
        let mut items = self.meter.items(of)?;
        let seed = || Chance::new(self.scope.variables.seed());
        let chance = self.chance.get_or_insert_with(seed);
        let place = chance.below(items.len());
        Ok(place.map_or(Value::Undefined, |place| items.swap_remove(place)))
    }

    /// Makes the items of `cycler` or `joiner`. They are a list, so that their memory and how deep
    /// they nest is counted as a list's.
    fn turns(&mut self, items: Vec<Value<'a>>) -> Outcome<Rc<Turns<'a>>> {
        match self.meter.list(items)? {
            Value::List(items) => Ok(Turns::new(items)),
            _ => unreachable!("a list is a list"),
        }
    }

    /// Makes the list of `range(stop)`, `range(start, stop)`, `range(start, stop, step)`
    fn range(&mut self, bounds: &Args<'a>) -> Outcome<Value<'a>> {
        let bounds = &bounds.positional;
        let (start, end) = match &bounds[..] {
            [start, end, ..] => (to_number(start), to_number(end)),
            bounds => (0.0, bounds.first().map_or(f64::NAN, to_number)),
        };
        let step = match bounds.get(2).map_or(f64::NAN, to_number) {
            step if step.is_nan() || step == 0.0 => 1.0,
            step => step,
        };
        let count = ((end - start) / step).ceil();
        if count > MAX_RANGE {
            return refuse(format!("range: more than {MAX_RANGE} numbers"));
        }
        // A count below one, and one that is no number, become none.
        let count = count as u32;
        let items = (0..count).map(|index| Value::number(start + f64::from(index) * step));
        self.meter.list(items.collect())
    }
}

/// What went wrong in the body of a macro keeps its line.
impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self {
            reason: error.reason.into(),
            line: Some(error.line),
        }
    }
}
