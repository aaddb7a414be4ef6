//! Turns to make what a case consists of.
//!
//! What a case has made counts once memory is reserved for it, and it may wait for its provider's share there. So
//! few cases are in between, and of those of one provider three quarters where there are others.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::providers::ProviderNumber;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};

/// Cases that make their variables and prompts at once.
const MADE_AT_ONCE: usize = 16;

/// The turns of a run.
#[derive(Debug)]
pub(super) struct Turns {
    all: Semaphore,
    of_providers: Mutex<HashMap<ProviderNumber, Arc<Semaphore>>>,
    /// The most that one provider has.
    share: usize,
}

/// One turn, given back on drop.
#[derive(Debug)]
pub(crate) struct MakingTurn<'a> {
    _own: OwnedSemaphorePermit,
    _of_all: SemaphorePermit<'a>,
}

impl Turns {
    /// For one provider, or for several that share them.
    pub(super) fn new(shared: bool) -> Self {
        let quarters = if shared { 3 } else { 4 };
        Self {
            all: Semaphore::new(MADE_AT_ONCE),
            of_providers: Mutex::default(),
            share: MADE_AT_ONCE / 4 * quarters,
        }
    }

    /// Waits for a turn.
    pub(super) async fn take(&self, provider: ProviderNumber) -> MakingTurn<'_> {
        let own = {
            let all = self.of_providers.lock();
            let mut all = all.unwrap_or_else(PoisonError::into_inner);
            let new = || Arc::new(Semaphore::new(self.share));
            all.entry(provider).or_insert_with(new).clone()
        };
        let open = "nobody closes these semaphores";
        MakingTurn {
            _own: own.acquire_owned().await.expect(open),
            _of_all: self.all.acquire().await.expect(open),
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::poll;

    use super::*;

    #[tokio::test]
    async fn a_provider_whose_cases_wait_for_memory_leaves_turns_to_others() {
        let turns = Turns::new(true);
        let mut held = Vec::new();
        for _ in 0..MADE_AT_ONCE / 4 * 3 {
            held.push(turns.take(0).await);
        }
        let mut waits = Box::pin(turns.take(0));
        assert!(poll!(&mut waits).is_pending());
        let other = turns.take(1).await;
        held.pop();
        drop((waits.await, other));
        let alone = Turns::new(false);
        let mut held = Vec::new();
        for _ in 0..MADE_AT_ONCE {
            held.push(alone.take(0).await);
        }
        assert!(poll!(Box::pin(alone.take(0))).is_pending());
    }
}
