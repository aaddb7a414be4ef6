//! The part of the stack in which an answer may be another's: that of an equal request at the same
//! time, of the cache, of a recording.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use runner_store::Digest;
use tokio::sync::watch;

use super::fault::Fault;
use super::flight::{Landed, Route, take};
use super::outbound::Outbound;
use super::scope::ExchangeScope;
use super::stopwatch::Stopwatch;
use super::{Passage, Stack, class_of, owe, reply};
use crate::admission::budget::Claim;
use crate::exchange::Reply;
use crate::memory::cache;
use crate::memory::flights::Seat;
use crate::memory::remembered::{Ending, Envelope, Held, Interaction};
use crate::observer::Event;
use crate::wire::bodies::Space;

/// Waits for the end of the flight, on the caller's stopwatch: while the flight waits its clock
/// stands still, and while the flight is on the wire it runs.
async fn landed(seat: &mut Seat<Landed>, stopwatch: &Stopwatch<'_>) -> Landed {
    loop {
        let landed = if seat.is_on_wire() {
            stopwatch.beside(seat.landed()).await
        } else {
            stopwatch.waiting(seat.landed()).await
        };
        if let Some(landed) = landed {
            return landed;
        }
    }
}

/// A request that several callers wait for, with all that it needs to go on without them.
struct Flight {
    outbound: Arc<Outbound>,
    scope: ExchangeScope,
    time_limit: Duration,
    envelope: Arc<Envelope>,
    key: Digest,
}

impl Stack {
    /// Asks the cache and else the server, together with whoever asks the same just now.
    pub(super) async fn together(
        self: &Arc<Self>,
        passage: &Passage<'_>,
        envelope: &Arc<Envelope>,
    ) -> Result<Reply, Fault> {
        let outbound = passage.outbound;
        let route = Arc::new(Route {
            key: outbound.cache_key(envelope),
            plugin: outbound.plugin().to_owned(),
            lane: outbound.lane().clone(),
            time_limit: passage.time_limit,
            max_retries: passage.scope.scheduling.max_retries,
            payers: passage
                .scope
                .reservation
                .iter()
                .flat_map(|reservation| reservation.payers())
                .copied()
                .collect(),
        });
        let mut has_tried = false;
        loop {
            let mut seat = self.flights.board(&route, |on_wire| {
                let flight = Flight {
                    outbound: Arc::clone(outbound),
                    scope: ExchangeScope {
                        clock: None,
                        ..passage.scope.clone()
                    },
                    time_limit: passage.time_limit,
                    envelope: Arc::clone(envelope),
                    key: route.key,
                };
                Arc::clone(self).fly(flight, on_wire)
            });
            let landed = landed(&mut seat, passage.stopwatch).await;
            // A refusal that will stand is everyone's. After one that may pass, those who only came
            // along have not had a try of their own: they ask again together, and one of them
            // leads. They do so once, lest many callers of a server that is down queue up for one
            // try after the other.
            if !has_tried && !seat.leads() && landed.may_pass() {
                has_tried = true;
                continue;
            }
            let pays = seat.pays();
            passage.stopwatch.adopt(&landed.spent, pays);
            if pays {
                owe(passage, take(&landed.claim));
            }
            let space = take(&landed.space);
            let reply = landed.result?;
            self.keep(passage, space, reply.body.len()).await?;
            let mut reply = Arc::unwrap_or_clone(reply);
            reply.cached |= !pays;
            if reply.cached {
                self.tell(passage, Event::Remembered);
            }
            return Ok(reply);
        }
    }

    async fn fly(self: Arc<Self>, flight: Flight, on_wire: watch::Sender<bool>) -> Landed {
        let stopwatch = Stopwatch::of_flight(on_wire);
        let (mut claim, mut space) = (None, None);
        let result = self.fetch(flight, &stopwatch, &mut claim, &mut space).await;
        Landed {
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
    async fn held(&self, flight: &Flight, space: &mut Space) -> Result<Option<Held>, Fault> {
        let cache = self.cache.as_deref();
        let cache = cache.expect("only with a cache requests are shared");
        while let Some(held) = cache.get(&flight.key) {
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
        flight: Flight,
        stopwatch: &Stopwatch<'_>,
        owed: &mut Option<Claim>,
        taken: &mut Option<Space>,
    ) -> Result<Reply, Fault> {
        let mut space = self
            .bodies
            .space(flight.outbound.space_owner(), &flight.scope.bodies);
        if let Some(Held { response, latency }) = self.held(&flight, &mut space).await? {
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
            scope: &flight.scope,
            outbound: &flight.outbound,
            stopwatch,
            time_limit: flight.time_limit,
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
            let held = Held {
                response: response.clone(),
                latency: stopwatch.spent().worked,
            };
            let lane = flight.outbound.lane();
            cache.put(&flight.key, &flight.envelope, lane, held).await;
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
