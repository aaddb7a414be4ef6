//! Where a call's log lines go: counted, cut, and never dropped in silence.
//!
//! Lines come from the `log` interface and, in toolchains that know nothing of it, from the
//! standard output and error of virtual WASI. Both count against the same limits.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::abi::{Level, LogLine};
use crate::host::Host;
use crate::limits::{
    FIRST_LINES, LAST_LINES, MAX_LOG_BYTES, MAX_LOG_FIELDS, MAX_LOG_LINE_BYTES, MAX_LOG_LINES,
};

/// What a field takes in a line beside its words: a blank and an equals sign.
const FIELD_MARKS: usize = 2;

/// The sink of one call. Shared between the store and its WASI streams.
#[derive(Clone)]
pub(crate) struct LogSink {
    host: Arc<dyn Host>,
    counted: Arc<Mutex<Counted>>,
}

#[derive(Default)]
struct Counted {
    lines: u32,
    bytes: usize,
    dropped: u64,
    words: Words,
}

/// Warnings, errors and standard error of a call, as far as they may tell why it crashed: JavaScript
/// says that first, Python last.
#[derive(Default)]
struct Words {
    first: Vec<String>,
    last: VecDeque<String>,
    between: u64,
}

/// Lines that toolchains add to every crash.
const NOISE: [&str; 5] = [
    "note: run with `RUST_BACKTRACE=1`",
    "Redirecting call to abort() to mozalloc_abort",
    "Python function threw an unexpected exception",
    "thread '<unnamed>' (1) panicked at runtime/src/lib.rs:",
    "thread '<unnamed>' (1) panicked at crates/runtime/src/interpreter.rs:",
];

/// Whether nobody is the wiser for a line.
fn is_noise(line: &str) -> bool {
    line.trim().is_empty() || NOISE.iter().any(|noise| line.starts_with(noise))
}

/// What componentize-qjs writes before an exception, and after it.
const EXCEPTION_BEGINS: &str = ": Value(Exception(";
const EXCEPTION_ENDS: &str = ")";

/// An exception of JavaScript as componentize-qjs writes it, Rust's debug text of its parts: what it says, with
/// the place where it was thrown, and who called that.
fn exception(line: &str) -> Option<Vec<String>> {
    let rest = line.trim().strip_prefix("Exception { message: Some(")?;
    let (message, rest) = quoted(rest)?;
    let stack = rest.strip_prefix("), stack: Some(").and_then(quoted);
    let stack = stack.map(|(stack, _)| stack).unwrap_or_default();
    let mut frames = stack.lines().map(str::trim);
    let place = frames.next().and_then(|frame| frame.split_once('('));
    let headline = match place {
        Some((_, place)) => format!("{message} ({place}"),
        None => message,
    };
    Some(
        [headline]
            .into_iter()
            .chain(frames.map(str::to_owned))
            .collect(),
    )
}

/// A text that begins with one in quotes, as Rust's debug text has it: that, and what follows.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut said = String::new();
    let mut signs = text.strip_prefix('"')?.chars();
    loop {
        said.push(match signs.next()? {
            '"' => return Some((said, signs.as_str())),
            '\\' => match signs.next()? {
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                '0' => '\0',
                'u' => {
                    let (number, rest) = signs.as_str().strip_prefix('{')?.split_once('}')?;
                    signs = rest.chars();
                    char::from_u32(u32::from_str_radix(number, 16).ok()?)?
                }
                sign => sign,
            },
            sign => sign,
        });
    }
}

impl Words {
    fn take(&mut self, line: &str) {
        if let Some(lines) = exception(line) {
            for line in &lines {
                self.keep(line);
            }
        } else if !(is_noise(line) || line.ends_with(EXCEPTION_BEGINS) || line == EXCEPTION_ENDS) {
            self.keep(line);
        }
    }

    fn keep(&mut self, line: &str) {
        if self.first.len() < FIRST_LINES {
            self.first.push(line.to_owned());
            return;
        }
        if self.last.len() == LAST_LINES {
            self.last.pop_front();
            self.between += 1;
        }
        self.last.push_back(line.to_owned());
    }

    fn all(&self) -> Vec<String> {
        let between = (self.between > 0).then(|| format!("… ({} lines)", self.between));
        let first = self.first.iter().cloned().chain(between);
        first.chain(self.last.iter().cloned()).collect()
    }
}

impl LogSink {
    pub(crate) fn new(host: Arc<dyn Host>) -> Self {
        Self {
            host,
            counted: Arc::default(),
        }
    }

