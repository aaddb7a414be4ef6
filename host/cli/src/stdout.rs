//! Standard output: data, and the one error that is none.
//!
//! `runner list | head` closes the pipe early; that is the reader's right, so a broken pipe
//! ends the writing and not the command. Every other error is reported.

use std::borrow::Cow;
use std::io::{self, BufWriter, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;
use serde_json::Value;

use crate::job;
use crate::visible;

/// Whether commands to a job are read out of what is printed.
static IN_JOB: AtomicBool = AtomicBool::new(false);

/// Notes that a service reads commands to its job out of what is printed: texts have none from now on.
pub(crate) fn heed_job() {
    IN_JOB.store(true, Ordering::Relaxed);
}

/// A text for people, on the way there.
pub(crate) fn harmless(text: &str) -> Cow<'_, str> {
    if IN_JOB.load(Ordering::Relaxed) {
        job::harmless(text)
    } else {
        Cow::Borrowed(text)
    }
}

/// Writes a text for people and flushes.
///
/// # Errors
/// When it can't be written, except to a reader who has gone.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    write(&harmless(text))
}

fn write(text: &str) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    tolerate(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
}

/// Writes JSON in lines, with what a terminal would obey escaped.
///
/// # Errors
/// As [`print()`].
pub(crate) fn json(value: &Value) -> anyhow::Result<()> {
    write(&visible::json(&format!("{value:#}\n")))
}

/// Writes what a command came to: JSON where that was asked for, or else a text for people.
///
/// # Errors
/// As [`print()`].
pub(crate) fn told(as_json: bool, value: &Value, text: &str) -> anyhow::Result<()> {
    if as_json { json(value) } else { print(text) }
}

/// As [`stream`] for JSON, with what a terminal would obey escaped.
///
/// # Errors
/// As [`stream`].
pub(crate) fn stream_json(
    write: impl FnOnce(&mut dyn Write) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    stream(|out| write(&mut Escaping(out)))
}

/// Escapes JSON on its way; whoever writes it writes whole characters.
struct Escaping<'a>(&'a mut dyn Write);

impl Write for Escaping<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match std::str::from_utf8(bytes) {
            Ok(text) => self.0.write_all(visible::json(text).as_bytes())?,
            Err(error) => return Err(io::Error::new(io::ErrorKind::InvalidData, error)),
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Lets `write` write to a buffer in front of standard output, and flushes it.
///
/// # Errors
/// Those of `write`, except that the reader has gone.
pub(crate) fn stream(
    write: impl FnOnce(&mut dyn Write) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    match write(&mut out).and_then(|()| Ok(out.flush()?)) {
        Err(error) if reader_has_gone(&error) => {
            // What is still in the buffer has no reader either.
            drop(out.into_parts());
            Ok(())
        }
        other => other,
    }
}

fn reader_has_gone(error: &anyhow::Error) -> bool {
    let broken = |cause: &io::Error| cause.kind() == io::ErrorKind::BrokenPipe;
    error
        .chain()
        .any(|cause| cause.downcast_ref().is_some_and(broken))
}

/// Turns a broken pipe into success.
///
/// # Errors
/// Every other error.
pub(crate) fn tolerate(written: io::Result<()>) -> anyhow::Result<()> {
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other.context("can't write to standard output"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_who_has_gone_is_no_error() {
        assert!(tolerate(Err(io::ErrorKind::BrokenPipe.into())).is_ok());
        assert!(tolerate(Err(io::ErrorKind::StorageFull.into())).is_err());
    }
}
