//! Takes secrets out of everything that comes back: responses, messages, log lines.
//!
//! A server that was given a credential may echo it, in its headers, in an error page, in
//! a redirect; the masker sees to it that neither the plugin nor a file nor a terminal
//! ever does. It looks for the forms in which honest software repeats a value: as it is,
//! percent-encoded, escaped for JSON, and inside any base64 text whatever its alignment
//! (so `Basic` headers and encoded logs count). It is no defence against a server that
//! *means* to tell: that server has the secret already and may spell it backwards. What
//! stops that is the binding of a credential to its origins.
//!
//! All forms of all secrets are found in one pass. Text without a match, which is nearly
//! all text, is neither copied nor allocated for.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use aho_corasick::{AhoCorasick, MatchKind};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

use super::secret::Secret;

#[cfg(test)]
mod tests;

/// What stands where a secret was.
pub const MASK: &str = "[masked]";

/// Secrets shorter than this many bytes are not masked. No API gives out keys as short;
/// what people do set is a dummy for a local server (`none`, `ollama`, `test`), and
/// masking that would eat the same word out of every answer.
pub const SHORTEST_MASKED: usize = 8;

/// Replaces every form of its secrets by [`MASK`]. Cheap to clone.
#[derive(Clone, Default)]
pub struct Masker {
    forms: Arc<BTreeSet<Vec<u8>>>,
    finder: Option<AhoCorasick>,
}

impl Masker {
    /// A masker for these secrets.
    pub fn new<'a>(secrets: impl IntoIterator<Item = &'a Secret>) -> Self {
        Self::of_forms(secrets.into_iter().flat_map(forms).collect())
    }

    /// A masker for the secrets of all of these, as logs of a whole run need it.
    pub fn union<'a>(maskers: impl IntoIterator<Item = &'a Self>) -> Self {
        Self::of_forms(
            maskers
                .into_iter()
                .flat_map(|m| m.forms.iter().cloned())
                .collect(),
        )
    }

    fn of_forms(forms: BTreeSet<Vec<u8>>) -> Self {
        let finder = (!forms.is_empty()).then(|| {
            AhoCorasick::builder()
                .match_kind(MatchKind::Standard)
                // Host names and header names lose their case on the way, and
                // percent-encoding has two.
                .ascii_case_insensitive(true)
                .build(&forms)
                .expect("a few short patterns are far below the automaton's limits")
        });
        Self {
            forms: Arc::new(forms),
            finder,
        }
    }

    /// `text` without secrets.
    pub fn mask<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match self.mask_bytes(text.as_bytes()) {
            Cow::Borrowed(_) => Cow::Borrowed(text),
            Cow::Owned(masked) => Cow::Owned(
                // Every form is UTF-8, so what lies between matches is as well.
                String::from_utf8(masked).expect("whole characters were replaced by others"),
            ),
        }
    }

    /// `bytes` without secrets.
    pub fn mask_bytes<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        let found = self.find(bytes);
        if found.is_empty() {
            return Cow::Borrowed(bytes);
        }
        let mut masked = replace(bytes, &found, MASK.as_bytes());
        // The marker and its neighbours could spell a secret that has a piece of the
        // marker in it. Then it goes without a marker; each round is shorter.
        loop {
            let again = self.find(&masked);
            if again.is_empty() {
                return Cow::Owned(masked);
            }
            masked = replace(&masked, &again, b"");
        }
    }

    /// The same for a buffer that is owned, without copying it when it is clean.
    pub fn mask_owned(&self, bytes: Vec<u8>) -> Vec<u8> {
        match self.mask_bytes(&bytes) {
            Cow::Borrowed(_) => bytes,
            Cow::Owned(masked) => masked,
        }
    }

    /// Where secrets are: sorted ranges that neither touch nor overlap. Overlapping
    /// matches count in full, lest one secret's match hide the beginning of another's.
    fn find(&self, bytes: &[u8]) -> Vec<Range<usize>> {
        let Some(finder) = self.finder.as_ref().filter(|finder| finder.is_match(bytes)) else {
            return Vec::new();
        };
        let mut matches: Vec<Range<usize>> = finder
            .find_overlapping_iter(bytes)
            .map(|found| found.range())
            .collect();
        matches.sort_unstable_by_key(|range| (range.start, range.end));
        let mut merged: Vec<Range<usize>> = Vec::new();
        for range in matches {
            match merged.last_mut() {
                Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
                _ => merged.push(range),
            }
        }
        merged
    }
}

impl fmt::Debug for Masker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Masker(…)")
    }
}

fn replace(bytes: &[u8], found: &[Range<usize>], by: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut copied = 0;
    for range in found {
        out.extend_from_slice(&bytes[copied..range.start]);
        out.extend_from_slice(by);
        copied = range.end;
    }
    out.extend_from_slice(&bytes[copied..]);
    out
}

/// Every spelling of a secret that is looked for.
fn forms(secret: &Secret) -> BTreeSet<Vec<u8>> {
    let value = secret.reveal();
    let mut forms = BTreeSet::new();
    if value.len() < SHORTEST_MASKED {
        return forms;
    }
    let mut add = |form: String| forms.insert(form.into_bytes());
    add(value.to_owned());

    let json = serde_json::Value::from(value).to_string();
    let json = json[1..json.len() - 1].to_owned();
    add(json.replace('/', "\\/"));
    add(json);

    let form_encoded: String = url::form_urlencoded::byte_serialize(value.as_bytes()).collect();
    add(percent_encode(value));
    add(form_encoded);
    for offset in 0..3 {
        add(base64_core(&STANDARD_NO_PAD, value, offset));
        add(base64_core(&URL_SAFE_NO_PAD, value, offset));
    }
    forms
}

/// Percent-encodes everything but the unreserved characters of RFC 3986, as
/// `encodeURIComponent` and its like do.
fn percent_encode(value: &str) -> String {
    let mut out = String::new();
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push('%');
            for digit in [byte >> 4, byte & 15] {
                let digit = char::from_digit(u32::from(digit), 16).expect("four bits");
                out.push(digit.to_ascii_uppercase());
            }
        }
    }
    out
}

/// The characters that a base64 text must contain when `value` stands in it at a byte
/// position ≡ `offset` (mod 3): all that depend on no neighbouring byte.
fn base64_core(alphabet: &impl Engine, value: &str, offset: usize) -> String {
    let mut bytes = vec![0; offset];
    bytes.extend_from_slice(value.as_bytes());
    let encoded = alphabet.encode(&bytes);
    let first = (offset * 8).div_ceil(6);
    let end = bytes.len() * 8 / 6;
    encoded[first..end].to_owned()
}
