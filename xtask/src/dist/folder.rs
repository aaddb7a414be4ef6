//! A folder that is being filled, with messages that say what could not be written.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::step::Failure;

/// A folder; what is put into it brings the folders on the way with it.
#[derive(Debug, Clone)]
pub(super) struct Folder(PathBuf);

impl Folder {
    /// Makes it, without what was in it.
    pub(super) fn emptied(path: PathBuf) -> Result<Self, Failure> {
        let folder = Self(path);
        folder.remove()?;
        folder.done("", fs::create_dir_all(&folder.0))?;
        Ok(folder)
    }

    /// One in it.
    pub(super) fn below(&self, name: &str) -> Self {
        Self(self.0.join(name))
    }

    /// Where something in it is.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Copies a file, with the right to run it.
    pub(super) fn copy(&self, from: &Path, to: &str) -> Result<(), Failure> {
        let copied = self.above(to).and_then(|to| fs::copy(from, to));
        self.done(
            &format!("{to}, a copy of {}", from.display()),
            copied.map(drop),
        )
    }

    /// Writes a file.
    pub(super) fn write(&self, to: &str, content: &[u8]) -> Result<(), Failure> {
        let written = self.above(to).and_then(|to| fs::write(to, content));
        self.done(to, written)
    }

    /// Lets everybody run a file.
    pub(super) fn executable(&self, name: &str) -> Result<(), Failure> {
        self.done(name, with_mode(&self.path(name), 0o755))
    }

    /// Makes a folder in it that everybody may write to.
    pub(super) fn open_folder(&self, name: &str) -> Result<(), Failure> {
        let path = self.path(name);
        let made = fs::create_dir_all(&path).and_then(|()| with_mode(&path, 0o1777));
        self.done(name, made)
    }

    /// Removes it, if it is there.
    pub(super) fn remove(&self) -> Result<(), Failure> {
        match fs::remove_dir_all(&self.0) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => self.done("", Err(error)),
            _ => Ok(()),
        }
    }

    fn above(&self, to: &str) -> io::Result<PathBuf> {
        let to = self.0.join(to);
        fs::create_dir_all(to.parent().unwrap_or(&self.0))?;
        Ok(to)
    }

    fn done(&self, what: &str, result: io::Result<()>) -> Result<(), Failure> {
        let shown = self.0.join(what);
        result.map_err(|error| Failure::new(format!("cannot write {}: {error}", shown.display())))
    }
}

#[cfg(unix)]
fn with_mode(path: &Path, mode: u32) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
}

#[cfg(not(unix))]
fn with_mode(_path: &Path, _mode: u32) -> io::Result<()> {
    Ok(())
}
