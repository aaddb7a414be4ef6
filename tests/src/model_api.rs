//! A model API on the loopback interface, in OpenAI's shape, that does what it is told.
//!
//! It runs on threads of its own, so that a blocking test and an asynchronous one use it
//! alike and a busy test can't starve it. Without instructions it answers every request
//! with a chat completion that repeats the last user message.

use std::any::Any;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::channel::Channel;
use http_body_util::{BodyExt, Either, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;

use crate::answer::{Answer, Delivery, completion};

mod encrypted;
#[cfg(test)]
mod tests;

/// How long a test waits for a condition before it fails.
const PATIENCE: Duration = Duration::from_mins(1);

/// The server. It stops when it is dropped.
pub struct ModelApi {
    address: SocketAddr,
    scheme: &'static str,
    shared: Arc<Shared>,
    runtime: Option<Runtime>,
}

/// A request that arrived.
#[derive(Debug, Clone)]
pub struct Seen {
    /// When it had arrived whole, from the server's start.
    pub at: Duration,
    /// The method.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body as it came.
    pub body: Vec<u8>,
    /// The body as JSON; null when it is none.
    pub json: Value,
}

/// How much has happened so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct View {
    /// Requests that arrived.
    pub requests: usize,
    /// Requests that arrived and are not answered yet.
    pub in_flight: usize,
    /// The most that were in flight at once.
    pub most_in_flight: usize,
}

type Rule = Box<dyn Fn(&Seen) -> Option<Answer> + Send + Sync>;

struct Shared {
    started: Instant,
    state: Mutex<State>,
    view: watch::Sender<View>,
}

#[derive(Default)]
struct State {
    seen: Vec<Arc<Seen>>,
    script: VecDeque<Answer>,
    rules: Vec<Arc<Rule>>,
}

type Body = Either<Full<Bytes>, Channel<Bytes, Closed>>;

/// Makes hyper close a connection in the middle.
#[derive(Debug)]
struct Closed;

impl std::fmt::Display for Closed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("closed by the script")
    }
}

impl std::error::Error for Closed {}

impl ModelApi {
    /// Starts a server on a free port.
    pub fn start() -> Self {
        Self::started("http", |listener, shared| async move {
            loop {
                // A connection that fails while it is accepted is the client's to notice.
                if let Ok((stream, _)) = listener.accept().await {
                    tokio::spawn(serve(stream, Arc::clone(&shared)));
                }
            }
        })
    }

