//! Which relative paths a JavaScript file imports: `import`, `export … from`, `import()`,
//! `require()` with a text that begins with `./` or `../`.
//!
//! A scan, not a parser. It knows comments and quoted texts, and nothing of templates and regular
//! expressions; it looks only at quoted relative paths and at the word before them. So it may see
//! an import that is none, which costs a file handed over in vain, and a path that is put
//! together at run time is not seen, as in any bundler.
//!
//! The file is a stranger's and perhaps large, so no byte of it is looked at more than a few times.

use std::collections::HashSet;

/// The paths as written, in order, each once.
pub(crate) fn relative(source: &str) -> Vec<&str> {
    let mut known = HashSet::new();
    let mut found = all(source);
    found.retain(|path| known.insert(*path));
    found
}

/// The packages that are imported, as written, in order, each once: what is no relative path; but
/// for those whose text at this place is nobody's wish.
pub(crate) fn packages(source: &str, is_idle: impl Fn(usize) -> bool) -> Vec<&str> {
    let mut known = HashSet::new();
    let texts = texts(source, &mut |_| {}).into_iter();
    let found = texts.filter(|(at, text)| {
        let is_path = text.starts_with(['.', '/']) || text.contains(char::is_whitespace);
        !is_path && !text.is_empty() && !is_idle(*at)
    });
    let found = found.map(|(_, text)| text);
    found.filter(|text| known.insert(*text)).collect()
}

/// The source without texts in quotes and comments.
pub(crate) fn bare(source: &str) -> String {
    let mut code = String::with_capacity(source.len());
    let mut end = 0;
    texts(source, &mut |part: std::ops::Range<usize>| {
        code.push_str(source.get(end..part.start).unwrap_or_default());
        code.push(' ');
        end = part.end;
    });
    code.push_str(source.get(end..).unwrap_or_default());
    code
}

/// The relative paths that are imported.
fn all(source: &str) -> Vec<&str> {
    let is_relative = |text: &&str| {
        text.starts_with("./") || text.starts_with("../") || matches!(*text, "." | "..")
    };
    let texts = texts(source, &mut |_| {}).into_iter();
    texts.map(|(_, text)| text).filter(is_relative).collect()
}

/// The texts that are imported, and where; `passed` is told of every comment and text in quotes.
fn texts<'s>(
    source: &'s str,
    passed: &mut dyn FnMut(std::ops::Range<usize>),
) -> Vec<(usize, &'s str)> {
    let bytes = source.as_bytes();
    let mut found = Vec::new();
    // What ends no comment here ends none behind it.
    let mut comments_end = true;
    let mut at = 0;
    while at < bytes.len() {
        let rest = &bytes[at..];
        at = match rest[0] {
            b'/' if rest.starts_with(b"//") => {
                let end = at + length(rest, b"\n");
                passed(at..end);
                end
            }
            b'/' if comments_end && rest.starts_with(b"/*") => {
                let length = find(&rest[2..], b"*/");
                comments_end = length.is_some();
                // Without one it is the end of a regular expression, or broken.
                let end = at + 2 + length.map_or(0, |length| length + 2);
                passed(at..end);
                end
            }
            quote @ (b'"' | b'\'') => {
                let length = quoted(rest, quote);
                found.extend(imported(source, at, length).map(|text| (at, text)));
                passed(at..at + length);
                at + length
            }
            b'`' => {
                // An escaped one follows a backslash and imports nothing, so that the texts which
                // are looked through have no part in common.
                if is_imported(&source[..at]) {
                    let text = imported(source, at, quoted(rest, b'`'));
                    let text = text.filter(|text| !text.contains("${"));
                    found.extend(text.map(|text| (at, text)));
                }
                // What is inside may be code again.
                at + 1
            }
            _ => at + 1,
        };
    }
    found
}

/// How long a quoted text is, quotes included; up to the end of the line if it has no end.
fn quoted(rest: &[u8], quote: u8) -> usize {
    let mut at = 1;
    while at < rest.len() {
        match rest[at] {
            b'\\' => at += 2,
            b'\n' => return at,
            byte if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}

/// The quoted text at `start`, if it is imported.
fn imported(source: &str, start: usize, length: usize) -> Option<&str> {
    let text = source.get(start + 1..(start + length).checked_sub(1)?)?;
    is_imported(&source[..start]).then_some(text)
}

/// Whether what stands before a text makes it an import.
fn is_imported(before: &str) -> bool {
    let before = before.trim_end();
    let (before, words): (&str, &[&str]) = match before.strip_suffix('(') {
        Some(call) => (call.trim_end(), &["import", "require"]),
        None => (before, &["import", "from"]),
    };
    let name = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    words.iter().any(|word| {
        let before = before.strip_suffix(word);
        before.is_some_and(|before| !before.ends_with(name))
    })
}

fn find(bytes: &[u8], needle: &[u8]) -> Option<usize> {
    bytes
        .windows(needle.len())
        .position(|window| window == needle)
}

fn length(bytes: &[u8], end: &[u8]) -> usize {
    find(bytes, end).unwrap_or(bytes.len())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::relative;

    #[test]
    fn every_form_of_import_is_seen() {
        let cases: [(&str, &[&str]); 12] = [
            ("import a from './a.js';", &["./a.js"]),
            ("import './a'", &["./a"]),
            ("import { a,\n b } from\n \"../lib/a\"", &["../lib/a"]),
            (
                "export * from './a'; export { b } from './b'",
                &["./a", "./b"],
            ),
            (
                "const a = require('./a'), b = require( \"./b\" )",
                &["./a", "./b"],
            ),
            ("await import(`./a.mjs`)", &["./a.mjs"]),
            ("import fs from 'fs'; require('lodash')", &[]),
            ("const path = './a'; open('./b')", &[]),
            (
                "// import './a'\n/* require('./b') */ import './c'",
                &["./c"],
            ),
            ("const url = 'https://x'; import './a'", &["./a"]),
            ("const it = \"it's\"; require('./a')", &["./a"]),
            ("myrequire('./a'); x$from './b'; import(`./${a}`)", &[]),
        ];
        for (source, expected) in cases {
            assert_eq!(relative(source), expected, "{source}");
        }
    }

    #[test]
    fn a_path_is_told_once() {
        let source = "import './a'; import './b'; require('./a')";
        assert_eq!(relative(source), ["./a", "./b"]);
    }

    /// Each of these was looked through to its end from each of its characters: a million times.
    #[test]
    fn what_never_ends_is_looked_through_once() {
        const MANY: usize = 1 << 20;
        let sources = [
            "/*".repeat(MANY),
            "\\`".repeat(MANY),
            "import\\`./".repeat(MANY),
            "import './a';".repeat(MANY),
        ];
        let found = sources.map(|source| relative(&source).len());
        assert_eq!(found, [0, 0, 0, 1]);
    }

    #[test]
    fn what_looks_odd_hides_at_most_its_own_line() {
        let odd = [
            "/[\"']/.test(x)",
            "`it's ${'a'} \"`",
            "'never closed",
            "/\\/*/",
        ];
        for line in odd {
            let source = format!("{line}\nimport './a'\n");
            assert_eq!(relative(&source), ["./a"], "{line}");
        }
    }

    proptest! {
        #[test]
        fn any_text_can_be_scanned(source in "[ -~\\n'\"`/*\\\\é]{0,200}") {
            for path in relative(&source) {
                prop_assert!(source.contains(path));
            }
        }
    }
}
