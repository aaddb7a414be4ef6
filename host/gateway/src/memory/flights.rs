//! Single flight: equal requests at the same time become one.
//!
//! The request flies in a task of its own, and everyone who asks for it holds a seat. So no
//! caller's timeout, cancellation or end touches the others; when the last seat is given up,
//! the task is stopped and its connection closed.
//!
//! What a flight brings and what makes two requests one is the stack's business (`R` and `L`
//! here). What every caller keeps for itself is its time: a seat tells whether the flight waits or
//! is on the wire, as if the caller had sent the request. The attempts are counted once, for
//! whoever takes the answer first.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared, WeakShared};
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;

/// How a flight ends; `None` when its task panicked.
type Landing<L> = BoxFuture<'static, Option<L>>;

/// The flights that are under way, by their routes.
pub(crate) struct Flights<R, L>(Arc<FlightsState<R, L>>);

struct FlightsState<R, L> {
    flying: Mutex<HashMap<R, Flying<L>>>,
    ids: AtomicU64,
}

struct Flying<L> {
    id: u64,
    landing: WeakShared<Landing<L>>,
    on_wire: watch::Receiver<bool>,
    is_paid: Arc<AtomicBool>,
}

/// One caller's part in a flight.
pub(crate) struct Seat<L> {
    landing: Shared<Landing<L>>,
    on_wire: watch::Receiver<bool>,
    is_paid: Arc<AtomicBool>,
    /// The flight began with this caller.
    leads: bool,
}

impl<R, L> Default for Flights<R, L> {
    fn default() -> Self {
        Self(Arc::new(FlightsState {
            flying: Mutex::default(),
            ids: AtomicU64::new(0),
        }))
    }
}

impl<R: Clone + Eq + Hash + Send + Sync + 'static, L: Clone + Send + Sync + 'static> Flights<R, L> {
    /// A seat in the flight of this route; `request` makes the flight if there is none.
    pub(crate) fn board<F>(
        &self,
        route: &R,
        request: impl FnOnce(watch::Sender<bool>) -> F,
    ) -> Seat<L>
    where
        F: Future<Output = L> + Send + 'static,
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

impl<R, L> FlightsState<R, L> {
    fn lock(&self) -> MutexGuard<'_, HashMap<R, Flying<L>>> {
        self.flying.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Takes the flight off the list when its task ends, however it ends.
struct Leaving<R: Eq + Hash, L> {
    state: Arc<FlightsState<R, L>>,
    route: R,
    id: u64,
}

impl<R: Eq + Hash, L> Drop for Leaving<R, L> {
    fn drop(&mut self) {
        let mut flying = self.state.lock();
        // A flight that nobody waited for may have a successor by now.
        let is_ours = flying.get(&self.route).is_some_and(|it| it.id == self.id);
        let gone = is_ours.then(|| flying.remove(&self.route));
        drop(flying);
        drop(gone);
    }
}

impl<L: Clone> Seat<L> {
    /// Says whether the flight is on the wire rather than waiting.
    pub(crate) fn is_on_wire(&mut self) -> bool {
        *self.on_wire.borrow_and_update()
    }

    /// Waits for the end of the flight; `None` where it goes on the wire or comes back from it
    /// before. Not to be called again after the end.
    pub(crate) async fn landed(&mut self) -> Option<L> {
        let landed = tokio::select! {
            biased;
            // Not a clone of it: whoever flies alone is given the answer, others have copies.
            landed = &mut self.landing => landed,
            Ok(()) = self.on_wire.changed() => return None,
        };
        Some(landed.expect("a flight's task does not panic"))
    }

    /// Whether the attempts of the flight are this caller's: true once.
    pub(crate) fn pays(&self) -> bool {
        !self.is_paid.swap(true, Ordering::Relaxed)
    }

    /// Whether the flight began with this caller.
    pub(crate) fn leads(&self) -> bool {
        self.leads
    }
}

#[cfg(test)]
mod tests;
