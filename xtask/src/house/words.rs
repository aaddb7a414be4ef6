//! What a file of Rust says, read as words and not as syntax: its code without comments and quotes,
//! the paths that it names, what it defines and what its `use`s bring into it, which of its modules are
//! tests.

use std::collections::{BTreeMap, BTreeSet};

/// What a file names.
#[derive(Debug, Default)]
pub(super) struct Named {
    /// Paths as written, each with its line.
    pub(super) paths: Vec<(usize, Vec<String>)>,
    /// Its own items but modules; not what stands within them.
    pub(super) defined: BTreeSet<String>,
    /// What `use` brings in: the name here, and the path.
    pub(super) brought: BTreeMap<String, Vec<String>>,
    /// Its modules that are tests.
    pub(super) tests: BTreeSet<String>,
}

/// The text without comments, and without what stands in quotes; line breaks stay.
pub(super) fn code(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let len = match first {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            '"' => quoted(rest),
            'r' if !out.ends_with(is_of_name) => raw(rest).unwrap_or(0),
            '\'' => letter(rest).unwrap_or(0),
            _ => 0,
        };
        let (hidden, more) = rest.split_at(len);
        out.extend(hidden.chars().filter(|c| *c == '\n'));
        rest = more;
        if len == 0 {
            out.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    out
}

/// Whether it may stand in a name.
pub(super) fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// How long the text in quotes is that `text` begins with.
fn quoted(text: &str) -> usize {
    let mut chars = text.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => drop(chars.next()),
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// How long the `r"…"` or `r#"…"#` is that `text` begins with; `None` if it is another word.
fn raw(text: &str) -> Option<usize> {
    let hashes = text[1..].bytes().take_while(|byte| *byte == b'#').count();
    let inside = text[1 + hashes..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    let len = inside.find(&end).map_or(inside.len(), |at| at + end.len());
    Some(2 + hashes + len)
}

/// How long the single character in quotes is that `text` begins with; `None` if it is a lifetime.
fn letter(text: &str) -> Option<usize> {
    let mut chars = text.char_indices().skip(1);
    match chars.next()?.1 {
        '\\' => {
            chars.next()?;
            chars.find(|(_, c)| *c == '\'').map(|(at, _)| at + 1)
        }
        _ => chars
            .next()
            .filter(|(_, c)| *c == '\'')
            .map(|(at, _)| at + 1),
    }
}

/// A word or a sign, and its line.
type Token<'a> = (usize, &'a str);

/// The words and signs of a text; `::` is one sign.
fn tokens(code: &str) -> Vec<Token<'_>> {
    let mut all = Vec::new();
    for (number, line) in (1..).zip(code.lines()) {
        let mut rest = line.trim_start();
        while let Some(first) = rest.chars().next() {
            let len = match first {
                c if is_of_name(c) => rest.find(|c| !is_of_name(c)).unwrap_or(rest.len()),
                ':' if rest.starts_with("::") => 2,
                c => c.len_utf8(),
            };
            let (token, more) = rest.split_at(len);
            all.push((number, token));
            rest = more.trim_start();
        }
    }
    all
}

/// What stands before the name of an item.
const DEFINING: [&str; 7] = ["const", "enum", "fn", "static", "struct", "trait", "type"];

/// Reads code without comments and quotes.
pub(super) fn named(code: &str) -> Named {
    let mut named = Named::default();
    let tokens = tokens(code);
    let mut rest = &tokens[..];
    let mut depth = 0_usize;
    while let Some(((line, word), more)) = rest.split_first() {
        let words: Vec<&str> = rest.iter().take(10).map(|(_, word)| *word).collect();
        rest = match words.as_slice() {
            ["#", "[", "cfg", "(", "test", ")", "]", "mod", name, end] => {
                named.tests.insert((*name).to_owned());
                let after = &rest[9..];
                if *end == "{" {
                    after_block(after)
                } else {
                    after
                }
            }
            ["use", ..] => {
                let (tree, after) = tree(more);
                for (path, name) in tree {
                    named.brought.insert(name, path.clone());
                    named.paths.push((*line, path));
                }
                after
            }
            [_, "::", ..] if ["crate", "super", "self"].contains(word) => {
                let (path, after) = path(rest);
                named.paths.push((*line, path));
                after
            }
            [word, name, ..] if depth == 0 && DEFINING.contains(word) => {
                named.defined.insert((*name).to_owned());
                more
            }
            [sign, ..] => {
                match *sign {
                    "{" => depth += 1,
                    "}" => depth = depth.saturating_sub(1),
                    _ => {}
                }
                more
            }
            [] => more,
        };
    }
    named
}

/// What follows the block that the tokens begin with.
fn after_block<'t, 'a>(tokens: &'t [Token<'a>]) -> &'t [Token<'a>] {
    let mut depth = 0_usize;
    let ends = |(_, token): &Token<'_>| {
        match *token {
            "{" => depth += 1,
            "}" => depth -= 1,
            _ => {}
        }
        depth == 0
    };
    let end = tokens.iter().position(ends);
    end.map_or(&[], |end| &tokens[end + 1..])
}

/// The path that the tokens begin with, and the rest.
fn path<'t, 'a>(mut tokens: &'t [Token<'a>]) -> (Vec<String>, &'t [Token<'a>]) {
    let mut path = Vec::new();
    while let [(_, name), rest @ ..] = tokens
        && name.starts_with(is_of_name)
    {
        path.push((*name).to_owned());
        tokens = rest;
        match rest {
            [(_, "::"), more @ ..] => tokens = more,
            _ => break,
        }
    }
    (path, tokens)
}

/// The paths of a `use`, each with its name here, and the rest after its `;` or `,`.
fn tree<'t, 'a>(tokens: &'t [Token<'a>]) -> (Vec<(Vec<String>, String)>, &'t [Token<'a>]) {
    let (start, mut rest) = path(tokens);
    let mut found = Vec::new();
    match rest {
        [(_, "{"), within @ ..] => {
            rest = within;
            while !matches!(rest, [] | [(_, "}"), ..]) {
                let (inner, after) = tree(rest);
                found.extend(inner.into_iter().map(|(end, name)| {
                    match (end.as_slice(), start.last()) {
                        ([itself], Some(last)) if itself == "self" => (start.clone(), last.clone()),
                        _ => ([start.as_slice(), &end].concat(), name),
                    }
                }));
                rest = after;
            }
            rest = rest.get(1..).unwrap_or_default();
        }
        [(_, "as"), (_, name), after @ ..] => {
            found.push((start, (*name).to_owned()));
            rest = after;
        }
        [(_, "*"), after @ ..] => {
            found.push((start, "*".to_owned()));
            rest = after;
        }
        _ => {
            let name = start.last().cloned().unwrap_or_default();
            found.push((start, name));
        }
    }
    let is_end = matches!(rest.first(), Some((_, "," | ";")));
    (found, &rest[usize::from(is_end)..])
}
