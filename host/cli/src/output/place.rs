//! Where a results file goes, and whether it may go there.
//!
//! A path that the person names may be anything. One that a config names was written by whoever
//! wrote the config: it takes the place of results only, so that it can't make an end of any
//! other file, and what it means is fixed when the config is read: a link that comes later is not
//! followed. Whether it may leave the config's folder is asked when the config is read.

use std::ffi::OsString;
use std::fs::File;
use std::io;

use runner_config::TextOrigin;
use runner_config::plan::OutputPath;
use runner_files::{Folder, ReadAccess};

use super::Format;
use super::known::holds_results;

/// A folder that is held open, and a name in it.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) folder: Folder,
    pub(super) name: OsString,
}

impl Place {
    /// Finds the place of a results file; folders that are missing are made.
    ///
    /// # Errors
    /// When it can't be written there, or must not.
    pub(super) fn of(path: &OutputPath, format: Format) -> io::Result<Self> {
        let place = path.now().ok_or_else(|| {
            io::Error::other("this file belongs to the system and is never written")
        })?;
        let (Some(folder), Some(name)) = (place.parent(), place.file_name()) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let place = Self {
            folder: Folder::make(folder)?,
            name: name.to_owned(),
        };
        if path.origin != TextOrigin::Person
            && let Some(file) = place.folder.open(&place.name)?
            && !holds_results(&file, format)?
        {
            return Err(io::Error::other("the existing file holds no results"));
        }
        Ok(place)
    }

    /// The file for what is written bit by bit: what was in it is gone.
    ///
    /// # Errors
    /// When it can't be opened or made.
    pub(super) fn emptied(&self) -> io::Result<File> {
        let file = self.folder.open_or_create(&self.name, ReadAccess::Usual)?;
        file.set_len(0)?;
        Ok(file)
    }
}
