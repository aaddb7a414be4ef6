//! Whether more attempts at once get more answers.
//!
//! A server of models works on so many requests at once and lets the others wait, without a word. From
//! there on, twice as many in flight take twice as long each, and nobody is answered sooner. The **knee**
//! is the number from which on that is so. Two things give it away:
//!
//! - **Nobody overtakes.** Who waits in a queue is answered after those before him. The *age rank* of an
//!   answer is its place among all that are in flight, the oldest first; where so many slots are served in
//!   order, it is never beyond their number, and where all are worked on at once, it is anywhere. So
//!   where the highest rank of late is within two thirds of what is in flight, there may be a queue.
//! - **Answers take longer** than where few were in flight. The *base* is the lowest mean of all octaves
//!   (1, 2 to 3, 4 to 7, … in flight), each with half of its own standard error added, so that one quick
//!   answer is no base and a hundred are.
//!
//! Each alone is deceived: answers that all take the same overtake nobody in any server, and answers
//! of models are long and short by themselves. Where answers take half an octave (1.4 times) longer than the base *and*
//! nobody overtakes, the server queues. How many it works on is the highest rank, or, where answers vary
//! too little to overtake, follows from Little's law: the number in flight, times base over what answers
//! take. The lane goes there, and one more (or a quarter), so that there is always one at hand for the
//! server to begin with.
//!
//! **Going there is a trial.** In a queue answers take less with fewer in flight. Where they take as long as
//! before, it was not we who made the server slow (longer prompts, other users, chance): the lane returns,
//! and what it knew of a base is forgotten.
//!
//! As long as nothing speaks of a queue the window grows: at first by one with each answer (so that
//! it doubles with each round), after a knee was found by an eighth of itself each round, and twice as
//! fast with each round that changes nothing.
//!
//! Times are compared as logarithms: what answers take varies by factors, and a mean of logarithms isn't
//! moved by one answer of a minute. This is a cousin of the gradient and Vegas families of
//! congestion control. They compare with the *shortest* answer there was, which says nothing where
//! answers differ by themselves; ranks are what is added here.
//!
//! Only attempts that the window held back, or nobody, are taken in: where a limit of rate spaces the
//! attempts, many are in flight *because* answers take long.

use std::time::Duration;

use crate::time::nanos;
use crate::tuning::knee::{
    ENOUGH, FEWEST_RECENT, HEADROOM, MOST_RECENT, OCTAVE_MEMORY, QUEUES, RANKED, STEADY,
    UNKNOWN_SPREAD,
};

/// Logarithms are counted in this part of an octave.
const PARTS: i64 = 1024;

/// Octaves of numbers in flight: beyond 16,383 all are alike.
const OCTAVES: usize = 14;

/// What follows for the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Finding {
    /// As it was.
    Stay,
    /// So many more may be in flight: as many as there were answers, or a part of it.
    Grow { eighths: u32 },
    /// More than so many at once get no more answers.
    Shrink(u32),
    /// The server doesn't queue after all: as many as before.
    Return(u32),
}

/// An answer, as far as it says something about a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Came {
    /// As one of how many its attempt was sent.
    pub(crate) among: u32,
    /// How long it took.
    pub(crate) took: Duration,
    /// Its place among those in flight, the oldest first, from 1.
    pub(crate) rank: u32,
    /// How many were in flight, itself included.
    pub(crate) out: u32,
}

/// A mean that forgets.
#[derive(Debug, Clone, Copy, Default)]
struct Mean {
    count: i64,
    value: i64,
}

impl Mean {
    /// Adds a value; the weight of the newest is never less than one of `memory`.
    fn add(&mut self, value: i64, memory: i64) {
        self.count = (self.count + 1).min(memory.max(1));
        self.value += (value - self.value) / self.count;
    }
}

/// Fewer in flight, to see whether answers come sooner.
#[derive(Debug, Clone, Copy)]
struct Trial {
    from: u32,
    to: u32,
    /// What answers took before, and among how many.
    before: i64,
    height: i64,
    /// What they take since.
    since: Mean,
    /// Answers that are waited for.
    wanted: i64,
}

/// What is known of a server's knee.
#[derive(Debug)]
pub(crate) struct Knee {
    octaves: [Mean; OCTAVES],
    /// Squared distance of answers from the mean of their octave, in parts.
    spread: Mean,
    /// What the newest answers take.
    recent: Mean,
    /// The same for each of those in flight.
    each: Mean,
    trial: Option<Trial>,
    /// How fast the window grows, in eighths of itself with each round.
    eighths: u32,
    /// Answers since that changed.
    since_change: u32,
    /// The highest rank of the newest answers, and of those before, as parts of those in flight.
    ranks: [i64; 2],
    /// Answers among the newest of these.
    ranked: u32,
    found: Option<u32>,
}

impl Default for Knee {
    fn default() -> Self {
        Self {
            octaves: [Mean::default(); OCTAVES],
            spread: Mean {
                count: 1,
                value: UNKNOWN_SPREAD * UNKNOWN_SPREAD,
            },
            recent: Mean::default(),
            each: Mean::default(),
            trial: None,
            eighths: 8,
            since_change: 0,
            ranks: [0; 2],
            ranked: 0,
            found: None,
        }
    }
}

impl Knee {
    /// How many at once the server was seen to answer no slower than more.
    pub(crate) fn found(&self) -> Option<u32> {
        self.found
    }

    /// Whether the server queues, or that is being tried.
    pub(crate) fn queues(&self) -> bool {
        self.trial.is_some() || self.found.is_some()
    }

