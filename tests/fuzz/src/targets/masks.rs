//! The masker: no decoding of what it lets through gives the secret.
//!
//! The input is the secret's length and the way in which it is written, what stands before the
//! secret, the secret and what stands after it.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE};
use runner_gateway::{Masker, SHORTEST_MASKED, Secret};

/// What surrounds secrets.
pub(super) const WORDS: &[&str] = &[
    "[masked]", "masked", "Bearer ", "user:", "%", "%25", "%41", "\\u0041", "\\/", "=", "==", "+",
    "/", "sk-", "\"", "\\", "&amp;", "\n", "é",
];

pub(super) fn run(input: &[u8]) -> String {
    let [len, way, before_len, rest @ ..] = input else {
        return String::new();
    };
    let before_len = usize::from(*before_len).min(rest.len());
    let (before, rest) = rest.split_at(before_len);
    let text: String = String::from_utf8_lossy(rest).trim_start().to_owned();
    let count = SHORTEST_MASKED + usize::from(*len) % 40;
    let secret: String = text
        .chars()
        .filter(char::is_ascii_graphic)
        .take(count)
        .collect();
    if secret.len() < SHORTEST_MASKED {
        return String::new();
    }
    let after = &rest[rest.len().min(count)..];
    let masker = Masker::new(&[Secret::new(secret.clone())]);
    let said = [before, secret.as_bytes(), after].concat();
    let way = way % 13;
    let written = written(way, before, said);
    let cleaned = masker.mask_bytes(&written);
    let holds = |bytes: &[u8], secret: &str| {
        let mut windows = bytes.windows(secret.len());
        windows.any(|it| it == secret.as_bytes())
    };
    let lower = secret.to_ascii_lowercase();
    let is_in = |bytes: &[u8]| holds(&bytes.to_ascii_lowercase(), &lower);
    for (how, decoded) in decoded(&cleaned) {
        // Names lose their case on the way, what is encoded does not: there another case is
        // another text.
        let is_there = match how {
            "base64" | "hex" | "hex apart" => holds(&decoded, &secret),
            _ => is_in(&decoded),
        };
        assert!(
            !is_there,
            "{how} of {:?} gives {secret}",
            String::from_utf8_lossy(&cleaned)
        );
    }
    let text = String::from_utf8_lossy(&written);
    let as_text = masker.mask(&text);
    assert!(!is_in(as_text.as_bytes()), "{as_text} has {secret}");
    let is_masked = matches!(cleaned, std::borrow::Cow::Owned(_));
    format!("{} {is_masked}", char::from(b'a' + way))
}

/// What is said, written in one of the ways; `before` is its beginning.
fn written(way: u8, before: &[u8], said: Vec<u8>) -> Vec<u8> {
    let text = String::from_utf8_lossy(&said);
    let json = |text: &str| serde_json::Value::from(text).to_string();
    match way {
        1 => percent_where_needed(&said),
        2 => json(&text).into_bytes(),
        3 => STANDARD.encode(&said).into_bytes(),
        4 => URL_SAFE.encode(&said).into_bytes(),
        5 => {
            let before = String::from_utf8_lossy(before);
            format!("{before}{}", STANDARD_NO_PAD.encode(&said)).into_bytes()
        }
        6 => json(&json(&text)).into_bytes(),
        7 => {
            let pair = |byte: &u8| format!("{byte:02x}").into_bytes();
            said.iter().flat_map(pair).collect()
        }
        8 => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
        9 => json(&json(&json(&text))).into_bytes(),
        10 => {
            let named = text.replace('&', "&amp;").replace('<', "&lt;");
            named.replace('"', "&#034;").into_bytes()
        }
        11 => percent_where_needed(&percent_where_needed(&said)),
        12 => {
            let pair = |byte: &u8| format!("{byte:02x}:").into_bytes();
            said.iter().flat_map(pair).collect()
        }
        _ => said,
    }
}

/// As a form encodes: what is no letter or digit.
fn percent_where_needed(bytes: &[u8]) -> Vec<u8> {
    let one = |byte: &u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => vec![*byte],
        _ => format!("%{byte:02x}").into_bytes(),
    };
    bytes.iter().flat_map(one).collect()
}

/// What a reader could make of it.
fn decoded(bytes: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    let text = String::from_utf8_lossy(bytes);
    let mut all = vec![
        ("the text", bytes.to_vec()),
        ("percent-decoding", percent_decoded(bytes)),
        (
            "percent-decoding twice",
            percent_decoded(&percent_decoded(bytes)),
        ),
    ];
    let unnamed = text.replace("&#034;", "\"").replace("&lt;", "<");
    all.push(("reading HTML", unnamed.replace("&amp;", "&").into_bytes()));
    if let Ok(value) = serde_json::from_slice::<String>(bytes) {
        if let Ok(inner) = serde_json::from_str::<String>(&value) {
            if let Ok(inmost) = serde_json::from_str::<String>(&inner) {
                all.push(("reading JSON three times", inmost.into_bytes()));
            }
            all.push(("reading JSON twice", inner.into_bytes()));
        }
        all.push(("reading JSON", value.into_bytes()));
    }
    for start in 0..2.min(bytes.len()) {
        let pairs = bytes[start..].chunks_exact(2);
        let units: Vec<u16> = pairs
            .map(|pair| u16::from_le_bytes([pair[0], pair[1]]))
            .collect();
        all.push(("UTF-16", String::from_utf16_lossy(&units).into_bytes()));
    }
    let pairs = text.split(':');
    let apart = pairs.filter_map(|pair| u8::from_str_radix(pair, 16).ok());
    all.push(("hex apart", apart.collect()));
    let hex = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    for run in text
        .split(|c: char| !c.is_ascii_hexdigit())
        .filter(|run| run.len() >= 2)
    {
        for start in 0..2 {
            let pairs = run.as_bytes()[start..].chunks_exact(2);
            all.push(("hex", pairs.filter_map(hex).collect()));
        }
    }
    let is_base64 = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '-' | '_');
    for run in text
        .split(|c: char| !is_base64(c))
        .filter(|run| run.len() >= SHORTEST_MASKED)
    {
        let run = run.replace('-', "+").replace('_', "/");
        for start in 0..4 {
            let Some(part) = run.get(start..) else {
                continue;
            };
            let part = &part[..part.len() - part.len() % 4];
            if let Ok(bytes) = STANDARD.decode(part) {
                all.push(("base64", bytes));
            }
        }
    }
    all
}

fn percent_decoded(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let digits = bytes.get(at + 1..at + 3).filter(|_| bytes[at] == b'%');
        let byte = digits.and_then(|it| u8::from_str_radix(std::str::from_utf8(it).ok()?, 16).ok());
        out.push(byte.unwrap_or(bytes[at]));
        at += if byte.is_some() { 3 } else { 1 };
    }
    out
}
