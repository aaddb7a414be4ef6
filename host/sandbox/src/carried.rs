//! The components that the program carries behind its own code, compiled when it was built.
//!
//! Nothing is compiled where the program runs, and nothing lies beside it: it reads its own file.
//! Loading compiled code is running it, so what is read must be what was put there: the digest of the
//! list is in the program's memory ([`seal`]), the list has the digest of each part, and a file whose
//! bytes have others is refused. So it does not matter by which path the file was found.
//!
//! ```text
//! the program │ part │ part │ … │ list (JSON) │ its length │
//!    └─ seal: sha256 of the list ─────^
//! ```
//!
//! The road not taken: a section that the linker makes. The engine that compiles the parts has to be
//! built first, and is the program; linking it again with its fruits would double the longest step of
//! a build, on each change of a plugin.

use std::fs::File;
use std::io::{self, Read, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

pub(crate) mod seal;

/// Bytes at the end of the file: how long the list is.
const LENGTH_BYTES: u64 = 8;

/// Largest list: thirty plugins take 60 kB.
const MAX_LIST_BYTES: u64 = 16 << 20;

/// Compressed parts refer to what is this far back at most, as a power of two: the largest part has
/// 47 MB.
pub(crate) const WINDOW_LOG: u32 = 26;

/// The components in a program's file.
#[derive(Debug)]
pub struct CarriedSet {
    path: PathBuf,
    /// The place to read from is the file's own.
    file: Mutex<File>,
    list: List,
}

/// Why the components in a program's file can't be used.
#[derive(Debug, thiserror::Error)]
pub enum CarriedError {
    /// The system does not give the file.
    #[error("the program's own file {} can't be read", .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Its bytes are not those that were put there.
    #[error("the program's own file {} is damaged: {what}", .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Which.
        what: String,
    },
}

/// What is in the file.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct List {
    /// The commit that it was built from, if that is known.
    pub(crate) commit: Option<String>,
    pub(crate) parts: Vec<Part>,
}

/// A compiled component in the file.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Part {
    pub(crate) about: ComponentHeader,
    /// Where its first byte is.
    pub(crate) begin: u64,
    /// Bytes in the file.
    pub(crate) packed: u64,
    /// Of those, in hex.
    pub(crate) packed_sha256: String,
    /// Bytes of code.
    pub(crate) size: u64,
    /// The part that it was compressed against, if there is one: most plugins have much in common.
    pub(crate) like: Option<String>,
}

/// What loading a component needs to know of it beside its code.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ComponentHeader {
    /// The file's name without its ending.
    pub name: String,
    /// Of the component that was compiled, in hex.
    pub sha256: String,
    /// Linear memory that it starts with, in bytes.
    pub(crate) start_memory: u64,
    /// Places in the pool that one instance takes.
    pub(crate) places: u32,
    /// What it says of itself, as it is kept on disk.
    pub(crate) description: String,
}

impl CarriedSet {
    /// Whether this program was given components to carry.
    pub fn is_expected() -> bool {
        seal::digest().is_some()
    }

    /// The components that this program was given, which `file` is; `None` if it was given none.
    ///
    /// # Errors
    /// [`CarriedError`] if they are not there.
    pub fn of_program(file: File, path: &Path) -> Result<Option<Self>, CarriedError> {
        let Some(digest) = seal::digest() else {
            return Ok(None);
        };
        Self::read(file, path, digest).map(Some)
    }

    /// Reads the list, which has to have this digest.
    fn read(mut file: File, path: &Path, digest: [u8; 32]) -> Result<Self, CarriedError> {
        let unreadable = |source| CarriedError::Unreadable {
            path: path.to_owned(),
            source,
        };
        let damaged = |what: &str| CarriedError::Damaged {
            path: path.to_owned(),
            what: what.to_owned(),
        };
        let cut = || damaged("it was cut off, or something was put behind it");
        let end = file.seek(SeekFrom::End(0)).map_err(unreadable)?;
        let list_end = end.checked_sub(LENGTH_BYTES).ok_or_else(cut)?;
        let length = bytes_at(&mut file, list_end, LENGTH_BYTES).map_err(unreadable)?;
        let length = u64::from_le_bytes(length.try_into().expect("as many bytes were asked for"));
        if length > MAX_LIST_BYTES {
            return Err(cut());
        }
        let begin = list_end.checked_sub(length).ok_or_else(cut)?;
        let list = bytes_at(&mut file, begin, length).map_err(unreadable)?;
        if *Sha256::digest(&list) != digest {
            return Err(cut());
        }
        let list = serde_json::from_slice(&list)
            .map_err(|_| damaged("its list of plugins can't be read"))?;
        Ok(Self {
            path: path.to_owned(),
            file: Mutex::new(file),
            list,
        })
    }

