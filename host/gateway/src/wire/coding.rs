//! Answers that travel compressed, though requests ask that they don't.
//!
//! Every request says `accept-encoding: identity`, since in a compressed answer no secret can be
//! found. Some servers compress all the same. What is gzip or deflate is unpacked here, before
//! the masker and whoever keeps answers see it; an answer in any other coding, or in several, is
//! refused, whether a credential was sent or not: a config may have put a secret anywhere. A coding of
//! the transfer counts like one of the content; the client takes off `chunked` alone. So does gzip that
//! no header states: such is an object that was stored compressed, and so is a file that is meant to
//! be one, in which a secret is no easier to find.
//!
//! Unpacked answers have the limit of all answers, so that no small one becomes a large one. The
//! checksum of gzip is not looked at: what the transport broke, TLS and TCP would have noticed.

use miniz_oxide::inflate::stream::{InflateState, inflate};
use miniz_oxide::{DataFormat, MZFlush, MZStatus};
use reqwest::header::{CONTENT_ENCODING, HeaderMap, TRANSFER_ENCODING};

/// How a body is coded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Coding {
    /// Not at all.
    Plain,
    Gzip,
    /// As the standard has it, in zlib's frame; as some servers have it, without.
    Deflate,
    /// In a way that is not read here.
    Other,
}

/// Why a body can't be unpacked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DecodeError {
    /// It is not what its header says, or it is packed once more.
    Broken,
    /// It would be larger than allowed.
    TooLarge,
}

/// The coding that the headers state, or the first bytes of the body.
pub(crate) fn coding(headers: &HeaderMap, body: &[u8]) -> Coding {
    let of_content = headers.get_all(CONTENT_ENCODING).iter();
    let of_transfer = headers.get_all(TRANSFER_ENCODING).iter();
    let mut stated = of_content
        .chain(of_transfer)
        .flat_map(|value| value.as_bytes().split(|byte| *byte == b','))
        .map(<[u8]>::trim_ascii)
        .filter(|word| !word.is_empty() && !is_one_of(word, &["identity", "chunked"]));
    let coding = match stated.next() {
        None if is_gzip(body) => Coding::Gzip,
        None => Coding::Plain,
        Some(word) if is_one_of(word, &["gzip", "x-gzip"]) => Coding::Gzip,
        Some(word) if is_one_of(word, &["deflate"]) => Coding::Deflate,
        Some(_) => Coding::Other,
    };
    if stated.next().is_some() {
        Coding::Other
    } else {
        coding
    }
}

fn is_one_of(word: &[u8], names: &[&str]) -> bool {
    names
        .iter()
        .any(|name| word.eq_ignore_ascii_case(name.as_bytes()))
}

/// No text begins so.
fn is_gzip(body: &[u8]) -> bool {
    body.starts_with(&[0x1f, 0x8b, 8])
}

/// The body without its coding, at most `most` bytes of it. An empty one has none.
pub(crate) fn unpacked(body: &[u8], coding: Coding, most: usize) -> Result<Vec<u8>, DecodeError> {
    let plain = match coding {
        Coding::Gzip => members(body, most),
        Coding::Deflate => match inflated(body, DataFormat::Zlib, most) {
            Err(DecodeError::Broken) => inflated(body, DataFormat::Raw, most),
            result => result,
        }
        .map(|(plain, _)| plain),
        Coding::Plain | Coding::Other => Err(DecodeError::Broken),
    }?;
    if is_gzip(&plain) {
        return Err(DecodeError::Broken);
    }
    Ok(plain)
}

/// Gzip: one member, or several one after the other.
fn members(mut body: &[u8], most: usize) -> Result<Vec<u8>, DecodeError> {
    /// CRC and size, which follow the data.
    const TRAILER: usize = 8;
    /// Honest answers have one. Empty ones would cost time and no bytes.
    const MOST: usize = 64;
    let mut plain = Vec::new();
    for _ in 0..MOST {
        let data = after_header(body).ok_or(DecodeError::Broken)?;
        let (member, used) = inflated(data, DataFormat::Raw, most - plain.len())?;
        plain.extend_from_slice(&member);
        body = data.get(used + TRAILER..).ok_or(DecodeError::Broken)?;
        // Some servers fill up with zeros.
        if body.iter().all(|byte| *byte == 0) {
            return Ok(plain);
        }
    }
    Err(DecodeError::Broken)
}

/// What follows the header of a gzip member.
fn after_header(member: &[u8]) -> Option<&[u8]> {
    const FHCRC: u8 = 2;
    const FEXTRA: u8 = 4;
    const FNAME: u8 = 8;
    const FCOMMENT: u8 = 16;
    let [0x1f, 0x8b, 8, flags, ..] = *member else {
        return None;
    };
    let mut rest = member.get(10..)?;
    if flags & FEXTRA != 0 {
        let (length, extra) = rest.split_first_chunk::<2>()?;
        rest = extra.get(usize::from(u16::from_le_bytes(*length))..)?;
    }
    for text in [FNAME, FCOMMENT] {
        if flags & text != 0 {
            let end = rest.iter().position(|byte| *byte == 0)?;
            rest = &rest[end + 1..];
        }
    }
    if flags & FHCRC != 0 {
        rest = rest.get(2..)?;
    }
    Some(rest)
}

