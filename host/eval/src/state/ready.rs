//! Which of the cases that may start is next. Pure.
//!
//! The order is that of the plan, with one exception: **no provider takes the slots of others.** A
//! server that hangs, fails or is slow keeps its cases for long, and in the order of the plan every
//! slot would be its own after a while. So each provider with something to do has an equal share
//! of the slots. Beyond its share it only gets what the others leave: cases of theirs are looked
//! for first, also further on in the plan.
//!
//! Whose request waits in which lane is not known before a case runs: a judge's server that hangs
//! holds up every provider whose answers it judges.

use std::collections::{BTreeSet, HashMap};

use runner_config::plan::CaseId;

/// When a case came: the smaller, the earlier.
pub(super) type Turn = u64;

/// A provider, by a number that whoever makes the cases gives it.
pub type ProviderNumber = u32;

/// The cases of one provider.
#[derive(Debug, Default)]
struct Share {
    /// In the order in which they came.
    ready: BTreeSet<(Turn, CaseId)>,
    in_flight: usize,
}

/// The cases that may start, and how many have started.
#[derive(Debug, Default)]
pub(super) struct Ready {
    /// Of every provider that has a case of either kind.
    shares: HashMap<ProviderNumber, Share>,
    ready: usize,
}

impl Ready {
    /// Takes a case that may start.
    pub(super) fn insert(&mut self, turn: Turn, id: CaseId, of: ProviderNumber) {
        let is_new = self.shares.entry(of).or_default().ready.insert((turn, id));
        self.ready += usize::from(is_new);
    }

    /// Takes out the first case of the providers that have not used up their share of the `slots`.
    pub(super) fn start_fair(&mut self, slots: usize) -> Option<CaseId> {
        let share = slots.div_ceil(self.shares.len().max(1));
        let (of, _) = self
            .waiting()
            .filter(|(_, in_flight, _)| *in_flight < share)
            .map(|(of, _, first)| (of, first))
            .min_by_key(|(_, first)| *first)?;
        self.start(of)
    }

    /// Takes out the first case of the provider that has the fewest in flight.
    pub(super) fn start_any(&mut self) -> Option<CaseId> {
        let least = self
            .waiting()
            .min_by_key(|(_, in_flight, first)| (*in_flight, *first));
        self.start(least?.0)
    }

    /// Each provider with a case that may start: how many it has in flight, and the case.
    fn waiting(&self) -> impl Iterator<Item = (ProviderNumber, usize, (Turn, CaseId))> {
        let shares = self.shares.iter();
        shares.filter_map(|(of, share)| Some((*of, share.in_flight, *share.ready.first()?)))
    }

    fn start(&mut self, of: ProviderNumber) -> Option<CaseId> {
        let share = self.shares.get_mut(&of)?;
        let (_, id) = share.ready.pop_first()?;
        share.in_flight += 1;
        self.ready -= 1;
        Some(id)
    }

    /// Takes in that a case that was started has ended.
    pub(super) fn ended(&mut self, of: ProviderNumber) {
        let share = self.shares.get_mut(&of).expect("its case is in flight");
        share.in_flight -= 1;
        if share.in_flight == 0 && share.ready.is_empty() {
            self.shares.remove(&of);
        }
    }

    /// Cases that may start.
    pub(super) fn len(&self) -> usize {
        self.ready
    }
}
