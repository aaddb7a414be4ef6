//! Files that hold prompts and answers, for the user alone.
//!
//! In a folder that others can write to, such as that for temporary files, a name that can be
//! foreseen may be there already, as a link to a file of the user's. So a file is made new, and
//! one that is there is written to only if it is what its name says.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use uuid::Uuid;

/// Makes a file that is not there yet, not even as a link.
///
/// # Errors
/// When it is there or can't be made.
pub(crate) fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Opens a file to read and change it; `None` if nothing has that name.
///
/// # Errors
/// When it is no ordinary file, if only a link to one, or can't be opened.
pub(crate) fn open(path: &Path) -> io::Result<Option<File>> {
    let kind = match path.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        metadata => metadata?.file_type(),
    };
    if kind.is_symlink() {
        return Err(io::Error::other("it is a link"));
    }
    // Asked before opening: a pipe would wait for its other end.
    if !kind.is_file() {
        return Err(io::Error::other("it is no ordinary file"));
    }
    let file = OpenOptions::new().read(true).write(true).open(path)?;
    if !is_same(&file, path)? {
        return Err(io::Error::other("it was exchanged while it was opened"));
    }
    Ok(Some(file))
}

/// Whether the file is what stands at the path, and not what a link there leads to.
#[cfg(unix)]
fn is_same(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let (file, path) = (file.metadata()?, path.symlink_metadata()?);
    Ok((file.dev(), file.ino()) == (path.dev(), path.ino()))
}

/// Elsewhere files have no number to compare.
#[cfg(not(unix))]
fn is_same(_file: &File, path: &Path) -> io::Result<bool> {
    Ok(!path.symlink_metadata()?.is_symlink())
}

/// Takes the rights of everybody else from a file that is open.
///
/// # Errors
/// When it belongs to somebody else.
pub(crate) fn close_to_others(file: &File) -> io::Result<()> {
    #[cfg(unix)]
    file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
    #[cfg(not(unix))]
    let _ = file;
    Ok(())
}

/// Makes a file with what `write` writes to it, in the place of one that may be there. That one
/// stays as it is if the writing fails.
///
/// # Errors
/// When the file can't be made or written.
pub(crate) fn replace(
    path: &Path,
    write: impl FnOnce(&mut File) -> io::Result<()>,
) -> io::Result<File> {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}.part", Uuid::new_v4().simple()));
    let beside: PathBuf = path.with_file_name(name);
    let mut file = create(&beside)?;
    let replaced = write(&mut file).and_then(|()| fs::rename(&beside, path));
    if let Err(error) = replaced {
        // When it can't be removed, nothing more can be done.
        drop(fs::remove_file(&beside));
        return Err(error);
    }
    Ok(file)
}

#[cfg(all(test, unix))]
mod tests {
    use std::io::Write as _;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn mode(file: &File) -> u32 {
        let metadata = file.metadata().expect("it is open");
        metadata.permissions().mode() & 0o777
    }

    #[test]
    fn a_link_is_neither_made_into_a_file_nor_followed() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let (victim, link) = (folder.path().join("victim"), folder.path().join("link"));
        fs::write(&victim, "theirs")?;
        symlink(&victim, &link)?;
        assert!(create(&link).is_err());
        assert_eq!(open(&link).expect_err("a link").to_string(), "it is a link");
        assert!(open(folder.path()).is_err());
        assert!(open(&folder.path().join("none"))?.is_none());
        // The link itself makes room.
        let file = replace(&link, |file| file.write_all(b"ours"))?;
        assert_eq!(mode(&file), 0o600);
        assert_eq!(fs::read_to_string(&victim)?, "theirs");
        assert_eq!(fs::read_to_string(&link)?, "ours");
        Ok(())
    }

    #[test]
    fn what_cannot_be_written_leaves_what_was_there() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("file");
        fs::write(&path, "old")?;
        fs::set_permissions(&path, PermissionsExt::from_mode(0o644))?;
        let failed = replace(&path, |_| Err(io::ErrorKind::StorageFull.into()));
        assert!(failed.is_err());
        assert_eq!(fs::read_to_string(&path)?, "old");
        assert_eq!(fs::read_dir(folder.path())?.count(), 1);
        let file = open(&path)?.expect("it is there");
        close_to_others(&file)?;
        assert_eq!(mode(&file), 0o600);
        Ok(())
    }
}
