//! Whether more attempts at once get more answers.
//!
//! A server of models works on so many requests at once and lets the others wait, without a word.
//! From there on, twice as many in flight take twice as long each, and nobody is answered sooner.
//! That number is the **knee**. What tells it are answers alone:
//!
//! - **How long they take.** Each is counted for the octave (1, 2 to 3, 4 to 7, …) of those that were
//!   in flight with it. The *base* is the lowest mean of all octaves, with its own standard error
//!   added, so that one quick answer is no base and thirty are (`octaves`).
//! - **Whom they overtake.** The *rank* of an answer is its place among all in flight, the oldest
//!   first. Where so many slots are served in order it is never beyond their number; where all are
//!   worked on at once it is anywhere (`ranks`).
//!
//! An answer **pays** if it says that as many as there are now are worked on at once: it overtook
//! half of those in flight, or it was sent beside half as many and took hardly longer than the base.
//! The base is of fewer in flight than it was sent with, where any were answered.
//! Only answers that pay widen the window, so a lane that opens grows by answers and never by time.
//!
//! A queue is **suspected** where nobody overtook for a while and answers take longer than the quickest
//! by a third of what that order means, or by half an octave where they hardly differ; or where they take
//! much longer than the base, in whatever order (who works on all requests at once, each the slower the
//! more there are, has no order). As many are at work as anybody overtook, or by Little's law.
//!
//! **A suspicion is tried**: the lane goes there, with a quarter to spare so that the server never
//! waits for the next one (`trial`). In a queue answers take less then. Where they don't, it was not
//! this lane that made the server slow (longer prompts, other users, chance): the window is as
//! before, what was known is forgotten, and the next suspicion needs twice as many answers.
//!
//! **A knee that was found is not for ever.** Who overtakes more moves it up at once. And after some
//! answers half as many again are tried: if nobody is the slower for it they stay, otherwise the next
//! try comes after twice as many answers.
//!
//! This is a cousin of the gradient and Vegas families of congestion control. They compare with the
//! *shortest* answer there was, which says nothing where answers differ by themselves; ranks are
//! what is added here. Only attempts that the window held back, or nobody, are taken in whole: where a
//! limit of rate spaces the attempts, many are in flight *because* answers take long. Of those no more than how
//! long they took is kept: after a refusal they are the only ones that were sent beside few.
//!
//! **Units.** Times, and numbers in flight that are held against times, are logarithms to the base 2 in
//! parts of an octave ([`PARTS`]). So a difference of two is a factor: 1,024 is twice as much, 512 is
//! about 1.4 times, −1,024 is half. Ranks and windows are plain numbers of attempts.

use std::time::Duration;

use crate::time::nanos;
use crate::tuning::knee::{
    ALIKE, FEWEST, HEADROOM, KNOWN, LONGER, MOST, MUCH_LONGER, PARTS, PAUSE, PAYS, VARIED, WANTED,
    WORTH,
};

mod octaves;
mod ranks;
mod trial;

use octaves::{Base, Mean, Octaves, exp2, log2};
use ranks::Ranks;
use trial::Trial;

/// What follows for the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Advice {
    /// As it was.
    Stay,
    /// So many more at once.
    Grow(u32),
    /// So many at once.
    Turn(u32),
}

/// An answer, as far as it says something about a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AnsweredAttempt {
    /// As one of how many its attempt was sent.
    pub(crate) among: u32,
    /// How long it took.
    pub(crate) took: Duration,
    /// How many were in flight already, clearly before it.
    pub(crate) ahead: u32,
    /// Its place among those in flight, the oldest first, from 1; all that were sent at once have the same.
    pub(crate) rank: u32,
    /// How many in flight were sent at once with it, before it.
    pub(crate) beside: u32,
    /// How many were in flight, itself included.
    pub(crate) out: u32,
    /// How many the lane may have in flight, at least and at most.
    pub(crate) bounds: (u32, u32),
    /// It filled the window when it was sent.
    pub(crate) filled: bool,
    /// Something else limits the lane, or may: only the order of answers tells a queue then.
    pub(crate) limited: bool,
}

/// A knee.
#[derive(Debug, Clone, Copy)]
struct Found {
    /// How many the server works on.
    knee: u32,
    /// Since nobody overtook more.
    by_order: bool,
}

/// What is known of a server's knee.
#[derive(Debug)]
pub(crate) struct Knee {
    octaves: Octaves,
    /// What the quickest answer took, in parts of an octave.
    shortest: i64,
    /// What the newest answers take, in parts of an octave.
    recent: Mean,
    /// The number in flight with them, likewise.
    height: Mean,
    /// The ranks of the newest answers, and of those before.
    ranks: [Ranks; 2],
    /// Answers since the window turned.
    since_turn: u32,
    /// How many of these there have to be before a queue is suspected.
    patience: u32,
    /// And before more at once are tried again where it was found.
    pause: u32,
    trial: Option<Trial>,
    found: Option<Found>,
    /// As one of how many at most an attempt was sent whose answer paid.
    paid: u32,
}

