//! A pipe that takes the events: written by a thread of its own.
//!
//! Who opens a named pipe waits until somebody reads it, and who writes to one waits until its
//! reader has made room. A run must wait for neither: not for a reader that never comes, and not
//! while somebody wants to stop it. So lines wait here, and the thread waits for the reader. It
//! is not joined, since nothing ends its wait but the end of the process.
//!
//! Files don't come here: they are written at once, so that a killed run leaves what it told.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::time::Duration;

/// Lines that wait for the reader: those of some thousand cases, a few megabytes at most.
const MOST_WAITING: usize = 16_384;

/// A pipe and the thread that writes it.
pub(super) struct Pipe {
    lines: SyncSender<String>,
    ended: Receiver<io::Result<()>>,
}

impl Pipe {
    /// Starts the thread, which opens the pipe.
    ///
    /// # Errors
    /// When the system has no thread for it.
    pub(super) fn open(path: PathBuf) -> io::Result<Self> {
        let (lines, waiting) = sync_channel(MOST_WAITING);
        let (end, ended) = sync_channel(1);
        let write = move || {
            // Nobody listens once the run has given up on the pipe.
            let _ = end.send(copy(path, &waiting));
        };
        std::thread::Builder::new()
            .name("events".to_owned())
            .spawn(write)?;
        Ok(Self { lines, ended })
    }

    /// Takes a line for the reader.
    ///
    /// # Errors
    /// What ended the thread, or that too many lines wait for a reader.
    pub(super) fn write(&self, line: String) -> io::Result<()> {
        match self.lines.try_send(line) {
            Ok(()) => Ok(()),
            Err(TrySendError::Full(_)) => Err(io::Error::other(format!(
                "its reader has left {MOST_WAITING} lines unread"
            ))),
            Err(TrySendError::Disconnected(_)) => Err(self.failure()),
        }
    }

    /// Waits until the reader has everything, but not for longer than `patience`.
    ///
    /// # Errors
    /// What ended the thread before that, or that the reader is not there.
    pub(super) fn close(self, patience: Duration) -> io::Result<()> {
        drop(self.lines);
        match self.ended.recv_timeout(patience) {
            Ok(ended) => ended,
            Err(RecvTimeoutError::Timeout) => {
                let why = "nobody reads it, or the reader stopped early";
                Err(io::Error::new(io::ErrorKind::TimedOut, why))
            }
            Err(RecvTimeoutError::Disconnected) => Err(lost()),
        }
    }

    /// Why the thread takes no more lines.
    fn failure(&self) -> io::Error {
        match self.ended.recv() {
            Ok(Err(error)) => error,
            Ok(Ok(())) | Err(_) => lost(),
        }
    }
}

fn lost() -> io::Error {
    io::Error::other("its writer has ended")
}

/// Copies lines until there will be no more.
fn copy(path: PathBuf, lines: &Receiver<String>) -> io::Result<()> {
    let mut pipe = OpenOptions::new().write(true).open(path)?;
    for line in lines {
        pipe.write_all(line.as_bytes())?;
    }
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::process::Command;

    use super::*;

    fn pipe() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        let path = folder.path().join("pipe");
        let made = Command::new("mkfifo").arg(&path).status();
        assert!(made.expect("every Unix has mkfifo").success());
        (folder, path)
    }

    #[test]
    fn a_reader_gets_every_line_also_those_from_before_it_came() {
        let (_folder, path) = pipe();
        let pipe = Pipe::open(path.clone()).expect("a thread");
        for line in ["one\n", "two\n"] {
            pipe.write(line.to_owned()).expect("there is room");
        }
        let reader = std::thread::spawn(move || fs::read_to_string(path));
        pipe.close(Duration::from_mins(1)).expect("it was read");
        let read = reader.join().expect("it does not panic");
        assert_eq!(read.expect("text"), "one\ntwo\n");
    }

    #[test]
    fn without_a_reader_nothing_waits() {
        let (_folder, path) = pipe();
        let pipe = Pipe::open(path).expect("a thread");
        for n in 0..MOST_WAITING {
            pipe.write(n.to_string()).expect("there is room");
        }
        let full = pipe.write("one more".to_owned()).expect_err("too many");
        assert!(full.to_string().contains("unread"), "{full}");
        let unread = pipe.close(Duration::ZERO).expect_err("nobody read it");
        assert_eq!(unread.kind(), io::ErrorKind::TimedOut);
    }

    #[test]
    fn a_reader_that_goes_is_told_as_the_system_tells_it() {
        let (_folder, path) = pipe();
        let pipe = Pipe::open(path.clone()).expect("a thread");
        drop(fs::File::open(path).expect("the other end is being opened"));
        pipe.write("x".to_owned()).expect("there is room");
        let ended = pipe.close(Duration::from_mins(1));
        let error = ended.expect_err("nobody is there to read it");
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    }
}
