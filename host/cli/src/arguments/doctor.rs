//! The arguments of `doctor`.

use clap::Args;

/// `runner doctor`
#[derive(Debug, Args)]
#[command(after_help = super::help::DOCTOR)]
pub(crate) struct Doctor {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
