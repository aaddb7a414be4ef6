//! Room on the disk: how much of it results leave to everybody else.
//!
//! A stranger's rows can make results of many megabytes each, and a disk that is full stops more
//! than this program. So a run is not begun, and rows are not written, where less would be left.
//! Asked before each group of rows: that costs microseconds. It is no quota: others write
//! meanwhile, and a disk that can't be asked counts as one with room.

use std::path::Path;

use crate::error::StoreError;

/// Bytes that are left free unless said otherwise: enough for a system to go on.
const LEFT_FREE: u64 = 256 << 20;

/// The part of a small disk that is left free, where that is less.
const PART: u64 = 20;

/// How much is left free.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum LeftFree {
    /// [`LEFT_FREE`], or a twentieth of a small disk.
    #[default]
    Usual,
    /// So many bytes.
    Bytes(u64),
}

/// A disk, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Disk {
    size: u64,
    free: u64,
}

impl LeftFree {
    /// Checks whether `more` bytes can be written beside `file`.
    ///
    /// # Errors
    /// [`StoreError::NoRoom`].
    pub(crate) fn check(self, file: &Path, more: u64) -> Result<(), StoreError> {
        room(file, more, |disk| self.of(disk))
    }

    /// Checks whether `more` bytes that no database took can be written beside `file`. Half of what is left
    /// free is there for them: they end a run, and may have been paid for.
    ///
    /// # Errors
    /// [`StoreError::NoRoom`].
    pub(crate) fn check_rescue(self, file: &Path, more: u64) -> Result<(), StoreError> {
        room(file, more, |disk| self.of(disk) / 2)
    }

    fn of(self, disk: Disk) -> u64 {
        match self {
            Self::Usual => LEFT_FREE.min(disk.size / PART),
            Self::Bytes(bytes) => bytes,
        }
    }
}

/// Checks whether `more` bytes leave as much free as they have to.
fn room(file: &Path, more: u64, left_free: impl Fn(Disk) -> u64) -> Result<(), StoreError> {
    let disk = disk(file.parent().unwrap_or(file));
    match disk.map(|disk| (disk.free, left_free(disk))) {
        Some((free, left_free)) if free < left_free.saturating_add(more) => {
            Err(StoreError::NoRoom {
                path: file.to_owned(),
                free,
                left_free,
            })
        }
        _ => Ok(()),
    }
}

/// What the system says of the disk that a folder is on.
#[cfg(unix)]
fn disk(folder: &Path) -> Option<Disk> {
    let said = rustix::fs::statvfs(folder).ok()?;
    // Some file systems have no size.
    (said.f_blocks > 0).then(|| Disk {
        size: said.f_blocks.saturating_mul(said.f_frsize),
        free: said.f_bavail.saturating_mul(said.f_frsize),
    })
}

#[cfg(not(unix))]
fn disk(_folder: &Path) -> Option<Disk> {
    None
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_small_disk_keeps_a_part_of_itself() {
        let left = |size| LeftFree::Usual.of(Disk { size, free: 0 });
        assert_eq!(left(64 << 20), (64 << 20) / 20);
        assert_eq!(left(1 << 40), 256 << 20);
        assert_eq!(LeftFree::Bytes(7).of(Disk { size: 1, free: 0 }), 7);
    }

    #[test]
    fn what_would_leave_too_little_is_refused_with_the_figures() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("runs.db");
        let check = |left: LeftFree, more| left.check(&file, more);
        assert!(check(LeftFree::Bytes(0), 0).is_ok());
        for refused in [
            check(LeftFree::Bytes(u64::MAX), 0),
            check(LeftFree::Bytes(0), u64::MAX),
        ] {
            let error = refused.expect_err("no disk is so large");
            assert!(matches!(error, StoreError::NoRoom { .. }), "{error}");
        }
        assert!(LeftFree::Bytes(9).check(Path::new("/no/where"), 9).is_ok());
    }

    #[test]
    fn a_rescue_may_take_half_of_what_is_left_free() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("x.rescue.jsonl");
        let free = disk(folder.path()).expect("a disk").free;
        let left = LeftFree::Bytes(free / 2 * 3);
        assert!(left.check(&file, 0).is_err());
        assert!(left.check_rescue(&file, 0).is_ok());
        assert!(left.check_rescue(&file, free / 2).is_err());
    }
}
