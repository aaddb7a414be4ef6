//! Where this program keeps things, and where its bundled plugins are.
//!
//! With `RUNNER_HOME` everything lives below that one folder, so that a test or a stranger can
//! point it at an empty one. Without it, results are data and compiled plugins are a cache, and
//! each goes where the platform wants such things.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use runner_eval::plugins::{Bundled, Known};
use runner_files::make_private;

use crate::environment::Environment;
use crate::failure::Failure;

/// sha256 of the plugins that the program was built with; see `build.rs`.
const DIGESTS: &str = env!("RUNNER_BUNDLE");

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

    /// Makes the folders, which nobody else may look into, before anything is put there. One that
    /// is there and that the user named keeps its rights; what is made in it is private all the
    /// same.
    ///
    /// # Errors
    /// When a folder can't be made.
    pub(crate) fn make(&self) -> Result<(), Failure> {
        for folder in [&self.data, &self.cache] {
            make_private(folder).map_err(|error| {
                let shown = folder.display();
                Failure::usage(format!("the folder {shown} can't be made: {error}"))
                    .help("set RUNNER_HOME to a folder that can be written to")
            })?;
        }
        // Earlier versions let others look into this one. If it is not the user's to close, the
        // sandbox finds that.
        #[cfg(unix)]
        drop(close_to_others(&self.cache, &self.compiled_plugins()));
        Ok(())
    }

    /// The database of runs.
    pub(crate) fn runs(&self) -> PathBuf {
        self.data.join("runs.db")
    }

    /// The list prices that were imported.
    pub(crate) fn prices(&self) -> PathBuf {
        self.data.join("prices.json")
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

/// Takes the rights of others from the folder of caches, if it is the user's; if it isn't, what is
/// in it is private all the same.
///
/// Whoever could write to it could put another folder in the place of that for compiled code. So
/// that one gets the mark by which the sandbox knows a folder to empty, and a link there goes. The
/// mark is on the outer folder until then, for the next to see should this one end.
#[cfg(unix)]
fn close_to_others(cache: &Path, compiled: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    const MARKED: u32 = 0o1700;
    let set = |folder: &Path, mode| fs::set_permissions(folder, PermissionsExt::from_mode(mode));
    let mode = fs::metadata(cache)?.permissions().mode();
    if mode & 0o1022 != 0 {
        set(cache, MARKED)?;
        match fs::symlink_metadata(compiled) {
            Ok(its) if its.is_dir() => set(compiled, MARKED)?,
            Ok(_) => fs::remove_file(compiled)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    if mode & 0o1077 != 0 {
        set(cache, 0o700)?;
    }
    Ok(())
}

/// The bundled plugins: in `RUNNER_BUNDLED_PLUGINS`, whatever they are, or those that this program
/// was built with, in `plugins` beside `program`.
///
/// # Errors
/// When there is none: nearly every config needs them.
pub(crate) fn bundled_plugins(
    environment: &Environment,
    cwd: &Path,
    program: &Path,
) -> Result<Bundled, Failure> {
    if let Some(folder) = environment.get("RUNNER_BUNDLED_PLUGINS") {
        let directory = cwd.join(folder);
        return if directory.is_dir() {
            Ok(Bundled {
                directory,
                known: Known::Folder,
            })
        } else {
            let shown = directory.display();
            Err(Failure::usage(format!(
                "RUNNER_BUNDLED_PLUGINS names {shown}, which is no folder"
            )))
        };
    }
    let directory = program.parent().unwrap_or(cwd).join("plugins");
    if directory.is_dir() {
        let digests = DIGESTS.split(',').map(str::to_owned);
        return Ok(Bundled {
            directory,
            known: Known::Digests(digests.collect()),
        });
    }
    let shown = directory.display();
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

    #[cfg(unix)]
    #[test]
    fn nobody_else_looks_into_its_folders() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().expect("a folder");
        let named = folder.path().to_str().expect("a path in UTF-8");
        fs::create_dir_all(folder.path().join("old/cache")).expect("made");
        let mode = |path: &Path| {
            let metadata = fs::metadata(path).expect("it is there");
            metadata.permissions().mode() & 0o777
        };
        for (name, outer) in [("new/er", 0o700), ("old", 0o755)] {
            let home = format!("{named}/{name}");
            let _ = fs::set_permissions(&home, PermissionsExt::from_mode(0o755));
            let environment = Environment::from_pairs(&[("RUNNER_HOME", &home)]);
            let done = Home::find(&environment, Path::new("/")).and_then(|home| home.make());
            done.map_err(|failure| failure.render()).expect("made");
            assert_eq!(mode(Path::new(&home)), outer, "{name}");
            assert_eq!(mode(&Path::new(&home).join("cache")), 0o700, "{name}");
        }
    }

    /// By the mark the sandbox knows what not to trust.
    #[cfg(unix)]
    #[test]
    fn compiled_code_in_a_folder_that_others_could_change_is_marked() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = tempfile::tempdir().expect("a folder");
        let (cache, inner) = (
            folder.path().join("cache"),
            folder.path().join("cache/inner"),
        );
        let mode = |path: &Path| {
            let metadata = fs::metadata(path).expect("it is there");
            metadata.permissions().mode() & 0o7777
        };
        let set = |path: &Path, mode| {
            fs::set_permissions(path, PermissionsExt::from_mode(mode)).expect("it is ours");
        };
        fs::create_dir_all(&inner).expect("made");
        let outside = mode(folder.path());
        // The last is how one that was not closed to its end was left.
        for (loose, expected) in [(0o755, 0o700), (0o775, 0o1700), (0o1700, 0o1700)] {
            set(&inner, 0o700);
            set(&cache, loose);
            close_to_others(&cache, &inner).expect("it is ours");
            assert_eq!((mode(&cache), mode(&inner)), (0o700, expected), "{loose:o}");
        }
        fs::remove_dir(&inner).expect("it is empty");
        symlink(folder.path(), &inner).expect("a link");
        set(&cache, 0o777);
        close_to_others(&cache, &inner).expect("it is ours");
        assert!(fs::symlink_metadata(&inner).is_err(), "the link is gone");
        assert_eq!(
            mode(folder.path()),
            outside,
            "and where it led is as it was"
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
        assert!(found(here).is_ok_and(
            |found| found.directory == Path::new(here) && matches!(found.known, Known::Folder)
        ));
        assert!(found("nonexistent").is_err());
    }
}
