//! Whether a lane is open at all.
//!
//! Three things can hold it, one at a time ([`Holding`]):
//!
//! - a refusal for its rate shuts it for a while (`backoff`);
//! - failures of the server or of the way to it break it (`breaker`);
//! - a used-up quota **ends** it, as do a wait that is longer than a run sits out, credentials that were
//!   never accepted and a model that was never there: what is queued fails at once with the reason, and no money or patience is spent
//!   on it. A success that was on its way proves credentials and models right after all, and a quota
//!   is filled again at the time that the server said, if it did: a run of hours lives to see it.
//!
//! Both of the first let probes go, one and then more (`barrier`). Failures don't break a lane that
//! is backing off; a probe of the breaker that is refused for its rate turns the one into the other.

use std::time::Duration;

use crate::chance::Chance;
use crate::class::Class;
use crate::job::{LongWait, Refusal};
use crate::time::Time;
use crate::view::WaitReason;

mod backoff;
mod barrier;
mod breaker;

use crate::tuning::gate::{AUTH_FAILURES, EXHAUSTED, NOT_FOUND};
use backoff::Backoff;
use barrier::{Barrier, Passage};
use breaker::{Breaker, FailureContext};

/// What holds a lane back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum HoldReason {
    /// Shut, or waiting for a probe's answer; nothing may be sent before then.
    Until(Time, WaitReason),
    /// Nobody who is queued now will pass.
    Ended(Refusal),
}

/// What holds a lane now.
#[derive(Debug, Default)]
enum Holding {
    #[default]
    Nothing,
    /// A refusal for its rate; `asked`: the server said for how long.
    Refused { barrier: Barrier, asked: bool },
    /// Failures.
    Broken(Barrier),
    /// Nothing passes any more, or not before the quota is filled again.
    Ended(Refusal),
}

/// The gate of a lane.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    holding: Holding,
    backoff: Backoff,
    breaker: Breaker,
    auth_failures: u32,
    /// Answers since the last success that say that the account is empty.
    exhausted: u32,
    not_found: u32,
    /// Probes in a row that were refused for the rate.
    refused_probes: u32,
    succeeded: bool,
    /// The last opening, until somebody asks.
    opening: Option<Opening>,
}

/// The end of what held a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Opening {
    /// When the attempt was sent that was not refused; or a spell ago, if silence says so.
    pub(crate) at: Time,
    /// The server asked for the wait, or refused probes meanwhile.
    pub(crate) probed: bool,
}

impl Gate {
    /// Says whether an attempt may be sent now. `quiet`: how long without a refusal counts as
    /// acceptance; `paced`: something else spaces the attempts.
    pub(crate) fn check(&mut self, now: Time, quiet: Duration, paced: bool) -> Option<HoldReason> {
        if let Holding::Ended(why) = &self.holding
            && let Some(until) = why.until().filter(|until| *until <= now)
        {
            // One goes first, as after any wait that the server asked for.
            let barrier = Barrier::Shut { until };
            self.holding = Holding::Refused {
                barrier,
                asked: true,
            };
            self.exhausted = 0;
        }
        let (barrier, spell, at_once, why) = match &mut self.holding {
            Holding::Nothing => return None,
            Holding::Ended(why) => return Some(HoldReason::Ended(why.clone())),
            Holding::Refused { barrier, asked } => {
                let asked = *asked && barrier.until().is_some();
                (barrier, quiet, paced, WaitReason::Blocked { asked })
            }
            Holding::Broken(barrier) => (barrier, self.breaker.spell(), false, WaitReason::Broken),
        };
        match barrier.check(now, spell, at_once) {
            Passage::Free => None,
            Passage::Held(until) => Some(HoldReason::Until(until, why)),
            Passage::Quiet { wide } => {
                if wide {
                    self.holding = Holding::Nothing;
                    self.breaker.forget();
                }
                self.reopen(now, now.before(quiet));
                None
            }
        }
    }

