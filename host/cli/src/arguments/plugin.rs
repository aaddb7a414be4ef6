//! The arguments of `plugin`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::Lock;

/// `runner plugin …`
#[derive(Debug, Subcommand)]
pub(crate) enum Plugin {
    /// Say what a component is, what it wants and whether it can be loaded
    Inspect(Inspect),
    /// Write runner.lock beside the config: which components it uses, and what each may do
    Lock(Box<Lock>),
    /// Print the documentation of a plugin that comes with the program
    Docs(Docs),
    /// Put compiled plugins into a program
    #[command(hide = true)]
    Pack(Pack),
}

/// `runner plugin docs`
#[derive(Debug, Args)]
pub(crate) struct Docs {
    /// The plugin; without it, all are listed
    pub(crate) name: Option<String>,
}

/// `runner plugin pack`, which `cargo xtask bundle` runs.
#[derive(Debug, Args)]
pub(crate) struct Pack {
    /// The plugins (.wasm)
    #[arg(required = true)]
    pub(crate) components: Vec<PathBuf>,
    /// The program that shall carry them; it carries nothing yet
    #[arg(long, value_name = "FILE")]
    pub(crate) program: PathBuf,
    /// Where to write it
    #[arg(long, value_name = "FILE")]
    pub(crate) to: PathBuf,
    /// The plugin to compress the others against
    #[arg(long, value_name = "NAME")]
    pub(crate) like: Option<String>,
    /// How hard they are compressed
    #[arg(long, value_name = "N", default_value_t = 19, value_parser = clap::value_parser!(i32).range(1..=22))]
    pub(crate) level: i32,
    /// The commit that the program was built from
    #[arg(long, value_name = "ID")]
    pub(crate) commit: Option<String>,
}

/// `runner plugin inspect`
#[derive(Debug, Args)]
pub(crate) struct Inspect {
    /// The component (.wasm)
    pub(crate) file: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