    /// Passes a line on, cut to its limit, unless the call's limits are used up.
    pub(crate) fn line(&self, level: Level, message: &str, mut fields: Vec<(String, String)>) {
        if is_noise(message) && fields.is_empty() {
            return;
        }
        let mut message = cut(message);
        if let Some(more) = fields
            .len()
            .checked_sub(MAX_LOG_FIELDS)
            .filter(|more| *more > 0)
        {
            fields.truncate(MAX_LOG_FIELDS);
            // Who keeps the line keeps no room for those.
            fields.shrink_to_fit();
            write!(message, " ({more} more fields dropped)").expect("a string takes any text");
        }
        let mut counted = self.counted();
        if matches!(level, Level::Warn | Level::Error) {
            counted.words.take(&message);
        }
        let size: usize = message.len()
            + fields
                .iter()
                .map(|(k, v)| k.len() + v.len() + FIELD_MARKS)
                .sum::<usize>();
        if counted.lines >= MAX_LOG_LINES || counted.bytes + size > MAX_LOG_BYTES {
            counted.dropped += 1;
            return;
        }
        counted.lines += 1;
        counted.bytes += size;
        drop(counted);
        self.host.log(LogLine {
            level,
            message,
            fields,
        });
    }

    /// Says what was dropped. Called once, when the call has ended.
    pub(crate) fn finish(&self) {
        let dropped = std::mem::take(&mut self.counted().dropped);
        if dropped > 0 {
            let plural = if dropped == 1 { "line" } else { "lines" };
            self.host.log(LogLine {
                level: Level::Warn,
                message: format!("{dropped} {plural} dropped"),
                fields: Vec::new(),
            });
        }
    }

    /// The first and the last lines that were warnings, errors or standard error, oldest first.
    pub(crate) fn words(&self) -> Vec<String> {
        self.counted().words.all()
    }

    fn counted(&self) -> MutexGuard<'_, Counted> {
        self.counted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The line up to its limit, at a character boundary, with a mark where it was cut.
fn cut(line: &str) -> String {
    if line.len() <= MAX_LOG_LINE_BYTES {
        return line.to_owned();
    }
    let mark = "…";
    let end = line.floor_char_boundary(MAX_LOG_LINE_BYTES - mark.len());
    format!("{}{mark}", &line[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(lines: &[&str]) -> Vec<String> {
        let mut words = Words::default();
        for line in lines {
            words.take(line);
        }
        words.all()
    }

    #[test]
    fn what_toolchains_add_is_not_among_the_words() {
        let javascript = [
            "TypeError: x is undefined",
            "Stack:",
            "  evaluate@grade.js:9:3",
            "",
            "Redirecting call to abort() to mozalloc_abort",
        ];
        assert_eq!(kept(&javascript), javascript[..3]);
        let python = [
            "Traceback (most recent call last):",
            "  File \"/0/app.py\", line 19, in evaluate",
            "ValueError: no",
            "thread '<unnamed>' (1) panicked at runtime/src/lib.rs:1293:29:",
            "Python function threw an unexpected exception",
            "note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace",
        ];
        assert_eq!(kept(&python), python[..3]);
    }

    #[test]
    fn an_exception_that_stands_in_debug_text_is_told_as_it_was_said() {
        let lines = [
            "",
            "thread '<unnamed>' (1) panicked at crates/runtime/src/interpreter.rs:51:31:",
            "Failed to call 'evaluate': Value(Exception(",
            r#"Exception { message: Some("no \"foo\" of\tit\u{301}"), stack: Some("    at deep (/plugin.js:7:27)\n    at evaluate (/plugin.js:10:44)\n") })"#,
            ")",
            "note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace",
        ];
        let told = [
            "no \"foo\" of\tit\u{301} (/plugin.js:7:27)",
            "at evaluate (/plugin.js:10:44)",
        ];
        assert_eq!(kept(&lines), told);
        let bare = r#"Exception { message: Some("no"), stack: None })"#;
        assert_eq!(kept(&[bare]), ["no"]);
        let cut_off = r#"Exception { message: Some("no"#;
        assert_eq!(kept(&[cut_off]), [cut_off]);
    }

    #[test]
    fn the_middle_is_counted() {
        let lines = ["1", "2", "3", "4", "5", "6", "7"];
        assert_eq!(kept(&lines), ["1", "2", "… (2 lines)", "5", "6", "7"]);
        assert_eq!(kept(&lines[..5]), lines[..5]);
    }
}
