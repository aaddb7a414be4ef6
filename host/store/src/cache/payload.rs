//! A response as bytes: packed, compressed, and sealed against damage.
//!
//! The packed form, little-endian: the key (32 bytes), status (2), latency (8), number of headers
//! (4), for each header two texts with their length (4) ahead, and the body up to the end. If the
//! highest bit of that number is set, the times of pieces stand before the body: their number (4), and
//! each with its end and its time (4 and 4). It is
//! stored as one zlib stream, whose checksum is looked at. The key is in it so that a damaged
//! index can't serve another request's answer: that would be a wrong result, and nobody would
//! notice.
//!
//! No JSON: a body is any bytes, and half of the work would be escaping.

use miniz_oxide::deflate::compress_to_vec_zlib;
use miniz_oxide::inflate::decompress_to_vec_zlib_with_limit;

use super::CachedResponse;
use crate::digest::Digest;

/// deflate's fastest level. Measured on answers of 1 to 13 KB: level 6 saves 5 to 15 % more and
/// takes twice the time.
const LEVEL: u8 = 1;

/// The largest response that is kept at all, packed. Also bounds what a damaged length can make
/// the reader allocate.
pub(super) const PLAIN_LIMIT: usize = 256 << 20;

/// The bit of the number of headers that says that times of pieces follow.
const HAS_PIECES: u32 = 1 << 31;

/// A sealed response.
#[derive(Debug)]
pub(super) struct Sealed {
    /// The zlib stream.
    pub(super) payload: Vec<u8>,
    /// Bytes before compression.
    pub(super) plain_bytes: usize,
}

/// `None` when the response is larger than what is kept.
pub(super) fn seal(key: &Digest, response: &CachedResponse) -> Option<Sealed> {
    let plain_bytes = packed_bytes(response);
    if plain_bytes > PLAIN_LIMIT {
        return None;
    }
    let plain = pack(key, response, plain_bytes);
    Some(Sealed {
        payload: compress_to_vec_zlib(&plain, LEVEL),
        plain_bytes,
    })
}

/// `None` when it is damaged in any way, or was sealed for another key.
pub(super) fn open(
    key: &Digest,
    payload: &[u8],
    plain_bytes: i64,
    stored_at_ms: i64,
) -> Option<CachedResponse> {
    let plain_bytes = usize::try_from(plain_bytes).ok()?;
    let limit = plain_bytes.min(PLAIN_LIMIT);
    let plain = decompress_to_vec_zlib_with_limit(payload, limit).ok()?;
    if plain.len() != plain_bytes {
        return None;
    }
    unpack(key, &plain, stored_at_ms)
}

fn packed_bytes(response: &CachedResponse) -> usize {
    let fixed = Digest::BYTES + size_of::<u16>() + size_of::<u64>() + size_of::<u32>();
    let headers = response.headers.iter();
    let headers: usize = headers
        .map(|(name, value)| 2 * size_of::<u32>() + name.len() + value.len())
        .sum();
    let pieces = match response.pieces.len() {
        0 => 0,
        count => size_of::<u32>() + count * 2 * size_of::<u32>(),
    };
    fixed + headers + pieces + response.body.len()
}

fn pack(key: &Digest, response: &CachedResponse, bytes: usize) -> Vec<u8> {
    let mut plain = Vec::with_capacity(bytes);
    plain.extend(key.as_bytes());
    plain.extend(response.status.to_le_bytes());
    plain.extend(response.latency_ms.to_le_bytes());
    let has_pieces = if response.pieces.is_empty() {
        0
    } else {
        HAS_PIECES
    };
    plain.extend((response.headers.len() as u32 | has_pieces).to_le_bytes());
    for (name, value) in &response.headers {
        for text in [name, value] {
            plain.extend((text.len() as u32).to_le_bytes());
            plain.extend(text.as_bytes());
        }
    }
    if has_pieces != 0 {
        plain.extend((response.pieces.len() as u32).to_le_bytes());
        for (end, ms) in &response.pieces {
            plain.extend(end.to_le_bytes());
            plain.extend(ms.to_le_bytes());
        }
    }
    plain.extend(&response.body);
    plain
}

fn unpack(key: &Digest, plain: &[u8], stored_at_ms: i64) -> Option<CachedResponse> {
    let mut rest = plain;
    if take::<{ Digest::BYTES }>(&mut rest)? != *key.as_bytes() {
        return None;
    }
    let status = u16::from_le_bytes(take(&mut rest)?);
    let latency_ms = u64::from_le_bytes(take(&mut rest)?);
    let count = u32::from_le_bytes(take(&mut rest)?);
    // Not with this capacity: a damaged count would allocate it.
    let mut headers = Vec::new();
    for _ in 0..count & !HAS_PIECES {
        headers.push((text(&mut rest)?, text(&mut rest)?));
    }
    let mut pieces = Vec::new();
    if count & HAS_PIECES != 0 {
        for _ in 0..u32::from_le_bytes(take(&mut rest)?) {
            let (end, ms) = (take(&mut rest)?, take(&mut rest)?);
            pieces.push((u32::from_le_bytes(end), u32::from_le_bytes(ms)));
        }
    }
    Some(CachedResponse {
        status,
        headers,
        body: rest.to_vec(),
        pieces,
        latency_ms,
        stored_at_ms,
    })
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, after) = rest.split_first_chunk()?;
    *rest = after;
    Some(*taken)
}

fn text(rest: &mut &[u8]) -> Option<String> {
    let length = u32::from_le_bytes(take(rest)?) as usize;
    let (text, after) = rest.split_at_checked(length)?;
    *rest = after;
    String::from_utf8(text.to_vec()).ok()
}

#[cfg(test)]
mod tests;
