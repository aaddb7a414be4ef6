//! Expressions: from nunjucks to the engine's language.
//!
//! The grammar is nunjucks': which operator binds tighter differs from the engine's. Operators
//! become filters (`a + b` is `a|_math("+", b)`), so that they work on values as in JavaScript
//! and every one of them is counted. What short-circuits stays the engine's own; so do variables
//! and their attributes, which the engine's syntax tree lists.

use std::fmt::Write as _;

use super::tokens::Token;
use super::{Names, text_literal};
use crate::template::{conditions, custom, filters};

/// How deep parentheses, lists, arguments and signs may nest.
const MAX_DEPTH: usize = 40;

/// An expression in the engine's language. A `|` may follow it; a `.` only if it is `native`.
struct Low {
    text: String,
    /// A variable with attributes.
    native: bool,
}

/// Operators that the engine has not, the loosest first; each level binds tighter than the one
/// before and is evaluated from the left. nunjucks writes JavaScript without parentheses, so these
/// are JavaScript's levels, whatever nunjucks' own grammar says.
const LEVELS: [&[&str]; 6] = [
    &["===", "!==", "==", "!="],
    &["<=", ">=", "<", ">"],
    &["+", "-", "~"],
    &["*", "/", "%"],
    &["//"],
    &["**"],
];

/// The first level that nunjucks writes as calls: nothing can come between their operands.
const CALLS: usize = 4;

/// Reads the words of one tag.
pub(super) struct Parser<'a> {
    tokens: &'a [Token],
    at: usize,
    depth: usize,
    names: &'a Names,
    /// Where the operand begins that a `not` stands before, until it was read.
    negated: Option<usize>,
    /// How long that operand is when written again.
    operand: usize,
    /// What ends the tag, for messages.
    end: &'static str,
}

impl<'a> Parser<'a> {
    pub(super) fn new(tokens: &'a [Token], names: &'a Names, end: &'static str) -> Self {
        Self {
            tokens,
            at: 0,
            depth: 0,
            names,
            negated: None,
            operand: 0,
            end,
        }
    }

    /// The expression that the rest of the tag is.
    pub(super) fn rest(&mut self) -> Result<String, String> {
        let text = self.expression()?;
        self.end()?;
        Ok(text)
    }

    /// Nothing may follow.
    pub(super) fn end(&self) -> Result<(), String> {
        match self.peek() {
            None => Ok(()),
            Some(token) => Err(format!(
                "unexpected {}, expected end of {}",
                token.kind(),
                self.end
            )),
        }
    }

    /// A name, if one follows.
    pub(super) fn name(&mut self) -> Option<String> {
        let Some(Token::Name(name)) = self.peek() else {
            return None;
        };
        let name = name.clone();
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
        let follows = matches!(self.peek(), Some(Token::Name(found)) if found == word);
        self.at += usize::from(follows);
        follows
    }

