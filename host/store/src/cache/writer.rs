//! Writes the cache: a thread with its own connection that commits responses in groups.
//!
//! Compressing happens here too, before the transaction begins: never on a thread of somebody's
//! runtime, and never while the file is locked. A group that fails is told to those who wait for
//! it and the next one is tried: a disk that was full may have room again, and a cache that
//! can't be written is no reason to stop.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use rusqlite::{Connection, TransactionBehavior};

use super::payload::{Sealed, seal};
use super::queue::{Group, Put, PutQueue};
use super::{CacheLabels, CacheOptions, CommitOutcome};
use crate::database::{PAGE_BYTES, tidy_journal};
use crate::digest::Digest;
use crate::error::{StoreError, WriterFailure};
use crate::room::LeftFree;

/// One entry may take one part in so many of all the room: a few that are huge would otherwise
/// push out thousands that are small.
const SHARE: u64 = 16;

/// What an entry takes beside its texts and its payload: its numbers, its places in three
/// indexes, its part of half-filled pages. Measured: 150 for a body of 300 bytes, 300 for one of
/// 2 KB.
const ENTRY_BYTES: usize = 300;

/// Expired entries that leave with one group: some milliseconds. What is expired is never
/// served, so the rest can wait.
const EXPIRED_AT_ONCE: u32 = 256;

/// When the room is used up, one part in so many is freed beyond what is needed, so that not
/// every group has to choose.
const SLACK: u64 = 64;

const USE: &str = "UPDATE entries SET used_at_ms = max(used_at_ms, ?2) WHERE id = ?1";

const DROP: &str = "DELETE FROM entries WHERE id = ?1";

const DROP_EXPIRED: &str = "
DELETE FROM entries WHERE id IN
    (SELECT id FROM entries WHERE stored_at_ms < ?1 ORDER BY stored_at_ms LIMIT ?2)";

const DROP_KEY: &str = "DELETE FROM entries WHERE key_version = ?1 AND key = ?2";

const INSERT: &str = "
INSERT INTO entries (key_version, key, stored_at_ms, used_at_ms, bytes, plain_bytes, origin,
                     bucket, method, url, payload)
VALUES (?1, ?2, ?3, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";

const LONGEST_UNUSED: &str = "SELECT id, bytes FROM entries ORDER BY used_at_ms, id";

/// What the thread needs.
#[derive(Debug)]
pub(super) struct Writer {
    pub(super) connection: Connection,
    pub(super) path: Arc<Path>,
    pub(super) options: CacheOptions,
}

/// A response that is ready to be inserted.
struct Ready {
    key: Digest,
    labels: CacheLabels,
    stored_at_ms: i64,
    sealed: Sealed,
}

/// Tells those who wait when the thread panics: nobody else would.
struct PanicWatch<'a>(&'a PutQueue);

impl Drop for PanicWatch<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.fail();
        }
    }
}

impl Writer {
    /// Writes until the queue is closed.
    pub(super) fn run(mut self, queue: &PutQueue) {
        let _watch = PanicWatch(queue);
        while let Some(group) = queue.take_group() {
            self.write(group);
        }
        tidy_journal(&self.connection);
    }

    fn write(&mut self, group: Group) {
        let Group {
            puts,
            used,
            damaged,
        } = group;
        // A disk that is full stops more than this program.
        let mut bytes = 0;
        let left_free = self.options.left_free;
        let left_free = left_free.map_or_else(LeftFree::default, LeftFree::Bytes);
        let mut has_room = |sealed: &Sealed, labels: &CacheLabels| {
            bytes += entry_bytes(labels, sealed) as u64;
            left_free.check(&self.path, bytes).is_ok()
        };
        let (tickets, ready): (Vec<_>, Vec<_>) = puts
            .into_iter()
            .map(|put| {
                let Put {
                    key,
                    labels,
                    response,
                    ticket,
                } = put;
                let sealed = seal(&key, &response);
                let sealed = sealed.filter(|sealed| self.fits(&labels, sealed));
                let sealed = sealed.filter(|sealed| has_room(sealed, &labels));
                let ready = sealed.map(|sealed| Ready {
                    key,
                    labels,
                    stored_at_ms: response.stored_at_ms,
                    sealed,
                });
                let kept = if ready.is_some() {
                    CommitOutcome::Stored
                } else {
                    CommitOutcome::TooLarge
                };
                ((ticket, kept), ready)
            })
            .unzip();
        let ready: Vec<_> = ready.into_iter().flatten().collect();
        let failure = self.commit(&ready, &used, &damaged).err().map(|error| {
            let error = StoreError::sql("write the cache", &self.path, error);
            Arc::new(WriterFailure::Store(error))
        });
        for (ticket, kept) in tickets {
            ticket.settle(match (&failure, kept) {
                (Some(failure), CommitOutcome::Stored) => Err(Arc::clone(failure)),
                (_, kept) => Ok(kept),
            });
        }
    }

