//! Equal requests at the same time become one (*single flight*).
//!
//! The request runs in a task of its own, and everyone who asks for it holds a share. So no
//! caller's timeout, cancellation or end touches the others; when the last share is given up,
//! the task is stopped and its connection closed.
//!
//! What such a request brings and what makes two requests one is the stack's business (`E` and `K`
//! here). What every caller keeps for itself is its time: a share tells whether the request waits or
//! is on the wire, as if the caller had sent it alone. The attempts are counted once, for
//! whoever takes the answer first.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared, WeakShared};
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;

/// How a shared request ends; `None` when its task panicked.
type EndOf<E> = BoxFuture<'static, Option<E>>;

/// The requests that are under way, by what makes them one.
pub(crate) struct SharedRequests<K, E>(Arc<UnderWay<K, E>>);

struct UnderWay<K, E> {
    by_key: Mutex<HashMap<K, SharedRequest<E>>>,
    ids: AtomicU64,
}

struct SharedRequest<E> {
    id: u64,
    end: WeakShared<EndOf<E>>,
    on_wire: watch::Receiver<bool>,
    is_paid: Arc<AtomicBool>,
}

/// One caller's part in a shared request.
pub(crate) struct Share<E> {
    end: Shared<EndOf<E>>,
    on_wire: watch::Receiver<bool>,
    is_paid: Arc<AtomicBool>,
    /// The request began with this caller.
    leads: bool,
}

impl<K, E> Default for SharedRequests<K, E> {
    fn default() -> Self {
        Self(Arc::new(UnderWay {
            by_key: Mutex::default(),
            ids: AtomicU64::new(0),
        }))
    }
}

impl<K: Clone + Eq + Hash + Send + Sync + 'static, E: Clone + Send + Sync + 'static>
    SharedRequests<K, E>
{
    /// A share in the request of this key; `request` makes it if there is none.
    pub(crate) fn join<F>(
        &self,
        key: &K,
        request: impl FnOnce(watch::Sender<bool>) -> F,
    ) -> Share<E>
    where
        F: Future<Output = E> + Send + 'static,
    {
        let mut by_key = self.0.lock();
        if let Some(request) = by_key.get(key)
            && let Some(end) = request.end.upgrade()
        {
            return Share {
                end,
                on_wire: request.on_wire.clone(),
                is_paid: Arc::clone(&request.is_paid),
                leads: false,
            };
        }
        let id = self.0.ids.fetch_add(1, Ordering::Relaxed);
        let (sender, on_wire) = watch::channel(false);
        let entry = Leaving {
            state: Arc::clone(&self.0),
            key: key.clone(),
            id,
        };
        let request = request(sender);
        let task = tokio::spawn(async move {
            let _entry = entry;
            request.await
        });
        let end = AbortOnDropHandle::new(task)
            .map(Result::ok)
            .boxed()
            .shared();
        let is_paid = Arc::new(AtomicBool::new(false));
        let shared = SharedRequest {
            id,
            end: end
                .downgrade()
                .expect("a future that was never polled has not ended"),
            on_wire: on_wire.clone(),
            is_paid: Arc::clone(&is_paid),
        };
        by_key.insert(key.clone(), shared);
        Share {
            end,
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

impl<K, E> UnderWay<K, E> {
    fn lock(&self) -> MutexGuard<'_, HashMap<K, SharedRequest<E>>> {
        self.by_key.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Takes the request off the list when its task ends, however it ends.
struct Leaving<K: Eq + Hash, E> {
    state: Arc<UnderWay<K, E>>,
    key: K,
    id: u64,
}

impl<K: Eq + Hash, E> Drop for Leaving<K, E> {
    fn drop(&mut self) {
        let mut by_key = self.state.lock();
        // One that nobody waited for may have a successor by now.
        let is_ours = by_key.get(&self.key).is_some_and(|it| it.id == self.id);
        let gone = is_ours.then(|| by_key.remove(&self.key));
        drop(by_key);
        drop(gone);
    }
}

impl<E: Clone> Share<E> {
    /// Says whether the request is on the wire rather than waiting.
    pub(crate) fn is_on_wire(&mut self) -> bool {
        *self.on_wire.borrow_and_update()
    }

    /// Waits for the end of the request; `None` where it goes on the wire or comes back from it
    /// before. Not to be called again after the end.
    pub(crate) async fn answered(&mut self) -> Option<E> {
        let answered = tokio::select! {
            biased;
            // Not a clone of it: who has no companions is given the answer, others have copies.
            answered = &mut self.end => answered,
            Ok(()) = self.on_wire.changed() => return None,
        };
        Some(answered.expect("the task of a request does not panic"))
    }

    /// Whether the attempts of the request are this caller's: true once.
    pub(crate) fn pays(&self) -> bool {
        !self.is_paid.swap(true, Ordering::Relaxed)
    }

    /// Whether the request began with this caller.
    pub(crate) fn leads(&self) -> bool {
        self.leads
    }
}

#[cfg(test)]
mod tests;
