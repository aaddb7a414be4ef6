//! Outbound HTTP through the host, which owns the connection, the secrets, the limits, the
//! retries and the cache.
//!
//! ```no_run
//! # use runner_plugin::{http, json::json};
//! # fn ask() -> Result<(), runner_plugin::Error> {
//! let reply = http::post("https://api.acme.com/v1/chat")
//!     .json(&json!({ "model": "m1" }))
//!     .credential("acme-key")
//!     .bucket("m1")
//!     .send()?;
//! # Ok(())
//! # }
//! ```
//!
//! A 4xx or 5xx is a response, not an error: an API explains itself in the body. Call
//! [`Response::ok`] where the status alone is enough. There is no async and no retry here: a
//! guest has one call in flight, and the host repeats what is worth repeating.

#[cfg(not(target_arch = "wasm32"))]
use std::cell::Cell;
#[cfg(not(target_arch = "wasm32"))]
use std::collections::VecDeque;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::Error;
use crate::wire::hands::runner::plugin::http as wire;
use crate::wire::hands::runner::plugin::http_stream as streamed;

pub use streamed::Piece;
pub use wire::CacheMode;

/// What answers a request where there is no host.
#[cfg(not(target_arch = "wasm32"))]
type Answers = fn(Request) -> Result<Response, Error>;

#[cfg(not(target_arch = "wasm32"))]
thread_local! {
    /// The script that plays, which sets it.
    pub(crate) static SCRIPT: Cell<Option<Answers>> = const { Cell::new(None) };
}

/// A request as a value: made with [`get`], [`post`] or [`request`], sent with
/// [`Request::send`].
#[derive(Debug, Clone, PartialEq)]
#[must_use = "a request is sent by `send`"]
pub struct Request {
    /// The method in upper case.
    pub method: String,
    /// An absolute URL.
    pub url: String,
    /// Names and values, in order. The host refuses `authorization`, `cookie`, `host`,
    /// `proxy-*` and framing headers.
    pub headers: Vec<(String, String)>,
    /// The body, if any.
    pub body: Option<Vec<u8>>,
    /// The name of a granted credential, which the host adds.
    pub credential: Option<String>,
    /// What shares a rate limit within the credential, usually the model.
    pub bucket: Option<String>,
    /// Upper bound for this request.
    pub timeout: Option<Duration>,
    /// Whether the host's cache may answer.
    pub cache: CacheMode,
}

/// A GET request.
pub fn get(url: impl Into<String>) -> Request {
    request("GET", url)
}

/// A POST request.
pub fn post(url: impl Into<String>) -> Request {
    request("POST", url)
}

/// A request with any method, in upper case.
pub fn request(method: &str, url: impl Into<String>) -> Request {
    Request {
        method: method.to_owned(),
        url: url.into(),
        headers: Vec::new(),
        body: None,
        credential: None,
        bucket: None,
        timeout: None,
        cache: CacheMode::Auto,
    }
}

impl Request {
    /// Adds a header.
    pub fn header(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    /// Sets the body to a JSON value, and `content-type` with it.
    pub fn json(mut self, body: &Value) -> Self {
        self.body = Some(body.to_string().into_bytes());
        self.header("content-type", "application/json")
    }

    /// Sets the body to anything that has a JSON form, and `content-type` with it.
    ///
    /// # Errors
    /// `other` if the value has no JSON form.
    pub fn json_of<T: Serialize + ?Sized>(mut self, body: &T) -> Result<Self, Error> {
        self.body = Some(crate::json::write("request body", body)?.into_bytes());
        Ok(self.header("content-type", "application/json"))
    }

    /// Sets the body to bytes as they are.
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = Some(body.into());
        self
    }

    /// Names the credential that the host adds. Its value never enters the plugin.
    pub fn credential(mut self, name: impl Into<String>) -> Self {
        self.credential = Some(name.into());
        self
    }

    /// Names what shares a rate limit within the credential, usually the model.
    pub fn bucket(mut self, bucket: impl Into<String>) -> Self {
        self.bucket = Some(bucket.into());
        self
    }

    /// Bounds the time of this request.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Neither reads nor writes the host's cache: for polling and uploads.
    pub fn uncached(mut self) -> Self {
        self.cache = CacheMode::Bypass;
        self
    }

    /// The value of a header, by name in any case; the first of several.
    pub fn header_value(&self, name: &str) -> Option<&str> {
        value_of(&self.headers, name)
    }

    /// The body as JSON; `None` where there is none or it is something else.
    pub fn body_json(&self) -> Option<Value> {
        serde_json::from_slice(self.body.as_deref()?).ok()
    }

    /// Sends the request and waits for the whole response.
    ///
    /// # Errors
    /// What the host says about the connection, the grant or the budget; pass it on.
    pub fn send(self) -> Result<Response, Error> {
        #[cfg(target_arch = "wasm32")]
        {
            crate::export::hook_panics();
            Ok(wire::send(&self.into())?.into())
        }
        #[cfg(not(target_arch = "wasm32"))]
        scripted(self)
    }

