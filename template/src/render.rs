//! Filling in a template: the tree, walked.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::Value as Json;

use crate::error::{Error, Line};
use crate::filters::{Args, json};
use crate::meter::{Allowance, Limits, Meter, Outcome, refuse};
use crate::methods;
use crate::numbers::{is_kept, to_number};
use crate::operators::{get, same};
use crate::tree::{Arguments, Call, Choice, Expression, For, Is, Macro, Named, Node, Step, Switch};
use crate::value::{Function, Map, Text, Value};

mod calls;
mod chance;
mod names;
mod printed;

use chance::Chance;
use names::Names;

pub use chance::seed_of;
pub use printed::{Escape, Level, Printed};

/// Where a template finds what it names.
#[derive(Clone, Copy)]
pub struct Scope<'a> {
    /// Its variables.
    pub variables: &'a dyn Variables,
    /// Filters besides nunjucks' own.
    pub filters: Option<&'a dyn Filters>,
    /// What it may cost together with others.
    pub allowance: Option<&'a Allowance>,
    /// What is written in place of what a tag prints.
    pub escape: Option<&'a Escape<'a>>,
}

/// Variables by their names.
pub trait Variables {
    /// The value of a name; `None` if there is none.
    fn get<'a>(&'a self, name: &str) -> Option<Value<'a>>;

    /// What the choices of `random` depend on, so that they are the same when a text is filled in
    /// again: see [`seed_of`].
    fn seed(&self) -> u64;
}

impl Variables for serde_json::Map<String, Json> {
    fn get<'a>(&'a self, name: &str) -> Option<Value<'a>> {
        serde_json::Map::get(self, name).map(Value::from)
    }

    fn seed(&self) -> u64 {
        seed_of(self)
    }
}

/// Filters that nunjucks has not.
pub trait Filters {
    /// What a filter makes of its arguments: the value that it filters, the others, and at the end
    /// those that have a name, as one object. `None` if that is not known yet: it prints nothing,
    /// and what any of these filters make of it is not known either.
    ///
    /// # Errors
    /// Why there is no value.
    fn call(&self, name: &str, arguments: Vec<Json>) -> Result<Option<Json>, String>;
}

/// Fills in a template.
pub(crate) fn render(nodes: &[Node], scope: Scope<'_>, limits: &Limits) -> Result<String, Error> {
    let mut renderer = Renderer {
        scope,
        meter: Meter::new(limits),
        names: Names::new(),
        macros: Vec::new(),
        documents: BTreeMap::new(),
        chance: None,
        depth: 0,
        output: String::new(),
        max_output: limits.output,
        captured: Vec::new(),
    };
    let checked = scope.allowance.map_or(Ok(()), Allowance::check);
    at(1, checked)?;
    let done = renderer.nodes(nodes);
    if let Some(allowance) = scope.allowance {
        allowance.spend(renderer.meter.cost());
    }
    done.map(|()| renderer.output)
}

struct Renderer<'a> {
    scope: Scope<'a>,
    meter: Meter,
    names: Names<'a>,
    /// Those that were made, and `call` blocks that were handed on, by number.
    macros: Vec<&'a Macro>,
    /// What variables that are JSON objects hold, once a member was read.
    documents: BTreeMap<&'a str, Value<'a>>,
    /// Made when `random` is asked for the first time.
    chance: Option<Chance>,
    /// Expressions and blocks that stand in each other.
    depth: u32,
    output: String,
    max_output: usize,
    /// What is printed into blocks that are open.
    captured: Vec<String>,
}

impl<'a> Renderer<'a> {
    fn nodes(&mut self, nodes: &'a [Node]) -> Result<(), Error> {
        self.depth += 1;
        nodes.iter().try_for_each(|node| self.node(node))?;
        self.depth -= 1;
        Ok(())
    }

