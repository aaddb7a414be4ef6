//! The arguments of `completions` and `man`: what other programs learn of the flags.

use std::path::PathBuf;

use clap::Args;
use clap_complete::Shell;

/// `runner completions`
#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell
    pub(crate) shell: Shell,
}

/// `runner man`
#[derive(Debug, Args)]
pub(crate) struct ManArguments {
    /// Where to
    pub(crate) folder: PathBuf,
}
