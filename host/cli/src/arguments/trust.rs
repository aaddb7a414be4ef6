//! The arguments about trust: what the texts of others may do.

use std::path::PathBuf;

use clap::Args;

use super::{Inputs, help};

/// The flags of a run. They hold for the session that they are given to, and are not taken over by
/// one that goes on with it.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct TrustFlags {
    /// Trust the config: skip the questions about what it asks for; see `runner trust --help`
    #[arg(long, help_heading = "Trust")]
    pub(crate) trust_config: bool,
    /// Trust the config and the rows of its data files: skip the questions about both
    #[arg(long, help_heading = "Trust")]
    pub(crate) trust_data: bool,
    /// Refuse to run if the config's plugins are not exactly those that runner.lock has for it; implied where CI is set and the file exists
    #[arg(long, help_heading = "Plugins")]
    pub(crate) locked: bool,
}

/// `runner trust`
#[derive(Debug, Args)]
#[command(after_help = help::TRUST, mut_arg("config", |config| config.help("Same as [CONFIG]").long_help(None)))]
pub(crate) struct Trust {
    /// The configs, as with -c; with --revoke also folders [default: promptfooconfig.yaml in this folder]
    #[arg(value_name = "CONFIG")]
    pub(crate) paths: Vec<PathBuf>,
    /// Agree to everything that --show shows now; exit code 2 if more is asked for after it
    #[arg(long)]
    pub(crate) yes: bool,
    /// Show all that is asked for, and ask nothing; exit code 2 if something is not agreed to
    #[arg(long, conflicts_with = "yes")]
    pub(crate) show: bool,
    /// List what was agreed to, for all folders
    #[arg(long, conflicts_with_all = ["yes", "show", "revoke", "paths"])]
    pub(crate) list: bool,
    /// With --list: print JSON
    #[arg(long, requires = "list")]
    pub(crate) json: bool,
    /// Forget what was agreed to for the folder of each CONFIG
    #[arg(long, conflicts_with_all = ["yes", "show"])]
    pub(crate) revoke: bool,
    /// The run that it is about.
    #[command(flatten)]
    pub(crate) inputs: Inputs,
}

/// `runner plugin lock`: the flags of `eval` that say what is read.
#[derive(Debug, Args)]
pub(crate) struct Lock {
    /// The run whose components are written down.
    #[command(flatten)]
    pub(crate) inputs: Inputs,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
