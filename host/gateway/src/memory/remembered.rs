//! What may be remembered of an exchange, and who remembers it: the places of recordings
//! and of the response cache in the gateway's stack.
//!
//! Both see a request without its credential (a fingerprint stands for it) and a response
//! after masking. Both stand above the lanes: what is remembered costs no quota. The traits
//! are here so that the stack can be tested without files; `cache` and `cassette` are what a run
//! uses. That equal requests at once become one is neither's business: see `shared`.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use runner_store::Digest;

use crate::exchange::ExchangeCode;
use crate::lane::Lane;
use crate::pieces::PieceEnd;
use crate::policy::secret::Fingerprint;
use runner_scheduler::Class;

/// A request without its credential: what identifies an exchange.
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
pub struct StoredResponse {
    /// HTTP status.
    pub status: u16,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    /// The whole body.
    pub body: Vec<u8>,
    /// When its first pieces came, where somebody wanted to know.
    pub pieces: Vec<PieceEnd>,
}

/// A response in the cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CachedReply {
    /// The response.
    pub response: StoredResponse,
    /// Time that the original took on the wire.
    pub latency: Duration,
}

/// An exchange from its end, as a recording has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interaction {
    /// How it ended.
    pub ending: Ending,
    /// Attempts that it took.
    pub attempts: u32,
    /// Time on the wire that its answer took.
    pub latency: Duration,
}

/// How a recorded exchange ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// With a response, of whatever status.
    Answered {
        /// The response.
        response: StoredResponse,
        /// When the server would rather be asked again.
        retry_after: Option<Duration>,
        /// It had not left the machine.
        cached: bool,
    },
    /// Without one.
    Failed {
        /// What kind of failure.
        code: ExchangeCode,
        /// How retries take it.
        class: Class,
        /// One line, without secrets.
        message: String,
    },
}

/// Who makes a request.
#[derive(Debug, Clone, Copy, Default)]
pub struct Caller<'a> {
    /// The tag of the call's scope.
    pub tag: u64,
    /// What the user calls the provider, if it is one's.
    pub name: Option<&'a str>,
}

/// What a cassette has for a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CassetteMatch {
    /// Go on; the end will be offered to [`Cassette::record`].
    Live,
    /// End like this.
    Replay(Interaction),
    /// The cassette only replays and does not have it: an error.
    Missing {
        /// What it has that comes nearest, to follow "is not in the recording"; may be empty.
        nearest: String,
    },
    /// It has some, and nothing says that they were this caller's: an error.
    Ambiguous {
        /// Whose they are, to follow "is in the recording".
        whose: String,
    },
}

/// Records exchanges, or replays recorded ones.
pub trait Cassette: Send + Sync {
    /// Whether no request ever leaves, so that no credential needs a value.
    fn is_offline(&self) -> bool {
        false
    }

    /// Whether ends are wanted at all: each is copied for it.
    fn is_recording(&self) -> bool {
        true
    }

    /// Most bytes that looking up a request takes: there has to be room for them before.
    fn most_bytes(&self, _envelope: &Envelope) -> usize {
        0
    }

    /// Looks a request up.
    fn find(&self, envelope: &Envelope, caller: &Caller<'_>) -> CassetteMatch;

    /// Takes how a request with [`CassetteMatch::Live`] ended.
    fn record(&self, envelope: &Envelope, caller: &Caller<'_>, interaction: &Interaction);
}

/// Neither records nor replays.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct NoCassette;

impl Cassette for NoCassette {
    fn is_recording(&self) -> bool {
        false
    }

    fn find(&self, _envelope: &Envelope, _caller: &Caller<'_>) -> CassetteMatch {
        CassetteMatch::Live
    }

    fn record(&self, _envelope: &Envelope, _caller: &Caller<'_>, _interaction: &Interaction) {}
}

/// Keeps responses by the digest of their request.
#[async_trait]
pub trait ResponseCache: Send + Sync {
    /// What it has. May take as long as reading a small file.
    fn get(&self, key: &Digest) -> Option<CachedReply>;

    /// Keeps a response that is worth it. Returns once it would survive a crash, so that
    /// nothing is paid for twice; or when it can't be kept, which is no error of the request.
    async fn put(&self, key: &Digest, envelope: &Envelope, lane: &Lane, held: CachedReply);
}