    /// What opens by degrees, if that is what holds it.
    fn barrier(&self) -> Option<Barrier> {
        match self.holding {
            Holding::Refused { barrier, .. } | Holding::Broken(barrier) => Some(barrier),
            Holding::Nothing | Holding::Ended(_) => None,
        }
    }

    fn barrier_mut(&mut self) -> Option<&mut Barrier> {
        match &mut self.holding {
            Holding::Refused { barrier, .. } | Holding::Broken(barrier) => Some(barrier),
            Holding::Nothing | Holding::Ended(_) => None,
        }
    }

    /// Takes in that the server asks to wait for longer than a run does: nobody who is queued waits for it.
    pub(crate) fn give_up(&mut self, wait: LongWait) {
        self.end_if(true, Refusal::TooLong(wait));
    }

    /// Counts an attempt that is sent now.
    pub(crate) fn send(&mut self, now: Time) {
        if let Some(barrier) = self.barrier_mut() {
            barrier.send(now);
        }
    }

    /// Takes in that a probe was cancelled: another may go in its place.
    pub(crate) fn lost_probe(&mut self, sent_at: Time) {
        if let Some(barrier) = self.barrier_mut() {
            barrier.lost_probe(sent_at);
        }
    }

    /// Whether an attempt sent then was a probe.
    pub(crate) fn is_probe(&self, sent_at: Time) -> bool {
        self.barrier().is_some_and(|known| known.is_probe(sent_at))
    }

    /// Whether a refusal now is the first probe's: the same episode goes on.
    pub(crate) fn is_first_probe(&self, sent_at: Time) -> bool {
        self.barrier()
            .is_some_and(|known| known.is_first_probe(sent_at))
    }

    /// Until when nothing is sent, if that is known.
    pub(crate) fn blocked_until(&self) -> Option<Time> {
        self.barrier().and_then(Barrier::until)
    }

    /// Takes in that an attempt was refused for its rate. `asked` is the server's wish, `usual` what
    /// is right without one. A refusal of the same burst counts as one with it; none makes the block
    /// shorter.
    pub(crate) fn block(
        &mut self,
        now: Time,
        asked: Option<Duration>,
        usual: Option<Duration>,
        same_burst: bool,
    ) {
        if self.is_ended() {
            return;
        }
        let asked = asked.filter(|wait| !wait.is_zero());
        self.backoff.inherit(self.breaker.recovers());
        let until = now + self.backoff.refused(now, asked, usual, same_burst);
        // Answers cross: a probe may be refused for less than an older attempt was refused for since.
        if let Holding::Refused { barrier, .. } = self.holding
            && barrier.until().is_some_and(|known| known >= until)
        {
            return;
        }
        self.holding = Holding::Refused {
            barrier: Barrier::Shut { until },
            asked: asked.is_some(),
        };
    }

    /// Takes in how an attempt ended that was sent then; `until`: when a used-up quota is filled again, if
    /// that was said. Gives the time of the next probe if that broke the lane. What a refusal for its rate
    /// does besides is told with [`Gate::block`], before.
    pub(crate) fn ended(
        &mut self,
        now: Time,
        sent_at: Time,
        class: Class,
        until: Option<Time>,
        chance: &mut Chance,
    ) -> Option<Time> {
        match class {
            Class::Ok => self.succeeded(),
            // The request itself is wrong, so what the lane asks for is there.
            Class::Permanent => self.not_found = 0,
            Class::NotFound => {
                self.not_found += 1;
                self.end_if(self.never(self.not_found, NOT_FOUND), Refusal::NotFound);
            }
            Class::Auth => {
                self.auth_failures += 1;
                self.end_if(self.never(self.auth_failures, AUTH_FAILURES), Refusal::Auth);
            }
            // One request may be too dear for what is left (`402` to a long answer), and others are not.
            Class::QuotaExhausted => {
                self.exhausted += 1;
                let empty = until.is_some() || self.exhausted >= EXHAUSTED;
                self.end_if(empty, Refusal::QuotaExhausted { until });
            }
            Class::Transient => return self.failed(now, sent_at, chance),
            Class::Throttled | Class::Timeout => {}
        }
        if matches!(class, Class::Ok | Class::Permanent | Class::NotFound) {
            self.accepted(now, sent_at);
        }
        if class.is_answer() && self.breaker.answered(sent_at, self.is_broken()) {
            self.holding = Holding::Nothing;
            self.reopen(now, sent_at);
        }
        None
    }

