//! A zip archive in memory: its parts by name, unpacked one at a time and never beyond a limit.
//!
//! As much of zip as spreadsheet programs write: a list of parts at the end, parts stored as they
//! are or deflated. No encryption, no archives in several files, none over 4 GiB.

use std::collections::BTreeMap;

use miniz_oxide::inflate::decompress_to_vec_with_limit;

use super::{Room, WAY_OUT};

/// How far from the end the list of parts may be announced: a comment may follow.
const MAX_TAIL: usize = (1 << 16) + 22;

/// The beginnings of the three kinds of records.
const END: &[u8] = b"PK\x05\x06";
const LISTED: &[u8] = b"PK\x01\x02";
const LOCAL: &[u8] = b"PK\x03\x04";

/// An archive.
pub(super) struct Archive<'a> {
    bytes: &'a [u8],
    parts: BTreeMap<String, ArchivedPart>,
    pub(super) room: Room,
    /// What may still be unpacked.
    left: usize,
}

/// Where a part is.
#[derive(Debug, Clone, Copy)]
struct ArchivedPart {
    method: u16,
    packed: usize,
    /// Of its own head.
    offset: usize,
}

impl<'a> Archive<'a> {
    /// Reads the list of parts.
    pub(super) fn new(bytes: &'a [u8], room: Room) -> Result<Self, String> {
        let broken = || "is no spreadsheet: its list of parts can't be read".to_owned();
        let tail = bytes.len().saturating_sub(MAX_TAIL);
        let end = find_last(&bytes[tail..], END).ok_or_else(broken)? + tail;
        let count = number(bytes, end + 10, 2).ok_or_else(broken)?;
        let mut at = number(bytes, end + 16, 4).ok_or_else(broken)?;
        let mut parts = BTreeMap::new();
        for _ in 0..count {
            let (name, part, len) = listed(bytes, at).ok_or_else(broken)?;
            parts.insert(name, part);
            at += len;
        }
        Ok(Self {
            bytes,
            parts,
            room,
            left: room.bytes,
        })
    }

    /// Bytes that were unpacked so far.
    pub(super) fn unpacked(&self) -> usize {
        self.room.bytes - self.left
    }

    /// Reads a part as text; `None` if there is none of that name.
    pub(super) fn text(&mut self, name: &str) -> Result<Option<String>, String> {
        let Some(part) = self.parts.get(name).copied() else {
            return Ok(None);
        };
        let packed = self
            .packed(part)
            .ok_or_else(|| format!("is damaged: '{name}' is not where the list says"))?;
        let too_much = || {
            let mib = self.room.bytes >> 20;
            format!("'{name}' is damaged, or more than {mib} MiB when it is unpacked{WAY_OUT}")
        };
        let bytes = match part.method {
            0 if packed.len() <= self.left => packed.to_vec(),
            0 => return Err(too_much()),
            8 => decompress_to_vec_with_limit(packed, self.left).map_err(|_| too_much())?,
            _ => return Err(format!("'{name}' is packed in a way that is not known")),
        };
        self.left = self.left.saturating_sub(bytes.len());
        let text = String::from_utf8(bytes).map_err(|_| format!("'{name}' is not UTF-8 text"))?;
        Ok(Some(text))
    }

    fn packed(&self, part: ArchivedPart) -> Option<&'a [u8]> {
        let ArchivedPart { packed, offset, .. } = part;
        if self.bytes.get(offset..)?.get(..4)? != LOCAL {
            return None;
        }
        let name = number(self.bytes, offset + 26, 2)?;
        let extra = number(self.bytes, offset + 28, 2)?;
        self.bytes.get(offset + 30 + name + extra..)?.get(..packed)
    }
}

/// An entry of the list at `at`: name, part, and the entry's own length.
fn listed(bytes: &[u8], at: usize) -> Option<(String, ArchivedPart, usize)> {
    if bytes.get(at..)?.get(..4)? != LISTED {
        return None;
    }
    let field = |offset, len| number(bytes, at + offset, len);
    let (name, extra, comment) = (field(28, 2)?, field(30, 2)?, field(32, 2)?);
    let part = ArchivedPart {
        method: u16::try_from(field(10, 2)?).ok()?,
        packed: field(20, 4)?,
        offset: field(42, 4)?,
    };
    let text = bytes.get(at + 46..)?.get(..name)?;
    let text = String::from_utf8_lossy(text).into_owned();
    Some((text, part, 46 + name + extra + comment))
}

/// A number of `len` bytes, the lowest first.
fn number(bytes: &[u8], at: usize, len: usize) -> Option<usize> {
    let bytes = bytes.get(at..)?.get(..len)?;
    Some(
        bytes
            .iter()
            .rev()
            .fold(0, |sum, byte| sum << 8 | usize::from(*byte)),
    )
}

fn find_last(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes
        .windows(wanted.len())
        .rposition(|window| window == wanted)
}
