//! Looks one key up.
//!
//! A reader is a connection with its prepared question. Readers are kept for the next lookup:
//! opening one takes 0.3 ms, a lookup some tens of microseconds.

use rusqlite::{Connection, OptionalExtension};

use super::payload;
use super::{CacheOptions, CachedResponse};
use crate::digest::Digest;

/// How stale the time of an entry's last use may be: 1 hour. The order of leaving is decided
/// over days, and one write per entry and hour is all that reading can cause.
const USE_GRAIN_MS: i64 = 3_600_000;

const LOOK_UP: &str = "
SELECT id, stored_at_ms, used_at_ms, plain_bytes, payload FROM entries
WHERE key_version = ?1 AND key = ?2";

/// What a lookup found.
#[derive(Debug)]
pub(super) enum FoundEntry {
    /// A response. `stale_use` is the entry whose last use should be noted.
    Hit {
        response: CachedResponse,
        stale_use: Option<i64>,
    },
    /// Nothing, or nothing that is still good.
    Nothing,
    /// An entry that can't be read.
    Damaged(i64),
}

/// A connection to look up with.
#[derive(Debug)]
pub(super) struct Reader {
    connection: Connection,
}

impl Reader {
    pub(super) fn new(connection: Connection) -> Self {
        Self { connection }
    }

    pub(super) fn look_up(
        &self,
        options: &CacheOptions,
        key: &Digest,
        now_ms: i64,
    ) -> rusqlite::Result<FoundEntry> {
        let mut question = self.connection.prepare_cached(LOOK_UP)?;
        let found = question.query_row((options.key_version, key.as_bytes().as_slice()), |row| {
            let (id, stored_at_ms): (i64, i64) = (row.get(0)?, row.get(1)?);
            if options
                .expired_before(now_ms)
                .is_some_and(|before| stored_at_ms < before)
            {
                return Ok(FoundEntry::Nothing);
            }
            let used_at_ms: i64 = row.get(2)?;
            let payload = row.get_ref(4)?.as_blob()?;
            let Some(response) = payload::open(key, payload, row.get(3)?, stored_at_ms) else {
                return Ok(FoundEntry::Damaged(id));
            };
            let stale = now_ms.saturating_sub(used_at_ms) >= USE_GRAIN_MS;
            Ok(FoundEntry::Hit {
                response,
                stale_use: stale.then_some(id),
            })
        });
        Ok(found.optional()?.unwrap_or(FoundEntry::Nothing))
    }
}
