//! A busy machine: the client gets no processor for a while, again and again.
//!
//! Whatever happens in such a stall, an answer that has come or a timer that has fired, is noticed at its
//! end. The server is elsewhere and has none: that is what a late answer must not be
//! taken for.

use std::collections::VecDeque;
use std::time::Duration;

use runner_scheduler::Time;

use super::random::Random;

/// How busy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Busy {
    /// The longest time between two stalls; half of it on average.
    pub(crate) awake: Duration,
    /// The longest stall; half of it on average.
    pub(crate) stalled: Duration,
}

/// The stalls of a run, drawn as far as somebody has asked.
#[derive(Debug)]
pub(crate) struct Stalls {
    busy: Option<Busy>,
    random: Random,
    /// Begin and end, those that may still matter.
    drawn: VecDeque<(Time, Time)>,
    end: Time,
}

impl Stalls {
    pub(crate) fn new(busy: Option<Busy>, random: Random) -> Self {
        Self {
            busy,
            random,
            drawn: VecDeque::new(),
            end: Time::ZERO,
        }
    }

    /// When what happens at `at` is noticed. `now`: nobody will ask for an earlier time.
    pub(crate) fn noticed(&mut self, now: Time, at: Time) -> Time {
        let Some(busy) = self.busy else {
            return at;
        };
        while self.end <= at && at < Time::NEVER {
            let begin = self.end + self.random.span(busy.awake);
            self.end = begin + self.random.span(busy.stalled);
            self.drawn.push_back((begin, self.end));
        }
        while self.drawn.front().is_some_and(|(_, end)| *end < now) {
            self.drawn.pop_front();
        }
        let inside = self
            .drawn
            .iter()
            .find(|(begin, end)| *begin <= at && at < *end);
        inside.map_or(at, |(_, end)| *end)
    }
}
