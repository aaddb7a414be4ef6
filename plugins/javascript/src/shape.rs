//! From the code as a config holds it to the text that the engine compiles, and back from the
//! engine's positions to the user's.
//!
//! Pure text; the rules are the contract's (`form`). Whatever is put around the code stays on its first line, so
//! that lines need no conversion and only columns of that line do.

/// Text for the engine, and what was added to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wrapped {
    /// An expression that is a function.
    pub(crate) text: String,
    /// Where the additions are.
    pub(crate) added: Added,
}

/// What was put into a text, for [`Added::back`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Added {
    /// The line of the user's text that is the engine's first, from 0.
    line: u32,
    /// Characters in front of the first line.
    before: u32,
    /// White space of the user's first line that the engine did not get.
    cut: u32,
    /// Characters of the user's first line before a `return` was put in.
    returns_at: Option<u32>,
}

const RETURN: &str = "return ";

/// The wrapper of a CommonJS module.
const MODULE: &str = "(function (exports, require, module, __filename, __dirname) {";

/// A body as a function of `names`.
pub(crate) fn body(source: &str, names: &[&str]) -> Wrapped {
    wrap(&head(source, names), source, Added::default())
}

/// An expression as a function of `names`.
pub(crate) fn expression(source: &str, names: &[&str]) -> Wrapped {
    let head = head(source, names);
    // A line end after `return` would end it.
    let code = source.trim();
    let leading = &source[..source.len() - source.trim_start().len()];
    let added = Added {
        line: lines(leading),
        cut: chars(leading.rsplit('\n').next().unwrap_or_default()),
        ..Added::default()
    };
    if !declares(code) {
        return wrap(&format!("{head}{RETURN}"), code, added);
    }
    // Without an expression at its end it has no value, which is not an error of its own.
    let Some(at) = last_expression(code) else {
        return wrap(&head, code, added);
    };
    let (statements, expression) = code.split_at(at);
    let added = Added {
        returns_at: Some(chars(statements)),
        ..added
    };
    wrap(&head, &format!("{statements}{RETURN}{expression}"), added)
}

/// The beginning of the function. It is asynchronous only where it must be.
fn head(source: &str, names: &[&str]) -> String {
    let word = if mentions(source, "await") {
        "async function"
    } else {
        "function"
    };
    format!("({word} ({}) {{", names.join(", "))
}

/// A file as a CommonJS module.
pub(crate) fn module(source: &str) -> Wrapped {
    wrap(MODULE, &without_shebang(source), Added::default())
}

/// A `#!` line is a comment.
pub(crate) fn without_shebang(source: &str) -> std::borrow::Cow<'_, str> {
    match source.strip_prefix("#!") {
        Some(rest) => format!("//{rest}").into(),
        None => source.into(),
    }
}

fn wrap(head: &str, code: &str, mut added: Added) -> Wrapped {
    added.before = chars(head);
    Wrapped {
        // A line end first: the code may end in a comment.
        text: format!("{head}{code}\n}})"),
        added,
    }
}

impl Added {
    /// The user's line and column (from 1; column 0: not known) for the engine's.
    pub(crate) fn back(&self, line: u32, column: u32) -> (u32, u32) {
        if line != 1 || column == 0 {
            return (line + self.line, column);
        }
        let mut at = column.saturating_sub(self.before).max(1);
        if let Some(returns_at) = self.returns_at
            && at > returns_at
        {
            at = at.saturating_sub(chars(RETURN)).max(returns_at + 1);
        }
        (line + self.line, at + self.cut)
    }
}

/// Does the code begin with a declaration?
fn declares(code: &str) -> bool {
    ["const", "let", "var"].iter().any(|word| {
        let rest = code.strip_prefix(word);
        rest.is_some_and(|rest| rest.starts_with(char::is_whitespace))
    })
}

/// Where the expression begins that follows the last `;`; `None` if none does.
fn last_expression(code: &str) -> Option<usize> {
    let code = code.trim_end_matches(|c: char| c == ';' || c.is_whitespace());
    let at = last_semicolon(code).or_else(|| code.rfind(';'))? + 1;
    let blank = code[at..].len() - code[at..].trim_start().len();
    Some(at + blank)
}

