//! What goes into the cache and comes out of it, and how it is told to behave.

use std::time::Duration;

use crate::database::OpenOptions;

/// Bytes that entries may take together unless said otherwise: some hundred thousand answers of
/// a usual size, and little beside the models and containers that such machines hold.
const MAX_BYTES: u64 = 1 << 30;

/// How long an answer is good unless said otherwise: 14 days, as promptfoo has it.
const TTL: Duration = Duration::from_hours(14 * 24);

/// How a cache is opened and how it behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheOptions {
    /// How the file is opened.
    pub open: OpenOptions,
    /// Which way of making keys the caller uses: entries of another version are never found, and
    /// leave like all that nobody asks for.
    pub key_version: u32,
    /// Bytes that all entries may take together, as [`CacheItem::bytes`](super::CacheItem) counts
    /// them. One entry may take a sixteenth of this.
    pub max_bytes: u64,
    /// The age after which an answer is no longer given. `None` is for ever; a setting of `0`
    /// should become that, since promptfoo's cache takes it so and a cache that forgets at once
    /// has a switch of its own.
    pub ttl: Option<Duration>,
    /// Bytes of the disk that stay free: what would leave less is not kept. `None`: as many as runs
    /// leave, 256 MiB or a twentieth of a small disk.
    pub left_free: Option<u64>,
}

impl Default for CacheOptions {
    /// 1 GiB, 14 days, key version 1, the usual room left free, with a write-ahead log.
    fn default() -> Self {
        Self {
            open: OpenOptions::default(),
            key_version: 1,
            max_bytes: MAX_BYTES,
            ttl: Some(TTL),
            left_free: None,
        }
    }
}

impl CacheOptions {
    /// The last moment at which something may have been stored and be expired at `now_ms`.
    /// `None`: nothing expires.
    pub(super) fn expired_before(&self, now_ms: i64) -> Option<i64> {
        let ttl = i64::try_from(self.ttl?.as_millis()).unwrap_or(i64::MAX);
        Some(now_ms.saturating_sub(ttl))
    }
}

/// What an entry is for: shown to people, never part of the key. Must not hold secrets.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CacheLabels {
    /// Where the request went: `https://api.openai.com`.
    pub origin: String,
    /// What shares a quota there, mostly the model.
    pub bucket: String,
    /// The request's method.
    pub method: String,
    /// The request's address, without what is secret in its query.
    pub url: String,
}

impl CacheLabels {
    /// Bytes of the texts.
    pub(super) fn weight(&self) -> usize {
        self.origin.len() + self.bucket.len() + self.method.len() + self.url.len()
    }
}

/// A response as it came and as it is given again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CachedResponse {
    /// HTTP status.
    pub status: u16,
    /// Names and values in order.
    pub headers: Vec<(String, String)>,
    /// The whole body.
    pub body: Vec<u8>,
    /// Until which byte it had come, and when, in milliseconds; empty where nobody wanted to know.
    pub pieces: Vec<(u32, u32)>,
    /// How long the original took, in milliseconds.
    pub latency_ms: u64,
    /// When it came: milliseconds since 1970-01-01T00:00:00Z.
    pub stored_at_ms: i64,
}
