//! The stack itself: the order in which an exchange passes the stages.
//!
//! Nothing is decided here that a stage could decide; this file only knows the order, and
//! keeps the account of time. Cancellation and the deadline are raced against the whole
//! passage, so that no queue, pause or transfer outlives them, and no stage has to think
//! of them.

use std::future::pending;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::class::{Class, classify};
use super::client::{ClientSettings, Clients};
use super::exchange::{CacheMode, CallScope, DEFAULT_TIMEOUT, Exchange, Reply, Spent};
use super::fault::{ExchangeError, Fault};
use super::grants::Grants;
use super::hint::{self, Hint};
use super::lane::{Admission, Feedback, OpenLanes};
use super::ledger::Ledger;
use super::memory::{Cue, Entry, NoCache, NoTape, Remembered, ResponseCache, Tape};
use super::observer::{Event, Notice, Observer, Unobserved};
use super::request::{self, Prepared};
use super::retry::{Attempted, Decision, RetryPolicy};
use super::wire::{self, Answer};

/// Everything a gateway is made of. The default keeps nothing, admits everything, and
/// retries as [`RetryPolicy`] says.
pub struct Settings {
    /// How requests reach the network.
    pub client: ClientSettings,
    /// When to try again.
    pub retry: RetryPolicy,
    /// Longest time an exchange may spend on the wire.
    pub timeout: Duration,
    /// Seed of the jitter.
    pub seed: u64,
    /// Records or replays.
    pub tape: Box<dyn Tape>,
    /// Serves what came before.
    pub cache: Box<dyn ResponseCache>,
    /// Says who may go on the wire.
    pub admission: Box<dyn Admission>,
    /// Is told what happens.
    pub observer: Box<dyn Observer>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            client: ClientSettings::default(),
            retry: RetryPolicy::default(),
            timeout: DEFAULT_TIMEOUT,
            seed: 0,
            tape: Box::new(NoTape),
            cache: Box::new(NoCache),
            admission: Box::new(OpenLanes),
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
    retry: RetryPolicy,
    timeout: Duration,
    jitter: Mutex<fastrand::Rng>,
    tape: Box<dyn Tape>,
    cache: Box<dyn ResponseCache>,
    admission: Box<dyn Admission>,
    observer: Box<dyn Observer>,
}

/// One exchange on its way through.
struct Passage<'a> {
    grants: &'a Grants,
    scope: &'a CallScope,
    prepared: &'a Prepared<'a>,
    ledger: &'a Ledger<'a>,
    budget: Duration,
}

/// How an attempt ended, with all that is said about it.
struct Ended {
    result: Result<Remembered, Fault>,
    class: Class,
    hint: Hint,
}

impl Gateway {
    /// A gateway. Opens nothing yet.
    pub fn new(settings: Settings) -> Self {
        Self(Arc::new(Stack {
            clients: Clients::new(settings.client),
            retry: settings.retry,
            timeout: settings.timeout,
            jitter: Mutex::new(fastrand::Rng::with_seed(settings.seed)),
            tape: settings.tape,
            cache: settings.cache,
            admission: settings.admission,
            observer: settings.observer,
        }))
    }

    /// Sends one request on behalf of a plugin and waits for the whole response.
    ///
    /// Safe to drop at any point: the connection is closed, the permit and the lead in the
    /// cache are given back.
    pub async fn send(
        &self,
        grants: &Grants,
        exchange: Exchange,
        scope: &CallScope,
    ) -> Result<Reply, ExchangeError> {
        let ledger = Ledger::open(scope.clock.as_ref());
        let result = tokio::select! {
            biased;
            () = scope.cancel.cancelled() => Err(Fault::Cancelled),
            result = self.0.pass(grants, exchange, scope, &ledger) => result,
            () = until(scope.deadline) => Err(Fault::PastDeadline),
        };
        match result {
            Ok(reply) => Ok(Reply {
                spent: ledger.spent(),
                ..reply
            }),
            Err(fault) => Err(fault.into_error(grants, ledger.spent())),
        }
    }
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(at) => tokio::time::sleep_until(at.into()).await,
        None => pending().await,
    }
}

impl Stack {
    async fn pass(
        &self,
        grants: &Grants,
        exchange: Exchange,
        scope: &CallScope,
        ledger: &Ledger<'_>,
    ) -> Result<Reply, Fault> {
        let budget = exchange.timeout.unwrap_or(self.timeout).min(self.timeout);
        let mode = exchange.cache;
        let prepared = request::prepare(grants, exchange)?;
        let passage = Passage {
            grants,
            scope,
            prepared: &prepared,
            ledger,
            budget,
        };
        let envelope = prepared.draft.envelope(prepared.signature, scope.repeat);

        match self.tape.cue(&envelope).await {
            Cue::Live => {}
            Cue::Replay(response) => return Ok(self.remembered(&passage, response)),
            Cue::Missing => {
                return Err(Fault::NotRecorded {
                    method: envelope.method,
                    origin: prepared.origin.to_string(),
                });
            }
        }
        let flight = match mode {
            CacheMode::Bypass => None,
            CacheMode::Auto => match ledger.waiting(self.cache.enter(&envelope)).await {
                Entry::Hit(response) => return Ok(self.remembered(&passage, response)),
                Entry::Lead(flight) => Some(flight),
            },
        };
        let Ended {
            result,
            class,
            hint,
        } = self.attempts(&passage).await;
        let response = result?;
        self.tape.record(&envelope, &response).await;
        if let Some(flight) = flight.filter(|_| (200..300).contains(&response.status)) {
            flight.land(&response).await;
        }
        Ok(reply(response, class, hint.after, false))
    }

