//! Why a component can't be part of the run.

use std::path::{Path, PathBuf};

use runner_config::on_one_line;
use runner_sandbox::LoadError;

use super::bind_error::StatedPlace;

/// A path as a line of ours has it.
fn shown(path: &Path) -> String {
    on_one_line(&path.to_string_lossy()).into_owned()
}

/// Why a component can't be part of the run.
#[derive(Debug, thiserror::Error)]
pub enum PluginError {
    /// The file is no plugin, or not one for this program.
    #[error("{at}{error}")]
    Load {
        /// Where the config names it, if it does, as a message begins.
        at: String,
        /// What is wrong with it.
        error: LoadError,
    },
    /// A path that can't be read.
    #[error("{}: {source}\nhelp: --plugin and plugins.*.source take a .wasm file or a directory with such files", shown(.path))]
    Unreadable {
        /// The path as given.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A component of the bundle serves other names than the program knows of it.
    #[error("{}: this component is of another version than the program\nhelp: install program and plugins together (from the sources: `cargo xtask quickstart`); RUNNER_BUNDLED_PLUGINS names the folder of others that you trust", shown(.path))]
    OtherBundle {
        /// The file.
        path: PathBuf,
    },
    /// An entry without a file, and no component of that name comes with the program.
    #[error(
        "plugins.{alias} has no `source`, and no plugin of that name comes with the program\nhelp: for example: source: ./plugins/acme.wasm"
    )]
    NoSource {
        /// The entry's name.
        alias: String,
    },
    /// Somebody else's component claims files that mean the same in every config.
    #[error("plugin '{name}' ({}): P010 claims the files '.{extension}', which a config means by itself\nhelp: a language of a plugin has an extension of its own", shown(.path))]
    Reserved {
        /// Its name.
        name: String,
        /// Its file.
        path: PathBuf,
        /// The extension.
        extension: String,
    },
    /// The config gives another name to what the component doesn't serve.
    #[error(
        "{at}: plugin '{alias}' serves no assertion type and no provider '{own}'\nhelp: {help}"
    )]
    NoSuchName {
        /// Where the config says so.
        at: Box<StatedPlace>,
        /// The plugin's alias.
        alias: String,
        /// What the config takes for its name.
        own: String,
        /// What it serves.
        help: String,
    },
    /// Two components claim the same.
    #[error("{at}plugin '{name}' ({}, sha256 {sha256}…): P010 claims the {what} '{claim}', which {} has already\nhelp: {help}", shown(.path), shown(.other))]
    Duplicate {
        /// Where the config names the later one, if it does, as a message begins.
        at: String,
        /// The later one's name.
        name: String,
        /// Its file.
        path: PathBuf,
        /// Its sha256, shortened.
        sha256: String,
        /// `name`, `provider prefix` or `assertion type`.
        what: &'static str,
        /// What both claim.
        claim: String,
        /// The earlier one's file.
        other: PathBuf,
        /// What to do.
        help: String,
    },
}

/// Of a file that no config names.
impl From<LoadError> for PluginError {
    fn from(error: LoadError) -> Self {
        let at = String::new();
        Self::Load { at, error }
    }
}
