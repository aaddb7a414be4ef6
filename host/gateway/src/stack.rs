//! The stack itself: the order in which an exchange passes the stages.
//!
//! Nothing is decided here that a stage could decide; this file only knows the order, and
//! takes the time. An exchange is cancelled by dropping its future: no queue, pause or
//! transfer outlives it, and no stage has to think of that.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use runner_scheduler::{Class, LongWait, NextStep, Refusal};

use self::attempts::Note;
use self::ended::{AttemptOutcome, classified};
use self::fault::Fault;
use self::outbound::Outbound;
use self::scope::ExchangeScope;
use self::sharing::{SharedEnd, SharingKey};
use self::stopwatch::Stopwatch;
use crate::admission::budget::{Claim, Exceeded, Reservation};
use crate::admission::lanes::{Entrant, LaneLoad, LaneSummary, LaneTurn, Lanes, QuotaPlace};
use crate::admission::tokens::Guess;
use crate::exchange::{CacheMode, DEFAULT_TIMEOUT, Exchange, ExchangeError, ExchangeUsage, Reply};
use crate::memory::cache;
use crate::memory::remembered::{
    Caller, Cassette, CassetteMatch, NoCassette, ResponseCache, StoredResponse,
};
use crate::memory::shared::SharedRequests;
use crate::observer::{Event, Notice, Observer, Unobserved};
use crate::pieces::PieceWriter;
use crate::policy::grants::Grants;
use crate::policy::masker::Masker;
use crate::policy::origin::Origin;
use crate::process::ProcessCall;
use crate::wire::attempt;
use crate::wire::bodies::Bodies;
use crate::wire::class::{ErrorBody, classify};
use crate::wire::client::{ClientSettings, Clients};
use crate::wire::fault::WireFault;
use crate::wire::request;
use crate::wire::tokens::{SendContext, Tokens};

/// Signs of a server's message that an error repeats.
const SAID: usize = 200;

pub(crate) mod attempts;
mod ended;
mod fault;
mod outbound;
mod remember;
pub(crate) mod scope;
mod sharing;
mod stopwatch;
mod together;

/// Everything a gateway is made of. The default keeps nothing and tells nobody.
pub struct Settings {
    /// How requests reach the network.
    pub client: ClientSettings,
    /// Where the person agreed to private addresses (and to one that stands in the origin itself,
    /// whatever it is). The word of a config is not enough for that.
    pub private: BTreeSet<Origin>,
    /// Longest time an exchange may spend on the wire.
    pub timeout: Duration,
    /// Seed of the scheduler: its pauses are drawn from it.
    pub seed: u64,
    /// Where runs on this machine write down what they use of the same quotas. `None`: nobody is told.
    pub quotas: Option<QuotaPlace>,
    /// Records or replays.
    pub cassette: Box<dyn Cassette>,
    /// Serves what came before, and makes equal requests at once one. `None`: neither; every
    /// request is sent, so that repeats are independent of each other.
    pub cache: Option<Box<dyn ResponseCache>>,
    /// Takes every secret of the run out of what comes back, those of all grants
    /// ([`Grants::secrets`]) among them: a server may say what another was given. One for all, since
    /// each takes some thousand bytes for each of a secret's.
    pub masker: Masker,
    /// Is told what happens.
    pub observer: Box<dyn Observer>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            client: ClientSettings::default(),
            private: BTreeSet::new(),
            timeout: DEFAULT_TIMEOUT,
            seed: 0,
            quotas: None,
            cassette: Box::new(NoCassette),
            cache: None,
            masker: Masker::default(),
            observer: Box::new(Unobserved),
        }
    }
}

/// The one way out: every request of every plugin of a run goes through it. Cheap to
/// clone; clones share connections, lanes and cache.
#[derive(Clone)]
pub struct Gateway(Arc<Stack>);

struct Stack {
    clients: Clients,
    tokens: Tokens,
    private: BTreeSet<Origin>,
    timeout: Duration,
    cassette: Box<dyn Cassette>,
    cache: Option<Box<dyn ResponseCache>>,
    shared: SharedRequests<Arc<SharingKey>, SharedEnd>,
    bodies: Bodies,
    lanes: Lanes,
    masker: Masker,
    observer: Arc<dyn Observer>,
}

