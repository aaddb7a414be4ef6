//! What the gateway tells the run while it works.

use std::time::Duration;

use crate::admission::lanes::{LaneNotice, LaneStanding};
use crate::lane::Lane;
use crate::wire::class::Class;

/// Something happened to an exchange.
#[derive(Debug, Clone, Copy)]
pub struct Notice<'a> {
    /// The call's own tag.
    pub tag: u64,
    /// Where.
    pub lane: &'a Lane,
    /// What.
    pub event: Event,
}

/// The moments of an exchange. One that is cancelled or dropped ends without a further
/// word: an attempt may then have a start and no end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The cache or a recording answered.
    Remembered,
    /// An attempt goes on the wire; the first is 1.
    AttemptStarted {
        /// Which one.
        attempt: u32,
    },
    /// An attempt ended.
    AttemptFinished {
        /// Which one.
        attempt: u32,
        /// How.
        class: Class,
        /// HTTP status, where there was a response.
        status: Option<u16>,
        /// How long it took.
        latency: Duration,
    },
}

/// Is told. Called on the gateway's tasks: it must neither block nor panic, nor call the
/// gateway.
pub trait Observer: Send + Sync {
    /// Something happened to an exchange.
    fn observe(&self, notice: &Notice<'_>);

    /// Something happened in a lane. Called in the order in which it happened.
    fn lane(&self, notice: LaneNotice) {
        drop(notice);
    }

    /// What a lane waits for has begun, changed or ended. A few times a second for each lane
    /// at most, and not for waits that are over sooner.
    fn standing(&self, standing: LaneStanding) {
        drop(standing);
    }
}

/// Ignores everything.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unobserved;

impl Observer for Unobserved {
    fn observe(&self, _notice: &Notice<'_>) {}
}
