//! How an input becomes another one.

/// A generator of numbers that look random: splitmix64.
#[derive(Debug, Clone)]
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`, which is not 0.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }
}

/// The longest input: what is dangerous shows its growth below it.
const MAX_LEN: usize = 64 << 10;

/// Bytes that are the ends of ranges.
const EDGES: [u8; 8] = [0, 1, 0x7f, 0x80, 0xff, b'0', b'9', b' '];

/// Changes `input` a few times, with `words` that mean something to its reader and pieces of
/// `other`.
pub(crate) fn change(input: &mut Vec<u8>, words: &[&str], other: &[u8], chance: &mut Chance) {
    for _ in 0..=chance.below(4) {
        once(input, words, other, chance);
        input.truncate(MAX_LEN);
    }
}

fn once(input: &mut Vec<u8>, words: &[&str], other: &[u8], chance: &mut Chance) {
    let at = chance.below(input.len() + 1);
    let len = 1 + chance.below((input.len() - at).clamp(1, 64));
    let end = (at + len).min(input.len());
    match chance.below(10) {
        0 if at < input.len() => input[at] ^= 1 << chance.below(8),
        1 if at < input.len() => input[at] = EDGES[chance.below(EDGES.len())],
        2 => drop(input.drain(at..end)),
        3 => input.truncate(at),
        4 => {
            // What is quadratic shows when something comes often.
            let piece = input[at..end].repeat(1 << chance.below(11));
            insert(input, at, &piece);
        }
        5 if !other.is_empty() => {
            let from = chance.below(other.len());
            let to = (from + 1 + chance.below(256)).min(other.len());
            insert(input, at, &other[from..to]);
        }
        6 => {
            let number = chance.next() >> chance.below(64);
            insert(input, at, number.to_string().as_bytes());
        }
        7 => {
            let byte = chance.next() as u8;
            insert(input, at, &[byte]);
        }
        _ if !words.is_empty() => {
            let word = words[chance.below(words.len())];
            insert(input, at, word.as_bytes());
        }
        _ => {}
    }
}

fn insert(input: &mut Vec<u8>, at: usize, piece: &[u8]) {
    if input.len() + piece.len() <= MAX_LEN {
        input.splice(at..at, piece.iter().copied());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_makes_the_same_inputs_and_none_is_too_long() {
        let inputs = |seed| {
            let mut chance = Chance::new(seed);
            let mut input = b"some: [yaml, 1]".to_vec();
            let mut inputs = Vec::new();
            for _ in 0..2000 {
                change(&mut input, &["- ", "&a "], b"other", &mut chance);
                assert!(input.len() <= MAX_LEN);
                inputs.push(input.clone());
            }
            inputs
        };
        assert_eq!(inputs(1), inputs(1));
        assert_ne!(inputs(1), inputs(2));
    }
}
