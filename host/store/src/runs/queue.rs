//! Rows on their way from those who push to the one thread that writes.
//!
//! One group is collected here while the one before it is being committed; who pushes more
//! waits. So memory is bounded, and so is what a killed process can lose: [`MAX_UNSAVED`] rows,
//! one group on its way to the disk and one in here. A channel would do the same with one wake-up per row; this wakes
//! the writer twice per group, and the counts, the failure and the rows change under one lock,
//! so they can't contradict each other.
//!
//! Who may not block asks with [`Queue::try_push`] and is woken when there is room.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use super::lanes::LaneMoment;
use super::{Row, RunEnd};
use crate::error::WriterFailure;

/// Rows that were taken and are not on disk, at most: what a killed process may lose of the
/// results that it had reported.
pub(super) const MAX_UNSAVED: usize = 256;

/// Rows in one transaction at most; half of what may be lost, since the next group is collected
/// while one is on its way. Measured with a log: the CPU time of a row falls from 40 µs alone to
/// 10 µs in groups of 64, and no further. A rollback journal gains beyond that.
pub(super) const GROUP_ROWS: usize = MAX_UNSAVED / 2;

/// Bytes in one transaction at about most: a bound for records of a megabyte each. A row that
/// is larger by itself is a group by itself.
const GROUP_BYTES: usize = 16 << 20;

/// How long the first row of a group waits for company.
const GROUP_TIME: Duration = Duration::from_millis(20);

/// How many rows came and how many are on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) pushed: u64,
    pub(super) committed: u64,
}

/// Why a row was not taken.
pub(super) type Failure = Arc<WriterFailure>;

/// The rows that wait, and what became of those before them.
#[derive(Debug, Default)]
pub(super) struct Queue {
    state: Mutex<State>,
    /// Wakes the writer: the first row, a full group, or somebody in a hurry.
    arrived: Condvar,
    /// Wakes those who push or flush: a group was taken, committed, or the writer failed. Those
    /// who poll are in `State::wakers`.
    moved: Condvar,
}

/// Why a row was not taken at once.
#[derive(Debug)]
pub(super) enum Refused {
    /// A whole group is ahead of it: the row, to be handed over when there is room.
    Full(Box<Row>),
    /// The writer has failed.
    Failed(Failure),
}

#[derive(Debug, Default)]
struct State {
    rows: Vec<Row>,
    weight: usize,
    pushed: u64,
    committed: u64,
    hurry: bool,
    closed: bool,
    end: Option<RunEnd>,
    /// How the lanes stood last, unless that was taken.
    moment: Option<LaneMoment>,
    failure: Option<Failure>,
    /// The writer has ended.
    done: bool,
    wakers: Vec<Waker>,
}

impl State {
    fn has_room_for(&self, row: &Row) -> bool {
        self.rows.is_empty()
            || (self.rows.len() < GROUP_ROWS && self.weight + row.weight() <= GROUP_BYTES)
    }

    fn is_due(&self) -> bool {
        self.closed || self.hurry || self.rows.len() >= GROUP_ROWS
    }

    fn check(&self) -> Result<(), Failure> {
        self.failure.clone().map_or(Ok(()), Err)
    }
}

impl Queue {
    /// Adds a row; waits while a whole group is ahead of it.
    pub(super) fn push(&self, row: Row) -> Result<(), Failure> {
        let mut state = self.lock();
        while state.failure.is_none() && !state.has_room_for(&row) {
            self.hurry(&mut state);
            state = self.wait(state);
        }
        self.add(state, row)
    }

    /// Adds a row unless a whole group is ahead of it.
    pub(super) fn try_push(&self, row: Row) -> Result<(), Refused> {
        let mut state = self.lock();
        if state.failure.is_none() && !state.has_room_for(&row) {
            self.hurry(&mut state);
            return Err(Refused::Full(Box::new(row)));
        }
        self.add(state, row).map_err(Refused::Failed)
    }

    /// Ready when [`Queue::try_push`] takes any row, or the writer has failed.
    pub(super) fn poll_room(&self, context: &mut Context<'_>) -> Poll<()> {
        self.poll(context, |state| {
            state.rows.is_empty() || state.failure.is_some()
        })
    }