    /// Begins the request; its response is read while it comes.
    pub fn stream(self) -> Stream {
        #[cfg(target_arch = "wasm32")]
        {
            crate::export::hook_panics();
            Stream {
                exchange: streamed::Exchange::new(&self.into()),
            }
        }
        #[cfg(not(target_arch = "wasm32"))]
        {
            let response = scripted(self);
            let lines = match &response {
                Ok(response) if response.is_success() => {
                    let lines = response.body.split_inclusive(|byte| *byte == b'\n');
                    lines.map(<[u8]>::to_vec).collect()
                }
                _ => VecDeque::new(),
            };
            Stream {
                scripted: (response, lines),
            }
        }
    }
}

/// A response that is read while it comes, for APIs that stream: the host learns the time to the first token, and
/// dropping it before its end closes the connection. A call has one at a time.
#[derive(Debug)]
pub struct Stream {
    #[cfg(target_arch = "wasm32")]
    exchange: streamed::Exchange,
    /// What the script answers, and its lines that were not read.
    #[cfg(not(target_arch = "wasm32"))]
    scripted: (Result<Response, Error>, VecDeque<Vec<u8>>),
}

impl Stream {
    /// Waits for the next piece: whole lines, or word that what came is void since the host asks again. `None` at the
    /// end. A response with another status than 2xx has no pieces.
    ///
    /// # Errors
    /// As [`Request::send`].
    pub fn next_piece(&mut self) -> Result<Option<Piece>, Error> {
        #[cfg(target_arch = "wasm32")]
        {
            Ok(self.exchange.next()?)
        }
        #[cfg(not(target_arch = "wasm32"))]
        {
            let (response, lines) = &mut self.scripted;
            response.as_ref().map_err(Clone::clone)?;
            Ok(lines.pop_front().map(Piece::Lines))
        }
    }

    /// Says that the piece that came last holds the first token of the answer.
    pub fn note_first_token(&self) {
        #[cfg(target_arch = "wasm32")]
        self.exchange.first_token();
    }

    /// Waits for the end, and gives the whole response, whatever was read of it.
    ///
    /// # Errors
    /// As [`Request::send`].
    pub fn finish(self) -> Result<Response, Error> {
        #[cfg(target_arch = "wasm32")]
        {
            Ok(streamed::Exchange::finish(self.exchange)?.into())
        }
        #[cfg(not(target_arch = "wasm32"))]
        self.scripted.0
    }
}

/// Sends several requests at once; the results are in their order. The host decides how many
/// run in parallel.
pub fn send_all(requests: Vec<Request>) -> Vec<Result<Response, Error>> {
    #[cfg(target_arch = "wasm32")]
    {
        crate::export::hook_panics();
        let requests: Vec<wire::Request> = requests.into_iter().map(Into::into).collect();
        wire::send_all(&requests)
            .into_iter()
            .map(|result| Ok(result?.into()))
            .collect()
    }
    #[cfg(not(target_arch = "wasm32"))]
    requests.into_iter().map(scripted).collect()
}

#[cfg(not(target_arch = "wasm32"))]
fn scripted(request: Request) -> Result<Response, Error> {
    match SCRIPT.get() {
        Some(answer) => answer(request),
        None => panic!(
            "outside a script: {} {} request",
            request.method, request.url
        ),
    }
}

/// A whole response, of any status.
#[derive(Debug, Clone, PartialEq)]
pub struct Response {
    /// The HTTP status.
    pub status: u16,
    /// Lower-case names and values, in order.
    pub headers: Vec<(String, String)>,
    /// The whole body.
    pub body: Vec<u8>,
    /// Served from the host's cache or a recording.
    pub cached: bool,
}

impl Response {
    /// The value of a header, by name in any case; the first of several.
    pub fn header(&self, name: &str) -> Option<&str> {
        value_of(&self.headers, name)
    }

    /// Whether the status is 2xx.
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The response itself if its status is 2xx, else the error that the status stands for
    /// ([`Error::from_status`]) with the body as detail where it is JSON.
    ///
    /// # Errors
    /// By status.
    pub fn ok(self) -> Result<Self, Error> {
        if self.is_success() {
            return Ok(self);
        }
        let mut error = Error::from_status(
            self.status,
            format!("the server answered HTTP {}", self.status),
        );
        error.detail = serde_json::from_slice(&self.body).ok();
        Err(error)
    }

    /// The body as text, with U+FFFD for what is not UTF-8.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON of a wanted shape.
    ///
    /// # Errors
    /// `bad-response` if it is something else.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, Error> {
        serde_json::from_slice(&self.body).map_err(|error| {
            Error::bad_response(format!("the response body cannot be read: {error}"))
                .status(self.status)
        })
    }
}

fn value_of<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    headers
        .iter()
        .find(|(key, _)| key.eq_ignore_ascii_case(name))
        .map(|(_, value)| value.as_str())
}

impl From<Request> for wire::Request {
    fn from(request: Request) -> Self {
        Self {
            method: request.method,
            url: request.url,
            headers: request.headers,
            body: request.body,
            credential: request.credential,
            bucket: request.bucket,
            timeout_ms: request
                .timeout
                .map(|timeout| u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX)),
            cache: request.cache,
        }
    }
}

impl From<wire::Response> for Response {
    fn from(response: wire::Response) -> Self {
        Self {
            status: response.status,
            headers: response.headers,
            body: response.body,
            cached: response.cached,
        }
    }
}
