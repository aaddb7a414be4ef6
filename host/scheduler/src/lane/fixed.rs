//! The strategy that learns nothing: so many at once, whatever the server says.
//!
//! Retries and the limits that the user declared hold beside it; they are the scheduler's.

use super::strategy::{Pass, Strategy, Surroundings, Verdict};
use super::{Flight, Note};
use crate::policy::LanePolicy;
use crate::sent::Amounts;
use crate::time::Time;

/// A ceiling of attempts in flight.
#[derive(Debug)]
pub(super) struct Fixed {
    ceiling: u32,
}

impl Fixed {
    pub(super) fn new(policy: LanePolicy) -> Self {
        Self {
            ceiling: policy.max_window.max(1),
        }
    }
}

impl Strategy for Fixed {
    fn obey(&mut self, policy: LanePolicy, _now: Time) {
        *self = Self::new(policy);
    }

    fn window(&self) -> u32 {
        self.ceiling
    }

    fn check(&mut self, _: &Amounts, in_flight: u32, _: &mut Surroundings<'_>) -> Verdict {
        if in_flight < self.ceiling {
            Verdict::Go(Pass::default())
        } else {
            Verdict::Wait(None, None)
        }
    }

    fn send(&mut self, now: Time, _: Pass, _: Amounts, in_flight: u32) -> Flight {
        Flight {
            sent_at: now,
            among: in_flight,
            note: Note::default(),
        }
    }
}