impl Default for Knee {
    fn default() -> Self {
        Self {
            octaves: Octaves::default(),
            shortest: i64::MAX,
            recent: Mean::default(),
            height: Mean::default(),
            ranks: [Ranks::default(); 2],
            since_turn: 0,
            patience: FEWEST,
            pause: PAUSE,
            trial: None,
            found: None,
            paid: 0,
        }
    }
}

impl Knee {
    /// How many at once the server was seen to work on.
    pub(crate) fn found(&self) -> Option<u32> {
        self.found.map(|found| found.knee)
    }

    /// Whether the server queues, or that is being tried.
    pub(crate) fn queues(&self) -> bool {
        self.trial.is_some() || self.found.is_some()
    }

    /// How many at once an answer has paid for that could be held against fewer.
    pub(crate) fn paid(&self) -> u32 {
        self.paid
    }

    /// Takes in that an attempt is sent as one of so many.
    pub(crate) fn sent(&mut self, among: u32) {
        self.octaves.sent(among);
    }

    /// Takes in that such an attempt is not in flight any more.
    pub(crate) fn gone(&mut self, among: u32) {
        self.octaves.gone(among);
    }

    /// Takes in an answer, while the window has `size`.
    pub(crate) fn answered(&mut self, came: AnsweredAttempt, size: u32) -> Advice {
        let taken = self.base_on(came.among, came.took);
        if let Some(trial) = &mut self.trial {
            let varied = self.octaves.vary(VARIED);
            return match trial.answered(&came, taken, varied) {
                Some(queues) => self.judge(queues),
                None => Advice::Stay,
            };
        }
        let memory = i64::from(size.clamp(FEWEST, MOST));
        self.recent.add(taken, memory);
        self.height.add(log2(came.among.into()), memory);
        self.since_turn = self.since_turn.saturating_add(1);
        self.ranks[0].add(&came);
        if self.ranks[0].count() >= u64::from(size.max(MOST)) {
            self.ranks = [Ranks::default(), self.ranks[0]];
        }
        // Without an order the knee is only known to be lower than it was.
        let is_open = self.found.is_none_or(|found| !found.by_order);
        if let Some(finding) = is_open.then(|| self.suspect(&came, size)).flatten() {
            return finding;
        }
        match self.found {
            Some(found) => self.review(found, &came, size),
            None => self.earn(&came, taken),
        }
    }

    /// Takes in what an answer took, which is all that it says if something else spaced its attempt; gives that in
    /// parts of an octave.
    pub(crate) fn base_on(&mut self, among: u32, took: Duration) -> i64 {
        let taken = log2(nanos(took));
        self.octaves.answered(among, taken);
        self.shortest = self.shortest.min(taken);
        taken
    }

    /// What an answer earns.
    fn earn(&mut self, came: &AnsweredAttempt, taken: i64) -> Advice {
        let below = self.octaves.base_below(came.among, KNOWN);
        let earned = self.pays(came, taken, below);
        // Where nobody has overtaken there may be one slot, unless all take the same.
        let ranks = self.ranks[0].and(self.ranks[1]);
        let overtaken = ranks.highest() > 1 || !self.octaves.vary(ALIKE);
        if earned != Advice::Stay && below.is_some() && overtaken {
            self.paid = self.paid.max(came.among);
        }
        earned
    }

    /// What an answer takes where few are in flight, of octaves with `least` answers.
    fn base(&self, least: i64) -> Base {
        self.octaves.base(least).unwrap_or(Base {
            taken: self.recent.value,
            height: self.height.value,
        })
    }

    /// Whether an answer, which took `taken` parts of an octave, says that more at once would be answered
    /// as soon.
    fn pays(&self, came: &AnsweredAttempt, taken: i64, below: Option<Base>) -> Advice {
        if !came.filled {
            return Advice::Stay;
        }
        // Held against fewer in flight: what takes as long as itself says nothing.
        let base = below.unwrap_or_else(|| self.base(KNOWN));
        let longer = self.recent.value - base.taken;
        // Its burst begins at the place `rank`, and by when it was sent it has `rank + beside`; who of a burst
        // arrived first isn't known, so the middle of both is taken. If twice that is more than all in
        // flight, it overtook more than half of them, and earns the more places the further behind it was, up
        // to as many as its rank. Where the newest answers take more than twice as long as the base it earns none.
        let overtook = (2 * came.rank + came.beside).saturating_sub(came.out);
        if overtook > 0 && longer <= PARTS {
            return Advice::Grow(overtook);
        }
        // Who is answered in the order of a queue says nothing, unless all take the same. An answer
        // that tells was sent beside half as many as are in flight now, or more, and is not of their oldest
        // quarter.
        let tells = 2 * came.among >= came.out
            && (4 * (came.rank + came.beside) > came.out || !self.octaves.vary(ALIKE));
        // In a queue it would take longer by as much as there are more in flight: twice as many, one octave. So
        // less than half of that is hardly longer. An eighth of an octave (about 1.09 times) is let pass
        // however few are in flight, and more than half an octave (about 1.4 times) never, however many.
        let higher = (log2(came.among.into()) - base.height) / 2;
        let hardly = higher.clamp(LONGER / 4, LONGER);
        if tells && longer <= LONGER && taken - base.taken <= hardly {
            return Advice::Grow(PAYS);
        }
        Advice::Stay
    }