    fn node(&mut self, node: &'a Node) -> Result<(), Error> {
        match node {
            Node::Text(text) => at(1, self.write(text)),
            Node::Print(line, value) => {
                let value = at(*line, self.value(value))?;
                at(*line, self.print(&value))
            }
            Node::If(branches, otherwise) => {
                for (line, condition, body) in branches {
                    if at(*line, self.value(condition))?.is_true() {
                        return self.nodes(body);
                    }
                }
                self.nodes(otherwise)
            }
            Node::For(each) => self.each(each),
            Node::Set(line, targets, value) => {
                let value = at(*line, self.value(value))?;
                self.set(targets, &value);
                Ok(())
            }
            Node::Capture(targets, body) => {
                let value = self.capture(body)?;
                self.set(targets, &value);
                Ok(())
            }
            Node::Filtered(line, filter, body) => {
                let value = self.capture(body)?;
                let value = at(*line, self.filter(&value, filter))?;
                at(*line, self.print(&value))
            }
            Node::Switch(switch) => self.switch(switch),
            Node::Macro(made) => {
                let function = Function::Macro(self.macros.len());
                self.macros.push(made);
                self.names.set(&made.name, Value::Function(function));
                Ok(())
            }
            Node::CallBlock(calling, caller) => {
                let value = at(caller.line, self.call(calling, Some(caller)))?;
                at(caller.line, self.print(&value))
            }
        }
    }

    /// Prints the body of the first case that has the value; where that has none, the next that has one.
    fn switch(&mut self, switch: &'a Switch) -> Result<(), Error> {
        let of = at(switch.line, self.value(&switch.of))?;
        let mut is_found = false;
        for case in &switch.cases {
            if !is_found {
                let value = at(case.line, self.value(&case.value))?;
                is_found = at(case.line, same(&mut self.meter, &of, &value))?;
            }
            if is_found && !case.body.is_empty() {
                return self.nodes(&case.body);
            }
        }
        self.nodes(&switch.otherwise)
    }

    fn set(&mut self, targets: &'a [Box<str>], value: &Value<'a>) {
        for target in targets {
            self.names.set(target, value.clone());
        }
    }

