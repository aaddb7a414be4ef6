//! Which form a text of JavaScript has: an expression, a function, or a function's body.
//!
//! Elsewhere in a config the lines decide. Here they don't: an object over several lines is an
//! expression, and so is a call of a function with a body of its own. It is a look at the text
//! and no parser: what is taken for the wrong form is an error that the engine words.

use runner_sandbox::abi::Form;

/// The form, and the text that gives a value in it: a function is called with `names`.
pub(crate) fn of(text: &str, names: &[&str]) -> (Form, String) {
    let code = text.trim();
    if is_body(code) {
        return (Form::Body, text.to_owned());
    }
    if is_function(code) {
        let function = code.trim_end_matches(|c: char| c == ';' || c.is_whitespace());
        // A line end first: the code may end in a comment.
        let call = format!("({function}\n)({})", names.join(", "));
        return (Form::Expression, call);
    }
    if code.starts_with("//") || code.starts_with("/*") {
        return (Form::Expression, format!("({code}\n)"));
    }
    (Form::Expression, text.to_owned())
}

/// Statements: one that no expression begins with, or a `return` outside of all brackets.
fn is_body(code: &str) -> bool {
    const STATEMENTS: [&str; 7] = ["if", "for", "while", "do", "switch", "try", "throw"];
    STATEMENTS.contains(&first_word(code)) || returns(code)
}

/// `function …`, `x => …`, `(…) => …`, each with or without `async`.
fn is_function(code: &str) -> bool {
    let code = match first_word(code) {
        "async" => code["async".len()..].trim_start(),
        _ => code,
    };
    let word = first_word(code);
    if word == "function" {
        return true;
    }
    let rest = match word {
        "" => after_parentheses(code),
        name => Some(&code[name.len()..]),
    };
    rest.is_some_and(|rest| rest.trim_start().starts_with("=>"))
}

fn first_word(code: &str) -> &str {
    let end = code.find(|c: char| !is_letter(c)).unwrap_or(code.len());
    &code[..end]
}

fn is_letter(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

/// What follows the parentheses that the code begins with.
fn after_parentheses(code: &str) -> Option<&str> {
    let mut letters = Plain::of(code).filter(|(_, c, _)| matches!(c, '(' | ')'));
    let (0, '(', _) = letters.next()? else {
        return None;
    };
    let mut open = 1_usize;
    for (at, c, _) in letters {
        open = if c == '(' { open + 1 } else { open - 1 };
        if open == 0 {
            return Some(&code[at + 1..]);
        }
    }
    None
}

/// Whether there is a `return` outside of all brackets.
fn returns(code: &str) -> bool {
    let mut before = ' ';
    for (at, c, depth) in Plain::of(code) {
        if depth == 0 && c == 'r' && !is_letter(before) && before != '.' {
            let is_return = first_word(&code[at..]) == "return";
            let is_key = code[at + c.len_utf8()..].starts_with("eturn:");
            if is_return && !is_key {
                return true;
            }
        }
        before = c;
    }
    false
}

/// The letters outside of strings and comments, each with its place and how many brackets are
/// open before it.
struct Plain<'a> {
    letters: std::iter::Peekable<std::str::CharIndices<'a>>,
    depth: usize,
}

impl<'a> Plain<'a> {
    fn of(code: &'a str) -> Self {
        let letters = code.char_indices().peekable();
        Self { letters, depth: 0 }
    }

    /// Goes past the end of a string that began with `quote`.
    fn skip_string(&mut self, quote: char) {
        while let Some((_, c)) = self.letters.next() {
            match c {
                '\\' => drop(self.letters.next()),
                c if c == quote => return,
                _ => {}
            }
        }
    }

    /// Goes past the end of a comment, of whose beginning `second` is the second letter.
    fn skip_comment(&mut self, second: char) {
        let mut before = ' ';
        for (_, c) in self.letters.by_ref().skip(1) {
            match second {
                '/' if c == '\n' => return,
                '*' if (before, c) == ('*', '/') => return,
                _ => before = c,
            }
        }
    }
}

impl Iterator for Plain<'_> {
    type Item = (usize, char, usize);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let (at, c) = self.letters.next()?;
            let depth = self.depth;
            match c {
                '"' | '\'' | '`' => self.skip_string(c),
                '/' => match self.letters.peek() {
                    Some((_, second @ ('/' | '*'))) => {
                        let second = *second;
                        self.skip_comment(second);
                    }
                    _ => return Some((at, c, depth)),
                },
                '(' | '[' | '{' => {
                    self.depth += 1;
                    return Some((at, c, depth));
                }
                ')' | ']' | '}' => {
                    self.depth = depth.saturating_sub(1);
                    return Some((at, c, depth));
                }
                _ => return Some((at, c, depth)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NAMES: [&str; 2] = ["json", "text"];

    #[test]
    fn a_function_is_called() {
        for function in [
            "json => json.a",
            "(json, text) => { return text }",
            "({ a }, [b] = [')']) => a",
            "async (json) => json.a",
            "async json => json.a",
            "function (json) {\n  return json.a\n}",
            "() => 1 // one",
        ] {
            let called = format!("({function}\n)(json, text)");
            assert_eq!(of(function, &NAMES), (Form::Expression, called.clone()));
            let closed = format!("{function};\n");
            if !function.contains("//") {
                assert_eq!(of(&closed, &NAMES), (Form::Expression, called));
            }
        }
    }

    #[test]
    fn an_expression_stays_whatever_its_lines() {
        for code in [
            "json.a.trim()",
            "{\n  output: json.a,\n  cost: 1,\n}",
            "json.list.map(x => {\n  return x.b\n}).join()",
            "'return ' + \"(\" + json.a",
            "(json.a || x) + 1",
            "(() => { return 1 })()",
            "json.return",
            "asyncs",
            "json.a /* return */",
        ] {
            assert_eq!(of(code, &NAMES), (Form::Expression, code.to_owned()));
        }
        let commented = of("// the answer\njson.a", &NAMES);
        assert_eq!(commented.1, "(// the answer\njson.a\n)");
        assert_eq!(commented.0, Form::Expression);
    }

    #[test]
    fn statements_are_a_body() {
        for code in [
            "return json.a",
            "const a = json.a;\nreturn a",
            "if (json.a) { return 1 } else { return 2 }",
            "try { return JSON.parse(text) } catch { return text }",
            "function f(x) { return x }\nreturn f(json)",
            "// it's the answer\nreturn json.a",
        ] {
            assert_eq!(of(code, &NAMES), (Form::Body, code.to_owned()));
        }
    }

    proptest! {
        #[test]
        fn no_text_is_too_odd(text in "[a-z=>(){}\\[\\]'\"`/*\\\\ \nré;.]{0,40}") {
            let (_, source) = of(&text, &NAMES);
            prop_assert!(source.contains(text.trim().trim_end_matches([';', ' ', '\n'])));
        }
    }
}
