//! Which of the cases that may start is next. Pure.
//!
//! The order is that of the plan, with one exception: **no provider takes the slots of others.** A
//! server that hangs, fails or is slow keeps its cases for long, and in the order of the plan every
//! slot would be its own after a while. So each provider with something to do has an equal share
//! of the slots, and another one for each judge of its answers: that may be who is slow. Beyond its share it
//! only gets what the others leave: cases of theirs are looked for first, also further on in the plan.
//!
//! Cases whose answers are compared with others of their row have a share of their own for each of these:
//! while the answers that wait for that take too much memory, none of them starts, and it is nothing to the
//! other cases.
//!
//! Of several judges of one answer the first is taken for all: whose request waits in which lane is not known
//! before a case runs.

use std::collections::{BTreeSet, HashMap};

use runner_config::plan::CaseId;

/// When a case came: the smaller, the earlier.
pub(super) type ArrivalNumber = u64;

/// Who keeps a case waiting (its provider, and who judges its answer), by a number that whoever makes the
/// cases gives it.
pub type ShareNumber = u32;

/// Whose share of the slots a case has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct ShareOf {
    pub(super) number: ShareNumber,
    /// Its answer is compared with others.
    pub(super) compared: bool,
}

/// What is free for cases.
#[derive(Debug, Clone, Copy)]
pub(super) struct Free {
    /// Slots, those that are in use too.
    pub(super) slots: usize,
    /// Numbers of shares that cases may have, also such as none has come of.
    pub(super) shares: usize,
    /// Memory for answers that are compared.
    pub(super) to_compare: bool,
    /// No others may come of shares that have fewer in flight.
    pub(super) beyond_share: bool,
}

/// The cases of one share.
#[derive(Debug, Default)]
struct Share {
    /// In the order in which they came.
    ready: BTreeSet<(ArrivalNumber, CaseId)>,
    in_flight: usize,
}

impl Share {
    fn is_idle(&self) -> bool {
        self.in_flight == 0 && self.ready.is_empty()
    }
}

/// The cases that may start, and how many have started.
#[derive(Debug, Default)]
pub(super) struct Ready {
    /// Each that has, or had, a case.
    shares: HashMap<ShareOf, Share>,
    ready: usize,
}

impl Ready {
    /// Takes a case that may start.
    pub(super) fn insert(&mut self, turn: ArrivalNumber, id: CaseId, of: ShareOf) {
        let is_new = self.shares.entry(of).or_default().ready.insert((turn, id));
        self.ready += usize::from(is_new);
    }

    /// Takes out the next case: the first of those that have not used up their share, else the first of the one
    /// that has the fewest in flight.
    pub(super) fn take_next(&mut self, free: Free) -> Option<CaseId> {
        let active = self.shares.values().filter(|it| !it.is_idle()).count();
        // Who has nothing at the moment, or never had, may have the next that comes.
        let known = if free.beyond_share {
            0
        } else {
            self.numbers().max(free.shares)
        };
        let share = free.slots.div_ceil(active.max(known).max(1));
        let (of, _) = self
            .waiting(free)
            .filter(|(_, in_flight, _)| *in_flight < share)
            .map(|(of, _, first)| (of, first))
            .min_by_key(|(_, first)| *first)
            .or_else(|| self.least(free).filter(|_| free.beyond_share))?;
        let share = self.shares.get_mut(&of)?;
        let (_, id) = share.ready.pop_first()?;
        share.in_flight += 1;
        self.ready -= 1;
        Some(id)
    }

    /// Numbers that have, or had, a case of either kind.
    fn numbers(&self) -> usize {
        let is_first = |of: &&ShareOf| {
            let plain = ShareOf {
                compared: false,
                ..**of
            };
            !of.compared || !self.shares.contains_key(&plain)
        };
        self.shares.keys().filter(is_first).count()
    }

    fn least(&self, free: Free) -> Option<(ShareOf, (ArrivalNumber, CaseId))> {
        let least = self
            .waiting(free)
            .min_by_key(|(_, in_flight, first)| (*in_flight, *first));
        least.map(|(of, _, first)| (of, first))
    }

    /// Each share with a case that may start: how many it has in flight, and the case.
    fn waiting(
        &self,
        free: Free,
    ) -> impl Iterator<Item = (ShareOf, usize, (ArrivalNumber, CaseId))> {
        let shares = self.shares.iter();
        let shares = shares.filter(move |(of, _)| free.to_compare || !of.compared);
        shares.filter_map(|(of, share)| Some((*of, share.in_flight, *share.ready.first()?)))
    }

    /// Takes in that a case that was started has ended.
    pub(super) fn ended(&mut self, of: ShareOf) {
        let share = self.shares.get_mut(&of).expect("its case is in flight");
        share.in_flight -= 1;
    }

    /// Cases that may start.
    pub(super) fn len(&self) -> usize {
        self.ready
    }
}
