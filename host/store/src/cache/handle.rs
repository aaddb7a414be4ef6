//! The way to `cache.db`: opens it, looks up, takes responses.
//!
//! A file that is none of ours, is newer, or is damaged in its beginnings is refused and not
//! touched. It is not set aside to begin a new one: another process may have it open, and a SQLite
//! file that is renamed under a writer loses what is written; and a cache that is empty for no
//! visible reason costs money in silence. The error says which file to delete.

use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use super::commit::Commit;
use super::queue::PutQueue;
use super::reader::{FoundEntry, Reader};
use super::schema::CACHE;
use super::writer::Writer;
use super::{CacheLabels, CacheOptions, CachedResponse};
use crate::database::{Database, Purpose};
use crate::digest::Digest;
use crate::error::StoreError;

/// Readers that are kept for later: as many lookups as one machine does at once.
const IDLE_READERS: usize = 16;

/// What happened since the cache was opened by this process. Nothing of it is kept: a file that
/// remembers hits writes on every one of them, and a run's own summary says what it hit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CacheCounts {
    /// Lookups that found an answer.
    pub hits: u64,
    /// Lookups that found none, for whatever reason.
    pub misses: u64,
    /// Of the misses, those where an entry or the file could not be read.
    pub unreadable: u64,
}

/// The response cache. Cheap to clone; the last clone that is dropped waits until everything that
/// was handed over is written.
#[derive(Clone)]
pub struct Cache {
    shared: Arc<Shared>,
}

impl fmt::Debug for Cache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cache")
            .field("path", &self.path())
            .field("options", &self.shared.options)
            .finish_non_exhaustive()
    }
}

struct Shared {
    database: Database,
    options: CacheOptions,
    queue: Arc<PutQueue>,
    readers: Mutex<Vec<Reader>>,
    hits: AtomicU64,
    misses: AtomicU64,
    unreadable: AtomicU64,
    thread: Option<JoinHandle<()>>,
}

impl Cache {
    /// Opens the file, creating it and its folders (for the user alone) if need be, and brings it
    /// to the current format.
    ///
    /// # Errors
    /// As for [`Store::open`](crate::Store::open), and [`StoreError::Damaged`]. In every case the
    /// file is as it was, and deleting it loses no result.
    pub fn open(path: &Path, options: CacheOptions) -> Result<Self, StoreError> {
        let database = Database::open(path, options.open, &CACHE)?;
        let queue = Arc::new(PutQueue::default());
        let writer = Writer {
            connection: database.connect(Purpose::Write)?,
            path: path.into(),
            options,
        };
        let theirs = Arc::clone(&queue);
        let thread = std::thread::Builder::new()
            .name("runner-cache".to_owned())
            .spawn(move || writer.run(&theirs))
            .map_err(|source| StoreError::NoThread { source })?;
        let shared = Shared {
            database,
            options,
            queue,
            readers: Mutex::default(),
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
            unreadable: AtomicU64::new(0),
            thread: Some(thread),
        };
        Ok(Self {
            shared: Arc::new(shared),
        })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        self.shared.database.path()
    }

    /// What the cache has for a request, unless it is too old at `now_ms` (milliseconds since
    /// 1970). Blocks for some tens of microseconds, or for as long as the disk takes.
    ///
    /// Whatever can't be read is a miss: an entry that is damaged is dropped, and a file that is
    /// damaged gives nothing.
    pub fn get(&self, key: &Digest, now_ms: i64) -> Option<CachedResponse> {
        let shared = &*self.shared;
        let response = match self.look_up(key, now_ms) {
            Some(FoundEntry::Hit {
                response,
                stale_use,
            }) => {
                if let Some(id) = stale_use {
                    shared.queue.used(id, now_ms);
                }
                Some(response)
            }
            Some(FoundEntry::Nothing) => None,
            Some(FoundEntry::Damaged(id)) => {
                shared.queue.damaged(id);
                count(&shared.unreadable);
                None
            }
            None => {
                count(&shared.unreadable);
                None
            }
        };
        count(if response.is_some() {
            &shared.hits
        } else {
            &shared.misses
        });
        response
    }

    /// Hands over a response, replacing what was there for its key. Never blocks. It is safe once
    /// the [`Commit`] says so; a process that is killed after that finds it again.
    pub fn put(&self, key: Digest, labels: CacheLabels, response: CachedResponse) -> Commit {
        self.shared.queue.put(key, labels, response)
    }

    /// What happened since it was opened, by this handle and its clones.
    pub fn counts(&self) -> CacheCounts {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        CacheCounts {
            hits: read(&self.shared.hits),
            misses: read(&self.shared.misses),
            unreadable: read(&self.shared.unreadable),
        }
    }

    pub(crate) fn database(&self) -> &Database {
        &self.shared.database
    }

    pub(super) fn options(&self) -> &CacheOptions {
        &self.shared.options
    }

    /// `None` when the file can't be read. A reader that failed is not used again.
    fn look_up(&self, key: &Digest, now_ms: i64) -> Option<FoundEntry> {
        let shared = &*self.shared;
        let idle = shared.readers().pop();
        let reader = match idle {
            Some(reader) => reader,
            None => Reader::new(shared.database.connect(Purpose::Read).ok()?),
        };
        let found = reader.look_up(&shared.options, key, now_ms).ok()?;
        let mut readers = shared.readers();
        if readers.len() < IDLE_READERS {
            readers.push(reader);
        }
        Some(found)
    }
}

impl Shared {
    fn readers(&self) -> std::sync::MutexGuard<'_, Vec<Reader>> {
        self.readers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // Before the writer empties the journal: readers would be in the way.
        self.readers().clear();
        self.queue.close();
        if let Some(thread) = self.thread.take() {
            // A panic was told to those who waited.
            drop(thread.join());
        }
    }
}

fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

#[cfg(test)]
mod tests;
