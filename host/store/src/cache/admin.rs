//! Looks into the cache and clears it, for people.
//!
//! Each question opens its own connection, as in `runs.db`: nobody asks twice a second.

use std::path::PathBuf;
use std::time::Duration;

use rusqlite::{Connection, TransactionBehavior};

use super::payload;
use super::{Cache, CacheLabels, CachedResponse};
use crate::database::{Purpose, tidy_journal};
use crate::digest::Digest;
use crate::error::StoreError;

/// Entries that are cleared in one transaction, so that a run beside gets its turn.
const CLEARED_AT_ONCE: u32 = 1000;

/// How long giving space back waits for others to leave the file. Short: the space is used again
/// in any case.
const VACUUM_PATIENCE: Duration = Duration::from_millis(500);

const ITEM: &str = "
SELECT id, key_version, key, stored_at_ms, used_at_ms, bytes, plain_bytes, origin, bucket, method,
       url
FROM entries";

const CLEAR: &str = "
DELETE FROM entries WHERE id IN
    (SELECT id FROM entries WHERE stored_at_ms < ?1 ORDER BY stored_at_ms LIMIT ?2)
RETURNING bytes";

/// The cache as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheStats {
    /// The file.
    pub path: PathBuf,
    /// How many entries there are, those of other key versions and expired ones included.
    pub entries: u64,
    /// Bytes that they take, as [`CacheItem::bytes`] counts them.
    pub bytes: u64,
    /// Bytes that they may take.
    pub max_bytes: u64,
    /// Bytes of the file and its journal.
    pub file_bytes: u64,
    /// When the oldest entry was stored: milliseconds since 1970-01-01T00:00:00Z.
    pub oldest_ms: Option<i64>,
    /// When the newest entry was stored.
    pub newest_ms: Option<i64>,
}

/// An entry in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheItem {
    /// The request's digest. Users name an entry by the first few digits.
    pub key: Digest,
    /// How the key was made.
    pub key_version: u32,
    /// What it is for.
    pub labels: CacheLabels,
    /// When it was stored: milliseconds since 1970-01-01T00:00:00Z.
    pub stored_at_ms: i64,
    /// When it was last used, to about an hour.
    pub used_at_ms: i64,
    /// Bytes that it takes: compressed, with its texts and what the file needs for it.
    pub bytes: u64,
    /// Bytes of headers and body before compression.
    pub plain_bytes: u64,
}

/// What was cleared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cleared {
    /// How many entries.
    pub entries: u64,
    /// How many bytes they took, as [`CacheItem::bytes`] counts them.
    pub bytes: u64,
}

