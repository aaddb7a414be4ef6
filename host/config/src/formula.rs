//! Formulas over named numbers, as mathjs writes them: what `derivedMetrics` hold.
//!
//! mathjs is a language with matrices, units and functions of its own; metrics are numbers and
//! need a page of it. That page is here: numbers, names, `+ - * / % ^`, comparisons, `and or xor
//! not`, `a ? b : c`, parentheses, constants and functions of numbers, each with mathjs' meaning
//! and precedence (`-2^2` is −4, `2^3^2` is 512, `%` is never negative for a positive divisor).
//! No truth values: a comparison gives 1 or 0, and what is not 0 is true. Everything else is
//! refused when the config is loaded. No crate reads this grammar: those that have `^` and
//! functions lack conditions or bind signs otherwise.

use std::fmt;

mod functions;
mod parse;

use functions::Function;

/// Longest formula, in bytes.
const MAX_LENGTH: usize = 10_000;

/// A formula, read.
#[derive(Debug, Clone, PartialEq)]
pub struct Formula(Term);

/// Why a text is no formula, or a formula gives nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FormulaError {
    /// The text can't be read.
    Syntax {
        /// Where, in characters from 1.
        column: usize,
        /// What is wrong there.
        reason: String,
    },
    /// It reads a name that nothing has.
    Unknown {
        /// The name.
        name: String,
    },
}

impl fmt::Display for FormulaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax { column, reason } => write!(f, "{reason} (character {column})"),
            Self::Unknown { name } => write!(f, "there is no '{name}'"),
        }
    }
}

impl std::error::Error for FormulaError {}

/// A part of a formula.
#[derive(Debug, Clone, PartialEq)]
enum Term {
    Number(f64),
    Name(String),
    /// A sign, or `not`.
    Unary(Unary, Box<Term>),
    Binary(Binary, Box<[Term; 2]>),
    /// `a ? b : c`
    Choice(Box<[Term; 3]>),
    Call(Function, Vec<Term>),
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Unary {
    Minus,
    Plus,
    Not,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Binary {
    Or,
    Xor,
    And,
    Equal,
    Unequal,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Plus,
    Minus,
    Times,
    Over,
    Modulo,
    Power,
}

impl Formula {
    /// Reads a formula.
    ///
    /// # Errors
    /// When the text is none, or uses what is not supported.
    pub fn new(text: &str) -> Result<Self, FormulaError> {
        if text.len() > MAX_LENGTH {
            return Err(FormulaError::Syntax {
                column: 1,
                reason: format!("a formula has at most {MAX_LENGTH} bytes"),
            });
        }
        parse::parse(text).map(Self)
    }

    /// The names that it reads, constants too.
    pub fn names(&self) -> Vec<&str> {
        let mut names = Vec::new();
        self.0.add_names(&mut names);
        names
    }

    /// What it comes to where `value` says what names stand for; it may be no finite number.
    ///
    /// # Errors
    /// When it reads a name that is neither there nor a constant.
    pub fn value(&self, value: &dyn Fn(&str) -> Option<f64>) -> Result<f64, FormulaError> {
        self.0.value(value)
    }
}

impl Term {
    fn add_names<'a>(&'a self, names: &mut Vec<&'a str>) {
        let parts: &[Self] = match self {
            Self::Number(_) => &[],
            Self::Name(name) => {
                names.push(name);
                &[]
            }
            Self::Unary(_, operand) => std::slice::from_ref(operand),
            Self::Binary(_, operands) => &**operands,
            Self::Choice(parts) => &**parts,
            Self::Call(_, arguments) => arguments,
        };
        for part in parts {
            part.add_names(names);
        }
    }

    fn value(&self, named: &dyn Fn(&str) -> Option<f64>) -> Result<f64, FormulaError> {
        Ok(match self {
            Self::Number(number) => *number,
            Self::Name(name) => named(name)
                .or_else(|| functions::constant(name))
                .ok_or_else(|| FormulaError::Unknown { name: name.clone() })?,
            Self::Unary(operator, operand) => {
                let operand = operand.value(named)?;
                match operator {
                    Unary::Minus => -operand,
                    Unary::Plus => operand,
                    Unary::Not => truth(!is_true(operand)),
                }
            }
            Self::Binary(operator, operands) => {
                let [left, right] = &**operands;
                operator.apply(left.value(named)?, right.value(named)?)
            }
            Self::Choice(parts) => {
                let [condition, yes, no] = &**parts;
                if is_true(condition.value(named)?) {
                    yes.value(named)?
                } else {
                    no.value(named)?
                }
            }
            Self::Call(function, arguments) => {
                let arguments: Result<Vec<f64>, _> =
                    arguments.iter().map(|one| one.value(named)).collect();
                function.call(&arguments?)
            }
        })
    }
}

impl Binary {
    #[expect(clippy::float_cmp, reason = "`==` of a formula means what it says")]
    fn apply(self, left: f64, right: f64) -> f64 {
        match self {
            Self::Or => truth(is_true(left) || is_true(right)),
            Self::Xor => truth(is_true(left) != is_true(right)),
            Self::And => truth(is_true(left) && is_true(right)),
            Self::Equal => truth(left == right),
            Self::Unequal => truth(left != right),
            Self::Less => truth(left < right),
            Self::LessEqual => truth(left <= right),
            Self::Greater => truth(left > right),
            Self::GreaterEqual => truth(left >= right),
            Self::Plus => left + right,
            Self::Minus => left - right,
            Self::Times => left * right,
            Self::Over => left / right,
            Self::Modulo => functions::modulo(left, right),
            Self::Power => left.powf(right),
        }
    }
}

fn is_true(number: f64) -> bool {
    number != 0.0 && !number.is_nan()
}

fn truth(is: bool) -> f64 {
    f64::from(u8::from(is))
}

#[cfg(test)]
mod tests;
