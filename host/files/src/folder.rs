//! A folder that is held open: what is done in it happens in it, whatever becomes of its name.
//!
//! Who can write to a folder on the way to another can put a link there between a look and a write.
//! So a path is walked once, folder by folder, no link followed, and then files are made, looked at
//! and renamed relative to the last folder. Who wants a link followed resolves it first. Where the
//! system has no such calls the path itself is used, after a look.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::path::Path;

use crate::ReadAccess;

#[cfg(not(unix))]
use by_path as way;
#[cfg(unix)]
use held as way;

/// An open folder.
#[derive(Debug)]
pub struct Folder(pub(crate) way::FolderHandle);

impl Folder {
    /// Opens the absolute `path`, in which nothing may be a link, and makes what is missing.
    ///
    /// # Errors
    /// When a part of it can't be opened or made, is no folder, or is a link.
    pub fn make(path: &Path) -> io::Result<Self> {
        way::open(path).map(Self)
    }

    /// Opens the folder of a file that the user named, and gives the file's name in it. Links on
    /// the way are followed once; what is missing is made.
    ///
    /// # Errors
    /// As [`Self::make`], and when the path names no file.
    pub fn of(file: &Path) -> io::Result<(Self, OsString)> {
        let file = std::path::absolute(file)?;
        let (Some(folder), Some(name)) = (file.parent(), file.file_name()) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        fs::create_dir_all(folder)?;
        Ok((Self::make(&folder.canonicalize()?)?, name.to_owned()))
    }

    /// Opens the folder once more, for itself.
    ///
    /// # Errors
    /// When the process has too many files open.
    pub(crate) fn try_clone(&self) -> io::Result<Self> {
        way::duplicate(&self.0).map(Self)
    }

    /// Makes a file that must not be there yet, to read and write it.
    ///
    /// # Errors
    /// When it is there, if only as a link, or can't be made.
    pub fn create(&self, name: &OsStr, readers: ReadAccess) -> io::Result<File> {
        way::create(&self.0, name, readers)
    }

    /// Opens an ordinary file to read and change it; `None` if nothing has that name.
    ///
    /// # Errors
    /// When it is no ordinary file, if only a link to one, or can't be opened.
    pub fn open(&self, name: &OsStr) -> io::Result<Option<File>> {
        let file = match way::open_file(&self.0, name) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        if file.metadata()?.is_file() {
            Ok(Some(file))
        } else {
            Err(io::Error::other("it is no ordinary file"))
        }
    }

    /// Opens an ordinary file to read and change it, or makes it.
    ///
    /// # Errors
    /// As [`Self::open`] and [`Self::create`].
    pub fn open_or_create(&self, name: &OsStr, readers: ReadAccess) -> io::Result<File> {
        if let Some(file) = self.open(name)? {
            return Ok(file);
        }
        match self.create(name, readers) {
            // Another process was quicker.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                self.open(name)?.ok_or(error)
            }
            created => created,
        }
    }

    /// Gives a file the name of another, which is gone.
    ///
    /// # Errors
    /// When the system can't.
    pub fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        way::rename(&self.0, from, to)
    }

    /// Removes a file.
    ///
    /// # Errors
    /// When the system can't.
    pub fn remove(&self, name: &OsStr) -> io::Result<()> {
        way::remove(&self.0, name)
    }
}

/// Checks whether a file could be made at `path`: whether the last folder of it that is
/// there can be written to. Nothing is made. A full disk or a quota shows only later.
///
/// # Errors
/// Why not.
pub fn try_place(path: &Path) -> io::Result<()> {
    let path = std::path::absolute(path)?;
    let mut folders = path.ancestors().skip(1);
    let Some(known) = folders.find(|folder| folder.symlink_metadata().is_ok()) else {
        return Err(io::ErrorKind::NotFound.into());
    };
    if !known.is_dir() {
        // In the system's own words.
        fs::read_dir(known)?;
    }
    way::try_folder(known)
}

#[cfg(unix)]
mod held {
    //! By the calls that take an open folder.

