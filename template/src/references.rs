//! What a template reads, and which filters it names: found in its tree, without any value.
//!
//! Whatever it may read is found, and maybe more: a name that only one branch sets is read after
//! it all the same.

use std::collections::BTreeSet;

use crate::error::{Error, Line};
use crate::tree::{Arguments, Call, Calling, Expression, For, Macro, Named, Node, Step};

/// What a `call` block is called within the macro that it calls.
pub(crate) const CALLER: &str = "caller";

/// nunjucks' own functions.
const OWN: [&str; 3] = ["range", "cycler", "joiner"];

/// What a template needs of its surroundings.
#[derive(Debug, Default)]
pub(crate) struct References {
    /// Names with the attributes that are read of them: `env.HOME`.
    pub(crate) paths: BTreeSet<String>,
    /// Filters that nunjucks has not.
    pub(crate) filters: BTreeSet<String>,
}

/// Finds them.
pub(crate) fn find(nodes: &[Node]) -> References {
    Search::of(nodes).found
}

/// Finds a call of what can be no function: variables are none, so that it is nunjucks' own or
/// something that the template itself gives a name.
///
/// # Errors
/// For the first such call.
pub(crate) fn check_calls(nodes: &[Node]) -> Result<(), Error> {
    let search = Search::of(nodes);
    let is_known = |name: &str| OWN.contains(&name) || search.named.contains(name);
    match search.calls.iter().find(|(_, name)| !is_known(name)) {
        Some((line, name)) => Err(Error {
            reason: format!("there is no function '{name}'"),
            line: *line,
        }),
        None => Ok(()),
    }
}

struct Search<'t> {
    found: References,
    /// Names that the template itself has given a value, by the blocks they live in.
    bound: Vec<BTreeSet<&'t str>>,
    /// Those of all blocks.
    named: BTreeSet<&'t str>,
    /// Functions that are called, and where.
    calls: Vec<(Line, &'t str)>,
    /// Where the tag in hand begins.
    line: Line,
}

impl<'t> Search<'t> {
    fn of(nodes: &'t [Node]) -> Self {
        let mut search = Self {
            found: References::default(),
            bound: vec![BTreeSet::new()],
            named: BTreeSet::new(),
            calls: Vec::new(),
            line: 1,
        };
        search.nodes(nodes);
        search
    }

    fn nodes(&mut self, nodes: &'t [Node]) {
        for node in nodes {
            self.node(node);
        }
    }

    fn node(&mut self, node: &'t Node) {
        match node {
            Node::Text(_) => {}
            Node::Print(line, value) => {
                self.line = *line;
                self.expression(value);
            }
            Node::If(branches, otherwise) => {
                for (line, condition, body) in branches {
                    self.line = *line;
                    self.expression(condition);
                    self.within(&[], body);
                }
                self.within(&[], otherwise);
            }
            Node::For(each) => self.each(each),
            Node::Set(line, targets, value) => {
                self.line = *line;
                self.expression(value);
                self.bind(targets);
            }
            Node::Capture(targets, body) => {
                self.nodes(body);
                self.bind(targets);
            }
            Node::Filtered(line, filter, body) => {
                self.line = *line;
                self.call(filter);
                self.nodes(body);
            }
            Node::Switch(switch) => {
                self.line = switch.line;
                self.expression(&switch.of);
                for case in &switch.cases {
                    self.line = case.line;
                    self.expression(&case.value);
                    self.within(&[], &case.body);
                }
                self.within(&[], &switch.otherwise);
            }
            Node::Macro(made) => {
                self.bind(std::slice::from_ref(&made.name));
                self.body(made);
            }
            Node::CallBlock(calling, caller) => {
                self.line = caller.line;
                self.calling(calling);
                self.body(caller);
            }
        }
    }

