//! How a lane decides how much it sends: the trait that its strategies have in common.
//!
//! A strategy is asked before each attempt and told of each that is sent or ends. It knows neither
//! jobs nor the queue. What does nothing by default is what a strategy needs that learns.

use std::collections::VecDeque;
use std::fmt::Debug;
use std::time::Duration;

use super::Flight;
use crate::chance::Chance;
use crate::event::{Event, Notice};
use crate::gate::Gate;
use crate::job::{End, LaneId, Refusal};
use crate::policy::LanePolicy;
use crate::sent::Amounts;
use crate::shared::{QuotaReply, QuotaReport};
use crate::time::{Time, nanos};
use crate::tuning::bucket::ASSUMED_WINDOW as MINUTE;
use crate::view::WaitReason;

/// What a lane needs from around it.
pub(crate) struct Surroundings<'a> {
    pub(crate) lane: LaneId,
    pub(crate) now: Time,
    pub(crate) chance: &'a mut Chance,
    pub(crate) events: &'a mut VecDeque<Notice>,
    /// How much of the clock's minute had passed when time began.
    pub(crate) clock: Duration,
}

impl Surroundings<'_> {
    /// When the clock's minute ends.
    pub(crate) fn minute_end(&self) -> Time {
        let minute = nanos(MINUTE);
        let passed = (self.now.as_nanos() % minute + nanos(self.clock) % minute) % minute;
        self.now + Duration::from_nanos(minute - passed)
    }

    /// Tells what happened to the lane.
    pub(crate) fn tell(&mut self, event: Event) {
        self.events.push_back(Notice {
            at: self.now,
            lane: self.lane,
            event,
        });
    }
}

/// Leave for one attempt to go now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Pass {
    /// Something else than the window said when it goes.
    pub(super) spaced: bool,
}

/// Whether the head may go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    Go(Pass),
    /// Not before the time, for a reason that is worth telling. Without a time: when an attempt ends.
    Wait(Option<WaitReason>, Option<Time>),
    /// This job never.
    Refuse(Refusal),
    /// No job ever.
    End(Refusal),
}

impl Verdict {
    /// Not before `until`, for this reason.
    pub(super) fn until(until: Time, why: WaitReason) -> Self {
        Self::Wait(Some(why), Some(until))
    }
}

/// Decides how much a lane sends.
pub(crate) trait Strategy: Debug + Send {
    /// Obeys another policy from now on.
    fn obey(&mut self, policy: LanePolicy, now: Time);

    /// How many attempts may be in flight.
    fn window(&self) -> u32;

    /// Says whether an attempt that uses `amounts` may go now, beside `in_flight` others.
    ///
    /// It may change what the time alone changes: a block ends and lets a probe go, a bucket fills, a spell
    /// begins, and a window grows that holds the attempt back. It also notes what did hold it back. What
    /// is sent counts with [`Strategy::send`] only, so asking twice is asking once.
    fn check(
        &mut self,
        amounts: &Amounts,
        in_flight: u32,
        around: &mut Surroundings<'_>,
    ) -> Verdict;

    /// Takes in that the attempt which may go does not, for a limit of the user's.
    fn held(&mut self) {}

    /// Takes in that an attempt which may go does, as one of `in_flight`.
    fn send(&mut self, now: Time, pass: Pass, amounts: Amounts, in_flight: u32) -> Flight;

    /// Takes in how an attempt that needed `amounts` ended and what its response said; `in_flight` others
    /// are still out.
    fn ended(
        &mut self,
        _flight: &Flight,
        _amounts: &Amounts,
        _end: &End<'_>,
        _in_flight: u32,
        _around: &mut Surroundings<'_>,
    ) {
    }

    /// Takes in that nobody wants the answer of an attempt.
    fn cancelled(&mut self, _flight: &Flight) {}

    /// What to tell others that use the same quota; `None`: nothing is found out. `is_waiting`: there is more
    /// to be sent.
    fn visit(&mut self, _now: Time, _is_waiting: bool) -> Option<QuotaReport> {
        None
    }

    /// Takes in what others told to a visit whose words are of `asked`.
    fn hear(&mut self, _asked: Time, _now: Time, _portion: &QuotaReply) {}

    /// Whether the lane is open; `None`: it is, always, and does not wait after refusals.
    fn gate(&self) -> Option<&Gate> {
        None
    }

    /// Why the `queued` jobs end untried, where the server has been down for too long.
    fn lost(&mut self, _now: Time, _queued: usize) -> Option<Refusal> {
        None
    }

    /// How many at once the server was seen to work on, where it lets the others wait.
    fn knee(&self) -> Option<u32> {
        None
    }

    /// The time from one attempt to the next, where that was found by trying.
    fn interval(&self) -> Option<Duration> {
        None
    }
}