/// The data of one stream, and how much of `packed` it was.
fn inflated(
    packed: &[u8],
    format: DataFormat,
    most: usize,
) -> Result<(Vec<u8>, usize), DecodeError> {
    let mut state = InflateState::new_boxed(format);
    let mut part = vec![0; 64 << 10];
    let (mut plain, mut used) = (Vec::new(), 0);
    loop {
        let step = inflate(&mut state, &packed[used..], &mut part, MZFlush::None);
        used += step.bytes_consumed;
        if plain.len() + step.bytes_written > most {
            return Err(DecodeError::TooLarge);
        }
        plain.extend_from_slice(&part[..step.bytes_written]);
        match step.status {
            Ok(MZStatus::StreamEnd) => return Ok((plain, used)),
            Ok(_) if step.bytes_consumed + step.bytes_written > 0 => {}
            _ => return Err(DecodeError::Broken),
        }
    }
}

#[cfg(test)]
mod tests {
    use miniz_oxide::deflate::{compress_to_vec, compress_to_vec_zlib};
    use reqwest::header::HeaderValue;

    use super::*;

    const PLAIN: &[u8] = b"Bearer sk-12345678 and so on";

    fn gzip(plain: &[u8]) -> Vec<u8> {
        let mut member = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
        member.extend(compress_to_vec(plain, 6));
        member.extend([0; 8]);
        member
    }

    #[test]
    fn the_headers_say_how_a_body_is_coded() {
        let cases: [(&[&str], Coding); 10] = [
            (&[], Coding::Plain),
            (&["identity"], Coding::Plain),
            (&["", "Identity, "], Coding::Plain),
            (&["GZIP"], Coding::Gzip),
            (&["identity, x-gzip"], Coding::Gzip),
            (&["deflate"], Coding::Deflate),
            (&["br"], Coding::Other),
            (&["gzip, gzip"], Coding::Other),
            (&["gzip", "deflate"], Coding::Other),
            (&["gzip, chunked"], Coding::Gzip),
        ];
        for (values, expected) in cases {
            for name in [CONTENT_ENCODING, TRANSFER_ENCODING] {
                let mut headers = HeaderMap::new();
                for value in values {
                    headers.append(&name, HeaderValue::from_static(value));
                }
                assert_eq!(coding(&headers, PLAIN), expected, "{name}: {values:?}");
            }
        }
        let mut both = HeaderMap::new();
        for name in [CONTENT_ENCODING, TRANSFER_ENCODING] {
            both.insert(name, HeaderValue::from_static("gzip"));
        }
        assert_eq!(coding(&both, PLAIN), Coding::Other);
    }

    #[test]
    fn gzip_is_known_by_its_first_bytes_once() {
        let packed = gzip(PLAIN);
        assert_eq!(coding(&HeaderMap::new(), &packed), Coding::Gzip);
        for image in [
            &b"\x89PNG\r\n"[..],
            b"\xff\xd8\xff",
            b"GIF89a",
            b"\x1f\x8b",
            b"",
        ] {
            assert_eq!(coding(&HeaderMap::new(), image), Coding::Plain);
        }
        for coding in [Coding::Gzip, Coding::Deflate] {
            let twice = match coding {
                Coding::Gzip => gzip(&packed),
                _ => compress_to_vec_zlib(&packed, 6),
            };
            assert_eq!(unpacked(&twice, coding, 1000), Err(DecodeError::Broken));
        }
    }

    #[test]
    fn what_is_packed_is_unpacked_in_every_frame() {
        let mut with_names = vec![0x1f, 0x8b, 8, 2 | 4 | 8 | 16, 0, 0, 0, 0, 0, 3];
        with_names.extend(b"\x03\x00ext");
        with_names.extend(b"name\0comment\0");
        with_names.extend(b"cc");
        with_names.extend(&gzip(PLAIN)[10..]);
        let padded = [gzip(PLAIN), vec![0; 100]].concat();
        let cases = [
            (gzip(PLAIN), Coding::Gzip),
            (with_names, Coding::Gzip),
            (padded, Coding::Gzip),
            (compress_to_vec_zlib(PLAIN, 6), Coding::Deflate),
            (compress_to_vec(PLAIN, 6), Coding::Deflate),
        ];
        for (packed, coding) in cases {
            let plain = unpacked(&packed, coding, PLAIN.len());
            assert_eq!(plain.as_deref(), Ok(PLAIN), "{coding:?}");
            let cut = unpacked(&packed, coding, PLAIN.len() - 1);
            assert_eq!(cut, Err(DecodeError::TooLarge), "{coding:?}");
        }
        let two = [gzip(b"one "), gzip(b"two")].concat();
        assert_eq!(unpacked(&two, Coding::Gzip, 100), Ok(b"one two".to_vec()));
        assert_eq!(unpacked(&two, Coding::Gzip, 6), Err(DecodeError::TooLarge));
        let many = gzip(b"").repeat(65);
        assert_eq!(unpacked(&many, Coding::Gzip, 6), Err(DecodeError::Broken));
    }

    #[test]
    fn what_is_no_stream_is_broken_wherever_it_ends() {
        let whole = gzip(PLAIN);
        for end in 0..whole.len() {
            let cut = unpacked(&whole[..end], Coding::Gzip, 1000);
            assert_eq!(cut, Err(DecodeError::Broken), "{end}");
        }
        let followed = [whole.as_slice(), b"plain"].concat();
        for (body, coding) in [
            (followed.as_slice(), Coding::Gzip),
            (PLAIN, Coding::Gzip),
            (PLAIN, Coding::Deflate),
            (PLAIN, Coding::Other),
        ] {
            let result = unpacked(body, coding, 1000);
            assert_eq!(result, Err(DecodeError::Broken), "{coding:?}");
        }
    }

    #[test]
    fn a_bomb_ends_at_its_limit() {
        let bomb = gzip(&vec![0; 8 << 20]);
        assert!(bomb.len() < 16 << 10);
        let result = unpacked(&bomb, Coding::Gzip, 1 << 20);
        assert_eq!(result, Err(DecodeError::TooLarge));
    }
}
