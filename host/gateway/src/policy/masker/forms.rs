//! The spellings of a secret: what software makes of a text that it was given.
//!
//! A form is a text that is searched for as it is, whatever the case of its ASCII letters. So
//! there is one for each way in which a *whole* value is commonly spelled, and none for what
//! somebody would have to make by hand: every second letter escaped, say.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

/// Every spelling of a secret that is looked for.
pub(super) fn forms(value: &str) -> BTreeSet<Vec<u8>> {
    let wide: Vec<Vec<u8>> = [u16::to_le_bytes, u16::to_be_bytes]
        .into_iter()
        .map(|bytes| value.encode_utf16().flat_map(bytes).collect())
        .collect();
    let mut texts = vec![value.to_owned(), hex(value, "")];
    texts.extend([json(value), percent(value), html(value), base64(value)].concat());
    texts.extend(within_json(&hex(value, "\\x")));
    // In a string of JSON its zeros are spelled.
    let spelled = wide
        .iter()
        .filter_map(|wide| std::str::from_utf8(wide).ok());
    texts.extend(spelled.flat_map(|wide| within_json(&json_string(wide))));
    // A text with any of these may stand in the JSON of a body, or of a record of ours.
    let in_body: Vec<String> = texts.iter().map(|text| json_string(text)).collect();
    let texts = texts.into_iter().chain(in_body);
    texts.map(String::into_bytes).chain(wide).collect()
}

/// A text, and the same where what it stands in is a string of JSON.
fn within_json(text: &str) -> Vec<String> {
    let mut all = usual_json(text);
    all.push(text.to_owned());
    all
}

/// In strings of JSON, JavaScript and their like, and in those of JSON that is such a string: the
/// arguments of a tool, the logged body of a response. What is deeper is not looked for.
fn json(value: &str) -> Vec<String> {
    let whole = |text: &str| escaped(text, |_| true);
    let usual = usual_json(value);
    let twice = usual.iter().flat_map(|inner| usual_json(inner));
    let mut all: Vec<String> = twice.chain(usual.iter().map(|text| whole(text))).collect();
    all.extend(within_json(&whole(value)));
    all.extend(usual);
    all
}

/// As the usual libraries spell it.
fn usual_json(value: &str) -> Vec<String> {
    let plain = &json_string(value);
    let beyond_ascii = |sign: char| !sign.is_ascii();
    vec![
        plain.to_owned(),
        plain.replace('/', "\\/"),
        // Python's.
        escaped(plain, beyond_ascii),
        // PHP's.
        escaped(&plain.replace('/', "\\/"), beyond_ascii),
        // Go's, Gson's.
        escaped(plain, |sign| "<>&\u{2028}\u{2029}".contains(sign)),
        escaped(plain, |sign| "<>&='".contains(sign)),
        // .NET's, which writes its quotes so, too.
        escaped(&plain.replace("\\\"", "\""), |sign| {
            "<>&+'`\"".contains(sign) || !sign.is_ascii()
        }),
    ]
}

/// What stands between the quotes.
fn json_string(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

/// With `\uXXXX` for these characters.
fn escaped(text: &str, which: impl Fn(char) -> bool) -> String {
    let mut out = String::new();
    for sign in text.chars() {
        if which(sign) {
            for unit in sign.encode_utf16(&mut [0; 2]) {
                write!(out, "\\u{unit:04x}").expect("a string takes everything");
            }
        } else {
            out.push(sign);
        }
    }
    out
}

/// In URLs and forms, once and twice.
fn percent(value: &str) -> Vec<String> {
    /// What `encodeURI` leaves as it is beside letters and digits; what
    /// `encodeURIComponent` does; the unreserved characters of RFC 3986; none.
    const LEFT: [&str; 4] = ["-._~!*'();/?:@&=+$,#", "-._~!*'()", "-._~", ""];
    let mut forms: Vec<String> = LEFT
        .iter()
        .map(|left| {
            percent_encoded(value, |byte| {
                byte.is_ascii_alphanumeric() || left.as_bytes().contains(&byte)
            })
        })
        .collect();
    forms.push(url::form_urlencoded::byte_serialize(value.as_bytes()).collect());
    forms.push(percent_encoded(value, |_| false));
    let twice: Vec<String> = forms.iter().map(|form| form.replace('%', "%25")).collect();
    forms.extend(twice);
    forms
}

fn percent_encoded(value: &str, stays: impl Fn(u8) -> bool) -> String {
    let mut out = String::new();
    for byte in value.bytes() {
        if stays(byte) {
            out.push(char::from(byte));
        } else {
            write!(out, "%{byte:02X}").expect("a string takes everything");
        }
    }
    out
}

/// In HTML and XML.
fn html(value: &str) -> Vec<String> {
    let text = value
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    let quoted = text.replace('"', "&quot;");
    let numbered = |number: fn(u32) -> String| {
        let signs = value.chars().map(|sign| number(u32::from(sign)));
        signs.collect::<String>()
    };
    vec![
        quoted.replace('\'', "&#x27;"),
        quoted.replace('\'', "&#39;"),
        quoted.replace('\'', "&#039;"),
        quoted.replace('\'', "&apos;"),
        // Go's two.
        text.replace('"', "&#34;").replace('\'', "&#39;"),
        text.replace('"', "&#34;")
            .replace('\'', "&#39;")
            .replace('+', "&#43;"),
        numbered(|sign| format!("&#{sign};")),
        numbered(|sign| format!("&#x{sign:x};")),
        text,
        quoted,
    ]
}

/// Two digits for each byte, each with this before it.
fn hex(value: &str, before: &str) -> String {
    value.bytes().fold(String::new(), |mut out, byte| {
        write!(out, "{before}{byte:02x}").expect("a string takes everything");
        out
    })
}

/// In base64 text, also where that stands in a URL or in JSON.
fn base64(value: &str) -> Vec<String> {
    (0..3)
        .flat_map(|offset| {
            let core = core(&STANDARD_NO_PAD, value, offset);
            [
                core.replace('+', "%2B").replace('/', "%2F"),
                core.replace('/', "\\/"),
                core.replace('/', "\\\\/"),
                core.replace('/', "\\\\\\/"),
                core.replace('+', "\\u002b"),
                core.replace('+', "\\\\u002b"),
                core,
                self::core(&URL_SAFE_NO_PAD, value, offset),
            ]
        })
        .collect()
}

/// The characters that a base64 text must contain when `value` stands in it at a byte
/// position ≡ `offset` (mod 3): all that depend on no neighbouring byte.
fn core(alphabet: &impl Engine, value: &str, offset: usize) -> String {
    let mut bytes = vec![0; offset];
    bytes.extend_from_slice(value.as_bytes());
    let encoded = alphabet.encode(&bytes);
    let first = (offset * 8).div_ceil(6);
    let end = bytes.len() * 8 / 6;
    encoded[first..end].to_owned()
}
