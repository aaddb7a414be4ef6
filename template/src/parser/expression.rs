//! Expressions, by nunjucks' grammar as nunjucks uses it: it writes JavaScript without
//! parentheses, so operators bind as they do there, whatever its own grammar says.

use super::{Token, tokens};
use crate::conditions;
use crate::filters;
use crate::operators::Operator;
use crate::tree::{Arguments, Call, Calling, Choice, Expression, Is, Named, Parameter, Step};

/// How deep parentheses, lists, arguments and signs may nest.
const MAX_DEPTH: usize = 40;

/// Operators, the loosest first; each level binds tighter than the one before and is evaluated
/// from the left.
const LEVELS: [&[(&str, Operator)]; 6] = [
    &[
        ("===", Operator::Same),
        ("!==", Operator::NotSame),
        ("==", Operator::Equal),
        ("!=", Operator::NotEqual),
    ],
    &[
        ("<=", Operator::LessOrEqual),
        (">=", Operator::GreaterOrEqual),
        ("<", Operator::Less),
        (">", Operator::Greater),
    ],
    &[
        ("+", Operator::Plus),
        ("-", Operator::Minus),
        ("~", Operator::Concat),
    ],
    &[
        ("*", Operator::Times),
        ("/", Operator::Divide),
        ("%", Operator::Remainder),
    ],
    &[("//", Operator::FloorDivide)],
    &[("**", Operator::Power)],
];

/// The words of one tag that are still to be read.
pub(super) struct Words<'t> {
    tokens: Vec<Token<'t>>,
    at: usize,
    depth: usize,
    /// What ends the tag, for messages.
    end: &'static str,
}

impl<'t> Words<'t> {
    /// The words of a tag's code.
    pub(super) fn new(code: &'t str, end: &'static str) -> Result<Self, String> {
        Ok(Self {
            tokens: tokens(code)?,
            at: 0,
            depth: 0,
            end,
        })
    }

    /// Reads the expression that the rest of the tag is.
    pub(super) fn rest(&mut self) -> Result<Expression, String> {
        let expression = self.expression()?;
        self.end()?;
        Ok(expression)
    }

