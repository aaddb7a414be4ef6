//! A file that takes another's place when it is complete.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A file being written beside its target. Dropped before [`Self::commit`], it is removed.
pub(super) struct Replacement {
    file: File,
    temporary: PathBuf,
    target: PathBuf,
}

impl Replacement {
    /// Starts a file that will be `target`; through a symbolic link, what the link names.
    ///
    /// # Errors
    /// When no file can be made there.
    pub(super) fn create(target: &Path) -> io::Result<Self> {
        let target = fs::canonicalize(target).unwrap_or_else(|_| target.to_owned());
        let mut name = OsString::from(".");
        name.push(target.file_name().unwrap_or_default());
        name.push(format!(".{}.part", std::process::id()));
        let temporary = target.with_file_name(name);
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .open(&temporary)?;
        Ok(Self {
            file,
            temporary,
            target,
        })
    }

    /// Gives the file its name.
    ///
    /// # Errors
    /// When it can't be brought to disk or renamed; the target is as it was.
    pub(super) fn commit(self) -> io::Result<()> {
        self.file.sync_all()?;
        fs::rename(&self.temporary, &self.target)
    }
}

impl Write for Replacement {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for Replacement {
    fn drop(&mut self) {
        // After a commit there is nothing left to remove.
        let _ = fs::remove_file(&self.temporary);
    }
}
