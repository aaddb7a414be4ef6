//! The arguments of `view`.

use clap::Args;

/// `runner view`
#[derive(Debug, Args)]
#[command(after_help = super::help::VIEW)]
pub(crate) struct View {
    /// Listen on this port of 127.0.0.1 [default: 15700, or any that is free]
    #[arg(long, value_name = "PORT")]
    pub(crate) port: Option<u16>,
    /// Print the address and open no browser
    #[arg(long)]
    pub(crate) no_open: bool,
}
