//! The parts of a text in which escapes may hide a secret.
//!
//! Most texts have escapes all over: each line of a text in JSON ends with one. Decoding all of
//! them and searching again would double the cost. But in a secret stand few characters, and a
//! line's end is mostly none of them; so only those parts are decoded that have an escape, consist
//! of what may stand for a secret, and are as long as one.

use std::ops::Range;

use super::MOST;
use super::escapes::{self, Reading, Sign};
use super::skip::position;

/// What forms of secrets consist of.
#[derive(Clone)]
pub(super) struct Alphabet {
    /// Which bytes occur in a form, or in an escape that is within another.
    occurs: [bool; 256],
    shortest: usize,
    /// How far from an escape a form can reach that has it.
    reach: usize,
}

impl Alphabet {
    pub(super) fn of<'a>(forms: impl Iterator<Item = &'a Vec<u8>>) -> Self {
        let mut occurs = [false; 256];
        for byte in 0..=u8::MAX {
            occurs[usize::from(byte)] =
                escapes::begins(byte) || byte.is_ascii_alphanumeric() || b"#;{}".contains(&byte);
        }
        let (mut shortest, mut longest) = (usize::MAX, 0);
        for form in forms {
            (shortest, longest) = (shortest.min(form.len()), longest.max(form.len()));
            // The case of letters counts nowhere, and all letters occur.
            for byte in form {
                occurs[usize::from(*byte)] = true;
            }
        }
        Self {
            occurs,
            shortest,
            // Of an escape in each of the rounds the rest may stand there, too.
            reach: longest + super::ROUNDS * escapes::LONGEST,
        }
    }

    fn has(&self, sign: Sign) -> bool {
        let mut buffer = [0; 4];
        let first = sign.bytes(&mut buffer).first();
        first.is_none_or(|first| self.occurs[usize::from(*first)])
    }

    /// How far the escape at the beginning of a text goes, and whether it may be of a form, in either reading.
    fn extent(&self, text: &[u8]) -> Option<(bool, usize)> {
        let read = |reading| {
            let (sign, length) = self.escape(text, reading)?;
            Some((self.has(sign), length))
        };
        let usual = read(Reading::Usual);
        if !escapes::is_ambiguous(&text[..text.len().min(2)]) {
            return usual;
        }
        // What only one of them takes for an escape, and of nothing, is plain to the other.
        let loose = read(Reading::Loose).filter(|(is_of_a_form, _)| *is_of_a_form);
        match (usual, loose) {
            (Some(usual), Some(loose)) => Some((true, usual.1.max(loose.1))),
            (usual, loose) => usual.or(loose),
        }
    }

    /// Reads the escape at the beginning of a text. A `%` or `&` that would make a character which
    /// occurs nowhere stands for itself: it may stand before a secret. A backslash does not, as it
    /// takes the next character along in any case.
    pub(super) fn escape(&self, text: &[u8], reading: Reading) -> Option<(Sign, usize)> {
        let (sign, length) = escapes::read(text, reading)?;
        (text[0] == b'\\' || self.has(sign)).then_some((sign, length))
    }

    /// The parts of a text that have to be decoded, in their order. They may overlap: what is plain
    /// belongs to the escapes on both sides, and a part that is too long is decoded piece by piece.
    pub(super) fn regions<'a>(&'a self, text: &'a [u8]) -> Regions<'a> {
        Regions {
            alphabet: self,
            text,
            at: 0,
            floor: 0,
        }
    }
}

pub(super) struct Regions<'a> {
    alphabet: &'a Alphabet,
    text: &'a [u8],
    at: usize,
    /// What is before this is in no region that is still to come.
    floor: usize,
}

impl Iterator for Regions<'_> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        loop {
            let begins = position(&self.text[self.at..], escapes::BEGINS)?;
            self.at += begins;
            let Some((is_of_a_form, length)) = self.alphabet.extent(&self.text[self.at..]) else {
                // What stands for itself is no reason to decode, but may be in a region.
                self.at += 1;
                continue;
            };
            if !is_of_a_form {
                // What follows a backslash is itself to whoever reads no backslashes.
                self.floor = self.at + 1;
                self.at += length;
                continue;
            }
            if let Some(region) = self.region() {
                return Some(region);
            }
        }
    }
}

impl Regions<'_> {
    /// Returns the region around an escape, if it is long enough. Whatever it is, it is done with.
    fn region(&mut self) -> Option<Range<usize>> {
        let Alphabet {
            occurs,
            shortest,
            reach,
        } = self.alphabet;
        let before = &self.text[self.floor.max(self.at.saturating_sub(*reach))..self.at];
        let before = before
            .iter()
            .rev()
            .take_while(|byte| occurs[usize::from(**byte)])
            .count();
        let start = self.at - before;
        let most = MOST.max(16 * reach);
        let mut resumes = None;
        let (mut at, mut escaped) = (self.at, self.at);
        while let Some(byte) = self.text.get(at)
            && at - escaped <= *reach
        {
            if at - start > most - 4 * reach {
                let resumes = *resumes.get_or_insert(at);
                if at - start > most {
                    (self.at, self.floor) = (resumes, resumes);
                    return Some(start..at);
                }
            }
            let escape = escapes::begins(*byte)
                .then(|| self.alphabet.extent(&self.text[at..]))
                .flatten();
            match escape {
                Some((false, _)) => break,
                Some((true, length)) => {
                    at += length;
                    escaped = at;
                }
                None if !occurs[usize::from(*byte)] => break,
                None => at += 1,
            }
        }
        // What is plain may also be before the next escape.
        (self.at, self.floor) = (at, escaped);
        // What is decoded is never longer.
        (at - start >= *shortest).then_some(start..at)
    }
}
