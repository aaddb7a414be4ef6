//! So many attempts in flight at once.
//!
//! # Policy
//!
//! An attempt holds its place from the reservation until it is settled or released. A hold also
//! has an end of its own, [`HOLD`](crate::tuning::limits::HOLD) after it was made or last renewed, so that
//! an attempt which got lost doesn't keep its place for ever. Whoever runs the attempt renews the hold while the
//! attempt goes on, so the end is never that of a call which merely takes long: a fixed time
//! limit instead would let more attempts run than the limit says as soon as calls are slower
//! than whoever chose it thought.
//!
//! When a place is free again is known only by the attempt that has it. So a full limit gives no
//! time to ask again; it is asked again after the next settle. The end of a hold would be a time,
//! but a wrong one for every attempt that is renewed or ends, which is all of them but the lost.

use super::Room;

/// The places of one limit.
#[derive(Debug, Clone, Default)]
pub(super) struct Holds {
    taken: u64,
}

impl Holds {
    /// Whether there is room for `amount`.
    pub(super) fn room(&self, capacity: u64, amount: u64) -> Room {
        if amount <= capacity.saturating_sub(self.taken) {
            Room::Now
        } else {
            Room::AfterSettle
        }
    }

    /// Takes `amount`, for which there is room.
    pub(super) fn take(&mut self, amount: u64) {
        self.taken += amount;
    }

    /// Gives `amount` back that was taken.
    pub(super) fn give_back(&mut self, amount: u64) {
        self.taken -= amount;
    }

    /// How much is taken, holds that have ended unnoticed included.
    pub(super) fn taken(&self) -> u64 {
        self.taken
    }
}
