//! One record per line: streamed while the run goes on, put in index order at its end.

use std::fs::File;
use std::io::{self, Write};

use runner_eval::event::{Consumer, Event};
use runner_eval::record::CaseRecord;
use runner_store::Store;

use super::{Output, Run, has_room};
use crate::talk::Talk;

/// Writes the records in index order.
///
/// # Errors
/// When records can't be read, or bytes can't be written.
pub(super) fn write(out: &mut dyn Write, run: &Run<'_>) -> anyhow::Result<()> {
    for record in run.records.open()? {
        writeln!(out, "{}", record?)?;
    }
    Ok(())
}

/// Appends each case to a file as it ends, so that `tail -f` shows a run and a killed one
/// leaves whole lines. What was there is gone once the run starts, not before.
pub(crate) struct Stream {
    output: Output,
    /// Says how much of a disk results leave free.
    store: Store,
    /// `None` before the run, and after a failed write, which was told.
    file: Option<File>,
    talk: Talk,
}

impl Stream {
    /// Will write to `output`.
    pub(crate) fn new(output: Output, store: Store, talk: Talk) -> Self {
        Self {
            output,
            store,
            file: None,
            talk,
        }
    }

    fn begin(&mut self) {
        match self.output.emptied() {
            Ok(file) => self.file = Some(file),
            Err(error) => self.give_up(&error),
        }
    }

    fn append(&mut self, record: &CaseRecord) {
        let Some(file) = &mut self.file else { return };
        let mut append = || {
            let line = line(record)?;
            has_room(&self.store, self.output.path(), line.len())?;
            file.write_all(&line)
        };
        if let Err(error) = append() {
            self.give_up(&error);
        }
    }

    /// Gives up on the file; the end of the run tries again, with all records.
    fn give_up(&mut self, error: &io::Error) {
        let path = self.output.path().display();
        self.talk.warning(&format!(
            "{path} can't be written while the run goes on: {error}"
        ));
        self.file = None;
    }
}

impl Consumer for Stream {
    fn on_event(&mut self, event: &Event) {
        match event {
            Event::RunStarted(_) => self.begin(),
            Event::CaseFinished(record) | Event::CaseKept(record) => self.append(record),
            _ => {}
        }
    }
}

/// A record with its line break, to be written at once.
fn line(record: &CaseRecord) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(record)?;
    line.push(b'\n');
    Ok(line)
}
