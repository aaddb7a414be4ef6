//! Caches and responses for tests.
#![expect(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is wrong"
)]

use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::{Cache, CacheLabels, CacheOptions, CachedResponse};
use crate::digest::Digest;

/// A cache in a folder of its own, which lives as long as this.
pub(super) struct FreshCache {
    pub(super) folder: TempDir,
    pub(super) cache: Cache,
}

impl FreshCache {
    pub(super) fn new() -> Self {
        Self::with(CacheOptions::default())
    }

    pub(super) fn with(options: CacheOptions) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::open(&path(folder.path()), options).unwrap();
        Self { folder, cache }
    }

    /// Closes the cache, which writes everything that waits, and opens it again.
    pub(super) fn reopened(self) -> Self {
        let options = *self.cache.options();
        let Self { folder, cache } = self;
        drop(cache);
        let cache = Cache::open(&path(folder.path()), options).unwrap();
        Self { folder, cache }
    }

    /// Around the cache's back.
    pub(super) fn raw(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(self.cache.path()).unwrap()
    }

    /// Stores a response and waits for it.
    pub(super) fn store(&self, number: u8, response: CachedResponse) {
        let commit = self.cache.put(key(number), labels(), response);
        assert_eq!(commit.wait().unwrap(), super::CommitOutcome::Stored);
    }
}

fn path(folder: &Path) -> PathBuf {
    folder.join("cache.db")
}

pub(super) fn key(number: u8) -> Digest {
    Digest::new([number; Digest::BYTES])
}

pub(super) fn labels() -> CacheLabels {
    CacheLabels {
        origin: "https://api.example.com".to_owned(),
        bucket: "large-1".to_owned(),
        method: "POST".to_owned(),
        url: "https://api.example.com/v1/chat".to_owned(),
    }
}

pub(super) fn response(body: impl Into<Vec<u8>>, stored_at_ms: i64) -> CachedResponse {
    CachedResponse {
        status: 200,
        headers: vec![("content-type".to_owned(), "application/json".to_owned())],
        body: body.into(),
        pieces: Vec::new(),
        latency_ms: 412,
        stored_at_ms,
    }
}

/// Bytes that no compression makes smaller.
pub(super) fn noise(seed: u64, bytes: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut byte = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    (0..bytes).map(|_| byte()).collect()
}
