//! What is written by lines: YAML, pages, summaries, suites of tests.
//!
//! Each has a frame that its writer writes whatever the answers are, and no answer can write a line
//! of it: in YAML texts are quoted or indented, in pages and suites `<` is escaped.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;

use super::lines::LineBeginnings;

/// What a page of ours says of itself.
pub(in crate::output) const PAGE_MARK: &str = "<meta name=\"generator\" content=\"runner\">";
/// What suites of ours say of themselves.
pub(in crate::output) const SUITES_MARK: &str = "<!-- generator: runner -->";

/// How a summary of ours begins and ends.
pub(in crate::output) const MARKDOWN_MARKS: [&str; 2] = [
    "<!-- generator: runner -->",
    "<!-- end of what runner generated -->",
];

/// How the first suite begins.
const FIRST_SUITE: &str = "<testsuite id=\"0\" name=\"(0) ";

/// Keys of the document.
const DOCUMENT: [&str; 9] = [
    "evalId:",
    "results:",
    "config:",
    "shareableUrl:",
    "metadata:",
    "vars:",
    "runtimeOptions:",
    "traces:",
    "blobAssets:",
];
/// Keys below those that every document has.
const INNER: [(&str, &str); 5] = [
    ("results:", "version: 3"),
    ("results:", "timestamp:"),
    ("results:", "prompts:"),
    ("results:", "results:"),
    ("results:", "stats:"),
];
/// Keys that say which program wrote it; one of them is there.
const SIGNATURES: [(&str, &str); 2] = [
    ("metadata:", "runnerVersion:"),
    ("metadata:", "promptfooVersion:"),
];

/// Checks whether it is the document of version 3 as YAML: its keys, in blocks, and no others.
pub(super) fn is_yaml(file: &File) -> io::Result<bool> {
    let mut lines = LineBeginnings::of(file)?;
    let mut outer = "";
    let mut seen: BTreeSet<&(&str, &str)> = BTreeSet::new();
    while let Some(line) = lines.next()? {
        let text = line.trim_start_matches(' ');
        match line.len() - text.len() {
            0 if text.is_empty() => {}
            0 => match DOCUMENT.into_iter().find(|key| text.starts_with(key)) {
                Some(key) => outer = key,
                None => return Ok(false),
            },
            2 => {
                let keys = INNER.iter().chain(&SIGNATURES);
                seen.extend(keys.filter(|(above, key)| *above == outer && text.starts_with(key)));
            }
            _ => {}
        }
    }
    let has_all = INNER.iter().all(|key| seen.contains(key));
    Ok(has_all && SIGNATURES.iter().any(|key| seen.contains(key)))
}

/// Checks whether it is a page: ours by its head, its data and its end, or promptfoo's by its own.
pub(super) fn is_page(file: &File) -> io::Result<bool> {
    let mut ours = Frame::new(
        "<!doctype html>",
        &[
            "<html lang=\"en\">",
            "<head>",
            "<meta charset=\"utf-8\">",
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'sha256-",
            PAGE_MARK,
            "<script type=\"application/json\" id=\"data\">",
            "</body>",
        ],
        "</html>",
    );
    let mut theirs = Frame::new(
        "<!doctype html>",
        &[
            "<html",
            "<head>",
            "td[data-status='pass'] {",
            "</head>",
            "<body>",
            "<div class=\"brand-lockup\" aria-label=\"Promptfoo\">",
        ],
        "</html>",
    );
    let mut lines = LineBeginnings::of(file)?;
    while let Some(line) = lines.next()? {
        ours.see(line);
        theirs.see(line.trim_start());
    }
    Ok(ours.is_whole() || theirs.is_whole())
}

/// Checks whether it is a summary of ours, by its first and last lines and the table. No answer writes one of
/// them, since `<` is escaped.
pub(super) fn is_summary(file: &File) -> io::Result<bool> {
    let [first, last] = MARKDOWN_MARKS;
    let mut frame = Frame::new(
        first,
        &["### ", "<p>", "<table>", "<tr><th", "</table>"],
        last,
    );
    let mut lines = LineBeginnings::of(file)?;
    while let Some(line) = lines.next()? {
        frame.see(line);
    }
    Ok(frame.is_whole())
}

/// Checks whether it is suites of tests: ours by their mark, those of earlier builds by their numbers, or
/// promptfoo's by the root.
pub(super) fn is_suites(file: &File) -> io::Result<bool> {
    const HEAD: &str = "<?xml version=\"1.0\"";
    const ROOT: &str = "<testsuites name=\"";
    const END: &str = "</testsuites>";
    let mut frames = [
        Frame::new(HEAD, &[SUITES_MARK, ROOT], END),
        Frame::new(HEAD, &[ROOT, FIRST_SUITE, "</testsuite>"], END),
        Frame::new(HEAD, &["<testsuites name=\"promptfoo"], END),
        Frame::new(
            HEAD,
            &["<promptfoo>", "<evalId>", "<results>"],
            "</promptfoo>",
        ),
    ];
    let mut lines = LineBeginnings::of(file)?;
    while let Some(line) = lines.next()? {
        for frame in &mut frames {
            frame.see(line.trim_start());
        }
    }
    Ok(frames.iter().any(Frame::is_whole))
}

/// Beginnings of lines that follow each other: the first is the first line's, the last the last
/// line's.
struct Frame {
    first: &'static str,
    inner: &'static [&'static str],
    last: &'static str,
    seen: Seen,
}

/// How far a frame was seen.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Seen {
    /// No line yet.
    Nothing,
    /// So many of what is within, and whether the line that was seen last may be the end.
    Begun { inner: usize, ends: bool },
    /// It began with something else.
    Another,
}

impl Frame {
    fn new(first: &'static str, inner: &'static [&'static str], last: &'static str) -> Self {
        Self {
            first,
            inner,
            last,
            seen: Seen::Nothing,
        }
    }

    fn see(&mut self, line: &str) {
        self.seen = match self.seen {
            _ if line.is_empty() => return,
            Seen::Another => return,
            Seen::Nothing if line.starts_with(self.first) => Seen::Begun {
                inner: 0,
                ends: false,
            },
            Seen::Nothing => Seen::Another,
            Seen::Begun { inner, .. } => {
                let next = self.inner.get(inner);
                let is_next = next.is_some_and(|next| line.starts_with(next));
                Seen::Begun {
                    inner: inner + usize::from(is_next),
                    ends: line.trim_end() == self.last,
                }
            }
        };
    }

    fn is_whole(&self) -> bool {
        let (inner, ends) = (self.inner.len(), true);
        self.seen == Seen::Begun { inner, ends }
    }
}
