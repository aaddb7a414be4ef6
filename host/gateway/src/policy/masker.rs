//! Takes secrets out of everything that comes back: responses, messages, log lines.
//!
//! A server that was given a credential may echo it, in its headers, in an error page, in
//! a redirect; the masker sees to it that neither the plugin nor a file nor a terminal
//! ever does. It looks for the forms in which honest software repeats a value:
//!
//! - as it is, whatever the case of its letters, and in UTF-16 of either order;
//! - percent-encoded, in part or whole, once or twice;
//! - escaped for JSON, HTML and XML, as the usual libraries do, or letter by letter; in JSON also
//!   twice, as it stands in a text of JSON within JSON, and in a body that has such a text;
//! - in hex, and inside any base64 text whatever its alignment (so `Basic` headers and encoded
//!   logs count), both also across the ends of lines.
//!
//! It does not look into what is compressed (`coding` unpacks answers before), into one of these
//! within another, but for those above, into other codings, or for a part of a value. It is no
//! defence against a server that *means* to tell: that server has the secret already and may
//! spell it backwards. What stops that is the binding of a credential to its origins.
//!
//! All forms of all secrets are found in one pass. Text without a match, which is nearly
//! all text, is neither copied nor allocated for.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

use crate::policy::secret::Secret;

mod forms;
mod lines;
#[cfg(test)]
mod tests;

use lines::Unbroken;

/// What stands where a secret was.
pub(crate) const MASK: &str = "[masked]";

/// Secrets shorter than this many bytes are not masked. No API gives out keys as short;
/// what people do set is a dummy for a local server (`none`, `ollama`, `test`), and
/// masking that would eat the same word out of every answer.
pub const SHORTEST_MASKED: usize = 8;

/// Replaces every form of its secrets by `[masked]`. Cheap to clone.
#[derive(Clone, Default)]
pub struct Masker {
    forms: Arc<BTreeSet<Vec<u8>>>,
    finder: Option<AhoCorasick>,
}

impl Masker {
    /// A masker for these secrets.
    pub fn new<'a>(secrets: impl IntoIterator<Item = &'a Secret>) -> Self {
        let values = secrets.into_iter().map(Secret::reveal);
        let masked = values.filter(|value| value.len() >= SHORTEST_MASKED);
        Self::of_forms(masked.flat_map(forms::forms).collect())
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
                // A DFA takes 65 KB for each byte of a secret.
                .kind(Some(AhoCorasickKind::ContiguousNFA))
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
            // A form of UTF-16 may begin or end within a character.
            Cow::Owned(masked) => Cow::Owned(
                String::from_utf8(masked)
                    .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()),
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
    pub(crate) fn mask_owned(&self, bytes: Vec<u8>) -> Vec<u8> {
        match self.mask_bytes(&bytes) {
            Cow::Borrowed(_) => bytes,
            Cow::Owned(masked) => masked,
        }
    }

    /// Where secrets are: sorted ranges that neither touch nor overlap. Overlapping
    /// matches count in full, lest one secret's match hide the beginning of another's.
    fn find(&self, bytes: &[u8]) -> Vec<Range<usize>> {
        let Some(finder) = &self.finder else {
            return Vec::new();
        };
        let found = matches(finder, bytes);
        let Some(unbroken) = Unbroken::of(bytes) else {
            return found;
        };
        let broken = matches(finder, &unbroken.bytes);
        let mut all: Vec<_> = broken.iter().map(|range| unbroken.in_text(range)).collect();
        all.extend(found);
        all.sort_unstable_by_key(|range| range.end);
        merged(all.into_iter())
    }
}

fn matches(finder: &AhoCorasick, bytes: &[u8]) -> Vec<Range<usize>> {
    if !finder.is_match(bytes) {
        return Vec::new();
    }
    // In the order of their ends.
    merged(
        finder
            .find_overlapping_iter(bytes)
            .map(|found| found.range()),
    )
}

/// Joins ranges that touch or overlap; they come in the order of their ends. As they come, since
/// there may be many more of them than are left.
fn merged(ranges: impl Iterator<Item = Range<usize>>) -> Vec<Range<usize>> {
    let mut merged: Vec<Range<usize>> = Vec::new();
    for mut range in ranges {
        while let Some(last) = merged.pop_if(|last| range.start <= last.end) {
            range.start = range.start.min(last.start);
        }
        merged.push(range);
    }
    merged
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