    /// Takes in an answer, while the window has `size`.
    pub(crate) fn answered(&mut self, came: Came, size: u32) -> Finding {
        let octave = (came.among.max(1).ilog2() as usize).min(OCTAVES - 1);
        let (height, taken) = (log2(came.among.into()), log2(nanos(came.took)));
        let mean = &mut self.octaves[octave];
        let before = *mean;
        mean.add(taken, OCTAVE_MEMORY);
        if before.count > 0 {
            let squared = (taken - before.value) * (taken - mean.value);
            self.spread.add(squared, OCTAVE_MEMORY);
        }
        if let Some(trial) = &mut self.trial {
            if came.among <= trial.to {
                trial.since.add(taken, i64::MAX);
            }
            if trial.since.count < trial.wanted {
                return Finding::Stay;
            }
            return self.judge();
        }
        let memory = i64::from(size / 2).clamp(FEWEST_RECENT, MOST_RECENT);
        self.recent.add(taken, memory);
        self.each.add(taken - height, memory);
        self.since_change = self.since_change.saturating_add(1);
        self.rank(came, size);
        if self.recent.count < ENOUGH {
            return Finding::Stay;
        }
        self.weigh(size)
    }

    /// Takes in the rank of an answer.
    fn rank(&mut self, came: Came, size: u32) {
        let rank = i64::from(came.rank) * PARTS / i64::from(came.out.max(1));
        self.ranks[0] = self.ranks[0].max(rank);
        self.ranked += 1;
        if self.ranked >= (size / 2).max(FEWEST_RECENT as u32) {
            self.ranks = [0, self.ranks[0]];
            self.ranked = 0;
        }
    }

    fn weigh(&mut self, size: u32) -> Finding {
        let base = self.base();
        let longer = self.recent.value - base;
        let spread = self.spread.value.max(0).isqrt();
        let highest = self.ranks[0].max(self.ranks[1]);
        let in_order = highest * 1000 <= PARTS * RANKED;
        if !in_order || longer + spread <= STEADY {
            return self.grow(size);
        }
        // Answers that vary would have overtaken each other by now.
        let varied = spread > STEADY;
        let overtakes = highest * 2 > PARTS || self.since_change < 2 * size;
        if longer <= QUEUES && !(longer > STEADY && varied && !overtakes) {
            return Finding::Stay;
        }
        let slots = (i64::from(size) * highest + PARTS - 1) / PARTS;
        let slots = u32::try_from(slots).unwrap_or(u32::MAX);
        let knee = if varied {
            slots
        } else {
            slots.max(exp2(base - self.each.value))
        };
        self.shrink(knee.max(1), size)
    }

    /// What an answer takes where few are in flight.
    fn base(&self) -> i64 {
        let known = self.octaves.iter().filter(|mean| mean.count > 0);
        let careful = known.map(|mean| {
            let squared = self.spread.value.max(0) / mean.count;
            mean.value + squared.isqrt() / 2
        });
        careful.min().unwrap_or(self.recent.value)
    }

    fn shrink(&mut self, knee: u32, size: u32) -> Finding {
        let target = knee.saturating_add((knee / HEADROOM).max(1));
        self.eighths = 1;
        if target >= size {
            self.found = Some(size);
            return Finding::Stay;
        }
        self.since_change = 0;
        self.trial = Some(Trial {
            from: size,
            to: target,
            before: self.recent.value,
            height: self.recent.value - self.each.value,
            since: Mean::default(),
            wanted: i64::from(target).clamp(ENOUGH, MOST_RECENT),
        });
        Finding::Shrink(target)
    }

    /// Whether answers take less with fewer in flight: half of what they would in a queue.
    fn judge(&mut self) -> Finding {
        let Some(trial) = self.trial.take() else {
            return Finding::Stay;
        };
        let height = log2(trial.to.into());
        let expected = (trial.height - height).max(0);
        let sooner = trial.before - trial.since.value;
        if sooner * 2 < expected {
            *self = Self {
                spread: self.spread,
                ..Self::default()
            };
            return Finding::Return(trial.from);
        }
        (self.ranks, self.ranked, self.since_change) = ([0; 2], 0, 0);
        let (value, count) = (trial.since.value, FEWEST_RECENT);
        self.recent = Mean { count, value };
        self.each = Mean {
            count,
            value: value - height,
        };
        self.found = Some(trial.to);
        Finding::Stay
    }

    /// What was under trial is over: something else changed the window.
    pub(crate) fn interrupt(&mut self) {
        self.trial = None;
    }

    fn grow(&mut self, size: u32) -> Finding {
        if self.since_change >= size {
            self.since_change = 0;
            self.eighths = (self.eighths * 2).min(8);
        }
        Finding::Grow {
            eighths: self.eighths,
        }
    }
}

/// The logarithm to the base 2, in parts; straight lines between the powers.
fn log2(of: u64) -> i64 {
    let of = of.max(1);
    let whole = of.ilog2();
    let scaled = (u128::from(of) * PARTS as u128) >> whole;
    i64::from(whole) * PARTS + scaled as i64 - PARTS
}

/// What has this logarithm, rounded to a whole number.
fn exp2(of: i64) -> u32 {
    let of = of.clamp(-PARTS, 30 * PARTS);
    let (whole, part) = (of.div_euclid(PARTS), of.rem_euclid(PARTS));
    let scaled = u64::try_from(PARTS + part).unwrap_or(0) << (whole + 2);
    // Counted in quarters of a part, so that a half is left to round with below one.
    ((scaled / 4 + PARTS as u64 / 2) / PARTS as u64) as u32
}

#[cfg(test)]
mod tests;
