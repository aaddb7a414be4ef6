//! The part of the stack in which an answer may be another's: that of an equal request at the same
//! time, of the cache, of a recording.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use runner_store::Digest;
use tokio::sync::watch;

use super::fault::Fault;
use super::outbound::Outbound;
use super::scope::ExchangeScope;
use super::sharing::{SharedEnd, SharingKey, take};
use super::stopwatch::Stopwatch;
use super::{Passage, Stack, class_of, owe, reply};
use crate::admission::budget::Claim;
use crate::exchange::Reply;
use crate::memory::cache;
use crate::memory::remembered::{CachedReply, Ending, Envelope, Interaction};
use crate::memory::shared::Share;
use crate::observer::Event;
use crate::wire::bodies::Space;

/// Waits for the end of a shared request, on the caller's stopwatch: while the request waits its clock
/// stands still, and while the request is on the wire it runs.
async fn end_of(share: &mut Share<SharedEnd>, stopwatch: &Stopwatch<'_>) -> SharedEnd {
    loop {
        let end = if share.is_on_wire() {
            stopwatch.beside(share.answered()).await
        } else {
            stopwatch.waiting(share.answered()).await
        };
        if let Some(end) = end {
            return end;
        }
    }
}

/// A request that several callers wait for, with all that it needs to go on without them.
struct DetachedRequest {
    outbound: Arc<Outbound>,
    scope: ExchangeScope,
    time_limit: Duration,
    envelope: Arc<Envelope>,
    cache_key: Digest,
}

impl Stack {
    /// Asks the cache and else the server, together with whoever asks the same just now.
    pub(super) async fn together(
        self: &Arc<Self>,
        passage: &Passage<'_>,
        envelope: &Arc<Envelope>,
    ) -> Result<Reply, Fault> {
        let outbound = passage.outbound;
        let key = Arc::new(SharingKey {
            cache_key: outbound.cache_key(envelope),
            plugin: outbound.plugin().to_owned(),
            lane: outbound.lane().clone(),
            time_limit: passage.time_limit,
            max_retries: passage.scope.scheduling.max_retries,
            payers: passage
                .scope
                .reservation
                .iter()
                .flat_map(|reservation| reservation.budgets())
                .copied()
                .collect(),
        });
        let mut has_tried = false;
        loop {
            let mut share = self.shared.join(&key, |on_wire| {
                let request = DetachedRequest {
                    outbound: Arc::clone(outbound),
                    scope: ExchangeScope {
                        clock: None,
                        ..passage.scope.clone()
                    },
                    time_limit: passage.time_limit,
                    envelope: Arc::clone(envelope),
                    cache_key: key.cache_key,
                };
                Arc::clone(self).send_detached(request, on_wire)
            });
            let end = end_of(&mut share, passage.stopwatch).await;
            // A refusal that will stand is everyone's. After one that may pass, those who only came
            // along have not had a try of their own: they ask again together, and one of them
            // leads. They do so once, lest many callers of a server that is down queue up for one
            // try after the other.
            if !has_tried && !share.leads() && end.may_pass() {
                has_tried = true;
                continue;
            }
            let pays = share.pays();
            passage.stopwatch.adopt(&end.spent, pays);
            if pays {
                owe(passage, take(&end.claim));
            }
            let space = take(&end.space);
            let reply = end.result?;
            self.keep(passage, space, reply.body.len()).await?;
            let mut reply = Arc::unwrap_or_clone(reply);
            reply.cached |= !pays;
            if reply.cached {
                self.tell(passage, Event::Remembered);
            }
            return Ok(reply);
        }
    }

    async fn send_detached(
        self: Arc<Self>,
        request: DetachedRequest,
        on_wire: watch::Sender<bool>,
    ) -> SharedEnd {
        let stopwatch = Stopwatch::of_shared(on_wire);
        let (mut claim, mut space) = (None, None);
        let result = self
            .fetch(request, &stopwatch, &mut claim, &mut space)
            .await;
        SharedEnd {
            result: result.map(Arc::new),
            spent: stopwatch.spent(),
            claim: Arc::new(Mutex::new(claim)),
            space: Arc::new(Mutex::new(space)),
        }
    }

    /// Counts an answer that came otherwise than from the wire as one of this call: in the space
    /// that it had until now, or else as a copy.
    pub(super) async fn keep(
        &self,
        passage: &Passage<'_>,
        space: Option<Space>,
        bytes: usize,
    ) -> Result<(), Fault> {
        let call = &passage.scope.bodies;
        let space = if let Some(mut space) = space {
            space.hand_over(call)?;
            space
        } else {
            let mut space = self.bodies.space(passage.outbound.space_owner(), call);
            passage.stopwatch.waiting(space.grow(bytes)).await?;
            space
        };
        call.keep(space);
        Ok(())
    }

    /// Returns what the cache has. It is not held while it waits for its space.
    async fn held(
        &self,
        request: &DetachedRequest,
        space: &mut Space,
    ) -> Result<Option<CachedReply>, Fault> {
        let cache = self.cache.as_deref();
        let cache = cache.expect("only with a cache requests are shared");
        while let Some(held) = cache.get(&request.cache_key) {
            let bytes = held.response.body.len();
            if space.try_reserve(bytes) {
                space.count(bytes)?;
                return Ok(Some(held));
            }
            drop(held);
            space.reserve(bytes).await?;
        }
        Ok(None)
    }

    /// Gets the cache's answer, or else the server's, which the cache has before anyone else.
    async fn fetch(
        &self,
        request: DetachedRequest,
        stopwatch: &Stopwatch<'_>,
        owed: &mut Option<Claim>,
        taken: &mut Option<Space>,
    ) -> Result<Reply, Fault> {
        let mut space = self
            .bodies
            .space(request.outbound.space_owner(), &request.scope.bodies);
        if let Some(CachedReply { response, latency }) = self.held(&request, &mut space).await? {
            *taken = Some(space);
            stopwatch.remember(latency, 0);
            let class = class_of(&response, None);
            let cached = true;
            return Ok(Reply {
                cached,
                ..reply(response, class, None)
            });
        }
        drop(space);
        let passage = Passage {
            scope: &request.scope,
            outbound: &request.outbound,
            stopwatch,
            time_limit: request.time_limit,
        };
        let (ended, claim) = self.attempts(&passage).await?;
        *owed = claim;
        *taken = ended.space;
        let response = ended.result?;
        // A secret may be any word of an answer, and the next run may not have it.
        if let Some(cache) = &self.cache
            && ended.is_whole
            && cache::is_worth_keeping(&response)
        {
            let held = CachedReply {
                response: response.clone(),
                latency: stopwatch.spent().worked,
            };
            let lane = request.outbound.lane();
            cache
                .put(&request.cache_key, &request.envelope, lane, held)
                .await;
        }
        Ok(reply(response, ended.class, ended.hint.retry_after))
    }

    /// The end that a recording has.
    pub(super) fn replayed(
        &self,
        passage: &Passage<'_>,
        interaction: Interaction,
    ) -> Result<Reply, Fault> {
        self.tell(passage, Event::Remembered);
        passage
            .stopwatch
            .remember(interaction.latency, interaction.attempts);
        match interaction.ending {
            Ending::Answered {
                response,
                retry_after,
                cached,
            } => {
                let class = class_of(&response, retry_after);
                Ok(Reply {
                    cached,
                    ..reply(response, class, retry_after)
                })
            }
            Ending::Failed {
                code,
                class,
                message,
            } => Err(Fault::Replayed {
                code,
                class,
                message,
            }),
        }
    }
}
