//! Which statuses are an answer: `validateStatus`.
//!
//! A status (`200`), a range (`"200-299"`), a list of both, or a condition on `status` as
//! JavaScript has it: comparisons with numbers, `&&`, `||`, parentheses; also behind
//! `status =>`, whatever its parameter is called. Anything else is refused with what is understood.

use runner_plugin::json::Value;

/// A set of statuses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Accepted {
    All(Vec<Accepted>),
    Any(Vec<Accepted>),
    /// From and to, both within.
    Range(u16, u16),
    Not(Box<Accepted>),
}

impl Accepted {
    /// What is accepted where nothing is said.
    pub(crate) fn success() -> Self {
        Self::Range(200, 299)
    }

    /// Reads the knob.
    pub(crate) fn read(value: &Value) -> Result<Self, String> {
        let wrong = || {
            format!(
                "{value} is not understood; write a range (\"200-299\"), a list of statuses and ranges, or a comparison (\"status >= 200 && status < 300\")"
            )
        };
        match value {
            Value::Number(number) => {
                let status = number
                    .as_u64()
                    .and_then(|status| u16::try_from(status).ok());
                status
                    .map(|status| Self::Range(status, status))
                    .ok_or_else(wrong)
            }
            Value::Array(items) => {
                let items: Result<_, _> = items.iter().map(Self::read).collect();
                Ok(Self::Any(items?))
            }
            Value::String(text) => range(text).or_else(|| condition(text)).ok_or_else(wrong),
            _ => Err(wrong()),
        }
    }

    pub(crate) fn holds(&self, status: u16) -> bool {
        match self {
            Self::All(parts) => parts.iter().all(|part| part.holds(status)),
            Self::Any(parts) => parts.iter().any(|part| part.holds(status)),
            Self::Range(from, to) => (*from..=*to).contains(&status),
            Self::Not(part) => !part.holds(status),
        }
    }
}

fn range(text: &str) -> Option<Accepted> {
    let (from, to) = text.split_once('-').unwrap_or((text, text));
    let (from, to) = (from.trim().parse().ok()?, to.trim().parse().ok()?);
    (from <= to).then_some(Accepted::Range(from, to))
}