/// One exchange on its way through.
struct Passage<'a> {
    scope: &'a ExchangeScope,
    outbound: &'a Arc<Outbound>,
    stopwatch: &'a Stopwatch<'a>,
    /// How long it may be on the wire.
    time_limit: Duration,
}

impl Gateway {
    /// A gateway. Opens nothing yet; the lanes' time begins now.
    pub fn new(settings: Settings) -> Self {
        let observer: Arc<dyn Observer> = settings.observer.into();
        Self(Arc::new(Stack {
            clients: Clients::new(settings.client),
            tokens: Tokens::new(settings.masker.clone()),
            private: settings.private,
            timeout: settings.timeout,
            cassette: settings.cassette,
            cache: settings.cache,
            shared: SharedRequests::default(),
            bodies: Bodies::default(),
            lanes: Lanes::new(settings.seed, Arc::clone(&observer), settings.quotas),
            masker: settings.masker,
            observer,
        }))
    }

    /// Lets no request go any more; those on the wire may end.
    pub fn drain(&self) {
        self.0.lanes.drain();
    }

    /// What each lane has done so far, by name.
    pub fn lanes(&self) -> Vec<LaneSummary> {
        self.0.lanes.summaries()
    }

    /// What the lanes have to do now that were opened first, at most `most`: each costs some microseconds, in
    /// which no request begins.
    pub fn loads(&self, most: usize) -> Vec<LaneLoad> {
        self.0.lanes.loads(most)
    }

    /// Sends one request on behalf of a plugin and waits for the whole response.
    ///
    /// Safe to drop at any point: unless others wait for the same answer, the connection is
    /// closed and the turn in the lane given back.
    pub async fn send(
        &self,
        grants: &Arc<Grants>,
        mut exchange: Exchange,
        scope: &ExchangeScope,
    ) -> Result<Reply, ExchangeError> {
        let stack = &self.0;
        let pool = scope.scheduling.pool.clone();
        exchange.bucket = pool.or(exchange.bucket);
        let time_limit = exchange.timeout.unwrap_or(stack.timeout).min(stack.timeout);
        let cache = exchange.cache;
        let sign = !stack.cassette.is_offline();
        let prepared = request::prepare(grants, &stack.private, exchange, sign);
        let outbound = prepared.map(|prepared| Outbound::Http {
            grants: Arc::clone(grants),
            prepared,
        });
        self.exchange(outbound, cache, time_limit, scope).await
    }

    /// Makes one call of a program of the user's, and waits for its answer: a JSON object with
    /// `value`, `error`, or neither where there is no value. It passes the same stack.
    ///
    /// Safe to drop at any point, as [`send`](Self::send).
    pub async fn ask(
        &self,
        call: ProcessCall,
        scope: &ExchangeScope,
    ) -> Result<Reply, ExchangeError> {
        let (cache, time_limit) = (call.cache, call.timeout);
        self.exchange(Ok(Outbound::Process(call)), cache, time_limit, scope)
            .await
    }

    async fn exchange(
        &self,
        outbound: Result<Outbound, WireFault>,
        cache: CacheMode,
        time_limit: Duration,
        scope: &ExchangeScope,
    ) -> Result<Reply, ExchangeError> {
        let stopwatch = Stopwatch::open(scope.clock.as_ref());
        let _visit = scope.reservation.as_deref().map(Reservation::visit);
        let result = match outbound {
            Ok(outbound) => {
                let passage = Passage {
                    scope,
                    outbound: &Arc::new(outbound),
                    stopwatch: &stopwatch,
                    time_limit,
                };
                self.0.pass(&passage, cache).await
            }
            Err(fault) => Err(fault.into()),
        };
        let spent = stopwatch.spent();
        match result {
            Ok(reply) => {
                if let Some(pieces) = &scope.pieces {
                    pieces.complete(reply.status, &reply.body, &reply.pieces);
                }
                Ok(Reply { spent, ..reply })
            }
            Err(fault) => Err(fault.into_error(&self.0.masker, spent)),
        }
    }
}

