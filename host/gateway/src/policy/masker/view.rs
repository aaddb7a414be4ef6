//! A part of a text as somebody may read it, with the place that each byte has in the text.

use std::ops::Range;

use super::escapes::Reading;
use super::regions::Alphabet;
use super::skip::position;

/// What is read instead of a part of a text.
#[derive(Default)]
pub(super) struct View {
    pub(super) bytes: Vec<u8>,
    /// Where each of them begins, counted from the beginning of the part.
    places: Vec<u32>,
    part: Range<usize>,
}

impl View {
    /// Begins with a part of a text as it is.
    pub(super) fn begin(&mut self, text: &[u8], part: Range<usize>) {
        self.clear(part.clone());
        self.bytes.extend_from_slice(&text[part]);
        self.places.extend((0..).take(self.bytes.len()));
    }

    /// Begins with nothing of a part.
    pub(super) fn clear(&mut self, part: Range<usize>) {
        self.bytes.clear();
        self.places.clear();
        self.part = part;
    }

    /// Makes room for so many bytes.
    pub(super) fn reserve(&mut self, bytes: usize) {
        self.bytes.reserve(bytes);
        self.places.reserve(bytes);
    }

    /// Adds a byte that begins at this place of the text.
    pub(super) fn push(&mut self, byte: u8, place: usize) {
        self.bytes.push(byte);
        let place = place - self.part.start;
        self.places
            .push(u32::try_from(place).expect("no part is so long"));
    }

    /// Decodes the escapes that begin with one of these, and says whether there were any. What they
    /// stand for is never longer.
    pub(super) fn decode(
        &mut self,
        begins: [u8; 3],
        reading: Reading,
        alphabet: &Alphabet,
    ) -> bool {
        let (mut read, mut written) = (0, 0);
        while read < self.bytes.len() {
            let may_be = begins.contains(&self.bytes[read]);
            let escape = may_be
                .then(|| alphabet.escape(&self.bytes[read..], reading))
                .flatten();
            let Some((sign, length)) = escape else {
                let plain = position(&self.bytes[read + 1..], begins);
                let end = plain.map_or(self.bytes.len(), |plain| read + 1 + plain);
                self.bytes.copy_within(read..end, written);
                self.places.copy_within(read..end, written);
                (read, written) = (end, written + end - read);
                continue;
            };
            let place = self.places[read];
            let mut buffer = [0; 4];
            for byte in sign.bytes(&mut buffer) {
                self.bytes[written] = *byte;
                self.places[written] = place;
                written += 1;
            }
            read += length;
        }
        self.bytes.truncate(written);
        self.places.truncate(written);
        written < read
    }

    /// Where a range of it stands in the text. An escape of which it has a part counts in full.
    pub(super) fn in_text(&self, range: &Range<usize>) -> Range<usize> {
        let last = self.places[range.end - 1];
        let next = self.places[range.end..].iter().find(|place| **place > last);
        let end = next.map_or(self.part.end, |next| self.part.start + *next as usize);
        self.part.start + self.places[range.start] as usize..end
    }
}