    /// Ready when the writer has ended.
    pub(super) fn poll_done(&self, context: &mut Context<'_>) -> Poll<()> {
        self.poll(context, |state| state.done)
    }

    fn poll(&self, context: &mut Context<'_>, is_ready: impl Fn(&State) -> bool) -> Poll<()> {
        let mut state = self.lock();
        if is_ready(&state) {
            return Poll::Ready(());
        }
        if !state.wakers.iter().any(|it| it.will_wake(context.waker())) {
            state.wakers.push(context.waker().clone());
        }
        Poll::Pending
    }

    fn add(&self, mut state: MutexGuard<'_, State>, row: Row) -> Result<(), Failure> {
        state.pushed += 1;
        state.check()?;
        state.weight += row.weight();
        state.rows.push(row);
        if state.rows.len() == 1 || state.rows.len() == GROUP_ROWS {
            self.arrived.notify_one();
        }
        Ok(())
    }

    /// Asks the writer to take what there is.
    fn hurry(&self, state: &mut State) {
        state.hurry = true;
        self.arrived.notify_one();
    }

    /// Wakes everybody who waits for the writer.
    fn moved(&self, mut state: MutexGuard<'_, State>) {
        let wakers = std::mem::take(&mut state.wakers);
        drop(state);
        self.moved.notify_all();
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Waits until everything that was pushed before is on disk.
    pub(super) fn flush(&self) -> Result<(), Failure> {
        let mut state = self.lock();
        let target = state.pushed;
        while state.failure.is_none() && state.committed < target {
            self.hurry(&mut state);
            state = self.wait(state);
        }
        state.check()
    }

    /// Says that no rows will follow.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.arrived.notify_one();
    }

    /// Says that no rows will follow, and how the run ended.
    pub(super) fn end(&self, end: RunEnd) {
        self.lock().end = Some(end);
        self.close();
    }

    /// How far it got.
    pub(super) fn counts(&self) -> Counts {
        let state = self.lock();
        Counts {
            pushed: state.pushed,
            committed: state.committed,
        }
    }

    /// Reports what stopped the writer, if anything did.
    pub(super) fn check(&self) -> Result<(), Failure> {
        self.lock().check()
    }

    /// Says how the lanes stand, in place of what was said before and not taken.
    pub(super) fn note(&self, moment: LaneMoment) {
        self.lock().moment = Some(moment);
        self.arrived.notify_one();
    }

    /// How the lanes stood, if that was said since it was taken. For the writer.
    pub(super) fn take_moment(&self) -> Option<LaneMoment> {
        self.lock().moment.take()
    }

    /// The next group, which is empty where only the lanes are to be noted; `None` when there will be
    /// none. For the writer.
    pub(super) fn take_group(&self) -> Option<Vec<Row>> {
        let state = self.lock();
        let state = self
            .arrived
            .wait_while(state, |state| {
                state.rows.is_empty() && state.moment.is_none() && !state.closed
            })
            .unwrap_or_else(PoisonError::into_inner);
        let (mut state, _) = self
            .arrived
            .wait_timeout_while(state, GROUP_TIME, |state| !state.is_due())
            .unwrap_or_else(PoisonError::into_inner);
        state.hurry = false;
        state.weight = 0;
        let group = std::mem::take(&mut state.rows);
        let is_something = !group.is_empty() || state.moment.is_some();
        self.moved(state);
        is_something.then_some(group)
    }

    /// How the run ended, once the rows are through. For the writer.
    pub(super) fn take_end(&self) -> Option<RunEnd> {
        self.lock().end.take()
    }

    /// Takes in that so many more rows are on disk. For the writer.
    pub(super) fn commit(&self, rows: u64) {
        let mut state = self.lock();
        state.committed += rows;
        self.moved(state);
    }

    /// Takes in that nothing more will be written. For the writer.
    pub(super) fn fail(&self, failure: WriterFailure) {
        let mut state = self.lock();
        state.failure = Some(Arc::new(failure));
        self.moved(state);
    }

    /// Takes in that the writer has ended, in whatever way. For the writer.
    pub(super) fn done(&self) {
        let mut state = self.lock();
        state.done = true;
        self.moved(state);
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.moved
            .wait(state)
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// No code that holds the lock leaves the state half changed, so a poisoned one is whole.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
