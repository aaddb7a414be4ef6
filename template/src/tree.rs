//! What a template says, as the parser found it.
//!
//! Operators of one level and what follows a value (`.a[0]|upper`) stand side by side in a list
//! and not one in the other: only parentheses, brackets and blocks nest, and these are counted.

use crate::conditions::Condition;
use crate::error::Line;
use crate::filters::Filter;
use crate::operators::Operator;

/// A part of a template.
#[derive(Debug)]
pub(crate) enum Node {
    /// Prints as it is.
    Text(String),
    /// `{{ … }}`
    Print(Line, Expression),
    /// `{% if … %}`, with each `elif`, and `else`.
    If(Vec<(Line, Expression, Vec<Node>)>, Vec<Node>),
    /// `{% for … %}`
    For(Box<For>),
    /// `{% set a, b = … %}`
    Set(Line, Vec<Box<str>>, Expression),
    /// `{% set a, b %}…{% endset %}`
    Capture(Vec<Box<str>>, Vec<Node>),
    /// `{% filter … %}…{% endfilter %}`
    Filtered(Line, Call, Vec<Node>),
    /// `{% switch … %}`
    Switch(Box<Switch>),
    /// `{% macro name(…) %}…{% endmacro %}`
    Macro(Box<Macro>),
    /// `{% call(…) name(…) %}…{% endcall %}`: the call, and what the function gets as `caller`.
    CallBlock(Calling, Box<Macro>),
}

/// A loop.
#[derive(Debug)]
pub(crate) struct For {
    pub(crate) line: Line,
    pub(crate) targets: Vec<Box<str>>,
    pub(crate) of: Expression,
    pub(crate) body: Vec<Node>,
    /// Instead of the body where there is nothing to go over.
    pub(crate) otherwise: Vec<Node>,
}

/// A choice by value.
#[derive(Debug)]
pub(crate) struct Switch {
    pub(crate) line: Line,
    pub(crate) of: Expression,
    pub(crate) cases: Vec<Case>,
    /// Where no case has the value.
    pub(crate) otherwise: Vec<Node>,
}

/// A case of a `switch`; one without a body goes on with the next.
#[derive(Debug)]
pub(crate) struct Case {
    pub(crate) line: Line,
    pub(crate) value: Expression,
    pub(crate) body: Vec<Node>,
}

/// A part of a template that is called.
#[derive(Debug)]
pub(crate) struct Macro {
    pub(crate) line: Line,
    pub(crate) name: Box<str>,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) body: Vec<Node>,
}

/// A parameter of a macro.
#[derive(Debug)]
pub(crate) struct Parameter {
    pub(crate) name: Box<str>,
    /// Where a call doesn't give it.
    pub(crate) default: Option<Expression>,
}

/// What has a value.
#[derive(Debug)]
pub(crate) enum Expression {
    /// `none`, `null`
    Null,
    /// `true`, `false`
    Bool(bool),
    /// Digits.
    Whole(u64),
    /// A number with a fraction, or too large for a whole one.
    Float(f64),
    /// `'…'`
    Text(Box<str>),
    /// A name.
    Variable(Box<str>),
    /// `[…]`
    List(Vec<Expression>),
    /// `{key: …}`
    Map(Vec<(Box<str>, Expression)>),
    /// `(…)`
    Group(Box<Expression>),
    /// `name(…)`
    Call(Calling),
    /// `not …`
    Not(Box<Expression>),
    /// `-…`
    Negative(Box<Expression>),
    /// `+…`
    Number(Box<Expression>),
    /// `… or … or …`
    Any(Vec<Expression>),
    /// `… and … and …`
    All(Vec<Expression>),
    /// Operators of one level, from the left.
    Chain(Box<Expression>, Vec<(Operator, Expression)>),
    /// `… is test(…)`
    Is(Box<Is>),
    /// `… if … else …`
    Choice(Box<Choice>),
    /// What is done with a value, one after the other.
    Steps(Box<Expression>, Vec<Step>),
}

/// A call of a function.
#[derive(Debug)]
pub(crate) struct Calling {
    pub(crate) function: Box<str>,
    pub(crate) arguments: Arguments,
}

/// A test of a value.
#[derive(Debug)]
pub(crate) struct Is {
    pub(crate) value: Expression,
    pub(crate) condition: Condition,
    pub(crate) arguments: Arguments,
    pub(crate) negated: bool,
}

/// An expression with a condition.
#[derive(Debug)]
pub(crate) struct Choice {
    pub(crate) condition: Expression,
    pub(crate) value: Expression,
    pub(crate) otherwise: Option<Expression>,
}

/// What is done with a value.
#[derive(Debug)]
pub(crate) enum Step {
    /// `.name`
    Attribute(Box<str>),
    /// `[…]`
    Item(Expression),
    /// `.name(…)`
    Method(Box<str>, Arguments),
    /// `|name(…)`
    Filter(Call),
}

/// A filter with its arguments.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) filter: Named,
    pub(crate) arguments: Arguments,
}

/// Whose filter it is.
#[derive(Debug)]
pub(crate) enum Named {
    /// One of nunjucks'.
    Own(Filter),
    /// nunjucks' `random`, which needs the whole rendering.
    Random,
    /// One that the template's surroundings have, or nobody.
    Custom(Box<str>),
}

/// What a filter, a method or a test is given besides its value.
#[derive(Debug, Default)]
pub(crate) struct Arguments {
    pub(crate) positional: Vec<Expression>,
    pub(crate) named: Vec<(Box<str>, Expression)>,
}