    use std::ffi::OsStr;
    use std::fs::File;
    use std::io;
    use std::os::fd::OwnedFd;
    use std::path::{Component, Path};

    use rustix::fs::{Access, AtFlags, CWD, Mode, OFlags};

    use crate::ReadAccess;

    pub(super) type FolderHandle = OwnedFd;

    /// To walk through a folder needs no right to list it.
    #[cfg(target_os = "linux")]
    const WALK: OFlags = OFlags::PATH;
    #[cfg(not(target_os = "linux"))]
    const WALK: OFlags = OFlags::RDONLY;

    pub(super) fn open(path: &Path) -> io::Result<FolderHandle> {
        let folder = WALK | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut held = rustix::fs::openat(CWD, "/", folder, Mode::empty())?;
        for part in path.components() {
            let name = match part {
                Component::Normal(name) => name,
                Component::RootDir | Component::CurDir => continue,
                Component::ParentDir | Component::Prefix(_) => {
                    return Err(io::ErrorKind::InvalidInput.into());
                }
            };
            let inner = || rustix::fs::openat(&held, name, folder, Mode::empty());
            let opened = match inner() {
                Err(rustix::io::Errno::NOENT) => {
                    match rustix::fs::mkdirat(&held, name, Mode::from_raw_mode(0o777)) {
                        // Somebody else was quicker.
                        Ok(()) | Err(rustix::io::Errno::EXIST) => inner(),
                        Err(error) => Err(error),
                    }
                }
                other => other,
            };
            held = opened?;
        }
        Ok(held)
    }

    pub(super) fn duplicate(folder: &FolderHandle) -> io::Result<FolderHandle> {
        folder.try_clone()
    }

    pub(super) fn create(
        folder: &FolderHandle,
        name: &OsStr,
        readers: ReadAccess,
    ) -> io::Result<File> {
        let new = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = match readers {
            ReadAccess::Owner => 0o600,
            ReadAccess::Usual => 0o666,
        };
        let file = rustix::fs::openat(folder, name, new, Mode::from_raw_mode(mode))?;
        Ok(file.into())
    }

    pub(super) fn open_file(folder: &FolderHandle, name: &OsStr) -> io::Result<File> {
        // A pipe would wait for its other end.
        let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        match rustix::fs::openat(folder, name, flags, Mode::empty()) {
            Ok(file) => Ok(file.into()),
            Err(rustix::io::Errno::LOOP) => Err(io::Error::other("it is a link")),
            Err(error) => Err(error.into()),
        }
    }

    pub(super) fn rename(folder: &FolderHandle, from: &OsStr, to: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::renameat(folder, from, folder, to)?)
    }

    pub(super) fn remove(folder: &FolderHandle, name: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(folder, name, AtFlags::empty())?)
    }

    pub(super) fn try_folder(folder: &Path) -> io::Result<()> {
        let wanted = Access::WRITE_OK | Access::EXEC_OK;
        Ok(rustix::fs::accessat(CWD, folder, wanted, AtFlags::EACCESS)?)
    }
}

#[cfg(not(unix))]
mod by_path {
    //! By paths.

    use std::ffi::OsStr;
    use std::fs::{self, File, OpenOptions};
    use std::io;
    use std::path::{Path, PathBuf};

    use crate::ReadAccess;

    pub(super) type FolderHandle = PathBuf;

    pub(super) fn open(path: &Path) -> io::Result<FolderHandle> {
        fs::create_dir_all(path)?;
        for part in path.ancestors() {
            no_link(part)?;
        }
        Ok(path.to_owned())
    }

    fn no_link(path: &Path) -> io::Result<()> {
        if path.symlink_metadata()?.is_symlink() {
            return Err(io::Error::other("it is a link"));
        }
        Ok(())
    }

    pub(super) fn duplicate(folder: &FolderHandle) -> io::Result<FolderHandle> {
        Ok(folder.clone())
    }

