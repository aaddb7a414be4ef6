//! The response cache of a run: which requests and responses are worth remembering, under what
//! key, and the way to `cache.db`.
//!
//! A response is kept when it would be given again with a good conscience: to a GET or a POST,
//! whole, of a status that says so, and without an error in its body. What an API calls an
//! error inside a 200 is one that may be gone in a minute.

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use runner_store::{Cache, CacheLabels, CachedResponse, Digest};
use serde::Deserialize;
use serde::de::IgnoredAny;
use sha2::{Digest as _, Sha256};

use crate::lane::Lane;
use crate::memory::remembered::{CachedReply, Envelope, ResponseCache, StoredResponse};
use crate::pieces::{MOST_ENDS, PieceEnd, objects};
use crate::policy::address::Reach;
use crate::policy::masker::Masker;
use crate::policy::secret::Scheme;

/// Which way of making keys `key` is. Goes up whenever the same request gets another key or
/// another meaning, so that entries of before are no longer found.
pub const KEY_VERSION: u32 = 2;

#[cfg(test)]
mod tests;

/// The digest of a request: method, URL, headers sorted by name, body, the credential's
/// fingerprint and the repeat index, each with its length ahead; and how it was sent: how far its
/// host may lead, and the scheme of the credential. What a wildcard may not fetch from a private
/// address it may not get from here either, and who sends a key in another header asks something
/// else.
///
/// The body counts as it is. Two spellings of one JSON text are two requests: a provider writes
/// its own the same way each time, and reordering would be wrong for a body that is no JSON.
pub(crate) fn key(envelope: &Envelope, reach: Reach, scheme: Option<&Scheme>) -> Digest {
    let credential = envelope
        .credential
        .as_ref()
        .map(crate::policy::secret::Fingerprint::as_str);
    let scheme = scheme.map(ToString::to_string);
    let sent = [reach.word(), scheme.as_deref().unwrap_or_default()];
    digest(envelope, credential, &sent)
}

/// What identifies a request in a recording. The credential is no part of it: a recording is
/// replayed without any, and by whom it was granted does not matter.
pub(crate) fn anonymous_key(envelope: &Envelope) -> Digest {
    digest(envelope, None, &[])
}

fn digest(envelope: &Envelope, credential: Option<&str>, sent: &[&str]) -> Digest {
    let mut hash = Sha256::new();
    hash.update(b"runner request 2\0");
    let mut field = |bytes: &[u8]| {
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    };
    field(envelope.method.as_bytes());
    field(envelope.url.as_bytes());
    let mut headers: Vec<_> = envelope.headers.iter().collect();
    // Stable: the order of equal names has a meaning.
    headers.sort_by(|a, b| a.0.cmp(&b.0));
    field(&(headers.len() as u64).to_le_bytes());
    for (name, value) in headers {
        field(name.as_bytes());
        field(value.as_bytes());
    }
    field(&envelope.body);
    field(credential.unwrap_or_default().as_bytes());
    field(&envelope.repeat.to_le_bytes());
    for word in sent {
        field(word.as_bytes());
    }
    Digest::new(hash.finalize().into())
}

/// Whether a request may be answered from memory: one that changes something may not.
pub(crate) fn is_repeatable(method: &str) -> bool {
    matches!(method, "GET" | "POST")
}

/// Whether a response is worth keeping: 2xx, but neither 202 (not done yet) nor 206 (a part),
/// no JSON object whose `error` is anything but null, `false` or empty, and what it says it is:
/// JSON that is none, and a page for people where an API was asked, come from what stands
/// between, and would be the answer for as long as they are kept.
pub(crate) fn is_worth_keeping(response: &StoredResponse) -> bool {
    matches!(response.status, 200..=299)
        && !matches!(response.status, 202 | 206)
        && is_what_it_says(response)
        && !states_an_error(&response.body)
        && !(is_stream(response) && objects(&response.body).any(states_an_error))
}

/// Its media type in lower case; empty where it says none.
fn kind(response: &StoredResponse) -> String {
    let mut headers = response.headers.iter();
    let kind = headers.find(|(name, _)| name.eq_ignore_ascii_case("content-type"));
    kind.map_or_else(String::new, |(_, value)| value.to_ascii_lowercase())
}

/// Whether it came in pieces, each of which may state an error.
fn is_stream(response: &StoredResponse) -> bool {
    let kind = kind(response);
    kind.starts_with("text/event-stream") || kind.starts_with("application/x-ndjson")
}

