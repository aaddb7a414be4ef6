//! The lanes: the scheduler's shell.
//!
//! Who goes when is decided by [`runner_scheduler::Scheduler`], a pure machine without clock
//! and tasks. This shell gives it both and decides nothing: one lock around the machine, one
//! [`LaneTurn`] per exchange that waits for the machine's word, one task that wakes the machine
//! when it wants to be woken.
//!
//! An exchange has one turn for all its attempts: [`wait`](Turn::wait), the attempt,
//! [`finish`](Turn::finish), and on [`Next::Again`] the same turn waits again. It holds no
//! permit meanwhile, and the machine keeps its place in the line. Dropping a turn at any point
//! is the cancellation: the machine forgets the job, and whoever is next may go.
//!
//! - The lock is never held across an await, and verdicts are sent after it is released.
//! - The keeper sleeps until the machine's next time or until that becomes an earlier one. It
//!   is stopped when the lanes are dropped, so no timer outlives a run or keeps one alive.
//! - Should the machine panic (a bug), every waiting turn panics too: each case gets its error
//!   row. A run that waits for ever would be worse.
//!
//! What other programs on this machine use of the same quotas is heard and told by `together`, a thread.
//!
//! Why no semaphore per lane: its permits can't be taken back when a window shrinks, it knows
//! neither pace nor retries, and a place in its line is lost with every refused attempt.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use runner_scheduler::{
    Class, Demand, End, Hint, JobId, LaneId, NextStep, QuotaUse, Refusal, Time,
};
use tokio::sync::{Notify, oneshot};
use tokio::task::AbortHandle;

use self::book::{Book, Verdict};
use self::epoch::Epoch;
use self::together::QuotaThread;
use crate::admission::scheduling::Scheduling;
use crate::lane::Lane;
use crate::observer::Observer;
use crate::policy::masker::Masker;

mod book;
mod epoch;
mod summary;
mod together;

pub use summary::{LaneLoad, LaneSummary};
pub use together::QuotaPlace;

/// All lanes of a gateway.
pub(crate) struct Lanes {
    shared: Arc<Shared>,
    together: Option<QuotaThread>,
    keeper: OnceLock<Keeper>,
}

/// What an exchange brings to its lane.
pub(crate) struct Entrant<'a> {
    pub(crate) lane: &'a Lane,
    /// Who sends it.
    pub(crate) plugin: &'a str,
    pub(crate) scheduling: &'a Scheduling,
    /// Estimate for one attempt.
    pub(crate) cost: QuotaUse,
    /// Takes secrets out of the lane's name.
    pub(crate) masker: &'a Masker,
}

impl Lanes {
    /// No lane yet. Time is counted from now.
    pub(crate) fn new(seed: u64, observer: Arc<dyn Observer>, quotas: Option<QuotaPlace>) -> Self {
        let mut book = Book::new(seed);
        book.scheduler.set_clock(Epoch::minute());
        let shared = Arc::new(Shared {
            book: Mutex::new(book),
            epoch: Epoch::begin(),
            sooner: Notify::new(),
            observer,
        });
        let together = quotas.map(|place| QuotaThread::start(place, &shared));
        shared.lock().commons = together.as_ref().and_then(QuotaThread::commons);
        Self {
            shared,
            together,
            keeper: OnceLock::new(),
        }
    }

    /// Takes a place in the line of a lane. Must be called within a tokio runtime.
    pub(crate) fn enter(&self, entrant: &Entrant<'_>) -> LaneTurn<'_> {
        self.keeper.get_or_init(|| Keeper::start(&self.shared));
        let (lane, job, verdict) = self.shared.with(|book, now| {
            let policy = entrant.scheduling.policy;
            let lane = book.lane(entrant.lane, entrant.plugin, policy, entrant.masker);
            let demand = Demand {
                cost: entrant.cost,
                max_retries: entrant.scheduling.max_retries,
                limits: book.limits(now, &entrant.scheduling.limits, entrant.lane),
            };
            let job = book.scheduler.offer(now, lane, demand);
            (lane, job, book.expect_verdict(lane, job))
        });
        LaneTurn {
            shared: &self.shared,
            lane,
            job,
            stage: Stage::Queued(verdict),
        }
    }

    /// Lets no attempt go any more: every turn that waits, and every one that would have to,
    /// ends as [`Refusal::Draining`]. Turns on the wire end as they end.
    pub(crate) fn drain(&self) {
        // A machine that has panicked lets nothing go either.
        if !self.shared.book.is_poisoned() {
            self.shared.with(|book, now| book.scheduler.drain(now));
        }
    }

    /// What each lane has done so far, by name.
    pub(crate) fn summaries(&self) -> Vec<LaneSummary> {
        self.look().summaries()
    }

    /// What the lanes have to do now that were opened first, at most `most`.
    pub(crate) fn loads(&self, most: usize) -> Vec<LaneLoad> {
        self.look().loads(most)
    }

    /// Also after a panic of the machine: a bug must not cost the run its end.
    fn look(&self) -> MutexGuard<'_, Book> {
        let book = self.shared.book.lock();
        book.unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Lanes {
    fn drop(&mut self) {
        // The thread ends when nobody can tell it anything any more.
        let book = self.shared.book.lock();
        book.unwrap_or_else(PoisonError::into_inner).commons = None;
        if let Some(together) = &mut self.together {
            together.end();
        }
    }
}

/// One exchange's place in a lane, from its first attempt to its end.
pub(crate) struct LaneTurn<'a> {
    shared: &'a Shared,
    lane: LaneId,
    job: JobId,
    stage: Stage,
}

#[derive(Debug)]
enum Stage {
    /// In the line, or in the pause before a retry.
    Queued(oneshot::Receiver<Verdict>),
    /// An attempt is on the wire.
    OnWire,
    /// The machine knows the job no more.
    Over,
}

impl LaneTurn<'_> {
    /// What people call its lane.
    pub(crate) fn lane_name(&self) -> Arc<str> {
        self.shared.lock().name(self.lane)
    }