    /// Checks that nothing follows.
    pub(super) fn end(&self) -> Result<(), String> {
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.expected(&format!("end of {}", self.end))),
        }
    }

    /// Reads a name, if one follows.
    pub(super) fn name(&mut self) -> Option<&'t str> {
        let Some(Token::Name(name)) = self.peek() else {
            return None;
        };
        let name = *name;
        self.at += 1;
        Some(name)
    }

    /// Passes over a symbol if it follows.
    pub(super) fn symbol(&mut self, symbol: &str) -> bool {
        let follows = matches!(self.peek(), Some(Token::Symbol(found)) if *found == symbol);
        self.at += usize::from(follows);
        follows
    }

    /// Passes over a word if it follows.
    pub(super) fn word(&mut self, word: &str) -> bool {
        let follows = matches!(self.peek(), Some(Token::Name(found)) if *found == word);
        self.at += usize::from(follows);
        follows
    }

    /// Reads a filter's name with its arguments.
    pub(super) fn filter(&mut self) -> Result<Call, String> {
        let name = self
            .name()
            .ok_or_else(|| self.expected("the name of a filter"))?;
        let filter = match filters::find(name) {
            Some(filter) => Named::Own(filter),
            None if name == filters::RANDOM => Named::Random,
            None => Named::Custom(name.into()),
        };
        let arguments = self.call()?.unwrap_or_default();
        Ok(Call { filter, arguments })
    }

    /// Reads a function's name with its arguments.
    pub(super) fn calling(&mut self) -> Result<Calling, String> {
        let function = self
            .name()
            .ok_or_else(|| self.expected("the name of a function"))?
            .into();
        let arguments = self.call()?.ok_or_else(|| self.expected("`(`"))?;
        Ok(Calling {
            function,
            arguments,
        })
    }

    /// Reads the parameters of a function, if parentheses follow.
    pub(super) fn parameters(&mut self) -> Result<Vec<Parameter>, String> {
        let mut parameters = Vec::new();
        if self.symbol("(") {
            self.items(")", |words| {
                let name = words.name().ok_or_else(|| words.expected("a name"))?;
                let has_default = words.symbol("=");
                let default = has_default.then(|| words.expression()).transpose()?;
                let name = name.into();
                parameters.push(Parameter { name, default });
                Ok(())
            })?;
        }
        Ok(parameters)
    }

    fn peek(&self) -> Option<&Token<'t>> {
        self.tokens.get(self.at)
    }

    fn expected(&self, what: &str) -> String {
        match self.peek() {
            Some(token) => format!("unexpected {}, expected {what}", token.kind()),
            None => format!("unexpected end of {}, expected {what}", self.end),
        }
    }

    fn want(&mut self, symbol: &str) -> Result<(), String> {
        if self.symbol(symbol) {
            Ok(())
        } else {
            Err(self.expected(&format!("`{symbol}`")))
        }
    }

    fn nested<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, String>,
    ) -> Result<T, String> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(too_deep());
        }
        let result = read(self);
        self.depth -= 1;
        result
    }

    /// Reads a whole expression, `… if … else …` included.
    fn expression(&mut self) -> Result<Expression, String> {
        self.nested(|words| {
            let value = words.any()?;
            if !words.word("if") {
                return Ok(value);
            }
            let condition = words.any()?;
            let has_other = words.word("else");
            let otherwise = has_other.then(|| words.expression()).transpose()?;
            Ok(Expression::Choice(Box::new(Choice {
                condition,
                value,
                otherwise,
            })))
        })
    }

    fn any(&mut self) -> Result<Expression, String> {
        self.series("or", Expression::Any, |words| {
            words.series("and", Expression::All, Self::not)
        })
    }

    /// Reads several parts with a word between them.
    fn series(
        &mut self,
        word: &str,
        make: fn(Vec<Expression>) -> Expression,
        part: impl Fn(&mut Self) -> Result<Expression, String>,
    ) -> Result<Expression, String> {
        let first = part(self)?;
        if !self.word(word) {
            return Ok(first);
        }
        let mut parts = vec![first, part(self)?];
        while self.word(word) {
            parts.push(part(self)?);
        }
        Ok(make(parts))
    }

    fn not(&mut self) -> Result<Expression, String> {
        let mut nots = 0;
        while self.word("not") {
            nots += 1;
        }
        if nots > MAX_DEPTH {
            return Err(too_deep());
        }
        let expression = self.membership()?;
        Ok((0..nots).fold(expression, |expression, _| negated(expression)))
    }

    /// Reads a part with `in` and `is`.
    fn membership(&mut self) -> Result<Expression, String> {
        self.chain(Self::test, |words| {
            let start = words.at;
            let negated = words.word("not");
            if !words.word("in") {
                words.at = start;
                return None;
            }
            Some(if negated {
                Operator::NotIn
            } else {
                Operator::In
            })
        })
    }

    fn test(&mut self) -> Result<Expression, String> {
        let value = self.level(0)?;
        if !self.word("is") {
            return Ok(value);
        }
        let negated = self.word("not");
        let name = self
            .name()
            .ok_or_else(|| self.expected("the name of a test"))?;
        let condition =
            conditions::find(name).ok_or_else(|| format!("there is no test '{name}'"))?;
        let arguments = self.call()?.unwrap_or_default();
        Ok(Expression::Is(Box::new(Is {
            value,
            condition,
            arguments,
            negated,
        })))
    }

    fn level(&mut self, level: usize) -> Result<Expression, String> {
        let Some(operators) = LEVELS.get(level) else {
            return self.unary();
        };
        self.chain(
            |words| words.level(level + 1),
            |words| {
                let found = operators.iter().find(|(symbol, _)| words.symbol(symbol));
                found.map(|(_, operator)| *operator)
            },
        )
    }

    /// Operands with operators between them.
    fn chain(
        &mut self,
        operand: impl Fn(&mut Self) -> Result<Expression, String>,
        operator: impl Fn(&mut Self) -> Option<Operator>,
    ) -> Result<Expression, String> {
        let first = operand(self)?;
        let mut rest = Vec::new();
        while let Some(operator) = operator(self) {
            rest.push((operator, operand(self)?));
        }
        Ok(if rest.is_empty() {
            first
        } else {
            Expression::Chain(Box::new(first), rest)
        })
    }

    fn unary(&mut self) -> Result<Expression, String> {
        let mut value = self.signed()?;
        while self.symbol("|") {
            value = then(value, Step::Filter(self.filter()?));
        }
        Ok(value)
    }

    fn signed(&mut self) -> Result<Expression, String> {
        let make = if self.symbol("-") {
            Expression::Negative
        } else if self.symbol("+") {
            Expression::Number
        } else {
            return self.primary();
        };
        self.nested(Self::signed).map(Box::new).map(make)
    }

    /// Reads what stands in parentheses, if they follow.
    fn call(&mut self) -> Result<Option<Arguments>, String> {
        if !self.symbol("(") {
            return Ok(None);
        }
        let mut arguments = Arguments::default();
        self.items(")", |words| {
            let start = words.at;
            match words.name() {
                Some(name) if words.symbol("=") => {
                    arguments.named.push((name.into(), words.expression()?));
                }
                _ => {
                    words.at = start;
                    arguments.positional.push(words.expression()?);
                }
            }
            Ok(())
        })?;
        Ok(Some(arguments))
    }

    /// Reads what stands up to `end`, with commas between.
    fn items(
        &mut self,
        end: &str,
        mut item: impl FnMut(&mut Self) -> Result<(), String>,
    ) -> Result<(), String> {
        let mut is_first = true;
        while !self.symbol(end) {
            if !is_first {
                self.want(",")?;
            }
            is_first = false;
            item(self)?;
        }
        Ok(())
    }

    fn primary(&mut self) -> Result<Expression, String> {
        let Some(token) = self.peek().cloned() else {
            return Err(self.expected("an expression"));
        };
        self.at += 1;
        let value = match token {
            Token::Text(text) => Expression::Text(text.into()),
            Token::Number(digits) => number(digits),
            Token::Name(name) => self.named(name)?,
            Token::Symbol("(") => {
                let inner = self.expression()?;
                self.want(")")?;
                Expression::Group(Box::new(inner))
            }
            Token::Symbol("[") => {
                let mut items = Vec::new();
                self.items("]", |words| {
                    items.push(words.expression()?);
                    Ok(())
                })?;
                Expression::List(items)
            }
            Token::Symbol("{") => {
                let mut fields = Vec::new();
                self.items("}", |words| {
                    fields.push(words.field()?);
                    Ok(())
                })?;
                Expression::Map(fields)
            }
            Token::Symbol(_) => {
                self.at -= 1;
                return Err(self.expected("an expression"));
            }
        };
        self.postfix(value)
    }

    fn named(&mut self, name: &str) -> Result<Expression, String> {
        Ok(match name {
            "true" => Expression::Bool(true),
            "false" => Expression::Bool(false),
            "none" | "null" => Expression::Null,
            _ => match self.call()? {
                None => Expression::Variable(name.into()),
                Some(arguments) if name == "range" && arguments.positional.is_empty() => {
                    return Err("range wants a number".to_owned());
                }
                Some(arguments) => Expression::Call(Calling {
                    function: name.into(),
                    arguments,
                }),
            },
        })
    }

    fn field(&mut self) -> Result<(Box<str>, Expression), String> {
        let key = match self.peek() {
            Some(Token::Name(key) | Token::Number(key)) => Box::from(*key),
            Some(Token::Text(key)) => Box::from(&**key),
            _ => return Err(self.expected("a key")),
        };
        self.at += 1;
        self.want(":")?;
        Ok((key, self.expression()?))
    }

    /// Attributes, items and calls of methods.
    fn postfix(&mut self, mut value: Expression) -> Result<Expression, String> {
        loop {
            let step = if self.symbol("[") {
                let key = self.expression()?;
                self.want("]")?;
                Step::Item(key)
            } else if self.symbol(".") {
                let name = match self.peek() {
                    Some(Token::Name(name)) => Box::from(*name),
                    // Of a number with a fraction nobody knows where one attribute ends.
                    Some(Token::Number(index)) if !index.contains('.') => Box::from(*index),
                    _ => return Err(self.expected("the name of an attribute")),
                };
                self.at += 1;
                match self.call()? {
                    Some(arguments) => Step::Method(name, arguments),
                    None => Step::Attribute(name),
                }
            } else if matches!(self.peek(), Some(Token::Symbol("("))) {
                return Err(
                    "only functions by their names and methods of values can be called".to_owned(),
                );
            } else {
                return Ok(value);
            };
            value = then(value, step);
        }
    }
}

fn too_deep() -> String {
    format!("nested more than {MAX_DEPTH} deep")
}

/// A value, and what is done with it next.
fn then(value: Expression, step: Step) -> Expression {
    match value {
        Expression::Steps(of, mut steps) => {
            steps.push(step);
            Expression::Steps(of, steps)
        }
        value => Expression::Steps(Box::new(value), vec![step]),
    }
}

/// `not a == b` is `(not a) == b`, as JavaScript reads what nunjucks writes for it; `not a in b`
/// and `not a is b` are what they seem.
fn negated(expression: Expression) -> Expression {
    match expression {
        Expression::Chain(first, rest) if !rest[0].0.is_call() => {
            Expression::Chain(Box::new(negated(*first)), rest)
        }
        whole => Expression::Not(Box::new(whole)),
    }
}

/// A number: whole if it fits.
fn number(digits: &str) -> Expression {
    match digits.parse() {
        Ok(whole) => Expression::Whole(whole),
        Err(_) => Expression::Float(digits.parse().unwrap_or(f64::MAX)),
    }
}
