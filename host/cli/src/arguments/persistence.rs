//! The flags about what a run takes from before and keeps for later.
//!
//! They are checked and put into words here. What this version can't do of it is refused by
//! name, by the table in `later`: a flag takes effect when its line there goes.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::failure::Failure;
use crate::output::check_place;

/// The flags as typed. Those that are refused are not in the help.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "How to run")]
pub(crate) struct PersistenceFlags {
    /// Call providers even where an answer is remembered, and remember none; equal requests at the same time are all sent
    #[arg(long, overrides_with = "cache")]
    pub(crate) no_cache: bool,
    /// Undo a --no-cache, also one that a run was begun with
    #[arg(long, hide = true, overrides_with = "no_cache")]
    pub(crate) cache: bool,
    /// Go on with an interrupted run: RUN, or the newest interrupted one
    #[arg(long, value_name = "RUN", num_args = 0..=1, default_missing_value = NEWEST)]
    pub(crate) resume: Option<String>,
    /// Run the errors of the newest run again
    #[arg(long, conflicts_with = "resume")]
    pub(crate) retry_errors: bool,
    /// Go on with a run even if most of its results belong to no case any more; those are deleted
    #[arg(long)]
    pub(crate) force: bool,
    /// The errors of this run again: `runner retry`.
    #[arg(skip)]
    pub(super) retry: Option<String>,
    /// Record every exchange with a server in FILE
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
    /// Answer every request from the recording in FILE; nothing leaves this machine
    #[arg(long, value_name = "FILE", conflicts_with = "record")]
    pub(crate) replay: Option<PathBuf>,
}

/// Where a run's answers come from, and which are kept for later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Persistence {
    /// Where answers come from.
    pub(crate) exchanges: Exchanges,
    /// Whether the cache of answers is read and written.
    pub(crate) cache: bool,
}

/// Where a run begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Beginning {
    /// With the first case.
    New,
    /// With what this run has not done yet.
    Resume(String),
    /// With the errors of this run.
    RetryErrors(String),
}

/// Where answers come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Exchanges {
    /// From servers.
    Live,
    /// From servers, and all of them are kept in this file.
    Record(PathBuf),
    /// From this file, never from a server.
    Replay(PathBuf),
}

/// The name of the newest run.
pub(crate) const NEWEST: &str = "latest";

impl PersistenceFlags {
    /// Where the run begins.
    pub(crate) fn beginning(&self) -> Beginning {
        match (&self.resume, &self.retry) {
            (Some(run), _) => Beginning::Resume(run.clone()),
            (None, Some(run)) => Beginning::RetryErrors(run.clone()),
            (None, None) if self.retry_errors => Beginning::RetryErrors(NEWEST.to_owned()),
            (None, None) => Beginning::New,
        }
    }

    /// Where its answers come from; paths relative to `cwd`.
    ///
    /// # Errors
    /// When a file can't be written or is not there: found before anything is spent.
    pub(crate) fn persistence(&self, cwd: &Path) -> Result<Persistence, Failure> {
        let exchanges = match (&self.record, &self.replay) {
            (Some(file), _) => {
                check_place(&cwd.join(file))?;
                Exchanges::Record(cwd.join(file))
            }
            (None, Some(file)) if !cwd.join(file).is_file() => {
                let shown = file.display();
                let why = if cwd.join(file).is_dir() {
                    "it is a folder, and a recording is a file"
                } else {
                    "there is no such file"
                };
                let failure = Failure::usage(format!("can't replay {shown}: {why}"));
                return Err(failure.help("make one with --record"));
            }
            (None, Some(file)) => Exchanges::Replay(cwd.join(file)),
            (None, None) => Exchanges::Live,
        };
        Ok(Persistence {
            exchanges,
            cache: !self.no_cache,
        })
    }
}
