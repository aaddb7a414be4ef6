//! Whether the process that writes a run lives.
//!
//! A run that ended says so in its own row; one whose process was killed can't. While a run is
//! written its process holds a lock on a file in a folder beside the database, and the system
//! gives that lock up with the process, however it died. A process id could belong to
//! somebody else by now, and a timestamp refreshed by the writer would call a laptop that slept
//! dead.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};

use crate::database::private_folder;
use crate::error::StoreError;

/// The sign that a run is being written. Dropping it takes the sign down.
#[derive(Debug)]
pub(super) struct Claim {
    path: PathBuf,
    _locked: File,
}

impl Claim {
    /// Puts up the sign.
    ///
    /// # Errors
    /// When the file can't be made.
    pub(super) fn take(database: &Path, run: i64) -> Result<Self, StoreError> {
        let path = sign(database, run);
        let create = || {
            private_folder(path.parent().expect("a sign lies in a folder"))?;
            OpenOptions::new()
                .write(true)
                .create(true)
                .truncate(false)
                .open(&path)
        };
        let file = create().map_err(|source| StoreError::Create {
            path: path.clone(),
            source,
        })?;
        // Where the file system has no locks, readers see the sign and take the run for running:
        // wrong only after a crash, and then only in a word of a list.
        drop(file.try_lock());
        Ok(Self {
            path,
            _locked: file,
        })
    }
}

impl Drop for Claim {
    /// The file goes before its lock does, so that nobody's new sign is taken down. One that
    /// stays means nothing without its lock.
    fn drop(&mut self) {
        drop(std::fs::remove_file(&self.path));
    }
}

/// Whether a process that lives writes this run. In doubt, yes.
pub(super) fn is_live(database: &Path, run: i64) -> bool {
    match File::open(sign(database, run)) {
        Ok(file) => match file.try_lock_shared() {
            Ok(()) => false,
            Err(TryLockError::WouldBlock | TryLockError::Error(_)) => true,
        },
        Err(error) => error.kind() != std::io::ErrorKind::NotFound,
    }
}

fn sign(database: &Path, run: i64) -> PathBuf {
    let mut folder = database.as_os_str().to_owned();
    folder.push(".live");
    PathBuf::from(folder).join(format!("{run}.lock"))
}
