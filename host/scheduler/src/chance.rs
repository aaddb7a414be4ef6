//! Seeded randomness, for jitter alone.
//!
//! SplitMix64 (Steele, Lea, Flood 2014): one addition and two multiplications, any seed is a
//! good seed. Not for secrets. A crate for it would be the only dependency here.

/// A generator.
#[derive(Debug, Clone)]
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Draws a number from `[0, below)`; 0 where `below` is 0.
    pub(crate) fn below(&mut self, below: u64) -> u64 {
        // The high half of the product is uniform but for a bias of below/2⁶⁴.
        ((u128::from(self.next()) * u128::from(below)) >> 64) as u64
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stay_below_and_reach_both_ends() {
        let mut chance = Chance::new(7);
        let drawn: Vec<u64> = (0..1000).map(|_| chance.below(10)).collect();
        assert!(drawn.iter().all(|n| *n < 10));
        assert!((0..10).all(|n| drawn.contains(&n)));
        assert_eq!(chance.below(0), 0);
    }

    #[test]
    fn the_same_seed_gives_the_same_numbers() {
        let draw = |seed| {
            let mut chance = Chance::new(seed);
            [chance.below(1 << 40), chance.below(1 << 40)]
        };
        assert_eq!(draw(3), draw(3));
        assert_ne!(draw(3), draw(4));
    }
}
