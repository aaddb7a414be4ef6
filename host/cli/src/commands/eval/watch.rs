//! `--watch`: the run again whenever the config, or a file that it read, changes.
//!
//! Twice a second the files are looked at; why that and not notices of the system is said in
//! `runner-config`, which knows what was read. A change counts when two looks in a row see the
//! same: an editor's save or a checkout is over by then. Files that the run writes itself don't
//! count, or it would never stop paying. Ctrl-C during a run stops the run and with it the
//! watching; between runs it ends with the code of the run before.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use runner_config::{FilesRead, FilesState};

use crate::exit::{INTERRUPTED, USAGE};
use crate::failure::Failure;
use crate::figures;
use crate::signals::Signals;
use crate::talk::Talk;

/// Time between two looks; a change is acted on after one or two of them.
const PAUSE: Duration = Duration::from_millis(500);

/// What one run reads and writes.
#[derive(Debug, Default)]
pub(super) struct Touched {
    /// Noted while reading.
    pub(super) read: FilesRead,
    written: RefCell<Vec<PathBuf>>,
}

impl Touched {
    /// Notes a file that the run writes; absolute.
    pub(super) fn writes(&self, path: &Path) {
        self.written.borrow_mut().push(path.to_owned());
    }

    /// What to watch, as it was when it was read.
    fn watched(&self) -> FilesState {
        let mut read = self.read.as_read();
        for path in self.written.borrow().iter() {
            read.forget(path);
        }
        read
    }
}

/// Runs `once` again and again; gives the exit code of the last time.
///
/// # Errors
/// When a run can't be carried out for a reason that no file can mend.
pub(super) fn run(
    talk: &Talk,
    mut once: impl FnMut(&Touched) -> Result<u8, Failure>,
) -> Result<u8, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("the asynchronous runtime can't start")?;
    // Caught from now on: what comes while a config is read is not lost.
    let mut signals = {
        let _inside = runtime.enter();
        Signals::new().context("signals can't be caught")?
    };
    loop {
        let touched = Touched::default();
        let code = match once(&touched) {
            Ok(INTERRUPTED) => return Ok(INTERRUPTED),
            Ok(code) => code,
            Err(failure) if failure.code() == USAGE && !touched.watched().is_empty() => {
                talk.line(&failure.render());
                USAGE
            }
            Err(failure) => return Err(failure),
        };
        let watched = touched.watched();
        let files = figures::counted(watched.len() as u64, "file", "files");
        talk.note(&format!("watching {files}; Ctrl-C ends it"));
        let change = runtime.block_on(async {
            tokio::select! {
                () = signals.next() => None,
                path = change(watched) => Some(path),
            }
        });
        match change {
            None => return Ok(code),
            Some(path) => talk.note(&format!("{} changed: running again", path.display())),
        }
    }
}

/// Waits until something is not as it was read; gives its path.
async fn change(as_read: FilesState) -> PathBuf {
    let mut settling = Settling::new(as_read);
    loop {
        tokio::time::sleep(PAUSE).await;
        if let Some(path) = settling.look(settling.as_read.now()) {
            return path;
        }
    }
}

/// Decides when a change is over.
struct Settling {
    as_read: FilesState,
    /// What the last look saw, if it was a change.
    last: Option<FilesState>,
}

impl Settling {
    fn new(as_read: FilesState) -> Self {
        Self {
            as_read,
            last: None,
        }
    }

    /// Takes a look; gives a path that has changed and stays so.
    fn look(&mut self, now: FilesState) -> Option<PathBuf> {
        let changed = self.as_read.difference(&now).map(Path::to_owned);
        let is_settled = self.last.as_ref() == Some(&now);
        self.last = changed.is_some().then_some(now);
        changed.filter(|_| is_settled)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn touched(names: &[&str]) -> anyhow::Result<(tempfile::TempDir, Touched)> {
        let folder = tempfile::tempdir()?;
        let touched = Touched::default();
        for name in names {
            let path = folder.path().join(name);
            fs::write(&path, "before")?;
            touched.read.add(&path);
        }
        Ok((folder, touched))
    }

    #[test]
    fn a_change_counts_when_two_looks_see_the_same() -> anyhow::Result<()> {
        let (folder, touched) = touched(&["a", "b"])?;
        let a = folder.path().join("a");
        let mut settling = Settling::new(touched.watched());
        let mut look = || settling.look(settling.as_read.now());
        assert_eq!(look(), None);
        fs::write(&a, "half of what")?;
        assert_eq!(look(), None);
        fs::write(&a, "half of what is to be written")?;
        assert_eq!(look(), None);
        assert_eq!(look(), Some(a.clone()));
        fs::remove_file(&a)?;
        assert_eq!(look(), None);
        assert_eq!(look(), Some(a));
        Ok(())
    }

    #[test]
    fn a_file_that_the_run_writes_is_not_watched() -> anyhow::Result<()> {
        let (folder, touched) = touched(&["a", "results.jsonl"])?;
        let results = folder.path().join("results.jsonl");
        touched.writes(&results);
        let watched = touched.watched();
        assert_eq!(watched.len(), 1);
        fs::write(&results, "longer than before")?;
        let now = watched.now();
        assert_eq!(watched.difference(&now), None);
        Ok(())
    }

    #[test]
    fn without_a_file_to_mend_a_failure_ends_it() {
        let talk = Talk::new(false);
        let failure = run(&talk, |_| Err(Failure::usage("no")));
        assert_eq!(failure.expect_err("nothing to wait for").code(), USAGE);
    }

    #[test]
    fn an_interrupted_run_ends_it() -> anyhow::Result<()> {
        let folder = tempfile::tempdir()?;
        let ended = run(&Talk::new(false), |touched| {
            touched.read.add(&folder.path().join("a"));
            Ok(INTERRUPTED)
        });
        assert!(matches!(ended, Ok(INTERRUPTED)));
        Ok(())
    }
}