fn condition(text: &str) -> Option<Accepted> {
    let (name, text) = match text.split_once("=>") {
        Some((parameter, body)) => {
            let parameter = parameter
                .trim()
                .trim_start_matches('(')
                .trim_end_matches(')')
                .trim();
            let is_name = |c: char| c.is_ascii_alphabetic() || c == '_' || c == '$';
            if !parameter.chars().all(is_name) || parameter == "true" {
                return None;
            }
            (parameter, body)
        }
        None => ("status", text),
    };
    let tokens = tokens(text, name)?;
    let mut rest = &tokens[..];
    let read = any(&mut rest, 0)?;
    rest.is_empty().then_some(read)
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Status,
    Number(u16),
    True,
    Sign(&'static str),
}

/// The longer ones first.
const SIGNS: [&str; 12] = [
    "===", "!==", "==", "!=", "<=", ">=", "&&", "||", "<", ">", "(", ")",
];

/// The status has the name `name`; with none it can't be meant.
fn tokens(mut text: &str, name: &str) -> Option<Vec<Token>> {
    let mut tokens = Vec::new();
    loop {
        text = text.trim_start();
        if text.is_empty() || text == ";" {
            return Some(tokens);
        }
        if let Some(sign) = SIGNS.into_iter().find(|sign| text.starts_with(sign)) {
            tokens.push(Token::Sign(sign));
            text = &text[sign.len()..];
            continue;
        }
        let end = text
            .find(|letter: char| !letter.is_ascii_alphanumeric() && !matches!(letter, '_' | '$'))
            .unwrap_or(text.len());
        let (word, rest) = text.split_at(end);
        tokens.push(match word {
            "true" => Token::True,
            word if word == name && !name.is_empty() => Token::Status,
            number => Token::Number(number.parse().ok()?),
        });
        text = rest;
    }
}

/// Deeper than any condition that somebody writes.
const DEPTH: u32 = 16;

fn any(rest: &mut &[Token], depth: u32) -> Option<Accepted> {
    let mut parts = vec![all(rest, depth)?];
    while take(rest, "||") {
        parts.push(all(rest, depth)?);
    }
    Some(Accepted::Any(parts))
}

fn all(rest: &mut &[Token], depth: u32) -> Option<Accepted> {
    let mut parts = vec![one(rest, depth)?];
    while take(rest, "&&") {
        parts.push(one(rest, depth)?);
    }
    Some(Accepted::All(parts))
}

fn one(rest: &mut &[Token], depth: u32) -> Option<Accepted> {
    if take(rest, "(") {
        let inner = (depth < DEPTH).then(|| any(rest, depth + 1))??;
        return take(rest, ")").then_some(inner);
    }
    let (read, more) = match rest {
        [Token::True, more @ ..] => (Accepted::All(Vec::new()), more),
        [
            Token::Status,
            Token::Sign(sign),
            Token::Number(number),
            more @ ..,
        ] => (compared(sign, *number)?, more),
        [
            Token::Number(number),
            Token::Sign(sign),
            Token::Status,
            more @ ..,
        ] => (compared(turned(sign), *number)?, more),
        _ => return None,
    };
    *rest = more;
    Some(read)
}

fn take(rest: &mut &[Token], sign: &str) -> bool {
    match rest {
        [Token::Sign(first), more @ ..] if *first == sign => {
            *rest = more;
            true
        }
        _ => false,
    }
}

/// The sign with its sides exchanged.
fn turned(sign: &str) -> &str {
    match sign {
        "<" => ">",
        ">" => "<",
        "<=" => ">=",
        ">=" => "<=",
        same => same,
    }
}

fn compared(sign: &str, number: u16) -> Option<Accepted> {
    let none = || Accepted::Any(Vec::new());
    Some(match sign {
        "==" | "===" => Accepted::Range(number, number),
        "!=" | "!==" => Accepted::Not(Box::new(Accepted::Range(number, number))),
        "<=" => Accepted::Range(0, number),
        ">=" => Accepted::Range(number, u16::MAX),
        "<" => number
            .checked_sub(1)
            .map_or_else(none, |to| Accepted::Range(0, to)),
        ">" => number
            .checked_add(1)
            .map_or_else(none, |from| Accepted::Range(from, u16::MAX)),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use runner_plugin::json::json;

    #[test]
    fn what_is_understood() {
        for (written, within, without) in [
            (json!(201), vec![201], vec![200]),
            (json!("200-299"), vec![200, 299], vec![300, 199]),
            (json!(["200", 404]), vec![200, 404], vec![201]),
            (
                json!("status >= 200 && status < 300"),
                vec![200, 299],
                vec![199, 300],
            ),
            (json!("(status) => status < 500"), vec![0, 499], vec![500]),
            (
                json!("status => status === 200 || (400 <= status && status != 429);"),
                vec![200, 400],
                vec![429, 201],
            ),
            (json!("s => s < 500"), vec![499], vec![500]),
            (json!("() => true"), vec![0, 999], vec![]),
            (json!("true"), vec![0, 999], vec![]),
            (json!("status < 0"), vec![], vec![0]),
        ] {
            let accepted = Accepted::read(&written).expect("a condition");
            for status in within {
                assert!(accepted.holds(status), "{written} {status}");
            }
            for status in without {
                assert!(!accepted.holds(status), "{written} {status}");
            }
        }
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        let deep = "(".repeat(100_000);
        for written in [
            json!("file://check.js"),
            json!("status => { return true }"),
            json!("status > 99999"),
            json!("status"),
            json!("s => status < 500"),
            json!("() => status < 500"),
            json!("(status, more) => true"),
            json!("status & 1"),
            json!("300-200"),
            json!("(status == 200"),
            json!(""),
            json!(null),
            json!(-1),
            json!(deep),
        ] {
            let why = Accepted::read(&written).expect_err("no condition");
            assert!(why.contains("not understood"), "{why}");
        }
    }
}
