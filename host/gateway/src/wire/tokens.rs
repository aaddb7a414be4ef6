//! Access tokens: asked for with a key, kept while they hold, shared by all who need one.
//!
//! A token is asked for when a request is about to go, within that request's time; others that need
//! the same wait for it. Who waits takes over where the one that asks is given up. Each token is made
//! known to the masker before anything is sent with it, and lives in memory alone: not in the
//! cache, nor in a recording, nor in the database.
//!
//! Asking is a request that leaves the machine: it is paid for like any other. A server that gives
//! none is left alone for a while, longer each time; who needs a token meanwhile is told the same.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use serde::Deserialize;
use url::Url;

use crate::pieces::PieceWriter;
use crate::policy::address::Reach;
use crate::policy::google::GoogleKey;
use crate::policy::masker::Masker;
use crate::policy::oauth::TokenClient;
use crate::policy::origin::{Naming, Origin};
use crate::policy::secret::{Fingerprint, Secret};
use crate::wire::client::Clients;
use crate::wire::fault::WireFault;
use crate::wire::google;

/// What a token is asked for with.
pub(crate) enum TokenKey {
    /// A key of Google's.
    Google(GoogleKey),
    /// What the config says of a server of OAuth 2.0.
    OAuth(TokenClient),
}

/// How long before its end a token is no longer used, so that none ends on the way.
const MARGIN: Duration = Duration::from_mins(5);

/// How long a token holds of which nothing is said.
const USUAL_LIFE: Duration = Duration::from_hours(1);

/// The shortest that a token of a server that a config names is believed to hold: one that is to end
/// at once would be asked for with each request.
const SHORTEST_LIFE: Duration = Duration::from_secs(30);

/// The shortest text that is masked for being a token.
const SHORTEST_TOKEN: usize = 16;

/// The longest that a token is believed to hold: a server may say any number.
const LONGEST_LIFE: Duration = Duration::from_hours(24);

/// The most of an answer with a token, in bytes. Tokens have one or two thousand.
const ANSWER_LIMIT: usize = 64 << 10;

/// How long a server is left alone that gave no token, for the first time.
const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// The longest that it is left alone.
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// The tokens of a run.
#[derive(Default)]
pub(crate) struct Tokens {
    each: Mutex<HashMap<Fingerprint, Arc<TokenOfKey>>>,
    masker: Masker,
}

/// What a request goes out with.
#[derive(Clone, Copy)]
pub(crate) struct SendContext<'a> {
    pub(crate) clients: &'a Clients,
    pub(crate) tokens: &'a Tokens,
    /// Pays for one request more, if there is anything left.
    pub(crate) pays: &'a (dyn Fn() -> bool + Sync),
    /// Tells the response while it comes, where somebody wants that.
    pub(crate) pieces: Option<PieceWriter<'a>>,
}

/// The token of one key; whoever holds the lock asks for it.
type TokenOfKey = tokio::sync::Mutex<TokenState>;

/// What is known of the token of one key.
#[derive(Default)]
struct TokenState {
    token: Option<Token>,
    /// The last failure, until there is a token.
    failure: Option<LeftAlone>,
}

/// A server that gave no token.
struct LeftAlone {
    fault: WireFault,
    pause: Duration,
    until: Instant,
}

impl TokenState {
    /// Notes that there was no token at `now`.
    fn failed(&mut self, fault: &WireFault, now: Instant) {
        let last = self.failure.take().map(|failure| failure.pause);
        let pause = last.map_or(FIRST_PAUSE, |last| (2 * last).min(LONGEST_PAUSE));
        self.failure = Some(LeftAlone {
            fault: fault.clone(),
            pause,
            until: now + pause,
        });
    }

    /// What is said at `now` without asking: the token, or why there is none.
    fn known(&self, now: Instant) -> Option<Result<Secret, WireFault>> {
        if let Some(token) = self.token.as_ref().filter(|it| now < it.until) {
            return Some(Ok(token.value.clone()));
        }
        let failure = self.failure.as_ref().filter(|it| now < it.until)?;
        Some(Err(failure.fault.clone()))
    }
}

#[derive(Clone)]
struct Token {
    value: Secret,
    until: Instant,
}

#[derive(Deserialize)]
struct TokenAnswer {
    access_token: String,
    expires_in: Option<u64>,
}

#[derive(Deserialize)]
struct Refused {
    error: String,
}

impl Tokens {
    /// None yet; the masker is told of each.
    pub(crate) fn new(masker: Masker) -> Self {
        Self {
            masker,
            ..Self::default()
        }
    }

