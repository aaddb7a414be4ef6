//! What is reserved and spent, who may go, and in which order. Pure; the rules are in the parent
//! module.

use std::collections::{BTreeMap, HashMap};

use runner_scheduler::QuotaUse as Tokens;

use super::estimate::{Amounts, Bound, Learnt, Used, Want, total};
use super::terms::{Budget, BudgetId, Exceeded, Measure, Owner, StatedCost, Statement};
use crate::lane::{Lane, MOST_LANES};

#[cfg(test)]
mod tests;

/// Sums of what is on the way, wide enough that none is cut: all of it is given back.
type Sums = [u128; 3];

/// An exchange from its asking on. Who asks later has a larger one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct ClaimId(u64);

#[derive(Debug)]
struct OpenBudget {
    owner: Owner,
    limits: [Option<u64>; 3],
    spent: Amounts,
    reserved: Sums,
}

#[derive(Debug)]
struct Open {
    want: Want,
    reserved: Amounts,
    /// What an attempt is taken for that doesn't say what it used.
    presumed: Tokens,
    presumed_cost: u64,
    /// What its attempts used.
    used: Tokens,
    was_sent: bool,
    on_wire: bool,
}

/// What becomes of a [`Want`], whoever else waits.
#[derive(Debug)]
enum Ruling {
    /// It may go, with the others or alone.
    Go { bounds: [Bound; 3], is_alone: bool },
    /// Another call of its lane goes alone, and will show more.
    WaitForLane,
    /// Nothing is left beside what is on the way.
    WaitForRoom,
    /// It will never go.
    Refused(Exceeded),
}

/// The line of those who ask for the same: their lane, and who pays.
type WaitingLine = (Lane, Vec<BudgetId>);

/// The budgets of a run.
#[derive(Debug, Default)]
pub(super) struct Spending {
    list: Vec<OpenBudget>,
    lanes: HashMap<Lane, Learnt>,
    /// The claim of a lane that goes alone.
    alone: HashMap<Lane, ClaimId>,
    /// How many of them each plugin has opened.
    opened: HashMap<String, usize>,
    /// Those who wait; no line is empty.
    lines: BTreeMap<WaitingLine, BTreeMap<ClaimId, Want>>,
    /// Those who may go.
    open: HashMap<ClaimId, Open>,
    next: u64,
}

impl Spending {
    pub(super) fn open(&mut self, owner: Owner, budget: Budget) -> BudgetId {
        self.list.push(OpenBudget {
            owner,
            limits: Measure::ALL.map(|measure| budget.limit(measure)),
            spent: [0; 3],
            reserved: [0; 3],
        });
        BudgetId(self.list.len() - 1)
    }

    pub(super) fn statements(&self) -> Vec<Statement> {
        let of = |budget: &OpenBudget| {
            let statement = |measure: Measure| {
                Some(Statement {
                    owner: budget.owner.to_string(),
                    measure,
                    limit: budget.limits[measure as usize]?,
                    spent: budget.spent[measure as usize],
                })
            };
            Measure::ALL
                .into_iter()
                .filter_map(statement)
                .collect::<Vec<_>>()
        };
        self.list.iter().flat_map(of).collect()
    }

    /// Puts an exchange of `plugin` into its line. [`Self::decide`] says what becomes of it.
    pub(super) fn ask(&mut self, plugin: &str, want: Want) -> ClaimId {
        let id = ClaimId(self.next);
        self.next += 1;
        let want = Want {
            lane: self.lane(plugin, want.lane),
            ..want
        };
        let line = (want.lane.clone(), want.payers.clone());
        self.lines.entry(line).or_default().insert(id, want);
        id
    }

