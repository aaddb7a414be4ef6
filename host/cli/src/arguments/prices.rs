//! The arguments of `runner prices`.

use std::path::PathBuf;

use clap::Subcommand;

/// `runner prices …`
#[derive(Debug, Subcommand)]
pub(crate) enum Prices {
    /// Take list prices of models from a table of LiteLLM, over older ones of the program
    Import {
        /// Its `model_prices_and_context_window.json`; the package `litellm` has one, too
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Forget what was imported
    Clear {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}
