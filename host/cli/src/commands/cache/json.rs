//! What is remembered, for programs.

use std::path::Path;

use runner_store::{CacheItem, CacheStats, CachedResponse, Cleared};
use serde_json::{Value, json};

pub(super) fn stats(stats: &CacheStats) -> Value {
    json!({
        "file": stats.path, "answers": stats.entries, "bytes": stats.bytes, "maxBytes": stats.max_bytes,
        "fileBytes": stats.file_bytes, "oldestMs": stats.oldest_ms, "newestMs": stats.newest_ms,
    })
}

/// Of a file that is not there.
pub(super) fn no_stats(path: &Path) -> Value {
    json!({ "file": path, "answers": 0, "bytes": 0, "fileBytes": 0, "oldestMs": null, "newestMs": null })
}

pub(super) fn item(item: &CacheItem) -> Value {
    let labels = &item.labels;
    json!({
        "key": item.key.to_string(), "method": labels.method, "url": labels.url, "model": labels.bucket,
        "storedAtMs": item.stored_at_ms, "usedAtMs": item.used_at_ms, "bytes": item.bytes,
    })
}

/// One in full; a body that is no text is shown as far as it is one.
pub(super) fn entry(item: &CacheItem, response: &CachedResponse) -> Value {
    let mut told = self::item(item);
    told["status"] = json!(response.status);
    told["latencyMs"] = json!(response.latency_ms);
    told["headers"] = json!(response.headers);
    told["body"] = json!(String::from_utf8_lossy(&response.body));
    told
}

pub(super) fn cleared(cleared: Cleared) -> Value {
    json!({ "answers": cleared.entries, "bytes": cleared.bytes })
}
