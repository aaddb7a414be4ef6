//! Where this program keeps things.
//!
//! With `RUNNER_HOME` everything lives below that one folder, so that a test or a stranger can
//! point it at an empty one. Without it, results are data and compiled plugins are a cache, and
//! each goes where the platform wants such things. An account without a home, or with one that can't be
//! written to, has a folder for temporary files: a run there is worth its table, and what is kept of it is
//! found again until the machine clears that folder.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use runner_files::{make_private, try_place};

use crate::environment::Environment;
use crate::failure::Failure;

/// The folders of this command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Home {
    data: PathBuf,
    cache: PathBuf,
    /// Why it is no lasting place, if it is none.
    passing: Option<String>,
}

impl Home {
    /// From the environment; a relative `RUNNER_HOME` counts from `cwd`. Nothing is made but a folder that
    /// does not last.
    ///
    /// # Errors
    /// When there is no place that can be written to, and none was named.
    pub(crate) fn find(environment: &Environment, cwd: &Path) -> Result<Self, Failure> {
        if let Some(home) = environment.get("RUNNER_HOME") {
            return Ok(Self::below(cwd.join(home), None));
        }
        let why = match directories::ProjectDirs::from("", "", "runner") {
            None => "this account has no home directory".to_owned(),
            Some(folders) => {
                let (data, cache) = (folders.data_dir(), folders.cache_dir());
                let places = [data, cache].map(|folder| try_place(&folder.join("file")));
                match places.into_iter().collect::<io::Result<()>>() {
                    Ok(()) => {
                        return Ok(Self {
                            data: data.to_owned(),
                            cache: cache.to_owned(),
                            passing: None,
                        });
                    }
                    Err(error) => format!("{} can't be written to: {error}", data.display()),
                }
            }
        };
        // The second is memory, which a container with a read-only disk has all the same.
        let places = [std::env::temp_dir(), PathBuf::from("/dev/shm")];
        let place = places.iter().find_map(|place| own_below(place));
        let place = place.ok_or_else(|| {
            Failure::usage(format!("no folder to keep results in: {why}"))
                .help("set RUNNER_HOME to a folder that can be written to")
        })?;
        Ok(Self::below(place, Some(why)))
    }

    /// Everything below one folder.
    fn below(data: PathBuf, passing: Option<String>) -> Self {
        Self {
            cache: data.join("cache"),
            data,
            passing,
        }
    }

    /// What to say of a place that does not last.
    pub(crate) fn warning(&self) -> Option<String> {
        let why = self.passing.as_ref()?;
        let shown = self.data.display();
        Some(format!(
            "results are kept in {shown}, until that is cleared: {why}\n\
             help: set RUNNER_HOME to a folder that lasts"
        ))
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

    /// What runs use of the same quotas; deleting it costs some refusals.
    pub(crate) fn quotas(&self) -> PathBuf {
        self.cache.join("quotas.db")
    }

    /// A folder among the caches that goes when it is dropped.
    ///
    /// # Errors
    /// When it can't be made.
    pub(crate) fn passing_folder(&self) -> io::Result<tempfile::TempDir> {
        tempfile::Builder::new()
            .prefix("passing-")
            .tempdir_in(&self.cache)
    }

    /// Components that were added, to be named by configs.
    pub(crate) fn added_plugins(&self) -> PathBuf {
        self.data.join("plugins")
    }

    /// Compiled plugins; deleting it costs time and nothing else.
    pub(crate) fn compiled_plugins(&self) -> PathBuf {
        self.cache.join("plugins")
    }
}

/// A folder of this user alone in one that everybody may write to. It is made at once: as long as it is not
/// there, somebody else could make it. `None` if that can't be, or somebody else has, or could put another
/// in its place.
fn own_below(place: &Path) -> Option<PathBuf> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let user = rustix::process::geteuid().as_raw();
        let around = fs::metadata(place).ok()?;
        let is_kept = around.mode() & 0o022 == 0 || around.mode() & 0o1000 != 0;
        if !is_kept || ![0, user].contains(&around.uid()) {
            return None;
        }
        let own = place.join(format!("runner-{user}"));
        try_place(&own.join("file")).ok()?;
        make_private(&own).ok()?;
        let its = fs::symlink_metadata(&own).ok()?;
        let others = its.mode() & 0o077;
        (its.is_dir() && others == 0 && its.uid() == user).then_some(own)
    }
    #[cfg(not(unix))]
    {
        let own = place.join("runner");
        make_private(&own).is_ok().then_some(own)
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
    fn a_passing_place_is_this_user_s_alone() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let place = tempfile::tempdir().expect("a folder");
        let own = own_below(place.path()).expect("it can be made");
        let name = own.file_name().expect("a name").to_owned();
        let set = |mode| {
            fs::set_permissions(&own, PermissionsExt::from_mode(mode)).expect("it is ours");
        };
        for (mode, taken) in [(0o700, true), (0o770, false), (0o755, false)] {
            set(mode);
            assert_eq!(own_below(place.path()).is_some(), taken, "{mode:o}");
        }
        set(0o700);
        for (mode, taken) in [(0o777, false), (0o1777, true), (0o775, false)] {
            fs::set_permissions(place.path(), PermissionsExt::from_mode(mode)).expect("it is ours");
            assert_eq!(
                own_below(place.path()).is_some(),
                taken,
                "around it {mode:o}"
            );
        }
        let other = tempfile::tempdir().expect("a folder");
        symlink(&own, other.path().join(name)).expect("a link");
        assert_eq!(
            own_below(other.path()),
            None,
            "a link leads where somebody wants"
        );
        assert_eq!(own_below(&place.path().join("gone/x")), None);
    }

    #[test]
    fn a_place_that_does_not_last_is_told() {
        let home = Home::below("/tmp/runner-7".into(), Some("no home".into()));
        assert_eq!(
            home.warning().expect("told"),
            "results are kept in /tmp/runner-7, until that is cleared: no home\n\
             help: set RUNNER_HOME to a folder that lasts"
        );
        assert_eq!(Home::below("/x".into(), None).warning(), None);
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
}
