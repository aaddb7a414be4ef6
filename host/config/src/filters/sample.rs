//! `--filter-sample N`: that many tests, by chance; `--filter-sample-seed` makes the chance
//! repeatable.
//!
//! The drawn tests stay in the order of the config, so that a sample's table reads like the
//! whole one's. The same seed draws the same tests of the same config on every machine; not the
//! ones that promptfoo draws, whose generator is an accident of its platform. Who calls this
//! without a seed makes one up and says it: a plan depends on nothing but its input.

use std::fmt;

use crate::plan::Tests;

/// How many, and the seed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sample {
    /// How many tests to draw; all, if there are not more.
    pub count: usize,
    /// Any text.
    pub seed: String,
}

/// As on the command line.
impl fmt::Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { count, seed } = self;
        write!(f, "--filter-sample {count} --filter-sample-seed {seed}")
    }
}

impl Sample {
    /// Leaves the drawn ones.
    pub(super) fn draw(&self, tests: &mut Tests) {
        let wanted = drawn(self.count, tests.len(), &self.seed);
        tests.keep(|index| wanted[index]);
    }
}

/// Which of `of` are drawn: exactly `count` of them, or all. Selection sampling (Knuth 3.4.2, S):
/// each is taken with the chance that still makes the number come out.
fn drawn(count: usize, of: usize, seed: &str) -> Vec<bool> {
    let mut random = SplitMix(fnv(seed));
    let mut missing = count.min(of) as u64;
    let decide = |index: usize| {
        let left = (of - index) as u64;
        let take = random.below(left) < missing;
        missing -= u64::from(take);
        take
    };
    (0..of).map(decide).collect()
}

/// FNV-1a with 64 bits: turns a seed of any form into a number.
fn fnv(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Steele, Lea and Flood's generator: small, and good enough to choose tests.
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Draws a number below `bound` ≥ 1; its bias is less than bound / 2⁶⁴.
    fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_sample_has_the_number_that_was_asked_for(count in 0_usize..50, of in 0_usize..50, seed in ".{0,8}") {
            let first = drawn(count, of, &seed);
            prop_assert_eq!(first.len(), of);
            prop_assert_eq!(first.iter().filter(|taken| **taken).count(), count.min(of));
            prop_assert_eq!(drawn(count, of, &seed), first);
        }
    }

    #[test]
    fn every_test_is_drawn_about_equally_often() {
        let mut times = [0_u32; 10];
        for seed in 0..10_000 {
            let sample = drawn(3, 10, &seed.to_string());
            for (times, taken) in times.iter_mut().zip(sample) {
                *times += u32::from(taken);
            }
        }
        // 3000 expected each; the deviation of one is 46.
        assert!(
            times.iter().all(|times| (2700..3300).contains(times)),
            "{times:?}"
        );
    }

    #[test]
    fn a_seed_draws_the_same_for_ever() {
        let numbers = |seed| {
            let drawn = drawn(4, 20, seed).into_iter().enumerate();
            drawn
                .filter_map(|(index, taken)| taken.then_some(index))
                .collect::<Vec<_>>()
        };
        assert_eq!(numbers("42"), [0, 5, 14, 15]);
        assert_eq!(numbers("1"), [2, 10, 18, 19]);
    }
}
