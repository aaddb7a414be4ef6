//! Base64 and hex that are broken into lines, as MIME, PEM and many tools do.
//!
//! A break may be anywhere in a secret, so there is no form to search for. Instead the text is
//! searched once more without its breaks, if it has any that look so. Spelled ends are known here,
//! whatever is before them: that is cheaper than to decode all lines of a text in JSON.

use std::ops::Range;

use super::skip::position;

/// A line of so many letters and digits of base64 is taken for one. Words of people are shorter,
/// and the tools' lines longer.
const SHORTEST_LINE: usize = 16;

/// A text without the breaks within base64.
pub(super) struct Unbroken {
    pub(super) bytes: Vec<u8>,
    /// Places in `bytes` at which something was left out, and how much until there.
    gaps: Vec<(usize, usize)>,
}

impl Unbroken {
    /// `None` if there is nothing to leave out.
    pub(super) fn of(text: &[u8]) -> Option<Self> {
        let mut found: Option<Self> = None;
        let (mut at, mut copied) = (0, 0);
        while let Some(skipped) = position(&text[at..], *b"\r\n\\") {
            at += skipped;
            // What was left out is in no line.
            let line = text[copied..at].iter().rev().take(SHORTEST_LINE);
            let is_line = line.take_while(|byte| is_base64(**byte)).count() == SHORTEST_LINE;
            let length = if is_line {
                break_length(&text[at..])
            } else {
                0
            };
            if length > 0 && text.get(at + length).is_some_and(|next| is_base64(*next)) {
                let unbroken = found.get_or_insert_with(|| Self {
                    bytes: Vec::with_capacity(text.len()),
                    gaps: Vec::new(),
                });
                unbroken.bytes.extend_from_slice(&text[copied..at]);
                copied = at + length;
                unbroken
                    .gaps
                    .push((unbroken.bytes.len(), copied - unbroken.bytes.len()));
            }
            at += length.max(1);
        }
        if let Some(unbroken) = &mut found {
            unbroken.bytes.extend_from_slice(&text[copied..]);
        }
        found
    }

    /// Where a range of it stands in the text.
    pub(super) fn in_text(&self, range: &Range<usize>) -> Range<usize> {
        self.place(range.start)..self.place(range.end - 1) + 1
    }

    fn place(&self, at: usize) -> usize {
        let before = self.gaps.partition_point(|(gap, _)| *gap <= at);
        at + before.checked_sub(1).map_or(0, |last| self.gaps[last].1)
    }
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+/-_".contains(&byte)
}

/// How long a line's end is, with the indentation after it; 0: it is none. In strings of JSON it
/// is spelled.
fn break_length(text: &[u8]) -> usize {
    let ends: [&[u8]; 4] = [b"\r", b"\n", b"\\r", b"\\n"];
    let mut length = 0;
    while let Some(end) = ends.iter().find(|end| text[length..].starts_with(end)) {
        length += end.len();
    }
    if length == 0 {
        return 0;
    }
    let indented = text[length..]
        .iter()
        .take_while(|byte| b" \t".contains(byte));
    length + indented.count()
}