    /// Returns what a block prints. Where there is an escape, it was applied within.
    fn capture(&mut self, body: &'a [Node]) -> Result<Value<'a>, Error> {
        let text = self.printed(body)?.into();
        Ok(match self.scope.escape {
            Some(_) => Value::Safe(text),
            None => Value::Text(text),
        })
    }

    fn write(&mut self, text: &str) -> Outcome<()> {
        if let Some(captured) = self.captured.last_mut() {
            self.meter.make(text.len())?;
            captured.push_str(text);
            return Ok(());
        }
        if self.output.len() + text.len() > self.max_output {
            let limit = self.max_output >> 20;
            return refuse(format!("makes more than {limit} MiB of text"));
        }
        self.output.push_str(text);
        Ok(())
    }

    fn each(&mut self, each: &'a For) -> Result<(), Error> {
        let of = at(each.line, self.value(&each.of))?;
        let items = match at(each.line, self.rounds(of, each.targets.len()))? {
            Value::List(items) if items.len() > 0 => items,
            _ => return self.nodes(&each.otherwise),
        };
        let length = items.len();
        self.names.enter();
        let targets = each.targets.iter().map(|target| &**target);
        for name in targets.chain(["loop"]) {
            self.names.bind(name, Value::Undefined);
        }
        for (index, item) in items.iter().enumerate() {
            at(each.line, self.meter.step())?;
            let round = Value::Map(Map::Round(index, length));
            self.names.set("loop", round);
            match &each.targets[..] {
                [target] => self.names.set(target, item),
                targets => {
                    let parts = at(each.line, self.meter.items(&item))?;
                    let mut parts = parts.into_iter();
                    for target in targets {
                        self.names.set(target, parts.next().unwrap_or_default());
                    }
                }
            }
            self.nodes(&each.body)?;
        }
        self.names.leave();
        Ok(())
    }

    /// Returns the list that a loop goes over: with one name the letters of a text, with several the keys
    /// and values of a map; what is then no list has no rounds.
    fn rounds(&mut self, of: Value<'a>, names: usize) -> Outcome<Value<'a>> {
        match &of {
            Value::Text(_) | Value::Safe(_) if names == 1 => {
                let letters = self.meter.items(&of)?;
                self.meter.list(letters)
            }
            Value::Map(map) if names > 1 => {
                let mut pairs = Vec::new();
                for (key, value) in self.meter.fields(map)? {
                    pairs.push(self.meter.list(vec![Value::Text(key), value])?);
                }
                self.meter.list(pairs)
            }
            _ => Ok(of),
        }
    }

    fn value(&mut self, expression: &'a Expression) -> Outcome<Value<'a>> {
        self.meter.step()?;
        // It is not set back after a refusal, which ends the rendering.
        self.depth += 1;
        let value = match expression {
            Expression::Null => Value::Null,
            Expression::Bool(value) => Value::Bool(*value),
            Expression::Whole(number) => Value::Whole((*number).into()),
            Expression::Float(number) => Value::number(*number),
            Expression::Text(text) => Value::from(&**text),
            Expression::Variable(name) => self.variable(name),
            Expression::List(items) => {
                let items = self.values(items)?;
                self.meter.list(items)?
            }
            Expression::Map(fields) => self.map(fields)?,
            Expression::Group(inner) => self.value(inner)?,
            Expression::Call(calling) => self.call(calling, None)?,
            Expression::Not(inner) => Value::Bool(!self.value(inner)?.is_true()),
            Expression::Negative(inner) => negative(&self.value(inner)?),
            Expression::Number(inner) => number(self.value(inner)?),
            Expression::Any(parts) => self.series(parts, true)?,
            Expression::All(parts) => self.series(parts, false)?,
            Expression::Chain(first, rest) => {
                let mut value = self.value(first)?;
                for (operator, operand) in rest {
                    let operand = self.value(operand)?;
                    value = operator.apply(&mut self.meter, &value, &operand)?;
                }
                value
            }
            Expression::Is(test) => self.test(test)?,
            Expression::Choice(choice) => self.choice(choice)?,
            Expression::Steps(of, steps) => {
                let mut value = match (&**of, steps.first()) {
                    (Expression::Variable(name), Some(Step::Attribute(key))) => {
                        self.meter.step()?;
                        self.read_by_key(name, key)?
                    }
                    (of, _) => self.value(of)?,
                };
                for step in steps {
                    value = self.step(&value, step)?;
                }
                value
            }
        };
        self.depth -= 1;
        Ok(value)
    }

    fn values(&mut self, expressions: &'a [Expression]) -> Outcome<Vec<Value<'a>>> {
        expressions.iter().map(|item| self.value(item)).collect()
    }

    fn variable(&self, name: &str) -> Value<'a> {
        let value = self.names.get(name).cloned();
        value
            .or_else(|| self.scope.variables.get(name))
            .unwrap_or_default()
    }

    /// Reads a variable of which a member is read. One that is an object in JSON, such as a file's
    /// text, has members: a text has none but its length and its letters.
    fn read_by_key(&mut self, name: &'a str, key: &str) -> Outcome<Value<'a>> {
        let is_of_text = key == "length" || key.bytes().all(|byte| byte.is_ascii_digit());
        let value = self.variable(name);
        let text = value.as_text().filter(|_| !is_of_text);
        let is_own = self.names.get(name).is_some();
        let Some(text) = text.filter(|it| !is_own && it.trim_start().starts_with('{')) else {
            return Ok(value);
        };
        if let Some(read) = self.documents.get(name) {
            return Ok(read.clone());
        }
        let read = json(&mut self.meter, text)?.unwrap_or_else(|_| value.clone());
        self.documents.insert(name, read.clone());
        Ok(read)
    }

    fn map(&mut self, fields: &'a [(Box<str>, Expression)]) -> Outcome<Value<'a>> {
        let mut given = Vec::with_capacity(fields.len());
        for (key, value) in fields {
            given.push((Text::Borrowed(key), self.value(value)?));
        }
        self.meter.map(given)
    }

    /// Returns the first value that decides an `or` (true) or an `and` (false), or the last one.
    fn series(&mut self, parts: &'a [Expression], decides: bool) -> Outcome<Value<'a>> {
        let mut value = Value::Undefined;
        for part in parts {
            value = self.value(part)?;
            if value.is_true() == decides {
                break;
            }
        }
        Ok(value)
    }

    fn test(&mut self, test: &'a Is) -> Outcome<Value<'a>> {
        let value = self.value(&test.value)?;
        let args = self.arguments(&test.arguments)?;
        let holds = (test.condition)(&mut self.meter, &value, &args.at(0))?;
        Ok(Value::Bool(holds != test.negated))
    }

    fn choice(&mut self, choice: &'a Choice) -> Outcome<Value<'a>> {
        if self.value(&choice.condition)?.is_true() {
            return self.value(&choice.value);
        }
        match &choice.otherwise {
            Some(otherwise) => self.value(otherwise),
            None => Ok(Value::from("")),
        }
    }

    fn step(&mut self, of: &Value<'a>, step: &'a Step) -> Outcome<Value<'a>> {
        self.meter.step()?;
        match step {
            Step::Attribute(name) => get(&mut self.meter, of, &Value::from(&**name)),
            Step::Item(key) => {
                let key = self.value(key)?;
                get(&mut self.meter, of, &key)
            }
            Step::Method(name, arguments) => {
                let args = self.arguments(arguments)?;
                methods::call(&mut self.meter, of, name, &args)
            }
            Step::Filter(call) => self.filter(of, call),
        }
    }

    fn arguments(&mut self, arguments: &'a Arguments) -> Outcome<Args<'a>> {
        let positional = self.values(&arguments.positional)?;
        let named = arguments
            .named
            .iter()
            .map(|(name, value)| Ok((&**name, self.value(value)?)));
        let named = named.collect::<Outcome<_>>()?;
        Ok(Args { positional, named })
    }

    fn filter(&mut self, value: &Value<'a>, call: &'a Call) -> Outcome<Value<'a>> {
        let args = self.arguments(&call.arguments)?;
        match &call.filter {
            Named::Own(filter) => filter(&mut self.meter, value, &args),
            Named::Random => self.random(value),
            Named::Custom(name) => self.custom(name, value, &args),
        }
    }

    fn custom(&mut self, name: &str, value: &Value<'a>, args: &Args<'a>) -> Outcome<Value<'a>> {
        let Some(filters) = self.scope.filters else {
            return refuse(format!("there is no filter '{name}'"));
        };
        let given = || std::iter::once(value).chain(&args.positional);
        let named = args.named.iter().map(|(_, value)| value);
        if given()
            .chain(named)
            .any(|value| matches!(value, Value::Pending))
        {
            return Ok(Value::Pending);
        }
        let mut arguments = Vec::new();
        for value in given() {
            // What is undefined has no JSON form; code sees `null`.
            arguments.push(self.meter.json(value)?.unwrap_or_default());
        }
        if !args.named.is_empty() {
            let mut named = serde_json::Map::new();
            for (name, value) in &args.named {
                if let Some(json) = self.meter.json(value)? {
                    named.insert((*name).to_owned(), json);
                }
            }
            arguments.push(Json::Object(named));
        }
        match filters.call(name, arguments) {
            Ok(given) => Ok(given.map_or(Value::Pending, Value::from)),
            Err(reason) => refuse(reason),
        }
    }
}

/// Where what was refused stands.
fn at<T>(line: Line, outcome: Outcome<T>) -> Result<T, Error> {
    outcome.map_err(|refusal| Error {
        reason: Cow::into_owned(refusal.reason),
        line: refusal.line.unwrap_or(line),
    })
}

fn negative<'a>(value: &Value<'_>) -> Value<'a> {
    match value {
        Value::Whole(number) if is_kept(-number) => Value::Whole(-number),
        _ => Value::number(-to_number(value)),
    }
}

fn number(value: Value<'_>) -> Value<'_> {
    match value {
        Value::Whole(_) => value,
        _ => Value::number(to_number(&value)),
    }
}
