//! What is reserved and spent, and who may go. Pure; the rules are in the parent module.

use std::collections::HashMap;

use runner_scheduler::Cost as Tokens;

use super::price::Price;
use super::terms::{AccountId, Budget, Exceeded, Measure, Owner, Said, Statement};
use crate::admission::tokens::{Guess, USUAL_OUTPUT};
use crate::lane::{Lane, MOST_LANES};

#[cfg(test)]
mod tests;

/// One amount for each [`Measure`].
type Amounts = [u64; 3];

/// Sums of what is on the way, wide enough that none is cut: all of it is given back.
type Sums = [u128; 3];

/// A reservation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct ClaimId(u64);

#[derive(Debug)]
struct Account {
    owner: Owner,
    limits: [Option<u64>; 3],
    spent: Amounts,
    reserved: Sums,
}

/// What a lane's calls took so far.
#[derive(Debug, Default)]
struct Learnt {
    /// Longest answer, in tokens.
    output: Option<u64>,
    /// Dearest call.
    cost: Option<u64>,
    /// A call was answered and stated no cost, and none ever did.
    is_unpriced: bool,
    /// The claim that goes alone.
    alone: Option<ClaimId>,
}

/// What an exchange asks for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Want<'a> {
    /// All of them pay.
    pub(super) accounts: &'a [AccountId],
    /// Who sends it.
    pub(super) plugin: &'a str,
    pub(super) lane: &'a Lane,
    /// Its tokens.
    pub(super) guess: Guess,
    /// What they cost, if the user said so.
    pub(super) price: Option<Price>,
    /// It belongs to a provider's call, which has a cost.
    pub(super) has_cost: bool,
}

#[derive(Debug)]
struct Open {
    accounts: Vec<AccountId>,
    lane: Lane,
    price: Option<Price>,
    has_cost: bool,
    reserved: Amounts,
    /// What an attempt is taken for that doesn't say what it used.
    presumed: Tokens,
    presumed_cost: u64,
    /// What its attempts used.
    used: Tokens,
    attempts: u32,
    on_wire: bool,
}

/// What an attempt used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Used {
    /// As the answer says.
    Told(Tokens),
    /// There was an answer, which doesn't say.
    Untold,
    /// It was cut off; the server may have worked on it to the end.
    Cut,
    /// It never got so far.
    Nothing,
}

/// What becomes of a [`Want`].
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Reserved.
    Granted(ClaimId),
    /// There may be room once something that is on the way has been settled.
    Wait,
    /// There will be none.
    Refused(Exceeded),
}

/// The budgets of a run.
#[derive(Debug, Default)]
pub(super) struct Accounts {
    list: Vec<Account>,
    lanes: HashMap<Lane, Learnt>,
    /// How many of them each plugin has opened.
    opened: HashMap<String, usize>,
    open: HashMap<ClaimId, Open>,
    next: u64,
}

impl Accounts {
    pub(super) fn open(&mut self, owner: Owner, budget: Budget) -> AccountId {
        self.list.push(Account {
            owner,
            limits: Measure::ALL.map(|measure| budget.limit(measure)),
            spent: [0; 3],
            reserved: [0; 3],
        });
        AccountId(self.list.len() - 1)
    }

    pub(super) fn statements(&self) -> Vec<Statement> {
        let of = |account: &Account| {
            let statement = |measure: Measure| {
                Some(Statement {
                    owner: account.owner.to_string(),
                    measure,
                    limit: account.limits[measure as usize]?,
                    spent: account.spent[measure as usize],
                })
            };
            Measure::ALL
                .into_iter()
                .filter_map(statement)
                .collect::<Vec<_>>()
        };
        self.list.iter().flat_map(of).collect()
    }

    /// Decides on an exchange that is about to leave the machine.
    pub(super) fn reserve(&mut self, want: &Want<'_>) -> Verdict {
        let rest = self.rest(want);
        let want = &Want {
            lane: rest.as_ref().unwrap_or(want.lane),
            ..*want
        };
        let bounds = self.bounds(want);
        if let Some(exceeded) = self.refusal(want, bounds) {
            return Verdict::Refused(exceeded);
        }
        let alone = self.lanes.get(want.lane).and_then(|lane| lane.alone);
        let (mut fits, mut has_room) = (true, true);
        for (account, measure, limit) in self.limits(want.accounts) {
            let place = measure as usize;
            let (taken, limit) = (account.taken(measure), u128::from(limit));
            // What takes none of it may go when more than it is spent.
            let fits_in = |bound| bound == 0 || taken + u128::from(bound) <= limit;
            let fitting = bounds[place].is_some_and(fits_in);
            fits &= fitting;
            // Requests are exact: without one left there is nothing to go alone with.
            has_room &= fitting || (measure != Measure::Requests && taken < limit);
        }
        if fits {
            return Verdict::Granted(self.grant(want, bounds, false));
        }
        if has_room && alone.is_none() {
            return Verdict::Granted(self.grant(want, bounds, true));
        }
        Verdict::Wait
    }

