//! `--events FILE`: the event stream of a run as lines of JSON, written as things happen.
//!
//! For whoever wants to see why a run was as fast as it was, and for tests. It holds what the
//! displays are told and nothing else: names, numbers and times; no prompt, no answer, no line
//! that a plugin logged. What a line says is in `line`; here is where it goes.
//!
//! Each line is written whole, with no buffer in between but the queue of its thread, so that `tail -f`
//! shows a run and a killed one leaves whole lines. The file need not be one: a named pipe, or a shell's
//! `>(…)`, is written to as well, by a thread that may wait for its reader. Standard output is
//! refused, as it is for results: it belongs to the table and the summary.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use runner_eval::event::{Consumer, Event};
use runner_files::{Folder, ReadAccess};

mod line;
mod pipe;

use crate::failure::Failure;
use crate::output::{Output, check_place};
use crate::talk::Talk;
use pipe::Pipe;

/// Names of the standard streams.
const STREAMS: [&str; 7] = [
    "-",
    "/dev/stdout",
    "/dev/stderr",
    "/dev/fd/1",
    "/dev/fd/2",
    "/proc/self/fd/1",
    "/proc/self/fd/2",
];

/// How long the end of a run waits for the reader of a pipe.
const PATIENCE: Duration = Duration::from_secs(2);

/// The file that the user named.
pub(crate) struct EventsFile {
    path: PathBuf,
    talk: Talk,
    failed: Arc<AtomicBool>,
}

impl EventsFile {
    /// Prepares the file at `path`, if one was named, in a place where it can be written.
    ///
    /// # Errors
    /// When it can't be written, or is a results file or a standard stream.
    pub(crate) fn prepare(
        path: Option<&Path>,
        outputs: &[Output],
        talk: &Talk,
    ) -> Result<Option<Self>, Failure> {
        let Some(path) = path else { return Ok(None) };
        let shown = path.display();
        if STREAMS.iter().any(|stream| path == Path::new(stream)) {
            let message = format!("can't write events to {shown}: other output is written there");
            return Err(Failure::usage(message).help("name a file or a named pipe"));
        }
        if outputs.iter().any(|output| output.path() == path) {
            let message = format!("{shown} can't hold both results and events");
            return Err(Failure::usage(message).help("give each a file of its own"));
        }
        // A pipe must not be tried: its reader would take the trial for the end.
        if path.is_dir() || path.is_file() || !path.exists() {
            check_place(path)?;
        }
        if path.is_file() {
            let opened = ordinary(path);
            opened.map_err(|error| Failure::usage(format!("can't write {shown}: {error}")))?;
        }
        Ok(Some(Self {
            path: path.to_owned(),
            talk: talk.clone(),
            failed: Arc::default(),
        }))
    }

    /// Who writes it.
    pub(crate) fn consumer(&self) -> impl Consumer + use<> {
        Writer {
            path: self.path.clone(),
            talk: self.talk.clone(),
            failed: self.failed.clone(),
            open: None,
        }
    }

    /// Whether every event so far could be written.
    pub(crate) fn is_whole(&self) -> bool {
        !self.failed.load(Ordering::Acquire)
    }
}

/// Writes each event as it comes.
struct Writer {
    path: PathBuf,
    talk: Talk,
    failed: Arc<AtomicBool>,
    /// What is written and when the run began. `None` before the run, and after a failed write.
    open: Option<(Destination, Instant)>,
}

/// Where lines go.
enum Destination {
    File(File),
    /// Anything else that was there, since writing to it may wait.
    Pipe(Pipe),
}

impl Destination {
    fn open(path: &Path) -> io::Result<Self> {
        if path.exists() && !path.is_file() {
            return Pipe::open(path.to_owned()).map(Self::Pipe);
        }
        let file = ordinary(path)?;
        file.set_len(0)?;
        Ok(Self::File(file))
    }

    fn write(&mut self, line: String) -> io::Result<()> {
        match self {
            Self::File(file) => file.write_all(line.as_bytes()),
            Self::Pipe(pipe) => pipe.write(line),
        }
    }

    fn close(self) -> io::Result<()> {
        match self {
            Self::File(_) => Ok(()),
            Self::Pipe(pipe) => pipe.close(PATIENCE),
        }
    }
}

/// Opens an ordinary file, not through a link, or makes it and its folder.
fn ordinary(path: &Path) -> io::Result<File> {
    let (folder, name) = Folder::of(path)?;
    folder.open_or_create(&name, ReadAccess::Usual)
}

impl Writer {
    fn begin(&mut self) {
        match Destination::open(&self.path) {
            Ok(place) => self.open = Some((place, Instant::now())),
            Err(error) => self.give_up(&error),
        }
    }

    fn end(&mut self) {
        if let Some((place, _)) = self.open.take()
            && let Err(error) = place.close()
        {
            self.give_up(&error);
        }
    }

    fn append(&mut self, event: &Event) {
        let Some((place, began)) = &mut self.open else {
            return;
        };
        let mut line = line::of(event, *began, began.elapsed()).to_string();
        line.push('\n');
        if let Err(error) = place.write(line) {
            self.give_up(&error);
        }
    }

    /// Writes no more events. A reader who has gone has seen enough; everything else is told and
    /// remembered.
    fn give_up(&mut self, error: &io::Error) {
        self.open = None;
        if error.kind() != io::ErrorKind::BrokenPipe {
            self.failed.store(true, Ordering::Release);
            let path = self.path.display();
            self.talk
                .warning(&format!("{path}: events are no longer written: {error}"));
        }
    }
}

impl Consumer for Writer {
    fn on_event(&mut self, event: &Event) {
        if matches!(event, Event::RunStarted(_)) {
            self.begin();
        }
        self.append(event);
        if matches!(event, Event::RunFinished(_)) {
            self.end();
        }
    }
}

#[cfg(test)]
mod tests;
