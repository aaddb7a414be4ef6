//! The words of a nunjucks tag.
//!
//! As nunjucks cuts them: a name is whatever stands between delimiters, so `名前` and `$x` are
//! names; a backslash in a text escapes `n`, `t` and `r` and else stands for what follows it.

/// One word.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
    Name(String),
    Text(String),
    /// A number without sign or exponent, as written.
    Number(String),
    Symbol(&'static str),
}

impl Token {
    /// What it is, for messages.
    pub(super) fn kind(&self) -> String {
        match self {
            Self::Name(_) => "identifier".to_owned(),
            Self::Text(_) => "string".to_owned(),
            Self::Number(_) => "number".to_owned(),
            Self::Symbol(symbol) => format!("`{symbol}`"),
        }
    }
}

/// Symbols, the longer ones first.
const SYMBOLS: [&str; 27] = [
    "===", "!==", "==", "!=", "<=", ">=", "//", "**", "(", ")", "[", "]", "{", "}", "%", "*", "-",
    "+", "~", "/", ",", ":", "|", ".", "<", ">", "=",
];

/// What ends a name.
fn is_delimiter(c: char) -> bool {
    c.is_whitespace() || "()[]{}%*-+~/#,:|.<>=!".contains(c)
}

/// The words of a tag without its delimiters.
pub(super) fn tokens(code: &str) -> Result<Vec<Token>, String> {
    let mut tokens = Vec::new();
    let mut rest = code.trim_start();
    while let Some(first) = rest.chars().next() {
        let (token, after) = if first == '"' || first == '\'' {
            quoted(rest, first)?
        } else if rest.starts_with("r/") {
            return Err(
                "regular expressions (`r/…/`) are not supported in templates; `replace` takes a text"
                    .to_owned(),
            );
        } else if let Some(symbol) = SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) {
            (Token::Symbol(symbol), &rest[symbol.len()..])
        } else if is_delimiter(first) {
            return Err(format!("unexpected `{first}`"));
        } else {
            word(rest)
        };
        tokens.push(token);
        rest = after.trim_start();
    }
    Ok(tokens)
}

/// A text and what follows it.
fn quoted(rest: &str, quote: char) -> Result<(Token, &str), String> {
    let mut text = String::new();
    let mut chars = rest.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        if c == quote {
            return Ok((Token::Text(text), &rest[at + 1..]));
        }
        if c != '\\' {
            text.push(c);
            continue;
        }
        match chars.next() {
            Some((_, 'n')) => text.push('\n'),
            Some((_, 't')) => text.push('\t'),
            Some((_, 'r')) => text.push('\r'),
            Some((_, other)) => text.push(other),
            None => break,
        }
    }
    Err(format!("a text that begins with {quote} has no end"))
}

/// A name or a number and what follows it.
fn word(rest: &str) -> (Token, &str) {
    let end = rest.find(is_delimiter).unwrap_or(rest.len());
    let (word, after) = rest.split_at(end);
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_digits(word) {
        return (Token::Name(word.to_owned()), after);
    }
    let Some(fraction) = after.strip_prefix('.') else {
        return (Token::Number(word.to_owned()), after);
    };
    let len = fraction
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(fraction.len());
    let (fraction, after) = fraction.split_at(len);
    (Token::Number(format!("{word}.{fraction}0")), after)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_cut_as_in_nunjucks() {
        let name = |text: &str| Token::Name(text.to_owned());
        let cases = [
            (
                "a.b===1",
                vec![
                    name("a"),
                    Token::Symbol("."),
                    name("b"),
                    Token::Symbol("==="),
                    Token::Number("1".to_owned()),
                ],
            ),
            (" 名前 $x ", vec![name("名前"), name("$x")]),
            (r"'it\'s\n'", vec![Token::Text("it's\n".to_owned())]),
            ("1.5", vec![Token::Number("1.50".to_owned())]),
            ("1e5", vec![name("1e5")]),
            ("it's", vec![name("it's")]),
        ];
        for (code, expected) in cases {
            assert_eq!(tokens(code), Ok(expected), "{code}");
        }
        for code in ["'open", "r/x/", "a # b", "!a"] {
            assert!(tokens(code).is_err(), "{code}");
        }
    }
}
