//! A zip archive, as spreadsheets are: for tests that make odd ones.

use miniz_oxide::deflate::compress_to_vec;

/// How the parts of an archive are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packing {
    /// As they are.
    Stored,
    /// Deflated.
    Deflated,
}

/// An archive of these parts, by name. Their checksums are left out: nobody asks for them.
pub fn archive(parts: &[(&str, &[u8])], packing: Packing) -> Vec<u8> {
    let (mut bytes, mut list) = (Vec::new(), Vec::new());
    for (name, text) in parts {
        let (method, content) = match packing {
            Packing::Stored => (0, text.to_vec()),
            Packing::Deflated => (8, compress_to_vec(text, 6)),
        };
        let sizes = [le(0, 4), le(content.len(), 4), le(text.len(), 4)].concat();
        let lengths = [le(name.len(), 2), le(0, 2)].concat();
        // Version, flags, method, time.
        let head = [le(20, 2), le(0, 2), le(method, 2), le(0, 4), sizes, lengths].concat();
        let offset = le(bytes.len(), 4);
        bytes.extend([&b"PK\x03\x04"[..], &head, name.as_bytes(), &content].concat());
        let entry = [&b"PK\x01\x02"[..], &le(20, 2), &head, &[0; 10], &offset];
        list.extend(entry.concat());
        list.extend(name.as_bytes());
    }
    let (count, offset) = (le(parts.len(), 2), le(bytes.len(), 4));
    let size = le(list.len(), 4);
    let end = [
        &b"PK\x05\x06\0\0\0\0"[..],
        &count,
        &count,
        &size,
        &offset,
        &[0; 2],
    ];
    [bytes, list, end.concat()].concat()
}

/// So many bytes of a number, the lowest first.
fn le(number: usize, len: usize) -> Vec<u8> {
    number.to_le_bytes()[..len].to_vec()
}
