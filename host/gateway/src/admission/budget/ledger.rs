//! The shell around what is spent: it waits for room, and gives back what nobody settles.
//!
//! A [`Claim`] belongs to an exchange and gives back what it reserved, or its place in the line,
//! when it is dropped, however the exchange ends. A [`Reservation`] belongs to a plugin's call and
//! gathers the claims of its exchanges until the call's cost is known.
//!
//! Whoever waits is woken once, with its decision: after each change `spending` is asked who
//! may go by now, and nobody else hears of it.
//!
//! Nobody waits for room while it keeps others from it: a call whose next exchange begins gives
//! back what it had reserved for its cost. Otherwise two calls of several exchanges each could
//! wait for each other, or one for itself.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use super::estimate::{Used, Want};
use super::price::Price;
use super::spending::{ClaimId, Spending};
use super::terms::{Budget, BudgetId, Exceeded, Owner, StatedCost, Statement};
use crate::admission::tokens::Guess;
use crate::lane::Lane;

/// The budgets of a run.
#[derive(Debug, Default)]
pub struct BudgetLedger(Mutex<LedgerState>);

#[derive(Debug, Default)]
struct LedgerState {
    spending: Spending,
    /// Those who are in a line.
    waiting: HashMap<ClaimId, oneshot::Sender<Result<(), Exceeded>>>,
}

impl BudgetLedger {
    /// Opens a budget; `None` for a budget that limits nothing.
    pub fn open(&self, owner: Owner, budget: Budget) -> Option<BudgetId> {
        (budget != Budget::default()).then(|| self.lock().spending.open(owner, budget))
    }

    /// What is spent of each limit.
    pub fn statements(&self) -> Vec<Statement> {
        self.lock().spending.statements()
    }

    async fn reserve(self: &Arc<Self>, plugin: &str, want: Want) -> Result<Claim, Exceeded> {
        let (sender, decision) = oneshot::channel();
        let id = self.change(|book| {
            let id = book.spending.ask(plugin, want);
            book.waiting.insert(id, sender);
            id
        });
        // Before the wait: a caller that is cancelled drops it, which leaves the line.
        let claim = Claim {
            ledger: Arc::clone(self),
            id,
        };
        decision
            .await
            .expect("who is in a line stays there until it is decided")?;
        Ok(claim)
    }

    /// Does something to what is spent, and tells those whose turn it is by that.
    fn change<T>(&self, act: impl FnOnce(&mut LedgerState) -> T) -> T {
        let mut book = self.lock();
        let result = act(&mut book);
        // One change may make room for several, and each of them may leave room for the next.
        let mut told = Vec::new();
        while let Some((id, decision)) = book.spending.decide() {
            let waiter = book.waiting.remove(&id);
            told.push((waiter.expect("everyone in a line waits"), decision));
        }
        // The lock is given back first: a waiter that wakes on another thread asks for it at once.
        drop(book);
        for (waiter, decision) in told {
            // Whoever has left meanwhile gives back its claim itself.
            drop(waiter.send(decision));
        }
        result
    }

    fn lock(&self) -> MutexGuard<'_, LedgerState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What an exchange has reserved, or its place in the line. Dropping it gives that back.
#[derive(Debug)]
pub(crate) struct Claim {
    ledger: Arc<BudgetLedger>,
    id: ClaimId,
}

impl Claim {
    /// Takes in that an attempt goes on the wire; refused when its request is one too many.
    pub(crate) fn attempt(&self) -> Result<(), Exceeded> {
        self.ledger.change(|book| book.spending.attempt(self.id))
    }

    /// Takes in that the attempt has ended.
    pub(crate) fn ended(&self, used: Used) {
        self.ledger
            .change(|book| book.spending.ended(self.id, used));
    }

    /// Takes in that the exchange has ended. What is left is for the reservation of whoever gets the answer.
    pub(crate) fn finished(self) -> Option<Self> {
        let is_owed = self.ledger.change(|book| book.spending.finish(self.id));
        is_owed.then_some(self)
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.ledger.change(|book| {
            book.waiting.remove(&self.id);
            book.spending.release(self.id);
        });
    }
}

/// Who pays for the exchanges of a call.
#[derive(Debug, Clone)]
pub struct Payers {
    ledger: Arc<BudgetLedger>,
    budgets: Vec<BudgetId>,
    price: Option<Price>,
    has_cost: bool,
}

impl Payers {
    /// All of these budgets; `None` where there are none. `has_cost`: the call is a provider's.
    pub fn new(
        ledger: &Arc<BudgetLedger>,
        budgets: impl IntoIterator<Item = Option<BudgetId>>,
        price: Option<Price>,
        has_cost: bool,
    ) -> Option<Self> {
        let budgets: Vec<BudgetId> = budgets.into_iter().flatten().collect();
        (!budgets.is_empty()).then(|| Self {
            ledger: Arc::clone(ledger),
            budgets,
            price,
            has_cost,
        })
    }

