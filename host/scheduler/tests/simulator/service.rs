//! How a server works on what it has taken: each request by itself, or one after the other.
//!
//! A server of models has so many slots and puts everybody else into a queue, without a word and
//! without an end: it never refuses. What a client gains by sending more than there are slots
//! is nothing, and what it pays is latency.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use runner_scheduler::Time;

/// Ways to work, as data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Service {
    /// All at once: an answer takes as long as it takes.
    Apart,
    /// `slots` at once, the others wait in order. Each request that waits when another one begins makes
    /// that slower by `crowding` thousandths (memory, swapping): throughput falls with the queue.
    Slots { slots: u32, crowding: u32 },
}

/// The slots of a server.
#[derive(Debug)]
pub(crate) struct Slots {
    /// When each is free again.
    free: BinaryHeap<Reverse<Time>>,
    /// When those who wait begin.
    beginning: BinaryHeap<Reverse<Time>>,
    crowding: u32,
}

impl Service {
    /// Its slots, all free; `None` if nobody waits for any.
    pub(crate) fn build(self) -> Option<Slots> {
        let Self::Slots { slots, crowding } = self else {
            return None;
        };
        Some(Slots {
            free: (0..slots).map(|_| Reverse(Time::ZERO)).collect(),
            beginning: BinaryHeap::new(),
            crowding,
        })
    }
}

impl Slots {
    /// When a slot is free for one who comes at `now`.
    pub(crate) fn free(&self, now: Time) -> Time {
        self.free.peek().map_or(now, |free| free.0.max(now))
    }

    /// Takes a request at `now` that takes `work` by itself; gives when it is answered.
    pub(crate) fn take(&mut self, now: Time, work: Duration) -> Time {
        while self.beginning.peek().is_some_and(|begins| begins.0 <= now) {
            self.beginning.pop();
        }
        let begins = self.free(now);
        let crowd = self.beginning.len() as u32 * self.crowding;
        let end = begins + work * (1000 + crowd) / 1000;
        self.free.pop();
        self.free.push(Reverse(end));
        self.beginning.push(Reverse(begins));
        end
    }
}