impl Cache {
    /// The cache in numbers.
    ///
    /// # Errors
    /// When the file can't be read.
    pub fn stats(&self) -> Result<CacheStats, StoreError> {
        let connection = self.database().connect(Purpose::Read)?;
        let question = "
SELECT entries, bytes, (SELECT min(stored_at_ms) FROM entries),
       (SELECT max(stored_at_ms) FROM entries)
FROM totals";
        let read = |row: &rusqlite::Row<'_>| {
            Ok(CacheStats {
                path: self.path().to_owned(),
                entries: row.get::<_, i64>(0)?.cast_unsigned(),
                bytes: row.get::<_, i64>(1)?.cast_unsigned(),
                max_bytes: self.options().max_bytes,
                file_bytes: self.database().file_bytes(),
                oldest_ms: row.get(2)?,
                newest_ms: row.get(3)?,
            })
        };
        let stats = connection.query_row(question, [], read);
        stats.map_err(|error| self.reading(error))
    }

    /// The entries that were used last, at most `limit`; only those that have `containing` in
    /// their origin, bucket or URL, if it is given.
    ///
    /// # Errors
    /// When the file can't be read.
    pub fn list(
        &self,
        containing: Option<&str>,
        limit: usize,
    ) -> Result<Vec<CacheItem>, StoreError> {
        let connection = self.database().connect(Purpose::Read)?;
        let question = format!(
            "{ITEM}
WHERE ?1 IS NULL OR instr(origin, ?1) > 0 OR instr(bucket, ?1) > 0 OR instr(url, ?1) > 0
ORDER BY used_at_ms DESC, id DESC LIMIT ?2"
        );
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let items = self.items(&connection, &question, (containing, limit))?;
        Ok(items.into_iter().map(|(_, item)| item).collect())
    }

    /// The one entry whose key begins with these hexadecimal digits, of whatever age.
    ///
    /// # Errors
    /// [`StoreError::NoSuchEntry`], [`StoreError::AmbiguousEntry`], [`StoreError::Unreadable`]
    /// when it is damaged; otherwise when the file can't be read.
    pub fn show(&self, key: &str) -> Result<(CacheItem, CachedResponse), StoreError> {
        let connection = self.database().connect(Purpose::Read)?;
        // Nothing begins with an empty text: it is a variable that was not set.
        let question = format!("{ITEM} WHERE ?1 <> '' AND substr(hex(key), 1, length(?1)) = ?1");
        let wanted = key.to_ascii_uppercase();
        let mut items = self.items(&connection, &question, [wanted])?;
        let total = items.len() as u64;
        let (Some((id, item)), 1) = (items.pop(), total) else {
            let wanted = key.to_owned();
            return Err(if total == 0 {
                StoreError::NoSuchEntry { wanted }
            } else {
                StoreError::AmbiguousEntry { wanted, total }
            });
        };
        let question = "SELECT payload, plain_bytes FROM entries WHERE id = ?1";
        let response = connection.query_row(question, [id], |row| {
            let payload = row.get_ref(0)?.as_blob()?;
            Ok(payload::open(
                &item.key,
                payload,
                row.get(1)?,
                item.stored_at_ms,
            ))
        });
        match response.map_err(|error| self.reading(error))? {
            Some(response) => Ok((item, response)),
            None => Err(self.unreadable(&item.key.to_string())),
        }
    }

    /// Drops the entries that were stored before a moment (milliseconds since 1970), or all of
    /// them, and gives the space back if nobody is in the way.
    ///
    /// # Errors
    /// When the file can't be written; what was cleared until then stays cleared.
    pub fn clear(&self, stored_before_ms: Option<i64>) -> Result<Cleared, StoreError> {
        let mut connection = self.database().connect(Purpose::Write)?;
        let before = stored_before_ms.unwrap_or(i64::MAX);
        let mut cleared = Cleared::default();
        loop {
            let some = clear_some(&mut connection, before)
                .map_err(|error| self.database().failed("clear the cache", error))?;
            if some.entries == 0 {
                break;
            }
            cleared.entries += some.entries;
            cleared.bytes += some.bytes;
        }
        if cleared.entries > 0 {
            // Tidiness: entries are gone by now whatever becomes of it.
            drop(connection.busy_timeout(VACUUM_PATIENCE));
            drop(connection.execute_batch("VACUUM"));
            tidy_journal(&connection);
        }
        Ok(cleared)
    }

    fn items<P: rusqlite::Params>(
        &self,
        connection: &Connection,
        question: &str,
        params: P,
    ) -> Result<Vec<(i64, CacheItem)>, StoreError> {
        let failed = |error| self.reading(error);
        let mut question = connection.prepare(question).map_err(failed)?;
        let mut found = question.query(params).map_err(failed)?;
        let mut items = Vec::new();
        while let Some(row) = found.next().map_err(failed)? {
            items.push(self.item(row)?);
        }
        Ok(items)
    }

    fn item(&self, row: &rusqlite::Row<'_>) -> Result<(i64, CacheItem), StoreError> {
        let key: Vec<u8> = row.get(2).map_err(|error| self.reading(error))?;
        let key = Digest::from_column(&key).ok_or_else(|| self.unreadable("key"))?;
        let item = || {
            let labels = CacheLabels {
                origin: row.get(7)?,
                bucket: row.get(8)?,
                method: row.get(9)?,
                url: row.get(10)?,
            };
            let item = CacheItem {
                key,
                key_version: row.get(1)?,
                labels,
                stored_at_ms: row.get(3)?,
                used_at_ms: row.get(4)?,
                bytes: row.get::<_, i64>(5)?.cast_unsigned(),
                plain_bytes: row.get::<_, i64>(6)?.cast_unsigned(),
            };
            Ok((row.get(0)?, item))
        };
        item().map_err(|error| self.reading(error))
    }

    fn reading(&self, error: rusqlite::Error) -> StoreError {
        self.database().failed("read the cache", error)
    }

    fn unreadable(&self, value: &str) -> StoreError {
        StoreError::Unreadable {
            path: self.path().to_owned(),
            what: "cached response",
            value: value.to_owned(),
        }
    }
}

fn clear_some(connection: &mut Connection, before: i64) -> rusqlite::Result<Cleared> {
    let change = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut cleared = Cleared::default();
    {
        let mut clear = change.prepare_cached(CLEAR)?;
        let mut gone = clear.query((before, CLEARED_AT_ONCE))?;
        while let Some(row) = gone.next()? {
            cleared.entries += 1;
            cleared.bytes += row.get::<_, i64>(0)?.cast_unsigned();
        }
    }
    change.commit()?;
    Ok(cleared)
}

#[cfg(test)]
mod tests;
