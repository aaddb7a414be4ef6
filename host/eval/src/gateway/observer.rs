//! What the gateway tells the run while it works.

use std::time::Duration;

use super::class::Class;
use super::lane::Lane;

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
    /// The server asked to slow down.
    Throttled {
        /// For how long, if it said so.
        retry_after: Option<Duration>,
    },
    /// A pause begins, after which another attempt follows.
    Retrying {
        /// Number of that attempt.
        attempt: u32,
        /// Length of the pause.
        pause: Duration,
    },
}

/// Is told. Called on the gateway's tasks: it must neither block nor panic.
pub trait Observer: Send + Sync {
    /// Something happened.
    fn observe(&self, notice: &Notice<'_>);
}

/// Ignores everything.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unobserved;

impl Observer for Unobserved {
    fn observe(&self, _notice: &Notice<'_>) {}
}
