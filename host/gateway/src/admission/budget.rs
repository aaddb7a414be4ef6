//! Budgets: what a run, a provider and a plugin may spend, in requests, tokens and dollars.
//!
//! `accounts` is pure. It reserves before an exchange leaves the machine and settles after:
//!
//! - **Requests** are exact. An exchange reserves one; it is spent when the attempt goes on the
//!   wire, and so is one more for each retry. The limit is never passed.
//! - **Tokens** are reserved by a bound: the guess for the prompt, and the limit that the
//!   request sets to its answer. A request that sets none reserves twice the longest answer
//!   that its lane gave so far.
//! - **Cost** is known when the provider's call has ended, so it stays reserved until then. It
//!   is reserved by the price of those tokens where the user gave one, else as twice the most
//!   that a call of the lane cost so far.
//!
//! What fits beside all that is spent and reserved may go, however many do. What does not fit,
//! or can't be bounded yet (the first call of a lane), goes *alone*: one of a lane at a time,
//! while something is left. So a limit is passed by one call per lane at most, and by what
//! calls take beyond their bound; and near its end a run slows down instead of shooting over.
//! Everything else waits until what is on the way is settled. When a limit is spent, all that
//! falls under it is refused.
//!
//! Where a budget limits dollars and nobody says what calls of a lane cost, the first call shows
//! that, and the others are refused: a bound that nothing counts against would be none.
//!
//! Nothing here waits or knows the time: `till` does. Why not the scheduler's declared limits:
//! those refill, so a call that does not fit waits; a budget doesn't, and refuses.

mod accounts;
mod price;
mod terms;
mod till;

pub(crate) use accounts::Used;
pub use price::{Price, UsedTokens};
pub(crate) use terms::Exceeded;
pub use terms::{AccountId, Budget, Measure, Owner, Said, Statement};
pub(crate) use till::Claim;
pub use till::{Bill, Tab, Till};