    /// The program's file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The commit that the program was built from, if whoever built it said so.
    pub fn commit(&self) -> Option<&str> {
        self.list.commit.as_deref()
    }

    /// What is known of each component, in the order of their names.
    pub fn components(&self) -> impl Iterator<Item = &ComponentHeader> {
        self.list.parts.iter().map(|part| &part.about)
    }

    /// What is known of the component of this name.
    pub fn about(&self, name: &str) -> Option<&ComponentHeader> {
        self.components().find(|about| about.name == name)
    }

    /// The code of the component of this name.
    pub(crate) fn code(&self, name: &str) -> Result<Vec<u8>, CarriedError> {
        let part = self.part(name)?;
        let prefix = match &part.like {
            None => Vec::new(),
            // One that was compressed alone.
            Some(like) => self.unpacked(self.part(like)?, &[])?,
        };
        self.unpacked(part, &prefix)
    }

    fn part(&self, name: &str) -> Result<&Part, CarriedError> {
        let mut parts = self.list.parts.iter();
        let part = parts.find(|part| part.about.name == name);
        part.ok_or_else(|| self.damaged(format!("its list lacks {name}")))
    }

    /// Reads all of it, and holds it against the digests.
    ///
    /// # Errors
    /// [`CarriedError`] of the first part that is not what was put there.
    pub fn check(&self) -> Result<(), CarriedError> {
        let mut parts = self.list.parts.iter();
        parts.try_for_each(|part| self.packed(part).map(drop))
    }

    /// The bytes of a part as they are in the file, which are those that were put there.
    fn packed(&self, part: &Part) -> Result<Vec<u8>, CarriedError> {
        let packed = {
            // Who panicked has read a part at most; each begins with its place.
            let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
            bytes_at(&mut file, part.begin, part.packed)
        };
        let packed = packed.map_err(|source| CarriedError::Unreadable {
            path: self.path.clone(),
            source,
        })?;
        if HEXLOWER.encode(&Sha256::digest(&packed)) == part.packed_sha256 {
            Ok(packed)
        } else {
            let name = &part.about.name;
            Err(self.damaged(format!("the digest of plugin {name} doesn't match")))
        }
    }

    fn unpacked(&self, part: &Part, prefix: &[u8]) -> Result<Vec<u8>, CarriedError> {
        let packed = self.packed(part)?;
        let mut code = Vec::with_capacity(usize::try_from(part.size).unwrap_or(0));
        let unpacked = zstd::Decoder::with_ref_prefix(&packed[..], prefix).and_then(|mut it| {
            it.window_log_max(WINDOW_LOG)?;
            it.take(part.size).read_to_end(&mut code)
        });
        match unpacked {
            Ok(size) if size as u64 == part.size => Ok(code),
            _ => {
                let name = &part.about.name;
                Err(self.damaged(format!("the plugin {name} can't be unpacked")))
            }
        }
    }

    fn damaged(&self, what: String) -> CarriedError {
        CarriedError::Damaged {
            path: self.path.clone(),
            what,
        }
    }
}

/// So many bytes from there.
fn bytes_at(file: &mut File, begin: u64, count: u64) -> io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(begin))?;
    let mut bytes = Vec::with_capacity(usize::try_from(count).unwrap_or(0));
    file.take(count).read_to_end(&mut bytes)?;
    if bytes.len() as u64 == count {
        Ok(bytes)
    } else {
        Err(io::ErrorKind::UnexpectedEof.into())
    }
}

#[cfg(test)]
mod tests;
