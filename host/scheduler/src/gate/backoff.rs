//! How long a lane stays away after refusals for its rate.
//!
//! - It waits as long as the server asked, otherwise for a short while. A refused probe shuts the
//!   lane again, for twice as long (1, 2, 4, 8 s). A blind minute, as elsewhere, would cost a
//!   minute each time.
//! - A long wait that the server asks for is **checked** on the way, since some servers ask for
//!   the same minute and a half whatever happens: one probe after a quarter of it. A server
//!   that meant it pays with one cheap refusal; how much too long its wishes are is remembered.

use std::time::Duration;

use crate::time::Time;
use crate::tuning::PER_MILLE;
use crate::tuning::backoff::{
    CHECKED_ABOVE, FIRST_BLOCK, FIRST_LOOK_PER_MILLE, LEAST_NEEDED_PER_MILLE, LONGEST_BLOCK, SOONER,
};

/// The back-off of a lane.
#[derive(Debug)]
pub(super) struct Backoff {
    /// Blocks in a row without a success between.
    strikes: u32,
    /// The wait that was asked for first since then, and from when.
    asked: Option<(Time, Duration)>,
    /// How much of a long wait proved needed, per mille.
    needed: u64,
}

impl Default for Backoff {
    fn default() -> Self {
        Self {
            strikes: 0,
            asked: None,
            needed: PER_MILLE,
        }
    }
}

impl Backoff {
    /// Says how long a refusal shuts the lane: for `asked`, the server's wish, or else for `usual` and
    /// longer with each refusal in a row, of which those of one burst are one.
    pub(super) fn refused(
        &mut self,
        now: Time,
        asked: Option<Duration>,
        usual: Option<Duration>,
        same_burst: bool,
    ) -> Duration {
        if !same_burst {
            self.strikes += 1;
        }
        if let Some(wait) = asked {
            self.asked.get_or_insert((now, wait));
            self.believed(wait)
        } else {
            let doublings = self.strikes.saturating_sub(1).min(16);
            let first = usual.unwrap_or(FIRST_BLOCK);
            first.saturating_mul(1 << doublings).min(LONGEST_BLOCK)
        }
    }

    /// How long a wait that was asked for is waited before the first look.
    fn believed(&self, wait: Duration) -> Duration {
        if wait <= CHECKED_ABOVE {
            return wait;
        }
        // A quarter at first, or half of what was enough before; more if that was refused.
        let first = (self.needed / SOONER).min(FIRST_LOOK_PER_MILLE);
        let share = first << self.strikes.saturating_sub(1).min(10);
        let share = share.min(PER_MILLE);
        let part = Duration::from_nanos(
            (wait.as_nanos() * u128::from(share) / u128::from(PER_MILLE)) as u64,
        );
        part.max(FIRST_BLOCK)
    }

    /// Takes over `strikes` failed probes of the breaker: the lane was shut just as long.
    pub(super) fn inherit(&mut self, strikes: u32) {
        self.strikes += strikes;
    }

    /// Forgets the refusals in a row: something else holds the lane now.
    pub(super) fn yields(&mut self) {
        (self.strikes, self.asked) = (0, None);
    }

    /// Refusals are over: remembers how much of the asked wait was needed, and says whether it was asked
    /// for, or a probe was refused meanwhile, if there was a block.
    pub(super) fn accepted(&mut self, now: Time) -> Option<bool> {
        let asked = self.asked.take();
        if let Some((from, wait)) = asked
            && wait > CHECKED_ABOVE
        {
            let needed = (now - from).as_nanos() * u128::from(PER_MILLE) / wait.as_nanos().max(1);
            self.needed = (needed as u64).clamp(LEAST_NEEDED_PER_MILLE, PER_MILLE);
        }
        let strikes = std::mem::take(&mut self.strikes);
        (strikes > 0).then_some(strikes > 1 || asked.is_some())
    }
}
