//! Hex whose bytes stand apart: `de:ad`, `de ad`, `DE-AD`, `0xde, 0xad`, also in several lines.
//!
//! What stands between may be anything, so there is no form to search for. Instead the digits are
//! searched alone wherever hardly anything else stands.

use std::ops::Range;

use super::view::View;
use super::{MOST, SHORTEST_MASKED};

/// A secret takes two digits and something between for each of its bytes. Every so many bytes the
/// text is probed, for as many bytes as are left of a secret that begins right behind the last.
const STEP: usize = 16;
const PROBE: usize = SHORTEST_MASKED * 3 - 1 - (STEP - 1);

/// Which bytes are digits, or stand between them. Ends of lines may be spelled.
const PART: [bool; 256] = {
    let mut part = [false; 256];
    let all = b"0123456789abcdefABCDEFxX \t\r\n\\rnt:,;-";
    let mut at = 0;
    while at < all.len() {
        part[all[at] as usize] = true;
        at += 1;
    }
    part
};

/// How much of a part that is too long is looked at again with the next.
const OVERLAP: usize = MOST / 4;

/// Where digits with something between them stand.
pub(super) struct Pairs<'a> {
    text: &'a [u8],
    probed: usize,
    floor: usize,
}

impl<'a> Pairs<'a> {
    pub(super) fn of(text: &'a [u8]) -> Self {
        Self {
            text,
            probed: 0,
            floor: 0,
        }
    }

    /// Finds the next digits alone, in this view; `false` if there are none left.
    pub(super) fn next(&mut self, view: &mut View) -> bool {
        while let Some(probe) = self.text.get(self.probed..self.probed + PROBE) {
            if !probe.iter().all(|byte| is_part(*byte)) {
                self.probed += STEP;
                continue;
            }
            let part = self.around();
            // The last probe may have been in it already.
            self.floor = part.end;
            self.probed = part.end.next_multiple_of(STEP).max(self.probed + STEP);
            if part.len() == MOST {
                self.floor -= OVERLAP;
                self.probed = self.floor.next_multiple_of(STEP);
            }
            if self.digits(part, view) {
                return true;
            }
        }
        false
    }

    fn around(&self) -> Range<usize> {
        let before = self.text[self.floor..self.probed].iter().rev();
        let start = self.probed - before.take_while(|byte| is_part(**byte)).count();
        let after = self.text[start..].iter().take(MOST);
        start..start + after.take_while(|byte| is_part(**byte)).count()
    }

    /// Whether there are enough of them, and not all in one piece; only then the view has them.
    fn digits(&self, part: Range<usize>, view: &mut View) -> bool {
        let count = self.places(part.clone()).count();
        let is_wanted = count >= SHORTEST_MASKED * 2 && count < part.len();
        if is_wanted {
            view.clear(part.clone());
            view.reserve(count);
            self.places(part)
                .for_each(|at| view.push(self.text[at], at));
        }
        is_wanted
    }

    /// Where the digits of a part are.
    fn places(&self, mut part: Range<usize>) -> impl Iterator<Item = usize> {
        std::iter::from_fn(move || {
            loop {
                let at = part.next()?;
                let after = self.text.get(at + 1);
                if self.text[at] == b'0' && matches!(after, Some(b'x' | b'X')) {
                    part.next();
                } else if self.text[at].is_ascii_hexdigit() {
                    return Some(at);
                }
            }
        })
    }
}

fn is_part(byte: u8) -> bool {
    PART[usize::from(byte)]
}
