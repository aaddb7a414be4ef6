//! A model API with a quota: OpenAI's answers, and a limit that is enforced in real time.
//!
//! What a scheduler makes of a quota can only be told from the other side of the wire, so the
//! server keeps the books: every request with the moment of its arrival and of its answer, in
//! the server's clock. Shares of an ideal throughput are therefore free of what the program
//! needs to start and to report.
//!
//! The limit itself is arithmetic over a time that is passed in (`limit`), tested without a
//! clock; what is said of it stands in `says`. Sockets, latency and the clock are those of
//! [`ModelApi`]. There is one limit for a whole server, whatever the models: two quotas are two
//! servers.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::answer::{Answer, Gate, completion};
use crate::model_api::{ModelApi, Seen};

mod limit;
mod says;
mod traffic;

pub use limit::{Limit, Phase};
pub use says::Says;
pub use traffic::{Traffic, TrafficCall};

use limit::{Meter, Verdict};

#[cfg(test)]
mod tests;

/// What a server allows, says and takes.
#[derive(Debug, Clone)]
pub struct Quota {
    limit: Limit,
    says: Says,
    latency: Duration,
    in_turn: bool,
    storm: Duration,
    spent: Option<String>,
    gate: Option<Gate>,
}

impl Quota {
    /// A server with this limit, which answers at once and never mentions it.
    pub fn of(limit: Limit) -> Self {
        Self {
            limit,
            says: Says::Nothing,
            latency: Duration::ZERO,
            in_turn: false,
            storm: Duration::ZERO,
            spent: None,
            gate: None,
        }
    }

    /// Mentions the limit in its headers.
    #[must_use]
    pub fn saying(mut self, says: Says) -> Self {
        self.says = says;
        self
    }

    /// Answers what is accepted so much later. Refusals are always at once.
    #[must_use]
    pub fn after(mut self, latency: Duration) -> Self {
        self.latency = latency;
        self
    }

    /// Works on one request at a time, each for so long, in the order in which they come.
    #[must_use]
    pub fn in_turn(mut self, each: Duration) -> Self {
        (self.latency, self.in_turn) = (each, true);
        self
    }

    /// Answers what is accepted once the gate is open.
    #[must_use]
    pub fn behind(mut self, gate: &Gate) -> Self {
        self.gate = Some(gate.clone());
        self
    }

    /// Refuses everything for so long from the first request on, with `retry-after: 1`; it counts towards
    /// nothing.
    #[must_use]
    pub fn storm(mut self, length: Duration) -> Self {
        self.storm = length;
        self
    }

    /// Refuses requests for this model with `insufficient_quota`; they count towards nothing.
    #[must_use]
    pub fn spent_for(mut self, model: &str) -> Self {
        self.spent = Some(model.to_owned());
        self
    }
}

/// A model API that enforces a [`Quota`]. It stops when it is dropped.
pub struct QuotaServer {
    api: ModelApi,
    ledger: Arc<Ledger>,
}

impl QuotaServer {
    /// Starts a server on a free port.
    pub fn start(quota: Quota) -> Self {
        let ledger = Arc::new(Ledger {
            started: Instant::now(),
            books: Mutex::new(Books {
                meter: Meter::new(quota.limit, quota.storm),
                calls: Vec::new(),
                free: Duration::ZERO,
            }),
            quota,
        });
        let api = ModelApi::start();
        let books = Arc::clone(&ledger);
        api.rule(move |seen| Some(books.answer(seen)));
        Self { api, ledger }
    }

    /// The server behind the quota: its address, what it saw, conditions to wait for.
    pub fn api(&self) -> &ModelApi {
        &self.api
    }

    /// Everything that has gone over it so far.
    pub fn traffic(&self) -> Traffic {
        Traffic {
            calls: self.ledger.books().calls.clone(),
        }
    }
}

/// The quota and its books, shared by all connections.
struct Ledger {
    started: Instant,
    quota: Quota,
    books: Mutex<Books>,
}

struct Books {
    meter: Meter,
    calls: Vec<TrafficCall>,
    /// When what was accepted is answered, where that is done in turn.
    free: Duration,
}

impl Ledger {
    fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answer(self: &Arc<Self>, seen: &Seen) -> Answer {
        let model = seen.json["model"].as_str().unwrap_or_default();
        let (number, verdict) = self.judge(model);
        let answer = match &verdict {
            Verdict::Accepted(_) => {
                let text = seen.last_user_message().unwrap_or_default();
                let answer = Answer::json(&completion(model, text, number));
                let answer = answer.after(self.takes());
                match &self.quota.gate {
                    Some(gate) => answer.behind(gate),
                    None => answer,
                }
            }
            Verdict::Spent => Answer::error(
                429,
                "insufficient_quota",
                "You exceeded your current quota, please check your plan and billing details.",
            ),
            Verdict::Refused(_) | Verdict::Stormed => says::refusal(),
        };
        says::headers(self.quota.says, &verdict)
            .into_iter()
            .fold(answer, |answer, (name, value)| answer.header(name, &value))
            .holding(Stay {
                ledger: Arc::clone(self),
                number,
                holds_place: matches!(verdict, Verdict::Accepted(_)),
            })
    }

    /// How long it is until a request that was accepted just now is answered.
    fn takes(&self) -> Duration {
        let latency = self.quota.latency;
        if !self.quota.in_turn {
            return latency;
        }
        let mut books = self.books();
        let now = self.started.elapsed();
        books.free = books.free.max(now) + latency;
        books.free.saturating_sub(now)
    }

    /// Enters a request in the books and decides about it. The clock is read under the lock:
    /// so the order of the books is the order of their times.
    fn judge(&self, model: &str) -> (usize, Verdict) {
        let mut books = self.books();
        let at = self.started.elapsed();
        let verdict = if self.quota.spent.as_deref() == Some(model) {
            Verdict::Spent
        } else {
            books.meter.judge(at)
        };
        books.calls.push(TrafficCall {
            at,
            model: model.to_owned(),
            accepted: matches!(verdict, Verdict::Accepted(_)),
            ended: None,
        });
        (books.calls.len() - 1, verdict)
    }
}

/// A request from its arrival to its answer.
struct Stay {
    ledger: Arc<Ledger>,
    number: usize,
    holds_place: bool,
}

impl Drop for Stay {
    fn drop(&mut self) {
        let mut books = self.ledger.books();
        books.calls[self.number].ended = Some(self.ledger.started.elapsed());
        if self.holds_place {
            books.meter.release();
        }
    }
}
