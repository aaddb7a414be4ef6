//! The workers of one program.

use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::value::RawValue;
use tokio::sync::Semaphore;

use crate::command::{Program, Supervisor};
use crate::ended::Fault;
use crate::line::CodeFailure;
use crate::worker::{End, TimeoutCause, Worker};

pub use crate::worker::Log;

/// How long a worker whose call has passed its limit may take to say that it is not blocked.
const PATIENCE: Duration = Duration::from_secs(2);

/// How long workers may take to end by themselves: what is left to write is written then.
const FAREWELL: Duration = Duration::from_secs(2);

/// Pause before a worker is started after one that ended in its first call; doubles with each.
const FIRST_PAUSE: Duration = Duration::from_millis(100);

/// Longest such pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// What a call gives: a value, `None` for none, or how the code failed.
pub type Answer = Result<Option<Box<RawValue>>, CodeFailure>;

/// A program and how it is asked.
#[derive(Debug, Clone, Eq)]
pub struct Service {
    /// The program.
    pub program: Program,
    /// Who ends it when the run is gone.
    pub supervisor: Supervisor,
    /// How many may run, one call at a time each; `None`: one, with calls side by side.
    pub workers: Option<usize>,
    /// What its driver is told before the first call, as one JSON text; `null` for nothing.
    pub setup: Arc<str>,
}

/// What a driver is told may be megabytes, and mostly is the same text.
impl PartialEq for Service {
    fn eq(&self, other: &Self) -> bool {
        let Self {
            program,
            supervisor,
            workers,
            setup,
        } = self;
        (program, supervisor, workers) == (&other.program, &other.supervisor, &other.workers)
            && (Arc::ptr_eq(setup, &other.setup) || *setup == other.setup)
    }
}

impl Hash for Service {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.program, &self.supervisor, self.workers).hash(state);
    }
}

/// The workers of one program. They start when they are needed, and end when this is dropped.
///
/// A call that hangs or crashes its worker costs only itself. Where calls run side by side nobody
/// can tell whose doing it was: each of them is made once more, in a worker of its own.
pub struct Workers {
    service: Service,
    slots: Semaphore,
    /// Those without a call; the one with all of them where calls run side by side.
    idle: Mutex<Vec<Arc<Worker>>>,
    /// Held while the shared one starts, so that it starts once.
    starting: tokio::sync::Mutex<()>,
    pauses: Mutex<Pauses>,
}

impl Workers {
    /// None is started yet.
    pub fn new(service: Service) -> Self {
        let slots = service.workers.unwrap_or(Semaphore::MAX_PERMITS);
        Self {
            service,
            slots: Semaphore::new(slots),
            idle: Mutex::default(),
            starting: tokio::sync::Mutex::default(),
            pauses: Mutex::default(),
        }
    }

    /// Makes one call: `call` is one JSON text, for the driver. It may take `limit`, and as long again if
    /// it has to be made alone. Safe to drop: nothing goes on that only this call had started.
    ///
    /// # Errors
    /// There is no answer. That code failed is one.
    pub async fn call(&self, call: &str, limit: Duration, log: Log) -> Result<Answer, Fault> {
        let result = if self.service.workers.is_some() {
            self.one_at_a_time(call, limit, log).await
        } else {
            self.side_by_side(call, limit, log).await
        };
        if result.is_ok() {
            lock(&self.pauses).forget();
        }
        result
    }

    async fn one_at_a_time(&self, call: &str, limit: Duration, log: Log) -> Result<Answer, Fault> {
        let _slot = self.slots.acquire().await.expect("slots are never closed");
        let asked = async {
            let idle = loop {
                let idle = lock(&self.idle).pop();
                // One that has ended meanwhile is nobody's fault.
                if idle.as_ref().is_none_or(|worker| worker.ended().is_none()) {
                    break idle;
                }
            };
            let worker = match idle {
                Some(worker) => worker,
                None => Arc::new(self.start().await?),
            };
            Ok((worker.ask(call, log).await, worker))
        };
        match tokio::time::timeout(limit, asked).await {
            Ok(Ok((End::Said(answer), worker))) => {
                lock(&self.idle).push(worker);
                Ok(answer)
            }
            Ok(Ok((End::Died { fault, .. }, _))) => Err(self.failed(fault)),
            Ok(Err(fault)) => Err(fault),
            Err(_) => Err(self.timed_out(limit)),
        }
    }

