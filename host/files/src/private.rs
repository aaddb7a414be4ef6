//! A folder that nobody but this user can change, and the files in it.
//!
//! Whoever can write a file of compiled code decides what this program runs. So a file is only
//! handed out if what was opened is a regular file of this user that others cannot write, found
//! without following a link, in a folder of which the same is true; and the folders above it are
//! this user's or the system's, and closed to others, as `ssh` asks of its keys. What is looked at
//! is what is used: the folder stays open, names are looked up in it, and files are judged after
//! they are opened. A folder that others could change is emptied and then used: they may have given a
//! file of this user's another's name.
//!
//! Elsewhere than on Unix there are no such owners and modes, and the folder of a user's profile is
//! closed by the system.

use std::ffi::{OsStr, OsString};
use std::fs::{DirBuilder, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::{Folder, ReadAccess, Replacement};

#[cfg(not(unix))]
use by_path as system;
#[cfg(unix)]
use unix as system;

/// A file that is ours alone, open.
#[derive(Debug)]
pub struct PrivateFile {
    /// To read it.
    pub file: File,
    /// Leads to what was opened as long as it is open, whatever its name means by then: for
    /// libraries that map files by path.
    pub path: PathBuf,
}

/// A folder that is ours alone, open.
#[derive(Debug)]
pub struct PrivateFolder(Folder);

impl PrivateFolder {
    /// Opens a folder, which is made and closed to others if need be. One that others could change
    /// is emptied, and comes with the error that says so.
    ///
    /// # Errors
    /// [`is_untrusted`] if it belongs to others, or they can change what leads to it.
    pub fn open(path: &Path) -> io::Result<(Self, Option<io::Error>)> {
        make_private(path)?;
        let (folder, emptied) = system::open(path)?;
        Ok((Self(folder), emptied))
    }

    /// Opens a file to read it; `None`: there is none.
    ///
    /// # Errors
    /// [`is_untrusted`] if others can change it, or it is no file.
    pub fn read(&self, name: &str) -> io::Result<Option<PrivateFile>> {
        match system::read(&self.0, name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            read => {
                let file = read?;
                // For `shrink`; a disk that can't note it is no reason not to read.
                let _ = file.set_modified(SystemTime::now());
                let path = system::path_of(&self.0, &file, name);
                Ok(Some(PrivateFile { file, path }))
            }
        }
    }

    /// Writes a file beside and renames it, so that nobody ever sees half of it.
    ///
    /// # Errors
    /// When it can't be made, written or renamed.
    pub fn write(&self, name: &str, content: &[u8]) -> io::Result<()> {
        let mut new = Replacement::begin(self.0.try_clone()?, name.as_ref(), ReadAccess::Owner)?;
        new.write_all(content)?;
        new.commit().map(drop)
    }

    /// Removes files, the one written or used longest ago first, until all take at most so many
    /// bytes. What another process writes meanwhile stays.
    ///
    /// # Errors
    /// When the folder can't be read.
    pub fn shrink(&self, most: u64) -> io::Result<()> {
        let mut files = system::files(&self.0)?;
        let mut sum: u64 = files.iter().map(|file| file.bytes).sum();
        files.sort_unstable_by_key(|file| file.used);
        for file in files {
            if sum <= most {
                break;
            }
            // Where it is gone already, another process removed it.
            let _ = self.0.remove(&file.name);
            sum -= file.bytes;
        }
        Ok(())
    }
}

/// A complete file of a folder.
struct CompleteFile {
    name: OsString,
    bytes: u64,
    /// When it was written or last read, in seconds since 1970.
    used: i64,
}

/// Whether a file of this name was written to its end.
fn is_complete(name: &OsStr) -> bool {
    !name.as_encoded_bytes().starts_with(b".")
}

/// Makes a folder and those above it, for this user alone where the system can do so. One that is
/// there keeps its rights.
///
/// # Errors
/// When the system can't.
pub fn make_private(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Whether an error says that others can change a file or folder, rather than that the system did
/// not give it.
pub fn is_untrusted(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied && error.raw_os_error().is_none()
}

#[cfg(unix)]
mod unix {
    use std::ffi::OsStr;
    use std::fs::File;
    use std::io;
    use std::os::fd::{AsRawFd, OwnedFd};
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::MetadataExt;
    use std::path::{Path, PathBuf};

    use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat};
    use rustix::io::Errno;
    use rustix::process::geteuid;

    use super::{CompleteFile, is_complete};
    use crate::Folder;

    /// Set on folders in which only a file's owner may replace it. On one that is to be ours alone it
    /// is the mark that what it holds is not to be trusted.
    const STICKY: u32 = 0o1000;

    /// Write permission of group and others.
    const OTHERS_WRITE: u32 = 0o022;

    pub(super) fn open(path: &Path) -> io::Result<(Folder, Option<io::Error>)> {
        let whole = path.canonicalize()?;
        for above in whole.ancestors().skip(1) {
            let its = std::fs::symlink_metadata(above)?;
            let closed = its.mode() & OTHERS_WRITE == 0 || its.mode() & STICKY != 0;
            if !closed || ![0, geteuid().as_raw()].contains(&its.uid()) {
                return Err(others(above));
            }
        }
        let how = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let folder = File::from(rustix::fs::open(&whole, how, Mode::empty())?);
        let its = folder.metadata()?;
        if its.uid() != geteuid().as_raw() {
            return Err(others(&whole));
        }
        let loose = its.mode() & (OTHERS_WRITE | STICKY) != 0;
        if loose && std::fs::symlink_metadata(path)?.is_symlink() {
            // It may be anything of the user's, with files that nobody may remove.
            return Err(others(&whole));
        }
        if loose {
            // The mark stays until it is empty, for the next to see should this one end.
            rustix::fs::fchmod(&folder, Mode::RWXU | Mode::SVTX)?;
            empty(&folder)?;
        }
        rustix::fs::fchmod(&folder, Mode::RWXU)?;
        let folder = Folder(OwnedFd::from(folder));
        Ok((folder, loose.then(|| others(&whole))))
    }

    /// Removes everything but folders, which are never handed out.
    fn empty(folder: &File) -> io::Result<()> {
        for entry in Dir::read_from(folder)? {
            let entry = entry?;
            let name = entry.file_name();
            let removed = match rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(its) if FileType::from_raw_mode(its.st_mode).is_dir() => continue,
                Ok(_) => rustix::fs::unlinkat(folder, name, AtFlags::empty()),
                Err(error) => Err(error),
            };
            // Another process may be at it, too.
            if !matches!(removed, Err(Errno::NOENT)) {
                removed?;
            }
        }
        Ok(())
    }

    pub(super) fn files(folder: &Folder) -> io::Result<Vec<CompleteFile>> {
        let mut files = Vec::new();
        for entry in Dir::read_from(&folder.0)? {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            let its = match rustix::fs::statat(&folder.0, name, AtFlags::SYMLINK_NOFOLLOW) {
                // Another process may have removed it.
                Err(Errno::NOENT) => continue,
                its => its?,
            };
            if is_complete(name) && FileType::from_raw_mode(its.st_mode) == FileType::RegularFile {
                files.push(CompleteFile {
                    name: name.to_owned(),
                    bytes: its.st_size as u64,
                    used: its.st_mtime,
                });
            }
        }
        Ok(files)
    }

    pub(super) fn read(folder: &Folder, name: &str) -> io::Result<File> {
        // Without waiting for whoever opens the other end of what is no file.
        let how = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match rustix::fs::openat(&folder.0, name, how, Mode::empty()) {
            Err(Errno::LOOP | Errno::MLINK) => return Err(others(Path::new(name))),
            opened => opened?,
        };
        if !is_ours(&rustix::fs::fstat(&file)?) {
            return Err(others(Path::new(name)));
        }
        Ok(File::from(file))
    }

    pub(super) fn path_of(_: &Folder, file: &File, _: &str) -> PathBuf {
        let handles = if cfg!(target_os = "linux") {
            "/proc/self/fd"
        } else {
            "/dev/fd"
        };
        Path::new(handles).join(file.as_raw_fd().to_string())
    }

    fn is_ours(file: &Stat) -> bool {
        FileType::from_raw_mode(file.st_mode) == FileType::RegularFile
            && file.st_uid == geteuid().as_raw()
            && !Mode::from_raw_mode(file.st_mode).intersects(Mode::WGRP | Mode::WOTH)
    }

    fn others(path: &Path) -> io::Error {
        io::Error::new(
            io::ErrorKind::PermissionDenied,
            format!("other users could change {}", path.display()),
        )
    }
}

