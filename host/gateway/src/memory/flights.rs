//! Single flight: equal requests at the same time become one.
//!
//! The request flies in a task of its own, and everyone who asks for it holds a seat. So no
//! caller's timeout, cancellation or end touches the others; when the last seat is given up,
//! the task is stopped and its connection closed.
//!
//! What every caller keeps for itself is its time: while the flight queues for a lane its clock
//! stands still, and while the flight is on the wire it runs, as if the caller had sent the
//! request. The attempts are counted once, for whoever takes the answer first.
//!
//! What makes requests equal here is more than what makes their answers equal in the cache:
//! also the plugin (its grants decide where a redirect may lead), the lane, the time on the
//! wire, the retries and the budgets that pay. A caller never gets less than it would have got alone.

use std::collections::HashMap;
use std::future::Future;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared, WeakShared};
use runner_store::Digest;
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;

use crate::admission::budget::{AccountId, Claim};
use crate::exchange::{Reply, Spent};
use crate::lane::Lane;
use crate::stack::ledger::Ledger;
use crate::wire::bodies::Space;
use crate::wire::class::Class;
use crate::wire::fault::Fault;

/// What makes two requests one flight.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Route {
    pub(crate) key: Digest,
    pub(crate) plugin: String,
    pub(crate) lane: Lane,
    pub(crate) budget: Duration,
    pub(crate) max_retries: Option<u32>,
    /// Whose budgets pay.
    pub(crate) payers: Vec<AccountId>,
}

/// How a flight ended, and what it took.
#[derive(Debug, Clone)]
pub(crate) struct Landed {
    pub(crate) result: Result<Arc<Reply>, Fault>,
    pub(crate) spent: Spent,
    /// What the call of whoever pays still owes; given back if nobody takes it.
    pub(crate) claim: Arc<Mutex<Option<Claim>>>,
    /// That of its answer, for whoever takes it first.
    pub(crate) space: Arc<Mutex<Option<Space>>>,
}

impl Landed {
    pub(crate) fn take_claim(&self) -> Option<Claim> {
        let mut claim = self.claim.lock().unwrap_or_else(PoisonError::into_inner);
        claim.take()
    }

    pub(crate) fn take_space(&self) -> Option<Space> {
        let mut space = self.space.lock().unwrap_or_else(PoisonError::into_inner);
        space.take()
    }

    /// Whether another try might end better.
    fn may_pass(&self) -> bool {
        let class = match &self.result {
            Ok(reply) => reply.class,
            // Of the call that led: another may hold less.
            Err(Fault::CallTooLarge { .. }) => return true,
            Err(fault) => fault.class(),
        };
        matches!(class, Class::Throttled | Class::Transient | Class::Timeout)
    }
}

/// `None` when the flight's task panicked.
type Landing = Shared<BoxFuture<'static, Option<Landed>>>;

/// The flights that are under way.
#[derive(Clone, Default)]
pub(crate) struct Flights(Arc<State>);

#[derive(Default)]
struct State {
    flying: Mutex<HashMap<Route, Flying>>,
    ids: AtomicU64,
}

struct Flying {
    id: u64,
    landing: WeakShared<BoxFuture<'static, Option<Landed>>>,
    on_wire: watch::Receiver<bool>,
    is_paid: Arc<AtomicBool>,
}

/// One caller's part in a flight.
pub(crate) struct Seat {
    landing: Landing,
    on_wire: watch::Receiver<bool>,
    is_paid: Arc<AtomicBool>,
    /// The flight began with this caller.
    leads: bool,
}

impl Flights {
    /// A seat in the flight of this route; `request` makes the flight if there is none.
    pub(crate) fn board<F>(
        &self,
        route: &Route,
        request: impl FnOnce(watch::Sender<bool>) -> F,
    ) -> Seat
    where
        F: Future<Output = Landed> + Send + 'static,
    {
        let mut flying = self.0.lock();
        if let Some(flight) = flying.get(route)
            && let Some(landing) = flight.landing.upgrade()
        {
            return Seat {
                landing,
                on_wire: flight.on_wire.clone(),
                is_paid: Arc::clone(&flight.is_paid),
                leads: false,
            };
        }
        let id = self.0.ids.fetch_add(1, Ordering::Relaxed);
        let (sender, on_wire) = watch::channel(false);
        let entry = Leaving {
            state: Arc::clone(&self.0),
            route: route.clone(),
            id,
        };
        let request = request(sender);
        let task = tokio::spawn(async move {
            let _entry = entry;
            request.await
        });
        let landing = AbortOnDropHandle::new(task)
            .map(Result::ok)
            .boxed()
            .shared();
        let is_paid = Arc::new(AtomicBool::new(false));
        let flight = Flying {
            id,
            landing: landing
                .downgrade()
                .expect("a future that was never polled has not ended"),
            on_wire: on_wire.clone(),
            is_paid: Arc::clone(&is_paid),
        };
        flying.insert(route.clone(), flight);
        Seat {
            landing,
            on_wire,
            is_paid,
            leads: true,
        }
    }

    #[cfg(test)]
    fn under_way(&self) -> usize {
        self.0.lock().len()
    }
}

impl State {
    fn lock(&self) -> MutexGuard<'_, HashMap<Route, Flying>> {
        self.flying.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Takes the flight off the list when its task ends, however it ends.
struct Leaving {
    state: Arc<State>,
    route: Route,
    id: u64,
}

impl Drop for Leaving {
    fn drop(&mut self) {
        let mut flying = self.state.lock();
        // A flight that nobody waited for may have a successor by now.
        let is_ours = flying.get(&self.route).is_some_and(|it| it.id == self.id);
        let gone = is_ours.then(|| flying.remove(&self.route));
        drop(flying);
        drop(gone);
    }
}

impl Seat {
    /// Waits for the end of the flight, on the caller's account.
    pub(crate) async fn landed(&mut self, ledger: &Ledger<'_>) -> Landed {
        loop {
            let on_wire = *self.on_wire.borrow_and_update();
            let (landing, phase) = (self.landing.clone(), &mut self.on_wire);
            let step = async move {
                tokio::select! {
                    biased;
                    landed = landing => Some(landed),
                    Ok(()) = phase.changed() => None,
                }
            };
            let landed = if on_wire {
                ledger.beside(step).await
            } else {
                ledger.waiting(step).await
            };
            if let Some(landed) = landed {
                return landed.expect("a flight's task does not panic");
            }
        }
    }

    /// Whether the attempts of the flight are this caller's: true once.
    pub(crate) fn pays(&self) -> bool {
        !self.is_paid.swap(true, Ordering::Relaxed)
    }

    /// Whether a caller asks once more. A refusal that will stand is everyone's. After one that
    /// may pass, those who only came along have not had a try of their own: they ask again
    /// together, and one of them leads. They do so once, lest many callers of a server that is
    /// down queue up for one try after the other.
    pub(crate) fn tries_again(&self, landed: &Landed) -> bool {
        !self.leads && landed.may_pass()
    }
}

#[cfg(test)]
mod tests;
