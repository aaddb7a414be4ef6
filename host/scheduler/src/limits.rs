//! Limits that the user declares, and leases on them.
//!
//! A server that says nothing about its limits has to be found out by trying. A user who knows
//! them, or wants to stay below them, declares them instead: requests and tokens in any window,
//! attempts in flight. Before an attempt is sent it reserves an estimate of what it will use;
//! when it has ended the estimate is settled to what it did use. What is reserved in one go is a
//! *lease*.
//!
//! This is the bookkeeping alone. Whose turn it is, what becomes of who is denied, and what a
//! server says by itself are the machine's and its lanes' business. There is no fairness here
//! on purpose: a limiter that is asked by many can only answer whoever asks, so a large lease
//! starves behind small ones unless a queue asks in order.
//!
//! # Policy
//!
//! **All or nothing.** A lease has everything that it asked for, or it takes nothing. Half a
//! lease would block others while it waits.
//!
//! **A denial says what helps.** Waiting until a given time, which is exact: at it there is
//! room if nobody else took it, and a nanosecond before there is not. Waiting for some lease to
//! end, where nobody knows a time. Or nothing: more than a limit holds will not fit later
//! either, and is never to be asked again.
//!
//! **A denied id is used up.** The same id asks about the same attempt at being allowed: see
//! [`lease`]. A new try is a new id.
//!
//! **A capacity that falls drains.** What is out is not revoked. New leases are judged by the
//! new capacity from the first moment: none fits while more than that is out, the retry time is
//! exact in that state too, and what is larger than the new capacity is refused at once instead
//! of being told to wait for a limit that it will never pass. There is no state "decreasing"
//! and nothing to apply later: that more is out than the capacity allows is all there is to
//! know.
//!
//! **A clock that goes back** is read as standing still.
//!
//! How long a reservation counts is in [`rolling`] and [`holds`].

mod holds;
mod lease;
mod rolling;
mod sums;

use std::time::Duration;

use crate::shared::{QuotaReply, QuotaReport};
use crate::sharing::Sharing;
use crate::time::Time;
use crate::tuning::limits::HOLD;

use holds::Holds;
use lease::{LeasePlace, Leases, Part, Standing};
use rolling::{Rolling, Settled};

/// A declared limit of one [`Limits`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LimitId(pub(crate) u32);

/// What a declared limit counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitMeasure {
    /// Requests in any window of this length.
    Requests(Duration),
    /// Tokens, in and out together, in any window of this length.
    Tokens(Duration),
    /// Attempts in flight.
    Concurrency,
}

/// A limit as the user declares it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limit {
    /// What messages call it: `account requests`.
    pub name: String,
    /// What it counts.
    pub counts: LimitMeasure,
    /// How much of it; at least 1, or nothing is ever allowed.
    pub capacity: u64,
}

/// A reservation of one attempt. Chosen by the caller, each above all before it; never reused
/// after a denial or an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LeaseId(pub u64);

/// Why a reservation was not made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Denied {
    /// Not now.
    Full {
        /// The limit that frees last; of several, the one declared last.
        limit: LimitId,
        /// When there is room if nothing else happens: later than now, and exact. `None`: after
        /// some other lease has ended. Another lease's end may make room earlier, and so may a
        /// raised capacity.
        retry_at: Option<Time>,
    },
    /// Never: it asks for more than the limit holds.
    ExceedsCapacity {
        /// Which limit.
        limit: LimitId,
        /// What was asked.
        asked: u64,
        /// What there is.
        capacity: u64,
    },
    /// No such limit.
    UnknownLimit(LimitId),
    /// The lease exists with other requirements, was denied, has ended or begun to expire, or
    /// asks for nothing, for zero of something, or for more than 32 things.
    InvalidLease,
}

/// Whether there is room for an amount, in the order of how late it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Room {
    Now,
    At(Time),
    AfterSettle,
}

/// What is out of a limit.
#[derive(Debug, Clone)]
enum Pool {
    Rolling(Rolling),
    Holds(Holds),
}

/// A limit and what is out of it.
#[derive(Debug, Clone)]
struct Declared {
    limit: Limit,
    pool: Pool,
    /// What others use of it.
    sharing: Sharing,
}

impl Declared {
    fn new(limit: Limit) -> Self {
        let pool = match limit.counts {
            LimitMeasure::Requests(window) | LimitMeasure::Tokens(window) => {
                Pool::Rolling(Rolling::new(window))
            }
            LimitMeasure::Concurrency => Pool::Holds(Holds::default()),
        };
        Self {
            limit,
            pool,
            sharing: Sharing::default(),
        }
    }

    /// Returns when there is room for an amount that is not above the capacity.
    fn room(&mut self, now: Time, amount: u64) -> Room {
        let capacity = self.limit.capacity;
        match &mut self.pool {
            Pool::Rolling(rolling) => {
                let block = self.sharing.due(now, amount).map(Room::At);
                let room = rolling.room(now, capacity, amount);
                block.map_or(room, |block| room.max(block))
            }
            Pool::Holds(holds) => holds.room(capacity, amount),
        }
    }