    /// Gets a token that holds, for the key that `secret` is.
    pub(crate) async fn get(
        &self,
        means: &SendContext<'_>,
        secret: &Secret,
        key: &TokenKey,
    ) -> Result<Secret, WireFault> {
        let held = {
            let mut each = self.each.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(each.entry(secret.fingerprint()).or_default())
        };
        let mut held = held.lock().await;
        if let Some(known) = held.known(Instant::now()) {
            return known;
        }
        if !(means.pays)() {
            return Err(WireFault::Unpaid);
        }
        let asked = ask(means.clients, key).await;
        let token = asked.inspect_err(|fault| held.failed(fault, Instant::now()))?;
        if is_masked(token.value.reveal()) {
            let origin = key.address().map(|(_, origin)| origin.to_string());
            self.hide(secret, &token.value, &origin.unwrap_or_default())?;
        }
        let value = token.value.clone();
        *held = TokenState {
            token: Some(token),
            failure: None,
        };
        Ok(value)
    }

    /// Makes known to the masker what was made of a key, for requests to `origin`.
    pub(crate) fn hide(&self, key: &Secret, made: &Secret, origin: &str) -> Result<(), WireFault> {
        let learned = self.masker.learn(&key.fingerprint(), made);
        learned.map_err(|too_many| WireFault::NoToken {
            origin: origin.to_owned(),
            why: too_many.to_string(),
            is_lasting: true,
        })
    }
}

impl TokenKey {
    /// Where it is asked for.
    fn address(&self) -> Option<(Url, Origin)> {
        match self {
            Self::Google(key) => key.address(),
            Self::OAuth(client) => client.address(),
        }
    }

    /// Google's own is public. Another is the person's word, or was agreed to before the run.
    fn reach(&self, origin: &Origin) -> Reach {
        match self {
            Self::Google(key) if key.asks_google() => Reach::Public,
            _ => Reach::of(Naming::Exact, origin, &[origin.clone()].into()),
        }
    }

    /// How long a token holds at least, whatever is said of it.
    fn shortest_life(&self) -> Duration {
        match self {
            Self::Google(_) => Duration::ZERO,
            Self::OAuth(_) => SHORTEST_LIFE,
        }
    }

    fn form(&self, now: Timestamp) -> Result<String, WireFault> {
        match self {
            Self::Google(key) => google::form(key, now),
            Self::OAuth(client) => Ok(client.form()),
        }
    }
}

async fn ask(clients: &Clients, key: &TokenKey) -> Result<Token, WireFault> {
    let begun = Instant::now();
    let (url, origin) = key.address().ok_or_else(|| {
        WireFault::Invalid("the address for access tokens is not valid".to_owned())
    })?;
    let reach = key.reach(&origin);
    if origin.address().is_some_and(|it| !reach.allows_literal(it)) {
        let place = "the address for access tokens may not be reached".to_owned();
        return Err(WireFault::Invalid(place));
    }
    let form = key.form(Timestamp::now())?;
    let lost = |_| WireFault::NoToken {
        origin: origin.to_string(),
        why: "no answer".to_owned(),
        is_lasting: false,
    };
    let request = clients.get(&url, reach, None)?.post(url);
    let request = request.header("content-type", "application/x-www-form-urlencoded");
    let mut response = request.body(form).send().await.map_err(lost)?;
    let status = response.status().as_u16();
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(lost)? {
        body.extend_from_slice(&chunk);
        if body.len() > ANSWER_LIMIT {
            break;
        }
    }
    read(status, &body, begun, key.shortest_life()).map_err(|(why, is_lasting)| {
        WireFault::NoToken {
            origin: origin.to_string(),
            why,
            is_lasting,
        }
    })
}

/// Whether answers are searched for a token. Whoever gives tokens could name a word of other servers'
/// answers, which would then be graded without it.
fn is_masked(token: &str) -> bool {
    token.len() >= SHORTEST_TOKEN && token.bytes().any(|it| it.is_ascii_digit())
}

/// Reads the token, or why there is none and whether that lasts. Of a refusal its code is repeated, which
/// is a word; the rest is whatever the server likes.
fn read(
    status: u16,
    body: &[u8],
    begun: Instant,
    shortest: Duration,
) -> Result<Token, (String, bool)> {
    if status == 200
        && let Ok(answer) = serde_json::from_slice::<TokenAnswer>(body)
    {
        let value = Secret::credential(answer.access_token).ok();
        let value = value.filter(|value| value.reveal().bytes().all(|it| it.is_ascii_graphic()));
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            let life = answer.expires_in.map_or(USUAL_LIFE, Duration::from_secs);
            let life = life.min(LONGEST_LIFE);
            let life = life.saturating_sub(MARGIN.min(life / 10));
            let until = begun + life.max(shortest);
            return Ok(Token { value, until });
        }
    }
    let is_word = |word: &String| word.bytes().all(|it| it.is_ascii_lowercase() || it == b'_');
    let said = serde_json::from_slice::<Refused>(body).ok();
    let said = said.map(|refused| refused.error).filter(is_word);
    let why = match said {
        Some(said) => format!("HTTP {status}, {said}"),
        None => format!("HTTP {status}"),
    };
    Err((why, (400..500).contains(&status) && status != 429))
}

#[cfg(test)]
mod tests;
