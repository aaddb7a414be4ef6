//! The arguments of `migrate`.

use std::path::PathBuf;

use clap::Args;

/// `runner migrate`
#[derive(Debug, Args)]
#[command(after_help = super::help::MIGRATE)]
pub(crate) struct Migrate {
    /// A config of promptfoo's, or a folder with one [default: that of this folder]
    #[arg(value_name = "CONFIG")]
    pub(crate) config: Option<PathBuf>,
    /// Also show what is different in every run
    #[arg(long, conflicts_with = "json")]
    pub(crate) all: bool,
    /// Print the whole list of differences, and look at no config
    #[arg(long, conflicts_with_all = ["config", "all", "json"])]
    pub(crate) list: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