    fn remembered(&self, passage: &Passage<'_>, response: Remembered) -> Reply {
        self.tell(passage, Event::Remembered);
        let class = classify(response.status, &response.body, None);
        reply(response, class, None, true)
    }

    async fn attempts(&self, passage: &Passage<'_>) -> Ended {
        let mut attempt = 1;
        loop {
            let ended = self.attempt(passage, attempt).await;
            if ended.class == Class::Throttled {
                let retry_after = ended.hint.after;
                self.tell(passage, Event::Throttled { retry_after });
            }
            match self.decide(passage, &ended, attempt) {
                Decision::Return => return ended,
                Decision::RetryAfter(pause) => {
                    attempt += 1;
                    self.tell(passage, Event::Retrying { attempt, pause });
                    passage.ledger.waiting(tokio::time::sleep(pause)).await;
                }
            }
        }
    }

    async fn attempt(&self, passage: &Passage<'_>, attempt: u32) -> Ended {
        let lane = &passage.prepared.lane;
        let permit = passage.ledger.waiting(self.admission.admit(lane)).await;
        self.tell(passage, Event::AttemptStarted { attempt });
        let left = passage.budget.saturating_sub(passage.ledger.spent().worked);
        let wire = wire::attempt(&self.clients, passage.grants, passage.prepared, left);
        let answer = passage.ledger.working(wire).await;
        let latency = passage.ledger.spent().latency;

        let ended = judge(passage.grants, answer);
        let status = ended.result.as_ref().ok().map(|response| response.status);
        permit.finish(&Feedback {
            class: ended.class,
            hint: ended.hint,
            status,
            headers: ended
                .result
                .as_ref()
                .map_or(&[], |response| response.headers.as_slice()),
            latency,
        });
        let class = ended.class;
        tracing::debug!(origin = %lane.origin, attempt, ?class, status, ?latency, "attempt finished");
        self.tell(
            passage,
            Event::AttemptFinished {
                attempt,
                class,
                status,
                latency,
            },
        );
        ended
    }

    fn decide(&self, passage: &Passage<'_>, ended: &Ended, attempt: u32) -> Decision {
        if passage.ledger.spent().worked >= passage.budget {
            return Decision::Return;
        }
        let attempted = Attempted {
            class: ended.class,
            hint: ended.hint,
            retries: attempt - 1,
            allowed: passage.scope.max_retries,
            left: passage
                .scope
                .deadline
                .map(|at| at.saturating_duration_since(Instant::now())),
        };
        let draw = self
            .jitter
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .f64();
        self.retry.decide(&attempted, draw)
    }

    fn tell(&self, passage: &Passage<'_>, event: Event) {
        self.observer.observe(&Notice {
            tag: passage.scope.tag,
            lane: &passage.prepared.lane,
            event,
        });
    }
}

/// Classifies an answer and takes the secrets out of it.
fn judge(grants: &Grants, answer: Result<Answer, Fault>) -> Ended {
    match answer {
        Ok(Answer {
            status,
            headers,
            body,
        }) => {
            let hint = hint::read(status, &headers, &body, jiff::Timestamp::now());
            let class = classify(status, &body, hint.after);
            let masker = grants.masker();
            let headers = request::pairs(&headers)
                .into_iter()
                .filter(|(name, _)| !is_dropped(name))
                .map(|(name, value)| (name, masker.mask(&value).into_owned()))
                .collect();
            let body = masker.mask_owned(body);
            Ended {
                result: Ok(Remembered {
                    status,
                    headers,
                    body,
                }),
                class,
                hint,
            }
        }
        Err(fault) => Ended {
            class: fault.class(),
            hint: Hint::NONE,
            result: Err(fault),
        },
    }
}

/// Response headers that end here: cookies, since none are ever sent back, and what
/// concerns the connection or the length, which masking may have changed.
fn is_dropped(name: &str) -> bool {
    matches!(
        name,
        "set-cookie"
            | "set-cookie2"
            | "connection"
            | "keep-alive"
            | "te"
            | "trailer"
            | "transfer-encoding"
            | "upgrade"
            | "content-length"
    ) || name.starts_with("proxy-")
}

fn reply(response: Remembered, class: Class, retry_after: Option<Duration>, cached: bool) -> Reply {
    Reply {
        status: response.status,
        headers: response.headers,
        body: response.body,
        class,
        retry_after,
        cached,
        spent: Spent::default(),
    }
}