fn is_what_it_says(response: &StoredResponse) -> bool {
    let kind = kind(response);
    let is_json = || serde_json::from_slice::<IgnoredAny>(&response.body).is_ok();
    let claims_json = kind.starts_with("application/json");
    !kind.starts_with("text/html") && (!claims_json || is_json())
}

fn states_an_error(body: &[u8]) -> bool {
    /// The one key that counts; everything else is skipped without being built.
    #[derive(Deserialize)]
    struct Top {
        #[serde(default)]
        error: Option<Stated>,
    }
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Stated {
        Flag(bool),
        Text(String),
        Other(IgnoredAny),
    }
    // serde reads a list of one as a struct, too.
    if body.trim_ascii_start().first() != Some(&b'{') {
        return false;
    }
    match serde_json::from_slice::<Top>(body) {
        Ok(Top { error: None }) | Err(_) => false,
        Ok(Top { error: Some(error) }) => match error {
            Stated::Flag(is_error) => is_error,
            Stated::Text(text) => !text.is_empty(),
            Stated::Other(_) => true,
        },
    }
}

/// `cache.db` as the gateway sees it. Whoever writes a config may write secrets into it, or into a `.env`
/// beside it, that are any words, and they are taken out of answers. So it is given those alone out of
/// which nothing was taken, and each run takes its own secrets out of what it finds.
pub struct DiskCache {
    cache: Cache,
    masker: Masker,
    has_failed: AtomicBool,
}

impl DiskCache {
    /// Over an open cache; `masker` knows every secret of the run. Tokens that came up since are none of
    /// the cache's affair: what is remembered of an answer to them has none.
    pub fn new(cache: Cache, masker: &Masker) -> Self {
        Self {
            cache,
            masker: masker.declared(),
            has_failed: AtomicBool::new(false),
        }
    }

    fn labels(&self, envelope: &Envelope, lane: &Lane) -> CacheLabels {
        let safe = |text: &str| self.masker.mask(text).into_owned();
        CacheLabels {
            origin: safe(&lane.origin),
            bucket: safe(lane.bucket.as_deref().unwrap_or_default()),
            method: envelope.method.clone(),
            url: safe(&envelope.url),
        }
    }
}

#[async_trait]
impl ResponseCache for DiskCache {
    // Some tens of microseconds: handing it to another thread would take as long.
    fn get(&self, key: &Digest) -> Option<CachedReply> {
        let found = self.cache.get(key, now_ms())?;
        let mut response = StoredResponse {
            status: found.status,
            headers: found.headers,
            body: found.body,
            pieces: piece_ends(&found.pieces),
        };
        mask(&self.masker, &mut response);
        Some(CachedReply {
            latency: Duration::from_millis(found.latency_ms),
            response,
        })
    }

    async fn put(&self, key: &Digest, envelope: &Envelope, lane: &Lane, held: CachedReply) {
        let CachedReply { response, latency } = held;
        let entry = CachedResponse {
            status: response.status,
            headers: response.headers,
            body: response.body,
            pieces: response.pieces.iter().map(|it| (it.bytes, it.ms)).collect(),
            latency_ms: u64::try_from(latency.as_millis()).unwrap_or(u64::MAX),
            stored_at_ms: now_ms(),
        };
        let labels = self.labels(envelope, lane);
        if let Err(error) = self.cache.put(*key, labels, entry).await
            && !self.has_failed.swap(true, Ordering::Relaxed)
        {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(
                error,
                "answers can't be cached; they will be paid for again"
            );
        }
    }
}

/// The ends of pieces as they are kept, no more than an attempt notes.
pub(crate) fn piece_ends(kept: &[(u32, u32)]) -> Vec<PieceEnd> {
    let ends = kept.iter().take(MOST_ENDS);
    ends.map(|&(bytes, ms)| PieceEnd { bytes, ms }).collect()
}

/// Takes the masker's secrets out of a response, and says whether there were any.
pub(crate) fn mask(masker: &Masker, response: &mut StoredResponse) -> bool {
    let mut had_any = false;
    let headers = response.headers.iter_mut();
    for text in headers.flat_map(|(name, value)| [name, value]) {
        if let Cow::Owned(masked) = masker.mask(text) {
            *text = masked;
            had_any = true;
        }
    }
    if let Cow::Owned(masked) = masker.mask_bytes(&response.body) {
        response.body = masked;
        had_any = true;
    }
    had_any
}

fn now_ms() -> i64 {
    let since = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
