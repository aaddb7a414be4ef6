//! Budgets: what a run, a provider and a plugin may spend, in requests, tokens and dollars.
//!
//! An estimate is reserved before an exchange leaves the machine, and what it took is settled
//! after. `spending` decides, pure; `estimate` says how much:
//!
//! - **Requests** are exact. An exchange reserves one; it is spent when the attempt goes on the
//!   wire, and so is one more for each retry.
//! - **Tokens** are estimated as the guess for the prompt, and the limit that the request sets to
//!   its answer. A request that sets none reserves twice the longest answer that its lane gave so
//!   far.
//! - **Cost** is known when the provider's call has ended, so it stays reserved until then. It
//!   is estimated by the price of those tokens where the user gave one, else as twice the most
//!   that a call of the lane cost so far.
//!
//! What fits beside all that is spent and reserved may go, however many do. What does not fit, or
//! can't be estimated yet, goes *alone*: one of a lane at a time, while something is left. That is
//! the first call of a lane, and also a request without a JSON body until its lane has answered
//! one: it looks as if it used no tokens, and may be a prompt all the same. Everything else waits.
//! When a limit is spent, all that falls under it is refused.
//!
//! **In order.** Who asks first goes first. What is given back wakes the first of those who wait,
//! and the next one if there is room for it, too; who leaves the line passes its turn on. Nobody
//! takes what somebody earlier waits for. Only who waits for the lone call of its own lane is
//! passed by other lanes: it lacks an estimate and not room.
//!
//! **How far a limit may be passed.** Requests: not at all. Tokens and dollars: by what calls take
//! beyond what was left when they went alone, one call of each lane at most; and by what calls take
//! beyond their estimate, where an answer is more than twice as long or as dear as any of its lane
//! before, or longer than its request allows. Near its end a run slows down instead of shooting
//! over.
//!
//! Where a budget limits dollars and nobody says what calls of a lane cost, the first call shows
//! that, and the others are refused: a bound that nothing counts against would be none.
//!
//! Nothing here waits or knows the time: `ledger` does. Why not the scheduler's declared limits:
//! those refill, so a call that does not fit waits; a budget doesn't, and refuses.

mod estimate;
mod ledger;
mod price;
mod spending;
mod terms;

pub(crate) use estimate::Used;
pub(crate) use ledger::Claim;
pub use ledger::{BudgetLedger, Payers, Reservation};
pub use price::{Price, UsedTokens};
pub(crate) use terms::Exceeded;
pub use terms::{Budget, BudgetId, Measure, Owner, StatedCost, Statement};
