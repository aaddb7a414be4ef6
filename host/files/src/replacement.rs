//! A file that takes another's place when it is complete.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Permissions};
use std::io::{self, Write};
use std::path::Path;

use uuid::Uuid;

use crate::{Folder, ReadAccess};

/// A file being written beside its target, under a name that nobody can have foreseen. Dropped
/// before [`Self::commit`], it is removed.
#[derive(Debug)]
pub struct Replacement {
    file: File,
    unfinished: Unfinished,
}

/// The name of a file that goes unless it was renamed.
#[derive(Debug)]
struct Unfinished {
    folder: Folder,
    name: OsString,
    target: OsString,
}

impl Replacement {
    /// Starts a file that will have this name in the folder.
    ///
    /// # Errors
    /// When no file can be made there.
    pub fn begin(folder: Folder, target: &OsStr, readers: ReadAccess) -> io::Result<Self> {
        let mut name = OsString::from(".");
        name.push(target);
        name.push(format!(".{}.part", Uuid::new_v4().simple()));
        let file = folder.create(&name, readers)?;
        let target = target.to_owned();
        Ok(Self {
            file,
            unfinished: Unfinished {
                folder,
                name,
                target,
            },
        })
    }

    /// Lets those use the file whom these permissions name.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn permit(&self, permissions: Permissions) -> io::Result<()> {
        self.file.set_permissions(permissions)
    }

    /// Brings the file to disk and gives it its name, in the place of whatever has it, which is
    /// never followed if it is a link. Gives the file, open behind what was written.
    ///
    /// # Errors
    /// When it can't be brought to disk or renamed; the target is as it was.
    pub fn commit(self) -> io::Result<File> {
        self.file.sync_all()?;
        let Unfinished {
            folder,
            name,
            target,
        } = &self.unfinished;
        folder.rename(name, target)?;
        Ok(self.file)
    }

    /// Puts a file with this content in the place of `path`, complete or not at all.
    ///
    /// # Errors
    /// When it can't be made, written or renamed; what was there is as it was.
    pub fn of(path: &Path, readers: ReadAccess, content: &[u8]) -> io::Result<File> {
        let (folder, name) = Folder::of(path)?;
        let mut new = Self::begin(folder, &name, readers)?;
        new.write_all(content)?;
        new.commit()
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

impl Drop for Unfinished {
    fn drop(&mut self) {
        // After a commit there is nothing left to remove.
        let _ = self.folder.remove(&self.name);
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn a_link_makes_room_and_is_not_followed() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let (victim, link) = (folder.path().join("victim"), folder.path().join("link"));
        fs::write(&victim, "theirs")?;
        symlink(&victim, &link)?;
        let file = Replacement::of(&link, ReadAccess::Owner, b"ours")?;
        assert_eq!(file.metadata()?.permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_to_string(&victim)?, "theirs");
        assert_eq!(fs::read_to_string(&link)?, "ours");
        Ok(())
    }

    #[test]
    fn what_is_not_committed_leaves_what_was_there() -> io::Result<()> {
        let outer = tempfile::tempdir()?;
        let path = outer.path().join("file");
        fs::write(&path, "old")?;
        let (folder, name) = Folder::of(&path)?;
        let mut new = Replacement::begin(folder, &name, ReadAccess::Usual)?;
        new.write_all(b"half of ")?;
        assert_eq!(fs::read_dir(outer.path())?.count(), 2);
        drop(new);
        assert_eq!(fs::read_to_string(&path)?, "old");
        assert_eq!(fs::read_dir(outer.path())?.count(), 1);
        Ok(())
    }
}
