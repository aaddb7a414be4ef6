//! Who may go on the wire now: the place of the scheduler in the gateway's stack.
//!
//! A lane is what shares a quota. Before each attempt the gateway asks for admission to
//! its lane and gets a permit; after the attempt it tells the permit what the server said.
//! Pauses between attempts are spent without a permit, so nobody waits for a sleeper.
//!
//! [`OpenLanes`] admits everybody at once: then only the run's own slots bound how many
//! requests are in flight. A scheduler that learns limits implements the same two traits.

use std::time::Duration;

use async_trait::async_trait;

use super::class::Class;
use super::hint::Hint;
use super::secret::Fingerprint;

/// What shares a quota.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Lane {
    /// Scheme, host and port.
    pub origin: String,
    /// The credential, without its value.
    pub credential: Option<Fingerprint>,
    /// Organization and project, where the request names them.
    pub organization: Option<String>,
    /// The plugin's own word for a quota within these, usually the model.
    pub bucket: Option<String>,
}

/// What a lane learns from an attempt.
#[derive(Debug)]
pub struct Feedback<'a> {
    /// How it ended.
    pub class: Class,
    /// What the server said about trying again.
    pub hint: Hint,
    /// HTTP status, where there was a response.
    pub status: Option<u16>,
    /// The response's headers, names in lower case; empty without a response.
    pub headers: &'a [(String, String)],
    /// From the attempt's start to its end.
    pub latency: Duration,
}

/// Decides when an attempt may start.
#[async_trait]
pub trait Admission: Send + Sync {
    /// Waits until an attempt in `lane` may start. Dropping the future gives up the place
    /// in the queue.
    async fn admit(&self, lane: &Lane) -> Box<dyn Permit>;
}

/// A place on the wire. Dropping it without [`finish`](Permit::finish) means that the
/// attempt was cancelled.
pub trait Permit: Send {
    /// The attempt has ended.
    fn finish(self: Box<Self>, feedback: &Feedback<'_>);
}

/// Admits every attempt at once.
#[derive(Debug, Clone, Copy, Default)]
pub struct OpenLanes;

#[async_trait]
impl Admission for OpenLanes {
    async fn admit(&self, _lane: &Lane) -> Box<dyn Permit> {
        Box::new(Free)
    }
}

struct Free;

impl Permit for Free {
    fn finish(self: Box<Self>, _feedback: &Feedback<'_>) {}
}