    /// Visits what is called: its parameters have values there, and so has `caller`.
    fn body(&mut self, called: &'t Macro) {
        self.line = called.line;
        let mut bound = vec![CALLER];
        for parameter in &called.parameters {
            if let Some(default) = &parameter.default {
                self.expression(default);
            }
            bound.push(&parameter.name);
        }
        self.within(&bound, &called.body);
    }

    fn calling(&mut self, calling: &'t Calling) {
        self.calls.push((self.line, &calling.function));
        self.arguments(&calling.arguments);
    }

    fn each(&mut self, each: &'t For) {
        self.line = each.line;
        self.expression(&each.of);
        let targets = each.targets.iter().map(|name| &**name);
        let bound: Vec<&str> = targets.chain(["loop"]).collect();
        self.within(&bound, &each.body);
        self.within(&[], &each.otherwise);
    }

    /// Visits a block that may not be run, or whose names end with it.
    fn within(&mut self, bound: &[&'t str], nodes: &'t [Node]) {
        self.named.extend(bound);
        self.bound.push(bound.iter().copied().collect());
        self.nodes(nodes);
        self.bound.pop();
    }

    fn bind(&mut self, targets: &'t [Box<str>]) {
        let innermost = self.bound.last_mut().expect("the text itself is a block");
        let names = targets.iter().map(|name| &**name);
        innermost.extend(names.clone());
        self.named.extend(names);
    }

    fn expression(&mut self, expression: &'t Expression) {
        match expression {
            Expression::Null
            | Expression::Bool(_)
            | Expression::Whole(_)
            | Expression::Float(_)
            | Expression::Text(_) => {}
            Expression::Variable(name) => self.read(name, &[]),
            Expression::Steps(of, steps) => {
                match &**of {
                    Expression::Variable(name) => self.read(name, steps),
                    of => self.expression(of),
                }
                for step in steps {
                    self.step(step);
                }
            }
            Expression::List(items) | Expression::Any(items) | Expression::All(items) => {
                self.expressions(items);
            }
            Expression::Call(calling) => self.calling(calling),
            Expression::Map(fields) => {
                for (_, value) in fields {
                    self.expression(value);
                }
            }
            Expression::Group(inner)
            | Expression::Not(inner)
            | Expression::Negative(inner)
            | Expression::Number(inner) => self.expression(inner),
            Expression::Chain(first, rest) => {
                self.expression(first);
                for (_, operand) in rest {
                    self.expression(operand);
                }
            }
            Expression::Is(test) => {
                self.expression(&test.value);
                self.arguments(&test.arguments);
            }
            Expression::Choice(choice) => {
                self.expression(&choice.condition);
                self.expression(&choice.value);
                if let Some(otherwise) = &choice.otherwise {
                    self.expression(otherwise);
                }
            }
        }
    }

    fn expressions(&mut self, expressions: &'t [Expression]) {
        for expression in expressions {
            self.expression(expression);
        }
    }

    /// Notes a name that is read, with the attributes that follow it; `length` is not looked up.
    fn read(&mut self, name: &str, steps: &[Step]) {
        if self.bound.iter().any(|names| names.contains(name)) {
            return;
        }
        let attributes = steps.iter().map_while(|step| match step {
            Step::Attribute(name) if **name != *"length" => Some(&**name),
            _ => None,
        });
        let path: Vec<&str> = std::iter::once(name).chain(attributes).collect();
        self.found.paths.insert(path.join("."));
    }

    fn step(&mut self, step: &'t Step) {
        match step {
            Step::Attribute(_) => {}
            Step::Item(key) => self.expression(key),
            Step::Method(_, arguments) => self.arguments(arguments),
            Step::Filter(call) => self.call(call),
        }
    }

    fn call(&mut self, call: &'t Call) {
        if let Named::Custom(name) = &call.filter {
            self.found.filters.insert(name.to_string());
        }
        self.arguments(&call.arguments);
    }

    fn arguments(&mut self, arguments: &'t Arguments) {
        self.expressions(&arguments.positional);
        for (_, value) in &arguments.named {
            self.expression(value);
        }
    }
}