    async fn side_by_side(&self, call: &str, limit: Duration, log: Log) -> Result<Answer, Fault> {
        let begun = Instant::now();
        let started = tokio::time::timeout(limit, self.shared()).await;
        let worker = started.map_err(|_| self.timed_out(limit))??;
        let left = limit.saturating_sub(begun.elapsed());
        match tokio::time::timeout(left, worker.ask(call, log.clone())).await {
            Ok(End::Said(answer)) => Ok(answer),
            Ok(End::Died { fault, beside }) => {
                if beside {
                    return self.alone(call, limit, log).await;
                }
                Err(self.failed(fault))
            }
            Err(_) => match worker.passed_limit(PATIENCE).await {
                TimeoutCause::Blocked { beside: true } => self.alone(call, limit, log).await,
                TimeoutCause::Blocked { beside: false } | TimeoutCause::OfItself => {
                    Err(self.timed_out(limit))
                }
            },
        }
    }

    /// Makes the call in a worker of its own, which ends with it.
    async fn alone(&self, call: &str, limit: Duration, log: Log) -> Result<Answer, Fault> {
        let asked = async {
            let worker = self.start().await?;
            match worker.ask(call, log).await {
                End::Said(answer) => Ok(answer),
                End::Died { fault, .. } => Err(fault),
            }
        };
        let result = tokio::time::timeout(limit, asked).await;
        result.unwrap_or_else(|_| Err(self.timed_out(limit)))
    }

    async fn shared(&self) -> Result<Arc<Worker>, Fault> {
        let _starting = self.starting.lock().await;
        let known = lock(&self.idle).first().cloned();
        if let Some(worker) = known.filter(|worker| worker.ended().is_none()) {
            return Ok(worker);
        }
        let worker = Arc::new(self.start().await?);
        *lock(&self.idle) = vec![worker.clone()];
        Ok(worker)
    }

    async fn start(&self) -> Result<Worker, Fault> {
        let pause = lock(&self.pauses).left(Instant::now());
        tokio::time::sleep(pause).await;
        let Service {
            program,
            supervisor,
            setup,
            ..
        } = &self.service;
        let started = Worker::start(supervisor, program, setup).await;
        started.map_err(|fault| self.failed(fault))
    }

    fn failed(&self, fault: Fault) -> Fault {
        lock(&self.pauses).count(Instant::now());
        fault
    }

    fn timed_out(&self, limit: Duration) -> Fault {
        Fault::TimedOut {
            program: self.service.program.shown.clone(),
            limit,
        }
    }

    /// Lets all that are idle end by themselves, a moment long, and ends what is left.
    pub async fn close(&self) {
        let idle = std::mem::take(&mut *lock(&self.idle));
        let mut all = tokio::task::JoinSet::new();
        for worker in idle.into_iter().filter_map(Arc::into_inner) {
            all.spawn(worker.close(FAREWELL));
        }
        all.join_all().await;
    }
}

/// When the next worker may be started: sooner or later by how many have failed in a row.
#[derive(Debug, Default)]
struct Pauses {
    in_a_row: u32,
    until: Option<Instant>,
}

impl Pauses {
    fn count(&mut self, now: Instant) {
        let factor = 1 << self.in_a_row.min(16);
        self.until = Some(now + (FIRST_PAUSE * factor).min(LONGEST_PAUSE));
        self.in_a_row += 1;
    }

    fn forget(&mut self) {
        *self = Self::default();
    }

    fn left(&self, now: Instant) -> Duration {
        self.until
            .map_or(Duration::ZERO, |until| until.saturating_duration_since(now))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_to_a_bound_and_an_answer_ends_them() {
        let mut pauses = Pauses::default();
        let now = Instant::now();
        let after: Vec<u128> = (0..20)
            .map(|_| {
                pauses.count(now);
                pauses.left(now).as_millis()
            })
            .collect();
        assert_eq!(after[..8], [100, 200, 400, 800, 1600, 3200, 6400, 10_000]);
        assert_eq!(after[19], 10_000);
        pauses.forget();
        assert_eq!(pauses.left(now), Duration::ZERO);
    }
}
