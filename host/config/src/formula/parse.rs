//! From the text of a formula to its parts: a parser that climbs mathjs' precedences.

use super::{Binary, FormulaError, Function, Term, Unary};

/// How deep parentheses, signs, powers and choices may nest.
const MAX_DEPTH: usize = 60;

/// Words of one formula. Each can make the tree one part deeper.
const MAX_WORDS: usize = 1_000;

/// A word of a formula.
#[derive(Debug, Clone, PartialEq)]
enum Word {
    Number(f64),
    Name(String),
    Symbol(&'static str),
}

/// Longer ones first: `<=` is no `<`.
const SYMBOLS: [&str; 19] = [
    "==", "!=", "<=", ">=", ".*", "./", ".^", "<", ">", "+", "-", "*", "/", "%", "^", "(", ")",
    ",", "?",
];

/// Binary operators, the loosest first; each level is read from the left.
const LEVELS: [&[(&str, Binary)]; 6] = [
    &[("or", Binary::Or)],
    &[("xor", Binary::Xor)],
    &[("and", Binary::And)],
    &[
        ("==", Binary::Equal),
        ("!=", Binary::Unequal),
        ("<=", Binary::LessEqual),
        (">=", Binary::GreaterEqual),
        ("<", Binary::Less),
        (">", Binary::Greater),
    ],
    &[("+", Binary::Plus), ("-", Binary::Minus)],
    &[
        ("*", Binary::Times),
        (".*", Binary::Times),
        ("/", Binary::Over),
        ("./", Binary::Over),
        ("%", Binary::Modulo),
        ("mod", Binary::Modulo),
    ],
];

/// The level of comparisons, which can't follow each other: in mathjs `a < b < c` is a chain.
const COMPARISONS: usize = 3;

/// Words that are operators and no names.
const WORDS: [&str; 5] = ["or", "xor", "and", "mod", "not"];

pub(super) fn parse(text: &str) -> Result<Term, FormulaError> {
    let mut parser = Parser {
        tokens: tokens(text)?,
        at: 0,
        depth: 0,
        end: text.chars().count() + 1,
    };
    let node = parser.whole()?;
    match parser.tokens.get(parser.at) {
        None => Ok(node),
        Some((Word::Name(_) | Word::Number(_) | Word::Symbol("("), _)) => {
            Err(parser.fail("an operator is missing here: write `*` to multiply"))
        }
        Some(_) => Err(parser.fail("this can't follow here")),
    }
}

fn syntax(column: usize, reason: impl Into<String>) -> FormulaError {
    FormulaError::Syntax {
        column,
        reason: reason.into(),
    }
}

/// The words of a text with their places.
fn tokens(text: &str) -> Result<Vec<(Word, usize)>, FormulaError> {
    let mut found = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start();
        let column = text.chars().count() - rest.chars().count() + 1;
        let Some(first) = rest.chars().next() else {
            return Ok(found);
        };
        let is_number = |c: char| c.is_ascii_digit() || c == '.';
        let starts_number = first.is_ascii_digit()
            || (first == '.' && rest[1..].starts_with(|c: char| c.is_ascii_digit()));
        let (token, length) = if starts_number {
            let mut length = rest.find(|c| !is_number(c)).unwrap_or(rest.len());
            length += exponent(&rest[length..]);
            let number = rest[..length].parse();
            let number = number.map_err(|_| syntax(column, "this is no number"))?;
            (Word::Number(number), length)
        } else if first.is_alphabetic() || first == '_' || first == '$' {
            let part = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
            let length = rest.find(|c| !part(c)).unwrap_or(rest.len());
            (Word::Name(rest[..length].to_owned()), length)
        } else if first == ':' {
            (Word::Symbol(":"), 1)
        } else if let Some(symbol) = SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) {
            (Word::Symbol(symbol), symbol.len())
        } else {
            let message = format!("formulas have no `{first}` here");
            return Err(syntax(column, message));
        };
        if found.len() == MAX_WORDS {
            return Err(syntax(column, "the formula is too long"));
        }
        found.push((token, column));
        rest = &rest[length..];
    }
}

/// How long the exponent is that a number begins to have; 0 if it has none.
fn exponent(rest: &str) -> usize {
    let Some(after) = rest.strip_prefix(['e', 'E']) else {
        return 0;
    };
    let digits = after.strip_prefix(['+', '-']).unwrap_or(after);
    let count = digits.bytes().take_while(u8::is_ascii_digit).count();
    if count == 0 {
        return 0;
    }
    rest.len() - digits.len() + count
}

struct Parser {
    tokens: Vec<(Word, usize)>,
    at: usize,
    depth: usize,
    /// The column behind the last character.
    end: usize,
}

