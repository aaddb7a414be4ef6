//! The flags about what a run takes from before and keeps for later.
//!
//! They are checked and put into words here. What this version can't do of it is refused by
//! name, by the table in `later`: a flag takes effect when its line there goes.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::failure::Failure;
use crate::output::check_place;

/// The flags as typed. Those that are refused are not in the help.
#[derive(Debug, Args)]
pub(crate) struct PersistenceFlags {
    /// Call providers even where an earlier answer is known; this version keeps no answers, so it always does
    #[arg(long, help_heading = "How to run")]
    pub(crate) no_cache: bool,
    /// Go on with an interrupted run: RUN, or the newest
    #[arg(long, value_name = "RUN", num_args = 0..=1, default_missing_value = NEWEST, hide = true, help_heading = "How to run")]
    pub(crate) resume: Option<String>,
    /// Run the errors of the newest run again
    #[arg(
        long,
        hide = true,
        conflicts_with = "resume",
        help_heading = "How to run"
    )]
    pub(crate) retry_errors: bool,
    /// Keep every exchange with a server in FILE
    #[arg(long, value_name = "FILE", hide = true, help_heading = "How to run")]
    pub(crate) record: Option<PathBuf>,
    /// Take every exchange from FILE; nothing leaves this machine
    #[arg(
        long,
        value_name = "FILE",
        hide = true,
        conflicts_with = "record",
        help_heading = "How to run"
    )]
    pub(crate) replay: Option<PathBuf>,
}

/// What a run takes from before and keeps for later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Persistence {
    /// Where it begins.
    pub(crate) beginning: Beginning,
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
const NEWEST: &str = "latest";

impl PersistenceFlags {
    /// Those that were typed and that some version may refuse.
    pub(super) fn asked(&self) -> impl Iterator<Item = &'static str> {
        let asked = [
            ("--resume", self.resume.is_some()),
            ("--retry-errors", self.retry_errors),
            ("--record", self.record.is_some()),
            ("--replay", self.replay.is_some()),
        ];
        asked
            .into_iter()
            .filter_map(|(flag, is_asked)| is_asked.then_some(flag))
    }

    /// What they mean together; paths relative to `cwd`.
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
                return Err(
                    Failure::usage(format!("can't replay {shown}: there is no such file"))
                        .help("make one with --record"),
                );
            }
            (None, Some(file)) => Exchanges::Replay(cwd.join(file)),
            (None, None) => Exchanges::Live,
        };
        let beginning = match &self.resume {
            Some(run) => Beginning::Resume(run.clone()),
            None if self.retry_errors => Beginning::RetryErrors(NEWEST.to_owned()),
            None => Beginning::New,
        };
        Ok(Persistence {
            beginning,
            exchanges,
            cache: !self.no_cache,
        })
    }
}

impl Persistence {
    /// As it is without any flag, but for the cache, of which there is none yet: all that this
    /// version can do.
    pub(crate) fn is_plain(&self) -> bool {
        let Self {
            beginning,
            exchanges,
            cache: _,
        } = self;
        let from_the_start = match beginning {
            Beginning::New => true,
            Beginning::Resume(run) | Beginning::RetryErrors(run) => run.is_empty(),
        };
        let live = match exchanges {
            Exchanges::Live => true,
            Exchanges::Record(file) | Exchanges::Replay(file) => file.as_os_str().is_empty(),
        };
        from_the_start && live
    }
}
