//! The spellings of a secret that no decoding of escapes leads to.
//!
//! A form is a text that is searched for as it is, whatever the case of its ASCII letters. There
//! is one for each way in which a *whole* value is commonly encoded. Escapes are not among them:
//! the text is also searched as they read it (`escapes`).

use std::collections::BTreeSet;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use data_encoding::HEXLOWER;

use super::escapes::{self, Reading, Sign};
use super::{ROUNDS, SHORTEST_MASKED};

/// Every spelling of a secret that is looked for.
pub(super) fn forms(value: &str) -> BTreeSet<Vec<u8>> {
    // The body of a form has its spaces so; in URLs, too, it is no escape of anything else.
    let spaced = value.replace(' ', "+").into_bytes();
    let mut forms: BTreeSet<Vec<u8>> = [value.as_bytes(), &spaced]
        .into_iter()
        .flat_map(decoded)
        .collect();
    forms.insert(spaced);
    // As who reads a text as a form takes what is in base64.
    forms.insert(value.replace('+', " ").into_bytes());
    forms.extend(doubled(value));
    // As a command for a shell quotes it, which a server may tell to repeat a request.
    let quotes = ["'\\''", "'\"'\"'"].map(|quote| value.replace('\'', quote));
    forms.extend(quotes.map(String::into_bytes));
    forms.extend(bytes(value).into_iter().flat_map(of_bytes));
    forms
}

/// Every spelling of bytes that is looked for.
pub(super) fn of_bytes(bytes: Vec<u8>) -> impl Iterator<Item = Vec<u8>> {
    let hex = HEXLOWER.encode(&bytes).into_bytes();
    base64(&bytes).into_iter().chain([hex, bytes])
}

/// The bytes of a text, as usual encodings have them.
fn bytes(value: &str) -> Vec<Vec<u8>> {
    let mut all = vec![value.as_bytes().to_vec()];
    for unit in [u16::to_le_bytes, u16::to_be_bytes] {
        all.push(value.encode_utf16().flat_map(unit).collect());
    }
    let latin: Result<Vec<u8>, _> = value.chars().map(u8::try_from).collect();
    all.extend(latin.ok().filter(|bytes| bytes.len() >= SHORTEST_MASKED));
    // As who takes UTF-8 for Latin-1 writes it, such as servers that read headers so.
    let mistaken: String = value.bytes().map(char::from).collect();
    all.push(mistaken.into_bytes());
    all
}

/// With each of one sign written twice, as quotes within quotes of SQL, YAML, CSV and Pascal, and what stands
/// for itself in formats (`%%`, `{{`, `$$`). One at an end is left single, so that none of the text around goes.
fn doubled(value: &str) -> impl Iterator<Item = Vec<u8>> {
    let signs: BTreeSet<char> = value.chars().filter(char::is_ascii_punctuation).collect();
    signs.into_iter().map(|sign| {
        let inner = value.trim_matches(sign);
        let begin = value.len() - value.trim_start_matches(sign).len();
        let twice = inner.replace(sign, &String::from_iter([sign, sign]));
        [&value[..begin], &twice, &value[begin + inner.len()..]]
            .concat()
            .into_bytes()
    })
}

/// What is left of a secret that has escapes itself, where those of the text around it are
/// decoded. A backslash at its end goes with what follows.
fn decoded(value: &[u8]) -> Vec<Vec<u8>> {
    let end = value.iter().rposition(|byte| *byte != b'\\');
    let mut text = value[..end.map_or(0, |end| end + 1)].to_vec();
    let mut all = Vec::new();
    if text.len() < value.len() && text.len() >= SHORTEST_MASKED {
        all.push(text.clone());
    }
    for _ in 0..ROUNDS {
        let mut next = Vec::new();
        let mut at = 0;
        while let Some(byte) = text.get(at) {
            let (sign, length) =
                escapes::read(&text[at..], Reading::Usual).unwrap_or((Sign::Byte(*byte), 1));
            next.extend_from_slice(sign.bytes(&mut [0; 4]));
            at += length;
        }
        if next == text || next.len() < SHORTEST_MASKED {
            break;
        }
        all.push(next.clone());
        text = next;
    }
    all
}

/// In base64 text, of either alphabet.
fn base64(bytes: &[u8]) -> Vec<Vec<u8>> {
    (0..3)
        .flat_map(|offset| {
            [
                core(&STANDARD_NO_PAD, bytes, offset),
                core(&URL_SAFE_NO_PAD, bytes, offset),
            ]
        })
        .collect()
}

/// The characters that a base64 text must contain when these bytes stand in it at a
/// position ≡ `offset` (mod 3): all that depend on no neighbouring byte.
fn core(alphabet: &impl Engine, value: &[u8], offset: usize) -> Vec<u8> {
    let mut bytes = vec![0; offset];
    bytes.extend_from_slice(value);
    let encoded = alphabet.encode(&bytes);
    let first = (offset * 8).div_ceil(6);
    let end = bytes.len() * 8 / 6;
    encoded.as_bytes()[first..end].to_vec()
}
