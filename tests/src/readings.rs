//! What a reader can make of bytes: every decoding that a tool would try, from every place at
//! which it could begin. For tests that look for a secret where none may be.
//!
//! It reads more than any tool does (two alphabets at once, escapes of three languages in one
//! text), because what it does not find nobody finds. One decoding at a time, but for escapes,
//! which are also taken off twice.

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use miniz_oxide::inflate::{decompress_to_vec_with_limit, decompress_to_vec_zlib_with_limit};

/// All readings of `bytes`, themselves among them.
pub fn readings(bytes: &[u8]) -> Vec<Vec<u8>> {
    let with_spaces: Vec<u8> = bytes
        .iter()
        .map(|byte| if *byte == b'+' { b' ' } else { *byte })
        .collect();
    let once = unescaped(bytes);
    let dense = once.iter().filter(|byte| !byte.is_ascii_whitespace());
    let dense: Vec<u8> = dense.copied().collect();
    let mut all = vec![bytes.to_vec(), unescaped(&once), unescaped(&with_spaces)];
    for text in [bytes, &dense] {
        all.extend(of_hex(text));
        all.extend(of_base64(text));
    }
    all.extend(of_utf_16(bytes));
    all.extend(of_utf_16(&once));
    all.push(once);
    all
}

/// What is in the zlib streams among `bytes`, as the response cache has them, and in those of gzip
/// without a name.
pub fn inflated(bytes: &[u8]) -> Vec<Vec<u8>> {
    const MOST: usize = 1 << 24;
    const GZIP_HEAD: usize = 10;
    let stream = |at: usize| match bytes[at..] {
        [0x78, next, ..] if (0x7800 + u16::from(next)) % 31 == 0 => {
            decompress_to_vec_zlib_with_limit(&bytes[at..], MOST).ok()
        }
        [0x1f, 0x8b, 8, 0, ..] => {
            decompress_to_vec_with_limit(bytes.get(at + GZIP_HEAD..)?, MOST).ok()
        }
        _ => None,
    };
    (0..bytes.len()).filter_map(stream).collect()
}

fn runs(text: &[u8], which: fn(&u8) -> bool) -> impl Iterator<Item = &[u8]> {
    text.chunk_by(move |a, b| which(a) == which(b))
        .filter(move |run| run.first().is_some_and(which))
}

fn of_hex(text: &[u8]) -> Vec<Vec<u8>> {
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    runs(text, u8::is_ascii_hexdigit)
        .flat_map(|run| [run, &run[1..]])
        .map(|run| run.chunks_exact(2).filter_map(byte).collect())
        .collect()
}

fn of_base64(text: &[u8]) -> Vec<Vec<u8>> {
    // With padding or without, and whatever the last character has to say.
    let config = GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent);
    let engine = GeneralPurpose::new(&STANDARD, config);
    let is_base64 = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/-_".contains(byte);
    let mut all = Vec::new();
    for run in runs(text, is_base64) {
        let standard = |byte: &u8| match byte {
            b'-' => b'+',
            b'_' => b'/',
            byte => *byte,
        };
        let run: Vec<u8> = run.iter().map(standard).collect();
        for start in 0..4.min(run.len()) {
            let whole = &run[start..];
            let end = whole.len() - usize::from(whole.len() % 4 == 1);
            all.extend(engine.decode(&whole[..end]));
        }
    }
    all
}

fn of_utf_16(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for start in 0..2.min(bytes.len()) {
        for order in [u16::from_le_bytes, u16::from_be_bytes] {
            let pairs = bytes[start..].chunks_exact(2);
            let units = pairs.map(|pair| order([pair[0], pair[1]]));
            let text: String = char::decode_utf16(units)
                .map(|sign| sign.unwrap_or(char::REPLACEMENT_CHARACTER))
                .collect();
            all.push(text.into_bytes());
        }
    }
    all
}

/// Without the escapes of URLs, JSON and HTML.
fn unescaped(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some(first) = rest.first() {
        let (sign, length) = match first {
            b'%' => number(rest.get(1..3), 16).map(|sign| (sign, 3)),
            b'\\' => escape(rest),
            b'&' => entity(rest),
            _ => None,
        }
        .unwrap_or((*first, 1));
        out.push(sign);
        rest = &rest[length..];
    }
    out
}

fn escape(text: &[u8]) -> Option<(u8, usize)> {
    match text.get(1)? {
        b'u' => number(text.get(2..6), 16).map(|sign| (sign, 6)),
        b'x' => number(text.get(2..4), 16).map(|sign| (sign, 4)),
        b'n' | b'r' => Some((b'\n', 2)),
        sign => Some((*sign, 2)),
    }
}

fn entity(text: &[u8]) -> Option<(u8, usize)> {
    const NAMED: [(&[u8], u8); 5] = [
        (b"&amp;", b'&'),
        (b"&lt;", b'<'),
        (b"&gt;", b'>'),
        (b"&quot;", b'"'),
        (b"&apos;", b'\''),
    ];
    if let Some((name, sign)) = NAMED.iter().find(|(name, _)| text.starts_with(name)) {
        return Some((*sign, name.len()));
    }
    let end = text.iter().take(10).position(|byte| *byte == b';')?;
    let sign = match text.get(1..3)? {
        b"#x" | b"#X" => number(text.get(3..end), 16)?,
        [b'#', _] => number(text.get(2..end), 10)?,
        _ => return None,
    };
    Some((sign, end + 1))
}

/// A number of these digits, if it is one of a byte: the tests' secrets are ASCII.
fn number(digits: Option<&[u8]>, radix: u32) -> Option<u8> {
    u8::from_str_radix(std::str::from_utf8(digits?).ok()?, radix).ok()
}
