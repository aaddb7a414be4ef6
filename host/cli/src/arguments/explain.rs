//! The arguments of `explain`.

use clap::Args;

/// `runner explain`
#[derive(Debug, Args)]
#[command(after_help = super::help::EXPLAIN)]
pub(crate) struct Explain {
    /// A code or word of a message (P009, C103, rate-limited), or an exit code [default: list all of them]
    #[arg(value_name = "CODE")]
    pub(crate) code: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
