//! Chance that can be had again: the same seed draws the same numbers.
//!
//! A test that draws prints its seed, so that a failure of one machine can be looked at on
//! another. Seedable by hand in twenty lines (SplitMix64), which a library would not shorten.

use std::hash::{BuildHasher, Hasher, RandomState};

/// A stream of numbers that looks random.
#[derive(Debug, Clone)]
pub struct Chance(u64);

impl Chance {
    /// The stream of this seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A seed that is another one each time.
    pub fn fresh_seed() -> u64 {
        // The standard library seeds its maps from the system; nothing was hashed here.
        RandomState::new().build_hasher().finish()
    }

    /// The next number.
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number from 0 to `bound`, without `bound`; 0 when that is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.draw().checked_rem(bound).unwrap_or_default()
    }

    /// One of these.
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_draws_the_same_again_and_another_one_differs() {
        let drawn = |seed| {
            let mut chance = Chance::new(seed);
            [(); 20].map(|()| chance.below(1000))
        };
        assert_eq!(drawn(7), drawn(7));
        assert_ne!(drawn(7), drawn(8));
        assert!(drawn(7).iter().all(|number| *number < 1000));
        assert_eq!(Chance::new(1).below(0), 0);
    }
}