    /// Begins a trial where there may be a queue.
    fn suspect(&mut self, came: &AnsweredAttempt, size: u32) -> Option<Advice> {
        let is_worth_it = self.recent.value > log2(nanos(WORTH));
        if !came.filled || !is_worth_it || self.since_turn < self.patience {
            return None;
        }
        let ranks = self.ranks[0].and(self.ranks[1]);
        // By how many octaves more are in flight than anybody overtook: where no more than these are worked on
        // at once, answers take longer than alone by just that. Where answers differ by themselves a third
        // of it makes a queue, otherwise half an octave.
        let queued = self.height.value - log2(ranks.highest().into());
        let sure = if self.octaves.vary(VARIED) {
            queued / 3
        } else {
            LONGER
        };
        let base = self.base(KNOWN).taken;
        let much = self.recent.value - base > MUCH_LONGER && self.since_turn >= WANTED;
        // Without an order, Little's law: as many as are in flight, divided by how many times longer than the
        // base they take. One such suspicion takes away half the window at most.
        let knee = if ranks.in_order() && self.recent.value - self.shortest > sure {
            ranks.highest()
        } else if much && !came.limited {
            exp2(base + self.height.value - self.recent.value).max(size / 2)
        } else {
            return None;
        };
        let found = Found {
            knee: knee.max(1),
            by_order: ranks.in_order(),
        };
        let to = spared(found.knee).max(came.bounds.0);
        // `Stay` where the window is there already: an answer that tells of a queue doesn't widen it.
        Some(if to < size {
            self.turn(size, to, found)
        } else {
            Advice::Stay
        })
    }

    /// Looks whether a knee is still there.
    fn review(&mut self, found: Found, came: &AnsweredAttempt, size: u32) -> Advice {
        if found.by_order && came.rank > found.knee {
            let knee = came.rank;
            self.found = Some(Found { knee, ..found });
            return Advice::Turn(spared(knee).max(size));
        }
        let more = size.saturating_add(size.div_ceil(2)).min(came.bounds.1);
        if self.since_turn >= self.pause && more > size {
            return self.turn(size, more, found);
        }
        Advice::Stay
    }

    /// Tries so many at once.
    fn turn(&mut self, from: u32, to: u32, presumed: Found) -> Advice {
        let taken = (self.recent.value, self.height.value);
        let Some(trial) = Trial::new((from, to), taken, presumed) else {
            return Advice::Stay;
        };
        self.since_turn = 0;
        self.trial = Some(trial);
        Advice::Turn(to)
    }

    /// Decides what follows from a trial.
    fn judge(&mut self, queues: bool) -> Advice {
        let Some(trial) = self.trial.take() else {
            return Advice::Stay;
        };
        // Fewer at once are right if there is a queue, more if there is none.
        let is_down = trial.to < trial.from;
        if is_down != queues {
            return self.give_up(&trial);
        }
        self.found = Some(if is_down {
            trial.presumed
        } else {
            // Answers did not become slower, so all of those before are worked on at once; how many of the
            // added ones are is not known yet, and the next try comes soon.
            self.pause = FEWEST;
            let knee = trial.from;
            Found {
                knee,
                ..trial.presumed
            }
        });
        // What was seen before the trial was seen with another number in flight: without this, the old
        // times would be held against the new number, and the next suspicion would be about nothing.
        self.recent = Mean {
            count: i64::from(FEWEST),
            value: trial.taken(),
        };
        self.height.value = log2(trial.to.into());
        self.ranks = [Ranks::default(); 2];
        // The lane is at the new number since the trial began.
        Advice::Stay
    }

    /// Gives up a trial that has found nothing: as many as before, and the next one later.
    fn give_up(&mut self, trial: &Trial) -> Advice {
        if trial.to > trial.from {
            self.pause = self.pause.saturating_mul(2).max(PAUSE);
        } else {
            self.patience = self.patience.saturating_mul(2);
            self.octaves.forget();
            self.shortest = i64::MAX;
            self.spaced();
        }
        Advice::Turn(trial.from)
    }

    /// Takes in that something else spaces the attempts: what the newest answers say is not about a queue.
    pub(crate) fn spaced(&mut self) {
        self.since_turn = 0;
        self.ranks = [Ranks::default(); 2];
        (self.recent, self.height) = (Mean::default(), Mean::default());
    }

    /// Ends what was under trial: something else changed the window, and what paid before says nothing now.
    pub(crate) fn interrupt(&mut self) {
        self.trial = None;
        self.paid = 0;
    }
}

/// A knee with something to spare, so that the server never waits.
fn spared(knee: u32) -> u32 {
    knee.saturating_add(knee / HEADROOM + 1)
}

#[cfg(test)]
mod tests;
