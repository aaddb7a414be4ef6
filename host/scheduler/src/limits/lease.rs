//! Leases: what one attempt has out, under the name that its holder gave it.
//!
//! # Policy
//!
//! **Ids only go up.** A lease id that is not above all ids seen before, and is not alive, has
//! had its answer: it was denied, or its lease has ended. So one number remembers every denied
//! and every ended lease of a run, in the place of a list that grows with it. The price is that
//! ids are consumed in order; the one machine that draws them from a counter pays nothing.
//!
//! **Repeating is safe.** The same id with the same requirements asks whether the first answer
//! was yes; it consumes nothing. The answer is yes only while *all* of the lease still counts.
//! Once the first part of it has expired a repeat is refused: whoever sends on its strength now
//! would send something that nobody counts.
//!
//! **A lease ends** when it is settled or released, or when the last part of it has expired.
//! Between the first and the last expiry it can still be settled. Then it is forgotten, so what
//! is kept is bounded by what is out.

use std::collections::{BTreeMap, BTreeSet};

use crate::time::Time;
use crate::tuning::limits::HOLD;

use super::rolling::EntryId;
use super::{LeaseId, LimitId};

/// Most requirements of a lease, as published.
pub(super) const MOST_REQUIREMENTS: usize = 32;

/// Requirements by limit, each limit once, amounts of the same limit summed.
pub(super) fn summed(given: &[(LimitId, u64)]) -> Vec<(LimitId, u64)> {
    let mut sums = given.to_vec();
    sums.sort_unstable_by_key(|(limit, _)| *limit);
    sums.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        if same {
            kept.1 = kept.1.saturating_add(next.1);
        }
        same
    });
    sums
}

/// Whether these can be the requirements of a lease.
pub(super) fn well_formed(given: &[(LimitId, u64)]) -> bool {
    (1..=MOST_REQUIREMENTS).contains(&given.len()) && given.iter().all(|(_, amount)| *amount > 0)
}

/// Where a part of a lease counts.
#[derive(Debug, Clone, Copy)]
pub(super) enum LeasePlace {
    /// In the log of a rolling limit.
    Logged {
        /// As which entry.
        entry: EntryId,
        /// Until when.
        expires: Time,
    },
    /// Among the holds of a concurrency limit, as long as the lease's hold lasts.
    Held,
}

/// What a lease has of one limit.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part {
    pub(super) limit: LimitId,
    /// Reserved.
    pub(super) amount: u64,
    pub(super) place: LeasePlace,
}

/// How a lease's places in concurrency limits stand. They are made, renewed and lost together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hold {
    /// The lease asks for none.
    NotAsked,
    /// It has them until then.
    Until(Time),
    /// It had them, and was not renewed in time.
    Lapsed,
}

/// A lease that is alive.
#[derive(Debug, Clone)]
pub(super) struct Lease {
    /// By limit.
    parts: Box<[Part]>,
    hold: Hold,
}

impl Lease {
    /// Parts that the lease has to give back or to settle now. Those in logs may have expired.
    pub(super) fn parts(&self) -> impl Iterator<Item = &Part> {
        let lapsed = self.hold == Hold::Lapsed;
        let out = move |part: &&Part| !(lapsed && matches!(part.place, LeasePlace::Held));
        self.parts.iter().filter(out)
    }

    /// Parts in concurrency limits.
    fn held(&self) -> impl Iterator<Item = (LimitId, u64)> {
        let held = |part: &&Part| matches!(part.place, LeasePlace::Held);
        let parts = self.parts.iter().filter(held);
        parts.map(|part| (part.limit, part.amount))
    }

    /// When the last of its entries in logs expires.
    fn last_expiry(&self) -> Time {
        let expiries = self.parts.iter().filter_map(|part| match part.place {
            LeasePlace::Logged { expires, .. } => Some(expires),
            LeasePlace::Held => None,
        });
        expiries.max().unwrap_or(Time::ZERO)
    }

    /// Whether all of it still counts.
    fn is_whole(&self, now: Time) -> bool {
        self.parts.iter().all(|part| match part.place {
            LeasePlace::Logged { expires, .. } => expires > now,
            LeasePlace::Held => self.hold != Hold::Lapsed,
        })
    }