    /// Starts what accepts connections of this scheme on a free port.
    fn started<A>(scheme: &'static str, accept: impl FnOnce(TcpListener, Arc<Shared>) -> A) -> Self
    where
        A: Future<Output = ()> + Send + 'static,
    {
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("model-api")
            .enable_all()
            .build()
            .expect("a runtime needs two threads");
        let listener = {
            let _context = runtime.enter();
            listen().expect("the loopback interface has a free port")
        };
        let address = listener
            .local_addr()
            .expect("a bound listener has an address");
        let shared = Arc::new(Shared {
            started: Instant::now(),
            state: Mutex::default(),
            view: watch::Sender::default(),
        });
        runtime.spawn(accept(listener, Arc::clone(&shared)));
        Self {
            address,
            scheme,
            shared,
            runtime: Some(runtime),
        }
    }

    /// Scheme, host and port, without a slash at the end.
    pub fn url(&self) -> String {
        format!("{}://{}", self.scheme, self.address)
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Answers the next requests with these, one each, in order of arrival.
    pub fn script(&self, answers: impl IntoIterator<Item = Answer>) {
        self.shared.state().script.extend(answers);
    }

    /// Asks `rule` about every request that the script does not answer. Rules are asked in
    /// the order in which they were added; the first with an answer wins.
    pub fn rule(&self, rule: impl Fn(&Seen) -> Option<Answer> + Send + Sync + 'static) {
        self.shared.state().rules.push(Arc::new(Box::new(rule)));
    }

    /// Answers every request with this from now on, but for script and earlier rules.
    pub fn always(&self, answer: Answer) {
        self.rule(move |_| Some(answer.clone()));
    }

    /// Every request so far, in order of arrival.
    pub fn requests(&self) -> Vec<Seen> {
        self.shared
            .state()
            .seen
            .iter()
            .map(|seen| Seen::clone(seen))
            .collect()
    }

    /// How much has happened so far.
    pub fn view(&self) -> View {
        *self.shared.view.borrow()
    }

    /// The most requests that were in flight at once.
    pub fn max_concurrent(&self) -> usize {
        self.view().most_in_flight
    }

    /// Waits until the condition holds.
    pub async fn until(&self, condition: impl Fn(&View) -> bool) {
        let mut view = self.shared.view.subscribe();
        let waiting = view.wait_for(|view| condition(view));
        let held = tokio::time::timeout(PATIENCE, waiting).await.is_ok();
        assert!(
            held,
            "the model API waited {PATIENCE:?} for a condition; it saw {:?}",
            self.view()
        );
    }

    /// Waits until the condition holds, in a test that is not asynchronous; panics in one that is, which
    /// it would bring to a halt.
    pub fn wait_until(&self, condition: impl Fn(&View) -> bool) {
        self.runtime
            .as_ref()
            .expect("it is taken by drop alone")
            .block_on(self.until(condition));
    }

    /// Waits until so many requests have arrived; not for asynchronous tests.
    pub fn wait_for_requests(&self, count: usize) {
        self.wait_until(|view| view.requests >= count);
    }
}

impl Drop for ModelApi {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Seen {
    /// The first value of a header; `name` in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        let (_, value) = self
            .headers
            .iter()
            .find(|(candidate, _)| candidate == name)?;
        Some(value)
    }

    /// The text of the last user message of a chat request.
    pub fn last_user_message(&self) -> Option<&str> {
        let messages = self.json.get("messages")?.as_array()?;
        let last = messages.iter().rfind(|message| message["role"] == "user")?;
        match &last["content"] {
            Value::Array(parts) => parts.iter().find_map(|part| part["text"].as_str()),
            content => content.as_str(),
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a request and finds its answer.
    fn arrive(&self, seen: Seen) -> Answer {
        let seen = Arc::new(seen);
        let (scripted, rules, number) = {
            let mut state = self.state();
            state.seen.push(Arc::clone(&seen));
            (
                state.script.pop_front(),
                state.rules.clone(),
                state.seen.len(),
            )
        };
        let answer = scripted
            .or_else(|| rules.iter().find_map(|rule| rule(&seen)))
            .unwrap_or_else(|| echo(&seen, number));
        // Whoever waits for so many in flight counts on what the rules have decided about them.
        self.view.send_modify(|view| {
            view.requests += 1;
            view.in_flight += 1;
            view.most_in_flight = view.most_in_flight.max(view.in_flight);
        });
        answer
    }

    fn leave(&self) {
        self.view.send_modify(|view| view.in_flight -= 1);
    }
}

/// Counts a request as in flight until it is answered or its connection is gone.
struct Presence {
    shared: Arc<Shared>,
    /// What the answer holds until then.
    hold: Option<Arc<dyn Any + Send + Sync>>,
}

impl Drop for Presence {
    fn drop(&mut self) {
        // First, so that whoever waits for the count finds it gone.
        drop(self.hold.take());
        self.shared.leave();
    }
}

fn echo(seen: &Seen, number: usize) -> Answer {
    let model = seen.json["model"].as_str().unwrap_or("test-model");
    Answer::json(&completion(
        model,
        seen.last_user_message().unwrap_or_default(),
        number,
    ))
}

/// Listens without waiting, since a caller may be asynchronous itself. The queue takes a
/// test's whole concurrency at once: a connection that it drops comes back a second later.
fn listen() -> std::io::Result<TcpListener> {
    let socket = TcpSocket::new_v4()?;
    socket.bind(SocketAddr::from(([127, 0, 0, 1], 0)))?;
    socket.listen(4096)
}

async fn serve(stream: TcpStream, shared: Arc<Shared>) {
    let service = service_fn(|request| async { respond(&shared, request).await.ok_or(Closed) });
    let mut connection =
        hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service);
    // How a connection ends is the script's doing or the client's; without its lingering
    // end, dropping the socket resets it.
    if (&mut connection).await.is_err_and(|error| error.is_user()) {
        let stream = connection.into_parts().io.into_inner();
        let _ = stream.set_zero_linger();
    }
}

/// `None`: reset the connection.
async fn respond(shared: &Arc<Shared>, request: Request<Incoming>) -> Option<Response<Body>> {
    let seen = receive(shared, request).await?;
    let mut answer = shared.arrive(seen);
    let presence = Presence {
        shared: Arc::clone(shared),
        hold: answer.hold.take(),
    };
    // The timer counts in milliseconds: even no time at all would take one.
    if !answer.latency.is_zero() {
        tokio::time::sleep(answer.latency).await;
    }
    if let Some(gate) = &answer.gate {
        gate.passed().await;
    }
    if answer.delivery == Delivery::Reset {
        return None;
    }
    let mut response = Response::builder().status(answer.status);
    for (name, value) in &answer.headers {
        response = response.header(name, value);
    }
    Some(
        response
            .body(body(answer, presence))
            .expect("a script has valid statuses and headers"),
    )
}

async fn receive(shared: &Shared, request: Request<Incoming>) -> Option<Seen> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.ok()?.to_bytes().to_vec();
    let headers = head
        .headers
        .iter()
        .map(|(name, value)| {
            let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
            (name.as_str().to_owned(), value)
        })
        .collect();
    Some(Seen {
        at: shared.started.elapsed(),
        method: head.method.to_string(),
        path: head.uri.to_string(),
        headers,
        json: serde_json::from_slice(&body).unwrap_or(Value::Null),
        body,
    })
}

fn body(answer: Answer, presence: Presence) -> Body {
    let bytes = answer.body;
    let (chunk, pause, end) = match answer.delivery {
        Delivery::Drip(chunk, pause) => (chunk, pause, bytes.len()),
        Delivery::Cut(end) => (usize::MAX, Duration::ZERO, end.min(bytes.len())),
        Delivery::Whole | Delivery::Reset => return Either::Left(Full::new(bytes)),
    };
    let (mut sender, channel) = Channel::new(1);
    tokio::spawn(async move {
        let _presence = presence;
        let mut sent = 0;
        while sent < end {
            if sent > 0 {
                tokio::time::sleep(pause).await;
            }
            let until = sent.saturating_add(chunk).min(end);
            if sender.send_data(bytes.slice(sent..until)).await.is_err() {
                return;
            }
            sent = until;
        }
        if end < bytes.len() {
            sender.abort(Closed);
        }
    });
    Either::Right(channel)
}