    /// Returns the lane, opened if need be. Those that are too many are one: a plugin that invents one for
    /// each exchange must not fill the memory, nor have each go alone.
    fn lane(&mut self, plugin: &str, lane: Lane) -> Lane {
        if self.lanes.contains_key(&lane) {
            return lane;
        }
        let opened = self.opened.entry(plugin.to_owned()).or_default();
        let is_full = *opened >= MOST_LANES;
        *opened += usize::from(!is_full);
        let lane = if is_full { Lane::rest_of(plugin) } else { lane };
        self.lanes.entry(lane.clone()).or_default();
        lane
    }

    /// Decides on the first of those who wait that may go by now, or never will; `None` when all
    /// others wait on. To be asked after every change until it says so.
    ///
    /// In a line it is the turn of the first. Between lines the earlier goes first, too: nobody
    /// takes what somebody earlier waits for. Only who waits for its lane to show something lets
    /// the others pass: it doesn't lack room.
    pub(super) fn decide(&mut self) -> Option<(ClaimId, Result<(), Exceeded>)> {
        let firsts = self.lines.values().filter_map(BTreeMap::first_key_value);
        let mut firsts: Vec<(&ClaimId, &Want)> = firsts.collect();
        firsts.sort_unstable_by_key(|(id, _)| **id);
        let mut awaited: Vec<BudgetId> = Vec::new();
        let decided = firsts.into_iter().find_map(|(id, want)| {
            let is_behind = want.payers.iter().any(|it| awaited.contains(it));
            match self.ruling(want) {
                Ruling::Refused(why) => Some((*id, Err(why))),
                Ruling::Go { bounds, is_alone } if !is_behind => {
                    Some((*id, Ok((bounds, is_alone))))
                }
                Ruling::WaitForLane => None,
                Ruling::Go { .. } | Ruling::WaitForRoom => {
                    awaited.extend(&want.payers);
                    None
                }
            }
        });
        let (id, decision) = decided?;
        let want = self.leave(id).expect("it is the first of its line");
        let decision = decision.map(|(bounds, is_alone)| self.grant(id, want, bounds, is_alone));
        Some((id, decision))
    }

    /// Takes a claim out of its line, if it is in one.
    fn leave(&mut self, id: ClaimId) -> Option<Want> {
        let want = self.lines.values_mut().find_map(|line| line.remove(&id))?;
        self.lines.retain(|_, line| !line.is_empty());
        Some(want)
    }

    /// What becomes of a want, whoever else waits.
    fn ruling(&self, want: &Want) -> Ruling {
        let lane = &self.lanes[&want.lane];
        let bounds = want.bounds(lane);
        let is_unpriced = want.has_cost && want.price.is_none() && lane.is_unpriced;
        let (mut fits, mut has_room) = (true, true);
        for (budget, measure, limit) in self.limits(&want.payers) {
            let bound = bounds[measure as usize];
            if measure == Measure::Cost && is_unpriced {
                let owner = budget.owner.clone();
                return Ruling::Refused(Exceeded::Unpriced { owner });
            }
            if budget.spent[measure as usize] >= limit && !bound.is_free() {
                return Ruling::Refused(budget.exceeded(measure, limit));
            }
            let taken = budget.taken(measure);
            // Requests are exact: without one left there is nothing to go alone with.
            let is_left = measure != Measure::Requests && taken < u128::from(limit);
            fits &= bound.fits(taken, limit);
            has_room &= bound.fits(taken, limit) || bound.is_free() || is_left;
        }
        let is_alone = !fits;
        if fits || has_room && !self.alone.contains_key(&want.lane) {
            Ruling::Go { bounds, is_alone }
        } else if has_room {
            Ruling::WaitForLane
        } else {
            Ruling::WaitForRoom
        }
    }

