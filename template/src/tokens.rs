//! The words of a nunjucks tag.
//!
//! As nunjucks cuts them: a name is whatever stands between delimiters, so `名前` and `$x` are
//! names; a backslash in a text escapes `n`, `t` and `r` and else stands for what follows it.

use std::borrow::Cow;

/// Bytes of one tag outside its quotes.
const MAX_TAG: usize = 2_000;

/// One word.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Token<'t> {
    /// A name.
    Name(&'t str),
    /// A text in quotes.
    Text(Cow<'t, str>),
    /// A number without sign or exponent, as written.
    Number(&'t str),
    /// Anything else.
    Symbol(&'static str),
}

impl Token<'_> {
    /// What it is, for messages.
    pub(crate) fn kind(&self) -> Cow<'static, str> {
        match self {
            Self::Name(_) => Cow::Borrowed("identifier"),
            Self::Text(_) => Cow::Borrowed("string"),
            Self::Number(_) => Cow::Borrowed("number"),
            Self::Symbol(symbol) => Cow::Owned(format!("`{symbol}`")),
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
pub(crate) fn tokens(code: &str) -> Result<Vec<Token<'_>>, String> {
    let mut tokens = Vec::new();
    let mut rest = code.trim_start();
    let mut outside_quotes = 0;
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
        let after = after.trim_start();
        if !matches!(token, Token::Text(_)) {
            outside_quotes += rest.len() - after.len();
        }
        if outside_quotes > MAX_TAG {
            return Err(format!("a tag of more than {MAX_TAG} bytes"));
        }
        tokens.push(token);
        rest = after;
    }
    Ok(tokens)
}

/// A text and what follows it.
fn quoted(rest: &str, quote: char) -> Result<(Token<'_>, &str), String> {
    let no_end = || format!("a text that begins with {quote} has no end");
    let inner = &rest[1..];
    let is_end = |c: char| c == quote || c == '\\';
    let first = inner.find(is_end).ok_or_else(no_end)?;
    if inner[first..].starts_with(quote) {
        let text = Cow::Borrowed(&inner[..first]);
        return Ok((Token::Text(text), &inner[first + 1..]));
    }
    let mut text = inner[..first].to_owned();
    let mut chars = inner[first..].char_indices();
    while let Some((at, c)) = chars.next() {
        if c == quote {
            return Ok((Token::Text(Cow::Owned(text)), &inner[first + at + 1..]));
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
    Err(no_end())
}

/// A name or a number and what follows it.
fn word(rest: &str) -> (Token<'_>, &str) {
    let end = rest.find(is_delimiter).unwrap_or(rest.len());
    let (word, after) = rest.split_at(end);
    if !word.bytes().all(|byte| byte.is_ascii_digit()) {
        return (Token::Name(word), after);
    }
    let Some(fraction) = after.strip_prefix('.') else {
        return (Token::Number(word), after);
    };
    let digits = fraction.find(|c: char| !c.is_ascii_digit());
    let end = end + 1 + digits.unwrap_or(fraction.len());
    (Token::Number(&rest[..end]), &rest[end..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_cut_as_in_nunjucks() {
        let text = |text| Token::Text(Cow::Borrowed(text));
        let cases = [
            (
                "a.b===1",
                vec![
                    Token::Name("a"),
                    Token::Symbol("."),
                    Token::Name("b"),
                    Token::Symbol("==="),
                    Token::Number("1"),
                ],
            ),
            (" 名前 $x ", vec![Token::Name("名前"), Token::Name("$x")]),
            (r"'it\'s\n' 'b'", vec![text("it's\n"), text("b")]),
            ("1.5", vec![Token::Number("1.5")]),
            ("1.", vec![Token::Number("1.")]),
            ("1e5", vec![Token::Name("1e5")]),
            ("it's", vec![Token::Name("it's")]),
        ];
        for (code, expected) in cases {
            assert_eq!(tokens(code), Ok(expected), "{code}");
        }
        for code in ["'open", r"'open\", "r/x/", "a # b", "!a"] {
            assert!(tokens(code).is_err(), "{code}");
        }
    }
}
