//! Standard error: the one place from which this program talks.
//!
//! Progress, warnings, log lines of guests and diagnostics may come from several threads while a
//! bar redraws itself below them. Each message is written as whole lines, above the bar. A
//! closed standard error is nobody's business: what can't be said is dropped.

use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use indicatif::ProgressBar;

use crate::job;
use crate::visible;

/// A handle on standard error; copies share the bar.
#[derive(Debug, Clone)]
pub(crate) struct Talk {
    bar: Arc<Mutex<Option<ProgressBar>>>,
    color: bool,
    /// Whether GitHub reads it.
    job: bool,
}

/// How a message is marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    /// Something may not be as the user thinks.
    Warning,
    /// Worth knowing.
    Note,
}

impl Talk {
    /// Talks in colour or not.
    pub(crate) fn new(color: bool) -> Self {
        Self {
            bar: Arc::default(),
            color,
            job: false,
        }
    }

    /// Says nothing that GitHub would take for a command to the job, if it reads this.
    pub(crate) fn read_by_job(self, job: bool) -> Self {
        Self { job, ..self }
    }

    /// Shows `bar` below the lines from now on, or no bar.
    pub(crate) fn set_bar(&self, bar: Option<ProgressBar>) {
        *self.lock() = bar;
    }

    /// Prints one message of one or more lines, as it is: the caller has made it safe to show.
    pub(crate) fn line(&self, text: &str) {
        if self.job {
            self.command(&job::harmless(text));
        } else {
            self.command(text);
        }
    }

    /// A line that may be a command to the job.
    pub(crate) fn command(&self, text: &str) {
        let write = || {
            // One write, so that lines of other programs don't get between.
            let _ = io::stderr()
                .lock()
                .write_all(format!("{text}\n").as_bytes());
        };
        match &*self.lock() {
            Some(bar) => bar.suspend(write),
            None => write(),
        }
    }

    /// Prints `warning: …`, made safe to show here.
    pub(crate) fn warning(&self, text: &str) {
        self.marked(Mark::Warning, text);
    }

    /// Prints `written: PATH`, whose name may be a stranger's.
    pub(crate) fn written(&self, path: &Path) {
        self.line(&visible::line(&format!("written: {}", path.display())));
    }

    /// Prints `note: …`, made safe to show here.
    pub(crate) fn note(&self, text: &str) {
        self.marked(Mark::Note, text);
    }

    fn marked(&self, mark: Mark, text: &str) {
        self.line(&render(mark, text, self.color));
    }

    fn lock(&self) -> MutexGuard<'_, Option<ProgressBar>> {
        // A panic elsewhere must not silence the message about it.
        self.bar.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn render(mark: Mark, text: &str, color: bool) -> String {
    let (word, style) = match mark {
        Mark::Warning => ("warning", "\u{1b}[33m"),
        Mark::Note => ("note", "\u{1b}[36m"),
    };
    let text = visible::block(text);
    if color {
        format!("{style}{word}\u{1b}[0m: {text}")
    } else {
        format!("{word}: {text}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_marked_and_its_text_made_safe() {
        assert_eq!(
            render(Mark::Warning, "unknown key \u{1b}[2K", false),
            "warning: unknown key ␛[2K"
        );
        assert_eq!(render(Mark::Note, "x", true), "\u{1b}[36mnote\u{1b}[0m: x");
    }
}
