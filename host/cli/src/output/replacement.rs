//! A file that takes another's place when it is complete.
//!
//! It is made new beside the other, under a name that nobody can have foreseen, in a folder that
//! is held open; see `crate::folder`.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};

use uuid::Uuid;

use super::place::Place;

/// A file being written beside its target. Dropped before [`Self::commit`], it is removed.
pub(super) struct Replacement {
    file: File,
    temporary: OsString,
    place: Place,
}

impl Replacement {
    /// Starts a file that will be at `place`.
    ///
    /// # Errors
    /// When no file can be made there.
    pub(super) fn create(place: Place) -> io::Result<Self> {
        let mut temporary = OsString::from(".");
        temporary.push(&place.name);
        temporary.push(format!(".{}.part", Uuid::new_v4().simple()));
        let file = place.folder.create(&temporary)?;
        Ok(Self {
            file,
            temporary,
            place,
        })
    }

    /// Gives the file its name.
    ///
    /// # Errors
    /// When it can't be brought to disk or renamed; the target is as it was.
    pub(super) fn commit(self) -> io::Result<()> {
        self.file.sync_all()?;
        let Place { folder, name } = &self.place;
        folder.rename(&self.temporary, name)
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
        let _ = self.place.folder.remove(&self.temporary);
    }
}