    fn peek(&self) -> Option<&'a Token> {
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
            return Err(format!("nested more than {MAX_DEPTH} deep"));
        }
        let result = read(self);
        self.depth -= 1;
        result
    }

    /// A whole expression, `… if … else …` included.
    pub(super) fn expression(&mut self) -> Result<String, String> {
        self.nested(|parser| {
            let value = parser.any()?;
            if !parser.word("if") {
                return Ok(value);
            }
            let condition = parser.any()?;
            let other = if parser.word("else") {
                parser.expression()?
            } else {
                "\"\"".to_owned()
            };
            Ok(format!("({value} if {condition} else {other})"))
        })
    }

    fn any(&mut self) -> Result<String, String> {
        self.chain("or", |parser| parser.chain("and", Self::not))
    }

    fn chain(
        &mut self,
        word: &str,
        mut part: impl FnMut(&mut Self) -> Result<String, String>,
    ) -> Result<String, String> {
        let mut parts = vec![part(self)?];
        while self.word(word) {
            parts.push(part(self)?);
        }
        Ok(match parts.len() {
            1 => parts.remove(0),
            _ => format!("({})", parts.join(&format!(" {word} "))),
        })
    }

    /// `not a == b` is `(not a) == b`, as JavaScript reads what nunjucks writes for it; `not a in
    /// b` and `not a is b` are what they seem.
    fn not(&mut self) -> Result<String, String> {
        let start = self.at;
        while self.word("not") {}
        let nots = self.at - start;
        if nots > MAX_DEPTH {
            return Err(format!("nested more than {MAX_DEPTH} deep"));
        }
        if nots == 0 {
            return Ok(self.membership()?.0);
        }
        let around = (self.negated.replace(self.at), self.operand);
        let (text, is_call) = self.membership()?;
        // Operators are written behind their left operand, so the first one begins the text.
        let end = if is_call { text.len() } else { self.operand };
        (self.negated, self.operand) = around;
        let (operand, rest) = text.split_at(end);
        let operand = (0..nots).fold(operand.to_owned(), |operand, _| not_if(true, operand));
        Ok(operand + rest)
    }

    /// With `in` and `is`; whether there was one, which nunjucks writes as a call.
    fn membership(&mut self) -> Result<(String, bool), String> {
        let (mut left, mut is_call) = self.test()?;
        loop {
            let start = self.at;
            let negated = self.word("not");
            if !self.word("in") {
                self.at = start;
                return Ok((left, is_call));
            }
            let (right, _) = self.test()?;
            is_call = true;
            left = not_if(negated, format!("{left}|_in({right})"));
        }
    }

    fn test(&mut self) -> Result<(String, bool), String> {
        let left = self.level(0)?;
        if !self.word("is") {
            return Ok((left, false));
        }
        let negated = self.word("not");
        let Some(name) = self.name() else {
            return Err(self.expected("the name of a test"));
        };
        if !conditions::is_known(&name) {
            return Err(format!("there is no test '{name}'"));
        }
        let mut arguments = vec![format!("\"{name}\"")];
        if self.symbol("(") {
            arguments.extend(self.arguments()?);
        }
        let text = format!("{left}|_is({})", arguments.join(", "));
        Ok((not_if(negated, text), true))
    }

    fn level(&mut self, level: usize) -> Result<String, String> {
        let Some(operators) = LEVELS.get(level) else {
            return self.unary();
        };
        let start = self.at;
        let mut left = self.level(level + 1)?;
        while let Some(operator) = operators.iter().find(|operator| self.symbol(operator)) {
            let right = self.level(level + 1)?;
            let filter = match (level, *operator) {
                (0 | 1, _) => "_compare",
                (_, "~") => "_concat",
                _ => "_math",
            };
            left = format!("{left}|{filter}(\"{operator}\", {right})");
        }
        if level == CALLS && self.negated == Some(start) {
            self.negated = None;
            self.operand = left.len();
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<String, String> {
        let signed = self.signed()?;
        self.filters(signed)
    }

    fn signed(&mut self) -> Result<String, String> {
        let filter = if self.symbol("-") {
            "_negative"
        } else if self.symbol("+") {
            "_number"
        } else {
            return self.primary();
        };
        let inner = self.nested(Self::signed)?;
        Ok(format!("{inner}|{filter}"))
    }

    fn filters(&mut self, mut value: String) -> Result<String, String> {
        while self.symbol("|") {
            let filter = self.filter()?;
            write!(value, "|{filter}").expect("a string takes everything");
        }
        Ok(value)
    }

    /// A filter's name with its arguments.
    pub(super) fn filter(&mut self) -> Result<String, String> {
        let Some(name) = self.name() else {
            return Err(self.expected("the name of a filter"));
        };
        let mut arguments = Vec::new();
        let is_known = filters::is_known(&name);
        if !is_known {
            // One of the config's, or none: that is found out where the config is known.
            arguments.push(text_literal(&name));
            self.names.custom.borrow_mut().insert(name.clone());
        }
        if self.symbol("(") {
            arguments.extend(self.arguments()?);
        }
        let name = if is_known { &name } else { custom::FILTER };
        if arguments.is_empty() {
            return Ok(name.to_owned());
        }
        Ok(format!("{name}({})", arguments.join(", ")))
    }

    /// Arguments up to the closing parenthesis.
    fn arguments(&mut self) -> Result<Vec<String>, String> {
        let (mut positional, mut named) = (Vec::new(), Vec::new());
        while !self.symbol(")") {
            if !(positional.is_empty() && named.is_empty()) {
                self.want(",")?;
            }
            let start = self.at;
            match self.name() {
                Some(name) if super::is_identifier(&name) && self.symbol("=") => {
                    named.push(format!("{name}={}", self.expression()?));
                }
                _ => {
                    self.at = start;
                    positional.push(self.expression()?);
                }
            }
        }
        positional.append(&mut named);
        Ok(positional)
    }

    fn primary(&mut self) -> Result<String, String> {
        let token = self.peek();
        self.at += 1;
        let value = match token {
            Some(Token::Text(text)) => low(text_literal(text)),
            Some(Token::Number(number)) => low(number_literal(number)),
            Some(Token::Name(name)) => self.variable(name)?,
            Some(Token::Symbol("(")) => {
                let inner = self.expression()?;
                self.want(")")?;
                low(inner)
            }
            Some(Token::Symbol("[")) => {
                let items = self.items()?;
                low(format!("[{items}]|_list"))
            }
            Some(Token::Symbol("{")) => {
                let fields = self.fields()?;
                low(format!("{{{fields}}}|_map"))
            }
            _ => {
                self.at -= 1;
                return Err(self.expected("an expression"));
            }
        };
        self.postfix(value)
    }

    fn variable(&mut self, name: &str) -> Result<Low, String> {
        if matches!(name, "true" | "false" | "none" | "null") {
            return Ok(low(if name == "null" { "none" } else { name }.to_owned()));
        }
        if self.symbol("(") {
            let arguments = self.arguments()?;
            return match (name, arguments.split_first()) {
                ("range", Some((first, rest))) => {
                    Ok(low(format!("{first}|_range({})", rest.join(", "))))
                }
                ("range", None) => Err("range wants a number".to_owned()),
                _ => Err(format!("there is no function '{name}'")),
            };
        }
        Ok(match self.names.read(name) {
            Some(read) => low(read),
            None => Low {
                text: name.to_owned(),
                native: true,
            },
        })
    }

    fn items(&mut self) -> Result<String, String> {
        let mut items = Vec::new();
        while !self.symbol("]") {
            if !items.is_empty() {
                self.want(",")?;
            }
            items.push(self.expression()?);
        }
        Ok(items.join(", "))
    }

    fn fields(&mut self) -> Result<String, String> {
        let mut fields = Vec::new();
        while !self.symbol("}") {
            if !fields.is_empty() {
                self.want(",")?;
            }
            let key = match self.peek() {
                Some(Token::Name(key) | Token::Text(key) | Token::Number(key)) => text_literal(key),
                _ => return Err(self.expected("a key")),
            };
            self.at += 1;
            self.want(":")?;
            fields.push(format!("{key}: {}", self.expression()?));
        }
        Ok(fields.join(", "))
    }

    /// Attributes, items and calls of methods.
    fn postfix(&mut self, mut value: Low) -> Result<String, String> {
        loop {
            if self.symbol("[") {
                let key = self.expression()?;
                self.want("]")?;
                value = low(format!("{}|_get({key})", value.text));
            } else if self.symbol(".") {
                let name = match self.peek() {
                    Some(Token::Name(name) | Token::Number(name)) => name.clone(),
                    _ => return Err(self.expected("the name of an attribute")),
                };
                self.at += 1;
                value = self.attribute(&value, &name)?;
            } else if matches!(self.peek(), Some(Token::Symbol("("))) {
                return Err("only `range` and methods of values can be called".to_owned());
            } else {
                return Ok(value.text);
            }
        }
    }

    fn attribute(&mut self, of: &Low, name: &str) -> Result<Low, String> {
        let quoted = text_literal(name);
        if self.symbol("(") {
            let mut arguments = vec![quoted];
            arguments.extend(self.arguments()?);
            return Ok(low(format!("{}|_call({})", of.text, arguments.join(", "))));
        }
        if of.native && name != "length" && super::is_identifier(name) {
            return Ok(Low {
                text: format!("{}.{name}", of.text),
                native: true,
            });
        }
        Ok(low(format!("{}|_get({quoted})", of.text)))
    }
}

fn low(text: String) -> Low {
    Low {
        text,
        native: false,
    }
}

fn not_if(negated: bool, text: String) -> String {
    if negated {
        format!("(not {text})")
    } else {
        text
    }
}

/// A number as the engine reads it: whole if it fits, else a float.
fn number_literal(digits: &str) -> String {
    if digits.parse::<i64>().is_ok() {
        return digits.to_owned();
    }
    let number: f64 = digits.parse().unwrap_or(f64::MAX);
    format!("{number:?}")
}