    /// The lane of what is too many: a plugin that invents one for each exchange must not fill the
    /// memory, nor have each go alone.
    fn rest(&self, want: &Want<'_>) -> Option<Lane> {
        let opened = self.opened.get(want.plugin).copied().unwrap_or_default();
        let is_full = opened >= MOST_LANES && !self.lanes.contains_key(want.lane);
        is_full.then(|| Lane::rest_of(want.plugin))
    }

    /// The most that an exchange will take of each measure; `None`: not known yet.
    fn bounds(&self, want: &Want<'_>) -> [Option<u64>; 3] {
        let learnt = self.lanes.get(want.lane);
        let twice = |most: u64| most.saturating_mul(2);
        let longest = learnt.and_then(|lane| lane.output).map(twice);
        // What is taken for no prompt to a model may be one, as its lane shows.
        let guessed = want.guess.output.filter(|_| !want.guess.is_nothing());
        let output = guessed.or(longest).or(want.guess.output);
        let tokens = output.map(|output| Tokens {
            input_tokens: want.guess.input,
            output_tokens: output,
        });
        let cost = match want.price {
            _ if !want.has_cost => Some(0),
            Some(price) => tokens.map(|tokens| price.nano(tokens)),
            None => learnt.and_then(|lane| lane.cost).map(twice),
        };
        [Some(1), tokens.map(total), cost]
    }

    /// Why it will never go.
    fn refusal(&self, want: &Want<'_>, bounds: [Option<u64>; 3]) -> Option<Exceeded> {
        let is_unpriced = want.has_cost
            && want.price.is_none()
            && self
                .lanes
                .get(want.lane)
                .is_some_and(|lane| lane.is_unpriced);
        self.limits(want.accounts)
            .find_map(|(account, measure, limit)| {
                let spent = account.spent[measure as usize];
                if measure == Measure::Cost && is_unpriced {
                    let owner = account.owner.clone();
                    return Some(Exceeded::Unpriced { owner });
                }
                // What takes none of it may go when it is spent.
                let is_free = bounds[measure as usize] == Some(0);
                (spent >= limit && !is_free).then(|| account.exceeded(measure, limit))
            })
    }