    /// The folder's own rights decide who may read the file.
    pub(super) fn create(folder: &FolderHandle, name: &OsStr, _: ReadAccess) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true);
        options.open(folder.join(name))
    }

    pub(super) fn open_file(folder: &FolderHandle, name: &OsStr) -> io::Result<File> {
        let path = folder.join(name);
        no_link(&path)?;
        OpenOptions::new().read(true).write(true).open(path)
    }

    pub(super) fn rename(folder: &FolderHandle, from: &OsStr, to: &OsStr) -> io::Result<()> {
        fs::rename(folder.join(from), folder.join(to))
    }

    pub(super) fn remove(folder: &FolderHandle, name: &OsStr) -> io::Result<()> {
        fs::remove_file(folder.join(name))
    }

    pub(super) fn try_folder(folder: &Path) -> io::Result<()> {
        if folder.metadata()?.permissions().readonly() {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        Ok(())
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::io::Write as _;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_link_anywhere_on_the_way_is_refused_and_leads_nowhere() -> io::Result<()> {
        let outer = tempfile::tempdir()?;
        let outer = outer.path().canonicalize()?;
        fs::create_dir_all(outer.join("victim"))?;
        symlink(outer.join("victim"), outer.join("a"))?;
        assert!(Folder::make(&outer.join("a")).is_err());
        assert!(Folder::make(&outer.join("a/new")).is_err());
        assert_eq!(fs::read_dir(outer.join("victim"))?.count(), 0);
        let folder = Folder::make(&outer.join("b/c"))?;
        fs::write(outer.join("victim/file"), "theirs")?;
        symlink(outer.join("victim/file"), outer.join("b/c/x"))?;
        let error = folder.open("x".as_ref()).expect_err("a link");
        assert_eq!(error.to_string(), "it is a link");
        assert!(folder.create("x".as_ref(), ReadAccess::Usual).is_err());
        assert_eq!(fs::read_to_string(outer.join("victim/file"))?, "theirs");
        Ok(())
    }

    #[test]
    fn what_is_held_stays_where_it_was_when_a_link_takes_its_name() -> io::Result<()> {
        let outer = tempfile::tempdir()?;
        let outer = outer.path().canonicalize()?;
        fs::create_dir(outer.join("victim"))?;
        let folder = Folder::make(&outer.join("a"))?;
        fs::rename(outer.join("a"), outer.join("moved"))?;
        symlink(outer.join("victim"), outer.join("a"))?;
        folder
            .create("part".as_ref(), ReadAccess::Usual)?
            .write_all(b"x")?;
        folder.rename("part".as_ref(), "whole".as_ref())?;
        assert_eq!(fs::read_to_string(outer.join("moved/whole"))?, "x");
        assert_eq!(fs::read_dir(outer.join("victim"))?.count(), 0);
        Ok(())
    }

    #[test]
    fn a_file_is_opened_or_made_for_whom_it_should() -> io::Result<()> {
        use std::os::unix::fs::PermissionsExt as _;
        let outer = tempfile::tempdir()?;
        symlink(outer.path(), outer.path().join("here"))?;
        let (folder, name) = Folder::of(&outer.path().join("here/new/file"))?;
        let mode = |file: &File| Ok::<_, io::Error>(file.metadata()?.permissions().mode() & 0o777);
        let created = folder.open_or_create(&name, ReadAccess::Owner)?;
        assert_eq!(mode(&created)?, 0o600);
        let opened = folder.open_or_create(&name, ReadAccess::Usual)?;
        assert_eq!(mode(&opened)?, 0o600, "it was there");
        assert!(outer.path().join("new/file").is_file());
        fs::create_dir(outer.path().join("new/folder"))?;
        assert!(folder.open("folder".as_ref()).is_err());
        Ok(())
    }

    #[test]
    fn a_place_is_tried_without_making_anything() -> io::Result<()> {
        let outer = tempfile::tempdir()?;
        fs::write(outer.path().join("file"), "")?;
        try_place(&outer.path().join("new/er/o.json"))?;
        let error = try_place(&outer.path().join("file/o.json")).expect_err("no folder");
        assert_eq!(error.kind(), io::ErrorKind::NotADirectory);
        assert_eq!(fs::read_dir(outer.path())?.count(), 1);
        Ok(())
    }
}
