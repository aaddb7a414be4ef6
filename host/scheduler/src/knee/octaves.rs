//! Times and numbers in flight as logarithms, and what is remembered of them.
//!
//! What answers take varies by factors, and a mean of logarithms isn't moved by one answer of a
//! minute. Integers, as everywhere here.

use crate::tuning::knee::{FEWEST, MEMORY, PARTS, SPREAD};

/// Octaves of numbers in flight: from 8,192 on all are alike.
const OCTAVES: usize = 14;

/// The logarithm to the base 2, in parts; straight lines between the powers.
pub(super) fn log2(of: u64) -> i64 {
    let of = of.max(1);
    let whole = of.ilog2();
    let scaled = (u128::from(of) * PARTS as u128) >> whole;
    i64::from(whole) * PARTS + scaled as i64 - PARTS
}

/// What has this logarithm, rounded to a whole number.
pub(super) fn exp2(of: i64) -> u32 {
    let of = of.clamp(-PARTS, 30 * PARTS);
    let (whole, part) = (of.div_euclid(PARTS), of.rem_euclid(PARTS));
    let scaled = u64::try_from(PARTS + part).unwrap_or(0) << (whole + 2);
    // Counted in quarters of a part, so that a half is left to round with below one.
    ((scaled / 4 + PARTS as u64 / 2) / PARTS as u64) as u32
}

/// A mean that forgets.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Mean {
    pub(super) count: i64,
    pub(super) value: i64,
}

impl Mean {
    /// Adds a value; the weight of the newest is never less than one of `memory`.
    pub(super) fn add(&mut self, value: i64, memory: i64) {
        self.count += 1;
        self.value += (value - self.value) / self.count.min(memory);
    }
}

/// Attempts that were sent as one of about so many.
#[derive(Debug, Clone, Copy, Default)]
struct Octave {
    /// What their answers took.
    taken: Mean,
    /// As one of how many they were sent.
    height: Mean,
    /// How many are in flight.
    out: i64,
}

/// What answers take by the number in flight, octave by octave.
#[derive(Debug, Default)]
pub(super) struct Octaves {
    octaves: [Octave; OCTAVES],
    /// Squared distance of answers from the mean of their octave.
    spread: Mean,
}

/// What an answer takes where few are in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Base {
    pub(super) taken: i64,
    /// How many that is.
    pub(super) height: i64,
}

impl Octaves {
    fn of(&mut self, among: u32) -> &mut Octave {
        &mut self.octaves[(among.max(1).ilog2() as usize).min(OCTAVES - 1)]
    }

    pub(super) fn sent(&mut self, among: u32) {
        self.of(among).out += 1;
    }

    pub(super) fn gone(&mut self, among: u32) {
        self.of(among).out -= 1;
    }

    pub(super) fn answered(&mut self, among: u32, taken: i64) {
        let octave = self.of(among);
        let before = octave.taken;
        octave.taken.add(taken, MEMORY);
        octave.height.add(log2(among.into()), MEMORY);
        let squared = (taken - before.value) * (taken - octave.taken.value);
        if before.count > 0 {
            self.spread.add(squared, MEMORY);
        }
    }

    /// Forgets what answers took.
    pub(super) fn forget(&mut self) {
        for octave in &mut self.octaves {
            (octave.taken, octave.height) = (Mean::default(), Mean::default());
        }
    }

    /// The lowest mean of octaves with `least` answers, its own error added.
    pub(super) fn base(&self, least: i64) -> Option<Base> {
        // As long as many are out, the quick ones have come back.
        let told = |octave: &&Octave| octave.taken.count >= least.max(octave.out);
        let told = self.octaves.iter().filter(told);
        told.map(|octave| self.careful(octave)).min()
    }

    /// The lowest mean of octaves with `least` answers and fewer in flight than `among`; of all answers there
    /// together if none has as many.
    pub(super) fn base_below(&self, among: u32, least: i64) -> Option<Base> {
        let fewer = (among.max(1).ilog2() as usize).min(OCTAVES - 1);
        let lower = &self.octaves[..fewer.max(1)];
        let told = lower.iter().filter(|octave| octave.taken.count >= least);
        let known = told.map(|octave| self.careful(octave)).min();
        known.or_else(|| {
            let count: i64 = lower.iter().map(|octave| octave.taken.count).sum();
            let mean = |of: fn(&Octave) -> Mean| {
                let sum = lower
                    .iter()
                    .map(|octave| of(octave).value * of(octave).count);
                sum.sum::<i64>() / count.max(1)
            };
            (count > 0).then(|| Base {
                taken: mean(|octave| octave.taken),
                height: mean(|octave| octave.height),
            })
        })
    }

    /// The mean of an octave, its own error added.
    fn careful(&self, octave: &Octave) -> Base {
        let squared = if self.spread.count < i64::from(FEWEST) {
            SPREAD * SPREAD
        } else {
            self.spread.value.max(0)
        };
        Base {
            taken: octave.taken.value + (squared / octave.taken.count.min(MEMORY)).isqrt(),
            height: octave.height.value,
        }
    }

    /// Whether answers differ by more than this by themselves. Few may be alike by chance.
    pub(super) fn vary(&self, by: i64) -> bool {
        self.spread.count < i64::from(FEWEST) || self.spread.value > by * by
    }
}
