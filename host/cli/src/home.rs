//! Where this program keeps things, and where its bundled plugins are.
//!
//! With `RUNNER_HOME` everything lives below that one folder, so that a test or a stranger can
//! point it at an empty one. Without it, results are data and compiled plugins are a cache, and
//! each goes where the platform wants such things.

use std::path::{Path, PathBuf};

use crate::environment::Environment;
use crate::failure::Failure;

/// The folders of this command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Home {
    data: PathBuf,
    cache: PathBuf,
}

impl Home {
    /// From the environment; a relative `RUNNER_HOME` counts from `cwd`.
    ///
    /// # Errors
    /// When neither `RUNNER_HOME` nor a home directory is known.
    pub(crate) fn find(environment: &Environment, cwd: &Path) -> Result<Self, Failure> {
        if let Some(home) = environment.get("RUNNER_HOME") {
            let data = cwd.join(home);
            return Ok(Self {
                cache: data.join("cache"),
                data,
            });
        }
        let folders = directories::ProjectDirs::from("", "", "runner").ok_or_else(|| {
            Failure::usage("no folder to keep results in: this account has no home directory")
                .help("set RUNNER_HOME to a folder")
        })?;
        Ok(Self {
            data: folders.data_dir().to_owned(),
            cache: folders.cache_dir().to_owned(),
        })
    }

    /// The database of runs.
    pub(crate) fn runs(&self) -> PathBuf {
        self.data.join("runs.db")
    }

    /// What the person agreed to.
    pub(crate) fn agreements(&self) -> PathBuf {
        self.data.join("trust.json")
    }

    /// The cache of answers; deleting it costs money and loses no result.
    pub(crate) fn answers(&self) -> PathBuf {
        self.cache.join("cache.db")
    }

    /// Compiled plugins; deleting it costs time and nothing else.
    pub(crate) fn compiled_plugins(&self) -> PathBuf {
        self.cache.join("plugins")
    }
}

/// The folder of the bundled plugins: `RUNNER_BUNDLED_PLUGINS`, or `plugins` beside `program`.
///
/// # Errors
/// When there is none: nearly every config needs them.
pub(crate) fn bundled_plugins(
    environment: &Environment,
    cwd: &Path,
    program: &Path,
) -> Result<PathBuf, Failure> {
    if let Some(folder) = environment.get("RUNNER_BUNDLED_PLUGINS") {
        let folder = cwd.join(folder);
        return if folder.is_dir() {
            Ok(folder)
        } else {
            let shown = folder.display();
            Err(Failure::usage(format!(
                "RUNNER_BUNDLED_PLUGINS names {shown}, which is no folder"
            )))
        };
    }
    let folder = program.parent().unwrap_or(cwd).join("plugins");
    if folder.is_dir() {
        return Ok(folder);
    }
    let shown = folder.display();
    Err(Failure::usage(format!(
        "the bundled plugins are missing: there is no folder {shown}"
    ))
    .help("build them with `cargo xtask plugins`, or set RUNNER_BUNDLED_PLUGINS to their folder"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runner_home_holds_everything() {
        let environment = Environment::from_pairs(&[("RUNNER_HOME", "state")]);
        let home =
            Home::find(&environment, Path::new("/project")).map_err(|failure| failure.render());
        let home = home.expect("found");
        assert_eq!(home.runs(), Path::new("/project/state/runs.db"));
        assert_eq!(
            home.compiled_plugins(),
            Path::new("/project/state/cache/plugins")
        );
    }

    #[test]
    fn missing_plugins_come_with_the_command_that_builds_them() {
        let nowhere = Path::new("/nonexistent/bin/runner");
        let failure =
            bundled_plugins(&Environment::default(), Path::new("/"), nowhere).expect_err("missing");
        assert_eq!(
            failure.render(),
            "error: the bundled plugins are missing: there is no folder /nonexistent/bin/plugins\n\
             help: build them with `cargo xtask plugins`, or set RUNNER_BUNDLED_PLUGINS to their folder"
        );
    }

    #[test]
    fn a_named_folder_is_taken_or_refused() {
        let here = env!("CARGO_MANIFEST_DIR");
        let found = |value| {
            bundled_plugins(
                &Environment::from_pairs(&[("RUNNER_BUNDLED_PLUGINS", value)]),
                Path::new(here),
                Path::new("/x"),
            )
        };
        assert!(found(here).is_ok_and(|folder| folder == Path::new(here)));
        assert!(found("nonexistent").is_err());
    }
}