    /// Those of a provider's call that somebody else asked for: both pay.
    pub fn shared(own: Option<&Self>, asking: Option<&Self>, price: Option<Price>) -> Option<Self> {
        let both = || own.into_iter().chain(asking);
        let first = both().next()?;
        let mut budgets: Vec<_> = both().flat_map(|it| it.budgets.clone()).collect();
        budgets.sort_unstable();
        budgets.dedup();
        Some(Self {
            ledger: Arc::clone(&first.ledger),
            budgets,
            price,
            has_cost: true,
        })
    }
}

/// What the exchanges of one call have claimed. Dropping it gives everything back.
#[derive(Debug)]
pub struct Reservation {
    payers: Payers,
    state: Mutex<ReservationState>,
}

#[derive(Debug, Default)]
struct ReservationState {
    under_way: u32,
    claims: Vec<Claim>,
}

impl ReservationState {
    fn relax(&self) {
        for claim in &self.claims {
            claim.ledger.change(|book| book.spending.relax(claim.id));
        }
    }
}

impl Reservation {
    /// The reservation of a call that these pay for.
    pub fn new(payers: Payers) -> Self {
        Self {
            payers,
            state: Mutex::default(),
        }
    }

    /// Those who pay.
    pub fn payers(&self) -> &Payers {
        &self.payers
    }

    /// Their budgets. Exchanges with different ones are never one.
    pub(crate) fn budgets(&self) -> &[BudgetId] {
        &self.payers.budgets
    }

    /// Takes in that an exchange of the call is under way, until the visit is dropped.
    pub(crate) fn visit(&self) -> Visit<'_> {
        let mut state = self.lock();
        state.under_way += 1;
        state.relax();
        drop(state);
        Visit(self)
    }

    /// Reserves for an exchange; waits while there may be room later.
    pub(crate) async fn reserve(
        &self,
        plugin: &str,
        lane: &Lane,
        guess: Guess,
    ) -> Result<Claim, Exceeded> {
        let want = Want {
            payers: self.payers.budgets.clone(),
            lane: lane.clone(),
            guess,
            price: self.payers.price,
            has_cost: self.payers.has_cost,
        };
        self.payers.ledger.reserve(plugin, want).await
    }

    /// Takes what an exchange of this call still owes.
    pub(crate) fn take(&self, claim: Claim) {
        self.lock().claims.push(claim);
    }

    /// Settles a call that has ended. What nothing left the machine for costs nothing.
    pub fn close(&self, said: StatedCost) {
        let claims = std::mem::take(&mut self.lock().claims);
        let ids: Vec<ClaimId> = claims.iter().map(|claim| claim.id).collect();
        self.payers
            .ledger
            .change(|book| book.spending.settle(&ids, said));
    }

    fn lock(&self) -> MutexGuard<'_, ReservationState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An exchange that is under way.
#[derive(Debug)]
pub(crate) struct Visit<'a>(&'a Reservation);

