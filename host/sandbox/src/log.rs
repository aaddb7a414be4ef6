//! Where a call's log lines go: counted, cut, and never dropped in silence.
//!
//! Lines come from the `log` interface and, in toolchains that know nothing of it, from the
//! standard output and error of virtual WASI. Both count against the same limits.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::abi::{Level, LogLine};
use crate::host::Host;
use crate::limits::{LAST_LINES, MAX_LOG_BYTES, MAX_LOG_FIELDS, MAX_LOG_LINE_BYTES, MAX_LOG_LINES};

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
    last: VecDeque<String>,
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
            if counted.last.len() == LAST_LINES {
                counted.last.pop_front();
            }
            counted.last.push_back(message.clone());
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

    /// The last lines that were warnings, errors or standard error, oldest first.
    pub(crate) fn last_words(&self) -> Vec<String> {
        self.counted().last.iter().cloned().collect()
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
