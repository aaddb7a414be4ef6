//! What an exchange will take, estimated from its request and from what its lane has shown.

use runner_scheduler::QuotaUse as Tokens;

use super::price::Price;
use super::terms::BudgetId;
use crate::admission::tokens::{Guess, USUAL_OUTPUT};
use crate::lane::Lane;

/// One amount for each [`Measure`](super::Measure).
pub(super) type Amounts = [u64; 3];

/// What an exchange asks for.
#[derive(Debug, Clone)]
pub(super) struct Want {
    /// All of them pay.
    pub(super) payers: Vec<BudgetId>,
    pub(super) lane: Lane,
    /// Its tokens.
    pub(super) guess: Guess,
    /// What they cost, if the user said so.
    pub(super) price: Option<Price>,
    /// It belongs to a provider's call, which has a cost.
    pub(super) has_cost: bool,
}

/// What a lane's calls took so far.
#[derive(Debug, Default)]
pub(super) struct Learnt {
    /// Longest answer, in tokens.
    output: Option<u64>,
    /// What looks like no prompt was answered, and used no tokens.
    is_harmless: bool,
    /// Dearest call.
    cost: Option<u64>,
    /// A call was answered and stated no cost, and none ever did.
    pub(super) is_unpriced: bool,
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
    /// It was refused, or never got so far.
    Nothing,
}

/// The most that an exchange is expected to take of a measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bound {
    /// So much.
    Of(u64),
    /// Nothing by its look, which its lane has not confirmed yet.
    PerhapsNothing,
    /// The lane has shown nothing to go by.
    Unknown,
}

impl Bound {
    fn map(self, amount: impl FnOnce(u64) -> u64) -> Self {
        match self {
            Self::Of(n) => Self::Of(amount(n)),
            Self::PerhapsNothing | Self::Unknown => self,
        }
    }

    /// Twice the most that was seen.
    fn twice(most: Option<u64>) -> Self {
        most.map_or(Self::Unknown, |most| Self::Of(most.saturating_mul(2)))
    }

    /// What takes nothing may go when more than all is spent.
    pub(super) fn is_free(self) -> bool {
        matches!(self, Self::Of(0) | Self::PerhapsNothing)
    }

    /// Whether it is known to fit beside what is taken.
    pub(super) fn fits(self, taken: u128, limit: u64) -> bool {
        match self {
            Self::Of(0) => true,
            Self::Of(n) => taken + u128::from(n) <= u128::from(limit),
            Self::PerhapsNothing | Self::Unknown => false,
        }
    }
}

impl Want {
    /// The most that it will take of each measure.
    pub(super) fn bounds(&self, lane: &Learnt) -> [Bound; 3] {
        let output = match (self.guess.output, lane.output) {
            (Some(output), _) if !self.guess.is_nothing() => Bound::Of(output),
            // What is taken for no prompt to a model may be one: its lane shows that.
            (Some(_), None) if lane.is_harmless => Bound::Of(0),
            (Some(_), None) => Bound::PerhapsNothing,
            (_, longest) => Bound::twice(longest),
        };
        let tokens = |output_tokens| Tokens {
            input_tokens: self.guess.input,
            output_tokens,
        };
        let cost = match self.price {
            _ if !self.has_cost => Bound::Of(0),
            Some(price) => output.map(|output| price.nano(tokens(output))),
            None => Bound::twice(lane.cost),
        };
        let tokens = output.map(|output| total(tokens(output)));
        [Bound::Of(1), tokens, cost]
    }

    /// The tokens and the cost for which an attempt is taken that doesn't say what it used.
    pub(super) fn presumed(&self, lane: &Learnt) -> (Tokens, u64) {
        let tokens = Tokens {
            input_tokens: self.guess.input,
            output_tokens: self.guess.output.or(lane.output).unwrap_or(USUAL_OUTPUT),
        };
        let cost = match self.price {
            _ if !self.has_cost => 0,
            Some(price) => price.nano(tokens),
            None => lane.cost.unwrap_or(0),
        };
        (tokens, cost)
    }
}

impl Learnt {
    /// Takes in that an attempt has ended, which counts as so many tokens.
    pub(super) fn answered(&mut self, used: Used, tokens: Tokens) {
        if used != Used::Cut && total(tokens) > 0 {
            self.output = self.output.max(Some(tokens.output_tokens));
        }
        let has_answer = matches!(used, Used::Told(_) | Used::Untold);
        self.is_harmless |= has_answer && total(tokens) == 0;
    }

    /// Takes in that a call was answered and cost so much, as far as that is known; returns what it
    /// counts as: the dearest so far, if nobody says.
    pub(super) fn settled(&mut self, known: Option<u64>) -> u64 {
        self.cost = self.cost.max(known);
        self.is_unpriced = self.cost.is_none();
        known.or(self.cost).unwrap_or(0)
    }
}

pub(super) fn total(tokens: Tokens) -> u64 {
    tokens.input_tokens.saturating_add(tokens.output_tokens)
}