    /// Whether it was made for these.
    fn asked_for(&self, asked: &[(LimitId, u64)]) -> bool {
        let parts = self.parts.iter().map(|part| (part.limit, part.amount));
        parts.eq(asked.iter().copied())
    }
}

/// What an id is worth in a reservation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// Never seen.
    Fresh,
    /// Has all that is asked for.
    Granted,
    /// Was denied, has ended, or stands for something else.
    Spent,
}

/// All leases that are alive.
#[derive(Debug, Clone, Default)]
pub(super) struct Leases {
    alive: BTreeMap<LeaseId, Lease>,
    /// The highest id ever seen.
    newest: Option<LeaseId>,
    /// Leases with a hold, by its end.
    holding: BTreeSet<(Time, LeaseId)>,
    /// The others, by their last expiry.
    fading: BTreeSet<(Time, LeaseId)>,
}

impl Leases {
    /// Returns what the id is worth for these requirements. A fresh one is fresh only once.
    pub(super) fn present(&mut self, now: Time, id: LeaseId, asked: &[(LimitId, u64)]) -> Standing {
        if self.newest.is_none_or(|newest| id > newest) {
            self.newest = Some(id);
            return Standing::Fresh;
        }
        match self.alive.get(&id) {
            Some(lease) if lease.is_whole(now) && lease.asked_for(asked) => Standing::Granted,
            _ => Standing::Spent,
        }
    }

    /// Begins a lease, with everything that it asked for.
    pub(super) fn begin(&mut self, now: Time, id: LeaseId, parts: Box<[Part]>) {
        let mut lease = Lease {
            parts,
            hold: Hold::NotAsked,
        };
        if lease.held().next().is_some() {
            lease.hold = Hold::Until(now + HOLD);
            self.holding.insert((now + HOLD, id));
        } else {
            self.fading.insert((lease.last_expiry(), id));
        }
        self.alive.insert(id, lease);
    }

    /// Ends a lease, if it is alive.
    pub(super) fn end(&mut self, id: LeaseId) -> Option<Lease> {
        let lease = self.alive.remove(&id)?;
        match lease.hold {
            Hold::Until(end) => self.holding.remove(&(end, id)),
            Hold::NotAsked | Hold::Lapsed => self.fading.remove(&(lease.last_expiry(), id)),
        };
        Some(lease)
    }

    /// Prolongs a hold that has not lapsed.
    pub(super) fn renew(&mut self, now: Time, id: LeaseId) {
        if let Some(lease) = self.alive.get_mut(&id)
            && let Hold::Until(end) = lease.hold
        {
            lease.hold = Hold::Until(now + HOLD);
            self.holding.remove(&(end, id));
            self.holding.insert((now + HOLD, id));
        }
    }

    /// The hold that ends first, and when.
    pub(super) fn first_end(&self) -> Option<(Time, LeaseId)> {
        self.holding.first().copied()
    }

    /// Ends what nobody renewed and forgets what has expired; `give_back` gets every place that
    /// is free by it.
    pub(super) fn lapse(&mut self, now: Time, mut give_back: impl FnMut(LimitId, u64)) {
        while let Some((end, id)) = self.holding.first().copied()
            && end <= now
        {
            self.holding.pop_first();
            let lease = self.alive.get_mut(&id).expect("only live leases hold");
            lease.hold = Hold::Lapsed;
            lease
                .held()
                .for_each(|(limit, held)| give_back(limit, held));
            self.fading.insert((lease.last_expiry(), id));
        }
        while let Some((end, id)) = self.fading.first().copied()
            && end <= now
        {
            self.fading.pop_first();
            self.alive.remove(&id);
        }
    }

    /// How much of a limit is held by leases whose hold has ended by `now` unnoticed.
    pub(super) fn overdue(&self, now: Time, limit: LimitId) -> u64 {
        let ended = self.holding.iter().take_while(|(end, _)| *end <= now);
        let leases = ended.filter_map(|(_, id)| self.alive.get(id));
        let parts = leases.flat_map(Lease::held);
        parts
            .filter(|part| part.0 == limit)
            .map(|part| part.1)
            .sum()
    }

    /// How many are alive.
    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        let scheduled = self.holding.len() + self.fading.len();
        assert_eq!(scheduled, self.alive.len(), "every live lease has one end");
        self.alive.len()
    }
}
