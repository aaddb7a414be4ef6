//! Files of environment variables (`--env-file`), in the form that Node's dotenv made common.
//!
//! `NAME=value`, `export NAME=value`, `#` comments, single, double and back quotes around values
//! that may span lines; `\n` and `\r` mean what they say in double quotes only. There are no
//! substitutions: a `$` in a password stays a `$`, which is why no shell-like library reads this.

/// Reads the assignments in order; a later one of the same name wins.
///
/// # Errors
/// The number of the first line (from 1) that is no assignment.
pub(crate) fn parse(text: &str) -> Result<Vec<(String, String)>, usize> {
    let mut rest = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut line = 1;
    let mut assignments = Vec::new();
    while !rest.is_empty() {
        let end = rest.find('\n').map_or(rest.len(), |at| at + 1);
        let trimmed = rest[..end].trim();
        if trimmed.is_empty() || trimmed.starts_with('#') {
            line += 1;
            rest = &rest[end..];
            continue;
        }
        let (name, after) = assignment(rest, end).ok_or(line)?;
        let (value, used) = value(after);
        assignments.push((name.to_owned(), value));
        let taken = rest.len() - after.len() + used;
        line += rest[..taken].matches('\n').count();
        rest = &rest[taken..];
    }
    Ok(assignments)
}

/// The name on the first line, and what follows its `=`.
fn assignment(text: &str, line_end: usize) -> Option<(&str, &str)> {
    let equals = text[..line_end].find('=')?;
    let name = text[..equals].trim();
    let name = name.strip_prefix("export ").unwrap_or(name).trim();
    let valid = name
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-'));
    (valid && !name.is_empty()).then_some((name, &text[equals + 1..]))
}

/// The value at the start of `text`, and how many bytes it takes up to and with its line break.
fn value(text: &str) -> (String, usize) {
    let line_end = |from: usize| {
        text[from..]
            .find('\n')
            .map_or(text.len(), |at| from + at + 1)
    };
    let start = text.len() - text.trim_start_matches([' ', '\t']).len();
    if let Some(quote) = text[start..]
        .chars()
        .next()
        .filter(|c| matches!(c, '"' | '\'' | '`'))
        && let Some(length) = closing(&text[start + 1..], quote)
    {
        let inner = &text[start + 1..start + 1 + length];
        let value = if quote == '"' {
            inner.replace("\\n", "\n").replace("\\r", "\r")
        } else {
            inner.to_owned()
        };
        return (value, line_end(start + 1 + length));
    }
    let end = line_end(0);
    let bare = &text[..end];
    let bare = bare.split_once('#').map_or(bare, |(value, _)| value);
    (bare.trim().to_owned(), end)
}

/// Where the closing quote is: the first one that no backslash precedes.
fn closing(text: &str, quote: char) -> Option<usize> {
    text.match_indices(quote)
        .map(|(at, _)| at)
        .find(|&at| !text[..at].ends_with('\\'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Vec<(String, String)> {
        parse(text).expect("well formed")
    }

    fn pair(name: &str, value: &str) -> (String, String) {
        (name.to_owned(), value.to_owned())
    }

    #[test]
    fn the_forms_of_a_line() {
        let table = [
            ("A=1", "1"),
            ("export A=1\r\n", "1"),
            ("A = spaced out  # comment", "spaced out"),
            ("A='#not a comment' # one", "#not a comment"),
            (r#"A="two\nlines""#, "two\nlines"),
            (r"A='two\nlines'", r"two\nlines"),
            ("A=\"over\ntwo\"\n", "over\ntwo"),
            ("A=pa$word${X}", "pa$word${X}"),
            ("A=", ""),
            ("A=\"open", "\"open"),
            ("\u{feff}A=b=c", "b=c"),
        ];
        for (text, value) in table {
            assert_eq!(parsed(text), [pair("A", value)], "{text:?}");
        }
    }

    #[test]
    fn comments_and_blank_lines_are_passed_over() {
        assert_eq!(
            parsed("# one\n\n  \nA=1\n# two\nB=2"),
            [pair("A", "1"), pair("B", "2")]
        );
    }

    #[test]
    fn a_line_that_is_no_assignment_is_named() {
        assert_eq!(parse("A=\"1\n2\"\nwhat is this"), Err(3));
        assert_eq!(parse("=1"), Err(1));
        assert_eq!(parse("a b=1"), Err(1));
    }
}