    fn fits(&self, labels: &CacheLabels, sealed: &Sealed) -> bool {
        entry_bytes(labels, sealed) as u64 <= self.options.max_bytes / SHARE
    }

    fn commit(
        &mut self,
        ready: &[Ready],
        used: &HashMap<i64, i64>,
        damaged: &[i64],
    ) -> rusqlite::Result<()> {
        let options = self.options;
        let change = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        for (id, now_ms) in used {
            change.prepare_cached(USE)?.execute((id, now_ms))?;
        }
        for id in damaged {
            change.prepare_cached(DROP)?.execute([id])?;
        }
        let stored = ready.iter().map(|ready| ready.stored_at_ms);
        // The group's own times are the only clock here.
        let now_ms = stored.chain(used.values().copied()).max();
        if let Some(before) = now_ms.and_then(|now_ms| options.expired_before(now_ms)) {
            let mut drop_expired = change.prepare_cached(DROP_EXPIRED)?;
            drop_expired.execute((before, EXPIRED_AT_ONCE))?;
        }
        for ready in ready {
            insert(&change, options.key_version, ready)?;
        }
        make_room(&change, options.max_bytes)?;
        change.commit()
    }
}

fn insert(change: &Connection, key_version: u32, ready: &Ready) -> rusqlite::Result<()> {
    let key = ready.key.as_bytes().as_slice();
    change
        .prepare_cached(DROP_KEY)?
        .execute((key_version, key))?;
    let labels = &ready.labels;
    let entry = (
        key_version,
        key,
        ready.stored_at_ms,
        entry_bytes(labels, &ready.sealed) as i64,
        ready.sealed.plain_bytes as i64,
        &labels.origin,
        &labels.bucket,
        &labels.method,
        &labels.url,
        &ready.sealed.payload,
    );
    change.prepare_cached(INSERT)?.execute(entry).map(drop)
}

/// Drops what was used longest ago, if all together is too much.
fn make_room(change: &Connection, max_bytes: u64) -> rusqlite::Result<()> {
    let total: i64 = change
        .prepare_cached("SELECT bytes FROM totals")?
        .query_row([], |row| row.get(0))?;
    let max_bytes = i64::try_from(max_bytes).unwrap_or(i64::MAX);
    if total <= max_bytes {
        return Ok(());
    }
    let mut excess = total - (max_bytes - max_bytes / SLACK as i64);
    let mut leaving = Vec::new();
    let mut longest_unused = change.prepare_cached(LONGEST_UNUSED)?;
    let mut found = longest_unused.query([])?;
    while excess > 0
        && let Some(row) = found.next()?
    {
        leaving.push(row.get::<_, i64>(0)?);
        excess -= row.get::<_, i64>(1)?;
    }
    drop(found);
    let mut leave = change.prepare_cached(DROP)?;
    leaving
        .iter()
        .try_for_each(|id| leave.execute([id]).map(drop))
}

/// What an entry counts for: about what the file needs for it. SQLite fills whole pages with a
/// long row and shares out the last one, but two of more than half a page don't fit into one.
pub(super) fn entry_bytes(labels: &CacheLabels, sealed: &Sealed) -> usize {
    let page = PAGE_BYTES as usize;
    let row = ENTRY_BYTES + labels.weight() + sealed.payload.len();
    if row % page > page / 2 {
        row.next_multiple_of(page)
    } else {
        row
    }
}

#[cfg(test)]
mod tests;
