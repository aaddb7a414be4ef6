//! Choices that look random and are the same again for the same variables: a run that goes on
//! finds its prompts again.

use serde_json::Value as Json;

/// Numbers by SplitMix64 (Steele, Lea and Flood, 2014).
pub(super) struct Chance(u64);

impl Chance {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Draws a number below `end`; `None` if there is none.
    pub(super) fn below(&mut self, end: usize) -> Option<usize> {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^= mixed >> 31;
        let end = end as u64;
        (end > 0).then(|| ((u128::from(mixed) * u128::from(end)) >> 64) as usize)
    }
}

/// A number that depends on these variables, by FNV-1a over their JSON.
pub fn seed_of<'v>(variables: impl IntoIterator<Item = (&'v String, &'v Json)>) -> u64 {
    let mut seed = 0xCBF2_9CE4_8422_2325_u64;
    let mut add = |text: &str| {
        for byte in text.bytes().chain([0]) {
            seed = (seed ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3);
        }
    };
    for (name, value) in variables {
        add(name);
        add(&value.to_string());
    }
    seed
}
