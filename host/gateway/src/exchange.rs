//! One exchange: what a plugin asks for, and what it gets.

use std::time::Duration;

use runner_scheduler::Class;
use serde::{Deserialize, Serialize};

use crate::pieces::PieceEnd;

/// Largest request body. A prompt with images stays far below it.
pub(crate) const REQUEST_LIMIT: usize = 16 << 20;

/// Largest response body, counted as it arrives. Generated images and audio in base64 are
/// the largest honest ones.
pub const RESPONSE_LIMIT: usize = 32 << 20;

/// Time an exchange may spend on the wire when nobody says otherwise: what the providers'
/// own clients allow a slow completion.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_mins(5);

/// One outbound HTTP request as the plugin states it. Nothing in it is trusted.
#[derive(Debug, Clone, Default)]
pub struct Exchange {
    /// HTTP method, any case. `CONNECT` and `TRACE` are refused.
    pub method: String,
    /// Absolute URL.
    pub url: String,
    /// Headers in order. The host's own ones are refused.
    pub headers: Vec<(String, String)>,
    /// Body, at most 16 MiB.
    pub body: Option<Vec<u8>>,
    /// Name of a granted credential.
    pub credential: Option<String>,
    /// What shares a quota within the credential, usually the model.
    pub bucket: Option<String>,
    /// Time on the wire, over all attempts; waiting does not count. It can only shorten
    /// [`DEFAULT_TIMEOUT`].
    pub timeout: Option<Duration>,
    /// Whether the cache may serve and keep it.
    pub cache: CacheMode,
}

/// Whether the cache is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CacheMode {
    /// As the run is configured.
    #[default]
    Auto,
    /// Neither read nor written.
    Bypass,
}

/// A whole response. 4xx and 5xx are responses; `class` says what they mean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// HTTP status.
    pub status: u16,
    /// Names in lower case; without `set-cookie` and framing; secrets masked.
    pub headers: Vec<(String, String)>,
    /// The whole body, secrets masked.
    pub body: Vec<u8>,
    /// When its first pieces came, where somebody wanted to know.
    pub pieces: Vec<PieceEnd>,
    /// What the status means for whoever wants to try again.
    pub class: Class,
    /// When the server would rather be asked again, if it said so.
    pub retry_after: Option<Duration>,
    /// Nothing left the machine for this caller: the answer came from the cache, or another
    /// caller's equal request fetched it. A recorded answer says what it said when it was
    /// recorded.
    pub cached: bool,
    /// What it took.
    pub spent: ExchangeUsage,
}

/// What an exchange took, whether it succeeded or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ExchangeUsage {
    /// Attempts on the wire.
    pub attempts: u32,
    /// Time in queues and pauses: not work.
    pub waited: Duration,
    /// Time on the wire, over all attempts.
    pub worked: Duration,
    /// Time of the last attempt, from its start to the last byte of its body.
    pub latency: Duration,
    /// Time on the wire that the answer took when it came, where that is not in `worked`: a
    /// cached or recorded answer, or one that was fetched for several callers at once.
    pub past_latency: Duration,
    /// Attempts that a recorded answer took when it was recorded.
    pub past_attempts: u32,
}

/// What the host can act on. Each has one counterpart in the plugin contract, but for
/// `Draining`, of which no plugin lives to hear. Recordings have the same words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExchangeCode {
    /// The request itself is wrong.
    InvalidRequest,
    /// The credential has no value, or the server doesn't accept it.
    Auth,
    /// The server doesn't have what the lane asks for.
    NotFound,
    /// A rate limit forbids it, however long it waits.
    RateLimited,
    /// A quota or a balance is used up.
    QuotaExhausted,
    /// A capability is not granted.
    Denied,
    /// A time limit passed.
    Timeout,
    /// Worth another try later.
    Transient,
    /// A budget is spent.
    Budget,
    /// The server does not speak HTTP as it should.
    BadResponse,
    /// Nothing is sent any more, since the run ends: says nothing about the request, so it is in no
    /// recording, and none can say it.
    #[serde(skip)]
    Draining,
    /// The host could not do its part.
    Other,
}

/// An exchange without a response.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ExchangeError {
    /// What kind of failure it is.
    pub code: ExchangeCode,
    /// How retries and lanes take it.
    pub class: Class,
    /// One line for people, without secrets.
    pub message: String,
    /// What the exchange took until then.
    pub spent: ExchangeUsage,
}
