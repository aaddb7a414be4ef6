//! Whether the process that writes a run lives.
//!
//! A run that ended says so in its own row; one whose process was killed can't. While a run is
//! written its process holds a lock on a file in a folder beside the database, and the system
//! gives that lock up with the process, however it died. A process id could belong to
//! somebody else by now, and a timestamp refreshed by the writer would call a laptop that slept
//! dead.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;

use runner_files::make_private;

use crate::error::StoreError;

/// How often a sign that is taken is tried: somebody who only asks whether the run lives holds it
/// for a moment too.
const ATTEMPTS: u32 = 20;

/// The time between two attempts; all of them together are the time after which a run is called
/// live.
const PAUSE: Duration = Duration::from_millis(10);

/// The sign that a run is being written. Dropping it takes the sign down.
#[derive(Debug)]
pub(super) struct Claim {
    path: PathBuf,
    _locked: File,
}

impl Claim {
    /// Puts up the sign; `None` when somebody who lives has it up.
    ///
    /// Where the file system has no locks, everybody gets it, and readers take the run for
    /// running: a run that could never be resumed there would be worse than two that resume it at
    /// once, which pay twice and still end with one row per case.
    ///
    /// # Errors
    /// When the file can't be made.
    pub(super) fn take(database: &Path, run: i64) -> Result<Option<Self>, StoreError> {
        let path = sign(database, run);
        let create = || {
            make_private(path.parent().expect("a sign lies in a folder"))?;
            let mut options = OpenOptions::new();
            options.write(true).create(true).truncate(false);
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
            options.open(&path)
        };
        for _ in 0..ATTEMPTS {
            let file = create().map_err(|source| StoreError::Create {
                path: path.clone(),
                source,
            })?;
            match file.try_lock() {
                // The one before may have taken its sign down between the two steps; the lock is
                // on a file then that nobody will look at.
                Ok(()) if !is_the_sign(&file, &path) => {}
                Ok(()) | Err(TryLockError::Error(_)) => {
                    return Ok(Some(Self {
                        path,
                        _locked: file,
                    }));
                }
                Err(TryLockError::WouldBlock) => std::thread::sleep(PAUSE),
            }
        }
        Ok(None)
    }
}

impl Drop for Claim {
    /// Removes the file: it goes before its lock does, so that nobody's new sign is taken down. One that
    /// stays means nothing without its lock.
    fn drop(&mut self) {
        drop(std::fs::remove_file(&self.path));
    }
}

/// Whether a process that lives writes this run. In doubt, yes.
pub(super) fn is_live(database: &Path, run: i64) -> bool {
    is_locked(&sign(database, run))
}

fn is_locked(path: &Path) -> bool {
    match File::open(path) {
        Ok(file) => match file.try_lock_shared() {
            Ok(()) => false,
            Err(TryLockError::WouldBlock | TryLockError::Error(_)) => true,
        },
        Err(error) => error.kind() != std::io::ErrorKind::NotFound,
    }
}

/// Whether this file is the one that others find at its path.
#[cfg(unix)]
fn is_the_sign(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let number = |metadata: std::io::Result<std::fs::Metadata>| {
        metadata.map(|metadata| (metadata.dev(), metadata.ino()))
    };
    matches!(
        (number(file.metadata()), number(std::fs::metadata(path))),
        (Ok(ours), Ok(theirs)) if ours == theirs
    )
}

/// Elsewhere files have no number to compare; that the one at the path is locked, as ours is, will
/// do.
#[cfg(not(unix))]
fn is_the_sign(_file: &File, path: &Path) -> bool {
    is_locked(path)
}

fn sign(database: &Path, run: i64) -> PathBuf {
    let mut folder = database.as_os_str().to_owned();
    folder.push(".live");
    PathBuf::from(folder).join(format!("{run}.lock"))
}

#[cfg(test)]
mod tests {
    #![expect(
        clippy::unwrap_used,
        reason = "a test stops at the first thing that is wrong"
    )]

    use super::*;

    #[test]
    fn one_has_the_sign_up_and_the_next_one_after_it() {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("runs.db");
        assert!(!is_live(&database, 1));
        let claim = Claim::take(&database, 1).unwrap().unwrap();
        assert!(is_live(&database, 1));
        assert!(Claim::take(&database, 1).unwrap().is_none());
        assert!(Claim::take(&database, 2).unwrap().is_some());
        drop(claim);
        assert!(!is_live(&database, 1));
        assert!(Claim::take(&database, 1).unwrap().is_some());
    }

    #[test]
    fn who_only_asks_keeps_nobody_from_taking_it() {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("runs.db");
        // As a process that was killed leaves it: a file without a lock.
        std::fs::create_dir(folder.path().join("runs.db.live")).unwrap();
        File::create(sign(&database, 1)).unwrap();
        std::thread::scope(|scope| {
            let asking = scope.spawn(|| {
                for _ in 0..2000 {
                    is_live(&database, 1);
                }
            });
            while !asking.is_finished() {
                drop(Claim::take(&database, 1).unwrap().unwrap());
            }
        });
    }

    #[cfg(unix)]
    #[test]
    fn a_lock_on_a_file_that_was_taken_down_is_no_sign() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("1.lock");
        let file = File::create(&path).unwrap();
        assert!(is_the_sign(&file, &path));
        std::fs::remove_file(&path).unwrap();
        assert!(!is_the_sign(&file, &path));
        File::create(&path).unwrap();
        assert!(!is_the_sign(&file, &path));
    }

    #[test]
    fn of_many_at_once_one_gets_it() {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("runs.db");
        for _ in 0..5 {
            let holder = Claim::take(&database, 1).unwrap().unwrap();
            let got = std::thread::scope(|scope| {
                let takers: Vec<_> = (0..4)
                    .map(|_| scope.spawn(|| Claim::take(&database, 1).unwrap()))
                    .collect();
                drop(holder);
                let claims = takers.into_iter().map(|taker| taker.join().unwrap());
                claims.flatten().collect::<Vec<_>>()
            });
            assert_eq!(got.len(), 1);
        }
    }
}
