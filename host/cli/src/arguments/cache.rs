//! The arguments of `runner cache`.

use std::time::Duration;

use clap::{Args, Subcommand};

use super::numbers::{age, whole};

/// `runner cache …`
#[derive(Debug, Subcommand)]
pub(crate) enum Cache {
    /// Say how many answers are remembered, and how much room they take
    Stats {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// List the answers that were used last
    Ls(ListCache),
    /// Show a remembered answer in full
    Show {
        /// Its key, or the beginning of it
        key: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Forget answers; no results are lost
    Clear(ClearCache),
}

/// `runner cache ls`
#[derive(Debug, Args)]
pub(crate) struct ListCache {
    /// List only those with TEXT in their address or model
    #[arg(value_name = "TEXT")]
    pub(crate) containing: Option<String>,
    /// List at most N answers
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20, value_parser = whole::<usize>)]
    pub(crate) limit: usize,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `runner cache clear`
#[derive(Debug, Args)]
pub(crate) struct ClearCache {
    /// Forget only answers older than AGE: 45s, 30m, 12h, 7d, 2w [default: all]
    #[arg(long, value_name = "AGE", value_parser = age)]
    pub(crate) older_than: Option<Duration>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