    /// Takes in that an attempt sent at `sent_at` was not refused.
    fn accepted(&mut self, now: Time, sent_at: Time) {
        if !self.is_probe(sent_at) {
            return;
        }
        self.reopen(now, sent_at);
        if let Holding::Refused { barrier, .. } = &mut self.holding
            && barrier.widen()
        {
            self.holding = Holding::Nothing;
        }
    }

    /// Gives the last opening, once.
    pub(crate) fn take_opening(&mut self) -> Option<Opening> {
        self.opening.take()
    }

    /// Takes in that a probe was refused for its rate, as those before.
    pub(crate) fn probed_in_vain(&mut self) {
        self.refused_probes += 1;
    }

    /// Takes in that what held the lane is over.
    fn reopen(&mut self, now: Time, at: Time) {
        self.refused_probes = 0;
        self.breaker.recovers();
        if let Some(probed) = self.backoff.accepted(now) {
            self.opening = Some(Opening { at, probed });
        }
    }

    /// Takes in that the server or the way to it failed. Gives the time of the next probe if that broke the
    /// lane.
    fn failed(&mut self, now: Time, sent_at: Time, chance: &mut Chance) -> Option<Time> {
        let meets = match self.holding {
            Holding::Nothing => FailureContext::Open,
            Holding::Broken(barrier) if barrier.is_probe(sent_at) => FailureContext::Broken,
            _ => FailureContext::Held,
        };
        let until = self.breaker.failed(now, sent_at, meets, chance)?;
        self.holding = Holding::Broken(Barrier::Shut { until });
        Some(until)
    }

    /// Whether the breaker is open or being probed.
    pub(crate) fn is_broken(&self) -> bool {
        matches!(self.holding, Holding::Broken(_))
    }

    /// Whether nothing passes any more.
    pub(crate) fn is_ended(&self) -> bool {
        matches!(self.holding, Holding::Ended(_))
    }

    /// Pauses in a row that ended with a probe in vain, while something holds the lane. What the same
    /// jobs meet again may be their own fault, so that others should be tried.
    pub(crate) fn in_vain(&self) -> Option<u32> {
        match self.holding {
            Holding::Broken(_) => Some(self.breaker.strikes()),
            Holding::Refused { .. } => Some(self.refused_probes).filter(|probes| *probes > 0),
            Holding::Nothing | Holding::Ended(_) => None,
        }
    }

    /// Why the `queued` jobs of a broken lane end untried, if they do; said once of each wave.
    pub(crate) fn lost(&mut self, now: Time, queued: usize) -> Option<Refusal> {
        self.breaker.lost(now, queued)
    }

    /// Takes in that the credential works, and something is there.
    fn succeeded(&mut self) {
        self.succeeded = true;
        self.breaker.works();
        if let Holding::Ended(Refusal::Auth | Refusal::NotFound) = self.holding {
            self.holding = Holding::Nothing;
        }
        (self.auth_failures, self.not_found, self.exhausted) = (0, 0, 0);
    }

    /// Whether so many answers against all that the lane asks for are enough: none was a success.
    fn never(&self, answers: u32, enough: u32) -> bool {
        !self.succeeded && answers >= enough
    }

    /// Lets nothing pass any more, if so. What holds the lane goes, and what it has counted.
    fn end_if(&mut self, ends: bool, why: Refusal) {
        if ends && !self.is_ended() {
            self.holding = Holding::Ended(why);
            self.breaker.recovers();
            self.backoff.yields();
        }
    }
}

#[cfg(test)]
mod tests;