    /// Takes an amount for which there is room.
    fn take(&mut self, now: Time, amount: u64) -> LeasePlace {
        match &mut self.pool {
            Pool::Rolling(rolling) => {
                self.sharing.send(now, amount);
                let (entry, expires) = rolling.take(now, amount);
                LeasePlace::Logged { entry, expires }
            }
            Pool::Holds(holds) => {
                holds.take(amount);
                LeasePlace::Held
            }
        }
    }

    /// Settles a part of a lease: a hold ends, and what was logged is set to what was used, if
    /// that is known.
    fn settle(&mut self, now: Time, part: &Part, actual: Option<u64>) {
        match (&mut self.pool, part.place) {
            (Pool::Holds(holds), _) => holds.give_back(part.amount),
            (Pool::Rolling(rolling), LeasePlace::Logged { entry, .. }) => {
                let actual = actual.unwrap_or(part.amount);
                match rolling.settle(now, entry, actual, self.limit.capacity) {
                    Settled::Less(slack) => self.sharing.take_back(slack),
                    Settled::More(more) => self.sharing.send(now, more),
                    Settled::Late => {}
                }
            }
            (Pool::Rolling(_), LeasePlace::Held) => unreachable!("a limit never changes its kind"),
        }
    }
}

/// All declared limits of a run.
///
/// Every verb takes steps in the order of the logarithm of what is out, or amortised fewer.
#[derive(Debug, Clone, Default)]
pub struct Limits {
    declared: Vec<Declared>,
    leases: Leases,
    /// The latest time that any verb was given.
    now: Time,
}

impl Limits {
    /// Adds a limit.
    pub fn declare(&mut self, limit: Limit) -> LimitId {
        self.declared.push(Declared::new(limit));
        LimitId(self.declared.len() as u32 - 1)
    }

    /// Reserves all or nothing.
    ///
    /// From 1 to 32 requirements of at least 1 each; the same limit named twice is summed. Says
    /// `Ok` again, and takes nothing, when a lease that still counts in full is asked for again
    /// with the same requirements in any order.
    pub fn reserve(
        &mut self,
        now: Time,
        lease: LeaseId,
        requirements: &[(LimitId, u64)],
    ) -> Result<(), Denied> {
        let now = self.advance(now);
        let asked = lease::summed(requirements);
        // Before anything is refused: the id counts as seen whatever the answer is, so that a denied one
        // can't be asked for again.
        let standing = self.leases.present(now, lease, &asked);
        if standing == Standing::Spent || !lease::well_formed(requirements) {
            return Err(Denied::InvalidLease);
        }
        if standing == Standing::Granted {
            return Ok(());
        }
        // What never fits would be told to wait, again and again.
        self.fits_at_all(&asked)?;
        // All are looked at before any is taken: a lease that had some of its limits would keep them from
        // others while it waits for the rest.
        self.fits_now(now, &asked)?;
        let take = |(limit, amount): (LimitId, u64)| {
            let place = self.declared[limit.0 as usize].take(now, amount);
            Part {
                limit,
                amount,
                place,
            }
        };
        let parts = asked.into_iter().map(take).collect();
        self.leases.begin(now, lease, parts);
        Ok(())
    }

    /// Takes in that the attempt goes on: its holds last [`HOLD`] from now. Too late for
    /// holds that have ended, and nothing to do for a lease without any, or an unknown one.
    pub(crate) fn renew(&mut self, now: Time, lease: LeaseId) {
        let now = self.advance(now);
        self.leases.renew(now, lease);
    }

    /// The lease whose hold ends first, and when it is time to renew it: half of
    /// [`HOLD`] before that end. `None`: there is no hold.
    ///
    /// Before anything else, whoever runs the attempts does, with every `now`: as long as the
    /// time has come, `renew` the lease if its attempt goes on, else `release` it. Then the time
    /// that is left is later than `now`, and no hold of a living attempt ever ends, unless the
    /// caller sleeps for half of [`HOLD`] longer than told.
    pub(crate) fn renewal(&self) -> Option<(Time, LeaseId)> {
        let (end, lease) = self.leases.first_end()?;
        Some((end.before(HOLD / 2), lease))
    }

    /// Takes in that the attempt has ended and used this much. Unknown leases are ignored.
    ///
    /// Its holds end. Of a rolling limit, what was not used is free at once, and what was used
    /// beyond the reservation counts with it. A limit that is missing in `actual` keeps its
    /// estimate: what isn't known to be free isn't. One that the lease didn't ask for is ignored.
    pub fn settle(&mut self, now: Time, lease: LeaseId, actual: &[(LimitId, u64)]) {
        let actual = lease::summed(actual);
        self.end(now, lease, |limit| {
            let found = actual.binary_search_by_key(&limit, |(limit, _)| *limit);
            found.ok().map(|index| actual[index].1)
        });
    }

    /// Takes in that the attempt was never sent: everything is given back. Unknown leases are ignored.
    pub fn release(&mut self, now: Time, lease: LeaseId) {
        self.end(now, lease, |_| Some(0));
    }

