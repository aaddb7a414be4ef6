//! So much in any window of a length: requests or tokens per minute.
//!
//! # Policy
//!
//! **An exact sliding window.** Every reservation is an entry of a log and stops to count when
//! it is as old as the window is long, on the nanosecond. Counters per fixed window admit twice
//! the limit around the turn of a window, and a refilling bucket admits its burst again within
//! the first window; a server that counts exactly refuses both.
//!
//! **Time counts from the reservation**, which is when the attempt is sent. A server counts from
//! arrival, and the way there takes each time a little longer or shorter, so two attempts that
//! leave exactly a window apart may arrive within one. The safe point to count from would be the
//! answer; but with 8 s of latency and a window of 10 s that throws away almost half of the
//! quota to avoid a refusal that lanes handle anyway and that they learn from. Settling
//! therefore moves nothing: it changes an entry's amount, never its time.
//!
//! **Less used than reserved**: the slack is free at once.
//!
//! **More used than reserved**: the entry grows to what was used. The part of it that was not
//! free is *debt*. Debt takes room until its entry expires, because the server has counted those
//! tokens: a limiter that only notes the debt goes on sending into a quota that is used up. An
//! entry that has expired before it is settled stays expired; its time is over for the overuse
//! too.
//!
//! # Cost
//!
//! The window's length is one for the whole log and time never goes back, so entries expire in
//! the order in which they were made: the log is a queue, pruned at its front when somebody
//! asks. [`FenwickTree`] finds the entry whose expiry frees enough. An entry takes 24 bytes, for as long
//! as its window: a million requests in a window of a day are 24 MB (up to double, while the
//! log grows). Merging neighbours would bound that, but then the limit is no longer exact.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use crate::time::Time;

use super::Room;
use super::sums::FenwickTree;

/// Slots of a log's first ring. Small, because most declared limits of a run see few calls at
/// once; doubled whenever it is full.
const FIRST_SLOTS: usize = 16;

/// Number of a log's entry, counted from the log's first one ever.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct EntryId(u64);

/// What one lease has used of the window.
#[derive(Debug, Clone, Copy)]
struct Entry {
    /// From when on it doesn't count.
    expires: Time,
    /// Reserved, or used once that is known.
    amount: u64,
}

/// What settling changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Settled {
    /// So much less was used than reserved.
    Less(u64),
    /// So much more.
    More(u64),
    /// The entry counted no more.
    Late,
}

/// The log of one limit.
#[derive(Debug, Clone)]
pub(super) struct Rolling {
    window: Duration,
    /// Oldest first.
    log: VecDeque<Entry>,
    /// Number of the log's oldest entry.
    oldest: u64,
    /// Amounts of the log's entries by their slot.
    sums: FenwickTree,
    /// Sum of all amounts in the log. Never overflows: see [`Self::settle`].
    used: u64,
    /// The part of an entry's amount that was not free when it was used.
    debts: BTreeMap<EntryId, u64>,
}

impl Rolling {
    /// Nothing used yet.
    pub(super) fn new(window: Duration) -> Self {
        Self {
            window,
            log: VecDeque::new(),
            oldest: 0,
            sums: FenwickTree::new(FIRST_SLOTS),
            used: 0,
            debts: BTreeMap::new(),
        }
    }

    /// Returns when there is room for `amount`, which is at most `capacity`.
    pub(super) fn room(&mut self, now: Time, capacity: u64, amount: u64) -> Room {
        self.prune(now);
        let allowed = capacity - amount;
        match self.used.checked_sub(allowed) {
            None | Some(0) => Room::Now,
            Some(excess) => Room::At(self.freed_at(excess)),
        }
    }

    /// Takes `amount`, for which there is room. Also says when it is free again.
    pub(super) fn take(&mut self, now: Time, amount: u64) -> (EntryId, Time) {
        if self.log.len() == self.sums.slots() {
            self.grow();
        }
        let number = self.oldest + self.log.len() as u64;
        let expires = now + self.window;
        self.log.push_back(Entry { expires, amount });
        self.sums.add(self.sums.slot(number), amount);
        self.used += amount;
        (EntryId(number), expires)
    }

    /// Sets an entry to what was really used. An expired one stays expired.
    ///
    /// A server's word for usage may be absurd: growth ends where the sum would overflow.
    pub(super) fn settle(&mut self, now: Time, id: EntryId, actual: u64, capacity: u64) -> Settled {
        self.prune(now);
        let Some(entry) =
            id.0.checked_sub(self.oldest)
                .and_then(|index| self.log.get_mut(index as usize))
        else {
            return Settled::Late;
        };
        let slot = self.sums.slot(id.0);
        if actual <= entry.amount {
            let slack = entry.amount - actual;
            entry.amount = actual;
            self.sums.take(slot, slack);
            self.used -= slack;
            Settled::Less(slack)
        } else {
            let more = (actual - entry.amount).min(u64::MAX - self.used);
            let debt = more.saturating_sub(capacity.saturating_sub(self.used));
            if debt > 0 {
                self.debts.insert(id, debt);
            }
            entry.amount += more;
            self.sums.add(slot, more);
            self.used += more;
            Settled::More(more)
        }
    }

    /// How much counts at a time that is not before the last verb's.
    pub(super) fn used(&self, now: Time) -> u64 {
        let expired = self.log.iter().take_while(|entry| entry.expires <= now);
        self.used - expired.map(|entry| entry.amount).sum::<u64>()
    }

    /// How much of that was not free when it was used.
    pub(super) fn debt(&self, now: Time) -> u64 {
        let entry = |id: &EntryId| self.log[(id.0 - self.oldest) as usize];
        let live = self.debts.iter().filter(|(id, _)| entry(id).expires > now);
        live.map(|(_, debt)| debt).sum()
    }

    /// Entries that are kept.
    #[cfg(test)]
    pub(super) fn kept(&mut self, now: Time) -> usize {
        self.prune(now);
        assert!(
            self.debts.len() <= self.log.len(),
            "debt is part of an entry"
        );
        self.log.len()
    }

    /// Forgets what doesn't count any more.
    fn prune(&mut self, now: Time) {
        while let Some(entry) = self.log.front().copied()
            && entry.expires <= now
        {
            self.sums.take(self.sums.slot(self.oldest), entry.amount);
            self.used -= entry.amount;
            self.debts.remove(&EntryId(self.oldest));
            self.log.pop_front();
            self.oldest += 1;
        }
    }

    /// When `excess` of what is used has expired; it is at least 1 and at most all.
    fn freed_at(&self, excess: u64) -> Time {
        let front = self.sums.slot(self.oldest);
        // The log's end may have wrapped around to the slots before its front.
        let wrapped = self.sums.before(front);
        let unwrapped = self.used - wrapped;
        let slot = if excess <= unwrapped {
            self.sums.reach(wrapped + excess)
        } else {
            self.sums.reach(excess - unwrapped)
        };
        let index = slot.wrapping_sub(front) & (self.sums.slots() - 1);
        self.log[index].expires
    }

    /// Makes room for twice as many slots.
    fn grow(&mut self) {
        self.sums = FenwickTree::new(self.sums.slots() * 2);
        for (number, entry) in (self.oldest..).zip(&self.log) {
            self.sums.add(self.sums.slot(number), entry.amount);
        }
    }
}

#[cfg(test)]
mod tests;