impl Stack {
    async fn pass(
        self: &Arc<Self>,
        passage: &Passage<'_>,
        cache: CacheMode,
    ) -> Result<Reply, Fault> {
        let scope = passage.scope;
        let envelope = Arc::new(passage.outbound.envelope(scope.repeat));

        let bytes = self.cassette.most_bytes(&envelope);
        if bytes > 0 {
            self.keep(passage, None, bytes).await?;
        }
        let caller = Caller {
            tag: scope.tag,
            name: scope.scheduling.caller.as_deref(),
        };
        match self.cassette.find(&envelope, &caller) {
            CassetteMatch::Live => {}
            CassetteMatch::Replay(interaction) => return self.replayed(passage, interaction),
            CassetteMatch::Missing { nearest } => {
                return Err(Fault::NotRecorded {
                    method: envelope.method.clone(),
                    url: envelope.url.clone(),
                    nearest,
                });
            }
            CassetteMatch::Ambiguous { whose } => {
                return Err(Fault::OfAnother {
                    method: envelope.method.clone(),
                    url: envelope.url.clone(),
                    whose,
                });
            }
        }
        let result = if self.is_shared(&envelope.method, cache) {
            self.together(passage, &envelope).await
        } else {
            self.alone(passage).await
        };
        // What a budget refuses is no exchange: another run may have a larger one.
        if self.cassette.is_recording() && !matches!(result, Err(Fault::OverBudget(_))) {
            let interaction =
                remember::interaction(&self.masker, &result, &passage.stopwatch.spent());
            self.cassette.record(&envelope, &caller, &interaction);
        }
        result
    }

    /// Whether the cache may answer, and equal requests be one.
    fn is_shared(&self, method: &str, mode: CacheMode) -> bool {
        self.cache.is_some()
            && mode == CacheMode::Auto
            && !self.cassette.is_offline()
            && cache::is_repeatable(method)
    }

    /// Sends the request for this caller only.
    async fn alone(&self, passage: &Passage<'_>) -> Result<Reply, Fault> {
        let (ended, claim) = self.attempts(passage).await?;
        owe(passage, claim);
        let reply = reply(ended.result?, ended.class, ended.hint.retry_after);
        ended
            .space
            .into_iter()
            .for_each(|space| passage.scope.bodies.keep(space));
        Ok(reply)
    }

    /// Makes the attempts of an exchange; returns how it ended, and what its call still owes for it.
    async fn attempts(
        &self,
        passage: &Passage<'_>,
    ) -> Result<(AttemptOutcome, Option<Claim>), Fault> {
        let outbound = passage.outbound;
        let guess = outbound.guess();
        let claim = match &passage.scope.reservation {
            // Before the lane: nobody in a queue is held up by one who has no money.
            Some(reservation) => {
                let reserved = reservation.reserve(outbound.plugin(), outbound.lane(), guess);
                Some(passage.stopwatch.waiting(reserved).await?)
            }
            None => None,
        };
        let mut turn = self.enter(passage, guess);
        let (log, lane) = (passage.scope.attempts.as_deref(), turn.lane_name());
        let mut last = None;
        // What was worked until the last attempt ran out of time: a retry has the whole time again.
        let mut before = Duration::ZERO;
        for attempt in 1.. {
            let mut note = Note::queued(log, &lane, attempt);
            if let Err(why) = passage.stopwatch.waiting(turn.wait()).await {
                let ended = unsent(&turn, why, last)?;
                return Ok((ended, claim.and_then(Claim::finished)));
            }
            claim.as_ref().map_or(Ok(()), Claim::attempt)?;
            note.sent();
            let ended = self
                .attempt(passage, attempt, before, claim.as_ref())
                .await?;
            note.ended(ended.status(), ended.class);
            if let Some(claim) = &claim {
                claim.ended(ended.used());
            }
            match turn.finish(ended.class, &ended.hint, ended.usage) {
                NextStep::Return => return Ok((ended, claim.and_then(Claim::finished))),
                NextStep::TooLong(wait) => return Err(given_up(&turn, wait, &ended)),
                NextStep::Again { .. } => {
                    if ended.class == Class::Timeout {
                        before = passage.stopwatch.spent().worked;
                    }
                    last = Some(ended);
                }
            }
        }
        unreachable!("the scheduler bounds the retries of an exchange")
    }

