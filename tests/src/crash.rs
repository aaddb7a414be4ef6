//! Crashes: the built program is killed at random moments and goes on, until every case has its
//! row; after each kill everything it left is looked at.
//!
//! A *cycle* is one kill. A run is killed, resumed, killed again, and in the end left alone, so
//! that what one crash leaves is what the next one meets. The moments are drawn by progress (the
//! n-th request that arrives, the n-th answer that is given) and by time (from the start of the
//! process to a little after its end), so that every phase is hit: start-up, creation of the
//! databases, cases in flight, group commits, checkpoints, the end.
//!
//! What is looked at is a copy of the files. The program that goes on must find them as the
//! crash left them: opening a database repairs it.
//!
//! Mistakes are panics, as everywhere in this harness; whoever gives a seed prints it.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use crate::chance::Chance;

mod remains;
mod server;
mod victim;

use server::Moment;
use victim::{Ending, Victim};

/// What a series of crashes came to.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct CrashTally {
    /// Times that the program was killed.
    pub kills: u32,
    /// Runs that came to their end.
    pub runs: u32,
    /// Starts of the program.
    pub sessions: u32,
    /// Requests that the servers saw.
    pub calls: usize,
    /// Cases of all runs.
    pub cases: usize,
    /// The most results of one session that were reported and not in the database.
    pub most_unsaved: usize,
}

impl CrashTally {
    /// Both together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            kills: self.kills + other.kills,
            runs: self.runs + other.runs,
            sessions: self.sessions + other.sessions,
            calls: self.calls + other.calls,
            cases: self.cases + other.cases,
            most_unsaved: self.most_unsaved.max(other.most_unsaved),
        }
    }
}

/// Results that were reported and may be missing after a crash: the store's bound.
const MAX_UNSAVED: usize = 256;

/// Rows that may be in the database and not in the events: the queue of whoever writes them.
const MAX_UNTOLD: usize = 128;

/// Kills runs over a loopback server so many times; `kept_up` hears of each kill.
///
/// # Panics
/// When anything but what had not been reached yet is lost, changed, doubled or paid for again.
pub fn crash_cycles(seed: u64, cycles: u32, mut kept_up: impl FnMut(CrashTally)) -> CrashTally {
    let mut chance = Chance::new(seed);
    let mut tally = CrashTally::default();
    let mut whole = duration_of(Victim::over_server(&mut chance));
    while tally.kills < cycles {
        let mut victim = Victim::over_server(&mut chance);
        let mut known = victim.look();
        tally.cases += victim.cases();
        while !known.is_finished() {
            let left = victim.cases() - known.cached.len();
            let moment = (tally.kills < cycles).then(|| draw(&mut chance, left, whole));
            let begun = Instant::now();
            let ending = victim.session(moment, &known);
            if ending == Ending::Finished {
                whole = begun.elapsed();
            }
            tally.sessions += 1;
            let now = victim.look();
            tally.most_unsaved = tally.most_unsaved.max(victim.check_rows(&known, &now));
            victim.check_calls(&known, &now);
            known = now;
            if ending == Ending::Killed {
                tally.kills += 1;
                kept_up(tally);
            }
        }
        victim.check_end();
        tally.runs += 1;
        tally.calls += victim.calls();
    }
    tally
}

/// Kills runs of `cases` cases that need no server so many times: results come as fast as they
/// can, so that groups of rows are full when the process dies.
///
/// # Panics
/// As [`crash_cycles`] does.
pub fn crash_storm(seed: u64, cycles: u32, cases: usize) -> CrashTally {
    let mut chance = Chance::new(seed);
    let mut tally = CrashTally::default();
    let mut whole = duration_of(Victim::alone(cases));
    while tally.kills < cycles {
        let mut victim = Victim::alone(cases);
        let mut known = victim.look();
        tally.cases += cases;
        while !known.is_finished() {
            let moment = (tally.kills < cycles).then(|| Moment::After(span(&mut chance, whole)));
            let begun = Instant::now();
            let ending = victim.session(moment, &known);
            if ending == Ending::Finished {
                whole = begun.elapsed();
            }
            tally.sessions += 1;
            let now = victim.look();
            tally.most_unsaved = tally.most_unsaved.max(victim.check_rows(&known, &now));
            known = now;
            tally.kills += u32::from(ending == Ending::Killed);
        }
        victim.check_end();
        tally.runs += 1;
    }
    tally
}

/// How long a run takes that nobody kills. The machine's load changes it, so that each session
/// that ends by itself is the new measure.
fn duration_of(mut victim: Victim) -> Duration {
    let begun = Instant::now();
    let known = victim.look();
    let ending = victim.session(None, &known);
    assert_eq!(ending, Ending::Finished, "nobody killed it");
    begun.elapsed()
}

/// A moment for a session with so many requests to make.
fn draw(chance: &mut Chance, left: usize, whole: Duration) -> Moment {
    // Mostly early, so that a run is killed several times before it ends.
    let nth = chance.below(left as u64 / 2 + 1) as usize + 1;
    match chance.below(3) {
        0 if left > 0 => Moment::Arrives(nth),
        1 if left > 0 => Moment::Answered(nth),
        _ => Moment::After(span(chance, whole)),
    }
}

/// From nothing to a little more than `whole`.
fn span(chance: &mut Chance, whole: Duration) -> Duration {
    let micros = whole.as_micros() as u64;
    Duration::from_micros(chance.below(micros + micros / 8 + 1))
}

/// Places of cases.
type Places = HashSet<u32>;
