//! The plugins that came with the program: in its own file, or beside it.
//!
//! A program that people are given carries them (`cargo xtask bundle`), runs from anywhere, and looks
//! nowhere else. One that was just built carries none: it takes those that `cargo xtask plugins` puts
//! beside it, and knows them by their digests, since a folder may be anybody's.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use runner_eval::plugins::{BundleProof, BundleSource};
use runner_sandbox::{CarriedError, CarriedSet};

use crate::environment::Environment;
use crate::failure::Failure;

/// sha256 of the plugins that the program was built with; see `build.rs`.
const DIGESTS: &str = env!("RUNNER_BUNDLE");

/// Finds the plugins that came with the program: in `RUNNER_BUNDLED_PLUGINS`, whatever they are, or in the
/// program, or those that it was built with, in `plugins` beside it.
///
/// # Errors
/// When there is none, for nearly every config needs them, or they are damaged.
pub(crate) fn plugins(environment: &Environment, cwd: &Path) -> Result<BundleSource, Failure> {
    if let Some(folder) = environment.get("RUNNER_BUNDLED_PLUGINS") {
        return named(&cwd.join(folder));
    }
    match carried()? {
        Some(carried) => Ok(BundleSource::Carried(Arc::new(carried))),
        None => beside(&own_path()),
    }
}

/// sha256 of the plugins that may be beside a program that carries none.
pub(crate) fn known() -> impl Iterator<Item = &'static str> {
    DIGESTS.split(',').filter(|digest| !digest.is_empty())
}

/// Reads what the program carries; `None` if it carries nothing.
///
/// # Errors
/// When it is not there, or damaged.
pub(crate) fn carried() -> Result<Option<CarriedSet>, Failure> {
    if !CarriedSet::is_expected() {
        return Ok(None);
    }
    let path = own_path();
    let unreadable = |source| CarriedError::Unreadable {
        path: path.clone(),
        source,
    };
    let carried = own_file(&path).map_err(unreadable);
    let carried = carried.and_then(|file| CarriedSet::of_program(file, &path));
    carried.map_err(|error| {
        Failure::usage_from(error).help(
            "the plugins are part of the program's file: install it again (a copy must be complete and readable)",
        )
    })
}

/// Opens the program's own file. Linux opens the one that was started, also if another has its name by now.
fn own_file(path: &Path) -> io::Result<File> {
    if cfg!(target_os = "linux")
        && let Ok(file) = File::open("/proc/self/exe")
    {
        return Ok(file);
    }
    File::open(path)
}

/// Where the program's file is, as well as that is known: the system says so, or whoever started it. What
/// is read there is held against what the program has in memory.
fn own_path() -> PathBuf {
    let started = || {
        let first = PathBuf::from(std::env::args_os().next().unwrap_or_default());
        let path = std::env::var_os("PATH").unwrap_or_default();
        runner_process::find(&first, &path).unwrap_or(first)
    };
    std::env::current_exe().unwrap_or_else(|_| started())
}

/// The folder that the user named.
fn named(directory: &Path) -> Result<BundleSource, Failure> {
    if directory.is_dir() {
        return Ok(BundleSource::Folder {
            directory: directory.to_owned(),
            known: BundleProof::Folder,
        });
    }
    let shown = directory.display();
    Err(Failure::usage(format!(
        "RUNNER_BUNDLED_PLUGINS names {shown}, which is no folder"
    )))
}

/// The folder beside a program that was just built.
fn beside(program: &Path) -> Result<BundleSource, Failure> {
    let directory = program.parent().unwrap_or(program).join("plugins");
    if directory.is_dir() {
        return Ok(BundleSource::Folder {
            directory,
            known: BundleProof::Digests(known().map(str::to_owned).collect()),
        });
    }
    let shown = directory.display();
    Err(Failure::usage(format!(
        "the bundled plugins are missing: this program carries none, and there is no folder {shown}"
    ))
    .help(
        "take the program of an archive or a package, which carries them, or set RUNNER_BUNDLED_PLUGINS to \
         their folder (from the sources: `cargo xtask bundle`)",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_plugins_come_with_the_command_that_builds_them() {
        let failure = beside(Path::new("/nonexistent/bin/runner")).expect_err("missing");
        assert_eq!(
            failure.render(),
            "error: the bundled plugins are missing: this program carries none, and there is no folder \
             /nonexistent/bin/plugins\n\
             help: take the program of an archive or a package, which carries them, or set \
             RUNNER_BUNDLED_PLUGINS to their folder (from the sources: `cargo xtask bundle`)"
        );
    }

    #[test]
    fn a_named_folder_is_taken_or_refused() {
        let here = env!("CARGO_MANIFEST_DIR");
        let found = |value| {
            let environment = Environment::from_pairs(&[("RUNNER_BUNDLED_PLUGINS", value)]);
            plugins(&environment, Path::new(here))
        };
        assert!(found(".").is_ok_and(|found| matches!(
            found,
            BundleSource::Folder {
                known: BundleProof::Folder,
                ..
            }
        )));
        assert!(found("nonexistent").is_err());
    }
}