    /// Every limit of these accounts.
    fn limits<'a>(
        &'a self,
        accounts: &'a [AccountId],
    ) -> impl Iterator<Item = (&'a Account, Measure, u64)> {
        accounts.iter().flat_map(|id| {
            let account = &self.list[id.0];
            let limit =
                move |measure: Measure| Some((account, measure, account.limits[measure as usize]?));
            Measure::ALL.into_iter().filter_map(limit)
        })
    }

    fn grant(&mut self, want: &Want<'_>, bounds: [Option<u64>; 3], is_alone: bool) -> ClaimId {
        let id = ClaimId(self.next);
        self.next += 1;
        let lane = self.lanes.entry(want.lane.clone()).or_insert_with(|| {
            *self.opened.entry(want.plugin.to_owned()).or_default() += 1;
            Learnt::default()
        });
        if is_alone {
            lane.alone = Some(id);
        }
        let presumed = Tokens {
            input_tokens: want.guess.input,
            output_tokens: want.guess.output.or(lane.output).unwrap_or(USUAL_OUTPUT),
        };
        let presumed_cost = match want.price {
            _ if !want.has_cost => 0,
            Some(price) => price.nano(presumed),
            None => lane.cost.unwrap_or(0),
        };
        let reserved = [
            1,
            bounds[1].unwrap_or_else(|| total(presumed)),
            bounds[2].unwrap_or(presumed_cost),
        ];
        for account in want.accounts {
            let sums = self.list[account.0].reserved.iter_mut();
            sums.zip(reserved)
                .for_each(|(sum, amount)| *sum += u128::from(amount));
        }
        let open = Open {
            accounts: want.accounts.to_vec(),
            lane: want.lane.clone(),
            price: want.price,
            has_cost: want.has_cost,
            reserved,
            presumed,
            presumed_cost,
            used: Tokens::default(),
            attempts: 0,
            on_wire: false,
        };
        self.open.insert(id, open);
        id
    }

    /// An attempt of the exchange goes on the wire.
    ///
    /// # Panics
    /// If the claim is not open.
    pub(super) fn attempt(&mut self, id: ClaimId) -> Result<(), Exceeded> {
        let open = &self.open[&id];
        let is_first = open.attempts == 0;
        if !is_first && let Some(exceeded) = self.no_retry(id, open) {
            return Err(exceeded);
        }
        let accounts = open.accounts.clone();
        if is_first {
            self.give_back(id, [true, false, false]);
        }
        self.spend(&accounts, [1, 0, 0]);
        let open = self.open.get_mut(&id).expect("it was just there");
        open.attempts += 1;
        open.on_wire = true;
        Ok(())
    }

    /// Why an exchange is not sent again: no request is left, or its attempts have taken what
    /// was reserved for it.
    fn no_retry(&self, id: ClaimId, open: &Open) -> Option<Exceeded> {
        let is_alone = self.lanes[&open.lane].alone == Some(id);
        let has_used = open.used != Tokens::default();
        self.limits(&open.accounts)
            .find_map(|(account, measure, limit)| {
                let taken = account.taken(measure);
                let is_over = match measure {
                    Measure::Requests => taken >= limit.into(),
                    Measure::Tokens | Measure::Cost => {
                        has_used
                            && if is_alone {
                                account.spent[measure as usize] >= limit
                            } else {
                                taken > limit.into()
                            }
                    }
                };
                is_over.then(|| account.exceeded(measure, limit))
            })
    }

    /// The attempt has ended.
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
        let accounts = open.accounts.clone();
        if used != Used::Cut && total(tokens) > 0 {
            let lane = self.lanes.entry(open.lane.clone()).or_default();
            lane.output = lane.output.max(Some(tokens.output_tokens));
        }
        self.spend(&accounts, [0, total(tokens), 0]);
    }

    /// The exchange has ended: what it reserved is given back, but for the cost of the call
    /// that it belongs to. Whether that is still to be settled.
    pub(super) fn land(&mut self, id: ClaimId) -> bool {
        self.give_back(id, [true, true, false]);
        let is_owed = self
            .open
            .get(&id)
            .is_some_and(|open| open.has_cost && open.attempts > 0);
        if !is_owed {
            self.release(id);
        }
        is_owed
    }

    /// Gives back what is reserved; the claim stays for the account.
    pub(super) fn relax(&mut self, id: ClaimId) {
        self.give_back(id, [true; 3]);
        self.step_aside(id);
    }

    /// Ends a claim that nobody settles: what was cut off counts as it was guessed.
    pub(super) fn release(&mut self, id: ClaimId) {
        self.relax(id);
        let Some(open) = self.open.remove(&id) else {
            return;
        };
        let mut spent = [0, 0, open.price.map_or(0, |price| price.nano(open.used))];
        if open.on_wire {
            spent[1] = total(open.presumed);
            spent[2] = u64::saturating_add(spent[2], open.presumed_cost);
        }
        self.spend(&open.accounts, spent);
    }

    /// Ends the claims of one call: it cost so much.
    pub(super) fn settle(&mut self, claims: &[ClaimId], said: Said) {
        let mut closed = Vec::new();
        for id in claims {
            self.relax(*id);
            closed.extend(self.open.remove(id));
        }
        let Some(first) = closed.first() else { return };
        let priced = closed
            .iter()
            .filter_map(|open| Some(open.price?.nano(open.used)));
        let priced = priced.reduce(u64::saturating_add);
        let known = match said {
            Said::Cost(nano) => Some(nano),
            Said::Nothing | Said::Failed => priced,
        };
        let accounts = first.accounts.clone();
        let mut cost = known.unwrap_or(0);
        for open in &closed {
            let lane = self.lanes.entry(open.lane.clone()).or_default();
            match (known, said) {
                (_, Said::Failed) => {}
                (Some(nano), _) => {
                    lane.cost = lane.cost.max(Some(nano));
                    lane.is_unpriced = false;
                }
                (None, _) => {
                    cost = cost.max(lane.cost.unwrap_or(0));
                    lane.is_unpriced = lane.cost.is_none();
                }
            }
        }
        self.spend(&accounts, [0, 0, cost]);
    }

    fn give_back(&mut self, id: ClaimId, which: [bool; 3]) {
        let Some(open) = self.open.get_mut(&id) else {
            return;
        };
        for (place, _) in which.iter().enumerate().filter(|(_, is_meant)| **is_meant) {
            let amount = std::mem::take(&mut open.reserved[place]);
            for account in &open.accounts {
                self.list[account.0].reserved[place] -= u128::from(amount);
            }
        }
    }

    fn step_aside(&mut self, id: ClaimId) {
        let lane = self
            .open
            .get(&id)
            .and_then(|open| self.lanes.get_mut(&open.lane));
        if let Some(lane) = lane.filter(|lane| lane.alone == Some(id)) {
            lane.alone = None;
        }
    }

    fn spend(&mut self, accounts: &[AccountId], amounts: Amounts) {
        for id in accounts {
            for (sum, amount) in self.list[id.0].spent.iter_mut().zip(amounts) {
                *sum = sum.saturating_add(amount);
            }
        }
    }
}

impl Account {
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

fn total(tokens: Tokens) -> u64 {
    tokens.input_tokens.saturating_add(tokens.output_tokens)
}