    /// Every limit of these budgets.
    fn limits<'a>(
        &'a self,
        payers: &'a [BudgetId],
    ) -> impl Iterator<Item = (&'a OpenBudget, Measure, u64)> {
        payers.iter().flat_map(|id| {
            let budget = &self.list[id.0];
            let limit =
                move |measure: Measure| Some((budget, measure, budget.limits[measure as usize]?));
            Measure::ALL.into_iter().filter_map(limit)
        })
    }

    /// Reserves what is estimated.
    fn grant(&mut self, id: ClaimId, want: Want, bounds: [Bound; 3], is_alone: bool) {
        if is_alone {
            self.alone.insert(want.lane.clone(), id);
        }
        let (presumed, presumed_cost) = want.presumed(&self.lanes[&want.lane]);
        let mut reserved = [1, total(presumed), presumed_cost];
        for (amount, bound) in reserved.iter_mut().zip(bounds) {
            if let Bound::Of(most) = bound {
                *amount = most;
            }
        }
        for budget in &want.payers {
            let sums = self.list[budget.0].reserved.iter_mut();
            sums.zip(reserved)
                .for_each(|(sum, amount)| *sum += u128::from(amount));
        }
        let open = Open {
            want,
            reserved,
            presumed,
            presumed_cost,
            used: Tokens::default(),
            was_sent: false,
            on_wire: false,
        };
        self.open.insert(id, open);
    }

    /// Takes in that an attempt of the exchange goes on the wire.
    ///
    /// # Panics
    /// If the claim is not open.
    pub(super) fn attempt(&mut self, id: ClaimId) -> Result<(), Exceeded> {
        let open = &self.open[&id];
        if !open.was_sent {
            self.give_back(id, [true, false, false]);
        } else if let Some(exceeded) = self.no_retry(id, open) {
            return Err(exceeded);
        }
        let open = self.open.get_mut(&id).expect("it was just there");
        open.was_sent = true;
        open.on_wire = true;
        spend(&mut self.list, &open.want.payers, [1, 0, 0]);
        Ok(())
    }

    /// Why an exchange is not sent again: no request is left, or its attempts have taken what
    /// was reserved for it.
    fn no_retry(&self, id: ClaimId, open: &Open) -> Option<Exceeded> {
        let is_alone = self.alone.get(&open.want.lane) == Some(&id);
        let has_used = open.used != Tokens::default();
        self.limits(&open.want.payers)
            .find_map(|(budget, measure, limit)| {
                let taken = budget.taken(measure);
                let is_over = match measure {
                    Measure::Requests => taken >= limit.into(),
                    // Attempts that used nothing leave it what was reserved. After others it goes on
                    // within what is left: all of it if it goes alone, else what nobody has.
                    Measure::Tokens | Measure::Cost => {
                        has_used
                            && if is_alone {
                                budget.spent[measure as usize] >= limit
                            } else {
                                taken > limit.into()
                            }
                    }
                };
                is_over.then(|| budget.exceeded(measure, limit))
            })
    }

    /// Takes in that the attempt has ended.
    ///
    /// # Panics
    /// If the claim is not open.
    pub(super) fn ended(&mut self, id: ClaimId, used: Used) {
        let open = self
            .open
            .get_mut(&id)
            .expect("an attempt belongs to an open claim");
        open.on_wire = false;
        let tokens = match used {
            Used::Told(tokens) => tokens,
            Used::Untold | Used::Cut => open.presumed,
            Used::Nothing => Tokens::default(),
        };
        open.used.input_tokens = open.used.input_tokens.saturating_add(tokens.input_tokens);
        open.used.output_tokens = open.used.output_tokens.saturating_add(tokens.output_tokens);
        let lane = self.lanes.entry(open.want.lane.clone()).or_default();
        lane.answered(used, tokens);
        spend(&mut self.list, &open.want.payers, [0, total(tokens), 0]);
    }

    /// Gives back what an exchange that has ended reserved, but for the cost of the call that it
    /// belongs to. Says whether that is still to be settled.
    pub(super) fn finish(&mut self, id: ClaimId) -> bool {
        self.give_back(id, [true, true, false]);
        let is_owed = self
            .open
            .get(&id)
            .is_some_and(|open| open.want.has_cost && open.was_sent);
        if !is_owed {
            self.release(id);
        }
        is_owed
    }

    /// Gives back what is reserved; the claim stays for what it used and cost.
    pub(super) fn relax(&mut self, id: ClaimId) {
        self.give_back(id, [true; 3]);
        self.step_aside(id);
    }

    /// Ends a claim that nobody settles: its place in the line is given up, and what was cut off
    /// counts as it was guessed.
    pub(super) fn release(&mut self, id: ClaimId) {
        drop(self.leave(id));
        self.relax(id);
        let Some(open) = self.open.remove(&id) else {
            return;
        };
        let mut spent = [
            0,
            0,
            open.want.price.map_or(0, |price| price.nano(open.used)),
        ];
        if open.on_wire {
            spent[1] = total(open.presumed);
            spent[2] = u64::saturating_add(spent[2], open.presumed_cost);
        }
        spend(&mut self.list, &open.want.payers, spent);
    }

    /// Ends the claims of one call: it cost so much.
    pub(super) fn settle(&mut self, claims: &[ClaimId], said: StatedCost) {
        let mut closed = Vec::new();
        for id in claims {
            self.relax(*id);
            closed.extend(self.open.remove(id));
        }
        let Some(first) = closed.first() else { return };
        let priced = closed
            .iter()
            .filter_map(|open| Some(open.want.price?.nano(open.used)));
        let priced = priced.reduce(u64::saturating_add);
        let known = match said {
            StatedCost::Cost(nano) => Some(nano),
            StatedCost::Nothing | StatedCost::Failed => priced,
        };
        let mut cost = known.unwrap_or(0);
        for open in &closed {
            let lane = self.lanes.entry(open.want.lane.clone()).or_default();
            if said != StatedCost::Failed {
                cost = cost.max(lane.settled(known));
            }
        }
        self.charge(&first.want.payers.clone(), cost);
    }

    /// Charges what a call cost. What a plugin with a limit of its own says beyond what it has left is
    /// its own matter: the run and the others don't pay for its word.
    fn charge(&mut self, payers: &[BudgetId], cost: u64) {
        let (own, others): (Vec<BudgetId>, Vec<BudgetId>) = payers
            .iter()
            .partition(|id| matches!(self.list[id.0].owner, Owner::Plugin(_)));
        let left = own.iter().filter_map(|id| {
            let budget = &self.list[id.0];
            let limit = budget.limits[Measure::Cost as usize]?;
            Some(limit.saturating_sub(budget.spent[Measure::Cost as usize]))
        });
        let believed = left.fold(cost, u64::min);
        spend(&mut self.list, &own, [0, 0, cost]);
        spend(&mut self.list, &others, [0, 0, believed]);
    }

    fn give_back(&mut self, id: ClaimId, which: [bool; 3]) {
        let Some(open) = self.open.get_mut(&id) else {
            return;
        };
        for (place, _) in which.iter().enumerate().filter(|(_, is_meant)| **is_meant) {
            let amount = std::mem::take(&mut open.reserved[place]);
            for budget in &open.want.payers {
                self.list[budget.0].reserved[place] -= u128::from(amount);
            }
        }
    }

    fn step_aside(&mut self, id: ClaimId) {
        let lane = self.open.get(&id).map(|open| &open.want.lane);
        if let Some(lane) = lane.filter(|lane| self.alone.get(*lane) == Some(&id)) {
            self.alone.remove(lane);
        }
    }
}

impl OpenBudget {
    /// What is spent and reserved.
    fn taken(&self, measure: Measure) -> u128 {
        u128::from(self.spent[measure as usize]) + self.reserved[measure as usize]
    }

    fn exceeded(&self, measure: Measure, limit: u64) -> Exceeded {
        Exceeded::Spent {
            owner: self.owner.clone(),
            measure,
            limit,
            spent: self.spent[measure as usize],
        }
    }
}

fn spend(list: &mut [OpenBudget], payers: &[BudgetId], amounts: Amounts) {
    for id in payers {
        for (sum, amount) in list[id.0].spent.iter_mut().zip(amounts) {
            *sum = sum.saturating_add(amount);
        }
    }
}
