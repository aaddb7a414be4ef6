//! Changes on their way to the one thread that writes the cache.
//!
//! Responses wake the writer at once, since somebody waits for each of them; while one group is
//! being committed the next one gathers by itself. That an entry was used, and that one is
//! damaged, can wait for the next group that is written anyway, so that reads don't become
//! writes.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::commit::{Commit, Ticket, pair};
use super::{CacheLabels, CachedResponse};
use crate::digest::Digest;
use crate::error::WriterFailure;

/// Responses in one transaction at most; the gain of a group ends far below.
const GROUP_ENTRIES: usize = 256;

/// Bytes of responses in one transaction at about most, before compression: a bound for what is
/// compressed before the first of them is confirmed. A larger one is a group by itself.
const GROUP_BYTES: usize = 16 << 20;

/// Notes that are written without a response to go with.
const NOTES: usize = 4096;

/// One response on its way.
#[derive(Debug)]
pub(super) struct Put {
    pub(super) key: Digest,
    pub(super) labels: CacheLabels,
    pub(super) response: CachedResponse,
    pub(super) ticket: Ticket,
}

/// What one transaction writes.
#[derive(Debug, Default)]
pub(super) struct Group {
    pub(super) puts: Vec<Put>,
    /// Which entries were used, and when last (milliseconds since 1970).
    pub(super) used: HashMap<i64, i64>,
    /// Which entries can't be read.
    pub(super) damaged: Vec<i64>,
}

impl Group {
    fn is_empty(&self) -> bool {
        self.puts.is_empty() && self.notes() == 0
    }

    fn notes(&self) -> usize {
        self.used.len() + self.damaged.len()
    }
}

/// What waits for the writer.
#[derive(Debug, Default)]
pub(super) struct PutQueue {
    state: Mutex<PutQueueState>,
    arrived: Condvar,
}

#[derive(Debug, Default)]
struct PutQueueState {
    waiting: Group,
    closed: bool,
    failure: Option<Arc<WriterFailure>>,
}

impl PutQueue {
    /// Hands over a response. Never waits: who pushes waits for the commit, so there are never
    /// more responses here than exchanges under way.
    pub(super) fn put(&self, key: Digest, labels: CacheLabels, response: CachedResponse) -> Commit {
        let (ticket, commit) = pair();
        let mut state = self.lock();
        if let Some(failure) = state.failure.clone() {
            drop(state);
            ticket.settle(Err(failure));
            return commit;
        }
        state.waiting.puts.push(Put {
            key,
            labels,
            response,
            ticket,
        });
        drop(state);
        self.arrived.notify_one();
        commit
    }

    /// Notes that an entry was used.
    pub(super) fn used(&self, id: i64, now_ms: i64) {
        let mut state = self.lock();
        let last = state.waiting.used.entry(id).or_insert(now_ms);
        *last = now_ms.max(*last);
        if state.waiting.notes() >= NOTES {
            self.arrived.notify_one();
        }
    }

    /// Notes that an entry can't be read.
    pub(super) fn damaged(&self, id: i64) {
        self.lock().waiting.damaged.push(id);
    }

    /// Says that nothing will follow.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.arrived.notify_one();
    }

    /// The next group; `None` when there will be none. For the writer.
    pub(super) fn take_group(&self) -> Option<Group> {
        let state = self.lock();
        let mut state = self
            .arrived
            .wait_while(state, |state| {
                state.waiting.puts.is_empty() && state.waiting.notes() < NOTES && !state.closed
            })
            .unwrap_or_else(PoisonError::into_inner);
        let mut group = std::mem::take(&mut state.waiting);
        let fitting = fitting(&group.puts);
        state.waiting.puts = group.puts.split_off(fitting);
        (!group.is_empty()).then_some(group)
    }

    /// Ends the queue; nothing more will be written: the writer has panicked.
    pub(super) fn fail(&self) {
        let mut state = self.lock();
        state.failure = Some(Arc::new(WriterFailure::Panicked));
        let lost = std::mem::take(&mut state.waiting);
        drop(state);
        // Their tickets say what happened.
        drop(lost);
    }

    /// No code that holds the lock leaves the state half changed, so a poisoned one is whole.
    fn lock(&self) -> MutexGuard<'_, PutQueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How many of these, from the first on, make a group.
fn fitting(puts: &[Put]) -> usize {
    let mut bytes = 0;
    let more = puts.iter().take(GROUP_ENTRIES).take_while(|put| {
        let first = bytes == 0;
        bytes += put.response.body.len().max(1);
        first || bytes <= GROUP_BYTES
    });
    more.count()
}

#[cfg(test)]
mod tests;