#[cfg(not(unix))]
mod by_path {
    use std::fs::File;
    use std::io;
    use std::path::{Path, PathBuf};
    use std::time::SystemTime;

    use super::{CompleteFile, is_complete};
    use crate::Folder;

    pub(super) fn open(path: &Path) -> io::Result<(Folder, Option<io::Error>)> {
        Ok((Folder(path.to_owned()), None))
    }

    pub(super) fn files(folder: &Folder) -> io::Result<Vec<CompleteFile>> {
        let mut files = Vec::new();
        for entry in std::fs::read_dir(&folder.0)? {
            let entry = entry?;
            let (name, its) = (entry.file_name(), entry.metadata()?);
            let used = its.modified()?.duration_since(SystemTime::UNIX_EPOCH);
            if is_complete(&name) && its.is_file() {
                files.push(CompleteFile {
                    name,
                    bytes: its.len(),
                    used: used.map_or(0, |time| time.as_secs() as i64),
                });
            }
        }
        Ok(files)
    }

    pub(super) fn read(folder: &Folder, name: &str) -> io::Result<File> {
        File::open(folder.0.join(name))
    }

    pub(super) fn path_of(folder: &Folder, _: &File, name: &str) -> PathBuf {
        folder.0.join(name)
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::io::Read;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).expect("there").permissions().mode() & 0o7777
    }

    fn set(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("it is ours");
    }

    /// Opened with what it holds.
    fn opened(path: &Path) -> PrivateFolder {
        let (folder, emptied) = PrivateFolder::open(path).expect("ours");
        assert!(emptied.is_none(), "{emptied:?}");
        folder
    }

    fn denied<T: std::fmt::Debug>(result: io::Result<T>) {
        let error = result.expect_err("refused");
        assert!(is_untrusted(&error), "{error}");
    }

    #[test]
    fn everything_is_closed_from_the_first_moment() {
        let temp = tempfile::tempdir().expect("a folder");
        let path = temp.path().join("home/cache/plugins");
        let folder = opened(&path);
        for made in ["home", "home/cache", "home/cache/plugins"] {
            assert_eq!(mode(&temp.path().join(made)), 0o700, "{made}");
        }
        folder.write("code", b"one").expect("written");
        folder.write("code", b"two").expect("replaced");
        assert_eq!(mode(&path.join("code")), 0o600);
        let mut text = String::new();
        let mut opened = folder.read("code").expect("ours").expect("there");
        opened.file.read_to_string(&mut text).expect("reads");
        assert_eq!(text, "two");
        folder.write("code", b"three").expect("replaced");
        let mapped = fs::read(&opened.path).expect("what was opened");
        assert_eq!(mapped, b"two", "not what has its name by now");
        assert!(folder.read("other").expect("no harm").is_none());
        assert_eq!(
            fs::read_dir(&path).expect("there").count(),
            1,
            "nothing is left beside"
        );
    }

    #[test]
    fn what_was_not_used_for_longest_goes_first() {
        let temp = tempfile::tempdir().expect("a folder");
        let folder = opened(temp.path());
        let names = ["first", "second", "third", ".unfinished.part"];
        for (age, name) in names.iter().rev().enumerate() {
            folder.write(name, &[0; 10]).expect("written");
            let file = File::open(temp.path().join(name)).expect("there");
            let then = SystemTime::now() - std::time::Duration::from_secs(100 * age as u64 + 100);
            file.set_modified(then).expect("it is ours");
        }
        folder.shrink(30).expect("nothing to do");
        assert_eq!(fs::read_dir(temp.path()).expect("there").count(), 4);
        // Reading is use.
        folder.read("first").expect("ours").expect("there");
        folder.shrink(10).expect("two go");
        let mut left: Vec<_> = fs::read_dir(temp.path())
            .expect("there")
            .map(|entry| entry.expect("an entry").file_name())
            .collect();
        left.sort();
        assert_eq!(left, [".unfinished.part", "first"]);
    }

    #[test]
    fn files_that_others_can_change_are_not_handed_out() {
        let temp = tempfile::tempdir().expect("a folder");
        let folder = opened(temp.path());
        let at = |name: &str| temp.path().join(name);
        for (name, loose) in [("group", 0o620), ("all", 0o606)] {
            folder.write(name, b"code").expect("written");
            set(&at(name), loose);
            denied(folder.read(name));
        }
        symlink(at("group"), at("link")).expect("a link");
        denied(folder.read("link"));
        fs::create_dir(at("folder")).expect("a folder");
        denied(folder.read("folder"));
    }

    /// Needs a user to give files to, so it says nothing unless it runs as root.
    #[test]
    fn what_belongs_to_another_user_is_not_trusted() {
        use std::os::unix::fs::{MetadataExt, chown};
        let temp = tempfile::tempdir().expect("a folder");
        let me = fs::metadata(temp.path()).expect("there").uid();
        if me != 0 {
            return;
        }
        let path = temp.path().join("plugins");
        let folder = opened(&path);
        folder.write("code", b"code").expect("written");
        chown(path.join("code"), Some(65_534), None).expect("root may");
        denied(folder.read("code"));
        chown(&path, Some(65_534), None).expect("root may");
        denied(PrivateFolder::open(&path));
    }

    #[test]
    fn a_loose_folder_is_emptied_and_closed() {
        let temp = tempfile::tempdir().expect("a folder");
        let path = temp.path().join("plugins");
        // The last is how one that was not emptied to its end was left.
        for loose in [0o777, 0o770, 0o702, 0o1777, 0o1700] {
            let folder = opened(&path);
            folder.write("code", b"code").expect("written");
            symlink(temp.path(), path.join("link")).expect("a link");
            fs::create_dir_all(path.join("folder")).expect("a folder");
            set(&path, loose);
            let (folder, emptied) = PrivateFolder::open(&path).expect("it is ours to close");
            assert!(is_untrusted(&emptied.expect("it was loose")), "{loose:o}");
            assert_eq!(mode(&path), 0o700, "{loose:o}");
            assert!(folder.read("code").expect("no harm").is_none(), "{loose:o}");
            assert_eq!(fs::read_dir(&path).expect("there").count(), 1, "{loose:o}");
        }
        set(&path, 0o755);
        opened(&path).write("code", b"code").expect("written");
        assert_eq!(mode(&path), 0o700, "others could read it, and no more");
        assert!(opened(&path).read("code").expect("ours").is_some());
    }

    /// It may lead to any folder of the user's.
    #[test]
    fn a_loose_folder_behind_a_link_keeps_its_files() {
        let folder = tempfile::tempdir().expect("a folder");
        let (real, link) = (folder.path().join("real"), folder.path().join("link"));
        fs::create_dir(&real).expect("made");
        fs::write(real.join("thesis"), "mine").expect("written");
        set(&real, 0o777);
        symlink(&real, &link).expect("linked");
        assert!(PrivateFolder::open(&link).is_err_and(|error| is_untrusted(&error)));
        assert_eq!(fs::read(real.join("thesis")).expect("there"), b"mine");
    }

    #[test]
    fn a_loose_way_to_a_folder_is_refused() {
        let temp = tempfile::tempdir().expect("a folder");
        let path = temp.path().join("above/plugins");
        opened(&path);
        set(&temp.path().join("above"), 0o770);
        denied(PrivateFolder::open(&path));
        set(&temp.path().join("above"), 0o1777);
        // In a sticky folder nobody else can replace it.
        opened(&path);
    }
}