    /// Waits until an attempt may go on the wire. Dropping the future keeps the place in the
    /// line; dropping the turn gives it up.
    ///
    /// # Panics
    /// If the machine has panicked, or the turn is not waiting.
    pub(crate) async fn wait(&mut self) -> Result<(), Refusal> {
        let Stage::Queued(verdict) = &mut self.stage else {
            panic!("a turn waits before each attempt and not during one");
        };
        let verdict = verdict
            .await
            .expect("the machine answers every turn, unless it has panicked");
        self.stage = match verdict {
            Ok(()) => Stage::OnWire,
            Err(_) => Stage::Over,
        };
        verdict
    }

    /// Takes in that the attempt has ended. On [`Next::Again`] the turn waits for another one.
    ///
    /// # Panics
    /// If no attempt is on the wire.
    pub(crate) fn finish(
        &mut self,
        class: Class,
        hint: &Hint,
        usage: Option<QuotaUse>,
    ) -> NextStep {
        assert!(
            matches!(self.stage, Stage::OnWire),
            "only an attempt that began can end"
        );
        let (lane, job) = (self.lane, self.job);
        let (next, stage) = self.shared.with(|book, now| {
            let end = End { class, hint, usage };
            let next = book.scheduler.finish(now, job, &end);
            let stage = match next {
                NextStep::Return | NextStep::TooLong(_) => Stage::Over,
                NextStep::Again { .. } => Stage::Queued(book.expect_verdict(lane, job)),
            };
            (next, stage)
        });
        self.stage = stage;
        next
    }
}

impl Drop for LaneTurn<'_> {
    fn drop(&mut self) {
        // A machine that has panicked has nothing left to tidy up.
        if !matches!(self.stage, Stage::Over) && !self.shared.book.is_poisoned() {
            self.shared.with(|book, now| book.cancel(now, self.job));
        }
    }
}

/// What turns and keeper share.
struct Shared {
    book: Mutex<Book>,
    epoch: Epoch,
    /// The machine wants to be woken sooner than the keeper knows.
    sooner: Notify,
    observer: Arc<dyn Observer>,
}

impl Shared {
    /// Does something to the machine and carries out what follows from it.
    fn with<T>(&self, act: impl FnOnce(&mut Book, Time) -> T) -> T {
        let mut book = Grip(self.lock(), Intact::No);
        // Read under the lock, so that the machine's time never goes back.
        let now = self.epoch.now();
        let result = act(&mut book.0, now);
        let verdicts = book.0.settle(now);
        book.0.look(now);
        book.0.tell(&self.epoch, &*self.observer);
        let sooner = book.0.rearm();
        book.1 = Intact::Yes;
        drop(book);
        for (turn, verdict) in verdicts {
            // A turn that was dropped meanwhile has cancelled its job itself.
            drop(turn.send(verdict));
        }
        if sooner {
            self.sooner.notify_one();
        }
        result
    }

    /// Does something to the machine from which nothing follows; `None`: the machine has panicked.
    fn quietly<T>(&self, act: impl FnOnce(&mut Book, Time) -> T) -> Option<T> {
        let mut book = Grip(self.book.lock().ok()?, Intact::No);
        let result = act(&mut book.0, self.epoch.now());
        book.1 = Intact::Yes;
        Some(result)
    }

    fn lock(&self) -> MutexGuard<'_, Book> {
        self.book.lock().expect("the machine has not panicked")
    }
}

/// The lock, in hands that may panic: then every waiting turn learns of it.
struct Grip<'a>(MutexGuard<'a, Book>, Intact);

#[derive(PartialEq)]
enum Intact {
    Yes,
    No,
}

impl Drop for Grip<'_> {
    fn drop(&mut self) {
        if self.1 == Intact::No {
            self.0.abandon();
        }
    }
}

/// The task that wakes the machine; stopped on drop.
struct Keeper(AbortHandle);

impl Keeper {
    fn start(shared: &Arc<Shared>) -> Self {
        Self(tokio::spawn(keep(Arc::clone(shared))).abort_handle())
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn keep(shared: Arc<Shared>) {
    loop {
        shared.with(|_, _| ());
        // What changes from here on is compared with this alarm, so none is missed.
        let alarm = shared.lock().arm();
        let changed = shared.sooner.notified();
        match alarm {
            Some(at) => tokio::select! {
                () = changed => {}
                () = shared.epoch.reached(at) => {}
            },
            None => changed.await,
        }
    }
}

#[cfg(test)]
mod tests;
