//! The call that an exchange belongs to.

use std::sync::Arc;

use super::attempts::AttemptLog;
use crate::admission::budget::Reservation;
use crate::admission::scheduling::Scheduling;
use crate::clock::WorkClock;
use crate::pieces::Pieces;
use crate::wire::bodies::CallBodies;

/// The bounds of the call that an exchange belongs to.
#[derive(Debug, Clone, Default)]
pub struct ExchangeScope {
    /// Stands still while all of the call's exchanges wait.
    pub clock: Option<WorkClock>,
    /// What the user set for whoever makes the call.
    pub scheduling: Arc<Scheduling>,
    /// Repeat index: each has its own space in the cache.
    pub repeat: u32,
    /// Whatever tells the run which call this is; handed to the observer as it is. Equal
    /// requests of a recording are told apart by it.
    pub tag: u64,
    /// Whose budgets pay; `None`: nothing is limited.
    pub reservation: Option<Arc<Reservation>>,
    /// Counts the answers that the call holds.
    pub bodies: Arc<CallBodies>,
    /// Keeps what became of each attempt; `None`: nobody wants to know.
    pub attempts: Option<Arc<AttemptLog>>,
    /// Where the response is told while it comes; `None`: nobody wants it before its end.
    pub pieces: Option<Arc<Pieces>>,
}