/// The last `;` outside of strings and brackets; `None` also if they do not close, which a
/// regular expression can bring about.
fn last_semicolon(code: &str) -> Option<usize> {
    let (mut quote, mut depth, mut found, mut escaped) = (None, 0_i32, None, false);
    for (at, c) in code.char_indices() {
        match (quote, c) {
            _ if escaped => escaped = false,
            (Some(_), '\\') => escaped = true,
            (Some(open), _) => quote = (open != c).then_some(open),
            (None, '"' | '\'' | '`') => quote = Some(c),
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')' | ']' | '}') => depth -= 1,
            (None, ';') if depth == 0 => found = Some(at),
            (None, _) => {}
        }
    }
    found.filter(|_| quote.is_none() && depth == 0)
}

/// Is `word` in the text, as a word?
fn mentions(text: &str, word: &str) -> bool {
    let part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '$');
    text.match_indices(word).any(|(at, _)| {
        !part(text[..at].chars().next_back()) && !part(text[at + word.len()..].chars().next())
    })
}

fn lines(text: &str) -> u32 {
    u32::try_from(text.matches('\n').count()).unwrap_or(u32::MAX)
}

fn chars(text: &str) -> u32 {
    u32::try_from(text.chars().count()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(source: &str) -> String {
        let text = expression(source, &["o"]).text;
        let inner = text
            .strip_prefix("(function (o) {")
            .or_else(|| text.strip_prefix("(async function (o) {"));
        inner
            .and_then(|text| text.strip_suffix("\n})"))
            .unwrap_or_default()
            .to_owned()
    }

    #[test]
    fn the_last_expression_is_returned() {
        for (source, expected) in [
            ("o > 1", "return o > 1"),
            (" o > 1 \n", "return o > 1"),
            ("\n\n  o\n", "return o"),
            ("const a = o; a > 1", "const a = o; return a > 1"),
            ("let a = o; a > 1;", "let a = o; return a > 1;"),
            (
                "var a = ';', b = 1; (a);",
                "var a = ';', b = 1; return (a);",
            ),
            (
                "const f = () => { x(); }; f()",
                "const f = () => { x(); }; return f()",
            ),
            (
                "const a = /['\"]/; a.test(o)",
                "const a = /['\"]/; return a.test(o)",
            ),
            ("const a = 1", "const a = 1"),
            ("constant; o", "return constant; o"),
            ("o\n+ 1", "return o\n+ 1"),
        ] {
            assert_eq!(made(source), expected, "{source:?}");
        }
    }

    #[test]
    fn only_code_that_awaits_is_asynchronous() {
        assert!(
            expression("await o", &["o"])
                .text
                .starts_with("(async function")
        );
        assert!(
            expression("awaited(o)", &["o"])
                .text
                .starts_with("(function")
        );
        assert!(expression("o.$await", &["o"]).text.starts_with("(function"));
    }

    /// Every character of the user's that the engine gets is found again.
    #[test]
    fn positions_lead_back_to_the_users_text() {
        for source in [
            "o.a.X",
            "  \n  o.X",
            "const a = 1; a.X",
            "const a = X; a",
            "one;\n  two.X;\nreturn",
            "\nif (a) {\n  X\n}",
        ] {
            for wrapped in [expression(source, &["o"]), body(source, &["o"])] {
                let (line, column) = place(&wrapped.text);
                assert_eq!(
                    wrapped.added.back(line, column),
                    place(source),
                    "{source:?}"
                );
            }
        }
    }

    /// Line and column of the letter X.
    fn place(text: &str) -> (u32, u32) {
        let before = &text[..text.find('X').unwrap_or_default()];
        let line = before.rsplit('\n').next().unwrap_or_default();
        (lines(before) + 1, chars(line) + 1)
    }

    #[test]
    fn a_position_that_is_not_the_users_stays_in_range() {
        let added = expression("o", &["o"]).added;
        assert_eq!(added.back(1, 1), (1, 1));
        assert_eq!(added.back(1, 0), (1, 0));
        assert_eq!(added.back(2, 1), (2, 1));
    }
}