impl Drop for Visit<'_> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.under_way -= 1;
        if state.under_way > 0 {
            state.relax();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::{Context, Poll, Wake, Waker};

    use futures_util::FutureExt as _;
    use runner_scheduler::QuotaUse as Tokens;

    use super::super::terms::Measure;
    use super::*;

    fn reservation(ledger: &Arc<BudgetLedger>, run: Option<BudgetId>) -> Reservation {
        Reservation::new(Payers::new(ledger, [run], None, true).expect("somebody pays"))
    }

    fn dollars(limit: u64) -> (Arc<BudgetLedger>, Option<BudgetId>) {
        let ledger = Arc::new(BudgetLedger::default());
        let budget = Budget {
            nano_usd: Some(limit * 1_000_000_000),
            ..Budget::default()
        };
        let run = ledger.open(Owner::Run, budget);
        (ledger, run)
    }

    async fn exchange(reservation: &Reservation) -> Claim {
        let guess = Guess {
            input: 1,
            output: Some(1),
        };
        let claim = reservation
            .reserve("acme", &Lane::default(), guess)
            .await
            .expect("granted");
        claim.attempt().expect("requests are unlimited");
        claim.ended(Used::Told(Tokens::default()));
        claim.finished().expect("its call has a cost")
    }

    fn spent(ledger: &BudgetLedger) -> u64 {
        ledger.statements()[0].spent
    }

    #[test]
    fn a_budget_without_limits_is_none() {
        let ledger = BudgetLedger::default();
        assert_eq!(ledger.open(Owner::Run, Budget::default()), None);
    }

    #[tokio::test]
    async fn who_waits_for_room_goes_when_a_call_is_settled() {
        let (ledger, run) = dollars(1);
        let (first, second) = (reservation(&ledger, run), reservation(&ledger, run));
        first.take(exchange(&first).await);
        let mut waiting = Box::pin(exchange(&second));
        assert!(waiting.as_mut().now_or_never().is_none());
        first.close(StatedCost::by_answer(Some(0.25)));
        second.take(waiting.await);
        assert_eq!(spent(&ledger), 250_000_000);
        second.close(StatedCost::Failed);
        assert_eq!(spent(&ledger), 250_000_000);
    }

    #[tokio::test]
    async fn a_call_that_is_dropped_gives_everything_back() {
        let (ledger, run) = dollars(1);
        let (first, second) = (reservation(&ledger, run), reservation(&ledger, run));
        first.take(exchange(&first).await);
        let mut waiting = Box::pin(exchange(&second));
        assert!(waiting.as_mut().now_or_never().is_none());
        drop(first);
        waiting.await;
        assert_eq!(spent(&ledger), 0);
    }

    /// The second exchange of a call would otherwise wait for the end of its own call.
    #[tokio::test]
    async fn a_call_does_not_stand_in_its_own_way() {
        let (ledger, run) = dollars(1);
        let reservation = reservation(&ledger, run);
        for _ in 0..3 {
            let _visit = reservation.visit();
            reservation.take(exchange(&reservation).await);
        }
        let (one, other) = (reservation.visit(), reservation.visit());
        reservation.take(exchange(&reservation).await);
        drop(one);
        reservation.take(exchange(&reservation).await);
        drop(other);
        reservation.close(StatedCost::Cost(5));
        assert_eq!(spent(&ledger), 5, "one call, one cost");
    }

    #[test]
    fn what_an_answer_says_is_money_or_nothing() {
        let said = |usd| StatedCost::by_answer(usd);
        assert_eq!(said(Some(0.1)), StatedCost::Cost(100_000_000));
        assert_eq!(said(Some(0.0)), StatedCost::Cost(0));
        for none in [None, Some(f64::NAN), Some(-1.0), Some(f64::INFINITY)] {
            assert_eq!(said(none), StatedCost::Nothing, "{none:?}");
        }
        assert_eq!(
            Measure::Cost.of(1_500_000, 2_000_000_000),
            "$0.0015 of $2.00"
        );
    }

    /// Counts how often it is woken.
    #[derive(Default)]
    struct Wakes(AtomicUsize);

    impl Wake for Wakes {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[tokio::test]
    async fn room_for_one_wakes_one_the_first_and_who_left_passes_it_on() {
        let (ledger, run) = dollars(1);
        let reservations: Vec<Reservation> = (0..9).map(|_| reservation(&ledger, run)).collect();
        let mut claim = Some(exchange(&reservations[0]).await);
        let counted = Arc::new(Wakes::default());
        let waker = Waker::from(counted.clone());
        let mut look = Context::from_waker(&waker);
        let mut waiting: Vec<_> = reservations[1..]
            .iter()
            .map(|reservation| Box::pin(exchange(reservation)))
            .collect();
        for waiter in &mut waiting {
            assert!(waiter.as_mut().poll(&mut look).is_pending());
        }
        // The third gives up before its turn comes, the fifth when it has come already.
        drop(waiting.remove(2));
        for (turn, gone) in [false, false, false, true, false, false, false]
            .into_iter()
            .enumerate()
        {
            drop(claim.take());
            if gone {
                drop(waiting.remove(0));
                continue;
            }
            assert_eq!(counted.0.load(Ordering::Relaxed), turn + 1);
            let mut first = waiting.remove(0);
            let Poll::Ready(next) = first.as_mut().poll(&mut look) else {
                panic!("it is its turn")
            };
            claim = Some(next);
        }
        assert!(waiting.is_empty());
    }
}