    /// What to tell others that use the same limit; `needs` is what the first who waits for it needs. `None`:
    /// it is no window, or there is no such limit.
    pub(crate) fn visit(
        &mut self,
        now: Time,
        limit: LimitId,
        needs: Option<u64>,
    ) -> Option<QuotaReport> {
        let declared = self.declared.get_mut(limit.0 as usize)?;
        let (LimitMeasure::Requests(window) | LimitMeasure::Tokens(window)) = declared.limit.counts
        else {
            return None;
        };
        Some(QuotaReport {
            rule: Some((declared.limit.capacity, window)),
            ..declared.sharing.visit(now, needs)
        })
    }

    /// Takes in what others told to a visit whose words are of `asked`.
    pub(crate) fn hear(&mut self, asked: Time, now: Time, limit: LimitId, portion: &QuotaReply) {
        if let Some(declared) = self.declared.get_mut(limit.0 as usize) {
            declared.sharing.hear(asked, now, portion);
        }
    }

    /// Gives nothing before the first portion is heard, for so long at most.
    pub(crate) fn expect(&mut self, now: Time, limit: LimitId, patience: Duration) {
        if let Some(declared) = self.declared.get_mut(limit.0 as usize) {
            declared.sharing.expect(now, patience);
        }
    }

    /// Changes a capacity: up at once, down as leases drain. Unknown limits are ignored.
    ///
    /// Whoever was denied before should ask again: the retry time was for the old capacity.
    pub fn change(&mut self, now: Time, limit: LimitId, capacity: u64) {
        self.advance(now);
        if let Some(declared) = self.declared.get_mut(limit.0 as usize) {
            declared.limit.capacity = capacity;
        }
    }

    /// The limit, with the capacity that new leases are judged by.
    pub fn limit(&self, id: LimitId) -> Option<&Limit> {
        self.declared
            .get(id.0 as usize)
            .map(|declared| &declared.limit)
    }

    /// How much of a limit is reserved or used now. More than its capacity after it fell, or
    /// while there is debt. 0 for an unknown limit.
    pub fn used(&self, now: Time, limit: LimitId) -> u64 {
        let now = now.max(self.now);
        match self.declared.get(limit.0 as usize).map(|found| &found.pool) {
            Some(Pool::Rolling(rolling)) => rolling.used(now),
            Some(Pool::Holds(holds)) => holds.taken() - self.leases.overdue(now, limit),
            None => 0,
        }
    }

    /// How much of that was not free when attempts turned out to have used it. 0 for concurrency
    /// and for an unknown limit.
    pub fn debt(&self, now: Time, limit: LimitId) -> u64 {
        let now = now.max(self.now);
        match self.declared.get(limit.0 as usize).map(|found| &found.pool) {
            Some(Pool::Rolling(rolling)) => rolling.debt(now),
            Some(Pool::Holds(_)) | None => 0,
        }
    }

    /// Lets time pass up to `now`, or not at all if that is past; the time it is then.
    fn advance(&mut self, now: Time) -> Time {
        self.now = self.now.max(now);
        let declared = &mut self.declared;
        self.leases.lapse(self.now, |limit, amount| {
            if let Pool::Holds(holds) = &mut declared[limit.0 as usize].pool {
                holds.give_back(amount);
            }
        });
        self.now
    }

    /// Checks whether the requirements could be met with nothing out.
    fn fits_at_all(&self, asked: &[(LimitId, u64)]) -> Result<(), Denied> {
        if let Some((unknown, _)) = asked.iter().find(|(id, _)| self.limit(*id).is_none()) {
            return Err(Denied::UnknownLimit(*unknown));
        }
        for &(limit, asked) in asked {
            let capacity = self.declared[limit.0 as usize].limit.capacity;
            if asked > capacity {
                return Err(Denied::ExceedsCapacity {
                    limit,
                    asked,
                    capacity,
                });
            }
        }
        Ok(())
    }

    /// Checks whether the requirements, which could be met, can be met now.
    fn fits_now(&mut self, now: Time, asked: &[(LimitId, u64)]) -> Result<(), Denied> {
        let rooms = asked.iter().map(|&(limit, amount)| {
            let room = self.declared[limit.0 as usize].room(now, amount);
            (room, limit)
        });
        let (limit, retry_at) = match rooms.max() {
            None | Some((Room::Now, _)) => return Ok(()),
            Some((Room::At(time), limit)) => (limit, Some(time)),
            Some((Room::AfterSettle, limit)) => (limit, None),
        };
        Err(Denied::Full { limit, retry_at })
    }

    /// Ends a lease, with what it used of each limit as far as that is known.
    fn end(&mut self, now: Time, lease: LeaseId, actual: impl Fn(LimitId) -> Option<u64>) {
        let now = self.advance(now);
        let Some(lease) = self.leases.end(lease) else {
            return;
        };
        for part in lease.parts() {
            let declared = &mut self.declared[part.limit.0 as usize];
            declared.settle(now, part, actual(part.limit));
        }
    }
}

#[cfg(test)]
mod tests;
