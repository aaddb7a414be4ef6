//! The answer to a `put`: not yet on disk, on disk, or failed.
//!
//! It is a plain [`Future`] and has a blocking `wait` besides, so that an evaluation awaits it
//! without blocking a thread of its runtime, and this crate needs to know no runtime. A channel
//! of some runtime would do the first only.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use crate::error::{StoreError, WriterFailure};

/// What became of a response that was handed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommitOutcome {
    /// It is on disk: the process may be killed now.
    Stored,
    /// It takes more than an entry may, or than the disk has room for: it was not kept, and what was
    /// there for its key stays.
    TooLarge,
}

type Verdict = Result<CommitOutcome, Arc<WriterFailure>>;

/// A `put` on its way to the disk. Dropping it takes nothing back.
#[derive(Debug)]
#[must_use = "a response is safe only once its commit has said so"]
pub struct Commit {
    slot: Arc<Slot>,
}

impl Commit {
    /// Blocks until the response is on disk.
    ///
    /// # Errors
    /// [`StoreError::Caching`] when it could not be written.
    pub fn wait(self) -> Result<CommitOutcome, StoreError> {
        let state = self.slot.lock();
        let state = self
            .slot
            .settled
            .wait_while(state, |state| state.verdict.is_none())
            .unwrap_or_else(PoisonError::into_inner);
        state
            .verdict
            .clone()
            .expect("the wait ends with a verdict")
            .map_err(failed)
    }
}

impl Future for Commit {
    type Output = Result<CommitOutcome, StoreError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.slot.lock();
        if let Some(verdict) = state.verdict.clone() {
            return Poll::Ready(verdict.map_err(failed));
        }
        state.waker = Some(context.waker().clone());
        Poll::Pending
    }
}

fn failed(source: Arc<WriterFailure>) -> StoreError {
    StoreError::Caching { source }
}

/// The writer's side. Dropped without a verdict, which only a panic does, it says so.
#[derive(Debug)]
pub(super) struct Ticket {
    slot: Arc<Slot>,
}

impl Ticket {
    /// Says what became of the response, once.
    pub(super) fn settle(self, verdict: Verdict) {
        self.slot.settle(verdict);
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.slot.settle(Err(Arc::new(WriterFailure::Panicked)));
    }
}

/// Both sides of one `put`.
pub(super) fn pair() -> (Ticket, Commit) {
    let slot = Arc::new(Slot::default());
    let ticket = Ticket {
        slot: Arc::clone(&slot),
    };
    (ticket, Commit { slot })
}

#[derive(Debug, Default)]
struct Slot {
    state: Mutex<SlotState>,
    settled: Condvar,
}

#[derive(Debug, Default)]
struct SlotState {
    verdict: Option<Verdict>,
    waker: Option<Waker>,
}

impl Slot {
    /// Settles the commit; the first verdict holds.
    fn settle(&self, verdict: Verdict) {
        let mut state = self.lock();
        if state.verdict.is_some() {
            return;
        }
        state.verdict = Some(verdict);
        let waker = state.waker.take();
        drop(state);
        self.settled.notify_all();
        // Outside the lock: it may run the one who waits right here.
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn lock(&self) -> MutexGuard<'_, SlotState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
