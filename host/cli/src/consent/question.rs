//! One question in the terminal, answered by a line.
//!
//! No is the default: an empty line, the end of input and anything that is not yes. What was typed
//! before the question stood there answers another one, and is thrown away. The answer is read on a
//! thread of its own, since an interrupt has to be heard while nobody types.

use std::io::{self, BufRead as _, Read as _, Write as _};

use anyhow::Context as _;
use tokio::sync::oneshot;

use crate::failure::Failure;
use crate::signals::Signals;

/// Bytes that are read as an answer: more than the line that a terminal gives at most, so that
/// nothing of one answer is left for the next.
const LONGEST: u64 = 8 << 10;

/// What was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    Yes,
    No,
    /// By Ctrl-C or SIGTERM.
    Interrupted,
}

/// Asks on standard error, reads from standard input.
///
/// # Errors
/// When there is no thread or runtime to be had.
pub(crate) fn ask(question: &str) -> Result<Answer, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("the asynchronous runtime can't start")?;
    let answer = runtime.block_on(async {
        let mut signals = Signals::new().context("signals can't be caught")?;
        forget_typed();
        eprint!("{question}");
        // A terminal that is gone gives no answer either.
        let _ = io::stderr().flush();
        let (said, heard) = oneshot::channel();
        std::thread::Builder::new()
            .name("answer".to_owned())
            .spawn(move || drop(said.send(line())))
            .context("no thread to read the answer")?;
        anyhow::Ok(tokio::select! {
            () = signals.next() => Answer::Interrupted,
            line = heard => meaning(&line.unwrap_or_default()),
        })
    })?;
    if answer == Answer::Interrupted {
        eprintln!();
    }
    Ok(answer)
}

/// Discards what was typed and not read yet.
#[cfg(unix)]
fn forget_typed() {
    // What is no terminal has no such queue, and is not asked.
    let _ = rustix::termios::tcflush(io::stdin(), rustix::termios::QueueSelector::IFlush);
}

/// Elsewhere the system has no such call among the safe ones.
#[cfg(not(unix))]
fn forget_typed() {}

/// A line; nothing where there is none, or it is no text.
fn line() -> String {
    let mut line = String::new();
    let read = io::stdin().lock().take(LONGEST).read_line(&mut line);
    if read.is_ok() { line } else { String::new() }
}

fn meaning(line: &str) -> Answer {
    match line.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" => Answer::Yes,
        _ => Answer::No,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_yes_is_yes() {
        for yes in ["y\n", "Y", " yes \n", "YES\r\n"] {
            assert_eq!(meaning(yes), Answer::Yes, "{yes:?}");
        }
        for no in ["", "\n", "n\n", "yy\n", "yeah", "j\n", "1\n", "y y\n"] {
            assert_eq!(meaning(no), Answer::No, "{no:?}");
        }
    }
}