impl Parser {
    fn peek(&self) -> Option<&Word> {
        self.tokens.get(self.at).map(|(token, _)| token)
    }

    fn column(&self) -> usize {
        self.tokens
            .get(self.at)
            .map_or(self.end, |(_, column)| *column)
    }

    fn fail(&self, reason: &str) -> FormulaError {
        syntax(self.column(), reason)
    }

    /// Passes over a symbol or a word if it follows.
    fn takes(&mut self, what: &str) -> bool {
        let follows = match self.peek() {
            Some(Word::Symbol(symbol)) => *symbol == what,
            Some(Word::Name(name)) => name == what,
            _ => false,
        };
        self.at += usize::from(follows);
        follows
    }

    fn want(&mut self, symbol: &str) -> Result<(), FormulaError> {
        if self.takes(symbol) {
            Ok(())
        } else {
            Err(self.fail(&format!("`{symbol}` is missing")))
        }
    }

    fn nested<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, FormulaError>,
    ) -> Result<T, FormulaError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.fail("nested too deep"));
        }
        let read = read(self);
        self.depth -= 1;
        read
    }

    /// Reads a whole term, which may be `a ? b : c`.
    fn whole(&mut self) -> Result<Term, FormulaError> {
        self.nested(|parser| {
            let condition = parser.level(0)?;
            if !parser.takes("?") {
                return Ok(condition);
            }
            let yes = parser.whole()?;
            parser.want(":")?;
            let no = parser.whole()?;
            Ok(Term::Choice(Box::new([condition, yes, no])))
        })
    }

    fn level(&mut self, level: usize) -> Result<Term, FormulaError> {
        let Some(operators) = LEVELS.get(level) else {
            return self.unary();
        };
        let mut left = self.level(level + 1)?;
        let mut count = 0;
        loop {
            let found = operators.iter().find(|(symbol, _)| self.takes(symbol));
            let Some((_, operator)) = found else {
                return Ok(left);
            };
            count += 1;
            if level == COMPARISONS && count > 1 {
                return Err(self.fail("comparisons can't follow each other: use `and`"));
            }
            let right = self.level(level + 1)?;
            left = Term::Binary(*operator, Box::new([left, right]));
        }
    }

    /// Signs bind less than `^`.
    fn unary(&mut self) -> Result<Term, FormulaError> {
        let operator = if self.takes("-") {
            Unary::Minus
        } else if self.takes("+") {
            Unary::Plus
        } else if self.takes("not") {
            Unary::Not
        } else {
            return self.power();
        };
        let operand = self.nested(Self::unary)?;
        Ok(Term::Unary(operator, Box::new(operand)))
    }

    /// Reads a power. Powers group from the right, and the exponent may have a sign.
    fn power(&mut self) -> Result<Term, FormulaError> {
        let base = self.primary()?;
        if !(self.takes("^") || self.takes(".^")) {
            return Ok(base);
        }
        let exponent = self.nested(Self::unary)?;
        Ok(Term::Binary(Binary::Power, Box::new([base, exponent])))
    }

    fn primary(&mut self) -> Result<Term, FormulaError> {
        let column = self.column();
        match self.peek().cloned() {
            Some(Word::Number(number)) => {
                self.at += 1;
                Ok(Term::Number(number))
            }
            Some(Word::Name(name)) if !WORDS.contains(&name.as_str()) => {
                self.at += 1;
                self.named(name, column)
            }
            // `mod(a, b)` is a function, `a mod b` an operator.
            Some(Word::Name(name)) if name == "mod" => {
                self.at += 1;
                self.named(name, column)
            }
            Some(Word::Symbol("(")) => {
                self.at += 1;
                let inner = self.whole()?;
                self.want(")")?;
                Ok(inner)
            }
            Some(_) => Err(self.fail("a number or a name is missing")),
            None => Err(self.fail("the formula ends too early")),
        }
    }

    /// Reads a name, or the call of a function.
    fn named(&mut self, name: String, column: usize) -> Result<Term, FormulaError> {
        if !self.takes("(") {
            return Ok(Term::Name(name));
        }
        let Some(function) = Function::named(&name) else {
            return Err(syntax(column, format!("there is no function `{name}`")));
        };
        let mut arguments = Vec::new();
        while !self.takes(")") {
            if !arguments.is_empty() {
                self.want(",")?;
            }
            arguments.push(self.whole()?);
        }
        match function.refuses(arguments.len()) {
            Some(reason) => Err(syntax(column, reason)),
            None => Ok(Term::Call(function, arguments)),
        }
    }
}
