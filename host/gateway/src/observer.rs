//! What the gateway tells the run while it works.

use std::sync::Arc;
use std::time::{Duration, Instant};

use runner_scheduler::{Class, Wait};

use crate::lane::Lane;

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

/// Something happened in a lane.
#[derive(Debug, Clone)]
pub struct LaneNotice {
    /// What people call it: `api.openai.com/gpt-4o`. Unique within a run: a second lane that
    /// would have the same name, since only its credential differs, has ` #2` after it.
    pub lane: Arc<str>,
    /// When, from the run's begin. Times in `event` count from the same moment.
    pub at: Duration,
    /// What.
    pub event: runner_scheduler::Event,
}

/// What a lane's next request waits for has changed.
#[derive(Debug, Clone)]
pub struct LaneStanding {
    /// What people call the lane.
    pub lane: Arc<str>,
    /// What it waits for; `None`: it doesn't wait any more, or only for a request to end.
    pub wait: Option<Wait>,
    /// When it will look again, if that is known: `wait.until` on the wall's clock.
    pub until: Option<Instant>,
}

/// Is told. Called on the gateway's tasks: it must neither block nor panic, nor call the
/// gateway.
pub trait Observer: Send + Sync {
    /// Is told what happened to an exchange.
    fn observe(&self, notice: &Notice<'_>);

    /// Is told what happened in a lane. Called in the order in which it happened.
    fn lane(&self, notice: LaneNotice) {
        drop(notice);
    }

    /// Is told that what a lane waits for has begun, changed or ended. A few times a second for each lane
    /// at most, and not for waits that are over sooner.
    fn standing(&self, standing: LaneStanding) {
        drop(standing);
    }
}

/// Ignores everything.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Unobserved;

impl Observer for Unobserved {
    fn observe(&self, _notice: &Notice<'_>) {}
}