    fn enter(&self, passage: &Passage<'_>, guess: Guess) -> LaneTurn<'_> {
        self.lanes.enter(&Entrant {
            lane: passage.outbound.lane(),
            plugin: passage.outbound.plugin(),
            scheduling: &passage.scope.scheduling,
            cost: guess.cost(),
            masker: &self.masker,
        })
    }

    /// Makes one attempt; refused where the budget has no request left for the token that it needs.
    async fn attempt(
        &self,
        passage: &Passage<'_>,
        attempt: u32,
        before: Duration,
        claim: Option<&Claim>,
    ) -> Result<AttemptOutcome, Exceeded> {
        self.tell(passage, Event::AttemptStarted { attempt });
        let limit = attempt::Limit::new(
            passage.time_limit,
            passage.stopwatch.spent().worked.saturating_sub(before),
            self.timeout,
        );
        let outbound = passage.outbound;
        let mut space = self
            .bodies
            .space(outbound.space_owner(), &passage.scope.bodies);
        let unpaid = Mutex::new(None);
        let pays = || {
            let paid = claim.map_or(Ok(()), Claim::attempt);
            let mut unpaid = unpaid.lock().unwrap_or_else(PoisonError::into_inner);
            *unpaid = paid.err();
            unpaid.is_none()
        };
        // What was signed for an attempt is known when its response comes.
        let masker = OnceLock::new();
        let mask = |lines: &[u8]| {
            let masker = masker.get_or_init(|| outbound.masker(&self.masker));
            masker.mask_bytes(lines).into_owned()
        };
        let writer = passage.scope.pieces.as_deref().map(|pieces| {
            pieces.begin();
            PieceWriter {
                pieces,
                mask: &mask,
            }
        });
        let means = SendContext {
            clients: &self.clients,
            tokens: &self.tokens,
            pays: &pays,
            pieces: writer,
        };
        let wire = outbound.attempt(means, limit, &mut space);
        let answer = passage.stopwatch.working(wire).await;
        let unpaid = unpaid.into_inner().unwrap_or_else(PoisonError::into_inner);
        let spent = passage.stopwatch.spent();
        let latency = spent.latency;

        let masker = outbound.masker(&self.masker);
        let mut ended = classified(&masker, answer, space);
        // Without time left for another attempt none is worth waiting for.
        let class = ended.class;
        ended.hint.useless |=
            class != Class::Timeout && spent.worked.saturating_sub(before) >= passage.time_limit;
        let status = ended.status();
        let origin = &outbound.lane().origin;
        tracing::debug!(%origin, attempt, ?class, status, ?latency, "attempt finished");
        self.tell(
            passage,
            Event::AttemptFinished {
                attempt,
                class,
                status,
                latency,
            },
        );
        unpaid.map_or(Ok(ended), Err)
    }

    fn tell(&self, passage: &Passage<'_>, event: Event) {
        self.observer.observe(&Notice {
            tag: passage.scope.tag,
            lane: passage.outbound.lane(),
            event,
        });
    }
}

/// What an exchange comes to that is not sent (again). If the server is given up, its last answer
/// stands: it says most.
fn unsent(
    turn: &LaneTurn<'_>,
    why: Refusal,
    last: Option<AttemptOutcome>,
) -> Result<AttemptOutcome, Fault> {
    match (why, last) {
        (Refusal::Down { .. }, Some(last)) => Ok(last),
        (why, _) => Err(Fault::Unsent {
            lane: turn.lane_name(),
            why,
        }),
    }
}

/// What an exchange comes to whose server asks to wait for too long.
fn given_up(turn: &LaneTurn<'_>, wait: LongWait, ended: &AttemptOutcome) -> Fault {
    let answer = ended.result.as_ref().ok();
    let said = answer.and_then(|answer| {
        let body = ErrorBody::read(answer.status, &answer.body);
        let said = body.hint().message?.trim();
        (!said.is_empty()).then(|| said.chars().take(SAID).collect())
    });
    Fault::GivenUp {
        lane: turn.lane_name(),
        class: ended.class,
        wait,
        said,
    }
}

/// Hands what is still owed to the call that has the answer.
fn owe(passage: &Passage<'_>, claim: Option<Claim>) {
    if let (Some(reservation), Some(claim)) = (&passage.scope.reservation, claim) {
        reservation.take(claim);
    }
}

fn reply(response: StoredResponse, class: Class, retry_after: Option<Duration>) -> Reply {
    Reply {
        status: response.status,
        headers: response.headers,
        body: response.body,
        pieces: response.pieces,
        class,
        retry_after,
        cached: false,
        spent: ExchangeUsage::default(),
    }
}

fn class_of(response: &StoredResponse, retry_after: Option<Duration>) -> Class {
    let body = ErrorBody::read(response.status, &response.body);
    classify(response.status, &body, retry_after)
}
