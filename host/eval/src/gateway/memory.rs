//! What may be remembered of an exchange, and who remembers it: the places of recordings
//! and of the response cache in the gateway's stack.
//!
//! Both see a request without its credential (a fingerprint stands for it) and a response
//! after masking, so no file that they write can hold a secret. Both stand above the
//! lanes: what is remembered costs no quota.

use std::fmt;

use async_trait::async_trait;
use bytes::Bytes;

use super::secret::Fingerprint;

/// A request without secrets: what identifies an exchange.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Envelope {
    /// Upper case.
    pub method: String,
    /// In the URL standard's normal form.
    pub url: String,
    /// The plugin's own headers, names in lower case, in order.
    pub headers: Vec<(String, String)>,
    /// The body; empty when there is none.
    pub body: Bytes,
    /// Stands for the credential's value.
    pub credential: Option<Fingerprint>,
    /// Repeat index of the case.
    pub repeat: u32,
}

impl fmt::Debug for Envelope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Envelope")
            .field("method", &self.method)
            .field("url", &self.url)
            .field("body_bytes", &self.body.len())
            .field("repeat", &self.repeat)
            .finish_non_exhaustive()
    }
}

/// A response without secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remembered {
    /// HTTP status.
    pub status: u16,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    /// The whole body.
    pub body: Vec<u8>,
}

/// What a tape does with a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cue {
    /// Go on; the response will be offered to [`Tape::record`].
    Live,
    /// Answer with this.
    Replay(Remembered),
    /// The tape only replays and does not have it: an error.
    Missing,
}

/// Records exchanges, or replays recorded ones.
#[async_trait]
pub trait Tape: Send + Sync {
    /// Looks a request up.
    async fn cue(&self, envelope: &Envelope) -> Cue;
    /// Takes a response of any status that came for a request with [`Cue::Live`].
    async fn record(&self, envelope: &Envelope, response: &Remembered);
}

/// Neither records nor replays.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoTape;

#[async_trait]
impl Tape for NoTape {
    async fn cue(&self, _envelope: &Envelope) -> Cue {
        Cue::Live
    }

    async fn record(&self, _envelope: &Envelope, _response: &Remembered) {}
}

/// What the cache has for a request.
pub enum Entry {
    /// The response.
    Hit(Remembered),
    /// Nothing, and nobody else is fetching it: the caller does.
    Lead(Box<dyn Flight>),
}

/// Serves responses that came before. Single flight: of several equal requests at once
/// one leads, and the others wait in [`enter`](ResponseCache::enter) for what it lands.
#[async_trait]
pub trait ResponseCache: Send + Sync {
    /// A hit, or the task of fetching it.
    async fn enter(&self, envelope: &Envelope) -> Entry;
}

/// The leader's ticket. Dropping it without [`land`](Flight::land) passes the lead on to
/// one of those who wait.
#[async_trait]
pub trait Flight: Send {
    /// Stores a complete 2xx response. Returns once it would survive a crash, so that
    /// nothing is paid for twice.
    async fn land(self: Box<Self>, response: &Remembered);
}

/// Remembers nothing; every request leads.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoCache;

#[async_trait]
impl ResponseCache for NoCache {
    async fn enter(&self, _envelope: &Envelope) -> Entry {
        Entry::Lead(Box::new(Forget))
    }
}

struct Forget;

#[async_trait]
impl Flight for Forget {
    async fn land(self: Box<Self>, _response: &Remembered) {}
}
